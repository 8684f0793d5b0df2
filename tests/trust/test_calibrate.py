"""Calibration changes confidences and nothing else, and the report says what it did."""

import numpy as np
import polars as pl
import pytest

from cfl_cli import Schema, impute
from cfl_cli.cli.pages.report import page
from cfl_cli.commands.evaluate.job import calibration_error
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import encode
from cfl_cli.methods.interface import Estimate, Hidden, Origin
from cfl_cli.trust.facts import ColumnFacts

OFS = {f"x{place}": {"role": "ordinary", "type": "numeric"} for place in range(4)}
DOMAIN = ["a", "b", "c", "d"]
RATES = np.array([[0, 2, 1, 1], [2, 0, 1, 1], [2, 1, 0, 1], [2, 1, 1, 0]]) / 4
MECHANISM = {
    value: {other: rate for other, rate in zip(DOMAIN, row, strict=True) if rate}
    for value, row in zip(DOMAIN, RATES.tolist(), strict=True)
}


def made(n=600, how=Mechanism(4)):  # noqa: B008 — it is frozen
    """A CF that the OFs half tell, with some exact and some empty cells; and its truth."""
    rng = np.random.default_rng(3)
    xs = rng.random((n, 4))
    leaning = 4 * xs[:, :1] * np.array([1.0, -1.0, 0.5, 0.0]) + rng.gumbel(size=(n, 4))
    values = leaning.argmax(axis=1)
    candidates = how.draw(values, np.ones(n, dtype=int), rng.random((n, 4)))
    cells = np.array(DOMAIN)[candidates.argmin(axis=1)].astype(object)
    cells[:20] = [f"={DOMAIN[value]}" for value in values[:20]]
    cells[20:30] = ""
    table = pl.DataFrame({f"x{place}": column for place, column in enumerate(xs.T)})
    return table.with_columns(cf=pl.Series(cells.tolist(), dtype=pl.String)), values


def schema(**cf):
    column = {"role": "complementary", "values": DOMAIN, "exact": "=", **cf}
    return Schema(columns={**OFS, "cf": column})


def both(**settings):
    """Return the runs with calibration and without."""
    table, _ = made()
    how = {"mode": "both", "k": 10, **settings}
    return [impute(table, schema(), **how, calibration=on) for on in (True, False)]


@pytest.fixture(scope="module")
def runs():
    return both()


def test_answers_are_the_same_and_confidences_are_powers_of_the_raw_ones(runs):
    after, before = runs
    assert after.frame["cf_imputed"].equals(before.frame["cf_imputed"])
    [column] = after.report.columns
    power = column.calibration.power
    assert power < 0.9
    raw, new = before.confidences.arrays["cf"], after.confidences.arrays["cf"]
    expected = raw**power / (raw**power).sum(axis=1, keepdims=True)
    assert new == pytest.approx(expected)
    assert np.array_equal(new > 0, raw > 0)
    assert np.array_equal(new[:20], raw[:20])  # exact cells
    answered = new[np.arange(len(new)), new.argmax(axis=1)]
    assert after.frame["cf_confidence"].to_list() == answered.tolist()


def test_calibrated_confidences_are_nearer_to_the_truth(runs):
    _, truth = made()
    errors = [
        calibration_error(
            run.confidences.arrays["cf"].argmax(axis=1) == truth,
            run.confidences.arrays["cf"].max(axis=1),
        )
        for run in runs
    ]
    assert errors[0] < errors[1] - 0.05


def test_the_report_is_of_the_confidences_that_are_written_beside_the_raw_ones(runs):
    [after], [before] = (run.report.columns for run in runs)
    assert (before.calibration.power, before.calibration_raw) == (None, None)
    assert after.calibration_raw == before.calibration
    assert after.calibration.error < before.calibration.error
    assert after.entropy_end_raw == before.entropy_end == before.entropy_end_raw
    assert after.entropy_end > after.entropy_end_raw
    assert after.entropy_reduction == pytest.approx(1 - after.entropy_end / after.entropy_start)
    confidences = runs[0].frame["cf_confidence"]
    assert after.mean_confidence == pytest.approx(confidences.mean())
    for name in ("estimated_accuracy", "gain", "heldout_score", "commonest_accuracy", "method"):
        assert getattr(after, name) == getattr(before, name)


