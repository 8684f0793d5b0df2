"""Points near points, found through lists: points dealt to centers.

Lists are exact and quick where points lie in clusters or near a surface, as those of tables do.
Between a point x of list a and any point of list b lies at least

    ‖c_a − c_b‖ − u·(x − c_a) − max over p in b of −u·(p − c_b),    u = (c_b − c_a) / ‖c_b − c_a‖

the gap along the line of centers. A list whose gap exceeds `effort` · r_i is passed over: with
effort 1 the answer is exact, and below that some points may be missed.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.steps.distances import CELLS_AT_ONCE, Pairs, by_row, measure, squares

EPSILON = float(np.finfo(np.float32).eps)
LISTS = 1.0  # times the root of the number of points: how many lists
SAMPLE_PER_LIST = 16  # points from which the centers are computed
FITTINGS = 6  # how often a center moves to the mean of its points
FIRST_POINTS = 512  # among which a first bound of r_i is found
CROWD = 8  # times the points wanted: with more in reach, Dense is the better searcher


@dataclass(frozen=True)
class Lists:
    """Points dealt to the nearest of some centers, and stored list by list."""

    points: Floats  # u × d
    wanted: int  # m
    members: Ints  # u: point numbers, list by list
    home: Ints  # u: every point's list
    begin: Ints  # L + 1: where each list begins in `members`
    centers: Floats  # L × d
    radius: Singles  # L: how far a list's points lie from its center
    offsets: Singles  # u × (d + 1), in the order of `members`: x − c, ‖x − c‖²
    reach: Singles  # L × L: how far list b comes out of its center towards center a, at [a, b]
    slack: float  # what single precision may take from a gap

    @classmethod
    def of(cls, points: Floats, *, wanted: int, workers: Workers) -> Self:
        """Deal the points; about as many lists as points in a list."""
        count = int(LISTS * np.sqrt(len(points)))
        centers = _fit(points, count, workers)
        home = _deal(points, centers, workers)
        kept = np.bincount(home, minlength=count) > 0
        chain = _chain(centers[kept])
        centers = centers[kept][chain]
        home = np.argsort(chain)[(np.cumsum(kept) - 1)[home]]
        members = np.argsort(home, kind="stable")
        begin = np.append(0, np.cumsum(np.bincount(home)))
        offsets = np.empty((len(points), points.shape[1] + 1), dtype=np.float32)
        reach = np.empty((len(centers), len(centers)), dtype=np.float32)
        radius = np.empty(len(centers), dtype=np.float32)

        def survey(b: int) -> None:
            here = slice(begin[b], begin[b + 1])
            offset = points[members[here]] - centers[b]
            square = squares(offset)
            offsets[here, :-1], offsets[here, -1] = offset, square
            _, towards = _directions(centers, b)
            reach[:, b] = (offsets[here, :-1] @ towards.T).max(axis=0)
            radius[b] = np.sqrt(square.max())

        for _ in workers.map(survey, range(len(centers))):
            pass
        diameter = 2 * float(np.sqrt(squares(points - points.mean(axis=0)).max()))
        slack = 4 * (points.shape[1] + 4) * EPSILON * diameter
        return cls(points, wanted, members, home, begin, centers, radius, offsets, reach, slack)

    def search(self, asked: Ints, *, effort: float = 1.0) -> Pairs:
        """Find the points near the asked ones; those in a crowd are left over."""
        return self._search(self.points[asked], self.home[asked], effort=effort)

    def homes(self, points: Floats, workers: Workers) -> Ints:
        """Return the lists whose centers are nearest to any points."""
        return _deal(points, self.centers, workers)

    def search_around(self, points: Floats, home: Ints) -> Pairs:
        """Find the points near any others, whose `homes` are given; exact, but for crowds."""
        # However far outside they lie: a gap's rounding grows with the way to their list's center.
        away = np.sqrt(squares(points - self.centers[home]))
        return self._search(points, home, effort=1.0, slack=away * self.rounding)

    @property
    def rounding(self) -> float:
        """Return what single precision may take from a sum of products, relatively."""
        return float(4 * (self.points.shape[1] + 4) * EPSILON)

    def _search(
        self, points: Floats, home: Ints, *, effort: float, slack: Floats | None = None
    ) -> Pairs:
        visits, bound = self._visits(points, home, effort=effort, slack=slack)
        limit = 4 * CROWD * self.wanted
        count = np.zeros(len(points), dtype=np.int64)
        rows, places, lows, highs = [], [], [], []
        for b in np.flatnonzero(visits.any(axis=0)).tolist():
            row = np.flatnonzero(visits[:, b] & (count <= limit))
            rough, shift, error = self._between(points[row], b)
            hit = np.flatnonzero(rough <= bound[row, None] - shift + error)
            near, place = np.divmod(hit, rough.shape[1])
            count += np.bincount(row[near], minlength=len(points))
            middle = rough.reshape(-1)[hit] + shift[near, 0]
            rows.append(row[near])
            places.append(place + self.begin[b])
            lows.append(middle - error[near, 0])
            highs.append(middle + error[near, 0])
        row, place = np.concatenate(rows), np.concatenate(places)
        low, high = np.concatenate(lows), np.concatenate(highs)
        tight = self._tight(row, high, bound)
        kept = (low <= tight[row]) & (count[row] <= limit)
        crowded = np.bincount(row[kept], minlength=len(points)) > CROWD * self.wanted
        kept &= ~crowded[row]
        row, point = row[kept], self.members[place[kept]]
        return by_row(row, point, measure(points, row, point, others=self.points))

    def cost(self, asked: Ints) -> float:
        """Return how many points an exact search looks at."""
        visits, _ = self._visits(self.points[asked], self.home[asked], effort=1.0)
        return float((visits @ np.diff(self.begin)).sum())

    def _visits(
        self, points: Floats, home: Ints, *, effort: float, slack: Floats | None = None
    ) -> tuple[Mask, Singles]:
        """Return which lists each of some points must look at, and a bound of r²."""
        visits = np.empty((len(points), len(self.centers)), dtype=bool)
        bound = np.empty(len(points), dtype=np.float32)
        size = np.diff(self.begin)
        for a in np.unique(home).tolist():
            row = np.flatnonzero(home == a)
            own = points[row]
            apart, towards = _directions(self.centers, a)
            near = np.argsort(apart, kind="stable")
            enough = np.searchsorted(np.cumsum(size[near]), max(FIRST_POINTS, 2 * self.wanted))
            first = near[: enough + 1]
            parts = [self._between(own, b) for b in first.tolist()]
            high = np.hstack([rough + (shift + error) for rough, shift, error in parts])
            bound[row] = np.partition(high, self.wanted - 1, axis=1)[:, self.wanted - 1]
            along = (own - self.centers[a]).astype(np.float32) @ towards.T
            gap = (apart - self.slack).astype(np.float32) - self.reach[a] - along
            if slack is not None:
                gap -= slack[row, None].astype(np.float32)
            visits[row] = gap <= np.float32(effort) * np.sqrt(bound[row, None])
            visits[np.ix_(row, first)] = True
        return visits, bound

    def _between(self, points: Floats, b: int) -> tuple[Singles, Singles, Singles]:
        """Return how list b's points lie to the given ones, in single precision.

        Squared distances are `rough + shift`, give or take `error`; the last two have one column.
        """
        offset = points - self.centers[b]
        left = np.empty((len(points), points.shape[1] + 1), dtype=np.float32)
        left[:, :-1], left[:, -1] = -2 * offset, 1
        rough: Singles = left @ self.offsets[self.begin[b] : self.begin[b + 1]].T
        shift = squares(offset)[:, None]
        error = self.rounding * (shift + self.radius[b] ** 2)
        return rough, shift.astype(np.float32), error.astype(np.float32)

    def _tight(self, row: Ints, high: Singles, bound: Singles) -> Singles:
        """Return better bounds of r², now that the near points are at hand."""
        by = np.lexsort((high, row))
        begin = np.searchsorted(row[by], np.arange(len(bound)))
        tight: Singles = high[by[begin + self.wanted - 1]]
        return np.minimum(bound, tight)


def _fit(points: Floats, count: int, workers: Workers) -> Floats:
    """Return centers: means of the sample points dealt to them, the same for any thread count."""
    chosen = np.random.default_rng(0).permutation(len(points))[: SAMPLE_PER_LIST * count]
    some = points[chosen]
    centers = some[:count].copy()
    for _ in range(FITTINGS):
        home = _deal(some, centers, workers)
        size = np.bincount(home, minlength=count)
        full = np.flatnonzero(size)
        begin = (np.cumsum(size) - size)[full]
        sums = np.add.reduceat(some[np.argsort(home, kind="stable")], begin, axis=0)
        centers[full] = sums / size[full, None]
    return centers


def _deal(points: Floats, centers: Floats, workers: Workers) -> Ints:
    """Return the nearest center of every point, to single precision."""
    middle = centers.mean(axis=0)
    right = (centers - middle).astype(np.float32)
    half = (squares(centers - middle) / 2).astype(np.float32)

    def nearest(part: slice) -> Ints:
        left = (points[part] - middle).astype(np.float32)
        home: Ints = np.argmin(half - left @ right.T, axis=1)
        return home

    at_once = max(1, CELLS_AT_ONCE // len(centers))
    return np.concatenate(list(workers.map(nearest, slices(len(points), at_once))))


def _chain(centers: Floats) -> Ints:
    """Return an order of the centers in which each is followed by the nearest one left."""
    chain = np.zeros(len(centers), dtype=np.int64)
    left = np.ones(len(centers), dtype=bool)
    left[0] = False
    for step in range(1, len(centers)):
        square = squares(centers - centers[chain[step - 1]])
        chain[step] = np.argmin(np.where(left, square, np.inf))
        left[chain[step]] = False
    return chain


def _directions(centers: Floats, a: int) -> tuple[Floats, Singles]:
    """Return how far the other centers are from center a, and the unit vectors towards them."""
    difference = centers - centers[a]
    apart = np.sqrt(squares(difference))
    unit = difference / np.where(apart > 0, apart, 1)[:, None]
    return apart, unit.astype(np.float32)
