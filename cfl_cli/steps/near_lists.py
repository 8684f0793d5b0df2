"""Points near points, found through lists: points dealt to centers.

Lists are exact and quick where points lie in clusters or near a surface, as those of tables do.
Between a point x of list a and any point of list b lies at least

    ‖c_a − c_b‖ − u·(x − c_a) − max over p in b of −u·(p − c_b),    u = (c_b − c_a) / ‖c_b − c_a‖

the gap along the line of centers. A list whose gap exceeds `effort` · r_i is passed over: with
effort 1 the answer is exact, and below that some points may be missed.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.parallel import Engine, filled, slices
from cfl_cli.core.portable import NOTHING, shifted
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.distances import CELLS_AT_ONCE, Pairs, by_row, measure, squares

EPSILON = float(np.finfo(np.float32).eps)
MANY_POINTS = 110_000  # up to these, as many lists as points in a list; then more lists, …
MORE_LISTS = 3  # … at most so many times: dealing takes points times lists
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
    offsets: Singles  # u × (d + 1), in the order of `members`; a list's, laid out as `block` says
    reach: Singles  # L × L: how far list b comes out of its center towards center a, at [a, b]
    slack: float  # what single precision may take from a gap

    @classmethod
    def of(cls, points: Floats, *, wanted: int, workers: Engine) -> Self:
        """Deal the points; about as many lists as points in a list, more if there are many."""
        total, dimensions = points.shape
        more = np.clip(np.sqrt(total / MANY_POINTS), 1, MORE_LISTS)
        count = int(more * np.sqrt(total))
        centers = _fit(points, count, workers)
        dealt = workers.empty("dealt", (total,), np.int64)
        deal = Deal.to(centers, points, dealt)
        filled(workers.rows("deal", deal, total, at_once=deal.rows))
        kept = np.bincount(dealt, minlength=count) > 0
        chain = _chain(centers[kept])
        centers = centers[kept][chain]
        home = workers.empty("home", (total,), np.int64)
        home[:] = np.argsort(chain)[(np.cumsum(kept) - 1)[dealt]]
        workers.drop(dealt)
        members = workers.empty("members", (total,), np.int64)
        members[:] = np.argsort(home, kind="stable")
        begin = np.append(0, np.cumsum(np.bincount(home)))
        offsets = workers.empty("offsets", (total, dimensions + 1), np.float32)
        reach = workers.empty("reach", (len(centers), len(centers)), np.float32)
        radius = workers.empty("radius", (len(centers),), np.float32)
        survey = Survey(points, members, begin, centers, offsets, reach, radius)
        filled(workers.rows("survey", survey, len(centers), at_once=1))
        slack = 4 * (dimensions + 4) * EPSILON * 2 * _radius(points)
        return cls(points, wanted, members, home, begin, centers, radius, offsets, reach, slack)

    def search(self, asked: Ints, *, effort: float = 1.0) -> Pairs:
        """Find the points near the asked ones; those in a crowd are left over."""
        return self._search(self.points[asked], self.home[asked], effort=effort)

    def homes(self, points: Floats, workers: Engine) -> Ints:
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
            apart, towards = directions(self.centers, a)
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
        rough: Singles = left @ block(self.offsets[self.begin[b] : self.begin[b + 1]])
        shift = squares(offset)[:, None]
        error = self.rounding * (shift + self.radius[b] ** 2)
        return rough, shift.astype(np.float32), error.astype(np.float32)

    def _tight(self, row: Ints, high: Singles, bound: Singles) -> Singles:
        """Return better bounds of r², now that the near points are at hand."""
        by = np.lexsort((high, row))
        begin = np.searchsorted(row[by], np.arange(len(bound)))
        tight: Singles = high[by[begin + self.wanted - 1]]
        return np.minimum(bound, tight)


def _fit(points: Floats, count: int, workers: Engine) -> Floats:
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


@dataclass(frozen=True)
class Deal:
    """A kernel: the nearest center of every point, to single precision."""

    points: Floats
    middle: Floats  # of the centers
    right: Singles  # the centers around it
    half: Singles  # of their squared lengths
    home: Ints  # to be filled
    first: int = 0  # the point that is counted as the first

    @classmethod
    def to(cls, centers: Floats, points: Floats, home: Ints) -> Self:
        """Deal points to centers."""
        middle = centers.mean(axis=0)
        half = (squares(centers - middle) / 2).astype(np.float32)
        return cls(points, middle, (centers - middle).astype(np.float32), half, home)

    @property
    def rows(self) -> int:
        """Return how many points to deal at once."""
        return max(1, CELLS_AT_ONCE // len(self.half))

    def __call__(self, part: slice) -> None:
        """Deal some points."""
        self.place(part, self.dealt(part))

    def parcel(self, rows: slice) -> Callable[[slice], Ints]:
        """Return what deals some points."""
        return replace(self, home=NOTHING, first=rows.start).dealt

    def dealt(self, part: slice) -> Ints:
        """Return the nearest centers of some points."""
        left = (self.points[shifted(part, self.first)] - self.middle).astype(np.float32)
        far = left @ self.right.T
        np.subtract(self.half, far, out=far)
        return np.asarray(far.argmin(axis=1))

    def place(self, part: slice, values: Ints) -> None:
        """Write the nearest centers of some points."""
        self.home[part] = values

    def written(self, part: slice) -> tuple[Ints, ...]:
        """Return what was written for some points."""
        return (self.home[part],)


@dataclass(frozen=True)
class Survey:
    """A kernel: what is kept of each list."""

    points: Floats
    members: Ints
    begin: Ints
    centers: Floats
    offsets: Singles  # these three are to be filled
    reach: Singles
    radius: Singles
    first: int = 0  # the list that is counted as the first

    def __call__(self, lists: slice) -> None:
        """Look at some lists."""
        self.place(lists, self.surveyed(lists))

    def parcel(self, rows: slice) -> Callable[[slice], Any]:
        """Return what looks at some lists."""
        nothing = {"offsets": NOTHING, "reach": NOTHING, "radius": NOTHING}
        return replace(self, first=rows.start, **nothing).surveyed

    def surveyed(self, lists: slice) -> list[tuple[Singles, Singles, float]]:
        """Return what is kept of some lists."""
        return [self._surveyed(b + self.first) for b in range(lists.start, lists.stop)]

    def _surveyed(self, b: int) -> tuple[Singles, Singles, float]:
        members = self.members[self.begin[b] : self.begin[b + 1]]
        offset = self.points[members] - self.centers[b]
        square = squares(offset)
        laid_out = np.empty((offset.shape[1] + 1, len(offset)), dtype=np.float32)
        laid_out[:-1], laid_out[-1] = offset.T, square
        _, towards = directions(self.centers, b)
        return laid_out, (towards @ laid_out[:-1]).max(axis=1), float(np.sqrt(square.max()))

    def place(self, part: slice, values: list[tuple[Singles, Singles, float]]) -> None:
        """Write what is kept of some lists."""
        for b, (laid_out, reach, radius) in zip(range(part.start, part.stop), values, strict=True):
            block(self.offsets[self.begin[b] : self.begin[b + 1]])[...] = laid_out
            self.reach[:, b], self.radius[b] = reach, radius

    def written(self, part: slice) -> tuple[Singles, ...]:
        """Return what was written for some lists."""
        rows = slice(self.begin[part.start], self.begin[part.stop])
        return self.offsets[rows], self.reach[:, part], self.radius[part]


def _deal(points: Floats, centers: Floats, workers: Engine) -> Ints:
    """Return the nearest center of every point, to single precision, by threads."""
    home = np.empty(len(points), dtype=np.int64)
    deal = Deal.to(centers, points, home)
    for _ in workers.map(deal, slices(len(points), deal.rows)):
        pass
    return home


def _radius(points: Floats) -> float:
    """Return how far points lie from their mean, at most."""
    middle = points.mean(axis=0)
    parts = slices(len(points), max(1, CELLS_AT_ONCE // points.shape[1]))
    return float(np.sqrt(max(squares(points[part] - middle).max() for part in parts)))


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


def block(offsets: Singles) -> Singles:
    """Return the offsets of one list as they are laid out, (d + 1) × points: x − c, ‖x − c‖².

    A coordinate of all points lies together, so that many distances are computed at once.
    """
    return offsets.reshape(offsets.shape[1], -1)


def directions(centers: Floats, a: int) -> tuple[Floats, Singles]:
    """Return how far the other centers are from center a, and the unit vectors towards them."""
    difference = centers - centers[a]
    apart = np.sqrt(squares(difference))
    unit = difference / np.where(apart > 0, apart, 1)[:, None]
    return apart, unit.astype(np.float32)
