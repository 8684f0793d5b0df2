"""Pooled estimates and their intervals are those of hand and of going through all cells."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from builders.cells import cells, probability, skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.intervals import NORMAL, Gain, Interval, PooledEstimate


def pooled(values, weights=None, *, highest=1.0, lowest=0.0):
    values = np.array(values, dtype=float)
    weights = np.ones(len(values)) if weights is None else np.array(weights, dtype=float)
    return PooledEstimate(
        values, np.full(len(values), highest), np.full(len(values), lowest), weights
    )


def wilson(right, n, reach):
    """Wilson's score interval of a share of n, from its textbook formula."""
    share = right / n
    middle = (share + reach**2 / (2 * n)) / (1 + reach**2 / n)
    side = reach / (1 + reach**2 / n) * np.sqrt(share * (1 - share) / n + (reach / (2 * n)) ** 2)
    return middle - side, middle + side


def test_an_interval_reaches_to_either_side_and_that_of_a_share_ends_at_0_and_1():
    assert astuple(Interval.around(0.5, 0.1)) == pytest.approx((0.5, 0.304, 0.696))
    assert astuple(Interval.around(0.5, 0.1, reach=1.0)) == pytest.approx((0.5, 0.4, 0.6))
    assert Interval.around(0.9, 0.1).as_share == Interval(0.9, 0.9 - NORMAL * 0.1, 1.0)
    assert Interval.around(-0.2, 0.05).as_share == Interval(0.0, 0.0, 0.0)


def test_a_gain_is_an_interval_that_knows_its_standard_error():
    gain = Gain.of(0.2, 0.05)
    assert isinstance(gain, Interval)
    assert astuple(gain) == pytest.approx((0.2, 0.102, 0.298, 0.05))


def test_the_pooled_estimate_is_the_weighted_mean_and_its_variance_that_of_a_mean():
    one = pooled([1, 0, 1, 1])
    assert one.mean == 0.75
    # The variance of a mean of four: the sample variance, 0.25, over 4.
    assert one.influence @ one.influence == pytest.approx(0.25 / 4)
    weighted = pooled([1, 0, 5], [3, 1, 0])
    assert weighted.mean == 0.75
    assert weighted.influence @ weighted.influence == pytest.approx(
        2 * ((3 / 4 * 0.25) ** 2 + (1 / 4 * 0.75) ** 2)
    )
    assert weighted.largest_step == pytest.approx(3 / 4)


def test_with_many_rows_the_interval_is_that_of_wilson():
    n = 40_000
    for right in (20_000, 36_000, 39_600):
        found = pooled(np.arange(n) < right).interval(NORMAL)
        low, high = wilson(right, n, NORMAL)
        assert found.value == pytest.approx(right / n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=4 / n)


@pytest.mark.parametrize("right", [10, 15, 19])
def test_with_few_rows_it_is_a_little_wider(right):
    found = pooled(np.arange(20) < right).interval(NORMAL)
    low, high = wilson(right, 20, NORMAL)
    assert low - 0.05 < found.low < low
    assert high - 0.001 < found.high < high + 0.05


def test_where_every_row_is_right_some_may_still_be_wrong():
    found = pooled(np.ones(50)).interval(NORMAL)
    assert (found.value, found.high) == (1, 1)
    assert 1 - 8 / 50 < found.low < 1 - 3 / 50  # 3/n: the rule of three


def test_with_many_rows_a_part_of_them_is_judged_as_if_it_were_alone():
    inside = np.arange(3000) < 1000
    right = inside & (np.arange(3000) % 4 > 0)
    found = pooled(right).interval(NORMAL, pooled(inside))
    alone = pooled(right[inside]).interval(NORMAL)
    assert found.value == pytest.approx(0.75)
    assert astuple(found) == pytest.approx(astuple(alone), abs=0.004)


def test_a_difference_has_one_largest_step_added_to_its_variance():
    found = pooled([0.5, -0.5, 0.5, 0.5], highest=1.0, lowest=-1.0).symmetric(2.0)
    side = 2 * np.sqrt(0.25 / 4 + (2 / 4) ** 2)
    assert astuple(found) == pytest.approx((0.25, 0.25 - side, 0.25 + side))


