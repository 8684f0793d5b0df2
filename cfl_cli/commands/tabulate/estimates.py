"""Shares, cross tables and means of a CF, from its cells alone: no model, no run.

With f(S, b) of `core.exclusions`, whose expectation is 1 if b is the value and 0 otherwise, and w
the weight of a row (1, unless the caller has a reason):

    P(x = b)            Σ w f_b / Σ w
    P(x = b | y = c)    the same, over the rows of group c
    P(y = c | x = b)    Σ w f_b 1[y = c] / Σ w f_b
    E[g | x = b]        Σ w f_b g / Σ w f_b
    P(x = a, z = b)     Σ w f_a f_b / Σ w        cells of two CFs, independent given both values

Rows that are alike in all that counts are one line, with the sums of w, w², w g, w² g and w² g² over
them: nothing else is needed. The sums of rows that belong together (`groups`) take the place of rows
in every variance. A share has the interval of `PooledEstimate.interval`. A ratio A/B has Fieller's:

    {r : (A − r B)² ≤ t² Var(A − r B)}      bounded if B is clearly above 0, else nothing is known

t is Student's, of as many degrees of freedom as the kurtosis of what rows count leaves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, sums_by
from cfl_cli.core.exclusions import LEVEL, Mechanism
from cfl_cli.trust.bias import inclusions, tilted
from cfl_cli.trust.intervals import NORMAL, below_top


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error and its 95 % interval; None: not known."""

    value: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    worth: float | None = None  # as precise as so many rows whose values are known


UNKNOWN = Estimate(None)
CLEAR, CLEAR_OF_TWO = 3.0, 4.0  # standard errors by which a value must be above 0, and one of two


@dataclass(frozen=True, eq=False)
class Lines:
    """Rows that are alike, counted together: m lines, with sums over their rows."""

    values: Floats  # m × K: f(S, b)
    highest: Floats  # m × K: that a cell of so many exclusions could have given
    lowest: Floats  # m × K
    rows: Floats  # m
    weight: Floats  # m: Σ w
    square: Floats  # m: Σ w²
    largest: Floats  # m: the largest w
    moments: Floats  # m × 3: Σ w g, Σ w² g, Σ w² g²
    fourth: Floats  # m × 5: Σ w⁴, Σ w⁴ g … Σ w⁴ g⁴
    groups: Ints | None = None  # m: lines with the same number belong together; None: none do

    @classmethod
    def of(
        cls, cells: Mask, sums: Floats, mechanism: Mechanism, groups: Ints | None = None
    ) -> Self:
        """Return the lines of cells, m × K; `sums` are m × 12, as the fields from `rows` on."""
        highest, lowest = reachable(cells, mechanism)
        values = mechanism.unbiased(cells)
        rows, weight, square, largest = sums[:, :4].T
        moments, fourth = sums[:, 4:7], sums[:, 7:]
        return cls(values, highest, lowest, rows, weight, square, largest, moments, fourth, groups)

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: Mask) -> Self:
        parts: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(self)}
        taken: Any = {name: part if part is None else part[chosen] for name, part in parts.items()}
        return replace(self, **taken)

    def weighted(self, by: Floats) -> Self:
        """Return the lines with the weights of their rows multiplied, m."""
        once, twice = by[:, None], by[:, None] ** 2
        return replace(
            self,
            weight=self.weight * by,
            square=self.square * by**2,
            largest=self.largest * by,
            moments=self.moments * np.hstack([once, twice, twice]),
            fourth=self.fourth * twice**2,
        )

    @cached_property
    def units(self) -> float:
        """How many independent units there are: rows, or groups of rows."""
        if self.groups is None:
            return float(self.rows.sum())
        return float(len(np.unique(self.groups)))

    @cached_property
    def reach(self) -> float:
        """How many standard errors an interval reaches: of few groups, as Student's t has it."""
        if self.groups is None:
            return NORMAL
        return float(students(np.array(self.units - 1)))

    def total(self, one: Floats, slope: Floats | None = None) -> Floats:
        """Return Σ w (one + slope g) over all rows; both are m × …"""
        found = self.weight @ one
        return np.asarray(found if slope is None else found + self.moments[:, 0] @ slope)

    def covariance(self, one: "Row", other: "Row") -> Floats:
        """Return how the totals of two quantities of a row vary together."""
        m = self.units
        sums = self.products(one, other)
        centered = sums - self.total(*one) * self.total(*other) / max(m, 1)
        return np.asarray(centered * m / max(m - 1, 1))

    def freedom(self, one: "Row") -> Floats:
        """Return the degrees of freedom of the variance of a total, 2 n/(κ − 1).

        κ is the kurtosis of what the n units count: a few large ones make it large.
        """
        a, b = one
        if self.groups is None:
            fourth = self.fourth[:, 0] @ a**4
            if b is not None:
                for power, ways in ((1, 4), (2, 6), (3, 4), (4, 1)):
                    fourth = fourth + ways * (self.fourth[:, power] @ (a ** (4 - power) * b**power))
        else:
            part = self.weight[:, None] * a
            part = part if b is None else part + self.moments[:, :1] * b
            fourth = (sums_by(self.groups, part) ** 4).sum(axis=0)
        second = self.products(one, one)
        share = np.divide(fourth, second**2, out=np.ones_like(second), where=second > 0)
        return np.asarray(2 / np.maximum(share - 1 / self.units, 1e-12))

    def products(self, one: "Row", other: "Row") -> Floats:
        """Return the sums over units of the product of what two quantities count there."""
        (a, b), (c, d) = one, other
        if self.groups is None:
            found = self.square @ (a * c)
            for first, second in ((a, d), (c, b)):
                if second is not None:
                    found = found + self.moments[:, 1] @ (first * second)
            if b is not None and d is not None:
                found = found + self.moments[:, 2] @ (b * d)
            return np.asarray(found)
        sums = []
        for base, slope in (one, other):
            part = self.weight[:, None] * base
            part = part if slope is None else part + self.moments[:, :1] * slope
            sums.append(sums_by(self.groups, part))
        return np.asarray((sums[0] * sums[1]).sum(axis=0))


