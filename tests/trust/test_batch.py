import copy
import json
import os
from dataclasses import replace
from itertools import combinations, product
from math import comb, exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from builders.batches import SIZE, FittedModel, Rows
from builders.cells import cells, probability, skewed
from builders.hidden_rows import case

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.trust import history, reference
from cfl_cli.trust.drift import (
    ALARM,
    BETS,
    NONE_ALIKE,
    REASONS,
    BatchCounts,
    BatchEvidence,
    DriftCourse,
    Pooled,
    compare_cells,
    higher_by,
    judge_batch,
    second_ruled_out,
)
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.history import History, Line, read, to_append
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.reference import (
    LEAST,
    LEVEL,
    NO_FOLDS,
    TOO_FEW,
    Reference,
    expected_losses,
    losses,
    ratios,
)
from cfl_cli.trust.report import BatchFacts, Report


@pytest.fixture(scope="module")
def model():
    return FittedModel()


@pytest.fixture(scope="module")
def mixed():
    return FittedModel(exclusions=(1, 2))


def stream(model, batches, **options):
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
    assert (found.drift, found.drift_reason, found.score_change) == (None, REASONS[NO_FOLDS], None)
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
    assert (nothing.reason, nothing.evidence.cells, nothing.score_change) == (
        REASONS[NO_FOLDS],
        0,
        None,
    )


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
    # 20, (20 + 1)·20 = 420, (420 + 1)·20 = 8,420 ≥ 2,000, and anew.
    assert alarms == [(20, False), (420, False), (8420, True), (20, False)]
    assert course.drifted_since == 3
    assert not DriftCourse().after(batch(20.0), 1, cfs=1).course.drifted_since
    three = course.after(batch(ALARM * 2.9), 5, cfs=3)  # (20 + 1)·5,800 ≥ 6,000
    assert (three.alarm, three.course.drifted_since) == (True, 3)  # since the first one


def test_drift_is_over_after_three_quiet_batches_of_enough_cells_below_the_limit():
    drifted = DriftCourse(drifted_since=2)

    def after(*batches):
        course = drifted
        for number, one in enumerate(batches, start=3):
            course = course.after(one, number, cfs=1).course
        return course

    assert after(batch(1.0), batch(1.0)).drifted_since == 2
    over = after(batch(1.0), batch(1.0), batch(1.0))
    assert (over.evidence, over.drifted_since, over.quiet) == ((3.0,) * len(BETS), None, Pooled())
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


def test_the_batch_after_a_broken_one_is_judged_by_itself_while_its_history_clears(model):
    courses, found = None, []
    for number, scrambled in enumerate([0, 0, 1.0, 0, 0, 0, 0], start=1):
        judged = model.judge(Rows(500, number, scrambled=scrambled), courses, number=number)
        courses = judged.courses
        found.append(judged.report.columns[0])
    assert [column.flags == ("drifted",) for column in found] == [False] * 2 + [True] + [False] * 4
    assert [column.flagged for column in found] == [False] * 2 + [True] + [False] * 4
    assert [column.drift.drifted_since for column in found] == [None, None, 3, 3, 3, None, None]
    assert [column.drift.clears_after for column in found[2:5]] == [3, 2, 1]
    assert found[2].drift.earlier is None
    assert "The history clears after one more such batch" in found[4].drift.earlier
    assert found[5].drift.earlier is None


def test_few_cells_after_a_broken_batch_do_not_say_that_it_is_over():
    drifted = DriftCourse(drifted_since=2)
    small = drifted.after(batch(1.0, cells=50), 3, cfs=1)
    assert (small.worse, small.course.clears_after) == (True, 2)
    assert not drifted.after(batch(1.0, cells=200), 3, cfs=1).worse
    assert drifted.after(batch(1.0, loss=0.3, cells=200), 3, cfs=1).worse


