import numpy as np
import polars as pl
import pytest

from cfl_cli.commands.risk import disclosure
from cfl_cli.commands.risk.disclosure import (
    binned,
    change,
    fewer,
    in_these_rows,
    merged,
    more,
    with_learning,
)
from cfl_cli.commands.risk.job import with_fewer
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import encode
from cfl_cli.schema.model import Schema
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.intervals import Interval

SIZE = 4


def hidden_of(prior, values, seed=0):
    """Return hidden cells that each rule out one wrong value."""
    cells = np.ones(prior.shape, dtype=bool)
    wrong = (values + np.random.default_rng(seed).integers(1, SIZE, len(values))) % SIZE
    cells[np.arange(len(values)), wrong] = False
    return HiddenCells(prior, cells, Mechanism.of(SIZE, None))


def prospect(hidden, exclusions):
    return disclosure.prospect(hidden, exclusions, hidden.cells)


def test_what_would_be_answered_follows_from_the_prior():
    hidden = hidden_of(np.array([[0.5, 0.3, 0.15, 0.05]]), np.array([0]))
    for exclusions, right in ((0, [1, 0, 0, 0]), (1, [1, 1 / 3, 0, 0]), (2, [1, 2 / 3, 1 / 3, 0])):
        # Right if all likelier values are among the excluded ones: C(s, r) / C(3, r) by hand.
        assert prospect(hidden, np.array([exclusions])).right[0] == pytest.approx(right)
    assert prospect(hidden, np.array([3])).right[0] == pytest.approx(1)  # an exact cell


def test_one_more_and_one_fewer_leave_empty_and_exact_cells_alone():
    counts = np.array([0, 1, 2, 3])
    assert more(counts, SIZE).tolist() == [0, 2, 3, 3]
    assert fewer(counts, SIZE).tolist() == [0, 1, 1, 3]


def test_the_change_holds_where_the_truth_is_known():
    random = np.random.default_rng(3)
    prior = random.dirichlet(np.ones(SIZE) / 2, 3000)
    values = (prior.cumsum(axis=1) > random.random((3000, 1))).argmax(axis=1)
    hidden, ones = hidden_of(prior, values), np.ones(3000, dtype=int)
    now, then = prospect(hidden, ones), prospect(hidden, 2 * ones)
    rows = np.arange(3000)
    really = float((then.right - now.right)[rows, values].mean())
    found = change(hidden, now, then)
    assert found.low <= really <= found.high
    assert found.high - found.low < 0.1


def test_a_prior_that_boasts_changes_nothing_if_it_knows_nothing():
    values = np.random.default_rng(4).integers(0, SIZE, 40_000)
    flat = np.full((len(values), SIZE), 1 / SIZE)
    boast = np.tile([0.97, 0.01, 0.01, 0.01], (len(values), 1))
    hidden, ones = hidden_of(flat, values), np.ones(len(values), dtype=int)
    one, other = prospect(hidden, ones), prospect(hidden_of(boast, values), ones)
    assert abs(change(hidden, one, other).value) < 0.05  # either is right in a third of the rows


def test_intervals_hold_the_share_of_these_very_rows_where_most_cells_are_empty():
    """What the few hidden cells say is sure; which rows are empty, and right, is chance."""
    random, missed = np.random.default_rng(5), 0
    for _ in range(200):
        prior = np.tile([0.7, 0.3], (400, 1))
        value = (random.random(400) > 0.7).astype(int)
        empty = random.random(400) < 0.2
        cells = (np.arange(2) == value[:, None]) | empty[:, None]  # two values: exact, or empty
        hidden = HiddenCells(prior, cells, Mechanism.of(2, None))
        now = prospect(hidden, (~empty).astype(int))
        really = float((~empty | (value == 0)).mean())
        share = Interval.around(0.94, 0.0)  # known: 0.8 + 0.2 · 0.7
        found = in_these_rows(share, hidden, now)
        missed += not found.low <= really <= found.high
        assert found.high - found.low < 0.06
    assert missed <= 19  # of 200 at 95 %: more have a chance of 1 in 300


def test_what_is_learned_from_more_cells_lies_between_nothing_and_the_most_that_was_found():
    own = Interval(0.02, 0.01, 0.03)
    whole, part = (with_learning(own, (0.04, 0.08), share=share) for share in (1.0, 0.25))
    assert whole == Interval(pytest.approx(0.08), 0.01, pytest.approx(0.11))
    assert part == Interval(pytest.approx(0.05), 0.01, pytest.approx(0.11))
    less = with_learning(own, (-0.02, 0.0))
    assert less == Interval(pytest.approx(0.01), pytest.approx(-0.01), pytest.approx(0.03))


def test_numbers_become_the_means_of_bins_of_about_equally_many_rows_scaled_again():
    numbers = np.array([[9.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    # The bins' means are 1.5, 3.5 and 7; a table that holds these is scaled from 0 to 1.
    assert binned(numbers, 3).ravel() == pytest.approx(np.array([5.5, 0, 0, 2, 2, 5.5]) / 5.5)


def test_equal_numbers_stay_equal():
    numbers = np.array([[0.0]] * 5 + [[1.0]] * 5)
    assert binned(numbers, 4).ravel().tolist() == [0.0] * 5 + [1.0] * 5


def test_rare_categories_become_one_and_lie_as_far_apart_as_so_many_do():
    one_hot = np.eye(4)[[0] * 50 + [1] * 48 + [2, 3]] / 2
    coarse = merged(one_hot)
    assert coarse.shape == (100, 3)
    assert coarse[98].tolist() == coarse[99].tolist() == pytest.approx([0, 0, 1 / np.sqrt(3)])


SCHEMA = Schema.model_validate(
    {
        "version": 1,
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "place": {"role": "ordinary", "type": "categorical"},
            "cf": {"role": "complementary", "values": [*"abcd"], "separator": "|"},
        },
    }
)


def encoded(cells, places=("p", "q", "r")):
    n = len(cells)
    columns = {"x": [float(row) for row in range(n)], "place": [*places] * (n // len(places))}
    return encode(pl.DataFrame(columns | {"cf": cells}), SCHEMA)


def test_one_exclusion_is_taken_back_only_where_there_are_several():
    table = encoded(["a|b", "a", "a|b|c", "", "c|d", "d|a"])
    fewer = with_fewer(table, 0)
    back = fewer & ~table.candidates
    assert back.sum(axis=1).tolist() == [1, 0, 0, 0, 1, 1]  # "a|b|c" is exact
    assert not (table.candidates & ~fewer).any()


def test_each_of_several_exclusions_is_taken_back_as_often():
    back = with_fewer(encoded(["a|c"] * 900), 0)[:, [0, 2]]
    assert back.sum(axis=0) == pytest.approx([450, 450], abs=60)  # four standard errors


def test_runs_are_the_same_whatever_else_the_seed_draws():
    table = encoded(["a|b", "c|d", "a|d"] * 4)
    assert np.array_equal(with_fewer(table, 1), with_fewer(table, 1))


def test_exact_rows_are_taken_out_of_the_share_that_is_right():
    # Of 100 rows 40 are sure and 10 of them exact; 36 of 40 right are 26 of the other 30.
    found = disclosure.of_others(Interval(0.9, 0.8, 1.0), 0.3, 0.1)
    assert (found.value, found.low, found.high) == pytest.approx((26 / 30, 22 / 30, 1.0))
    assert disclosure.of_others(Interval(1.0, 1.0, 1.0), 0.0, 0.1) is None
    assert disclosure.of_others(None, 0.3, 0.1) is None
