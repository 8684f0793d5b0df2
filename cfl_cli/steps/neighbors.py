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

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Places
from cfl_cli.core.draws import Bits, draw, hash_rows
from cfl_cli.core.parallel import Engine, filled, slices
from cfl_cli.core.portable import NOTHING
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.distances import CELLS_AT_ONCE, TIE, Pairs
from cfl_cli.steps.near import Index, Searcher
from cfl_cli.steps.near_scan import scan

ROWS_AT_ONCE = 1 << 16  # whose draws are made at once


@dataclass(frozen=True)
class Neighbors:
    """The neighbors, and how many of the true ones they are."""

    rows: Places  # n × k: the numbers of every row's neighbors, nearest first
    recall: float  # measured on some rows of this table; 1.0 when the search was exact
    order: Ints  # n: all rows; those that follow each other are near each other


def nearest(
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
    groups = Groups.of(features, workers)
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
        """Settle some of the groups; return how many rows that are."""
        return self.place(part, self._found(part))

    def parcel(self, rows: slice) -> Callable[[slice], Any]:
        """Return what settles some of the groups."""
        asked = np.array(self.asked[rows])
        return replace(self, asked=asked, neighbors=NOTHING, left=NOTHING).found

    def found(self, part: slice) -> tuple[Ints, list[tuple[Places, Places]]]:
        """Return the settled ones of some groups, their rows and the neighbors of these."""
        settled, chosen = self._found(part)
        return settled, [(rows.astype(np.int32), near.astype(np.int32)) for rows, near in chosen]

    def place(self, part: slice, values: tuple[Ints, Iterable[tuple[Any, Any]]]) -> int:
        """Write the neighbors of the rows of some groups; return how many rows that are."""
        settled, chosen = values
        for rows, near in chosen:
            self.neighbors[rows] = near
        self.left[part] = ~np.isin(self.asked[part], settled)
        return int(self.groups.size[settled].sum())

    def written(self, part: slice) -> tuple[Mask, Places]:
        """Return what was written for some groups."""
        left = self.left[part]
        return left, self.neighbors[self.groups.rows_of(self.asked[part][~left])]

    def _found(self, part: slice) -> tuple[Ints, Iterator[tuple[Ints, Ints]]]:
        asked, groups = self.asked[part], self.groups
        lists, whole = self.searcher.lists, self.searcher.whole
        scanned = scan(lists, asked, groups.size) if lists else None
        near = self.searcher.search(asked) if scanned is None else scanned.near
        ranking = rank(near, groups.size, asked, own=asked, k=self.k, whole=whole)
        drawn = _draws(ranking, groups, k=self.k, seed=self.seed)
        if scanned is None:
            return ranking.asked, drawn
        # Each that is sure stands for one row, and so do its neighbors.
        sure, chosen = asked[scanned.sure], groups.members[groups.start[scanned.nearest[:, 1:]]]
        ready = groups.members[groups.start[sure]], chosen
        return np.concatenate([ranking.asked, sure]), chain(drawn, [ready])


@dataclass(frozen=True)
class Groups:
    """Rows with equal features, gathered."""

    points: Floats  # u × d: the distinct feature rows
    size: Ints  # u: how many rows share each
    start: Ints  # u: where each group begins in `members`
    members: Ints  # n: row numbers, group by group, ascending within a group
    place: Ints  # n: every row's place within its group

    @classmethod
    def of(cls, features: Floats, workers: Engine) -> Self:
        """Group the rows of `features`, groups in order of first appearance, for kernels."""
        keys = workers.empty("keys", (len(features),), np.uint64)
        hashing = HashRows(features, keys)
        filled(workers.rows("keys", hashing, len(features), at_once=hashing.rows))
        groups = cls.by(keys, features)
        workers.drop(keys)
        fields = vars(groups).items()
        return cls(**{name: workers.share(f"group {name}", own) for name, own in fields})

    @classmethod
    def here(cls, features: Floats) -> Self:
        """Group the rows of `features`, in memory."""
        return cls.by(hash_rows(features + 0.0), features)

    @classmethod
    def by(cls, keys: Bits, features: Floats) -> Self:
        """Group rows that have equal features, and so equal keys."""
        n, ranked = len(features), np.sort(keys)
        if (ranked[1:] != ranked[:-1]).all():  # all rows differ
            every, one = np.arange(n), np.ones(n, dtype=np.int64)
            return cls(features, one, every, every, np.zeros_like(one))
        first, group = _first_alike(features, keys)
        size = np.bincount(group)
        start = np.cumsum(size) - size
        members = np.argsort(group, kind="stable")
        place = np.empty(n, dtype=np.int64)
        place[members] = np.arange(n) - np.repeat(start, size)
        return cls(features[first] + 0.0, size, start, members, place)

    def rows_of(self, groups: Ints) -> Ints:
        """Return the rows of some groups, one group after the other."""
        count = self.size[groups]
        first = np.repeat(self.start[groups] - (np.cumsum(count) - count), count)
        rows: Ints = self.members[first + np.arange(len(first))]
        return rows

    @property
    def of_rows(self) -> Ints:
        """Return every row's group, n."""
        group = np.empty(len(self.members), dtype=np.int64)
        group[self.members] = np.repeat(np.arange(len(self.size)), self.size)
        return group


@dataclass(frozen=True)
class HashRows:
    """A kernel: a key for each row, the same for equal ones."""

    features: Floats
    keys: Bits  # n, to be filled

    @property
    def rows(self) -> int:
        """Return how many rows to look at at once."""
        return max(1, CELLS_AT_ONCE // int(self.features.shape[1]))

    def __call__(self, part: slice) -> None:
        """Make the keys of some rows; −0.0 and 0.0 are one value."""
        self.keys[part] = hash_rows(self.features[part] + 0.0)

    def written(self, part: slice) -> tuple[Bits, ...]:
        """Return what was written for some rows."""
        return (self.keys[part],)


def _first_alike(features: Floats, keys: Bits) -> tuple[Ints, Ints]:
    """Return the first row of every group, groups in order of these, and each row's group."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    parts = slices(len(features), max(1, CELLS_AT_ONCE // features.shape[1]))
    if not all(np.array_equal(features[first[group[part]]], features[part]) for part in parts):
        # Two keys collided.
        _, first, group = np.unique(features + 0.0, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
    seen = np.argsort(first)  # neighboring rows tend to be alike: keep their order
    return first[seen], np.argsort(seen)[group]


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
    owner = np.repeat(np.arange(len(ranking.asked)), groups.size[ranking.asked])
    rows = groups.rows_of(ranking.asked)
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
