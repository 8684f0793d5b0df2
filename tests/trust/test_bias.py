"""Whatever the bias within its ratio, the true accuracy lies within the bounds, by enumeration.

Each row has a prior, a value and weights of its own. Its cells are all enumerated, as often as they
are probable, so that means over them are expectations, and answers are counted by the truth.
"""

from itertools import combinations
from math import prod

import numpy as np
import pytest
from builders.cells import skewed
from builders.hidden_rows import case, stubborn

from cfl_cli.core.arrays import most_confident
from cfl_cli.core.exclusions import MOST_BIAS, Mechanism
from cfl_cli.trust.bias import Biased, inclusions, kept_first
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.intervals import Interval

COPIES = 840  # of each row, at least: what the sums of small weights divide


def all_cells(value, weights, size, exclusions):
    """Return the candidates of each cell that a row may have, and how probable it is."""
    others = [c for c in range(size) if c != value]
    sets = list(combinations(others, exclusions))
    chances = np.array([prod(weights[c] for c in chosen) for chosen in sets], dtype=float)
    cells = np.ones((len(sets), size), dtype=bool)
    for cell, chosen in zip(cells, sets, strict=True):
        cell[list(chosen)] = False
    return cells, chances / chances.sum()


def enumerated(priors, values, weights, sizes):
    """Return priors, cells and values of rows as often as their cells are probable."""
    found = []
    for prior, value, given in zip(priors, values, weights, strict=True):
        for exclusions in sizes:
            cells, chances = all_cells(value, given, len(prior), exclusions)
            times = np.round(chances * COPIES).astype(int)
            np.testing.assert_allclose(times, chances * COPIES, atol=1e-6)
            found += [
                (prior, value, cell) for cell, n in zip(cells, times, strict=True) for _ in range(n)
            ]
    prior, value, cells = zip(*found, strict=True)
    return np.array(prior), np.array(cells), np.array(value)


def divides(weights, value, size, sizes):
    """Return whether every cell's probability is a whole number of copies."""
    for exclusions in sizes:
        _, chances = all_cells(value, weights, size, exclusions)
        if not np.allclose(np.round(chances * COPIES), chances * COPIES, atol=1e-6):
            return False
    return True


def drawn(rng, size, sizes, bias, *, rates=None, rows=6):
    """Rows whose weights are all 1 or all of the bias, as the draw has it."""
    rates = np.ones((size, size), dtype=int) if rates is None else rates
    priors = rng.dirichlet(np.ones(size), size=rows)
    values = rng.integers(0, size, rows)
    weights = []
    for value in values:
        given = None
        while given is None or not divides(given, value, size, sizes):
            given = rng.choice([1, bias], size) * rates[value]
        weights.append(given)
    return enumerated(priors, values, weights, sizes)


def bounds(biased, bias):
    return biased.bound(bias, least=True), biased.bound(bias, least=False)


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (3, [1]),
        (4, [1]),
        (4, [2]),
        (5, [1]),
        (5, [3]),
        (4, [1, 2]),
        (4, [1, 3]),
        (5, [1, 4]),
        (3, [0, 1]),
    ],
    ids=str,
)
@pytest.mark.parametrize("rule", [most_confident, stubborn], ids=["confident", "stubborn"])
def test_the_true_accuracy_is_within_the_bounds(size, sizes, rule):
    rng = np.random.default_rng([size, *sizes])
    for bias in (2, 3):
        prior, cells, values = drawn(rng, size, sizes, bias)
        answers, _ = rule(prior, cells.astype(float))
        exact = cells.sum(axis=1) == 1  # right whatever the rule
        right = (exact | (answers == values)).mean()
        biased = Biased(HiddenCells(prior, cells, Mechanism(size)), cells, rule)
        least, most = bounds(biased, float(bias))
        assert least.mean - 1e-9 <= right <= most.mean + 1e-9


def test_the_true_accuracy_is_within_the_bounds_of_a_mechanism():
    rng = np.random.default_rng(0)
    rates = np.array([[0, 1, 1, 2], [2, 0, 1, 1], [1, 1, 0, 1], [1, 2, 1, 0]])
    mechanism = Mechanism.of(4, rates / rates.sum(axis=1, keepdims=True))
    for sizes in ([1], [1, 3]):
        prior, cells, values = drawn(rng, 4, sizes, 2, rates=rates, rows=8)
        answers, _ = most_confident(prior, mechanism.likelihood(cells))
        right = (answers == values).mean()
        least, most = bounds(Biased(HiddenCells(prior, cells, mechanism), cells), 2.0)
        assert least.mean - 1e-9 <= right <= most.mean + 1e-9
        assert most.mean - least.mean < 1.2


