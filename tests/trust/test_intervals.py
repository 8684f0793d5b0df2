from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.methods.interface import Estimate, Hidden, Origin
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.intervals import NORMAL, Interval

NORMAL_CDF = NormalDist().cdf


def test_an_estimate_beyond_an_end_gives_no_sliver_there():
    # One standard error above 1: of the density of shares below 1, 2.5 % lie below the low end.
    found = Interval.around(1.05, 0.05).cut_to_share(0.05)
    below = NORMAL_CDF((found.low - 1.05) / 0.05)
    assert below == pytest.approx(0.025 * NORMAL_CDF(-1))
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low < 1.05 - NORMAL * 0.05
    mirrored = Interval.around(-0.05, 0.05).cut_to_share(0.05)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_an_estimate_within_0_to_1_is_only_cut():
    assert Interval.around(0.9, 0.1).cut_to_share(0.1) == Interval.around(0.9, 0.1).as_share
    assert Interval(0.2, 0.1, 0.3).cut_to_share(0.0, least_high=0.4) == Interval(0.2, 0.1, 0.4)


@pytest.mark.parametrize("error", [0.02, 0.1])
def test_of_shares_whose_estimates_are_beyond_an_end_the_intervals_hold_95_percent(error):
    rng = np.random.default_rng(0)
    shares = rng.random(40_000)
    found = shares + error * rng.normal(size=len(shares))
    held = [
        cut.low <= share <= cut.high
        for share, value in zip(shares, found, strict=True)
        if not 0 <= value <= 1 and (cut := Interval.around(float(value), error).cut_to_share(error))
    ]
    assert len(held) > 500
    assert np.mean(held) == pytest.approx(0.975, abs=0.02)


def facts(*, better_in, n=1000, size=5):
    """Return a CF whose held-out answers are right in 0.6, and other ones written in some rows."""
    rng = np.random.default_rng(0)
    truth = rng.integers(size, size=n)
    candidates = np.arange(size) != ((truth + rng.integers(1, size, n)) % size)[:, None]
    first = np.where(rng.random(n) < 0.6, truth, rng.integers(size, size=n))
    prior = np.where(np.arange(size) == first[:, None], 0.6, 0.4 / (size - 1))
    later = np.where(rng.random(n) < better_in, truth, first)
    confidences = np.where(np.arange(size) == later[:, None], 0.6, 0.4 / (size - 1)) * candidates
    confidences /= confidences.sum(axis=1, keepdims=True)
    block = Block("cf", tuple("abcde"), 0, 1.0, 0, 0)
    encoded = Encoded(np.zeros((n, 1)), candidates, (block,), ())
    none = np.zeros((n, 1), dtype=bool)
    estimate = Estimate(confidences, none, np.ones((n, 1)), (Origin("graph"),))
    estimate = replace(estimate, hidden=Hidden(np.arange(n), prior))
    found = ColumnFacts(encoded, estimate, 0)
    return found, float((found.answers == truth).mean())


def test_written_answers_that_differ_from_those_judged_move_the_estimate_up():
    same, right = facts(better_in=0.0)
    judged = same.judged()
    plain = same.stretched(judged)
    assert judged.clearly_better
    assert plain.value == judged.accuracy.value
    assert plain.low <= right <= plain.high
    other, right = facts(better_in=0.2)
    moved = other.stretched(other.judged())
    assert plain.value < moved.value <= plain.value + 0.08
    assert moved.low < moved.value < moved.high
    assert moved.low <= right <= moved.high


def test_answers_that_are_not_shown_to_be_better_are_not_moved_up():
    other, _ = facts(better_in=0.2)
    judged = replace(other.judged(), clearly_better=False)
    found = other.stretched(judged)
    assert found.value == judged.accuracy.value
    assert found.low < judged.accuracy.low
    assert found.high > judged.accuracy.high


def test_no_high_end_is_below_what_the_majority_value_scores():
    same, _ = facts(better_in=0.0)
    judged = replace(same.judged(), commonest=Interval(0.95, 0.9, 1.0))
    assert same.stretched(judged).high == 0.95
