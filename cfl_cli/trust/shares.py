"""How common each value of a CF is, from its cells: no model, and each row counts as it should.

With f(S, b) of `core.exclusions`, whose expectation is 1 if b is the value and 0 otherwise, and w
the weight of a row (1, unless the caller has a reason),

    P(x = b)    Σ w f_b / Σ w       over the rows whose cell is not empty

whatever decides how many values a cell rules out. `Mechanism.shares` weighs by that number, which
is narrower, and wrong if cells that say more favor a value. The interval is that of
`PooledEstimate.interval`. Rows that are alike in all that counts are one line, with the sums of
w, w² and so on over them; the sums of rows that belong together take the place of rows.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, ranks, sums_at
from cfl_cli.core.exclusions import Mechanism, distinct
from cfl_cli.trust.intervals import NORMAL, below_top

LEAST_CELLS = 50  # that say something, for anything to be said of a share


@dataclass(frozen=True)
class CellEstimate:
    """An estimate with its standard error and its 95 % interval; None: not known."""

    value: float | None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    worth: float | None = None  # as precise as so many rows whose values are known


UNKNOWN = CellEstimate(None)


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
        return float(self.places.max(initial=-1) + 1)

    @cached_property
    def places(self) -> Ints:
        """The groups, counted from 0."""
        return np.zeros(len(self), dtype=np.int64) if self.groups is None else ranks(self.groups)

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

    def step(self, ranges: Floats) -> Floats:
        """Return how far one unit may move a total, what a row counts being within m × … ranges."""
        if self.groups is None:
            return np.asarray((self.largest[:, None] * ranges).max(axis=0))
        return np.asarray(sums_at(self.places, self.weight[:, None] * ranges).max(axis=0))

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
            fourth = (sums_at(self.places, part) ** 4).sum(axis=0)
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
            sums.append(sums_at(self.places, part))
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


def shares(lines: Lines) -> list[CellEstimate]:
    """Return how common each value is."""
    total = float(lines.weight.sum())
    means = lines.total(lines.values) / total
    apart = lines.values - means
    variance = np.maximum(lines.covariance((apart, None), (apart, None)), 0) / total**2
    tops = lines.total(lines.highest) / total
    ones = np.ones((len(lines), 1))
    squares = float(lines.products((ones, None), (ones, None))[0]) / total**2
    steps = lines.step(lines.highest - lines.lowest) / total
    found = []
    for mean, top, var, step in zip(means, tops, variance, steps, strict=True):
        facts = {"variance": float(var), "squares": squares, "step": float(step)}
        ends = below_top(float(mean), float(top), **facts, reach=lines.reach)
        low, high = np.clip(ends, 0, 1).tolist()
        error = float(np.sqrt(var))
        found.append(CellEstimate(float(mean), error, low, high, worth(mean, error, low, high)))
    return found


def worth(share: float, error: float, low: float, high: float) -> float | None:
    """Return how many known values give a share the same standard error.

    Where the share is not between 0 and 1, the middle of its interval takes its place.
    """
    share = share if 0 < share < 1 else (low + high) / 2
    return share * (1 - share) / error**2 if error > 0 else None


def independent_rows(rows: Floats, groups: Ints | None) -> Floats:
    """Return for how many independent rows each line counts, m."""
    if groups is None:
        return rows
    _, places = np.unique(groups, return_inverse=True)
    return np.asarray(rows / np.bincount(places, rows)[places])


def is_invertible(cells: Mask, mechanism: Mechanism) -> bool:
    """Return whether the cells of every number of exclusions distinguish the values."""
    sizes = np.unique((~cells).sum(axis=1))
    return all(mechanism.inverse(int(size)) is not None for size in sizes if size > 0)


def alike(cells: Mask, groups: Ints | None) -> tuple[Mask, Floats, Ints | None]:
    """Return rows that are not empty as cells and sums of lines, with their groups if there are."""
    kept = (~cells).any(axis=1)
    first, places = distinct(cells[kept])
    rows, clusters, found = np.bincount(places, minlength=len(first)), None, cells[kept][first]
    if groups is not None:
        found, rows, clusters = cells[kept], np.ones(kept.sum()), groups[kept]
    sums = np.zeros((len(found), 12))
    sums[:, [0, 1, 2, 7]], sums[:, 3] = np.asarray(rows)[:, None], 1.0
    return found, sums, clusters
