"""A batch of new rows is judged by its own cells, beside what was so at fitting."""

from dataclasses import replace
from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from builders.batches import SIZE, FittedModel, Rows
from builders.hidden_rows import case

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.drift import (
    ALARM,
    BETS,
    NONE_ALIKE,
    BatchCounts,
    BatchEvidence,
    DriftCourse,
    Pooled,
    compare_cells,
    higher_by,
    judge_batch,
)
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HiddenCells
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


def test_what_the_caller_counted_is_in_the_report(model):
    rows = Rows(80, 0)
    counts = [BatchCounts(exact=1, empty=2, fallback=3, low_confidence=4, suspect=5)] * 2
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
            DriftCourse().after(compare_cells(cells, model.reference, 0).evidence, 1, cfs=2)
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


# How a batch's cells are predicted beside those at fitting, counted by loops.


def hidden(m, *, sizes=(1, 2), seed=0, **options):
    prior, _, cells, _ = case(Mechanism(4), m, seed, sizes=sizes)
    return HiddenCells(prior, cells, Mechanism(4), **options)


SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def ratio(prior, cell):
    left = [sum(of[place] for place in range(4) if cell[place]) for of in (SHARES, prior)]
    return log(0.9 + 0.1 * (20 if left[0] >= 20 * left[1] else left[0] / left[1]))


def loss(prior, cell, low):
    return max((ratio(prior, cell) - low) / (log(0.9 + 0.1 * 20) - low), 0.0)


@pytest.mark.parametrize("mutual", [False, True])
def test_facts_are_those_of_a_loop_over_the_cells(mutual):
    fitted, new = hidden(900, mutual=mutual), hidden(60, sizes=(0, 1, 2, 3), seed=1)
    known = list(zip(fitted.prior, fitted.cells, strict=True))
    lows = {s: min(ratio(*row) for row in known if 4 - row[1].sum() == s) for s in (1, 2)}
    by_size = {s: [loss(*row, lows[s]) for row in known if 4 - row[1].sum() == s] for s in (1, 2)}
    means = {size: np.mean(found) for size, found in by_size.items()}
    rows = [
        (loss(prior, cell, lows[4 - cell.sum()]), 4 - cell.sum())
        for prior, cell in zip(new.prior, new.cells, strict=True)
        if 4 - cell.sum() in means  # neither empty nor exact, which no reference cell is
    ]
    reference = Reference.of([fitted], [SHARES])
    found = compare_cells(new, reference, 0).drift
    assert found.cells == len(rows) < 60
    assert found.loss == pytest.approx(np.mean([x for x, _ in rows]))
    assert found.loss_at_fitting == pytest.approx(np.mean([means[s] for _, s in rows]))
    assert found.limit == pytest.approx(np.mean([reference.limits(0)[s] for _, s in rows]))
    rises = [x - means[s] for x, s in rows]
    variance = np.var(rises, ddof=1) / len(rises)
    for size, of_size in by_size.items():
        share = sum(s == size for _, s in rows) / len(rows)
        variance += share**2 * np.var(of_size, ddof=1) / len(of_size) * (2 if mutual else 1)
    assert found.error == pytest.approx(sqrt(variance))


def test_nothing_alike_is_nothing_to_compare():
    reference = Reference.of([hidden(600, sizes=(1,)), None], [SHARES] * 2)
    assert compare_cells(hidden(50, sizes=(2,)), reference, 0).reason == NONE_ALIKE
    assert compare_cells(hidden(50, sizes=(0,)), reference, 0).drift is None
    nothing = compare_cells(hidden(50), reference, 1)
    assert (nothing.reason, nothing.evidence.cells, nothing.score_change) == (NO_FOLDS, 0, None)


def test_the_order_of_the_rows_does_not_matter_to_the_bit():
    reference, new = Reference.of([hidden(600)], [SHARES]), hidden(300, seed=1)
    order = np.random.default_rng(0).permutation(300)
    mixed = replace(new, prior=new.prior[order], cells=new.cells[order])
    one, other = (compare_cells(cells, reference, 0) for cells in (new, mixed))
    assert one.evidence == other.evidence
    assert (one.drift.loss, one.drift.limit) == (other.drift.loss, other.drift.limit)


# Evidence against a limit is what its formula says, and stable streams stay below its bound.


def ratios_by_loop(losses, limits, groups):
    """The product as it is written, group by group."""
    found = []
    for bet in BETS:
        total = 1.0
        for group in dict.fromkeys(groups):
            own = [x / u - 1 for x, u, g in zip(losses, limits, groups, strict=True) if g == group]
            total *= 1 + bet * sum(own) / len(own)
        found.append(total)
    return found


def test_ratios_are_the_products_of_the_formula():
    rng = np.random.default_rng(0)
    losses, limits = rng.random(40), rng.uniform(0.2, 0.8, 40)
    for groups in (np.arange(40), rng.integers(0, 9, 40)):
        found = BatchEvidence.of(losses, limits, groups)
        assert found.ratios == pytest.approx(ratios_by_loop(losses, limits, groups))
    alone = BatchEvidence.of(losses, limits, None)
    assert alone.ratios == BatchEvidence.of(losses, limits, np.arange(40)).ratios
    assert (alone.cells, alone.losses) == (40, pytest.approx(losses.sum()))