def test_the_page_says_how_confidences_were_calibrated_in_one_line(runs):
    [after] = runs[0].report.columns
    power, error, raw = (
        after.calibration.power,
        after.calibration.error,
        after.calibration_raw.error,
    )
    assert (
        "Confidences are calibrated, each CF's by a power (below 1: less sure): "
        f"cf {power:.2f} (error {raw:.2f} before, {error:.2f} after)."
    ) in page(runs[0].report).notes
    raw_page = "Confidences are not calibrated, as --no-calibration says, and may be too sure."
    assert raw_page in page(runs[1].report).notes
    [record] = page(runs[0].report).records
    assert record["calibration_power"] == power
    assert record["calibration_raw_error"] == raw


def test_without_hidden_cells_nothing_is_calibrated_and_the_page_says_so():
    after, before = both(folds=0, iterations=5)
    assert after.frame.equals(before.frame)
    said = "Confidences are not calibrated: that takes hidden cells, and --folds 0 hides none."
    assert said in page(after.report).notes
    assert said not in page(before.report).notes


def test_other_methods_are_not_calibrated():
    after, before = both(method="commonest")
    assert after.frame.equals(before.frame)
    assert after.report.columns[0].calibration.power is None


def test_min_confidence_counts_the_confidences_that_are_written():
    after, before = both(min_confidence=0.7)
    [column], [raw] = after.report.columns, before.report.columns
    confidences = after.frame["cf_confidence"]
    assert column.low_confidence_cells == (confidences < 0.7).sum() > raw.low_confidence_cells
    assert column.low_confidence_cells == after.frame["cf_imputed"].null_count()
    assert column.confident.share == pytest.approx((confidences >= 0.7).mean())


def test_under_a_mechanism_answers_stay_the_same_too():
    table, _ = made(how=Mechanism(4, RATES))
    runs = [
        impute(table, schema(mechanism=MECHANISM), k=10, calibration=on) for on in (True, False)
    ]
    after, before = (run.frame["cf_imputed"] for run in runs)
    assert after.equals(before)
    [column] = runs[0].report.columns
    assert column.calibration.power < 1
    assert column.calibration.error < column.calibration_raw.error


@pytest.mark.parametrize("commonest", [0.25, 0.6])
def test_noise_loses_about_the_entropy_that_its_shares_explain(commonest):
    rng, n = np.random.default_rng(1), 1500
    table, _ = made(n)
    values = np.where(rng.random(n) < commonest, 0, rng.integers(1, 4, n))
    cells = np.array(DOMAIN)[(values + rng.integers(1, 4, n)) % 4]
    noise = table.with_columns(cf=pl.Series(cells.tolist()))
    [column] = impute(noise, schema()).report.columns
    # Where nothing is known but that the commonest value has this share, by Bayes' rule:
    others = (1 - commonest) / 3
    named = np.array([commonest, others, others]) / (1 - others)
    alone = others * np.log(3) + (1 - others) * -(named @ np.log(named))  # or a cell rules it out
    explained = 1 - alone / np.log(3)
    raw = 1 - column.entropy_end_raw / column.entropy_start
    assert raw > explained + 0.07
    assert column.entropy_reduction == pytest.approx(explained, abs=0.08)
    assert column.entropy_reduction_null == pytest.approx(explained, abs=0.05)


def test_where_exclusions_are_not_uniform_no_accuracy_gives_leave_to_sharpen():
    table, values = made()
    first = pl.Series(np.where(values == 0, "b", "a").tolist())  # the first wrong value, always
    for cells, is_known in ((table["cf"], True), (first, False)):
        encoded = encode(table.with_columns(cf=cells), schema())
        n, even = len(values), np.full((len(values), 4), 0.25)
        nothing = np.zeros((n, 1))
        estimate = Estimate(
            even, nothing > 0, nothing, (Origin("graph"),), Hidden(np.arange(n), even)
        )
        assert (ColumnFacts(encoded, estimate, 0).accuracy is not None) == is_known
