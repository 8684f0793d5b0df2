import numpy as np
import polars as pl
import pytest
from builders.cells import skewed
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq, minimize_scalar

from cfl_cli import Schema, impute
from cfl_cli.cli.pages.report import page
from cfl_cli.commands.evaluate.job import calibration_error
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import encode
from cfl_cli.methods.interface import Estimate, Hidden, Origin
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.powers import UNRAISED, WIDTH, by_other_half, find_power, minimize, raised, root

MASSES = arrays(
    float, (3, 4), elements=st.one_of(st.just(0.0), st.floats(1e-300, 1.0), st.just(5e-324))
).filter(lambda mass: mass.any(axis=1).all())


def world(mechanism, power, n=4000, *, seed=0):
    """Return priors that should be raised to `power`, and cells of values drawn from them so."""
    rng = np.random.default_rng(seed)
    honest = rng.dirichlet(np.ones(mechanism.size), n)
    values = (honest.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    cells = mechanism.draw(values, np.ones(n, dtype=int), rng.random(honest.shape))
    prior = honest ** (1 / power)
    return prior / prior.sum(axis=1, keepdims=True), cells


def found(prior, cells, mechanism, *, mutual=False, groups=None, accuracy=None):
    """Return the power, if all cells are hidden and the priors themselves are the confidences."""
    hidden = HiddenCells(prior, cells, mechanism, mutual=mutual, groups=groups)
    return find_power(hidden, prior, prior.argmax(axis=1), accuracy=lambda: accuracy)


@given(MASSES, st.floats(0.02, 20))
def test_a_power_keeps_order_zeros_and_what_is_above_zero_and_rows_sum_to_1(mass, power):
    confidences = mass / mass.max(axis=1, keepdims=True)
    confidences /= confidences.sum(axis=1, keepdims=True)
    after = raised(confidences, power)
    assert np.array_equal(after > 0, confidences > 0)
    assert after.sum(axis=1) == pytest.approx(1)
    for row, new in zip(confidences, after, strict=True):
        assert (np.diff(new[np.argsort(row, kind="stable")]) >= 0).all()
        assert new[row.argmax()] == new.max()


def test_a_power_is_a_power_and_leaves_exact_even_and_unraised_rows_as_they_are():
    rows = np.array([[0.5, 0.3, 0.2, 0.0]])
    assert raised(rows, 2.0)[0] == pytest.approx(np.array([25, 9, 4, 0]) / 38)
    kept = np.array([[0, 1.0, 0, 0], [1 / 3, 0, 1 / 3, 1 / 3]])
    assert np.array_equal(raised(kept, 0.3), kept)
    assert raised(rows, 1.0) is rows


@pytest.mark.parametrize("mechanism", [Mechanism(4), skewed(4)], ids=["uniform", "mechanism"])
def test_the_power_is_that_of_a_plain_search_over_the_log_likelihood(mechanism):
    prior, cells = world(mechanism, 0.5, 800)

    def objective(log_power, *, worth):
        total = 0.0
        likelihood = mechanism.likelihood(cells)
        for p, evidence in zip(prior, likelihood, strict=True):
            powers = p ** np.exp(log_power)
            total += worth * np.log((powers * evidence).sum() / powers.sum())
        return total - (log_power / WIDTH) ** 2 / 2

    for mutual, worth in ((False, 1), (True, 0.5)):
        best = np.log(found(prior, cells, mechanism, mutual=mutual).value)
        nearby = [objective(best + step, worth=worth) for step in (-0.02, 0, 0.02)]
        assert max(nearby) == nearby[1]


@pytest.mark.parametrize("power", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("mechanism", [Mechanism(4), skewed(4)], ids=["uniform", "mechanism"])
def test_overconfident_priors_are_flattened_as_much_as_they_should_be(power, mechanism):
    prior, cells = world(mechanism, power)
    assert found(prior, cells, mechanism).value == pytest.approx(power, rel=0.25)


def test_a_few_cells_hardly_move_the_power_from_1():
    prior, cells = world(Mechanism(4), 0.2)
    few, many = (found(prior[:n], cells[:n], Mechanism(4)).value for n in (2, 4000))
    assert many < 0.3
    assert 0.6 < few < 1.4


def test_sharpening_takes_an_accuracy_that_allows_for_it():
    prior, cells = world(Mechanism(4), 3.0, 20_000)
    high = Interval(0.9, 0.88, 0.92)
    assert found(prior, cells, Mechanism(4), accuracy=high).value == pytest.approx(3, rel=0.15)
    assert found(prior, cells, Mechanism(4)).value == 1  # the accuracy is not known
    mean = prior.max(axis=1).mean()
    least = Interval(mean - 0.01, mean - 0.05, mean + 0.05)
    assert found(prior, cells, Mechanism(4), accuracy=least).value == 1


def test_copies_of_rows_are_no_more_evidence_than_the_rows():
    prior, cells = world(Mechanism(4), 2.0, 100)
    copies, groups = (np.tile(prior, (5, 1)), np.tile(cells, (5, 1))), np.tile(np.arange(100), 5)
    high = Interval(0.9, 0.88, 0.92)
    rows = found(prior, cells, Mechanism(4), accuracy=high).value
    assert found(*copies, Mechanism(4), accuracy=high).value > rows + 0.2  # as if independent
    together = found(*copies, Mechanism(4), groups=groups, accuracy=high)
    assert together.value == pytest.approx(rows, abs=1e-4)


def test_answers_are_made_no_surer_than_their_accuracy():
    prior, cells = world(Mechanism(4), 3.0, 20_000)
    power = found(prior, cells, Mechanism(4), accuracy=Interval(0.50, 0.40, 0.60))
    assert 1 < power.value < 2.9
    assert raised(prior, power.value).max(axis=1).mean() == pytest.approx(0.50, abs=1e-3)
    assert max(power.halves) <= power.value


def test_cells_that_say_nothing_find_no_power():
    prior, cells = world(Mechanism(4), 0.5, 20)
    assert found(prior, cells | True, Mechanism(4)) is None


def test_each_half_of_the_hidden_rows_is_raised_by_what_the_other_half_has_found():
    prior, cells = world(Mechanism(4), 0.5, 400)
    power = found(prior, cells, Mechanism(4))
    other = cells.copy()
    other[::2] = world(Mechanism(4), 0.3, 400, seed=1)[1][::2]  # cells of other rows
    second = found(prior, other, Mechanism(4))
    assert second.halves[1] == power.halves[1]
    assert second.halves[0] < power.halves[0]
    raised_priors = by_other_half(prior, power)
    assert np.array_equal(raised_priors[::2], raised(prior[::2], power.halves[1]))
    assert np.array_equal(raised_priors[1::2], raised(prior[1::2], power.halves[0]))


def test_a_power_that_only_the_cells_that_found_it_gain_by_is_not_taken():
    prior, cells = world(Mechanism(4), 0.5, 400)
    sure, even = world(Mechanism(4), 2.0, 400, seed=1)
    prior[::2], cells[::2] = sure[::2], even[::2]  # one half asks for less, the other for more
    assert found(prior, cells, Mechanism(4)) == UNRAISED


def test_of_very_many_cells_some_of_both_halves_are_enough(monkeypatch):
    prior, cells = world(Mechanism(4), 0.5)
    every = found(prior, cells, Mechanism(4))
    monkeypatch.setattr("cfl_cli.trust.powers._ENOUGH", 1000)
    some = found(prior, cells, Mechanism(4))
    assert some.value != every.value
    assert (some.value, *some.halves) == pytest.approx((every.value, *every.halves), rel=0.4)


# Brent's searches end where SciPy's do, to the last digit.


VALLEYS = {
    "a parabola": lambda x: (x - 0.3) ** 2,
    "its least is at the low end": lambda x: x,
    "its least is at the high end": lambda x: -x,
    "it is level": lambda x: 0.0 * x,
    "two valleys": lambda x: np.cos(5 * x) + 0.1 * x,
    "an edge": lambda x: abs(x - 0.777),
    "steps": lambda x: np.floor(8 * x) ** 2,
    "a log score": lambda x: x**2 / 2 - 50 * np.log(np.exp(x) / (1 + np.exp(2 * x))),
}
CLIMBS = {
    "a line": lambda x: x - 0.3,
    "a curve": lambda x: np.tanh(4 * (x - 0.9)),
    "0 at an end": lambda x: x + 1,
    "0 at the other": lambda x: x - 2,
    "a jump": lambda x: np.sign(x - 0.123),
    "hardly a slope": lambda x: (x - 0.5) ** 5,
    "falling": lambda x: np.exp(-x) - 0.8,
}


@pytest.mark.parametrize("name", VALLEYS)
def test_the_least_value_is_where_scipy_finds_it(name):
    for low, high in [(-1.0, 2.0), (0.0, 1.0), (0.25, 0.7501)]:
        expected = minimize_scalar(VALLEYS[name], bounds=(low, high), method="bounded").x
        assert minimize(VALLEYS[name], low, high) == expected


@pytest.mark.parametrize("name", CLIMBS)
def test_the_root_is_where_scipy_finds_it(name):
    for within in (1e-3, 1e-9):
        expected = brentq(CLIMBS[name], -1.0, 2.0, xtol=within)
        assert root(CLIMBS[name], -1.0, 2.0, within=within) == expected


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
    how = "lowered" if power < 1 else "raised"
    assert (
        f"cf:\n- Calibration {how} the confidences (power {power:.2f}, error {raw:.2f} → {error:.2f})."
    ) in page(runs[0].report).notes
    raw_page = "Confidences are not calibrated (--no-calibration) and may be too high."
    assert raw_page in page(runs[1].report).notes
    [record] = page(runs[0].report).records
    assert record["calibration_power"] == power
    assert record["calibration_raw_error"] == raw


def test_without_hidden_cells_nothing_is_calibrated_and_the_page_says_so():
    after, before = both(folds=0, iterations=5)
    assert after.frame.equals(before.frame)
    said = "Confidences are not calibrated, because --folds 0 holds out no cells."
    assert said in page(after.report).notes
    assert said not in page(before.report).notes


@pytest.mark.parametrize("method", ["boost", "net", "forest", "auto"])
def test_methods_that_learn_are_calibrated_and_answer_the_same(method):
    after, before = both(method=method)
    assert after.frame["cf_imputed"].equals(before.frame["cf_imputed"])
    power = after.report.columns[0].calibration.power
    raw = before.confidences.arrays["cf"]
    assert after.confidences.arrays["cf"] == pytest.approx(raised(raw, power), rel=1e-9)
    assert before.report.columns[0].calibration.power is None


def test_methods_that_learn_nothing_are_not_calibrated():
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