def test_batches_without_drift_lower_the_limits_of_the_next_ones():
    losses, limits = np.array([0.0, 0.3, 0.1] * 100), np.full(300, 0.4)
    one = BatchEvidence.of(losses, limits, None)
    rate = losses.sum() / limits.sum()
    squares = sum((x - rate * 0.4) ** 2 for x in losses)
    pooled = Pooled().with_batch(one)
    assert pooled == Pooled(1, 300, one.losses, one.limits, pytest.approx(squares))
    assert pooled.lowering == 0.5  # never less than half
    more = 60 * replace(pooled, limits=60.0).lowering - one.losses
    step = (squares + 1) / (one.losses + 1)
    assert more**2 == pytest.approx(2.5**2 * (squares + step * more))
    # Batches that differ more than their cells: their own distances count.
    worse = BatchEvidence.of(losses * 2, limits, None)
    apart = worse.losses - rate * worse.limits
    assert pooled.with_batch(worse).squares == pytest.approx(squares + apart**2)
    # The limits that are added up are those at fitting.
    course = DriftCourse().after(one, 1, cfs=1).course
    next_one = replace(one, limits=one.limits * course.stable.lowering)
    assert course.after(next_one, 2, cfs=1).course.stable.limits == pytest.approx(2 * one.limits)


def test_a_history_with_impossible_sums_does_no_harm():
    assert Pooled(3, 500, 1.0, 0.0).lowering == 1
    absurd = Pooled(3, 500, 1e30, 1e-200, 1e30)
    assert absurd.lowering == 1
    assert absurd.with_batch(batch(1.0)).squares == pytest.approx(1e30)


def test_later_batches_are_held_against_lower_limits(model):
    reports = stream(model, 12)
    limits = [report.columns[0].drift.limit for report in reports]
    assert limits[-1] < limits[0]
    assert not any(column.flags == ("drifted",) for report in reports for column in report.columns)


def test_cells_that_begin_to_rule_out_what_looks_likeliest_make_the_accuracy_not_known(model):
    courses, flags = None, []
    for number in range(1, 5):
        rows = Rows(250, number)
        prior, true = rows.priors[:, :SIZE].copy(), rows.values[:, 0]
        prior[np.arange(250), true] = -1
        half = np.random.default_rng(number).random(250) < 0.5
        cells = rows.encoded.candidates.copy()
        cells[half, :SIZE] = True
        cells[half, prior.argmax(axis=1)[half]] = False
        rows.encoded = replace(rows.encoded, candidates=cells)
        judged = model.judge(rows, courses, number=number)
        courses = judged.courses
        column = judged.report.columns[0]
        flags.append("exclusions-not-uniform" in column.flags)
        assert flags[-1] == (column.estimated_accuracy is None)
    assert flags[-2:] == [True, True]


def test_how_often_the_second_value_is_ruled_out_is_counted_beside_its_bound():
    found = second_ruled_out(hidden(80, sizes=(0, 1, 2, 3)))
    new = hidden(80, sizes=(0, 1, 2, 3))
    sizes = 4 - new.cells.sum(axis=1)
    rows = [row for row in range(80) if sizes[row] in (1, 2)]
    second = [sorted(range(4), key=lambda v, row=row: -new.prior[row, v])[1] for row in rows]
    assert found.cells == len(rows)
    assert found.losses == sum(not new.cells[row, v] for row, v in zip(rows, second, strict=True))
    assert found.limits == pytest.approx(sum(sizes[row] / 3 for row in rows))


def test_priors_that_are_not_sure_enough_are_sharpened():
    known = hidden(900, sizes=(1,))
    flat = known.prior**0.4 / (known.prior**0.4).sum(axis=1, keepdims=True)
    column = Reference.of([replace(known, prior=flat)], [SHARES]).columns[0]
    assert 1.8 < column.power < 3.5
    sharp = Reference.of([known], [SHARES]).columns[0]
    assert sharp.power == pytest.approx(1, abs=0.2)
    older = Reference.of([known], [SHARES]).facts()
    del older["columns"][0]["power"]
    assert Reference.from_facts(older, [4]).columns[0].power == 1
    for wrong in (0.5, 1e3, float("nan")):
        older["columns"][0]["power"] = wrong
        with pytest.raises(StateError, match="power out of range"):
            Reference.from_facts(older, [4])


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


CFS = ["sure", "weak"]


def apply(model, path, rows, checksum, *, fitted="m1"):
    with to_append(path) as opened:
        before = opened.history.before(fitted, checksum, CFS, name="new.csv")
        judged = model.judge(
            rows, before.courses, number=before.number, model=fitted, checksum=checksum
        )
        if not before.repeated:
            opened.append(Line.of(judged, name="new.csv"))
    return judged


@pytest.fixture(scope="module")
def lines(model, tmp_path_factory):
    """The lines of three batches, the last one with drift."""
    path = tmp_path_factory.mktemp("history") / "h.jsonl"
    for number, scrambled in enumerate([0, 0, 1.0]):
        apply(model, path, Rows(400, number, scrambled=scrambled), f"b{number}")
    return path.read_text().splitlines()


