"""What an attacker would get right if cells, or OFs, were blurred otherwise than they are.

The rows that were hidden have priors p that were made without their own cells. With keep(t) of
`possible_cells`, how probably t is answered where it is true, under any number of exclusions,

    share right = Σ_t keep(t) · P(true value is t)          change = share right − share right now

P(true value is t) has an unbiased estimate, from the hidden cell. So has the change, e, whatever
the confidences are worth, and the same hidden cells judge both. What is wanted is the change in
these very rows, Δ. A cell that rules out a wrong answer makes its row's Δ larger and its e smaller,
so that the two differ by more than e does by itself. With d = E[Δ | cell] and q = E[Δ² | cell], by
the confidences, w the weights of the hidden rows and u = 1/n that of each row in the share,

    variance = Var(e) + Σ u²·(q − 2·d·d̄ + d̄²) − 2 Σ w·u·(e − ē)(d − d̄)        but at least Var(e)
"""

from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, most_confident
from cfl_cli.core.dataset import Rule
from cfl_cli.trust.heldout import HiddenCells, PossibleCells
from cfl_cli.trust.intervals import NORMAL, Interval, PooledEstimate

SURE = 0.9  # the confidence from which on an attacker counts as sure


@dataclass(frozen=True, eq=False)
class Prospect:
    right: Floats  # m × K: how probably the answer is right if a value is the true one
    answers: Ints  # m: to the cells that the rows have
    confidences: Floats  # m: of these


@dataclass(frozen=True, eq=False)
class Moved:
    """By how much each of m rows moves the share of right answers: 1, 0 or −1."""

    mean: Floats  # m
    square: Floats  # m

    @classmethod
    def between(cls, now: Prospect, then: Prospect) -> "Moved":
        differ = now.answers != then.answers
        one, other = now.confidences, then.confidences
        return cls(differ * (other - one), differ * np.minimum(one + other, 1.0))

    @classmethod
    def by_more(cls, hidden: HiddenCells, now: Prospect, then: Prospect) -> "Moved":
        """Return it where cells rule out more: what was right stays right, so that Δ² = Δ."""
        gained = np.maximum((hidden.prior * (then.right - now.right)).sum(axis=1), 0.0)
        return cls(gained, gained)


def prospect(
    hidden: HiddenCells, exclusions: Ints, cells: Mask, *, rule: Rule | None = None
) -> Prospect:
    """Return what would be answered if cells had exclusions like these, whose numbers are given.

    `cells` are those that the hidden rows would have, m × K. `rule` answers otherwise than by the
    most confident candidate.
    """
    mechanism, prior = hidden.mechanism, hidden.prior
    possible = PossibleCells.of(np.arange(mechanism.size) >= exclusions[:, None], mechanism)
    answered = rule or most_confident
    right = possible.exact + possible.keep(prior, answered)
    return Prospect(right, *answered(prior, mechanism.likelihood(cells)))


def more(exclusions: Ints, size: int) -> Ints:
    """Return the numbers of exclusions with one more in each cell that has any, n."""
    return np.where((exclusions > 0) & (exclusions < size - 1), exclusions + 1, exclusions)


def fewer(exclusions: Ints, size: int) -> Ints:
    """Return them with one fewer in each cell that has several and is not exact, n."""
    return np.where((exclusions > 1) & (exclusions < size - 1), exclusions - 1, exclusions)


def change(
    hidden: HiddenCells,
    now: Prospect,
    then: Prospect,
    *,
    rows: int | None = None,
    moved: Moved | None = None,
) -> Interval:
    """Return by how much the share of right answers would change, on the same hidden cells.

    `rows` are all rows of the table, of which the hidden ones are some or all.
    """
    pooled = _pooled(hidden, then.right - now.right)
    if pooled is None:
        return Interval(0.0, -1.0, 1.0)  # nothing is known of it
    apart = _apart(pooled, moved or Moved.between(now, then), rows or len(hidden.prior))
    return _widened(pooled.symmetric(hidden.reach), apart)


