from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from builders.cells import skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.wrong_cells import (
    POWERS,
    GuessedShares,
    Surest,
    WeighedCells,
    guessed_wrong,
    information_lost,
    most_wrong,
    rank_suspects,
    upper_limit,
    well_founded,
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


# Suspect cells are ranked by Bayes' rule, and wrong cells are found among them.


def listed(mass, shares_mass, candidates, *, hidden=(), wrong=None):
    """Return the suspects of cells of which some were hidden, by the same masses."""
    rows = np.array(hidden, dtype=int)
    return rank_suspects(weighed(mass, mass, shares_mass, candidates, rows), wrong)


def weighed(estimate_mass, mass, shares_mass, candidates, rows):
    """Return cells whose priors gain nothing by a power; those of the first half are surer."""
    masses = np.tile(mass[rows, None], len(POWERS))
    surer = np.arange(len(rows)) < len(rows) / 2
    return WeighedCells(estimate_mass, masses, surer, shares_mass, rows, candidates)


def at(share):
    return GuessedShares(np.array([share]), 1.0, share)


def test_cells_are_ranked_by_how_much_likelier_they_are_if_wrong():
    # Of 4 values: s = 1 with 0.2 left: 0.8/0.2 · 3; s = 2 with 0.2 left: 0.8/0.2 · 1; and 0.9 left.
    candidates = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]], dtype=bool)
    mass = np.array([0.2, 0.2, 0.9])
    found = listed(mass, np.ones(3), candidates)
    assert found.rows.tolist() == [1, 0]  # the third is likelier if it is right
    assert found.times_of_all[found.rows] == pytest.approx([12, 4])
    assert found.mass_of_all[found.rows] == pytest.approx([0.2, 0.2])


def test_exact_and_empty_cells_are_not_suspect():
    candidates = np.array([[0, 0, 1], [1, 1, 1]], dtype=bool)
    found = listed(np.zeros(2), np.ones(2), candidates, hidden=[0, 1], wrong=at(0.1))
    assert len(found.rows) == 0
    assert np.isnan([found.wrong_of_all, found.most_of_all, *found.supposed_of_all]).all()


def test_the_share_that_is_well_founded_is_that_of_a_fine_grid():
    rng = np.random.default_rng(0)
    mass, shares = rng.random(200), np.full(200, 0.5)
    grid = np.linspace(0, 1, 2001)
    sums = [np.log(share * mass + (1 - share) * shares).sum() for share in grid]
    assert well_founded(mass, shares) == pytest.approx(grid[np.argmax(sums)], abs=1e-3)
    assert well_founded(np.ones(5), shares[:5]) == pytest.approx(1, abs=1e-5)
    assert well_founded(np.zeros(5), shares[:5]) == pytest.approx(0, abs=1e-5)


def test_priors_that_are_too_sure_count_for_less():
    candidates = np.tile([False, True, True], (400, 1))
    mass = np.r_[np.full(200, 0.01), np.full(200, 0.99)]  # and yet half of these cells exist
    found = listed(mass, np.full(400, 0.6), candidates, hidden=range(400))
    assert found.times_of_all[found.rows].max() < 0.99 / 0.01 * 2
    assert found.rows.tolist() == list(range(10))


