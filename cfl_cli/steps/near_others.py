"""The neighbors that any points have among others, which stay: those of a fitted table.

    N(x) = the k rows with the smallest ‖x − x_j‖, equal distances in pseudo-random order

Rows at equal points are one point with a size, and a neighbor is told by its point. No row is left
out, not even one that equals x. What is drawn from a shell (see `neighbors`) depends on the seed
and on x. So x alone decides: the rows asked for beside it, their order, threads and blocks do not.

Distances are rough first, from products in single precision whose error is bounded. What can be
near by them is measured anew, each pair by itself in double precision, and only that decides. Once
many points have been asked for among many others, Lists find what can be near.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.draws import hash_rows
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.steps.distances import TIE, Pairs, joined, measure, squares
from cfl_cli.steps.near import AT_ONCE
from cfl_cli.steps.near_lists import EPSILON, Lists
from cfl_cli.steps.near_scan import scan_around
from cfl_cli.steps.neighbors import places, rank

FARTHEST = 1e15  # from 0, of any coordinate: its square is far within single precision
PRODUCTS_AT_ONCE = 1 << 21  # a block of rough distances that stays near a core
RANKED_AT_ONCE = 256  # asked points, so that threads share the work
PAIRS_AT_ONCE = 1 << 20  # held at once, more or less: points far off are as near to one as to all
BINS = 1024  # whose least distances bound the m-th least of all
MANY_POINTS = 1 << 14  # below, lists save nothing
MANY_ASKED = 8  # times the root of the number of points: lists are built after so many, …
ENOUGH_ASKED = 2  # … and so many at once are found faster by them
TINY = float(np.finfo(np.float32).tiny)


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
            near = self._within_reach(near, len(rows))
            ranking = rank(near, self.size, rows, own=None, k=self.k, whole=True)
            found, owner = ranking.asked, np.arange(len(ranking.asked))
            _, pair = places(keys[found], owner, ranking, k=self.k, seed=seed)
            neighbors[found] = ranking.order[pair]
            return rows[~np.isin(rows, found)]

        def by_products(rows: Ints) -> None:
            for some, near in self.batches(asked[rows]):
                settle(rows[some], near)

        left = np.arange(len(asked))
        lists = self._lists(len(asked), workers)
        if lists:
            homes = lists.homes(asked, workers)

            def by_lists(rows: Ints) -> Ints:
                around, home = asked[rows], homes[rows]
                scanned = scan_around(lists, around, home, self.size) if self._single else None
                if scanned is None:
                    return settle(rows, lists.search_around(around, home))
                sure = rows[scanned.sure]
                neighbors[sure] = scanned.nearest
                return np.setdiff1d(settle(rows, scanned.near), sure, assume_unique=True)

            parts = _cut(np.argsort(homes, kind="stable"), AT_ONCE)
            left = np.concatenate([left[:0], *workers.map(by_lists, parts)])
        for _ in workers.map(by_products, _cut(left, RANKED_AT_ONCE)):
            pass
        return neighbors

    def batches(self, asked: Floats) -> Iterator[tuple[slice, Pairs]]:
        """Yield some of the asked points and what is near them, fewer at once amid crowds."""
        parts = slices(len(asked), max(1, PRODUCTS_AT_ONCE // len(self.points)))
        held: list[Pairs] = []
        begin = 0
        for place, part in enumerate(parts):
            held.append(self.search(asked[part]))
            if part.stop == len(asked) or sum(len(near.row) for near in held) > PAIRS_AT_ONCE:
                first = parts[begin].start
                spans = [slice(one.start - first, one.stop) for one in parts[begin : place + 1]]
                yield slice(first, part.stop), joined(held, spans)
                held, begin = [], place + 1

    def search(self, asked: Floats) -> Pairs:
        """Find the points near some others; some that are a little farther may be among them."""
        left = np.ones((len(asked), self._rough.shape[0]), dtype=np.float32)
        offset = asked - self._middle
        left[:, :-1] = -2 * offset
        rough = left @ self._rough  # ‖x − p‖² − ‖x‖², around the middle
        least = rough.reshape(len(asked), -1, self._bins).min(axis=1)
        bound = np.partition(least, self.wanted - 1, axis=1)[:, self.wanted - 1]
        products = asked.shape[1] + 4
        error = products * (4 * EPSILON * (squares(offset) + self._radius) + TINY)
        hit = np.flatnonzero(rough <= (bound + 2 * error).astype(np.float32)[:, None])
        row, point = np.divmod(hit, rough.shape[1])
        return Pairs(row, point, measure(asked, row, point, others=self.points))

    def _within_reach(self, near: Pairs, asked: int) -> Pairs:
        """Return the pairs no farther apart than the m-th nearest, which any search finds alike."""
        by = np.lexsort((near.distance, near.row))
        begin = np.searchsorted(near.row, np.arange(asked))
        found = np.bincount(near.row, minlength=asked) > 0
        radius = np.zeros(asked)
        radius[found] = near.distance[by[begin[found] + self.wanted - 1]]
        kept = near.distance <= radius[near.row] * (1 + TIE)
        return Pairs(near.row[kept], near.point[kept], near.distance[kept])

    def _lists(self, asked: int, workers: Engine) -> Lists | None:
        """Return lists of the points, if so many more that are asked for are worth it by now."""
        self.asked += asked
        root = len(self.points) ** 0.5
        if len(self.points) < MANY_POINTS or asked < ENOUGH_ASKED * root:
            return None
        if self.lists is None and self.asked >= MANY_ASKED * root:
            self.lists = Lists.of(self.points.astype(float), wanted=self.wanted, workers=workers)
        return self.lists

    @property
    def _single(self) -> bool:
        """Whether k neighbors can be k points."""
        return self.wanted == self.k

    @cached_property
    def _middle(self) -> Floats:
        """The mean of the points; around it rounding is small."""
        return np.asarray(self.points.mean(axis=0, dtype=float))

    @cached_property
    def _bins(self) -> int:
        """How many bins the points are dealt to, by turns."""
        return min(len(self.points), max(BINS, 8 * self.wanted))

    @cached_property
    def _rough(self) -> Singles:
        """(d + 1) × the points, all bins filled up: p, ‖p‖² around the middle."""
        total, dimensions = self.points.shape
        columns = -(-total // self._bins) * self._bins
        rough = np.zeros((dimensions + 1, columns), dtype=np.float32)
        rough[-1] = np.inf  # what fills up is far away
        for part in slices(total, max(1, PRODUCTS_AT_ONCE // (dimensions + 1))):
            offset = self.points[part] - self._middle
            rough[:-1, part], rough[-1, part] = offset.T, squares(offset)
        return rough

    @cached_property
    def _radius(self) -> float:
        """The largest of the ‖p‖²."""
        return float(self._rough[-1, : len(self.points)].max())


def _cut(rows: Ints, size: int) -> list[Ints]:
    return [rows[part] for part in slices(len(rows), size)]
