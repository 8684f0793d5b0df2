"""What other exclusions would do, by hand, and whether it holds where the truth is known."""

import numpy as np
import pytest

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.disclosure import change, fewer, more, prospect, with_learning
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval

SIZE = 4


def hidden_of(prior, values, seed=0):
    """Return hidden cells that each rule out one wrong value."""
    cells = np.ones(prior.shape, dtype=bool)
    wrong = (values + np.random.default_rng(seed).integers(1, SIZE, len(values))) % SIZE
    cells[np.arange(len(values)), wrong] = False
    return HiddenCells(prior, cells, Mechanism.of(SIZE, None))


def test_what_would_be_answered_follows_from_the_prior():
    hidden = hidden_of(np.array([[0.5, 0.3, 0.15, 0.05]]), np.array([0]))
    for exclusions, right in ((0, [1, 0, 0, 0]), (1, [1, 1 / 3, 0, 0]), (2, [1, 2 / 3, 1 / 3, 0])):
        # Right if all likelier values are among the excluded ones: C(s, r) / C(3, r) by hand.
        found = prospect(hidden, np.array([exclusions]))
        assert found.right[0] == pytest.approx(right)
    assert prospect(hidden, np.array([3])).right[0] == pytest.approx(1)  # an exact cell
    assert prospect(hidden, np.array([3])).sure[0] == pytest.approx(1)
    # One exclusion: 0.5, renormalised without 0.3, 0.15 or 0.05; or 0.3 of what 0.5 leaves.
    chance = [(0.5 + 0.15 + 0.05) / 3, (0.5 + 0.3 + 0.05) / 3, (0.5 + 0.3 + 0.15) / 3, 0.5 / 3]
    confident = [0.5 / 0.7, 0.5 / 0.85, 0.5 / 0.95, 0.3 / 0.5]
    expected = float(np.dot(chance, confident))
    assert prospect(hidden, np.array([1])).confidence[0] == pytest.approx(expected)


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


def test_confidences_that_mislead_are_outvoted_by_many_cells():
    values = np.random.default_rng(4).integers(0, SIZE, 40_000)
    flat = np.full((len(values), SIZE), 1 / SIZE)
    boast = np.tile([0.97, 0.01, 0.01, 0.01], (len(values), 1))  # and knows nothing
    hidden, ones = hidden_of(flat, values), np.ones(len(values), dtype=int)
    one, other = prospect(hidden, ones), prospect(hidden_of(boast, values), ones)
    assert (other.confidence - one.confidence).mean() > 0.3
    assert abs(change(hidden, one, other).value) < 0.05  # either is right in a third of the rows


def test_what_is_learned_from_more_cells_counts_less_the_more_rows_there_are():
    own = Interval(0.02, 0.01, 0.03)
    whole, part = (with_learning(own, 0.05, share=share) for share in (1.0, 0.25))
    assert whole == Interval(pytest.approx(0.05), 0.01, pytest.approx(0.11))
    assert part == Interval(pytest.approx(0.035), 0.01, pytest.approx(0.11))