@pytest.fixture
def path(lines, tmp_path):
    path = tmp_path / "h.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_every_batch_has_a_line_with_all_that_the_next_one_needs(path):
    first, second, last = read(path).lines
    assert [line.batch for line in read(path).lines] == [1, 2, 3]
    assert (first.model, first.checksum, first.name, first.rows) == ("m1", "b0", "new.csv", 400)
    sure, weak = last.columns
    assert (sure.drifted, weak.drifted) == (True, False)
    assert sure.course == DriftCourse(
        drifted_since=3, stable=second.columns[0].course.stable, second=sure.course.second
    )
    assert (sure.flags, sure.evidence > 10_000) == (("drifted",), True)
    assert first.columns[0].accuracy.low < first.columns[0].accuracy.value


def test_evidence_is_carried_from_line_to_line(model, path):
    rows, (_, second, third) = Rows(400, 2, scrambled=1.0), read(path).lines
    cells = ColumnFacts(rows.encoded, rows.estimate(model.shares), 1).hidden_cells
    ratios = compare_cells(cells, model.reference, 1).evidence.ratios
    before = second.columns[1].course.evidence
    grown = [(m + 1) * ratio for m, ratio in zip(before, ratios, strict=True)]
    assert third.columns[1].evidence == pytest.approx(sum(grown) / len(BETS))
    assert min(before) > 0


def test_the_same_batch_again_has_the_same_report_and_counts_once(model, path):
    text = path.read_bytes()
    for number, scrambled in ((2, 1.0), (0, 0)):  # the last one, and the first one
        rows = Rows(400, number, scrambled=scrambled)
        again = apply(model, path, rows, f"b{number}")
        assert path.read_bytes() == text
        line = read(path).lines[number]
        assert tuple(column.course for column in line.columns) == again.courses
        assert again.report.batch.number == line.batch
    fourth = apply(model, path, Rows(400, 9), "b9")
    assert fourth.report.columns[0].drift.drifted_since == 3


def test_another_model_starts_anew(model, path):
    judged = apply(model, path, Rows(400, 7), "b0", fitted="m2")
    assert judged.report.batch.number == 1
    assert [line.model for line in read(path).lines] == ["m1"] * 3 + ["m2"]
    assert "drifted" not in judged.report.columns[0].flags
    # And the old one goes on where it was.
    assert apply(model, path, Rows(400, 8), "b8").report.batch.number == 4


def test_lines_hold_no_cell_and_no_date(lines):
    assert set(json.loads(lines[0])) == {
        "version", "cfl_version", "model", "batch", "checksum", "name", "rows", "columns",
    }  # fmt: skip


def broken(lines, change):
    line = json.loads(lines[1])
    change(line)
    return json.dumps(line)


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.pop("rows"),
        lambda line: line.update(rows="400"),
        lambda line: line.update(rows=-1),
        lambda line: line.update(batch=3),
        lambda line: line.update(batch=0),
        lambda line: line.update(checksum="b0"),
        lambda line: line.update(version=2),
        lambda line: line["columns"][0].update(loss=float("nan")),
        lambda line: line["columns"][0].update(course=None),
        lambda line: line["columns"][0]["course"].update(evidence=[0.0] * (len(BETS) - 1)),
        lambda line: line["columns"][0]["course"].update(evidence=[-1.0] * len(BETS)),
        lambda line: line["columns"][0]["course"].update(evidence=[float("inf")] * len(BETS)),
        lambda line: line["columns"][0]["course"].update(evidence=[0.0] * (len(BETS) + 1)),
        lambda line: line["columns"][0]["course"].update(drifted_since=0),
    ],
)
def test_a_line_that_is_not_one_is_named(lines, tmp_path, change):
    path = tmp_path / "h.jsonl"
    path.write_text(f"{lines[0]}\n{broken(lines, change)}\n{lines[2]}\n")
    with pytest.raises(DataError, match=r"h\.jsonl, line 2: "):
        read(path)


@pytest.mark.parametrize("text", [b"\n", b"{}\n", b"\xff\n", b"[" * 100_000 + b"\n", b"null\n"])
def test_what_is_no_history_is_refused(text):
    with pytest.raises(DataError, match="line 1: "):
        History.from_text(text, name="x")


