"""A batch of new rows is judged by its own cells, beside what was so at fitting."""

from dataclasses import replace

import numpy as np
import pytest
from builders.batches import SIZE, FittedModel, Rows

from cfl_cli.trust import drift
from cfl_cli.trust.drift import BETS, Counts, Course, compare_cells, higher_by, judge_batch
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.reference import NO_FOLDS, Reference
from cfl_cli.trust.report import BatchFacts, Report


@pytest.fixture(scope="module")
def model():
    return FittedModel()


@pytest.fixture(scope="module")
def mixed():
    return FittedModel(exclusions=(1, 2))


def stream(model, batches, **options):
    """The reports of batches of 500 rows, one after the other."""
    courses, reports = None, []
    for number in range(1, batches + 1):
        judged = model.judge(Rows(500, 100 + number, **options), courses, number=number)
        courses = judged.courses
        reports.append(judged.report)
    return reports


def test_the_figures_at_fitting_stand_beside_those_of_the_batch(model):
    rows = Rows(2000, 1)
    found, fitting = model.judge(rows).report.columns[0], model.report.columns[0]
    assert found.fitting_score == fitting.heldout_score
    assert found.fitting_accuracy == fitting.estimated_accuracy
    assert found.estimated_accuracy.low < rows.right(0) < found.estimated_accuracy.high
    for change in (found.score_change, found.accuracy_change):
        assert change.low < 0 < change.high
    assert found.score_change.value == pytest.approx(found.heldout_score - fitting.heldout_score)
    # Rows that were not hidden in turn: the interval is narrower than that of folds would be.
    apart = found.estimated_accuracy.high - found.estimated_accuracy.low
    assert apart < 1.3 * (found.fitting_accuracy.high - found.fitting_accuracy.low)
    assert found.drift.loss == pytest.approx(found.drift.loss_at_fitting, abs=0.01)
    assert found.drift.expected == pytest.approx(found.drift.loss, abs=0.01)  # priors are right


def test_a_third_of_scrambled_values_is_found_within_three_batches_and_only_there(model):
    last = stream(model, 3, scrambled=1 / 3)[-1]
    sure, weak = last.columns
    assert (sure.flags, sure.flagged) == (("drifted",), True)
    assert sure.drift.drifted_since in (1, 2, 3)
    assert sure.drift.loss - sure.drift.loss_at_fitting > 3 * sure.drift.error
    # The model itself does not find these rows harder: what has changed is the relation.
    assert sure.drift.expected - sure.drift.expected_at_fitting < 0.01
    assert "drifted" not in weak.flags
    assert sure.accuracy_change.high < 0


@pytest.mark.parametrize("options", [{"exclusions": (2, 2, 2, 1)}, {"empty": 0.6}])
def test_another_mix_of_exclusions_or_more_empty_cells_is_no_drift(mixed, options):
    reports = stream(mixed, 6, **options)
    assert not any("drifted" in column.flags for each in reports for column in each.columns)
    assert max(column.drift.evidence for each in reports for column in each.columns) < 20


def test_scores_are_compared_with_those_of_cells_with_as_many_exclusions(mixed):
    found = mixed.judge(Rows(3000, 1, exclusions=(2,))).report.columns[1]
    assert found.score_change.low < 0 < found.score_change.high
    naive = found.heldout_score - found.fitting_score
    assert naive < found.score_change.low  # two values that are ruled out are harder to predict
    plain = mixed.judge(Rows(3000, 1, exclusions=(1,))).report.columns[1]
    assert plain.drift.loss_at_fitting < found.drift.loss_at_fitting


@pytest.mark.slow
def test_intervals_of_small_and_large_batches_hold_the_share_of_right_answers(model):
    for n, times in ((5, 20), (100, 15)):
        held = []
        for seed in range(times):
            rows = Rows(n, 1000 + seed)
            for place, column in enumerate(model.judge(rows).report.columns):
                interval = column.estimated_accuracy
                held.append(interval.low - 1e-9 <= rows.right(place) <= interval.high + 1e-9)
        assert np.mean(held) >= 0.9  # 95 % are expected


def test_what_was_flagged_at_fitting_stays_and_few_rows_raise_nothing_anew(model):
    weak = model.report.columns[1]
    assert (weak.flags, weak.flagged) == (("small-entropy-reduction",), False)
    for seed in range(10):
        found = model.judge(Rows(5, seed)).report
        assert [column.flags for column in found.columns] == [(), ("small-entropy-reduction",)]
        assert not any(column.flagged for column in found.columns)
        assert "sure, weak: fewer than 50 cells" in found.warnings[-1]
        sure = found.columns[0]
        assert (sure.calibration, sure.commonest_share_interval) == (None, None)
        assert sure.estimated_accuracy.high - sure.estimated_accuracy.low > 0.5


