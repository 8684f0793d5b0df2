"""Points near points: which lie within the distance of the m-th nearest, and how far away.

    near(i) ⊇ { j : ‖x_i − x_j‖ ≤ r_i },   r_i = distance of the m-th nearest point, itself counted

Because points are found by distance and not by number, ties at r_i are seen whole. Three searchers:

    KDTree  a k-d tree; about n log n in few dimensions
    Lists   points dealt to centers; only lists that can hold a near point are looked at
    Dense   all distances at once, in double precision; for small tables and crowds of ties

Where points fill the space of many dimensions, Lists are slow when exact. They may then be asked
with less effort and miss some points; how many is measured.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.distances import CELLS_AT_ONCE, TIE, Pairs, by_row, joined, measure, squares
from cfl_cli.steps.near_lists import CROWD, Lists

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

TREE_DIMENSIONS = 5  # up to this a k-d tree is quick however the points lie
DENSE_POINTS = 2048  # up to this there is nothing to be saved
SAFE = 1e10 * np.finfo(float).eps  # rounding of products that stays well below TIE
WIDEN = 8  # how many times more points a tree is asked for when ties are not seen whole
AT_ONCE = 2048  # points asked for at once
CELLS_IN_CACHE = 1 << 17  # numbers in one of several arrays that are gone through repeatedly
DENSE_ROWS = 16  # points at once below which a product of matrices is slow
PRODUCTS_AT_ONCE = 1 << 32  # how many multiplications one batch may take: about a second
MEASURED_AT_ONCE = 1 << 28  # how many differences: about a second, too
CHUNK = 1 << 16  # points that are compared with all asked ones at once
PILOT = 1024  # points on which cost and recall are measured
PILOT_AT_ONCE = 64  # so that threads share the work
EXACT_POINTS = 1 << 16  # looking at so many for each point takes no longer than all the rest
EFFORTS = (0.5, 0.6, 0.7, 0.8, 0.9)
RECALL = 0.9995  # on the pilot; leaves room for chance above the 0.999 that is promised


@dataclass(frozen=True)
class Searcher:
    """A searcher, and how it is to be asked."""

    search: Callable[[Ints], Pairs]
    at_once: int  # how many points it is asked for in one go
    whole: bool  # whether it sees all that is near
    lists: Lists | None = None  # those of an exact search by lists, which compiled code may do


@dataclass(frozen=True)
class Index:
    """Searchers to be asked in turn, each for the points that the one before it left over."""

    searchers: tuple[Searcher, ...]
    order: Ints  # all points; those that follow each other are near each other
    recall: float  # of the first searcher, measured; 1.0 when it is exact

    @classmethod
    def of(cls, points: Floats, *, wanted: int, exact: bool, workers: Engine) -> Self:
        """Build what suits the points; sizes and positions decide, never the clock."""
        total, dimensions = points.shape
        rows = max(1, min(CELLS_AT_ONCE // total, PRODUCTS_AT_ONCE // (total * dimensions)))
        last = Searcher(Dense.of(points, wanted).search, rows, whole=True)
        if total <= max(DENSE_POINTS, 4 * wanted):
            return cls((last,), np.arange(total), 1.0)
        if dimensions <= TREE_DIMENSIONS:
            tree = KDTree.of(points, wanted=wanted)
            order = np.asarray(tree.tree.indices, dtype=np.int64)
            return cls((Searcher(tree.search, AT_ONCE, whole=True), last), order, 1.0)
        lists = Lists.of(points, wanted=wanted, workers=workers)
        most = max(1, min(AT_ONCE, MEASURED_AT_ONCE // (CROWD * wanted * dimensions)))
        searchers: tuple[Searcher, ...] = (
            Searcher(lists.search, most, whole=True, lists=lists),
            last,
        )
        effort, recall = (1.0, 1.0) if exact else _effort(lists, workers)
        if effort < 1:
            approximate = partial(lists.search, effort=effort)
            searchers = (Searcher(approximate, most, whole=False), *searchers)
        return cls(searchers, lists.members, recall)


def _effort(lists: Lists, workers: Engine) -> tuple[float, float]:
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
        shares = [recalls(some, exact, lists.wanted) for some, exact in pairs]
        known = np.concatenate(shares)
        recall = float(known.sum() / max(1, len(known)))
        if recall >= RECALL:
            return effort, recall
    return 1.0, 1.0


def recalls(pairs: Pairs, truth: Pairs, wanted: int) -> Floats:
    """Return which share of its nearest points, itself aside, each point that both answer found."""
    total = max(pairs.row.max(initial=0), truth.row.max(initial=0)) + 1
    by = np.lexsort((truth.distance, truth.row))
    rows, begin = np.unique(truth.row, return_index=True)
    radius = np.zeros(total)
    radius[rows] = truth.distance[by[begin + wanted - 1]]
    near = pairs.distance <= radius[pairs.row] * (1 + TIE)
    hits = np.bincount(pairs.row[near], minlength=total)[np.intersect1d(pairs.row, rows)]
    shares: Floats = (np.minimum(hits, wanted) - 1) / (wanted - 1)
    return shares


SENT: list["KDTree"] = []  # the last tree that was sent to this process, if any was


@dataclass(frozen=True)
class KDTree:
    """A k-d tree, asked for some more points than wanted, until one lies beyond the ties."""

    points: Floats
    tree: "cKDTree"
    wanted: int

    @classmethod
    def of(cls, points: Floats, *, wanted: int) -> Self:
        """Build the tree."""
        from scipy.spatial import cKDTree  # noqa: PLC0415 — slow to import, of use in few tables

        return cls(points, cKDTree(points), wanted)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process build a tree of its own."""
        return _tree_here, (self.points, self.wanted)

    def search(self, asked: Ints) -> Pairs:
        """Find the points near the asked ones; larger crowds than a wide query's are left over."""
        row, point, distance = [], [], []
        places = np.arange(len(asked))
        for count in (self.wanted + 1, min(WIDEN * self.wanted, len(self.points))):
            _, nearest = self.tree.query(self.points[asked[places]], k=np.arange(1, count + 1))
            near = np.asarray(nearest)
            far = measure(self.points, np.repeat(asked[places], count), near.reshape(-1))
            far = far.reshape(near.shape)
            radius = np.partition(far, self.wanted - 1, axis=1)[:, self.wanted - 1]
            closed = (far.max(axis=1) > radius * (1 + TIE)) | (count == len(self.points))
            row.append(np.repeat(places[closed], count))
            point.append(near[closed].reshape(-1))
            distance.append(far[closed].reshape(-1))
            places = places[~closed]
        return by_row(np.concatenate(row), np.concatenate(point), np.concatenate(distance))


