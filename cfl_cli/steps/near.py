"""Points near points: which lie within the distance of the m-th nearest, and how far away.

    found(i) ⊇ { j : ‖x_i − x_j‖ ≤ r_i },   r_i = distance of the m-th nearest point, itself counted

Because points are found by distance and not by number, ties at r_i are seen whole. Three searchers:

    Tree    a k-d tree; about n log n in few dimensions
    Lists   points dealt to centers; only lists that can hold a near point are looked at
    Dense   all distances at once, in double precision; for small tables and crowds of ties

Lists are exact and quick where points lie in clusters or near a surface, as those of tables do.
Between a point x of list a and any point of list b lies at least

    ‖c_a − c_b‖ − u·(x − c_a) − max over p in b of −u·(p − c_b),    u = (c_b − c_a) / ‖c_b − c_a‖

the gap along the line of centers. A list whose gap exceeds `effort` · r_i is passed over: with
effort 1 the answer is exact, and below that some points may be missed. How many is measured.
Where points fill the space of many dimensions no gap is wide, and a lower effort is the way out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.parallel import Workers, slices

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

Singles = npt.NDArray[np.float32]

TREE_DIMENSIONS = 5  # up to this a k-d tree is quick however the points lie
DENSE_POINTS = 2048  # up to this there is nothing to be saved
TIE = 1e-9  # distances closer than this, relatively, are one distance
SAFE = 1e10 * np.finfo(float).eps  # rounding of products that stays well below TIE
EPSILON = float(np.finfo(np.float32).eps)
WIDEN = 8  # how many times more points a tree is asked for when ties are not seen whole
AT_ONCE = 2048  # points asked for at once
CELLS_AT_ONCE = 1 << 20  # how many numbers one temporary array may hold
CELLS_IN_CACHE = 1 << 17  # how many, where several such arrays are gone through again and again
DENSE_ROWS = 16  # points at once below which a product of matrices is slow
PRODUCTS_AT_ONCE = 1 << 32  # how many multiplications one batch may take: about a second
MEASURED_AT_ONCE = 1 << 28  # how many differences: about a second, too
LISTS = 1.0  # times the root of the number of points: how many lists
SAMPLE_PER_LIST = 16  # points from which the centers are found
FITTINGS = 6  # how often a center moves to the mean of its points
FIRST_POINTS = 512  # among which a first bound of r_i is found
CROWD = 8  # times the points wanted: with more in reach, Dense is the better searcher
PILOT = 1024  # points on which cost and recall are measured
PILOT_AT_ONCE = 64  # so that threads share the work
EXACT_POINTS = 1 << 16  # looking at so many for each point takes no longer than all the rest
EFFORTS = (0.5, 0.6, 0.7, 0.8, 0.9)
RECALL = 0.9995  # on the pilot; leaves room for chance above the 0.999 that is promised


@dataclass(frozen=True)
class Found:
    """Pairs of points near each other: the asked ones' places, ascending, and whom they found.

    An asked point without pairs was left to the next searcher.
    """

    row: Ints
    point: Ints
    distance: Floats


@dataclass(frozen=True)
class Stage:
    """A searcher, and how it is to be asked."""

    search: Callable[[Ints], Found]
    at_once: int  # how many points it is asked for in one go
    whole: bool  # whether it sees all that is near


@dataclass(frozen=True)
class Index:
    """Searchers to be asked in turn, each for the points that the one before it left over."""

    stages: tuple[Stage, ...]
    order: Ints  # all points; those that follow each other are near each other
    recall: float  # of the first stage, measured; 1.0 when it is exact

    @classmethod
    def of(cls, points: Floats, *, wanted: int, exact: bool, workers: Workers) -> Self:
        """Build what suits the points; sizes and positions decide, never the clock."""
        total, dimensions = points.shape
        rows = max(1, min(CELLS_AT_ONCE // total, PRODUCTS_AT_ONCE // (total * dimensions)))
        last = Stage(Dense(points, wanted).search, rows, whole=True)
        if total <= max(DENSE_POINTS, 4 * wanted):
            return cls((last,), np.arange(total), 1.0)
        if dimensions <= TREE_DIMENSIONS:
            tree = Tree.of(points, wanted=wanted)
            return cls((Stage(tree.search, AT_ONCE, whole=True), last), np.arange(total), 1.0)
        lists = Lists.of(points, wanted=wanted, workers=workers)
        most = max(1, min(AT_ONCE, MEASURED_AT_ONCE // (CROWD * wanted * dimensions)))
        stages: tuple[Stage, ...] = (Stage(lists.search, most, whole=True), last)
        effort, recall = (1.0, 1.0) if exact else _effort(lists, workers)
        if effort < 1:
            hasty = partial(lists.search, effort=effort)
            stages = (Stage(hasty, most, whole=False), *stages)
        return cls(stages, lists.members, recall)


def _effort(lists: "Lists", workers: Workers) -> tuple[float, float]:
    """Return the effort that a run needs, and the recall that it had on the pilot."""
    total = len(lists.members)
    pilot = lists.members[np.linspace(0, total - 1, min(PILOT, total)).astype(np.int64)]
    parts = [pilot[part] for part in slices(len(pilot), PILOT_AT_ONCE)]
    if sum(workers.map(lists.cost, parts)) <= EXACT_POINTS * len(pilot):
        return 1.0, 1.0
    truth = list(workers.map(lists.search, parts))
    for effort in EFFORTS:
        tried = workers.map(partial(lists.search, effort=effort), parts)
        pairs = zip(tried, truth, strict=True)
        shares = [share(found, exact, lists.wanted) for found, exact in pairs]
        known = np.concatenate(shares)
        recall = float(known.sum() / max(1, len(known)))
        if recall >= RECALL:
            return effort, recall
    return 1.0, 1.0


def share(found: Found, truth: Found, wanted: int) -> Floats:
    """Return which share of its nearest points, itself aside, each point that both answer found."""
    total = max(found.row.max(initial=0), truth.row.max(initial=0)) + 1
    by = np.lexsort((truth.distance, truth.row))
    rows, begin = np.unique(truth.row, return_index=True)
    radius = np.zeros(total)
    radius[rows] = truth.distance[by[begin + wanted - 1]]
    near = found.distance <= radius[found.row] * (1 + TIE)
    hits = np.bincount(found.row[near], minlength=total)[np.intersect1d(found.row, rows)]
    shares: Floats = (np.minimum(hits, wanted) - 1) / (wanted - 1)
    return shares


@dataclass(frozen=True)
class Tree:
    """A k-d tree, asked for some more points than wanted, until one lies beyond the ties."""

    points: Floats
    tree: "cKDTree"
    wanted: int

    @classmethod
    def of(cls, points: Floats, *, wanted: int) -> Self:
        """Plant the tree."""
        from scipy.spatial import cKDTree  # noqa: PLC0415 — slow to import, of use in few tables

        return cls(points, cKDTree(points), wanted)

    def search(self, asked: Ints) -> Found:
        """Find the points near the asked ones; larger crowds than a wide query's are left over."""
        row, point, distance = [], [], []
        places = np.arange(len(asked))
        for count in (self.wanted + 1, min(WIDEN * self.wanted, len(self.points))):
            _, found = self.tree.query(self.points[asked[places]], k=np.arange(1, count + 1))
            near = np.asarray(found)
            far = measure(self.points, np.repeat(asked[places], count), near.reshape(-1))
            far = far.reshape(near.shape)
            radius = np.partition(far, self.wanted - 1, axis=1)[:, self.wanted - 1]
            closed = (far.max(axis=1) > radius * (1 + TIE)) | (count == len(self.points))
            row.append(np.repeat(places[closed], count))
            point.append(near[closed].reshape(-1))
            distance.append(far[closed].reshape(-1))
            places = places[~closed]
        return _by_row(np.concatenate(row), np.concatenate(point), np.concatenate(distance))


