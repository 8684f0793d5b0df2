"""What is beyond chance is told by counting all orders, by other formulas, and by simulation."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfl_cli.encode.columns import (
    LEVEL,
    CellCounts,
    FittedCategories,
    FittedNumbers,
    Unusual,
    chance_outside,
    chance_unseen,
    is_running,
)
from cfl_cli.encode.encode import Encoding


@pytest.mark.parametrize(("fitted", "new"), [(1, 4), (2, 5), (5, 2), (4, 6), (6, 1)])
def test_a_number_is_outside_as_often_as_in_all_orders_of_fitted_and_new_ones(fitted, new):
    orders = list(combinations(range(fitted + new), fitted))  # where the fitted ones are
    outside = [places[0] + fitted + new - 1 - places[-1] for places in orders]
    for x in range(new + 1):
        expected = Fraction(sum(found >= x for found in outside), len(orders))
        assert chance_outside(x, new=new, fitted=fitted) == pytest.approx(float(expected))


@given(st.integers(2, 300), st.integers(1, 300), st.data())
def test_numbers_outside_follow_a_beta_binomial_distribution(fitted, new, data):
    x = data.draw(st.integers(0, new))
    ways = [(y + 1) * comb(new - y + fitted - 2, fitted - 2) for y in range(new + 1)]
    expected = Fraction(sum(ways[x:]), sum(ways))
    assert chance_outside(x, new=new, fitted=fitted) == pytest.approx(float(expected), rel=1e-9)


def test_cells_of_one_category_are_all_new_as_often_as_in_all_draws_at_most():
    for x in range(1, 6):
        exact = comb(10, x) / comb(40, x)  # all of x among the 10 new ones of 40
        bound = chance_unseen(x, new=10, fitted=30, categories=0, once=0, twice=0)
        assert exact <= bound == pytest.approx((10 / 40) ** x)


def test_categories_never_seen_follow_a_negative_binomial_distribution():
    fitted, new, once, twice, x = 200, 50, 6, 4, 9
    mean, variance = new * 7 / fitted, new * 7 / fitted + (new / fitted) ** 2 * (7 + 2 * 4)
    chance = mean / variance  # of scipy's negative binomial
    expected = stats.nbinom.sf(x - 1, mean * chance / (1 - chance), chance)
    found = chance_unseen(x, new=new, fitted=fitted, categories=2, once=once, twice=twice)
    assert found == pytest.approx(3 * expected)
    assert chance_unseen(0, new=9, fitted=9, categories=3, once=0, twice=0) == 1


COUNTS = st.builds(CellCounts, *[st.integers(0, 9)] * 5)
UNUSUAL = st.dictionaries(st.sampled_from("xyz"), COUNTS).map(Unusual)


@given(UNUSUAL, UNUSUAL, UNUSUAL)
def test_counts_of_blocks_add_up_in_any_order(one, two, three):
    assert sum([one, two, three], start=Unusual()) == three + (two + one)
    for name in "xyz":
        parts = [some.columns.get(name, CellCounts()).missing for some in (one, two, three)]
        assert (one + two + three).columns.get(name, CellCounts()).missing == sum(parts)


def test_what_is_unusual_is_said_by_column():
    unusual = Unusual(
        {"x": CellCounts(9, 2, 1, 0), "y": CellCounts(9), "z": CellCounts(9, 0, 0, 1200)}
    )
    assert unusual.warnings == (
        "column 'x': 2 missing cells filled in",
        "column 'x': 1 number outside the fitted range",
        "column 'z': 1,200 cells with a category not in the fitted rows, filled in",
    )


def test_a_batch_that_lies_beyond_the_fitted_rows_is_said_once_and_plainly():
    unusual = Unusual(
        {
            "at": CellCounts(90, 10, 0, 0, 50),
            "n": CellCounts(90, 0, 90, 0, 90),
            "y": CellCounts(90, beyond=40),
            "z": CellCounts(9, beyond=9),
        }
    )
    said = [warning for warning in unusual.warnings if "missing" not in warning]
    assert [warning.split(":")[0] for warning in said] == ["column 'at'", "column 'n'"]
    assert said[0].startswith("column 'at': 50 cells above the largest one fitted")
    assert "role: ignore" in said[1]


@pytest.mark.parametrize(
    ("numbers", "dates", "runs"),
    [
        (np.arange(100.0), False, True),
        (-np.arange(100.0), False, True),
        (np.repeat(np.arange(25.0), 40), True, True),  # forty rows a day
        (np.repeat(np.arange(25.0), 40), False, False),  # a table sorted by a number that repeats
        (np.arange(15.0), True, False),
        (np.random.default_rng(0).random(100), False, False),
        (np.where(np.arange(100) % 4, np.arange(100.0), 50), False, False),
    ],
)
def test_a_column_that_grows_from_row_to_row_is_running(numbers, dates, runs):
    assert is_running(numbers, dates=dates) == runs


def encoding(**ordinary):
    return Encoding(ordinary, {})


def numbers(rows):
    return FittedNumbers(rows, -0.5, 0.5, 0.0)


def categories(counts):
    how_often = [sum(count == often for count in counts) for often in (1, 2)]
    values = tuple(map(str, range(len(counts))))
    return FittedCategories(values, sum(counts), sum(map(bool, counts)), *how_often, 0)


def test_only_what_is_beyond_chance_and_no_tiny_share_is_flagged():
    fitted = encoding(x=numbers(10_000), c=categories([20_000, 15_000, 9_999, 1]))

    def flagged(**columns):
        return fitted.beyond_chance(Unusual(columns))

    assert flagged(x=CellCounts(500, 0, 5), c=CellCounts(500, 0, 0, 5)) == ("x", "c")
    assert flagged(x=CellCounts(500, 0, 4), c=CellCounts(500, 0, 0, 4)) == ()  # below 1 %
    assert flagged(x=CellCounts(1, 0, 1), c=CellCounts(1, 0, 0, 1)) == ()  # may be chance
    assert (
        flagged(x=CellCounts(500, 490, 4), c=CellCounts(500, 500)) == ()
    )  # few have one: 1 % of all rows
    assert flagged(x=CellCounts(), c=CellCounts()) == ()
    small = encoding(x=numbers(100))
    assert small.beyond_chance(Unusual({"x": CellCounts(1000, 0, 60)})) == ()  # 6 % may be chance …
    assert small.beyond_chance(Unusual({"x": CellCounts(1000, 0, 150)})) == ("x",)  # … 15 % are not


@pytest.mark.parametrize(
    ("shares", "fitted", "new"),
    [
        (np.ones(100), 900, 900),  # of a hundred one is missed now and then: 1 %
        (1 / np.arange(1, 301) ** 2, 200, 1000),
        (np.r_[np.ones(5), np.full(50, 0.05)], 100, 500),
    ],
)
def test_stable_categories_are_hardly_ever_flagged_and_another_one_is(shares, fitted, new):
    rng = np.random.default_rng(5)
    shares = shares / shares.sum()
    batches, flags, missed = 1500, 0, 0
    for _ in range(batches):
        counts = rng.multinomial(fitted, shares)
        unseen = int(rng.multinomial(new, shares)[counts == 0].sum())
        column = encoding(c=categories(counts.tolist()))
        flags += column.beyond_chance(Unusual({"c": CellCounts(new, 0, 0, unseen)})) != ()
        grown = CellCounts(new, 0, 0, unseen + new // 2)
        missed += column.beyond_chance(Unusual({"c": grown})) == ()
    assert flags <= 2  # 0.3 are expected at most
    assert missed / batches < 0.05


def test_stable_numbers_are_hardly_ever_flagged_whatever_their_distribution():
    rng = np.random.default_rng(6)
    flags, batches = 0, 3000
    for draw in (rng.standard_cauchy, rng.random, lambda size: rng.integers(30, size=size)):
        fitted, new = draw((batches, 150)), draw((batches, 700))
        low, high = fitted.min(axis=1, keepdims=True), fitted.max(axis=1, keepdims=True)
        outside = ((new < low) | (new > high)).sum(axis=1)
        assert draw is not rng.random or outside.mean() == pytest.approx(700 * 2 / 151, rel=0.05)
        for x in outside.tolist():
            unusual = Unusual({"x": CellCounts(700, 0, x)})
            flags += encoding(x=numbers(150)).beyond_chance(unusual) != ()
    assert flags <= 3 * batches * LEVEL * 3  # 1.8 are expected