def test_the_least_accuracy_is_reached_where_the_first_value_is_spared():
    # In three rows of four the first by rank is true, in the fourth the third. Cells of the fourth
    # spare the first, so that answers look better than they are.
    priors = [np.array([0.5, 0.3, 0.15, 0.05])] * 4
    prior, cells, values = enumerated(
        priors, [0, 0, 0, 2], [[1, 1, 2, 2]] * 3 + [[1, 2, 2, 2]], [1]
    )
    biased = Biased(HiddenCells(prior, cells, Mechanism(4)), cells)
    (plain, _), (least, _) = bounds(biased, 1.0), bounds(biased, 2.0)
    right = (most_confident(prior, cells.astype(float))[0] == values).mean()
    assert right == 0.75
    assert plain.mean > 0.8
    assert least.mean == pytest.approx(0.75)


def test_bounds_without_bias_are_the_estimate_under_every_rule():
    for mechanism, rule in [(Mechanism(4), most_confident), (Mechanism(4), stubborn)]:
        prior, _, hidden, _ = case(mechanism, 300, sizes=(1, 2))
        biased = Biased(HiddenCells(prior, hidden, mechanism), hidden, rule)
        is_true = mechanism.unbiased(hidden)
        every = [c for s in (1, 2) for c in combinations(range(4), s)]
        values = np.zeros(300)
        for chosen in every:
            left = ~np.isin(np.arange(4), chosen)
            answers, _ = rule(prior, np.broadcast_to(1.0 * left, prior.shape))
            share = ((~hidden).sum(axis=1) == len(chosen)).mean() / 3  # of three cells without t
            values += np.where(left[answers], share, 0) * is_true[np.arange(300), answers]
        expected = np.average(values, weights=(~hidden).sum(axis=1))
        for bound in bounds(biased, 1.0):
            assert bound.mean == pytest.approx(expected, abs=1e-9)


def test_inclusions_of_one_exclusion_are_those_of_odds():
    assert inclusions(4, 1, 2.0) == (pytest.approx(1 / 5), pytest.approx(2 / 4))
    assert inclusions(4, 3, 7.0) == (1, 1)  # exact


@pytest.mark.parametrize(("size", "exclusions"), [(4, 1), (5, 2), (6, 3)])
def test_ranks_are_kept_as_enumeration_has_it(size, exclusions):
    shares = np.eye(size)[exclusions]
    for rank in range(1, size + 1):
        before = np.arange(size) < rank - 1
        for end, weights in ((0, np.where(before, 1, 3)), (1, np.where(before, 3, 1))):
            cells, chances = all_cells(rank - 1, weights, size, exclusions)
            kept = chances[~cells[:, before].any(axis=1)].sum()
            assert kept_first(size, shares, 3.0)[end, rank - 1] == pytest.approx(kept)


def test_large_domains_many_exclusions_and_any_bias_have_ends():
    for size, bias in ((3000, 1.7), (60, 1e300)):
        least, greatest = kept_first(size, np.eye(size)[size // 2], bias)
        assert least[0] == greatest[0] == pytest.approx(1)
        assert (np.diff([least, greatest]) <= 0).all()
        assert (least <= greatest).all()
    prior, _, hidden, _ = case(skewed(60), 50, sizes=(29,))
    biased = Biased(HiddenCells(prior, hidden, skewed(60)), hidden)
    assert biased.interval(Interval(0.7, 0.66, 0.74), 1e12) == Interval(0.7, 0.0, 1.0)


def judged():
    prior, _, hidden, _ = case(Mechanism(5), 2000, sharpness=2.0)
    return Biased(HiddenCells(prior, hidden, Mechanism(5)), hidden)


def test_the_interval_starts_as_it_is_and_widens_with_the_bias():
    biased, plain = judged(), Interval(0.7, 0.66, 0.74)
    assert biased.interval(plain, 1.0) == plain
    near, far = biased.interval(plain, 1.3), biased.interval(plain, 3.0)
    assert 0 <= far.low < near.low < 0.66
    assert 0.74 < near.high < far.high <= 1
    assert near.value == 0.7


def test_the_break_even_is_where_the_low_end_meets_what_it_is_compared_with():
    biased, plain = judged(), Interval(0.7, 0.66, 0.74)
    bias = biased.break_even(plain, 0.5)
    assert biased.interval(plain, bias).low == pytest.approx(0.5, abs=1e-3)
    assert biased.break_even(plain, 0.66) is None


def test_exact_cells_withstand_any_bias():
    prior, values, _, _ = case(Mechanism(4), 100)
    exact = np.arange(4) == values[:, None]
    biased, plain = Biased(HiddenCells(prior, exact, Mechanism(4)), exact), Interval(0.9, 0.8, 1.0)
    assert biased.interval(plain, 50.0) == plain
    assert biased.break_even(plain, 0.5) == MOST_BIAS
