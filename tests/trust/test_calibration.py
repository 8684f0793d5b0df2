"""Bins of confidence are right as often as rows whose values are known."""

from dataclasses import astuple

import numpy as np
import pytest
from builders.hidden_rows import WORLDS, World

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import (
    HEIGHTS,
    ConfidenceTally,
    HiddenCells,
    PossibleAnswers,
    bins,
    judge,
)
from cfl_cli.trust.intervals import NORMAL


@pytest.mark.parametrize("name", WORLDS)
def test_each_bin_of_confidence_is_right_as_often_as_estimated(name):
    world = World(*WORLDS[name])
    prior, _, hidden = world.draw(60_000)
    found = judge(
        HiddenCells(prior, hidden, world.mechanism), world.table, shares=world.shares
    ).calibration
    assert sum(part.cells for part in found.bins) == (hidden.sum(axis=1) > 1).sum()
    gaps = []
    for part in found.bins:
        edges = (world.confidences >= part.low) & (world.confidences < part.high + (part.high == 1))
        inside = edges & world.open
        count, accuracy = inside.sum(), world.right[inside].mean()
        chance = np.sqrt(accuracy * (1 - accuracy) / count)
        value, low, high = astuple(part.accuracy)
        error = max(value - low, high - value) / NORMAL
        assert abs(value - accuracy) < 4 * np.hypot(error, chance) + 1e-9
        gaps.append(count * (accuracy - world.confidences[inside].mean()) ** 2)
    assert found.error == pytest.approx(np.sqrt(sum(gaps) / world.open.sum()), abs=0.06)


def tallied(weights):
    """Three rows of two possible cells each, over a domain of two values."""
    answers = PossibleAnswers(
        values=np.array([[0, 1], [0, 0], [1, 1]]),
        confidences=np.array([[0.95, 0.62], [0.91, 0.68], [1.0, 0.9]]),
        if_true=np.array([[0.5, 0.3], [0.6, 0.2], [0.4, 0.6]]),
        probabilities=np.array([[0.6, 0.4], [0.7, 0.3], [0.5, 0.5]]),
    )
    is_true = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, 1.5]])
    tally = ConfidenceTally()
    tally.add(answers, is_true, weights)
    return tally


def test_a_bin_is_the_weighted_sum_of_its_cells_by_hand():
    tally = tallied(np.array([0.5, 0.25, 0.25]))
    found = tally.calibration(
        np.array([0.95, 0.68, 1.0, 1.0]), np.zeros(4, dtype=bool), largest_step=0.0, reach=NORMAL
    )
    # Cells of 0.9 and more: the first of row 1 and of row 2, both of row 3.
    given = 0.5 * 0.6 + 0.25 * 0.7 + 0.25 * (0.5 + 0.5)
    right = 0.5 * 0.5 * 1.0 + 0.0 + 0.25 * (0.4 * 1.5 + 0.6 * 1.5)
    expected = 0.5 * 0.6 * 0.95 + 0.25 * 0.7 * 0.91 + 0.25 * (0.5 * 1.0 + 0.5 * 0.9)
    low, high = found.bins
    assert (low.low, low.high, low.cells) == (0.6, 0.7, 1)
    assert (high.low, high.high, high.cells) == (0.9, 1.0, 3)
    assert high.accuracy.value == pytest.approx(right / given)
    assert high.confidence == pytest.approx(expected / given)
    # Cells of 0.6 to 0.7: the second ones of rows 1 and 2, whose answers are not the true value.
    assert low.accuracy.value == 0
    assert low.confidence == pytest.approx((0.5 * 0.4 * 0.62 + 0.25 * 0.3 * 0.68) / 0.275)
    everything = right - expected - (0.5 * 0.4 * 0.62 + 0.25 * 0.3 * 0.68)
    assert found.overconfidence.value == pytest.approx(-everything / (given + 0.275))


def test_the_error_of_a_bin_is_that_of_a_ratio_of_sums():
    weights = np.array([0.5, 0.25, 0.25])
    found = tallied(weights).calibration(
        np.array([0.95, 0.95, 1.0]), np.zeros(3, dtype=bool), largest_step=0.0, reach=NORMAL
    )
    [top] = found.bins
    right = weights * [0.5, 0.0, 1.5]
    expected = weights * [0.6 * 0.95, 0.7 * 0.91, 0.95]
    given = weights * [0.6, 0.7, 1.0]
    gap = (right - expected).sum() / given.sum()
    error = np.sqrt(((right - expected - gap * given) ** 2).sum()) / given.sum()
    assert top.accuracy.value - top.accuracy.low == pytest.approx(NORMAL * error)
    assert found.error == pytest.approx(np.sqrt(max(gap**2 - error**2, 0)))


def test_a_confidence_of_1_belongs_to_the_last_bin():
    assert bins(np.array([0.0, 0.0999, 0.1, 0.55, 0.9999, 1.0])).tolist() == [0, 0, 1, 5, 9, 9]


def test_the_plot_is_as_high_as_the_accuracy_and_blank_where_no_cell_is():
    found = tallied(np.array([0.5, 0.25, 0.25])).calibration(
        np.array([0.95, 0.68, 1.0, 1.0]), np.zeros(4, dtype=bool), largest_step=0.0, reach=NORMAL
    )
    top = HEIGHTS[round(7 * found.bins[1].accuracy.value)]
    assert found.plot == f"      {HEIGHTS[0]}  {top}"


def test_exact_cells_are_in_no_bin():
    hidden = np.array([[True, False, False], [True, True, False], [True, True, False]])
    prior = np.full((3, 3), [0.8, 0.1, 0.1])
    found = judge(HiddenCells(prior, hidden, Mechanism(3)), hidden, shares=np.full(3, 1 / 3))
    assert sum(part.cells for part in found.calibration.bins) == 2
