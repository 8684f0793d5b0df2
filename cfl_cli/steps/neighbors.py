"""Step 2: the k nearest rows of every row.

    N(i) = the k rows j ≠ i with the smallest ‖x_i − x_j‖, equal distances in pseudo-random order

Rows with equal features form a *group*, and distances are found between groups only: fifty
thousand rows of which three hundred are distinct cost what three hundred cost. Seen from one
group, all rows of its *inner* groups are neighbors; the *shell* is the groups at the k-th
distance, and the neighbors still wanting are drawn from its rows. The draw of row i depends on
the seed, on i and on the rows it draws from. So the rows of a large group lean on different
neighbors, and the answer depends on neither block size nor thread count.

How near groups are found is described in near.py. A searcher that may miss some is given up where
it matters most: a shell of several groups, which must be seen whole, is searched exactly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.draws import Bits, draw, hash_rows
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.steps.distances import TIE, Pairs
from cfl_cli.steps.near import Index, Searcher

ROWS_AT_ONCE = 1 << 16  # whose draws are made at once


@dataclass(frozen=True)
class Neighbors:
    """The neighbors, and how many of the true ones they are."""

    rows: Ints  # n × k: the numbers of every row's neighbors, nearest first
    recall: float  # measured on some rows of this table; 1.0 when the search was exact


def nearest(
    features: Floats,
    *,
    k: int,
    workers: Workers,
    seed: int = 0,
    exact: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> Neighbors:
    """Return every row's k neighbors; `exact` forbids a search that may miss some.

    Needs 1 ≤ k < n. `progress` is given how many rows are done.
    """
    groups = Groups.of(features)
    wanted = min(k + 1, len(groups.points))  # itself and k more: enough rows in any case
    index = Index.of(groups.points, wanted=wanted, exact=exact, workers=workers)
    neighbors = np.empty((len(features), k), dtype=np.int64)

    def settle(searcher: Searcher, asked: Ints) -> tuple[int, Ints]:
        near = searcher.search(asked)
        ranking = rank(near, groups.size, asked, own=asked, k=k, whole=searcher.whole)
        for rows, chosen in _draws(ranking, groups, k=k, seed=seed):
            neighbors[rows] = chosen
        return int(groups.size[ranking.asked].sum()), asked[~np.isin(asked, ranking.asked)]

    done, asked = 0, index.order
    for searcher in index.searchers:
        parts = [asked[part] for part in slices(len(asked), searcher.at_once)]
        left = [asked[:0]]
        for rows, rest in workers.map(partial(settle, searcher), parts):
            done += rows
            progress(done)
            left.append(rest)
        asked = np.concatenate(left)
    return Neighbors(neighbors, index.recall)


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
        keys = hash_rows(features)
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

    @property
    def of_rows(self) -> Ints:
        """Return every row's group, n."""
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


def _draws(ranking: Ranking, groups: Groups, *, k: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield row numbers and their neighbors, for all rows of the ranked groups."""
    count = groups.size[ranking.asked]
    owner = np.repeat(np.arange(len(ranking.asked)), count)
    first = np.repeat(groups.start[ranking.asked] - (np.cumsum(count) - count), count)
    rows = groups.members[first + np.arange(len(owner))]
    for part in slices(len(rows), max(1, ROWS_AT_ONCE // k)):
        yield rows[part], _neighbors_of(rows[part], owner[part], ranking, groups, k=k, seed=seed)


def _neighbors_of(
    rows: Ints, owner: Ints, ranking: Ranking, groups: Groups, *, k: int, seed: int
) -> Ints:
    """Return the neighbors of `rows`, which belong to the ranked groups `owner`."""
    place, pair = places(rows, owner, ranking, k=k, seed=seed)
    group = ranking.order[pair]
    own = group == ranking.asked[owner, None]
    offset = place - (ranking.reach[pair] - groups.size[group] + own)
    offset += own & (offset >= groups.place[rows, None])  # step over the row itself
    chosen: Ints = groups.members[groups.start[group] + offset]
    return chosen


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
    place = np.where(slot < inner, slot, inner + _shift(drawn, inner))
    stride = int(ranking.reach.max(initial=0)) + 1  # so that one search serves all rows
    reach = ranking.owner * stride + ranking.reach
    return place, np.searchsorted(reach, owner[:, None] * stride + place, side="right")


def _shift(drawn: Ints, inner: Ints) -> Ints:
    """Move every row's draws to the right by its inner count: slot i finds draw i − inner."""
    source = np.maximum(np.arange(drawn.shape[1]) - inner, 0)
    return np.take_along_axis(drawn, source, axis=1)


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