@pytest.mark.parametrize("mechanism", [Mechanism(4), skewed(4)])
@pytest.mark.parametrize("exclusions", [1, 2])
def test_over_all_cells_of_a_value_the_estimate_is_what_the_value_counts(mechanism, exclusions):
    measure = np.array([0.9, 0.1, 0.4, 0.7])
    masks, sets = cells(4, exclusions)
    found = PooledEstimate.of(
        np.tile(measure, (len(sets), 1)), masks, mechanism.weights(masks), mechanism
    )
    for value in range(4):
        chances = np.array([probability(mechanism, excluded, value) for excluded in sets])
        assert chances @ found.values == pytest.approx(measure[value])
    assert found.highest == pytest.approx(np.full(len(sets), found.values.max()))
    assert found.lowest == pytest.approx(np.full(len(sets), found.values.min()))


def test_an_empty_cell_counts_nothing_and_parts_join_in_their_order():
    mechanism = Mechanism(3)
    masks = np.array([[True, True, True], [True, False, True]])
    measure = np.array([[0.5, 0.2, 0.1]] * 2)
    found = PooledEstimate.of(measure, masks, mechanism.weights(masks), mechanism)
    assert found.values.tolist() == pytest.approx([0, 0.8 - 2 * 0.2])
    both = PooledEstimate.joined([found, pooled([7.0])])
    assert both.values.tolist() == pytest.approx([0, 0.4, 7])
    assert both.weights.tolist() == [0, 1, 1]


def test_only_an_estimate_that_is_clearly_beyond_0_and_1_is_no_share():
    steps = {"highest": 1.4, "lowest": -2.6}  # each of 100 rows may move the mean by 0.04
    assert not pooled([1.1] * 100, **steps).beyond_a_share(NORMAL)  # less than 3.09 such steps
    assert pooled([1.2] * 100, **steps).beyond_a_share(NORMAL)  # more
    assert not pooled([1.2] * 100, **steps).beyond_a_share(2 * NORMAL)
    assert pooled([-0.2] * 100, **steps).beyond_a_share(NORMAL)
    # Standard error of half rows at 1.4 and half at 0.8: 0.03, so that 1.1 is 2 of 0.05 above 1.
    assert not pooled([1.4, 0.8] * 50, **steps).beyond_a_share(NORMAL)


def test_rows_that_belong_together_count_as_one():
    """Each of 50 rows twice: the figures of the 50 rows."""
    values = np.random.default_rng(0).random(50)
    alone = pooled(values)
    twice = replace(pooled(np.repeat(values, 2)), groups=np.repeat(np.arange(50), 2))
    for found, expected in (
        (twice.interval(NORMAL), alone.interval(NORMAL)),
        (twice.symmetric(NORMAL), alone.symmetric(NORMAL)),
    ):
        assert astuple(found) == pytest.approx(astuple(expected))
    assert twice.largest_step == pytest.approx(alone.largest_step)
    whole = replace(twice, values=np.full(100, 0.8))
    assert astuple(twice.interval(NORMAL, whole)) == pytest.approx(
        astuple(alone.interval(NORMAL, pooled(np.full(50, 0.8))))
    )


def test_groups_of_one_row_each_change_nothing():
    one = pooled(np.random.default_rng(1).random(30))
    each = replace(one, groups=np.arange(30)[::-1])
    assert astuple(each.interval(NORMAL)) == pytest.approx(astuple(one.interval(NORMAL)))


def test_an_interval_is_wider_by_the_root_of_the_mean_group_of_a_row():
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 6, 4000)
    groups = np.repeat(np.arange(4000), sizes)
    values = np.repeat(rng.integers(2, size=4000), sizes).astype(float)
    plain, grouped = pooled(values), replace(pooled(values), groups=groups)
    wider = np.sqrt((sizes**2).sum() / sizes.sum())
    ratio = np.linalg.norm(grouped.influence) / np.linalg.norm(plain.influence)
    assert ratio == pytest.approx(wider, rel=0.03)
