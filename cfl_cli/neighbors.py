"""Step 2: the k nearest rows of every row.

    N(i) = the k rows j ≠ i with the smallest ‖x_i − x_j‖, equal distances in pseudo-random order

Rows with equal features form a *group*, and distances are found between groups only: fifty
thousand rows of which three hundred are distinct cost what three hundred cost. Seen from one
group, all rows of its *inner* groups are neighbors; the *shell* is the groups at the k-th
distance, and the neighbors still wanting are drawn from its rows. The draw of row i depends on
the seed, on i and on the rows it draws from. So the rows of a large group lean on different
neighbors, and the answer depends on neither block size nor thread count.

Two searchers give the same, exact answer: a k-d tree, which costs about n log n where points lie
in few dimensions, and matrix products, which cost n² d in single precision wherever they lie.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from time import perf_counter
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.parallel import Workers, slices

Search = Callable[[Ints, int], tuple[Ints, Floats]]

TREE_DIMENSIONS = 10  # up to this a k-d tree is always the faster one
HEAPS = 256  # into which points are dealt to find a bound
PILOT = 64  # points that both searchers answer for, to see which is faster
SAFE = 1e10 * np.finfo(float).eps  # rounding of products that stays well below TIE
TIE = 1e-9  # distances closer than this, relatively, are one distance
WIDEN = 8  # how many times more groups are asked for when a shell is not seen whole
GROUPS_AT_ONCE = 512
CELLS_AT_ONCE = 1 << 22  # how many numbers one temporary array may hold


def nearest(
    features: Floats,
    *,
    k: int,
    workers: Workers,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> Ints:
    """Return an n × k array: the numbers of every row's neighbors, nearest first.

    Needs 1 ≤ k < n. `progress` is told how many rows are done.
    """
    groups = Groups.of(features)
    search = searcher(groups.points, wanted=min(k + 2, len(groups.points)))
    neighbors = np.empty((len(features), k), dtype=np.int64)

    def settle(part: slice) -> int:
        asked = np.arange(part.start, part.stop)
        for ranking in _rankings(search, groups, asked, k=k):
            for rows, chosen in _draws(ranking, groups, k=k, seed=seed):
                neighbors[rows] = chosen
        return int(groups.size[part].sum())

    done = 0
    for rows in workers.map(settle, slices(len(groups.points), GROUPS_AT_ONCE)):
        done += rows
        progress(done)
    return neighbors


@dataclass(frozen=True)
class Groups:
    """Rows with equal features, gathered."""

    points: Floats  # u × d: the distinct feature rows
    size: Ints  # u: how many rows share each
    start: Ints  # u: where each group begins in `members`
    members: Ints  # n: row numbers, group by group, ascending within a group
    place: Ints  # n: every row's place within its group

    @classmethod
    def of(cls, features: Floats) -> Self:
        """Group the rows of `features`, groups in order of first appearance."""
        features = np.ascontiguousarray(features) + 0.0  # −0.0 and 0.0 are one value
        keys = _hash_rows(features)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        if not np.array_equal(features[first][group], features):  # two keys collided
            _, first, group = np.unique(features, axis=0, return_index=True, return_inverse=True)
            group = group.reshape(-1)
        seen = np.argsort(first)  # neighboring rows tend to be alike: keep their order
        first, group = first[seen], np.argsort(seen)[group]
        size = np.bincount(group)
        start = np.cumsum(size) - size
        members = np.argsort(group, kind="stable")
        place = np.empty(len(features), dtype=np.int64)
        place[members] = np.arange(len(features)) - np.repeat(start, size)
        return cls(features[first], size, start, members, place)


@dataclass(frozen=True)
class Ranking:
    """For each of some groups, the groups that hold its rows' neighbors: inner ones, then shell."""

    asked: Ints  # g: the groups
    order: Ints  # g × m: the groups they lean on
    reach: Ints  # g × m: other rows in these groups, added up from the left
    inner: Ints  # g: how many rows the inner groups hold, always below k


