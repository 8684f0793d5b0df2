"""Step 2: the k nearest rows of every row.

    N(i) = the k rows j ≠ i with the smallest ‖x_i − x_j‖, equal distances in pseudo-random order

Rows with equal features form a *group*, and distances are found between groups only: fifty
thousand rows of which three hundred are distinct cost what three hundred cost. Seen from one
group, all rows of its *inner* groups are neighbors; the *shell* is the groups at the k-th
distance, and the neighbors still wanting are drawn from its rows. The draw of row i depends on
the seed, on i and on the rows it draws from. So the rows of a large group lean on different
neighbors, and the answer depends on neither block size nor thread count.

A searcher that may miss some is given up where it matters most: a shell of several groups, which
must be seen whole, is searched exactly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Places, Singles
from cfl_cli.core.draws import Bits, draw, hash_rows
from cfl_cli.core.parallel import Engine, kernel, slices

# Pairs of points, and the distances between them.

TIE = 1e-9  # distances closer than this, relatively, are one distance
CELLS_AT_ONCE = 1 << 20  # how many numbers one temporary array may hold


@dataclass(frozen=True)
class Pairs:
    """Points near each other: places among the asked points, ascending, and the points near them.

    An asked point without pairs was left to the next searcher.
    """

    row: Ints
    point: Ints
    distance: Floats


def join_pairs(pairs: Sequence[Pairs], parts: Sequence[slice]) -> Pairs:
    """Return the pairs of all asked points, given those of parts of them."""
    return Pairs(
        np.concatenate([one.row + part.start for one, part in zip(pairs, parts, strict=True)]),
        np.concatenate([one.point for one in pairs]),
        np.concatenate([one.distance for one in pairs]),
    )


def measure(
    points: Floats, one: Ints, other: Ints, *, others: Floats | Singles | None = None
) -> Floats:
    """Return the distances between pairs of points, the second of each from `others` if given."""
    others = points if others is None else others
    distance = np.empty(len(one))
    for part in slices(len(one), max(1, CELLS_AT_ONCE // max(1, points.shape[1]))):
        distance[part] = np.sqrt(squares(points[one[part]] - others[other[part]]))
    return distance


def squares(vectors: Floats) -> Floats:
    lengths: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return lengths


# Points near points, found through lists: points dealt to centers.
#
# Lists are exact and quick where points lie in clusters or near a surface, as those of tables do.
# Between a point x of list a and any point of list b lies at least
#
#     ‖c_a − c_b‖ − u·(x − c_a) − max over p in b of −u·(p − c_b),    u = (c_b − c_a) / ‖c_b − c_a‖
#
# the gap along the line of centers. A list whose gap exceeds `effort` · r_i is passed over: with
# effort 1 the answer is exact, and below that some points may be missed.

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
    # u × (d + 1), in the order of `members`. A list's are laid out as (d + 1) × points: x − c, and
    # ‖x − c‖². A coordinate of all points lies together: many distances are computed at once.
    offsets: Singles
    reach: Singles  # L × L: how far list b comes out of its center towards center a, at [a, b]
    rounding: float  # what single precision may take from a sum of products, relatively, …
    slack: float  # … and from a gap

    @classmethod
    def of(cls, points: Floats, *, wanted: int, workers: Engine) -> Self:
        """Deal the points; about as many lists as points in a list, more if there are many."""
        total, dimensions = points.shape
        more = np.clip(np.sqrt(total / MANY_POINTS), 1, MORE_LISTS)
        count = int(more * np.sqrt(total))
        chosen = np.random.default_rng(0).permutation(total)[: SAMPLE_PER_LIST * count]
        some = points[chosen]
        centers = some[:count].copy()
        for _ in range(FITTINGS):
            near = _deal(some, centers, workers)
            size = np.bincount(near, minlength=count)
            full = np.flatnonzero(size)
            first = (np.cumsum(size) - size)[full]
            sums = np.add.reduceat(some[np.argsort(near, kind="stable")], first, axis=0)
            centers[full] = sums / size[full, None]
        dealt = _deal(points, centers, workers, workers.empty("dealt", (total,), np.int64))
        kept = np.bincount(dealt, minlength=count) > 0

        # Lists are numbered from one to the nearest that is left, and so on.
        centers = centers[kept]
        chain = np.zeros(len(centers), dtype=np.int64)
        left = np.ones(len(centers), dtype=bool)
        left[0] = False
        for step in range(1, len(centers)):
            square = squares(centers - centers[chain[step - 1]])
            chain[step] = np.argmin(np.where(left, square, np.inf))
            left[chain[step]] = False
        centers = centers[chain]

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
        for _ in workers.rows("survey", survey, len(centers), at_once=1):
            pass
        middle, at_once = points.mean(axis=0), max(1, CELLS_AT_ONCE // dimensions)
        parts = slices(total, at_once)
        longest = float(np.sqrt(max(squares(points[part] - middle).max() for part in parts)))
        rounding = 4 * (dimensions + 4) * EPSILON
        slack = rounding * 2 * longest
        of_lists = radius, offsets, reach
        return cls(points, wanted, members, home, begin, centers, *of_lists, rounding, slack)

    def search(self, asked: Ints, *, effort: float = 1.0) -> Pairs:
        """Find the points near the asked ones; those in a crowd are left over."""
        return self.search_around(self.points[asked], self.home[asked], effort=effort)

    def search_around(
        self, points: Floats, home: Ints, *, effort: float = 1.0, slack: Floats | None = None
    ) -> Pairs:
        """Find the points near any others, whose homes are given; exact, but for crowds.

        However far outside they lie: a gap's rounding grows with the way to their list's center,
        and `slack` is what it may take.
        """
        visits, bound = self.visits(points, home, effort=effort, slack=slack)
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
        by = np.lexsort((high, row))
        first = np.searchsorted(row[by], np.arange(len(points)))
        tight = np.minimum(bound, high[by[first + self.wanted - 1]])
        kept = (low <= tight[row]) & (count[row] <= limit)
        crowded = np.bincount(row[kept], minlength=len(points)) > CROWD * self.wanted
        kept &= ~crowded[row]
        by = np.flatnonzero(kept)
        by = by[np.argsort(row[by], kind="stable")]
        row, point = row[by], self.members[place[by]]
        return Pairs(row, point, measure(points, row, point, others=self.points))

    def visits(
        self, points: Floats, home: Ints, *, effort: float, slack: Floats | None = None
    ) -> tuple[Mask, Singles]:
        """Return which lists points look at, points × L, and bounds of their squared r_i."""
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
        own = self.offsets[self.begin[b] : self.begin[b + 1]]
        rough: Singles = left @ own.reshape(left.shape[1], -1)
        shift = squares(offset)[:, None]
        error = self.rounding * (shift + self.radius[b] ** 2)
        return rough, shift.astype(np.float32), error.astype(np.float32)


@dataclass(frozen=True)
class Deal:
    """A kernel: the nearest center of every point, to single precision."""

    points: Floats
    middle: Floats  # of the centers
    right: Singles  # the centers around it
    half: Singles  # of their squared lengths
    home: Ints  # to be filled

    def __call__(self, part: slice) -> None:
        left = (self.points[part] - self.middle).astype(np.float32)
        far = left @ self.right.T
        np.subtract(self.half, far, out=far)
        self.home[part] = far.argmin(axis=1)

    def written(self, part: slice) -> tuple[Ints, ...]:
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

    def __call__(self, lists: slice) -> None:
        for b in range(lists.start, lists.stop):
            rows = slice(self.begin[b], self.begin[b + 1])
            offset = self.points[self.members[rows]] - self.centers[b]
            square = squares(offset)
            laid_out = np.empty((offset.shape[1] + 1, len(offset)), dtype=np.float32)
            laid_out[:-1], laid_out[-1] = offset.T, square
            self.offsets[rows].reshape(laid_out.shape)[...] = laid_out
            _, towards = directions(self.centers, b)
            self.reach[:, b] = (towards @ laid_out[:-1]).max(axis=1)
            self.radius[b] = np.sqrt(square.max())

    def written(self, part: slice) -> tuple[Singles, ...]:
        rows = slice(self.begin[part.start], self.begin[part.stop])
        return self.offsets[rows], self.reach[:, part], self.radius[part]


def _deal(points: Floats, centers: Floats, workers: Engine, home: Ints | None = None) -> Ints:
    """Return the list of each point; in `home`, by whatever works for the run, if it is given."""
    dealt = np.empty(len(points), dtype=np.int64) if home is None else home
    middle = centers.mean(axis=0)
    around = centers - middle
    half = (squares(around) / 2).astype(np.float32)
    deal = Deal(points, middle, around.astype(np.float32), half, dealt)
    at_once = max(1, CELLS_AT_ONCE // len(half))
    parts: Iterator[object]
    if home is None:
        parts = workers.map(deal, slices(len(points), at_once))
    else:
        parts = workers.rows("deal", deal, len(points), at_once=at_once)
    for _ in parts:
        pass
    return dealt


def directions(centers: Floats, a: int) -> tuple[Floats, Singles]:
    """Return how far the other centers are from center a, and the unit vectors towards them."""
    difference = centers - centers[a]
    apart = np.sqrt(squares(difference))
    unit = difference / np.where(apart > 0, apart, 1)[:, None]
    return apart, unit.astype(np.float32)


# Points near points: which lie within the distance of the m-th nearest, and how far away.
#
#     near(i) ⊇ { j : ‖x_i − x_j‖ ≤ r_i },   r_i = distance of the m-th nearest point, itself counted
#
# Because points are found by distance and not by number, ties at r_i are seen whole. Two searchers:
#
#     Lists   points dealt to centers; only lists that can hold a near point are looked at
#     Dense   all distances at once, in double precision; for small tables and crowds of ties
#
# Where points fill the space of many dimensions, Lists are slow when exact. They may then be asked
# with less effort and miss some points; how many is measured. In few dimensions they take 0.5 to 2
# times as long as scipy's cKDTree, on Adult (many dimensions) a 22nd of its time; and each of the
# libraries that were tried leaves 64 % of tied rows nobody's neighbor.

EXACT_DIMENSIONS = 5  # up to this Lists are quick however the points lie
DENSE_POINTS = 2048  # up to this there is nothing to be saved
SAFE = 1e10 * np.finfo(float).eps  # rounding of products that stays well below TIE
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
        last = Searcher(Dense(points, wanted, points.mean(axis=0)).search, rows, whole=True)
        if total <= max(DENSE_POINTS, 4 * wanted):
            return cls((last,), np.arange(total), 1.0)
        lists = Lists.of(points, wanted=wanted, workers=workers)
        most = max(1, min(AT_ONCE, MEASURED_AT_ONCE // (CROWD * wanted * dimensions)))
        scanned = lists if kernel("scan_lists", rows=total) else None
        exactly = Searcher(lists.search, most, whole=True, lists=scanned), last
        order = lists.members
        if exact or dimensions <= EXACT_DIMENSIONS:
            return cls(exactly, order, 1.0)
        pilot = order[np.linspace(0, total - 1, min(PILOT, total)).astype(np.int64)]
        parts = [pilot[part] for part in slices(len(pilot), PILOT_AT_ONCE)]
        visited = workers.map(
            lambda asked: lists.visits(points[asked], lists.home[asked], effort=1.0)[0], parts
        )
        if sum((one @ np.diff(lists.begin)).sum() for one in visited) <= EXACT_POINTS * len(pilot):
            return cls(exactly, order, 1.0)
        truth = list(workers.map(lists.search, parts))
        for effort in EFFORTS:
            search = partial(lists.search, effort=effort)
            pairs = zip(workers.map(search, parts), truth, strict=True)
            known = np.concatenate([recalls(some, whole, wanted) for some, whole in pairs])
            recall = float(known.sum() / max(1, len(known)))
            if recall >= RECALL:
                return cls((Searcher(search, most, whole=False), *exactly), order, recall)
        return cls(exactly, order, 1.0)


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


@dataclass(frozen=True, eq=False)
class Dense:
    """All distances from products in double precision, measured anew where these would cancel.

    Points are gone through in chunks, and what is found in one bounds what can be near in the next.
    """

    points: Floats  # u × d
    wanted: int
    middle: Floats  # of the points; around it rounding is small

    def search(self, asked: Ints) -> Pairs:
        """Find the points near the asked ones, all of them."""
        chunks = slices(len(self.points), CHUNK)
        parts = slices(len(asked), max(DENSE_ROWS, CELLS_IN_CACHE // chunks[0].stop))
        only = [self._chunk(chunks[0])] if len(chunks) == 1 else None
        found = [self._search(asked[part], only or map(self._chunk, chunks)) for part in parts]
        return join_pairs(found, parts)

    def _chunk(self, part: slice) -> tuple[int, Floats, Floats]:
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


# Neighbor lists scanned by compiled code, where there is some and it is worth it.
#
# Of points whose neighbors are beyond doubt, these come back at once; of others, all pairs that can
# matter, measured as the plain search does: so that equal distances are told from unequal ones alike.

_LARGEST = 1e15  # a distance whose square is far within single precision


@dataclass(frozen=True)
class Scanned:
    """What a scan has found; a point that is in neither was left to the next searcher."""

    sure: Ints  # s: places among the asked points
    nearest: Ints  # s × wanted: the nearest points of each, in order
    near: Pairs  # what is near the others


def _scan(
    lists: Lists, own: Floats, same: Ints, home: Ints, size: Ints, *, room: float
) -> Scanned | None:
    """Return what is near points whose homes are given; None: plain code is to search.

    `same` are their numbers among all, so that they come first; −1: they are others, and rounding
    takes `room` from a gap per distance from the center of their home. Points stand for `size` rows
    each. Neighbors are sure only if each is a single row.
    """
    compiled = kernel("scan_lists", rows=len(lists.members))
    if compiled is None or not lists.slack < _LARGEST * lists.rounding:
        return None
    most = CROWD * lists.wanted
    near = np.empty((len(own), most), dtype=np.int64)
    found, sure = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=bool)
    compiled(
        *(lists.points, own, same, home, lists.members, lists.begin),
        *(lists.centers, lists.radius, lists.reach, np.asarray(lists.offsets).reshape(-1), size),
        *(lists.slack, lists.wanted, lists.rounding, room, TIE, near, found, sure),
    )
    row, place = np.nonzero(np.arange(most) < np.where(sure, 0, found)[:, None])
    point = near[row, place]
    pairs = Pairs(row, point, measure(own, row, point, others=lists.points))
    return Scanned(np.flatnonzero(sure), near[sure, : lists.wanted], pairs)


ROWS_AT_ONCE = 1 << 16  # whose draws are made at once


@dataclass(frozen=True)
class Neighbors:
    """The neighbors, and how many of the true ones they are."""

    rows: Places  # n × k: the numbers of every row's neighbors, nearest first
    recall: float  # measured on some rows of this table; 1.0 when the search was exact
    order: Ints  # n: all rows; those that follow each other are near each other


def nearest_neighbors(
    features: Floats,
    *,
    k: int,
    workers: Engine,
    seed: int = 0,
    exact: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Neighbors:
    """Return every row's k neighbors; `exact` forbids a search that may miss some.

    Needs 1 ≤ k < n. `progress` is given how many rows are done.
    """
    found = vars(Groups.here(features)).items()
    groups = Groups(**{name: workers.share(f"group {name}", own) for name, own in found})
    wanted = min(k + 1, len(groups.points))  # itself and k more: enough rows in any case
    index = Index.of(groups.points, wanted=wanted, exact=exact, workers=workers)
    neighbors = workers.empty("neighbors", (len(features), k), np.int32)
    done, asked = 0, index.order
    for number, searcher in enumerate(index.searchers):
        asked = workers.share(f"asked {number}", asked)
        left = workers.empty(f"left by {number}", (len(asked),), np.bool_)
        settle = Settle(searcher, asked, groups, neighbors, left, k, seed)
        name, at_once = f"search {number}", searcher.at_once
        for _, rows in workers.rows(name, settle, len(asked), at_once=at_once):
            done += rows
            progress(done)
        asked = asked[left]
    order = workers.share("order", groups.rows_of(index.order))
    return Neighbors(neighbors, index.recall, order)


@dataclass(frozen=True)
class Settle:
    """A kernel: the neighbors of the rows of some groups, as far as a searcher finds them."""

    searcher: Searcher
    asked: Ints  # the groups
    groups: "Groups"
    neighbors: Places  # n × k, to be filled
    left: Mask  # to be filled: which of the asked groups are left to the next searcher
    k: int
    seed: int

    def __call__(self, part: slice) -> int:
        asked, groups = self.asked[part], self.groups
        lists, whole = self.searcher.lists, self.searcher.whole
        scanned = None
        if lists:
            here = lists.points[asked], asked, lists.home[asked]
            scanned = _scan(lists, *here, groups.size, room=0.0)
        near = self.searcher.search(asked) if scanned is None else scanned.near
        ranking = rank(near, groups.size, asked, own=asked, k=self.k, whole=whole)
        settled = ranking.asked
        owner = np.repeat(np.arange(len(settled)), groups.size[settled])
        rows = groups.rows_of(settled)
        for some in slices(len(rows), max(1, ROWS_AT_ONCE // self.k)):
            own, at = rows[some], owner[some]
            place, pair = places(own, at, ranking, k=self.k, seed=self.seed)
            group = ranking.order[pair]
            same = group == settled[at, None]
            offset = place - (ranking.reach[pair] - groups.size[group] + same)
            offset += same & (offset >= groups.place[own, None])  # step over the row itself
            self.neighbors[own] = groups.members[groups.start[group] + offset]
        if scanned is not None:  # each that is sure stands for one row, and so do its neighbors
            sure = asked[scanned.sure]
            settled = np.concatenate([settled, sure])
            chosen = groups.members[groups.start[scanned.nearest[:, 1:]]]
            self.neighbors[groups.members[groups.start[sure]]] = chosen
        self.left[part] = ~np.isin(asked, settled)
        return int(groups.size[settled].sum())

    def written(self, part: slice) -> tuple[Mask, Places]:
        left = self.left[part]
        return left, self.neighbors[self.groups.rows_of(self.asked[part][~left])]


@dataclass(frozen=True)
class Groups:
    """Rows with equal features, gathered."""

    points: Floats  # u × d: the distinct feature rows
    size: Ints  # u: how many rows share each
    start: Ints  # u: where each group begins in `members`
    members: Ints  # n: row numbers, group by group, ascending within a group
    place: Ints  # n: every row's place within its group

    @classmethod
    def here(cls, features: Floats) -> Self:
        """Group rows that have equal features, and so equal keys, in order of first appearance."""
        n, parts = len(features), slices(len(features), CELLS_AT_ONCE // features.shape[1] or 1)
        keys = np.empty(n, dtype=np.uint64)
        for part in parts:
            keys[part] = hash_rows(features[part] + 0.0)
        ranked = np.sort(keys)
        if (ranked[1:] != ranked[:-1]).all():  # all rows differ
            every, one = np.arange(n), np.ones(n, dtype=np.int64)
            return cls(features, one, every, every, np.zeros_like(one))
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        if not all(np.array_equal(features[first[group[part]]], features[part]) for part in parts):
            whole = features + 0.0  # two keys collided
            _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
            group = group.reshape(-1)
        seen = np.argsort(first)  # neighboring rows tend to be alike: keep their order
        first, group = first[seen], np.argsort(seen)[group]
        size = np.bincount(group)
        start = np.cumsum(size) - size
        members = np.argsort(group, kind="stable")
        place = np.empty(n, dtype=np.int64)
        place[members] = np.arange(n) - np.repeat(start, size)
        return cls(features[first] + 0.0, size, start, members, place)

    def rows_of(self, groups: Ints) -> Ints:
        count = self.size[groups]
        first = np.repeat(self.start[groups] - (np.cumsum(count) - count), count)
        rows: Ints = self.members[first + np.arange(len(first))]
        return rows

    @property
    def of_rows(self) -> Ints:
        group = np.empty(len(self.members), dtype=np.int64)
        group[self.members] = np.repeat(np.arange(len(self.size)), self.size)
        return group


@dataclass(frozen=True)
class Ranking:
    """For each of some groups, the groups that hold its rows' neighbors: inner ones, then shell.

    Equally far groups go by their numbers, whatever order a searcher found them in.
    """

    asked: Ints  # g: the groups, or whatever else asked
    owner: Ints  # p: places in `asked`, ascending
    order: Ints  # p: the groups that the owner leans on, nearest first
    reach: Ints  # p: other rows in the owner's groups, added up from the nearest
    inner: Ints  # g: how many rows the inner groups hold, always below k
    pool: Ints  # g: how many rows the shell holds


def rank(near: Pairs, size: Ints, asked: Ints, *, own: Ints | None, k: int, whole: bool) -> Ranking:
    """Rank near groups. Unless shells were seen `whole`, those of several groups are left.

    `own` are the groups that the askers belong to: a row is no neighbor of its own. None: to none.
    """
    by = np.lexsort((near.distance, near.row))
    row, order, distance = near.row[by], near.point[by], near.distance[by]
    new = np.diff(row, prepend=-1) > 0
    level = np.cumsum(new | (distance > np.roll(distance, 1) * (1 + TIE)))
    by = np.lexsort((order, level))
    order = order[by]

    owner = np.cumsum(new) - 1
    others = size[order] if own is None else size[order] - (order == own[row])
    asked = asked[row[new]]
    reach = np.cumsum(others)
    reach -= (reach - others)[new][owner]
    begin = np.flatnonzero(new)
    kth = begin + np.bincount(owner, weights=reach < k).astype(np.int64)
    inside, shell = level < level[kth][owner], level == level[kth][owner]
    inner = np.bincount(owner, weights=others * inside).astype(np.int64)
    pool = np.bincount(owner, weights=others * shell).astype(np.int64)

    settled = whole | (np.bincount(owner, weights=shell) == 1)
    kept = settled[owner] & (inside | shell)
    owner = (np.cumsum(settled) - 1)[owner[kept]]
    return Ranking(asked[settled], owner, order[kept], reach[kept], inner[settled], pool[settled])


def places(
    keys: Ints | Bits, owner: Ints, ranking: Ranking, *, k: int, seed: int
) -> tuple[Ints, Ints]:
    """Return where the neighbors of each of some rows stand, m × k, and by which ranked pair.

    Places count the other rows from the nearest group on: every inner one, and drawn shell ones.
    `owner` are the rows' places in the ranking, and draws depend on their `keys`.
    """
    inner = ranking.inner[owner, None]
    drawn = sample(keys, pool=ranking.pool[owner], wanted=k - inner[:, 0], k=k, seed=seed)
    slot = np.arange(k)
    shifted = np.take_along_axis(drawn, np.maximum(slot - inner, 0), axis=1)
    place = np.where(slot < inner, slot, inner + shifted)
    stride = int(ranking.reach.max(initial=0)) + 1  # so that one search serves all rows
    reach = ranking.owner * stride + ranking.reach
    return place, np.searchsorted(reach, owner[:, None] * stride + place, side="right")


def sample(rows: Ints | Bits, *, pool: Ints, wanted: Ints, k: int, seed: int) -> Ints:
    """Draw, for every row, `wanted` ≤ k different numbers below its `pool`, by Floyd's algorithm.

    Returns an array of k columns; those beyond a row's `wanted` mean nothing.
    """
    drawn = np.full((len(rows), k), -1, dtype=np.int64)
    for step in range(k):
        last = np.maximum(pool - wanted + step, 0)
        pick = (draw(rows, step, seed) % (last + 1).astype(np.uint64)).astype(np.int64)
        taken = (drawn[:, :step] == pick[:, None]).any(axis=1)
        drawn[:, step] = np.where(taken, last, pick)
    return drawn


# The neighbors that any points have among others, which stay: those of a fitted table.
#
#     N(x) = the k rows with the smallest ‖x − x_j‖, equal distances in pseudo-random order
#
# Rows at equal points are one point with a size, and a neighbor is told by its point. No row is left
# out, not even one that equals x. What is drawn from a shell (see `neighbors`) depends on the seed
# and on x. So x alone decides: the rows asked for beside it, their order, threads and blocks do not.
#
# Distances are rough first, from products in single precision whose error is bounded. What can be
# near by them is measured anew, each pair by itself in double precision, and only that decides. Once
# many points have been asked for among many others, Lists find what can be near.

FARTHEST = 1e15  # from 0, of any coordinate: its square is far within single precision
NEW_PRODUCTS_AT_ONCE = 1 << 21  # a block of rough distances that stays near a core
RANKED_AT_ONCE = 256  # asked points, so that threads share the work
PAIRS_AT_ONCE = 1 << 20  # held at once, more or less: points far off are as near to one as to all
_BINS = 1024  # whose least distances bound the m-th least of all
MANY_FITTED_POINTS = 1 << 14  # below, lists save nothing
MANY_ASKED = 8  # times the root of the number of points: lists are built after so many, …
ENOUGH_ASKED = 2  # … and so many at once are found faster by them
_TINY = float(np.finfo(np.float32).tiny)


class Others:
    """Points that stay, in single precision, and how many rows each stands for."""

    def __init__(self, points: Singles, size: Ints, *, k: int) -> None:
        self.points, self.size, self.k = points, size, k
        self.wanted = min(k, len(points))  # enough rows in any case
        self.asked = 0  # points so far
        self.lists: Lists | None = None

    def nearest(self, asked: Floats, *, seed: int, workers: Engine) -> Ints:
        """Return the places of the k neighbors of each of some points, m × k, nearest first."""
        neighbors = np.empty((len(asked), self.k), dtype=np.int64)
        keys = hash_rows(asked)

        def settle(rows: Ints, near: Pairs) -> Ints:
            by = np.lexsort((near.distance, near.row))
            begin = np.searchsorted(near.row, np.arange(len(rows)))
            some = np.bincount(near.row, minlength=len(rows)) > 0
            radius = np.zeros(len(rows))
            radius[some] = near.distance[by[begin[some] + self.wanted - 1]]
            kept = near.distance <= radius[near.row] * (1 + TIE)
            near = Pairs(near.row[kept], near.point[kept], near.distance[kept])
            ranking = rank(near, self.size, rows, own=None, k=self.k, whole=True)
            found, owner = ranking.asked, np.arange(len(ranking.asked))
            _, pair = places(keys[found], owner, ranking, k=self.k, seed=seed)
            neighbors[found] = ranking.order[pair]
            return rows[~np.isin(rows, found)]

        def by_products(part: slice) -> None:
            rows = left[part]
            for some, near in self.batches(asked[rows]):
                settle(rows[some], near)

        left, root = np.arange(len(asked)), len(self.points) ** 0.5
        self.asked += len(asked)
        many = len(self.points) >= MANY_FITTED_POINTS and len(asked) >= ENOUGH_ASKED * root
        if many and self.lists is None and self.asked >= MANY_ASKED * root:
            self.lists = Lists.of(self.points.astype(float), wanted=self.wanted, workers=workers)
        lists = self.lists if many else None
        if lists:
            homes = _deal(asked, lists.centers, workers)
            by_home = np.argsort(homes, kind="stable")

            def by_lists(part: slice) -> Ints:
                rows = by_home[part]
                around, home = asked[rows], homes[rows]
                scanned = None
                if self.wanted == self.k:  # else there are fewer points than neighbors
                    others, room = np.full(len(rows), -1), lists.rounding
                    scanned = _scan(lists, around, others, home, self.size, room=room)
                if scanned is None:
                    away = np.sqrt(squares(around - lists.centers[home]))
                    slack = away * lists.rounding
                    return settle(rows, lists.search_around(around, home, slack=slack))
                sure = rows[scanned.sure]
                neighbors[sure] = scanned.nearest
                return np.setdiff1d(settle(rows, scanned.near), sure, assume_unique=True)

            parts = slices(len(asked), AT_ONCE)
            left = np.concatenate([left[:0], *workers.map(by_lists, parts)])
        for _ in workers.map(by_products, slices(len(left), RANKED_AT_ONCE)):
            pass
        return neighbors

    def batches(self, asked: Floats) -> Iterator[tuple[slice, Pairs]]:
        """Yield some of the asked points and what is near them, fewer at once amid crowds."""
        parts = slices(len(asked), max(1, NEW_PRODUCTS_AT_ONCE // len(self.points)))
        held: list[Pairs] = []
        begin = 0
        for place, part in enumerate(parts):
            held.append(self.search(asked[part]))
            if part.stop == len(asked) or sum(len(near.row) for near in held) > PAIRS_AT_ONCE:
                first = parts[begin].start
                spans = [slice(one.start - first, one.stop) for one in parts[begin : place + 1]]
                yield slice(first, part.stop), join_pairs(held, spans)
                held, begin = [], place + 1

    def search(self, asked: Floats) -> Pairs:
        """Find the points near some others; some that are a little farther may be among them."""
        points, middle, bins, longest = self._laid_out
        left = np.ones((len(asked), len(points)), dtype=np.float32)
        offset = asked - middle
        left[:, :-1] = -2 * offset
        rough = left @ points  # ‖x − p‖² − ‖x‖², around the middle
        least = rough.reshape(len(asked), -1, bins).min(axis=1)
        bound = np.partition(least, self.wanted - 1, axis=1)[:, self.wanted - 1]
        products = asked.shape[1] + 4
        error = products * (4 * EPSILON * (squares(offset) + longest) + _TINY)
        hit = np.flatnonzero(rough <= (bound + 2 * error).astype(np.float32)[:, None])
        row, point = np.divmod(hit, rough.shape[1])
        return Pairs(row, point, measure(asked, row, point, others=self.points))

    @cached_property
    def _laid_out(self) -> tuple[Singles, Floats, int, float]:
        """The points as `Lists` lay theirs out, their middle, and the longest squared length.

        They are filled up to whole bins, of which there are so many.
        """
        total, dimensions = self.points.shape
        middle = np.asarray(self.points.mean(axis=0, dtype=float))
        bins = min(total, max(_BINS, 8 * self.wanted))
        rough = np.zeros((dimensions + 1, -(-total // bins) * bins), dtype=np.float32)
        rough[-1] = np.inf  # what fills up is far away
        for part in slices(total, max(1, NEW_PRODUCTS_AT_ONCE // (dimensions + 1))):
            offset = self.points[part] - middle
            rough[:-1, part], rough[-1, part] = offset.T, squares(offset)
        return rough, middle, bins, float(rough[-1, :total].max())