def students(free: Floats) -> Floats:
    """Return Student's 97.5 % quantile, by its expansion, for at least 3 degrees of freedom."""
    z, free = NORMAL, np.maximum(free, 3.0)
    return np.asarray(z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2))


Row = tuple[Floats, Floats | None]  # what a row counts: the first, and the second times g; m × K


def reachable(cells: Mask, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return the highest and lowest f(S, b) that cells of so many exclusions could give, m × K."""
    sizes = (~cells).sum(axis=1)
    highest, lowest = np.zeros((2, *cells.shape))
    for size in np.unique(sizes[sizes > 0]):
        inverse = mechanism.inverse(int(size))
        if inverse is not None:
            ordered = np.sort(inverse, axis=0)  # f sums some of a column
            highest[sizes == size] = ordered[-size:].sum(axis=0)
            lowest[sizes == size] = ordered[:size].sum(axis=0)
    return highest, lowest


def shares(lines: Lines) -> list[Estimate]:
    """Return how common each value is."""
    total = float(lines.weight.sum())
    means = lines.total(lines.values) / total
    apart = lines.values - means
    variance = np.maximum(lines.covariance((apart, None), (apart, None)), 0) / total**2
    tops = lines.total(lines.highest) / total
    ones = np.ones((len(lines), 1))
    squares = float(lines.products((ones, None), (ones, None))[0]) / total**2
    ranges = lines.highest - lines.lowest
    if lines.groups is None:
        steps = (lines.largest[:, None] * ranges).max(axis=0) / total
    else:
        steps = sums_by(lines.groups, lines.weight[:, None] * ranges).max(axis=0) / total
    found = []
    for mean, top, var, step in zip(means, tops, variance, steps, strict=True):
        facts = {"variance": float(var), "squares": squares, "step": float(step)}
        ends = below_top(float(mean), float(top), **facts, reach=lines.reach)
        low, high = np.clip(ends, 0, 1).tolist()
        error = float(np.sqrt(var))
        found.append(Estimate(float(mean), error, low, high, worth(mean, error, low, high)))
    return found


def worth(share: float, error: float, low: float, high: float) -> float | None:
    """Return how many known values give a share the same standard error.

    Where the share is not between 0 and 1, the middle of its interval takes its place.
    """
    share = share if 0 < share < 1 else (low + high) / 2
    return share * (1 - share) / error**2 if error > 0 else None


def ratios(lines: Lines, above: Row, below: Row, *, clear: float = CLEAR) -> list[Estimate]:
    """Return A/B for each column, A and B the totals of what rows count.

    It is not known unless B is above 0 by `clear` standard errors.
    """
    a, b = lines.total(*above), lines.total(*below)
    pairs = ((above, above), (above, below), (below, below))
    aa, ab, bb = (lines.covariance(*pair) for pair in pairs)
    values = np.divide(a, b, out=np.zeros_like(a), where=b > 0)
    slope = None if above[1] is None else above[1]
    reach = students(lines.freedom((above[0] - values * below[0], slope)))
    found = []
    for j, value in enumerate(values.tolist()):
        z = float(reach[j])
        square, half, rest = (
            float(one)
            for one in (
                b[j] ** 2 - z**2 * bb[j],
                a[j] * b[j] - z**2 * ab[j],
                a[j] ** 2 - z**2 * aa[j],
            )
        )
        if b[j] <= clear * np.sqrt(max(bb[j], 0.0)) or square <= 0:
            found.append(UNKNOWN)
            continue
        root = float(np.sqrt(max(half**2 - square * rest, 0.0)))
        variance = float(aa[j] - 2 * value * ab[j] + value**2 * bb[j])
        error = float(np.sqrt(max(variance, 0.0)) / b[j])
        found.append(Estimate(value, error, (half - root) / square, (half + root) / square))
    return found


def of_value(lines: Lines, inside: Floats, *, clear: float = CLEAR) -> list[Estimate]:
    """Return P(y = c | x = b) for each b; `inside`, m, is 1 for lines of group c, or f(T, c)."""
    found = ratios(lines, (lines.values * inside[:, None], None), (lines.values, None), clear=clear)
    return [_as_share(one) for one in found]


def _as_share(found: Estimate) -> Estimate:
    if found.value is None or found.error is None:
        return found
    low, high = np.clip([found.low, found.high], 0, 1).tolist()
    if low == 0 and high == 1:  # which is no interval
        return UNKNOWN
    rows = worth(found.value, found.error, low, high)
    return Estimate(found.value, found.error, low, high, rows)


def means(lines: Lines, origin: float) -> list[Estimate]:
    """Return E[g | x = b] for each b; the lines' g were counted from `origin`."""
    values = lines.values
    found = ratios(lines, (np.zeros_like(values), values), (values, None))
    squares = lines.moments[:, 2] / np.where(lines.square > 0, lines.square, 1)  # of a row's g
    totals = lines.total(values)
    spread = (lines.weight * squares) @ values / np.where(totals > 0, totals, 1)
    made = []
    for one, square in zip(found, spread.tolist(), strict=True):
        if one.value is None or one.low is None or one.high is None:
            made.append(one)
            continue
        variance, error = square - one.value**2, one.error or 0.0
        rows = variance / error**2 if variance > 0 and error > 0 else None
        ends = (one.value + origin, error, one.low + origin, one.high + origin)
        made.append(Estimate(*ends, rows))
    return made


# Two CFs at once. Of a product of two f's no interval is exact for few rows: one largest step is
# added to the variance of a joint share.


def joint(lines: Lines, other: Floats, reach: float) -> tuple[list[Estimate], bool]:
    """Return P(x = b, z = d) for each b, and if any is clearly below 0.

    `other`, m, is f(T, d) of the second CF's cells. `reach`: what counts as clearly.
    """
    total = float(lines.weight.sum())
    product = lines.values * other[:, None]
    values = lines.total(product) / total
    apart = product - values
    variance = np.maximum(lines.covariance((apart, None), (apart, None)), 0) / total**2
    steps = (lines.largest[:, None] * np.abs(product)).max(axis=0) / total
    errors = np.sqrt(variance + steps**2)
    below = bool((values + reach * errors < 0).any())
    found = []
    for value, error, plain in zip(values, errors, np.sqrt(variance), strict=True):
        ends = np.clip([value - lines.reach * error, value + lines.reach * error], 0, 1)
        low, high = ends.tolist()
        known = worth(float(value), float(plain), low, high)
        found.append(Estimate(float(value), float(plain), low, high, known))
    return found, below


def of_other(lines: Lines, other: Floats) -> list[Estimate]:
    """Return P(x = b | z = d) for each b, `other` as in `joint`."""
    above, below = (
        lines.values * other[:, None],
        np.repeat(other[:, None], lines.values.shape[1], 1),
    )
    found = ratios(lines, (above, None), (below, None), clear=CLEAR_OF_TWO)
    return [_as_share(one) for one in found]


# What a bias would do: some wrong values are ruled out up to ρ times as readily as others.
#
# Under uniform exclusions b is ruled out with a probability from s/(s + ρ(K−1−s)) to
# ρs/(ρs + K−1−s) where it is wrong (`trust.bias`), so that with c the share of cells that rule it out
# π_b ∈ [1 − c (s + ρ(K−1−s))/s, 1 − c (ρs + K−1−s)/(ρs)]. Under another mechanism the expectation of
# f is off by Σ_c (M − Π)[v, c] Π⁻¹[c, b], M within the odds; the worst v counts.


def banded(lines: Lines, cells: Mask, mechanism: Mechanism, bias: float) -> list[Estimate]:
    """Return the shares' bands: from the low end of the least to the high end of the greatest."""
    ends = []
    sizes = (~cells).sum(axis=1)
    for least in (True, False):
        values, lowest, highest = lines.values.copy(), lines.lowest.copy(), lines.highest.copy()
        for size in np.unique(sizes[(sizes > 0) & (sizes < mechanism.size - 1)]):
            rows = sizes == size
            if mechanism.rates is None:
                chance = inclusions(mechanism.size, int(size), bias)[0 if least else 1]
                values[rows] = 1 - ~cells[rows] / chance
                lowest[rows], highest[rows] = 1 - 1 / chance, 1.0
            else:
                off = _off(mechanism, int(size), bias, least=least)
                for part in (values, lowest, highest):
                    part[rows] += off
        ends.append(shares(replace(lines, values=values, lowest=lowest, highest=highest)))
    return [
        Estimate(
            None,
            None,
            min(one.low or 0.0, other.low or 0.0),
            max(one.high or 0.0, other.high or 0.0),
        )
        for one, other in zip(*ends, strict=True)
    ]


def _off(mechanism: Mechanism, size: int, bias: float, *, least: bool) -> Floats:
    """Return how far the expectation of f may be off at most, for each value b."""
    inverse, chances = mechanism.inverse(size), mechanism.inclusion(size)
    if inverse is None:
        return np.zeros(mechanism.size)
    more, fewer = tilted(chances, bias) - chances, chances - tilted(chances, 1 / bias)
    sign = -1.0 if least else 1.0
    up, down = np.maximum(sign * inverse, 0), np.maximum(-sign * inverse, 0)
    return np.asarray(sign * (more @ up + fewer @ down).max(axis=0))


def band_of_value(bands: Sequence[Sequence[Estimate]], parts: Floats, group: int) -> list[Estimate]:
    """Return the bands of P(y = group | x = b), from those of P(x = b | y) and the groups' shares."""
    low = np.array([[one.low or 0.0 for one in band] for band in bands]) * parts[:, None]
    high = np.array([[one.high or 0.0 for one in band] for band in bands]) * parts[:, None]
    found = []
    others = np.arange(len(parts)) != group
    for b in range(low.shape[1]):
        least, most = low[group, b], high[group, b]
        whole = least + high[others, b].sum(), most + low[others, b].sum()
        ends = [
            part / all_ if all_ > 0 else end
            for part, all_, end in zip((least, most), whole, (0.0, 1.0), strict=True)
        ]
        found.append(Estimate(None, None, float(ends[0]), float(ends[1])))
    return found


# When cells do not bear it.

LEAST_CELLS = 50  # that say something, in all and in a group


def independent_rows(rows: Floats, groups: Ints | None) -> Floats:
    """Return for how many independent rows each line counts, m."""
    if groups is None:
        return rows
    _, places = np.unique(groups, return_inverse=True)
    return np.asarray(rows / np.bincount(places, rows)[places])


def is_refuted(cells: Mask, counts: Floats, mechanism: Mechanism, *, tests: int = 1) -> bool:
    """Return whether some value is ruled out more often than the mechanism allows."""
    return bool(len(mechanism.too_often(cells, counts, level=LEVEL / tests)))


def is_invertible(cells: Mask, mechanism: Mechanism) -> bool:
    """Return whether the cells of every number of exclusions distinguish the values."""
    sizes = np.unique((~cells).sum(axis=1))
    return all(mechanism.inverse(int(size)) is not None for size in sizes if size > 0)


def precision(size: int, exclusions: Ints) -> Floats:
    """Return one over the variance of f of cells with so many exclusions, up to a factor.

    Every value is taken to have the share 1/K; a wrong share costs width, and no coverage.
    """
    rest = 1 - 1 / size
    return np.asarray(1 / (rest * ((size - 1) / np.maximum(exclusions, 1) - rest)))
