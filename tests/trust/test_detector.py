"""Evidence against a limit is what its formula says, and stable streams stay below its bound."""

from itertools import product

import numpy as np
import pytest

from cfl_cli.trust.drift import ALARM, BETS, BatchEvidence, Course, Pooled


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
    step = Course().after(found, 7, cfs=3)
    assert (step.alarm, step.course) == (True, Course(drifted_since=7))


def batch(ratio, *, loss=0.1, limit=0.2, cells=100):
    return BatchEvidence([ratio] * len(BETS), cells, loss * cells, limit * cells)


def test_evidence_grows_from_batch_to_batch_and_starts_anew_after_an_alarm():
    course, alarms = Course(), []
    for number in range(1, 5):
        step = course.after(batch(20.0), number, cfs=1)
        course = step.course
        alarms.append((step.evidence, step.alarm))
    # 20, (20 + 1)·20 = 420, (420 + 1)·20 = 8,420 ≥ 5,000, and anew.
    assert alarms == [(20, False), (420, False), (8420, True), (20, False)]
    assert course.drifted_since == 3
    assert not Course().after(batch(20.0), 1, cfs=1).course.drifted_since
    three = course.after(batch(ALARM * 2.9), 5, cfs=3)  # (20 + 1)·14,500 ≥ 15,000
    assert (three.alarm, three.course.drifted_since) == (True, 3)  # since the first one


def test_drift_is_over_after_three_quiet_batches_of_enough_cells_below_the_limit():
    drifted = Course(drifted_since=2)

    def after(*batches):
        course = drifted
        for number, one in enumerate(batches, start=3):
            course = course.after(one, number, cfs=1).course
        return course

    assert after(batch(1.0), batch(1.0)).drifted_since == 2
    assert after(batch(1.0), batch(1.0), batch(1.0)) == Course((3.0,) * len(BETS))
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
    course = Course(tuple(map(float, range(len(BETS)))), 5, Pooled(1, 10, 1.0, 2.0))
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