def test_a_line_that_was_cut_is_named_with_the_way_out_and_not_appended_to(model, path):
    whole = path.read_bytes()
    for cut in (whole[:-1], whole[:-50]):
        path.write_bytes(cut)
        with pytest.raises(DataError, match=r"line 3: the line is cut off.*remove the line"):
            apply(model, path, Rows(10, 0), "new")
        assert path.read_bytes() == cut


def test_a_missing_line_and_other_cfs_are_noticed(path, lines):
    with pytest.raises(DataError, match="batch 3 of its model found, batch 2 expected"):
        History.from_text(f"{lines[0]}\n{lines[2]}\n".encode(), name="x")
    with pytest.raises(DataError, match="different CFs"):
        read(path).before("m1", "new", ["sure"])


def test_what_cannot_be_written_whole_leaves_the_file_as_it_was(path, monkeypatch):
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(history.os, "write", lambda handle, data: write(handle, data[:20]))
    with to_append(path) as opened, pytest.raises(ResourceError, match="cannot be written"):
        opened.append(replace(opened.history.lines[-1], batch=4, checksum="new"))
    assert path.read_bytes() == before


def test_a_second_run_waits_for_the_first(path, monkeypatch):
    monkeypatch.setattr(history, "PATIENCE", 0.1)
    with (
        to_append(path),
        pytest.raises(ResourceError, match="another run is using it"),
        to_append(path),
    ):
        pass
    with to_append(path) as opened:
        assert len(opened.history.lines) == 3


