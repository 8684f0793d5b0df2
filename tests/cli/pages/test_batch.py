"""What a batch adds to the page of a report."""

import csv
import io

import pytest
from builders.reports import column, report

from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.report import page
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import BatchFacts, Drift

DRIFT = Drift(
    cells=400,
    loss=0.091,
    loss_at_fitting=0.06,
    limit=0.07,
    error=0.006,
    expected=0.061,
    expected_at_fitting=0.06,
    least_rise=0.02,
    evidence=15_000.0,
    alarm_at=5000.0,
    alarm=True,
    drifted_since=12,
)


def batch(*columns, **facts):
    about = {"rows_judged": 1234, "new_categories": {}, "out_of_range": {}, "number": 12}
    return report(*columns, batch=BatchFacts(**about | facts, model="m", checksum="b"))


def shown(facts, width=2000):
    return render(page(facts), "table", width=width)


def test_figures_at_fitting_stand_beside_those_of_the_batch():
    facts = column(
        estimated_accuracy=Interval(0.7, 0.6, 0.8),
        fitting_accuracy=Interval(0.9, 0.85, 0.95),
        drift=DRIFT,
    )
    for width in (72, 80, 120):
        text = shown(batch(facts), width)
        assert "at fitting" in text
        assert "0.70 (0.60–0.80) 0.90 (0.85–0.95)" in text
        assert max(map(len, text.splitlines())) <= width
    assert "0.0600 → 0.0910" in text
    assert text.startswith("1,234 rows of batch 12, 1 CF, none flagged")
    assert shown(batch(facts, number=None)).startswith("1,234 rows of a batch")
    assert "at fitting" not in shown(report(column()))


def test_a_drifted_cf_is_told_with_its_losses_and_if_the_rows_are_harder():
    text = shown(batch(column(flags=("drifted",), flagged=True, drift=DRIFT)))
    assert (
        "job: this CF's new cells are predicted worse than those at fitting: loss 0.0600 → 0.0910 "
        "± 0.0060; evidence 1 : 15,000; the model itself does not find these rows harder"
    ) in text
    later = shown(batch(column(flags=("drifted",), drift=DRIFT), number=14))
    assert "those at fitting since batch 12: loss" in later
    harder = Drift(**{**vars(DRIFT), "expected": 0.085})
    text = shown(batch(column(flags=("drifted",), drift=harder)))
    assert "; 0.0250 of the rise is that the model itself finds these rows harder." in text


def test_what_cannot_be_judged_or_shown_is_told():
    blind = Drift(**{**vars(DRIFT), "least_rise": None})
    text = shown(
        batch(
            column(drift=DRIFT),
            column("ward", drift=blind),
            column("unit", drift_reason="no cells were hidden at fitting (--folds 0)"),
        )
    )
    assert "this batch alone would have shown, about: job 0.0200." in text
    assert "ward: this batch alone is too small to show a change." in text
    assert "unit: drift is not judged: no cells were hidden at fitting (--folds 0)." in text


def test_a_sample_and_shares_of_unusual_cells_are_told():
    many = {f"of{place}": place / 100 for place in range(1, 8)}
    text = shown(batch(column(), new_categories={"region": 0.02}, out_of_range=many))
    assert "new categories, by share of the rows: region 2.0 %." in text
    assert "of7 7.0 %, of6 6.0 %, of5 5.0 %, of4 4.0 %, of3 3.0 %, 2 other columns less." in text
    assert "under 0.1 %" in shown(batch(column(), out_of_range={"age": 0.0002}))
    assert "Figures are by 20 of the rows" in shown(batch(column(), rows_judged=20))
    assert "Figures are by" not in shown(batch(column()))


@pytest.mark.parametrize("drift", [DRIFT, None])
def test_csv_has_the_facts_of_drift_one_by_one(drift):
    [row] = csv.DictReader(io.StringIO(render(page(batch(column(drift=drift))), "csv")))
    assert row["drift_loss"] == ("0.091" if drift else "")
    assert row["drift_alarm"] == ("true" if drift else "")
    assert "fitting_accuracy_low" in row
    assert "drift" not in row