def _rankings(search: Search, groups: Groups, asked: Ints, *, k: int) -> Iterator[Ranking]:
    """Ask for more and more groups until every shell is seen whole."""
    total = len(groups.points)
    wanted = min(k + 2, total)  # itself, k more, and one beyond them to close the shell
    while len(asked):
        still_open = []
        for part in slices(len(asked), max(1, CELLS_AT_ONCE // wanted)):
            ranking, closed = _rank(search, groups, asked[part], k=k, wanted=wanted)
            yield ranking
            still_open.append(asked[part][~closed])
        asked = np.concatenate(still_open)
        wanted = min(WIDEN * wanted, total)


def _rank(
    search: Search, groups: Groups, asked: Ints, *, k: int, wanted: int
) -> tuple[Ranking, Mask]:
    """Return the ranking of those asked groups whose shell is closed, and which ones these are."""
    order, distance = search(asked, wanted)
    others = groups.size[order] - (order == asked[:, None])  # a row is no neighbor of its own
    kth = np.argmax(np.cumsum(others, axis=1) >= k, axis=1)
    radius = np.take_along_axis(distance, kth[:, None], axis=1)
    inner = distance < radius * (1 - TIE)
    shell = ~inner & (distance <= radius * (1 + TIE))
    closed = ~shell[:, -1] | (wanted == len(groups.points))

    # The searcher's order within the shell is its own affair, so the shell goes by group number.
    part = np.where(inner, 0, np.where(shell, 1, 2))
    within = np.where(inner, np.arange(wanted), order)
    by = np.lexsort((within, part), axis=1)
    order = np.take_along_axis(order, by, axis=1)
    reach = np.cumsum(np.take_along_axis(others * (part < 2), by, axis=1), axis=1)
    inside = (others * inner).sum(axis=1)
    return Ranking(asked[closed], order[closed], reach[closed], inside[closed]), closed


def _draws(ranking: Ranking, groups: Groups, *, k: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield row numbers and their neighbors, for all rows of the ranked groups."""
    owner = np.repeat(np.arange(len(ranking.asked)), groups.size[ranking.asked])
    first = np.repeat(groups.start[ranking.asked], groups.size[ranking.asked])
    count = groups.size[ranking.asked]
    rows = groups.members[
        first + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    ]
    for part in slices(len(rows), max(1, CELLS_AT_ONCE // (k * ranking.order.shape[1]))):
        yield rows[part], _neighbors_of(rows[part], owner[part], ranking, groups, k=k, seed=seed)


def _neighbors_of(
    rows: Ints, owner: Ints, ranking: Ranking, groups: Groups, *, k: int, seed: int
) -> Ints:
    """Return the neighbors of `rows`, which belong to the ranked groups `owner`."""
    inner, reach = ranking.inner[owner, None], ranking.reach[owner]
    # Places count the other rows from the nearest group on: every inner one, and drawn shell ones.
    drawn = sample(rows, pool=reach[:, -1] - inner[:, 0], wanted=k - inner[:, 0], k=k, seed=seed)
    slot = np.arange(k)
    place = np.where(slot < inner, slot, inner + _shift(drawn, inner))
    column = (reach[:, None, :] <= place[:, :, None]).sum(axis=2)
    before = np.where(column > 0, np.take_along_axis(reach, np.maximum(column - 1, 0), axis=1), 0)
    group = np.take_along_axis(ranking.order[owner], column, axis=1)
    offset = place - before
    own = group == ranking.asked[owner, None]
    offset += own & (offset >= groups.place[rows, None])  # step over the row itself
    chosen: Ints = groups.members[groups.start[group] + offset]
    return chosen


def _shift(drawn: Ints, inner: Ints) -> Ints:
    """Move every row's draws to the right by its inner count: slot i finds draw i − inner."""
    source = np.maximum(np.arange(drawn.shape[1]) - inner, 0)
    return np.take_along_axis(drawn, source, axis=1)


def sample(rows: Ints, *, pool: Ints, wanted: Ints, k: int, seed: int) -> Ints:
    """Draw, for every row, `wanted` ≤ k different numbers below its `pool`, by Floyd's algorithm.

    Returns an array of k columns; those beyond a row's `wanted` mean nothing.
    """
    drawn = np.full((len(rows), k), -1, dtype=np.int64)
    for step in range(k):
        last = np.maximum(pool - wanted + step, 0)
        pick = (_hash(rows, step, seed) % (last + 1).astype(np.uint64)).astype(np.int64)
        taken = (drawn[:, :step] == pick[:, None]).any(axis=1)
        drawn[:, step] = np.where(taken, last, pick)
    return drawn


def _mix(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the splitmix64 finaliser of 64-bit numbers: every bit depends on all bits."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _hash(rows: Ints, step: int, seed: int) -> npt.NDArray[np.uint64]:
    key = _mix(np.array([seed, step], dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return _mix(_mix(rows.astype(np.uint64) + key[0]) ^ key[1])


def _hash_rows(features: Floats) -> npt.NDArray[np.uint64]:
    """Return one key per row; equal rows have equal keys, and unequal rows nearly always not."""
    keys = np.zeros(len(features), dtype=np.uint64)
    for column in features.T:
        keys = _mix(keys * np.uint64(3) + np.ascontiguousarray(column).view(np.uint64))
    return keys


def searcher(points: Floats, *, wanted: int) -> Search:
    """Return the searcher that suits the points; either gives the same answer to the last bit.

    In many dimensions it depends on the points which one is faster: the tree where they lie in
    clusters or near a surface, products where they fill the space. So both answer for a few.
    """
    total, dimensions = points.shape
    if dimensions <= TREE_DIMENSIONS:
        return tree_search(points)
    if total <= PILOT * PILOT:
        return product_search(points)
    some = np.linspace(0, total - 1, PILOT).astype(np.int64)
    times = []
    for search in (tree_search(points), product_search(points)):
        began = perf_counter()
        search(some, wanted)
        times.append((perf_counter() - began, search))
    return min(times, key=itemgetter(0))[1]


def most(wanted: int, total: int) -> bool:
    """Return whether so many points are wanted that it is best to look at all of them."""
    return 4 * max(HEAPS, 2 * wanted) > total


def tree_search(points: Floats) -> Search:
    """Search with a k-d tree."""
    tree = cKDTree(points)
    products = product_search(points)

    def search(asked: Ints, wanted: int) -> tuple[Ints, Floats]:
        if most(wanted, len(points)):
            return products(asked, wanted)
        _, found = tree.query(points[asked], k=np.arange(1, wanted + 1))
        row = np.repeat(np.arange(len(asked)), wanted)
        return _closest(points, asked, row, np.asarray(found).reshape(-1), wanted)

    return search


def product_search(points: Floats) -> Search:
    """Search with matrix products: rough distances in single precision, then exact ones.

    The points are dealt into heaps. At least `wanted` points lie within the `wanted`-th smallest
    of the heaps' minima. So only heaps whose minimum is within this bound are looked at again,
    and only points within it, allowing for single precision's rounding, are measured exactly.
    """
    total, dimensions = points.shape
    centred = points - points.mean(axis=0)
    norm = (centred * centred).sum(axis=1)
    rounding = np.float32(4 * (dimensions + 4) * np.finfo(np.float32).eps * norm.max())
    left = np.hstack([centred, np.ones((total, 1))]).astype(np.float32)
    right = np.vstack([-2 * centred.T, norm]).astype(np.float32)

    def search(asked: Ints, wanted: int) -> tuple[Ints, Floats]:
        some = everything if most(wanted, total) else within_bound
        at_once = max(1, CELLS_AT_ONCE // total)
        parts = [some(asked[part], wanted) for part in slices(len(asked), at_once)]
        return np.concatenate([o for o, _ in parts]), np.concatenate([d for _, d in parts])

    def within_bound(asked: Ints, wanted: int) -> tuple[Ints, Floats]:
        heaps = max(HEAPS, 2 * wanted)
        depth = -(-total // heaps)
        rough = np.full((len(asked), depth * heaps), np.inf, dtype=np.float32)
        np.matmul(left[asked], right, out=rough[:, :total])
        piled = rough.reshape(len(asked), depth, heaps)
        lowest = piled.min(axis=1)
        bound = np.partition(lowest, wanted - 1, axis=1)[:, wanted - 1, None] + rounding
        row, heap = np.nonzero(lowest <= bound)
        pair, layer = np.nonzero(piled[row, :, heap] <= bound[row])
        return _closest(points, asked, row[pair], layer * heaps + heap[pair], wanted)

    def everything(asked: Ints, wanted: int) -> tuple[Ints, Floats]:
        # Products in double precision do where a distance is not small beside the norms.
        norms = norm[asked, None] + norm
        square = np.maximum(norms - 2 * (centred[asked] @ centred.T), 0)
        row, candidate = np.nonzero(square < norms * (dimensions + 4) * SAFE)
        square[row, candidate] = _measure(points, asked[row], candidate) ** 2
        nearest = np.argpartition(square, wanted - 1, axis=1)[:, :wanted]
        nearest.sort(axis=1)
        square = np.take_along_axis(square, nearest, axis=1)
        by = np.argsort(square, axis=1, kind="stable")
        order = np.take_along_axis(nearest, by, axis=1)
        return order, np.sqrt(np.take_along_axis(square, by, axis=1))

    return search


def _measure(points: Floats, one: Ints, other: Ints) -> Floats:
    """Return the distances between pairs of points."""
    distance = np.empty(len(one))
    for part in slices(len(one), max(1, CELLS_AT_ONCE // points.shape[1])):
        difference = points[one[part]] - points[other[part]]
        distance[part] = np.sqrt((difference * difference).sum(axis=1))
    return distance


def _closest(
    points: Floats, asked: Ints, row: Ints, candidate: Ints, wanted: int
) -> tuple[Ints, Floats]:
    """Return the `wanted` nearest candidates of each asked point; `row` ascends."""
    distance = _measure(points, asked[row], candidate)
    by = np.lexsort((candidate, distance, row))
    begin = np.searchsorted(row, np.arange(len(asked)))
    best = by[begin[:, None] + np.arange(wanted)]
    return candidate[best], distance[best]