def test_only_a_regular_file_is_a_history(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name in (".", "pipe", "no/file", "a\0b"):
        with pytest.raises(DataError), to_append(tmp_path / name):
            pass
    with pytest.raises(DataError, match="cannot be opened"):
        read(tmp_path / "missing")


def hidden_cells(m, *, sizes=(1,), size=4, seed=0, **options):
    prior, _, cells, _ = case(Mechanism(size), m, seed, sizes=sizes)
    return HiddenCells(prior, cells, Mechanism(size), **options)


def reference_of(*cells):
    shares = [
        np.full(4, 0.25) if of is None else of.mechanism.shares(of.cells).prior for of in cells
    ]
    return Reference.of(cells, shares)


def losses_by_loop(known):
    """The losses of cells with one exclusion, on the scale from the lowest T of them."""
    shares, found = known.mechanism.shares(known.cells).prior, []
    for prior, cell in zip(known.prior, known.cells, strict=True):
        likelier = shares[cell].sum() / max(prior[cell].sum(), 1e-300)
        found.append(log(0.9 + 0.1 * min(likelier, 20)))
    low = min(found)
    return (np.array(found) - low) / (log(0.9 + 0.1 * 20) - low), low


def test_a_limit_is_that_of_its_formula():
    known = hidden_cells(900, mutual=True)
    made = reference_of(known, known, known)
    [of] = made.columns[0].sizes
    x, low = losses_by_loop(known)
    n, z = len(x), NormalDist().inv_cdf(1 - LEVEL / 3)
    variance, step = x.var(ddof=1) / n, ((x**2).sum() + 1) / (x.sum() + 1)
    assert (of.exclusions, of.cells, of.low) == (1, 900, pytest.approx(low))
    assert of.loss == pytest.approx(x.mean())
    assert of.loss_variance == pytest.approx(variance)
    found = made.limits(0)[1]
    further = found - x.mean()
    assert further**2 == pytest.approx(z**2 * 2 * (variance + step * further / n))
    # A bit more than without the last term, and much more than the mean.
    assert x.mean() + z * sqrt(2 * variance) < found < x.mean() + 1.3 * z * sqrt(2 * variance)


def test_cells_without_any_loss_have_a_limit_above_0():
    sure = HiddenCells(
        np.tile([1.0, 0.0, 0.0], (500, 1)), np.tile([True, True, False], (500, 1)), Mechanism(3)
    )
    limit = reference_of(sure).limits(0)[1]
    assert exp(-500 * limit) < LEVEL  # of losses that are 1, none is seen so rarely


def test_limits_hold_the_true_mean_as_often_as_promised():
    # Losses of 0 or 1 with a mean of 0.01 are the worst case for a normal law.
    rng = np.random.default_rng(0)
    n, rate, beyond = 500, 0.01, 0
    drawn, counts = np.unique(rng.binomial(n, rate, 20_000), return_counts=True)
    for hits, times in zip(drawn, counts, strict=True):
        prior = np.zeros((n, 3))
        prior[:, 0], prior[:hits] = 1.0, [0.0, 0.0, 1.0]
        cells = HiddenCells(prior, np.tile([True, True, False], (n, 1)), Mechanism(3))
        found = Reference.of([cells], [np.full(3, 1 / 3)])
        beyond += times * (found.limits(0)[1] < rate)
    assert beyond <= 20_000 * LEVEL


def test_every_number_of_exclusions_has_its_own_and_few_cells_have_none():
    known = hidden_cells(1000, sizes=(1, 1, 1, 2))
    counts = np.bincount((~known.cells).sum(axis=1))
    rare = HiddenCells(known.prior[:500], known.cells[:500], known.mechanism)
    assert counts[2] >= LEAST > np.bincount((~rare.cells).sum(axis=1))[2]
    assert list(reference_of(known).limits(0)) == [1, 2]
    assert list(reference_of(rare).limits(0)) == [1]
    none = reference_of(hidden_cells(199), None)
    assert [column.reason for column in none.columns] == [TOO_FEW, NO_FOLDS]
    assert none.limits(0) == none.limits(1) == {}


def test_copies_leave_the_limit_where_it_was():
    alone = hidden_cells(400)
    thrice = HiddenCells(
        np.tile(alone.prior, (3, 1)),
        np.tile(alone.cells, (3, 1)),
        alone.mechanism,
        groups=np.tile(np.arange(400), 3),
    )
    one, three = (reference_of(cells).limits(0)[1] for cells in (alone, thrice))
    assert three == pytest.approx(one, rel=0.01)


def test_facts_survive_json():
    made = reference_of(hidden_cells(900, sizes=(1, 2), mutual=True), hidden_cells(100), None)
    again = Reference.from_facts(json.loads(json.dumps(made.facts())), [4, 4, 4])
    assert again == made


FACTS = json.loads(json.dumps(reference_of(hidden_cells(600, sizes=(1, 2)), None).facts()))
PLACE = "columns", 0, "sizes", 0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((), []),
        (("columns",), {}),
        (("columns",), []),
        (("columns", 0), None),
        (("columns", 0, "more"), 1),
        (("columns", 0, "mutual"), 1),
        (("columns", 0, "reason"), NO_FOLDS),
        (("columns", 1, "reason"), None),
        (("columns", 1, "reason"), "\x1b[31m"),
        (("columns", 0, "sizes"), []),
        (("columns", 0, "shares"), None),
        (("columns", 0, "shares"), "abcd"),
        (("columns", 0, "shares"), [0.5, 0.5]),
        (("columns", 1, "shares"), [0.5, 0.6, 0.0, 0.0]),
        (("columns", 1, "shares"), [1.5, -0.5, 0.0, 0.0]),
        (("columns", 1, "shares"), [float("nan"), 0.5, 0.5, 0.0]),
        (("columns", 1, "shares"), [1, 0, 0, 0]),
        ((*PLACE, "low"), 0.1),
        ((*PLACE, "low"), -0.2),  # below log 0.9
        ((*PLACE, "exclusions"), 0),
        ((*PLACE, "exclusions"), 2),  # twice
        ((*PLACE, "exclusions"), 4),  # of four values
        ((*PLACE, "exclusions"), 1.0),
        ((*PLACE, "exclusions"), True),
        ((*PLACE, "cells"), 199),
        ((*PLACE, "cells"), 10**400),
        ((*PLACE, "independent"), 0.0),
        ((*PLACE, "independent"), 1e9),
        ((*PLACE, "loss"), float("nan")),
        ((*PLACE, "loss"), -0.1),
        ((*PLACE, "loss"), 1.5),
        ((*PLACE, "loss"), "0.1"),
        ((*PLACE, "loss_squares"), 0.9),
        ((*PLACE, "loss_variance"), float("inf")),
        ((*PLACE, "expected"), 2),
        ((*PLACE, "score"), 0.1),
        ((*PLACE, "score_variance"), -1.0),
    ],
)
def test_what_no_model_can_have_kept_is_refused(place, value):
    facts = copy.deepcopy(FACTS)
    if not place:
        facts = value
    else:
        *path, last = place
        part = facts
        for name in path:
            part = part[name]
        part[last] = value
    with pytest.raises(StateError):
        Reference.from_facts(facts, [4, 4])


# Losses and what is expected of them, by hand and by loops over all cells.


HIGHEST = log(0.9 + 0.1 * 20)


