"""Suspect cells are ranked by Bayes' rule, and wrong cells are found among them."""

import numpy as np
import pytest

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.suspects import suspects, well_founded

NONE = np.array([], dtype=int)


def test_cells_are_ranked_by_how_much_likelier_they_are_if_wrong():
    # Of 4 values: s = 1 with 0.2 left: 0.8/0.2 · 3; s = 2 with 0.2 left: 0.8/0.2 · 1; and 0.9 left.
    candidates = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1]], dtype=bool)
    mass = np.array([0.2, 0.2, 0.9])
    found = suspects(mass, np.ones(3), NONE, candidates)
    assert found.rows.tolist() == [1, 0]  # the third is likelier if it is right
    assert found.times == pytest.approx([12, 4])
    assert found.mass == pytest.approx([0.2, 0.2])


def test_exact_and_empty_cells_are_not_suspect():
    candidates = np.array([[0, 0, 1], [1, 1, 1]], dtype=bool)
    assert len(suspects(np.zeros(2), np.ones(2), NONE, candidates).rows) == 0


def test_the_share_that_is_well_founded_is_that_of_a_fine_grid():
    rng = np.random.default_rng(0)
    mass, shares = rng.random(200), np.full(200, 0.5)
    grid = np.linspace(0, 1, 2001)
    sums = [np.log(share * mass + (1 - share) * shares).sum() for share in grid]
    assert well_founded(mass, shares) == pytest.approx(grid[np.argmax(sums)], abs=1e-3)
    assert well_founded(np.ones(5), shares[:5]) == pytest.approx(1)
    assert well_founded(np.zeros(5), shares[:5]) == pytest.approx(0)


def test_priors_that_are_too_sure_count_for_less():
    candidates = np.tile([False, True, True], (400, 1))
    mass = np.r_[np.full(200, 0.01), np.full(200, 0.99)]  # and yet half of these cells exist
    found = suspects(mass, np.full(400, 0.6), np.arange(400), candidates)
    assert found.times.max() < 0.99 / 0.01 * 2
    assert found.rows.tolist() == list(range(10))


def test_wrong_cells_are_among_the_first():
    rng, size, n = np.random.default_rng(0), 5, 2000
    prior = rng.dirichlet(np.full(size, 0.1), n)
    truth = (np.cumsum(prior, axis=1) > rng.random((n, 1))).argmax(axis=1)
    candidates = Mechanism(size).draw(truth, np.ones(n, int), rng.random((n, size)))
    wrong = rng.random(n) < 0.02
    candidates[wrong] = np.arange(size) != truth[wrong, None]
    shares = candidates @ prior.mean(axis=0)
    mass = (prior * candidates).sum(axis=1)
    found = suspects(mass, shares, np.arange(n), candidates)
    assert len(found.rows) == 20
    assert wrong[found.rows].mean() > 0.8
