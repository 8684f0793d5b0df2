"""The test of answers against the commonest candidate agrees with rows whose values are known."""

import numpy as np
import pytest
from builders.cells import skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells, evidence, footing, judge, shares_of_others

SHARES = np.array([0.5, 0.3, 0.2])


def drawn(rng, rows):
    """Return a value for each row, from its own distribution."""
    return (np.cumsum(rows, axis=1) > rng.random((len(rows), 1))).argmax(axis=1)


def keep(mechanism, prior):
    """Return how probably each value is answered if true, by going through all cells of one."""
    kept = np.zeros_like(prior)
    for excluded in range(mechanism.size):
        cell = np.arange(mechanism.size) != excluded
        chances = mechanism.inclusion(1)[:, excluded]  # of the cell, given each value
        joint = prior * mechanism.likelihood(cell[None])
        answers = joint.argmax(axis=1)
        kept[np.arange(len(prior)), answers] += chances[answers]
    return kept


def drawn_priors(mechanism, founded, *, n=4000, seed=0):
    """Return λ*, the evidence of priors of which a share is well founded, and the gain."""
    rng = np.random.default_rng(seed)
    prior, shares = rng.dirichlet(2 * SHARES, n), np.tile(SHARES, (n, 1))
    truth = drawn(rng, founded * prior + (1 - founded) * shares)
    cells = mechanism.draw(truth, np.ones(n, dtype=int), rng.random((n, 3)))
    likelihood = mechanism.likelihood(cells)
    more = keep(mechanism, prior) - keep(mechanism, shares)
    right = [(guess * likelihood).argmax(axis=1) == truth for guess in (prior, shares)]
    found = evidence(footing(prior, shares, likelihood, more))
    return *found, right[0].mean() - right[1].mean()


@pytest.mark.parametrize("mechanism", [Mechanism(3), skewed(3)])
def test_priors_founded_as_far_as_needed_neither_gain_nor_show_evidence(mechanism):
    least, _, _ = drawn_priors(mechanism, 0.5)
    assert 0.1 < least < 0.9
    found = [drawn_priors(mechanism, least, n=1000, seed=seed) for seed in range(200)]
    _, errors, gains = np.transpose(found)
    assert gains.mean() == pytest.approx(0, abs=0.004)
    assert errors.mean() == pytest.approx(0, abs=4 / 200**0.5)
    assert errors.std() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(("founded", "better"), [(0.0, False), (1.0, True)])
def test_priors_founded_in_full_gain_and_show_it_and_those_not_at_all_lose(founded, better):
    _, errors, gain = drawn_priors(Mechanism(3), founded)
    assert (gain > 0.03, gain < -0.03) == (better, not better)
    assert (errors > 3, errors < -3) == (better, not better)


def test_priors_that_are_the_shares_show_nothing():
    shares = np.tile(SHARES, (5, 1))
    assert evidence(footing(shares, shares, np.ones((5, 3)), np.zeros((5, 3)))) == (1, 0)


def test_the_shares_of_a_row_come_from_the_rows_of_other_parts():
    rng = np.random.default_rng(0)
    cells = Mechanism(3).draw(
        drawn(rng, np.tile(SHARES, (23, 1))), np.ones(23, int), rng.random((23, 3))
    )
    shares, part = shares_of_others(cells, Mechanism(3))
    assert np.bincount(part).tolist() == [5, 5, 4, 5, 4]
    for row in range(23):
        others = [not excluded.all() for excluded in cells]
        seen = np.array(
            [c for c, p, some in zip(cells, part, others, strict=True) if p != part[row] and some]
        )
        estimated = np.clip(1 - 2 * (~seen).mean(axis=0), 0, None)
        np.testing.assert_allclose(shares[part[row]], estimated / estimated.sum())


def test_rows_without_any_exclusion_have_no_shares():
    cells = np.ones((10, 3), dtype=bool)
    cells[0, 1] = False  # the other parts' rows know it, its own part's do not
    assert shares_of_others(cells, Mechanism(3)) is None
    assert shares_of_others(cells[:0], Mechanism(3)) is None


def test_the_commonest_of_many_values_in_few_rows_is_not_judged_by_the_cells_that_chose_it():
    rng, size, n = np.random.default_rng(0), 20, 3000
    mechanism, crossed, chosen = Mechanism(size), [], []
    for _ in range(20):
        cells = mechanism.draw(rng.integers(size, size=n), np.ones(n, int), rng.random((n, size)))
        hidden = HiddenCells(np.full((n, size), 1 / size), cells, mechanism, mutual=True)
        shares, part = shares_of_others(cells, mechanism)
        crossed.append(judge(hidden, cells, shares=shares, part=part).commonest)
        chosen.append(judge(hidden, cells, shares=mechanism.shares(cells).prior).commonest)
    true = 1 / size + 1 / size / (size - 1)  # of any first, and any second value
    assert sum(found.low <= true <= found.high for found in crossed) >= 18
    assert np.mean([found.value for found in crossed]) < 0.1  # what is below 0 counts as 0
    assert np.mean([found.value for found in chosen]) > 0.15


def test_one_share_for_all_rows_is_the_same_as_many_that_are_alike():
    mechanism, rng = skewed(3), np.random.default_rng(0)
    prior = rng.dirichlet(SHARES, 50)
    cells = mechanism.draw(drawn(rng, prior), np.ones(50, int), rng.random((50, 3)))
    hidden, part = HiddenCells(prior, cells, mechanism), np.arange(50) % 2
    one = judge(hidden, cells, shares=SHARES)
    assert judge(hidden, cells, shares=np.array([SHARES, SHARES]), part=part) == one
