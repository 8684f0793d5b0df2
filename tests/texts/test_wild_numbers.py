"""Wild numbers are found, honest tails are not."""

import numpy as np
import pytest

from cfl_cli.texts.numbers import Wild, wild

STEPS = np.linspace(0, 1, 200)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("cells", "share"), [([10.0], 0.1), ([1000.0], 0.001), ([10.0, 1000.0], 0.001), ([-9.0], 0.1)]
)
def test_a_few_far_cells_are_wild_and_the_others_are_told(cells, share):
    numbers = np.concatenate([STEPS, cells])
    found = wild(RNG.permutation(numbers))
    assert (found.low, found.high) == (0.0, 1.0)
    assert found.squeezed == pytest.approx(share)


def test_wild_cells_on_both_sides_are_found_together():
    assert wild(np.concatenate([STEPS, [-500.0, 499.0]])) == Wild(0.0, 1.0, 1 / 999)


def test_numbers_as_large_as_can_be_are_wild_too():
    assert wild(np.concatenate([STEPS, [-1.7e308, 1.7e308]])).high == 1.0


@pytest.mark.parametrize(
    "numbers",
    [
        STEPS,
        np.concatenate([STEPS, [3.0]]),  # a quarter of the range is left to the others
        RNG.normal(size=5000),
        RNG.exponential(size=5000),
        RNG.lognormal(size=5000),
        RNG.poisson(1.0, 5000).astype(float),
        np.array([0.0] * 950 + [1.0] * 9 + [20.0]),  # says something by not being 0
        np.array([0.0] * 199 + [1.0]),
        np.array([1.0, 2.0, 100.0]),  # too few to say
        np.zeros(50),
    ],
    ids=range(10),
)
def test_honest_columns_have_none(numbers):
    assert wild(numbers) is None


def test_more_than_a_thousandth_of_the_cells_are_not_wild_but_another_kind():
    assert wild(np.concatenate([STEPS, [100.0] * 4])) is None
    assert wild(np.concatenate([np.resize(STEPS, 20_000), [100.0] * 20])) is not None