def in_these_rows(
    share: Interval, hidden: HiddenCells, now: Prospect, *, rows: int | None = None
) -> Interval:
    """Return the interval of a share of right answers, so that it holds that of these very rows.

    `share` is to hold the share among all rows like them.
    """
    pooled = _pooled(hidden, now.right)
    if pooled is None:
        return share
    moved = Moved(now.confidences, now.confidences)  # of what is right, from nothing
    return _widened(share, _apart(pooled, moved, rows or len(hidden.prior))).as_share


def of_others(right: Interval | None, share: float, exact: float) -> Interval | None:
    """Return how many of the others are right, where some of the rows that `right` is of are exact.

    Both shares are of all rows; what is exact is right.
    """
    if right is None or share <= 0:
        return None

    def other(of_all: float) -> float:
        return min(max((of_all * (share + exact) - exact) / share, 0.0), 1.0)

    return Interval(*map(other, (right.value, right.low, right.high)))


def _pooled(hidden: HiddenCells, measure: Floats) -> PooledEstimate | None:
    weights = hidden.mechanism.weights(hidden.cells)
    if not weights.any():
        return None
    of_rows = PooledEstimate.of(measure, hidden.cells, weights, hidden.mechanism)
    return PooledEstimate.joined([of_rows], hidden.groups)


def _widened(interval: Interval, variance: float) -> Interval:
    value, more = interval.value, NORMAL**2 * variance
    below, above = value - interval.low, interval.high - value
    return Interval(value, value - (below**2 + more) ** 0.5, value + (above**2 + more) ** 0.5)


def _apart(pooled: PooledEstimate, moved: Moved, rows: int) -> float:
    influence = pooled.weights * (pooled.values - pooled.mean) / pooled.weights.sum()
    mean = float(moved.mean.mean())
    alone = float((moved.square - 2 * moved.mean * mean + mean**2).mean()) / rows
    together = float(influence @ (moved.mean - mean)) / rows
    return max(alone - 2 * together, 0.0)


def with_learning(own: Interval, learned: tuple[float, float], *, share: float = 1.0) -> Interval:
    """Return the change with more exclusions, from that of the rows' own cells alone.

    The attacker learns from all cells, and so more where each says more. `learned` is that effect
    on two tables: one of values drawn from the confidences, which are as hard to learn as these
    say, and one of the answers, as easy as can be. Their rows are this `share` of all: with more
    rows there is less to learn, so that nothing at all is within the interval too.
    """
    ends = (0.0, *learned)
    value = own.value + sum(learned) / 2 * share**0.5
    return Interval(value, own.low + min(ends), own.high + max(ends))


# Coarser OFs, as one might publish them: numbers in bins, rare categories merged.
#
# What is made coarser are features, so that no cell need be written and read again.

RARE = 0.05  # of the rows: a category that is not more common is merged with others like it


def binned(numbers: Floats, bins: int) -> Floats:
    """Return columns of numbers, n × d, each in so many bins of about equally many rows.

    Each number becomes the mean of its bin, and these are scaled from 0 to 1 as those of a table
    are that is published so; equal numbers stay equal.
    """
    coarse = np.empty_like(numbers)
    for place, column in enumerate(numbers.T):
        edges = np.unique(np.quantile(column, np.arange(1, bins) / bins))
        bin_of = np.searchsorted(edges, column, side="right")
        counts = np.bincount(bin_of)
        means = np.bincount(bin_of, column) / np.maximum(counts, 1)
        low, high = means[bin_of].min(initial=np.inf), means[bin_of].max(initial=-np.inf)
        coarse[:, place] = (means[bin_of] - low) / (high - low) if low < high else 0.0
    return coarse


def merged(categories: Floats) -> Floats | None:
    rare = (categories > 0).mean(axis=0) <= RARE
    if rare.sum() < 2:
        return None
    coarse = np.column_stack([categories[:, ~rare], categories[:, rare].sum(axis=1)])
    kinds = coarse.shape[1]  # unequal values lie sqrt(2/kinds) apart, as in a column of so many
    return np.asarray(coarse * np.sqrt(categories.shape[1] / kinds))
