"""Losses and what is expected of them, by hand and by loops over all cells."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest
from builders.cells import cells, probability, skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust import reference
from cfl_cli.trust.reference import expected_losses, losses, ratios

SHARES = np.array([0.4, 0.3, 0.2, 0.1])
HIGHEST = log(0.9 + 0.1 * 20)


def by_hand(prior, shares, chances, low=0.0):
    """The loss of one cell that has these chances given each value, term by term."""
    p = sum(a * b for a, b in zip(prior, chances, strict=True))
    q = sum(a * b for a, b in zip(shares, chances, strict=True))
    likelier = 20.0 if q >= 20 * p else q / p
    found = log(0.9 + 0.1 * likelier)
    return min(max((found - low) / (HIGHEST - low), 0.0), 1.0)


def test_ratios_are_those_worked_by_hand():
    prior = np.array([[0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.0], [1.0, 0.0, 0.0, 0.0], SHARES])
    left = np.array([[1, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    found = ratios(prior, left, Mechanism(4), SHARES)
    # The cells leave 0.7, 0.3, 0.6 and 0.4 of the shares. The third prior rules out what its cell
    # leaves: it counts as 20 times likelier by the shares. The fourth knows nothing but these.
    expected = [log(0.9 + 0.1 * 0.7 / 0.7), log(0.9 + 0.1 * 0.3 / 0.2), log(0.9 + 2), 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    np.testing.assert_allclose(losses(found, -0.1), (np.array(expected) + 0.1) / (HIGHEST + 0.1))


def test_losses_stay_between_0_and_1():
    prior = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    shares = np.array([0.0, 0.5, 0.5])  # rule out what some cells leave, too
    left = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 1]], dtype=bool)
    found = ratios(prior, left, Mechanism(3), shares)
    np.testing.assert_allclose(found, [log(0.9), HIGHEST, 0.0], atol=1e-15)
    assert losses(found, log(0.9)).tolist()[:2] == [0.0, 1.0]
    assert losses(found, np.zeros(3)).tolist()[:2] == [0.0, 1.0]  # below the scale is 0


@pytest.mark.parametrize("exclusions", [1, 2, 3])
def test_losses_and_what_is_expected_of_them_are_those_of_a_loop_over_the_cells(exclusions):
    mechanism, prior, low = skewed(4), np.array([0.1, 0.2, 0.2, 0.5]), -0.02
    masks, sets = cells(4, exclusions)
    many = np.tile(prior, (len(masks), 1))
    found = losses(ratios(many, masks, mechanism, SHARES), low)
    expectation = 0.0
    for loss, ruled_out in zip(found, sets, strict=True):
        chances = [probability(mechanism, ruled_out, value) for value in range(4)]
        assert loss == pytest.approx(by_hand(prior, SHARES, chances, low))
        expectation += loss * sum(p * c for p, c in zip(prior, chances, strict=True))
    expected = expected_losses(
        prior[None], np.array([exclusions]), mechanism, SHARES, np.array([low])
    )
    assert expected == pytest.approx([expectation])


def test_every_number_of_exclusions_has_its_own_scale():
    prior, lows = np.tile([0.1, 0.2, 0.2, 0.5], (3, 1)), np.array([-0.05, -0.01, -0.05])
    sizes = np.array([1, 2, 1])
    found = expected_losses(prior, sizes, Mechanism(4), SHARES, lows)
    alone = [
        expected_losses(prior[:1], sizes[[row]], Mechanism(4), SHARES, lows[[row]])[0]
        for row in range(3)
    ]
    np.testing.assert_allclose(found, alone)


def test_too_many_cells_are_drawn_and_give_about_the_same():
    rng = np.random.default_rng(0)
    prior, shares = rng.dirichlet(np.full(10, 0.3), size=40), rng.dirichlet(np.ones(10))
    assert comb(10, 4) > reference.LISTED
    expected = []
    for row in prior:
        total = 0.0
        for out in combinations(range(10), 4):
            # Each value leaves C(9, 4) sets, so that P(S) = Σ_{v ∉ S} prior(v) / C(9, 4).
            chances = [0.0 if value in out else 1.0 for value in range(10)]
            total += row @ chances / comb(9, 4) * by_hand(row, shares, chances, -0.05)
        expected.append(total)
    given = prior, np.full(40, 4), Mechanism(10), shares, np.full(40, -0.05)
    found = expected_losses(*given)
    assert found.mean() == pytest.approx(np.mean(expected), abs=0.002)  # 20,000 draws
    np.testing.assert_array_equal(found, expected_losses(*given))


def test_nothing_is_expected_of_empty_cells():
    known = np.full((2, 3), 1 / 3)
    empty = expected_losses(known, np.zeros(2, int), Mechanism(3), known[0], np.zeros(2))
    assert empty.tolist() == [0.0, 0.0]