@pytest.mark.parametrize("groups", [None, np.array([0, 0, 1])])
def test_the_expected_ratio_at_the_limit_is_1(groups):
    # All outcomes of three cells whose losses are 0, 0.3 or 1; the mean is the limit.
    losses, chances = [0.0, 0.3, 1.0], [0.6, 0.3, 0.1]
    limit = np.dot(losses, chances)
    expected = np.zeros(len(BETS))
    for outcome in product(range(3), repeat=3):
        found = BatchEvidence.of(np.take(losses, outcome), np.full(3, limit), groups)
        expected += np.prod(np.take(chances, outcome)) * np.array(found.ratios)
    assert expected == pytest.approx(np.ones(len(BETS)))


def test_huge_evidence_is_a_finite_number():
    found = BatchEvidence.of(np.ones(20_000), np.full(20_000, 0.01), None)
    assert found.ratios == pytest.approx([1e15] * len(BETS))
    step = DriftCourse().after(found, 7, cfs=3)
    assert (step.alarm, step.course) == (True, DriftCourse(drifted_since=7))


def batch(ratio, *, loss=0.1, limit=0.2, cells=100):
    return BatchEvidence([ratio] * len(BETS), cells, loss * cells, limit * cells)


def test_evidence_grows_from_batch_to_batch_and_starts_anew_after_an_alarm():
    course, alarms = DriftCourse(), []
    for number in range(1, 5):
        step = course.after(batch(20.0), number, cfs=1)
        course = step.course
        alarms.append((step.evidence, step.alarm))
    # 20, (20 + 1)·20 = 420, (420 + 1)·20 = 8,420 ≥ 5,000, and anew.
    assert alarms == [(20, False), (420, False), (8420, True), (20, False)]
    assert course.drifted_since == 3
    assert not DriftCourse().after(batch(20.0), 1, cfs=1).course.drifted_since
    three = course.after(batch(ALARM * 2.9), 5, cfs=3)  # (20 + 1)·14,500 ≥ 15,000
    assert (three.alarm, three.course.drifted_since) == (True, 3)  # since the first one


def test_drift_is_over_after_three_quiet_batches_of_enough_cells_below_the_limit():
    drifted = DriftCourse(drifted_since=2)

    def after(*batches):
        course = drifted
        for number, one in enumerate(batches, start=3):
            course = course.after(one, number, cfs=1).course
        return course

    assert after(batch(1.0), batch(1.0)).drifted_since == 2
    assert after(batch(1.0), batch(1.0), batch(1.0)) == DriftCourse((3.0,) * len(BETS))
    # An alarm in between: three more are needed.
    assert after(batch(1.0), batch(1e6), batch(1.0), batch(1.0)).drifted_since == 2
    # Too few cells: more batches are needed.
    small = batch(1.0, cells=50)
    assert after(small, small, small).quiet == Pooled(3, 150, 15.0, 30.0)
    assert after(small, small, small, small).drifted_since is None
    # Above the limit: it goes on, and the next three may end it.
    high = batch(1.0, loss=0.3)
    assert after(high, high, high).drifted_since == 2
    assert after(high, high, high, batch(1.0), batch(1.0), batch(1.0)).drifted_since is None


def test_a_batch_without_cells_changes_nothing():
    course = DriftCourse(tuple(map(float, range(len(BETS)))), 5, Pooled(1, 10, 1.0, 2.0))
    step = course.after(BatchEvidence([1.0] * len(BETS), 0, 0.0, 0.0), 9, cfs=2)
    assert (step.course, step.evidence, step.alarm) == (course, (len(BETS) - 1) / 2, False)


def test_stable_streams_alarm_less_often_than_the_bound_and_their_evidence_grows_by_1_a_batch():
    # 2,000 streams of 50 batches of 30 cells; a loss is 1 or 0, and its mean is the limit.
    rng = np.random.default_rng(0)
    streams, batches, cells, limit = 2000, 50, 30, 0.1
    hits = rng.binomial(cells, limit, (batches, streams))
    evidence, alarms, growth = np.zeros((len(BETS), streams)), 0, []
    for of_batch in hits:
        high, low = (1 + np.array(BETS)[:, None] * (x / limit - 1) for x in (1.0, 0.0))
        evidence = (evidence + 1) * high**of_batch * low ** (cells - of_batch)
        growth.append(np.median(evidence.mean(axis=0)))
        fired = evidence.mean(axis=0) >= ALARM
        alarms += fired.sum()
        evidence[:, fired] = 0
    assert alarms <= streams * batches / ALARM  # at most 20 are expected
    one = BatchEvidence.of(
        (np.arange(cells) < hits[0, 0]).astype(float), np.full(cells, limit), None
    )
    expected = high[:, 0] ** hits[0, 0] * low[:, 0] ** (cells - hits[0, 0])
    assert one.ratios == pytest.approx(expected)
    assert max(growth) < batches  # what no drift makes of it, in half of the streams