def planted(share, *, n=2000, size=5, exclusions=1):
    """Return priors that hold, cells of which a share is wrong, what they leave, and which are."""
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.full(size, 0.1), n)
    truth = (np.cumsum(prior, axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = rng.random(n) < share
    candidates = Mechanism(size).draw(truth, exclusions - wrong, rng.random((n, size)))
    candidates[wrong, truth[wrong]] = False
    return (prior * candidates).sum(axis=1), candidates @ prior.mean(axis=0), candidates, wrong


def test_wrong_cells_are_among_the_first():
    mass, shares, candidates, wrong = planted(0.02)
    found = listed(mass, shares, candidates, hidden=range(len(mass)))
    assert len(found.rows) == 20
    # No fewer than if priors were known to hold, 30 times as many as of all cells.
    assert wrong[found.rows].sum() >= wrong[np.argsort(mass)[:20]].sum() >= 12
    assert np.isnan(found.wrong_of_all).all()  # without a limit of wrong cells


@pytest.mark.parametrize("exclusions", [1, 2])
def test_a_cell_is_as_likely_wrong_as_all_values_gone_through_say(exclusions):
    # One row that counts, and rows of cells that fit, by which the prior is well founded.
    share, size, prior = 0.03, 5, np.array([0.6, 0.2, 0.1, 0.1, 0.0])
    ruled_out = np.arange(size) < exclusions
    right = (1 - share) * prior[~ruled_out].sum() / comb(size - 1, exclusions)
    wrong = share * prior[ruled_out].sum() / comb(size - 1, exclusions - 1)
    mass = np.r_[prior[~ruled_out].sum(), np.ones(50)]
    candidates = np.tile(~ruled_out, (51, 1))
    found = listed(mass, np.full(51, 0.5), candidates, hidden=range(51), wrong=at(share))
    assert found.wrong_of_all[0] == pytest.approx(wrong / (right + wrong))


@pytest.mark.parametrize("exclusions", [1, 2])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.1])
def test_as_many_of_the_first_are_wrong_as_expected_if_the_share_is_known(share, exclusions):
    mass, shares, candidates, wrong = planted(share, n=5000, exclusions=exclusions)
    found = listed(mass, shares, candidates, hidden=range(5000), wrong=at(share))
    for top in (50, 200, 1000):
        first = np.argsort(-found.wrong_of_all, kind="stable")[:top]
        chances = found.wrong_of_all[first]
        spread = np.sqrt((chances * (1 - chances)).sum())
        # How well founded priors are is known less well if many cells are wrong.
        error = abs(wrong[first].sum() - chances.sum())
        assert error < 3 * spread + share * top


def test_rows_that_were_not_hidden_are_as_likely_wrong_as_hidden_ones_that_look_alike():
    # The estimate, which knows the cell, leaves it four times as much; a fifth was hidden.
    mass, shares, candidates, wrong = planted(0.03, n=5000)
    hidden = np.arange(0, 5000, 5)
    known = np.minimum(4 * mass, 1 - (1 - mass) / 4)
    cells = weighed(known, mass, shares, candidates, hidden)
    found = rank_suspects(cells, at(0.03))
    others = np.setdiff1d(np.arange(5000), hidden)
    first = others[np.argsort(-found.wrong_of_all[others], kind="stable")[:150]]
    real = wrong[first].sum()
    taken_at_its_word = listed(known, shares, candidates, hidden=range(5000), wrong=at(0.03))
    short = real - taken_at_its_word.wrong_of_all[first].sum()
    assert abs(real - found.wrong_of_all[first].sum()) < min(short / 2, 0.25 * real)
    assert found.wrong_of_all[hidden].sum() == pytest.approx(wrong[hidden].sum(), abs=15)


def test_a_guess_is_the_mean_over_what_the_share_may_be_and_the_limit_is_no_less():
    mass, shares, candidates, _ = planted(0.03)
    every = range(len(mass))
    guessed = GuessedShares(np.array([0.01, 0.05]), 0.6, 0.08)
    found = listed(mass, shares, candidates, hidden=every, wrong=guessed)
    low, high, most = (
        listed(mass, shares, candidates, hidden=every, wrong=at(share)).wrong_of_all
        for share in (0.01, 0.05, 0.08)
    )
    np.testing.assert_allclose(found.wrong_of_all, 0.6 * (low + high) / 2)
    np.testing.assert_allclose(found.most_of_all, np.maximum(most, found.wrong_of_all))
    one, three, ten = found.supposed_of_all
    np.testing.assert_allclose(one, low)
    assert np.isfinite(three).all()
    assert np.isnan(ten).all()  # more than there can be
    # All that may well be wrong are listed, and as many as before at least.
    assert len(found.rows) == max((found.most_of_all >= 0.5).sum(), 20)


def test_no_share_is_supposed_from_which_on_cells_say_nothing():
    mass, shares, candidates, _ = planted(0.0, n=300, size=12)
    found = listed(mass, shares, candidates, hidden=range(300))
    assert [np.isnan(chances).all() for chances in found.supposed_of_all] == [False, False, True]
    unjudged = listed(mass, shares, candidates)
    assert np.isnan(unjudged.supposed_of_all).all()
