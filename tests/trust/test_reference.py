"""The reference of a model: its limits, and that nothing but a reference is taken for one."""

import copy
import json
from itertools import combinations
from math import comb, exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from builders.cells import cells, probability, skewed
from builders.hidden_rows import case

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.trust import reference
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.reference import (
    LEAST,
    LEVEL,
    NO_FOLDS,
    TOO_FEW,
    Reference,
    expected_losses,
    losses,
    ratios,
)


def hidden(m, *, sizes=(1,), size=4, seed=0, **options):
    prior, _, cells, _ = case(Mechanism(size), m, seed, sizes=sizes)
    return HiddenCells(prior, cells, Mechanism(size), **options)


def reference_of(*cells):
    """The reference of CFs whose shares are those by their own cells."""
    shares = [
        np.full(4, 0.25) if of is None else of.mechanism.shares(of.cells).prior for of in cells
    ]
    return Reference.of(cells, shares)


def losses_by_loop(known):
    """The losses of cells with one exclusion, on the scale from the lowest T of them."""
    shares, found = known.mechanism.shares(known.cells).prior, []
    for prior, cell in zip(known.prior, known.cells, strict=True):
        likelier = shares[cell].sum() / max(prior[cell].sum(), 1e-300)
        found.append(log(0.9 + 0.1 * min(likelier, 20)))
    low = min(found)
    return (np.array(found) - low) / (log(0.9 + 0.1 * 20) - low), low


def test_a_limit_is_that_of_its_formula():
    known = hidden(900, mutual=True)
    made = reference_of(known, known, known)
    [of] = made.columns[0].sizes
    x, low = losses_by_loop(known)
    n, z = len(x), NormalDist().inv_cdf(1 - LEVEL / 3)
    variance, step = x.var(ddof=1) / n, ((x**2).sum() + 1) / (x.sum() + 1)
    assert (of.exclusions, of.cells, of.low) == (1, 900, pytest.approx(low))
    assert of.loss == pytest.approx(x.mean())
    assert of.loss_variance == pytest.approx(variance)
    found = made.limits(0)[1]
    further = found - x.mean()
    assert further**2 == pytest.approx(z**2 * 2 * (variance + step * further / n))
    # A bit more than without the last term, and much more than the mean.
    assert x.mean() + z * sqrt(2 * variance) < found < x.mean() + 1.3 * z * sqrt(2 * variance)


def test_cells_without_any_loss_have_a_limit_above_0():
    sure = HiddenCells(
        np.tile([1.0, 0.0, 0.0], (500, 1)), np.tile([True, True, False], (500, 1)), Mechanism(3)
    )
    limit = reference_of(sure).limits(0)[1]
    assert exp(-500 * limit) < LEVEL  # of losses that are 1, none is seen so rarely


def test_limits_hold_the_true_mean_as_often_as_promised():
    # Losses of 0 or 1 with a mean of 0.01 are the worst case for a normal law.
    rng = np.random.default_rng(0)
    n, rate, beyond = 500, 0.01, 0
    drawn, counts = np.unique(rng.binomial(n, rate, 20_000), return_counts=True)
    for hits, times in zip(drawn, counts, strict=True):
        prior = np.zeros((n, 3))
        prior[:, 0], prior[:hits] = 1.0, [0.0, 0.0, 1.0]
        cells = HiddenCells(prior, np.tile([True, True, False], (n, 1)), Mechanism(3))
        found = Reference.of([cells], [np.full(3, 1 / 3)])
        beyond += times * (found.limits(0)[1] < rate)
    assert beyond <= 20_000 * LEVEL


def test_every_number_of_exclusions_has_its_own_and_few_cells_have_none():
    known = hidden(1000, sizes=(1, 1, 1, 2))
    counts = np.bincount((~known.cells).sum(axis=1))
    rare = HiddenCells(known.prior[:500], known.cells[:500], known.mechanism)
    assert counts[2] >= LEAST > np.bincount((~rare.cells).sum(axis=1))[2]
    assert list(reference_of(known).limits(0)) == [1, 2]
    assert list(reference_of(rare).limits(0)) == [1]
    none = reference_of(hidden(199), None)
    assert [column.reason for column in none.columns] == [TOO_FEW, NO_FOLDS]
    assert none.limits(0) == none.limits(1) == {}


def test_copies_leave_the_limit_where_it_was():
    alone = hidden(400)
    thrice = HiddenCells(
        np.tile(alone.prior, (3, 1)),
        np.tile(alone.cells, (3, 1)),
        alone.mechanism,
        groups=np.tile(np.arange(400), 3),
    )
    one, three = (reference_of(cells).limits(0)[1] for cells in (alone, thrice))
    assert three == pytest.approx(one, rel=0.01)


def test_facts_survive_json():
    made = reference_of(hidden(900, sizes=(1, 2), mutual=True), hidden(100), None)
    again = Reference.from_facts(json.loads(json.dumps(made.facts())), [4, 4, 4])
    assert again == made


FACTS = json.loads(json.dumps(reference_of(hidden(600, sizes=(1, 2)), None).facts()))
SIZE = "columns", 0, "sizes", 0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((), []),
        (("columns",), {}),
        (("columns",), []),
        (("columns", 0), None),
        (("columns", 0, "more"), 1),
        (("columns", 0, "mutual"), 1),
        (("columns", 0, "reason"), NO_FOLDS),
        (("columns", 1, "reason"), None),
        (("columns", 1, "reason"), "\x1b[31m"),
        (("columns", 0, "sizes"), []),
        (("columns", 0, "shares"), None),
        (("columns", 0, "shares"), "abcd"),
        (("columns", 0, "shares"), [0.5, 0.5]),
        (("columns", 1, "shares"), [0.5, 0.6, 0.0, 0.0]),
        (("columns", 1, "shares"), [1.5, -0.5, 0.0, 0.0]),
        (("columns", 1, "shares"), [float("nan"), 0.5, 0.5, 0.0]),
        (("columns", 1, "shares"), [1, 0, 0, 0]),
        ((*SIZE, "low"), 0.1),
        ((*SIZE, "low"), -0.2),  # below log 0.9
        ((*SIZE, "exclusions"), 0),
        ((*SIZE, "exclusions"), 2),  # twice
        ((*SIZE, "exclusions"), 4),  # of four values
        ((*SIZE, "exclusions"), 1.0),
        ((*SIZE, "exclusions"), True),
        ((*SIZE, "cells"), 199),
        ((*SIZE, "cells"), 10**400),
        ((*SIZE, "independent"), 0.0),
        ((*SIZE, "independent"), 1e9),
        ((*SIZE, "loss"), float("nan")),
        ((*SIZE, "loss"), -0.1),
        ((*SIZE, "loss"), 1.5),
        ((*SIZE, "loss"), "0.1"),
        ((*SIZE, "loss_squares"), 0.9),
        ((*SIZE, "loss_variance"), float("inf")),
        ((*SIZE, "expected"), 2),
        ((*SIZE, "score"), 0.1),
        ((*SIZE, "score_variance"), -1.0),
    ],
)
def test_what_no_model_can_have_kept_is_refused(place, value):
    facts = copy.deepcopy(FACTS)
    if not place:
        facts = value
    else:
        *path, last = place
        part = facts
        for name in path:
            part = part[name]
        part[last] = value
    with pytest.raises(StateError):
        Reference.from_facts(facts, [4, 4])


# Losses and what is expected of them, by hand and by loops over all cells.


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
