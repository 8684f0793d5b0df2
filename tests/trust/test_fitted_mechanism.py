"""Weights of a mechanism are found again from exact cells and exclusions, within their error."""

import numpy as np
import pytest

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.mechanism import fit_weights, log_weights, rates


def drawn(rng, weights, shares, *, exact, others, exclusions=1):
    """Return exact cells, then cells drawn with these weights, and which of them are exact."""
    size = len(weights)
    values = rng.choice(size, exact + others, p=shares)
    how = Mechanism.of(size, rates(np.array(weights, dtype=float)))
    cells = how.draw(values, np.full(len(values), exclusions), rng.random((len(values), size)))
    is_exact = np.arange(len(values)) < exact
    cells[is_exact] = np.eye(size, dtype=bool)[values[is_exact]]
    return cells, is_exact


def test_weights_meet_the_shares_worked_by_hand():
    # Values 0, 1, 2 in shares 2, 1, 1 of 4, ruled out with weights 2, 1, 1. Value 0 rules out the
    # others alike; 1 rules out 0 twice as often as 2, and 2 rules out 0 twice as often as 1.
    exact = np.repeat(np.eye(3, dtype=bool), [60_000, 30_000, 30_000], axis=0)
    often = np.array([2 * 2 / 3, 2 / 2 + 1 / 3, 2 / 2 + 1 / 3]) / 4
    others = np.repeat(~np.eye(3, dtype=bool), np.rint(120_000 * often).astype(int), axis=0)
    cells = np.concatenate([exact, others])
    found = fit_weights(cells, np.arange(len(cells)) < len(exact))
    assert found / found[1] == pytest.approx([2, 1, 1], rel=0.01)


@pytest.mark.parametrize("exclusions", [1, 2, 3])
def test_weights_are_found_again_however_many_exclusions_cells_have(exclusions):
    weights, shares = [3, 1, 1, 2, 0.5], [0.4, 0.1, 0.2, 0.1, 0.2]
    rng = np.random.default_rng(exclusions)
    cells, exact = drawn(rng, weights, shares, exact=20_000, others=60_000, exclusions=exclusions)
    found = fit_weights(cells, exact)
    assert found / found[1] == pytest.approx(weights, rel=0.12)
    assert np.log(found).sum() == pytest.approx(0, abs=1e-9)


def test_their_covariance_is_that_of_repeated_draws():
    rng, size = np.random.default_rng(1), 3
    shares = np.arange(1, size + 1) / sum(range(1, size + 1))
    logs, variances = [], []
    for _ in range(80):
        found, covariance = log_weights(*drawn(rng, np.ones(size), shares, exact=150, others=1500))
        logs.append(found)
        variances.append(np.diag(covariance))
    assert np.mean(variances, axis=0) == pytest.approx(np.var(logs, axis=0), rel=0.4)


def test_few_exact_cells_shrink_weights_towards_uniform_ones():
    weights, shares = [3, 1, 1, 1], [0.25] * 4
    far = []
    for exact in (60, 600, 6000):
        rng = np.random.default_rng(2)
        fits = [
            fit_weights(*drawn(rng, weights, shares, exact=exact, others=3000)) for _ in range(8)
        ]
        far.append(
            np.mean([np.log(found[0] / found[1]) if found is not None else 0 for found in fits])
        )
    assert far == sorted(far)
    assert far[-1] == pytest.approx(np.log(3), rel=0.1)


def test_uniform_exclusions_and_two_values_have_no_weights():
    even = np.concatenate([np.eye(4, dtype=bool), ~np.eye(4, dtype=bool)]).repeat(50, axis=0)
    assert fit_weights(even, np.arange(400) < 200) is None
    assert fit_weights(np.eye(2, dtype=bool).repeat(90, axis=0), np.arange(180) < 60) is None


def test_weights_stay_within_bounds_where_no_mechanism_of_this_kind_fits():
    cells = np.ones((1000, 4), dtype=bool)
    cells[200:, 0] = False  # ruled out always, though half of the exact cells have it
    cells[:200] = np.eye(4, dtype=bool)[np.arange(200) % 2]
    found = fit_weights(cells, np.arange(1000) < 200)
    assert np.all((found >= 0.1) & (found <= 10))
