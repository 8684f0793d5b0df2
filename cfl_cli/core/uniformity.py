"""Whether cells are as their mechanism says, by what is known of each row without its own cell.

Whatever is known of a row without its cell, and whatever its value, a cell of s exclusions rules
out b with probability u = max_v Π_s[v, b] at most (s/(K−1) under uniform exclusions). So cells must
not rule out more often what hidden priors select: a value b in the rows that find it improbable, or
the value at rank r of each row's prior. With x = 1[it is ruled out] and w how much a row counts,

    W · KL(Σ w x / W ‖ Σ w u / W) ≤ log(tests / level)      W = Σ w

with probability 1 − level for all tests together (Chernoff and Hoeffding; any w from 0 to 1).

How many values a cell rules out must not depend on how sure its row's prior is, either.

If b were ruled out ρ times as readily as other values, the odds of x would be ρ times as large, and
Σ w x at least Σ w x·ρ/(1 + (ρ−1)·u): from this follows which ρ would have been noticed.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log
from statistics import NormalDist

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import LEVEL, Mechanism, divergence

# Shares of the rows, those that find a value the least probable first. An eighth noticed biases
# that a quarter did not, at K = 3; a sixteenth, and sets of ranks, noticed no more.
PARTS = (0.125, 0.25, 0.5, 1.0)
MUTUAL = 0.5  # how much rows count that were hidden in turn: the variance is up to twice as large
UNEVEN = 0.1  # correlation below which estimates are hardly led astray, however many the rows
SURE = 1.645  # standard errors that leave 5 % to one side
MOST_BIAS = 100.0  # stronger ones are not told apart
HALVINGS = 40  # of the range that holds the least bias that would be noticed


@dataclass(frozen=True, eq=False)
class Uniformity:
    """What hidden cells of m rows say about their mechanism, beside priors made without them."""

    prior: Floats  # m × K
    cells: Mask  # m × K: what each cell leaves possible
    mechanism: Mechanism
    mutual: bool = False  # were rows hidden in turn, so that each helped to judge the others?
    counts: Floats | None = None  # m, 0 to 1: how much each row counts; None: 1, all independent
    level: float = LEVEL  # how often honest cells may be refuted by either kind of test

    @property
    def refuted(self) -> bool:
        """Return whether these cells cannot have come about as the mechanism says."""
        return self.uneven or bool((self.surprises > self.threshold).any())

    @cached_property
    def uneven(self) -> bool:
        """Return whether cells rule out more where priors are surer, or less.

        How many values a cell rules out is taken to be independent of all else. People rule out
        more where they are sure; then cells that say much are no sample of the others. What is
        looked at is the rank correlation of the exclusions with the prior's largest value.
        """
        exclusions, sureness = _ranks(self._sizes), _ranks(self.prior.max(axis=1))
        if np.ptp(exclusions) == 0 or np.ptp(sureness) == 0:
            return False
        rows = float(len(exclusions) if self.counts is None else self.counts.sum())
        # Of few cells that are unlike the rest no correlation can be large: 2 √(p(1−p)) at most
        # of what it is for halves.
        rest = 1 - np.bincount(self._sizes).max() / len(self._sizes)
        least = UNEVEN * min(2 * (rest * (1 - rest)) ** 0.5, 1.0)
        related = abs(float(np.corrcoef(exclusions, sureness)[0, 1]))
        beyond_chance = NormalDist().inv_cdf(1 - self.level / 2)  # standard errors
        return bool(related > max(least, beyond_chance / max(rows - 1, 1) ** 0.5))

    @cached_property
    def surprises(self) -> Floats:
        """Return W · KL of every test, 2 × parts × K: of each value, and of each rank."""
        tested = [self._by_value, self._by_rank]
        return np.stack([_surprise(one.rates, one.possible, one.weight) for one in tested])

    @property
    def threshold(self) -> float:
        """Return what a surprise must exceed, all tests counted."""
        return log(2 * len(PARTS) * self.mechanism.size / self.level)

    @property
    def noticed_bias(self) -> float | None:
        """Return how many times as readily a value must be ruled out for cells to show it.

        Were some value, whichever, ruled out so many times as readily as each other wrong one, and
        cells drawn anew for the same rows with the same hidden priors, a test of that value
        would be beyond its threshold with a probability of 95 % or more. None: no strength up to
        MOST_BIAS would be noticed, whichever the value.
        """
        low, high = np.ones(self.mechanism.size), np.full(self.mechanism.size, MOST_BIAS)
        if not self._noticed(high).all():
            return None
        for _ in range(HALVINGS):
            middle = np.sqrt(low * high)
            noticed = self._noticed(middle)
            low, high = np.where(noticed, low, middle), np.where(noticed, middle, high)
        return float(high.max())

    def _noticed(self, bias: Floats) -> Mask:
        one = self._by_value
        weight = np.maximum(one.weight, 1e-9)
        # The rate without bias is known from cells alone, and may be lower than it was seen.
        surely = one.rates - SURE * np.sqrt(one.rates * (1 - one.rates) / weight)
        kept = np.divide(surely, one.rates, out=np.zeros_like(surely), where=one.rates > 0)
        tilted = bias[:, None] / (1 + (bias[:, None] - 1) * self._bounds.T)  # K × s
        rates = np.minimum((one.seen * tilted).sum(axis=2) / weight * np.maximum(kept, 0), 1)
        rates -= SURE * np.sqrt(rates * (1 - rates) / weight)
        surprise = _surprise(np.maximum(rates, 0), one.possible, one.weight)
        return np.asarray((surprise > self.threshold).any(axis=0))

    @cached_property
    def _sizes(self) -> Ints:
        return np.asarray((~self.cells).sum(axis=1))

    @cached_property
    def _rows(self) -> Ints:
        return np.flatnonzero((self._sizes > 0) & (self._sizes < self.mechanism.size - 1))

    @cached_property
    def _bounds(self) -> Floats:
        bounds = np.zeros((self.mechanism.size, self.mechanism.size))
        for size in np.unique(self._sizes[self._rows]):
            bounds[size] = self.mechanism.inclusion(int(size)).max(axis=0)
        return bounds

    @cached_property
    def _by_value(self) -> "_Nested":
        values = np.broadcast_to(np.arange(self.mechanism.size), self.cells.shape)
        # Over all rows a value is chosen without a prior: no row judges another.
        weights = np.array([MUTUAL if self.mutual and part < 1 else 1.0 for part in PARTS])
        return self._nested(values, weights)

    @cached_property
    def _by_rank(self) -> "_Nested":
        ranked = np.argsort(-self.prior, axis=1, kind="stable")
        return self._nested(ranked, np.full(len(PARTS), MUTUAL if self.mutual else 1.0))

    def _nested(self, values: Ints, weights: Floats) -> "_Nested":
        rows, size = self._rows, self.mechanism.size
        counts = np.ones(len(rows)) if self.counts is None else self.counts[rows]
        weight, possible = np.zeros((2, len(PARTS), size))
        seen = np.zeros((len(PARTS), size, size))
        for j in range(size):
            tested = values[rows, j]
            order = np.argsort(self.prior[rows, tested], kind="stable")
            sizes = self._sizes[rows][order]
            bounds = counts[order] * self._bounds[sizes, tested[order]]
            hits = counts[order] * ~self.cells[rows[order], tested[order]]
            for part, share in enumerate(PARTS):
                first = slice(int(np.ceil(share * len(rows))))
                weight[part, j] = counts[order][first].sum()
                possible[part, j] = bounds[first].sum()
                seen[part, j] = np.bincount(sizes[first], hits[first], minlength=size)
        some = np.maximum(weight, 1e-9)
        scale = weights[:, None]
        return _Nested(weight * scale, seen * scale[:, :, None], np.minimum(possible / some, 1))


@dataclass(frozen=True, eq=False)
class _Nested:
    """What was tested in nested parts of the rows, parts × K."""

    weight: Floats
    seen: Floats  # parts × K × s: the weight of the cells of s exclusions that rule it out
    possible: Floats  # how often cells may rule it out

    @property
    def rates(self) -> Floats:
        return np.asarray(np.minimum(self.seen.sum(axis=2) / np.maximum(self.weight, 1e-9), 1))


def _ranks(numbers: Floats | Ints) -> Floats:
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[places.reshape(-1)])


def _surprise(seen: Floats, possible: Floats, weight: Floats) -> Floats:
    return np.asarray(weight * np.where(seen > possible, divergence(seen, possible), 0))