@dataclass(frozen=True)
class Dense:
    """All distances from products in double precision, measured anew where these would cancel."""

    points: Floats
    wanted: int

    @cached_property  # which many runs never ask for
    def centred(self) -> Floats:
        """The points around their mean, which keeps rounding small."""
        centred: Floats = self.points - self.points.mean(axis=0)
        return centred

    @cached_property
    def norm(self) -> Floats:
        """The squared length of every centred point."""
        return _squares(self.centred)

    def search(self, asked: Ints) -> Found:
        """Find the points near the asked ones, all of them."""
        parts = slices(len(asked), max(DENSE_ROWS, CELLS_IN_CACHE // len(self.points)))
        found = [self._search(asked[part]) for part in parts]
        return Found(
            np.concatenate([one.row + part.start for one, part in zip(found, parts, strict=True)]),
            np.concatenate([one.point for one in found]),
            np.concatenate([one.distance for one in found]),
        )

    def _search(self, asked: Ints) -> Found:
        norms = self.norm[asked, None] + self.norm
        square = np.maximum(norms - 2 * (self.centred[asked] @ self.centred.T), 0)
        unsafe = norms * ((self.points.shape[1] + 4) * SAFE)
        bound = np.partition(square, self.wanted - 1, axis=1)[:, self.wanted - 1, None]
        hit = np.flatnonzero(square <= np.maximum(bound * (1 + 4 * TIE), unsafe))
        row, point = np.divmod(hit, len(self.points))
        near = square.reshape(-1)[hit]
        distance = np.sqrt(near)
        again = np.flatnonzero(near <= unsafe.reshape(-1)[hit])
        distance[again] = measure(self.points, asked[row[again]], point[again])
        return Found(row, point, distance)


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
            square = _squares(offset)
            offsets[here, :-1], offsets[here, -1] = offset, square
            _, towards = _directions(centers, b)
            reach[:, b] = (offsets[here, :-1] @ towards.T).max(axis=0)
            radius[b] = np.sqrt(square.max())

        for _ in workers.map(survey, range(len(centers))):
            pass
        diameter = 2 * float(np.sqrt(_squares(points - points.mean(axis=0)).max()))
        slack = 4 * (points.shape[1] + 4) * EPSILON * diameter
        return cls(points, wanted, members, home, begin, centers, radius, offsets, reach, slack)

    def search(self, asked: Ints, *, effort: float = 1.0) -> Found:
        """Find the points near the asked ones; those in a crowd are left over."""
        points = self.points[asked]
        visits, bound = self._visits(asked, effort=effort)
        limit = 4 * CROWD * self.wanted
        count = np.zeros(len(asked), dtype=np.int64)
        rows, places, lows, highs = [], [], [], []
        for b in np.flatnonzero(visits.any(axis=0)).tolist():
            row = np.flatnonzero(visits[:, b] & (count <= limit))
            rough, shift, error = self._between(points[row], b)
            hit = np.flatnonzero(rough <= bound[row, None] - shift + error)
            near, place = np.divmod(hit, rough.shape[1])
            count += np.bincount(row[near], minlength=len(asked))
            middle = rough.reshape(-1)[hit] + shift[near, 0]
            rows.append(row[near])
            places.append(place + self.begin[b])
            lows.append(middle - error[near, 0])
            highs.append(middle + error[near, 0])
        row, place = np.concatenate(rows), np.concatenate(places)
        low, high = np.concatenate(lows), np.concatenate(highs)
        tight = self._tight(row, high, bound)
        kept = (low <= tight[row]) & (count[row] <= limit)
        crowded = np.bincount(row[kept], minlength=len(asked)) > CROWD * self.wanted
        kept &= ~crowded[row]
        row, point = row[kept], self.members[place[kept]]
        return _by_row(row, point, measure(self.points, asked[row], point))

    def cost(self, asked: Ints) -> float:
        """Return how many points an exact search looks at."""
        visits, _ = self._visits(asked, effort=1.0)
        return float((visits @ np.diff(self.begin)).sum())

    def _visits(self, asked: Ints, *, effort: float) -> tuple[Mask, Singles]:
        """Return which lists each asked point must look at, and a bound of r²."""
        visits = np.empty((len(asked), len(self.centers)), dtype=bool)
        bound = np.empty(len(asked), dtype=np.float32)
        home = self.home[asked]
        size = np.diff(self.begin)
        for a in np.unique(home).tolist():
            row = np.flatnonzero(home == a)
            points = self.points[asked[row]]
            apart, towards = _directions(self.centers, a)
            near = np.argsort(apart, kind="stable")
            enough = np.searchsorted(np.cumsum(size[near]), max(FIRST_POINTS, 2 * self.wanted))
            first = near[: enough + 1]
            parts = [self._between(points, b) for b in first.tolist()]
            high = np.hstack([rough + (shift + error) for rough, shift, error in parts])
            bound[row] = np.partition(high, self.wanted - 1, axis=1)[:, self.wanted - 1]
            along = (points - self.centers[a]).astype(np.float32) @ towards.T
            gap = (apart - self.slack).astype(np.float32) - self.reach[a] - along
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
        shift = _squares(offset)[:, None]
        error = (4 * (points.shape[1] + 4) * EPSILON) * (shift + self.radius[b] ** 2)
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
    """Return the nearest center of every point, as far as single precision can tell."""
    middle = centers.mean(axis=0)
    right = (centers - middle).astype(np.float32)
    half = (_squares(centers - middle) / 2).astype(np.float32)

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
        square = _squares(centers - centers[chain[step - 1]])
        chain[step] = np.argmin(np.where(left, square, np.inf))
        left[chain[step]] = False
    return chain


def _directions(centers: Floats, a: int) -> tuple[Floats, Singles]:
    """Return how far the other centers are from center a, and the unit vectors towards them."""
    difference = centers - centers[a]
    apart = np.sqrt(_squares(difference))
    unit = difference / np.where(apart > 0, apart, 1)[:, None]
    return apart, unit.astype(np.float32)


def _squares(vectors: Floats) -> Floats:
    """Return the squared length of every row."""
    squares: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return squares


def _by_row(row: Ints, point: Ints, distance: Floats) -> Found:
    by = np.argsort(row, kind="stable")
    return Found(row[by], point[by], distance[by])


def measure(points: Floats, one: Ints, other: Ints) -> Floats:
    """Return the distances between pairs of points."""
    distance = np.empty(len(one))
    for part in slices(len(one), max(1, CELLS_AT_ONCE // points.shape[1])):
        distance[part] = np.sqrt(_squares(points[one[part]] - points[other[part]]))
    return distance
