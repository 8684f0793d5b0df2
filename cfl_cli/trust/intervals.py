"""Estimates with their 95 % intervals, pooled from rows that each give an unbiased, noisy one.

Rows count by their weights w, which sum to 1. With f each row's estimate,

    estimate = Σ w f        variance = m/(m−1) · Σ w² (f − estimate)²        m rows that count

Rows that belong together, such as copies, are not independent: the sums of groups take the place
of rows. With groups of g alike, the interval is wider by √(Σg²/Σg).

Chance may carry an unbiased estimate x of a share p out of 0 to 1. An interval around x that is clipped
then is a sliver at the end, however large the error ε of x is. But p is not beyond 1: of the normal
density of p, cut off there, 2.5 % lie below

    x + ε Φ⁻¹(0.025 Φ((1 − x)/ε))        the same at 0, the other way round

and no interval whose x is beyond an end is shorter than to there.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, sums_by
from cfl_cli.core.exclusions import Mechanism

NORMAL = 1.96  # standard errors to either side, for 95 %
CLEARLY = 3.09 / NORMAL  # as many times as far, 1 in 1,000 is left to a side
_TAIL = 0.025  # that 95 % leave to a side
_LEAST_TAIL = 1e-300  # that has a quantile


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @staticmethod
    def around(value: float, error: float, *, reach: float = NORMAL) -> "Interval":
        return Interval(value, value - reach * error, value + reach * error)

    @property
    def as_share(self) -> "Interval":
        return Interval(*np.clip([self.value, self.low, self.high], 0, 1).tolist())

    @property
    def as_change(self) -> "Interval":
        """Return it as a change of a share, which is 1 at most."""
        return Interval(*np.clip([self.value, self.low, self.high], -1, 1).tolist())

    def cut_to_share(self, error: float, *, least_high: float = 0.0) -> "Interval":
        """Return the interval as one of a share, its high end `least_high` or more.

        `error` is the standard error of the value.
        """
        low, high, cdf, quantile = self.low, self.high, NormalDist().cdf, NormalDist().inv_cdf
        if error > 0 and self.value > 1:
            tail = max(_TAIL * cdf((1 - self.value) / error), _LEAST_TAIL)
            low = min(low, self.value + error * quantile(tail))
        elif error > 0 and self.value < 0:
            tail = max(_TAIL * cdf(self.value / error), _LEAST_TAIL)
            high = max(high, self.value - error * quantile(tail))
        return Interval(self.value, low, max(high, least_high)).as_share


@dataclass(frozen=True)
class Gain(Interval):
    """By how much one of two scores of the same cells is better, with its standard error."""

    error: float

    @classmethod
    def of(cls, value: float, error: float) -> Self:
        return cls(value, value - NORMAL * error, value + NORMAL * error, error)


@dataclass(frozen=True, eq=False)
class PooledEstimate:
    """An unbiased estimate from each of m rows, what it might have been, and its weight."""

    values: Floats
    highest: Floats  # that a cell of so many exclusions could have given
    lowest: Floats
    weights: Floats
    groups: Ints | None = None  # m: rows with the same number belong together; None: none do

    @classmethod
    def of(cls, measure: Floats, hidden: Mask, weights: Floats, mechanism: Mechanism) -> Self:
        """Return the estimates of `measure`, b × K, which says what each true value counts."""
        values, highest, lowest = np.zeros((3, len(hidden)))
        sizes = (~hidden).sum(axis=1)
        for size in np.unique(sizes[weights > 0]):
            rows = np.flatnonzero((sizes == size) & (weights > 0))
            worth = mechanism.worth(measure[rows], int(size))
            values[rows] = np.where(hidden[rows], 0, worth).sum(axis=1)
            worth.sort(axis=1)
            highest[rows] = worth[:, -size:].sum(axis=1)
            lowest[rows] = worth[:, :size].sum(axis=1)
        return cls(values, highest, lowest, weights)

    @classmethod
    def joined(cls, parts: list[Self], groups: Ints | None = None) -> Self:
        names = ("values", "highest", "lowest", "weights")
        numbers = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        values, highest, lowest, weights = numbers
        return cls(values, highest, lowest, weights, groups)

    @property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    @property
    def influence(self) -> Floats:
        """Return how far each row, or group, moves the mean; the squares sum to its variance."""
        count = (sums_by(self.groups, self.weights) > 0).sum()
        moved = self.weights * (self.values - self.mean) / self.weights.sum()
        return np.asarray(sums_by(self.groups, moved) * np.sqrt(count / max(count - 1, 1)))

    @property
    def largest_step(self) -> float:
        """Return how far one row, or group, could move the pooled estimate at most."""
        steps = sums_by(self.groups, self.weights * (self.highest - self.lowest))
        return float(steps.max() / self.weights.sum())

    def symmetric(self, reach: float) -> Interval:
        """Return the pooled estimate of a difference, one largest step added to its variance."""
        variance = self.influence @ self.influence + self.largest_step**2
        return Interval.around(self.mean, float(np.sqrt(variance)), reach=reach)

    def beyond_a_share(self, reach: float, *, clearly: float = CLEARLY) -> bool:
        """Return whether the pooled estimate is below 0 or above 1, by `clearly` times `reach`."""
        interval = self.symmetric(clearly * reach)
        return interval.low > 1 or interval.high < 0

    def error(self, reach: float) -> float:
        """Return the standard error where an interval reaches so many of independent rows."""
        variance = float(self.influence @ self.influence) + self.largest_step**2
        return float(np.sqrt(variance)) * reach / NORMAL

    def interval(self, reach: float, whole: Self | None = None) -> Interval:
        return self.unclipped(reach, whole).as_share

    def unclipped(self, reach: float, whole: Self | None = None) -> Interval:
        """Return the estimate of a probability, or of it as a share of another, of which it is part.

        This is Wilson's interval, for estimates that fall short of their top by rare large steps.
        With d the distance from the mean top, each row's squared distance from it is expected to
        be in proportion to d (as with counts), which gives the variance V(d) = ρ·d − σ·d² + δ²/4,
        σ the sum of the squared relative weights, of groups where rows belong together, and δ the
        largest step. ρ is such that the first two make up the observed variance at the observed
        distance, one step of the largest kind added to both: if none was seen, some may still be
        possible. The quarter of a squared step makes up for steps being whole. The interval holds
        those d whose own standard error reaches the observed distance.
        """
        influence, share = self.influence, 1.0
        if whole is not None:
            share = whole.mean
            influence = influence - self.mean / share * whole.influence
        weights = self.weights / self.weights.sum()
        variance = float(influence @ influence)
        of_groups = sums_by(self.groups, weights)
        squares = float(of_groups @ of_groups)
        top = float(weights @ self.highest)
        low, high = below_top(
            self.mean,
            top,
            variance=variance,
            squares=squares,
            step=self.largest_step,
            reach=reach,
        )
        return Interval(self.mean / share, low / share, high / share)


def below_top(
    mean: float, top: float, *, variance: float, squares: float, step: float, reach: float
) -> tuple[float, float]:
    """Return the ends of `PooledEstimate.interval`, from the sums that it takes."""
    observed = max(top - mean, 0.0)
    rho = variance + squares * observed**2 + step**2
    rho /= observed + step if observed + step > 0 else 1.0
    a, b = 1 + reach**2 * squares, observed + reach**2 * rho / 2
    root = float(np.sqrt(max(b**2 - a * (observed**2 - reach**2 * step**2 / 4), 0.0)))
    top = mean + observed
    return top - (b + root) / a, top - (b - root) / a


def wilson(share: float, cells: float, *, reach: float = NORMAL) -> Interval:
    """Return Wilson's interval of a share that was found in so many independent cells."""
    square = reach**2
    middle = share + square / (2 * cells)
    side = reach * float(np.sqrt(share * (1 - share) / cells + square / (4 * cells**2)))
    low, high = (middle - side) / (1 + square / cells), (middle + side) / (1 + square / cells)
    return Interval(share, low, high).as_share