def _tree_here(points: Floats, wanted: int) -> KDTree:
    """Return a tree of some points, the last that this process was sent if they are the same."""
    if not SENT or not _same(SENT[0].points, points) or SENT[0].wanted != wanted:
        SENT.clear()  # before there are two of them
        SENT.append(KDTree.of(points, wanted=wanted))
    return SENT[0]


def _same(one: Floats, other: Floats) -> bool:
    """Return whether two arrays are views of the same memory."""
    own, others = one.__array_interface__, other.__array_interface__
    return own["data"] == others["data"] and one.shape == other.shape


@dataclass(frozen=True)
class Dense:
    """All distances from products in double precision, measured anew where these would cancel.

    Points are gone through in chunks, and what is found in one bounds what can be near in the next.
    """

    points: Floats
    wanted: int
    middle: Floats  # their mean; around it rounding is small

    @classmethod
    def of(cls, points: Floats, wanted: int) -> Self:
        """Look at the points."""
        return cls(points, wanted, np.asarray(points.mean(axis=0)))

    def search(self, asked: Ints) -> Pairs:
        """Find the points near the asked ones, all of them."""
        chunks = slices(len(self.points), CHUNK)
        parts = slices(len(asked), max(DENSE_ROWS, CELLS_IN_CACHE // chunks[0].stop))
        only = [self._chunk(chunks[0])] if len(chunks) == 1 else None
        found = [self._search(asked[part], only or map(self._chunk, chunks)) for part in parts]
        return joined(found, parts)

    def _chunk(self, part: slice) -> tuple[int, Floats, Floats]:
        """Return the number of the first of some points, these around the middle and lengths²."""
        chunk = self.points[part] - self.middle
        return part.start, chunk, squares(chunk)

    def _search(self, asked: Ints, chunks: Iterable[tuple[int, Floats, Floats]]) -> Pairs:
        own = self.points[asked] - self.middle
        lengths, doubt = squares(own), (self.points.shape[1] + 4) * SAFE
        bound = np.full(len(asked), np.inf)  # of the square of the distance that counts
        found: list[tuple[Ints, Ints, Floats, Floats]] = []
        for first, chunk, others in chunks:
            norms = lengths[:, None] + others
            square = own @ chunk.T
            square *= -2
            square += norms
            np.maximum(square, 0, out=square)
            bound = np.minimum(bound, at_most(square, self.wanted))
            # What is unsafe for the longest is too much for most, and no other pass over them all.
            cut = np.maximum(bound * (1 + 4 * TIE), (lengths + others.max()) * doubt)
            hit = np.flatnonzero(square <= cut[:, None])
            row, point = np.divmod(hit, len(chunk))
            unsafe = norms.reshape(-1)[hit] * doubt
            found.append((row, point + first, square.reshape(-1)[hit], unsafe))
        row, point, near, unsafe = (np.concatenate(parts) for parts in zip(*found, strict=True))
        by = np.lexsort((near, row))
        begin = np.searchsorted(row[by], np.arange(len(asked)))
        radius = near[by[begin + self.wanted - 1]] * (1 + 4 * TIE)  # with room for ties
        kept = np.flatnonzero(near <= np.maximum(radius[row], unsafe))
        kept = kept[np.argsort(row[kept], kind="stable")]
        row, point, near, unsafe = row[kept], point[kept], near[kept], unsafe[kept]
        distance = np.sqrt(near)
        again = np.flatnonzero(near <= unsafe)
        distance[again] = measure(self.points, asked[row[again]], point[again])
        return Pairs(row, point, distance)


def at_most(numbers: Floats, wanted: int) -> Floats:
    """Return for each row a number that its `wanted` least ones do not exceed; ∞: it has fewer.

    Of many numbers, only the smaller of each pair is looked at, again and again: the answer may be
    larger than it need be, never smaller.
    """
    while numbers.shape[1] >= 8 * wanted:
        half = numbers.shape[1] // 2
        numbers = np.minimum(numbers[:, :half], numbers[:, half : 2 * half])
    if numbers.shape[1] < wanted:
        return np.full(len(numbers), np.inf)
    least: Floats = np.partition(numbers, wanted - 1, axis=1)[:, wanted - 1]
    return least