@pytest.mark.parametrize("rows", [0, 1])
def test_a_batch_of_one_row_and_of_none_is_judged(model, rows):
    judged = model.judge(Rows(rows, 3))
    for column in judged.report.columns:
        assert (column.drift is None) == (rows == 0)
        held = column.estimated_accuracy
        assert rows == 0 if held is None else (held.low, held.high) == (0, 1)
        assert column.score_change is None
    assert Report.from_json(judged.report.to_json(), name="x") == judged.report
    if not rows:
        assert {course.evidence for course in judged.courses} == {(0.0,) * len(BETS)}


def test_cells_that_are_not_as_assumed_are_refuted_by_a_batch_alone(model):
    rows = Rows(400, 0)
    cells = rows.encoded.candidates.copy()
    cells[:, :SIZE] = True
    cells[:, 0] = False  # the first CF rules out the same value in every row
    rows.encoded = replace(rows.encoded, candidates=cells)
    sure, weak = model.judge(rows).report.columns
    assert "exclusions-not-uniform" in sure.flags
    assert (sure.flagged, sure.estimated_accuracy, sure.accuracy_basis) == (True, None, "none")
    assert "exclusions-not-uniform" not in weak.flags


def test_what_fitting_has_refuted_is_not_known_of_a_batch_either(model):
    flags = ("exclusions-not-uniform",)
    wrong = replace(model.report.columns[0], flags=flags, flagged=True)
    other = FittedModel()
    other.report = replace(model.report, columns=(wrong, model.report.columns[1]))
    sure = other.judge(Rows(300, 0)).report.columns[0]
    assert (sure.flags, sure.flagged, sure.estimated_accuracy) == (flags, True, None)


def test_all_tests_of_all_cfs_share_a_small_level(model, monkeypatch):
    seen = []
    built = drift.verdict.build
    monkeypatch.setattr(
        drift.verdict, "build", lambda *a, **o: seen.append(o["level"]) or built(*a, **o)
    )
    model.judge(Rows(60, 0))
    assert seen == [0.0005 / 4 / 2]


def test_what_the_caller_counted_is_in_the_report(model):
    rows = Rows(80, 0)
    counts = [Counts(exact=1, empty=2, fallback=3, low_confidence=4, suspect=5)] * 2
    judged = judge_batch(
        rows.encoded,
        rows.estimate(model.shares),
        batch=BatchFacts(80, {"region": 0.02}, {}, "m", "b", 7),
        rows=9000,
        counts=counts,
        fitting=model.report,
        reference=model.reference,
        cfl_version="9",
        settings={"method": "boost"},
        kept={"weak"},
    ).report
    assert (judged.rows, judged.batch.rows_judged, judged.batch.number) == (9000, 80, 7)
    sure, weak = judged.columns
    assert (sure.exact_cells, sure.empty_cells, sure.fallback_rows) == (1, 2, 3)
    assert (sure.low_confidence_cells, sure.suspect_cells) == (4, 5)
    assert sure.flags == ("fallback-rows", "new-categories")
    assert (sure.flagged, sure.action, weak.action) == (False, "imputed", "kept")


def test_without_hidden_cells_at_fitting_there_is_no_test_of_drift(model):
    other = FittedModel()
    other.reference = Reference.of([None, None], model.shares)
    found = other.judge(Rows(100, 0)).report.columns[0]
    assert (found.drift, found.drift_reason, found.score_change) == (None, NO_FOLDS, None)
    assert found.estimated_accuracy is not None  # the batch's own cells need no fitting


def test_rows_that_belong_together_count_as_one(model):
    rows = Rows(200, 0, scrambled=1.0)
    alone = model.judge(rows).report.columns[0].drift
    twice = Rows(200, 0, scrambled=1.0)
    again = np.tile(np.arange(200), 2)
    twice.priors, twice.values = twice.priors[again], twice.values[again]
    twice.encoded = replace(twice.encoded.some(again), groups=again)
    found = model.judge(twice).report.columns[0].drift
    assert (found.evidence, found.error) == pytest.approx((alone.evidence, alone.error))
    assert found.cells == 2 * alone.cells


def test_the_least_rise_is_one_that_a_batch_shows(model):
    told = model.judge(Rows(1000, 0)).report.columns[0].drift.least_rise
    at_fitting = model.reference.columns[0].sizes[0].loss
    whole = model.judge(Rows(1000, 0, scrambled=1.0)).report.columns[0].drift.loss - at_fitting
    assert 0 < told < whole / 2

    def alarms(share):
        batches = (Rows(1000, 50 + seed, scrambled=share) for seed in range(10))
        hidden = (ColumnFacts(b.encoded, b.estimate(model.shares), 0).hidden_cells for b in batches)
        steps = (
            Course().after(compare_cells(cells, model.reference, 0).evidence, 1, cfs=2)
            for cells in hidden
        )
        return sum(step.alarm for step in steps)

    assert alarms(told / whole) >= 7  # 95 % of them, or about
    assert alarms(told / whole / 3) <= 2


def test_the_difference_of_two_shares_is_newcombes():
    # Newcombe 1998, method 10: 56/70 against 48/80, by Wilson's intervals.
    found = higher_by(Interval(0.8, 0.6919, 0.8769), Interval(0.6, 0.4905, 0.7000))
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0528, 0.3339), abs=5e-4)
    assert higher_by(None, found) is None