def by_hand(prior, shares, chances, low=0.0):
    """The loss of one cell that has these chances given each value, term by term."""
    p = sum(a * b for a, b in zip(prior, chances, strict=True))
    q = sum(a * b for a, b in zip(shares, chances, strict=True))
    likelier = 20.0 if q >= 20 * p else q / p
    found = log(0.9 + 0.1 * likelier)
    return min(max((found - low) / (HIGHEST - low), 0.0), 1.0)


def test_ratios_are_those_worked_by_hand():
    prior = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.0], [1.0, 0.0, 0.0, 0.0], SHARES])
    left = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    found = ratios(prior, left, Mechanism(4), SHARES)
    # The cells leave 0.7, 0.3, 0.6 and 0.4 of the shares. The third prior rules out what its cell
    # leaves: it counts as 20 times likelier by the shares. The fourth knows nothing but these.
    expected = [log(0.9 + 0.1 * 0.7 / 0.7), log(0.9 + 0.1 * 0.3 / 0.2), log(0.9 + 2), 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_allclose(losses(found, -0.1), (np.array(expected) + 0.1) / (HIGHEST + 0.1))


def test_losses_stay_between_0_and_1():
    prior = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    shares = np.array([0.0, 0.5, 0.5])  # rule out what some cells leave, too
    left = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)
    found = ratios(prior, left, Mechanism(3), shares)
    np.testing.assert_allclose(found, [log(0.9), HIGHEST, 0.0], atol=1e-15)
    assert losses(found, log(0.9)).tolist()[:2] == [0.0, 1.0]
    assert losses(found, np.zeros(3)).tolist()[:2] == [0.0, 1.0]  # below the scale is 0


@pytest.mark.parametrize("exclusions", [1, 2, 3])
def test_losses_and_what_is_expected_of_them_are_those_of_a_loop_over_the_cells(exclusions):
    mechanism, prior, low = skewed(4), np.array([0.1, 0.2, 0.2, 0.5]), -0.02
    masks, sets = cells(4, exclusions)
    many = np.tile(prior, (len(masks), 1))
    found = losses(ratios(many, masks, mechanism, SHARES), low)
    expectation = 0.0
    for loss, ruled_out in zip(found, sets, strict=True):
        chances = [probability(mechanism, ruled_out, value) for value in range(4)]
        assert loss == pytest.approx(by_hand(prior, SHARES, chances, low))
        expectation += loss * sum(p * c for p, c in zip(prior, chances, strict=True))
    expected = expected_losses(
        prior[None], np.array([exclusions]), mechanism, SHARES, np.array([low])
    )
    assert expected == pytest.approx([expectation])


def test_every_number_of_exclusions_has_its_own_scale():
    prior, lows = np.tile([0.1, 0.2, 0.2, 0.5], (3, 1)), np.array([-0.05, -0.01, -0.05])
    sizes = np.array([1, 2, 1])
    found = expected_losses(prior, sizes, Mechanism(4), SHARES, lows)
    alone = [
        expected_losses(prior[:1], sizes[[row]], Mechanism(4), SHARES, lows[[row]])[0]
        for row in range(3)
    ]
    np.testing.assert_allclose(found, alone)


def test_too_many_cells_are_drawn_and_give_about_the_same():
    rng = np.random.default_rng(0)
    prior, shares = rng.dirichlet(np.full(10, 0.3), size=40), rng.dirichlet(np.ones(10))
    assert comb(10, 4) > reference.LISTED
    expected = []
    for row in prior:
        total = 0.0
        for out in combinations(range(10), 4):
            # Each value leaves C(9, 4) sets, so that P(S) = Σ_{v ∉ S} prior(v) / C(9, 4).
            chances = [0.0 if value in out else 1.0 for value in range(10)]
            total += row @ chances / comb(9, 4) * by_hand(row, shares, chances, -0.05)
        expected.append(total)
    given = prior, np.full(40, 4), Mechanism(10), shares, np.full(40, -0.05)
    found = expected_losses(*given)
    assert found.mean() == pytest.approx(np.mean(expected), abs=0.002)  # 20,000 draws
    np.testing.assert_array_equal(found, expected_losses(*given))


def test_nothing_is_expected_of_empty_cells():
    known = np.full((2, 3), 1 / 3)
    empty = expected_losses(known, np.zeros(2, int), Mechanism(3), known[0], np.zeros(2))
    assert empty.tolist() == [0.0, 0.0]
