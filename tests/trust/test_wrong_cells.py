"""What wrong cells cost, and how many there are at most, agree with going through all cells."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from builders.cells import skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.wrong_cells import (
    Surest,
    guessed_wrong,
    information_lost,
    most_wrong,
    upper_limit,
)


def said(size, exclusions, wrong):
    """Return the mutual information of a value and its cell, over all cells and values."""
    total = 0.0
    for cell in combinations(range(size), exclusions):
        chances = [
            wrong / comb(size - 1, exclusions - 1)
            if value in cell
            else (1 - wrong) / comb(size - 1, exclusions)
            for value in range(size)
        ]
        mean = sum(chances) / size
        total += sum(c / size * log(c / mean) for c in chances if c > 0)
    return total


@pytest.mark.parametrize(("size", "exclusions"), [(3, 1), (5, 1), (5, 2), (6, 4)])
@pytest.mark.parametrize("wrong", [0.0, 0.02, 0.1])
def test_what_a_cell_says_less_is_that_of_all_cells_gone_through(size, exclusions, wrong):
    expected = 1 - said(size, exclusions, wrong) / said(size, exclusions, 0.0)
    assert information_lost(wrong, np.full(7, exclusions), size) == pytest.approx(expected)


def test_cells_that_are_wrong_as_often_as_chance_say_nothing():
    assert information_lost(1 / 4, np.ones(3), 4) == pytest.approx(1)


@pytest.mark.parametrize(("count", "n"), [(0, 30), (3, 30), (17, 40)])
def test_so_few_are_drawn_one_time_in_twenty_from_the_upper_limit(count, n):
    share = upper_limit(count, n)
    fewer = sum(comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(count + 1))
    assert fewer == pytest.approx(0.05)
    assert upper_limit(n, n) == 1


def table(mechanism, wrong, *, n=2000, seed=0, sizes=(1,)):
    """Return hidden cells of which a share rules out the true value, and that share."""
    rng, size = np.random.default_rng(seed), mechanism.size
    prior = rng.dirichlet(np.full(size, 0.2), n)
    truth = (np.cumsum(prior, axis=1) > rng.random((n, 1))).argmax(axis=1)
    cells = mechanism.draw(truth, rng.choice(sizes, n), rng.random((n, size)))
    at_fault = (rng.random(n) < wrong) & (cells.sum(axis=1) > 1)
    for row in np.flatnonzero(at_fault):
        cells[row, rng.choice(np.flatnonzero(~cells[row]))] = True
        cells[row, truth[row]] = False
    return HiddenCells(prior, cells, mechanism), at_fault.mean()


@pytest.mark.parametrize("mechanism", [Mechanism(4), skewed(4)])
@pytest.mark.parametrize(("wrong", "sizes"), [(0.0, (1,)), (0.03, (1,)), (0.08, (1, 2))])
def test_no_more_cells_are_wrong_than_the_upper_limit_says(mechanism, wrong, sizes):
    tables = [table(mechanism, wrong, seed=seed, sizes=sizes) for seed in range(40)]
    limits = [most_wrong(hidden) for hidden, _ in tables]
    held = sum(limit >= share for limit, (_, share) in zip(limits, tables, strict=True))
    assert held >= 36
    assert np.mean(limits) < wrong + 0.06


def test_exact_and_empty_cells_and_priors_that_know_nothing_give_no_limit():
    rng = np.random.default_rng(0)
    exact = np.eye(3, dtype=bool)[rng.integers(3, size=50)]
    assert most_wrong(HiddenCells(np.full((50, 3), 1 / 3), exact, Mechanism(3))) is None
    assert most_wrong(HiddenCells(np.full((50, 3), 1 / 3), exact | True, Mechanism(3))) is None
    blind, _ = table(Mechanism(4), 0.0)
    unknown = HiddenCells(np.full(blind.prior.shape, 1 / 4), blind.cells, blind.mechanism)
    assert most_wrong(unknown) is None


def test_a_value_that_need_not_be_ruled_out_gives_no_limit():
    rates = np.array([[0, 0.5, 0.5], [0, 0, 1], [0, 1, 0]])  # the first is never ruled out
    prior, cells = np.tile([0.8, 0.1, 0.1], (500, 1)), np.ones((500, 3), dtype=bool)
    cells[:, 1] = False
    assert most_wrong(HiddenCells(prior, cells, Mechanism.of(3, rates))) is None
    assert most_wrong(HiddenCells(prior, cells, Mechanism(3))) == upper_limit(0, 50)


def test_wrong_cells_look_like_right_ones_of_values_that_are_harder_to_predict():
    wrong, chances = 0.06, np.array([0.7, 0.2, 0.1, 0.0])
    excluded = wrong * chances + (1 - wrong) * (1 - chances) / 3
    harder = (1 - 4 * wrong) * chances + wrong
    np.testing.assert_allclose(excluded, (1 - harder) / 3)
    assert harder.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("hits", "rows", "limit"), [(0, 300, 0.25), (9, 300, 0.25), (20, 60, 1 / 3)]
)
def test_the_guess_is_that_of_a_sum_over_shares_and_rates(hits, rows, limit):
    # e no less than ε, and else anything up to π; a quarter none, else 4 % on average.
    shares, rates = np.linspace(0, limit, 801)[1:], np.linspace(0, limit / (1 - limit), 1601)[1:]
    seen = rates**hits * (1 - rates) ** (rows - hits)
    left = np.array([seen[rates >= share].sum() for share in shares])
    weights = 0.75 * np.exp(-shares / 0.04) / 0.04 * shares[0] * left
    found = guessed_wrong(Surest(hits, rows, limit), limit)
    assert found.shares.mean() == pytest.approx(
        weights @ shares / weights.sum(), rel=0.15
    )  # six slices
    chance = weights.sum() / (weights.sum() + 0.25 * seen.sum())
    assert found.chance == pytest.approx(chance, abs=0.01)


def test_the_guess_is_never_beyond_what_leaves_cells_a_meaning():
    every = guessed_wrong(Surest(60.0, 60.0, 0.25), 0.25)
    assert (every.shares > 0).all()
    assert (every.shares <= 0.25).all()
    assert 0 < every.chance < 1
