"""Which rows are copies of others: they agree more often than cells of independent rows can.

Whatever the values behind them, the cells of a row are those of another, independent one with a
probability of at most

    p(S) = Π_CFs max_v P(S | v, s)         1/(K−1) for each cell of one uniform exclusion

Exact and empty cells count 1: they say nothing. Rows are gathered by their OFs in several ways:
where these are equal, where all but one of them are, and where they are nearly equal, at a few
distances, as clusters and as pairs. One after the other, each row is compared with those that it is
gathered with and that come before it, and agrees with one of them by chance with

    q = Σ p(S)                             over their distinct cells, as far as 1

If a share c of the rows were copies, a row would agree with a probability of c + (1 − c)·q. So

    E = Π (c/q + 1 − c) over rows that agree · Π (1 − c) over the others

is 1 in expectation, or less, if there are none, and to exceed 1/α has a probability of at most α
(Ville). That holds for rows that are compared with those before them, whatever came before, and for
a mean over several c. With m ways to look at a table, E must exceed m/α.

The bound p is reached where all rows have the same values. In large clusters that leaves too much
room, so rows are compared in a second way too: among those that agree in all CFs but the one that
says most, by that CF alone. And as one cell of a copy may be drawn anew, they are compared without
each CF in turn. Exclusions that are not uniform agree more often than p as well, but then in rows a
little farther away too: q is raised by as much as these agree more often.

Where there are copies, a row that agrees is one with a probability of c/(c + (1 − c)·q), c from the
share x of rows that agree: (x − mean q)/(1 − mean q). If more rows than one have its cells, q is how
many should by chance, over how many do, where that is less. Rows are linked in the view first that shows
copies most clearly; later views are of the rows that are left.

Rows of a key, such as the years of one person, are compared in the same way, whatever their OFs.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask, components, ranks
from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import distinct
from cfl_cli.core.parallel import Engine
from cfl_cli.methods.graph.neighbors import Groups, nearest_neighbors

# Rows gathered by their OFs: where these are equal, equal but for one OF, and nearly equal.
#
# Two distinct OF rows are a pair if they are near each other, and a cluster is what pairs link:
#
#     ‖x_i − x_j‖ ≤ d        for a few distances d, and j among the nearest of i
#
# In a cluster that holds too many rows agree by chance, and the pairs remain: panels drift through a
# table, and are linked to others by few rows.

_NEAR = 8  # distinct OF rows around each one that are looked at
OUTSIDE = 2  # of these, on average, must be in other clusters for a comparison with them
PAIRS = 400_000  # of near rows in different clusters, about, that are compared
DISTANCES = 12  # at most, at which OFs count as nearly equal
_CROWD = 64  # rows near a row, at most; more of them agree by chance too often to tell anything
SPARSE = 4  # of the distinct OF rows, one of so many is there to look farther away
_GAP = 4  # times as large as the last distance: one more is tried between them
_FEWEST = 16  # pairs within the least of these distances


@dataclass(frozen=True, eq=False)
class Gathered:
    """Distinct OF rows in clusters, or in pairs that are near each other."""

    clusters: Ints
    distance: float = 0.0
    pairs: bool = False


class Points:
    """Distinct OF rows, and the ways to gather them where they are equal or nearly equal."""

    def __init__(self, features: Floats, ofs: Sequence[slice], workers: Engine, seed: int) -> None:
        self.groups, self.workers, self.seed = Groups.here(features), workers, seed
        sizes = self.groups.size
        self.of_rows = np.empty(len(features), dtype=np.int64)
        self.of_rows[self.groups.members] = np.repeat(np.arange(len(sizes)), sizes)
        self.near, self.distance = self._around(np.arange(len(sizes)))
        self.distances: list[float] = []  # at which OFs count as nearly equal
        if self.distance.size:
            ranked = np.sort(self.distance[:, 0])
            ranks = np.geomspace(min(_FEWEST, len(ranked)), len(ranked), DISTANCES).astype(int) - 1
            distances = np.unique(ranked[ranks])
            wide = distances[1:] > _GAP * distances[:-1]
            between = np.sqrt(distances[1:] * distances[:-1])[wide]
            self.distances = np.unique(np.append(distances, between)).tolist()
        self.ofs = ofs if len(ofs) > 1 else ()
        self.tests = 1 + len(self.ofs) + 2 * len(self.distances)
        self._pairs: dict[int, tuple[Ints, Ints, Floats]] = {}

    def gathered(self) -> Iterator[Gathered]:
        """Yield the ways to gather them, rows that are equal in all OFs first."""
        every = np.arange(len(self.near))
        yield Gathered(every)
        yield from map(Gathered, self._all_but_one())
        for distance in self.distances:
            one, slot = np.nonzero(self.distance <= distance)
            clusters = components(len(self.near), one, self.near[one, slot])
            yield Gathered(clusters, distance)
            yield Gathered(every, distance, pairs=True)

    def _near_pairs(self, step: int) -> tuple[Ints, Ints, Floats]:
        """Return pairs of near points once, and how far from each other they are."""
        if step not in self._pairs:
            one = np.repeat(np.arange(len(self.near)), self.near.shape[1])
            other, far = self.near.ravel(), self.distance.ravel()
            some = np.maximum(one, other) % step == 0
            one, other, far = one[some], other[some], far[some]
            low, high = np.minimum(one, other), np.maximum(one, other)
            _, first = np.unique(low * len(self.near) + high, return_index=True)
            self._pairs[step] = low[first], high[first], far[first]
        return self._pairs[step]

    def pairs(self, distance: float, step: int = 1) -> tuple[Ints, Ints]:
        """Return all pairs of rows at most so far from each other, but not equal, of few near rows.

        Each pair is there once; rows with more than `_CROWD` others are left out. With a `step`
        only those of one in so many points are returned.
        """
        one, other, far = self._near_pairs(step)
        near = far <= distance
        one, other, size = one[near], other[near], self.groups.size
        around = np.bincount(one, size[other], len(size)) + np.bincount(other, size[one], len(size))
        few = (around[one] <= _CROWD) & (around[other] <= _CROWD)
        one, other = one[few], other[few]
        firsts = np.repeat(np.arange(len(one)), size[other])
        rows = self.groups.rows_of(other)
        seconds = np.repeat(np.arange(len(rows)), size[one[firsts]])
        return self.groups.rows_of(one[firsts]), rows[seconds]

    def _all_but_one(self) -> Iterator[Ints]:
        """Yield the clusters of points that are equal in all OFs but one, for each of them."""
        points = self.groups.points

        def key(place: int) -> draws.Bits:
            cells = draws.hash_rows(points[:, self.ofs[place]])
            return draws.draw(cells, draws.COPIES, place)

        total = np.zeros(len(points), dtype=np.uint64)
        for place in range(len(self.ofs)):
            total += key(place)
        for place in range(len(self.ofs)):
            yield np.unique(total - key(place), return_inverse=True)[1].reshape(-1)

    def _around(self, points: Ints) -> tuple[Ints, Floats]:
        places = self.groups.points[points]
        k = min(_NEAR, len(points) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=np.int64), np.empty((1, 0))
        near = nearest_neighbors(places, k=k, seed=self.seed, workers=self.workers).rows
        distance = np.empty(near.shape)
        for slot in range(k):
            distance[:, slot] = np.linalg.norm(places - places[near[:, slot]], axis=1)
        return points[near], distance

    def elsewhere(self, clusters: Ints) -> tuple[Ints, Ints]:
        """Return pairs of rows that are near each other or not, of different clusters of rows."""
        n = len(self.of_rows)
        one, other = self.outside(Gathered(np.arange(len(self.near))))
        rows = np.arange(0, n, -(-n * _NEAR // PAIRS))
        drawn = draws.draw(rows, draws.COPIES, self.seed) % np.uint64(n)
        one, other = np.append(one, rows), np.append(other, drawn.astype(np.int64))
        apart = clusters[one] != clusters[other]
        return one[apart], other[apart]

    def outside(self, gathered: Gathered) -> tuple[Ints, Ints]:
        """Return pairs of rows that are near each other, but not gathered."""
        distance, clusters = gathered.distance, gathered.clusters
        apart = (self.distance > distance) & (clusters[self.near] != clusters[:, None])
        near, owner = self.near, self.of_rows
        if apart[self.of_rows].sum() < OUTSIDE * len(self.of_rows):
            # Of one point for each cluster, or of every fourth: what is near these is outside.
            _, firsts, places = np.unique(clusters, return_index=True, return_inverse=True)
            places = places.reshape(-1)
            if gathered.pairs:
                places = np.where(places % SPARSE == 0, places // SPARSE, -1)
                firsts = firsts[::SPARSE]
            near, far = self._around(firsts)
            apart, owner = far > (distance if gathered.pairs else 0), places[self.of_rows]
        step = max(-(-owner.size * near.shape[1] // PAIRS), 1)
        apart = np.vstack([apart, np.zeros_like(apart[:1])])  # of rows that are left out: −1
        rows, slot = np.nonzero(apart[owner[::step]])
        rows *= step
        point = near[owner[rows], slot]
        drawn = draws.draw(rows * _NEAR + slot, draws.COPIES, self.seed)
        place = drawn % self.groups.size[point].astype(np.uint64)
        return rows, self.groups.members[self.groups.start[point] + place.astype(np.int64)]


_LEVEL = 0.001  # how often a table without copies may look as if it had some
# What follows was chosen on a dozen real tables and four made ones (benchmarks/field/copies.py),
# with and without copies, and with exclusions that are not uniform.
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95)  # c, of copies, that are tried
SOME_ROWS = 5_000  # that are looked at first, about, to see whether there can be copies
_MANY_CFS = 6  # above which rows agree in half of the CFs, not in all but one
_CLASSES = 7  # of rows, by how many they are compared with: 1, 2 to 3, 4 to 7, … 64 or more
PATTERNS = 16  # of empty cells, the commonest, that are looked at
_ENOUGH = 9  # pairs that should agree by chance, to know whether more do
_NOT_UNIFORM = 1.2  # times as many agree among rows farther away: exclusions are not uniform …
_MOST = 0.5  # … and then this share at least must be copies
_LEAST = 1e-300  # of a chance
FURTHER = log(20)  # evidence in one more view of a table with copies
SHARED = 0.5  # of the rows with a key: from here on it names whose they are
# Where more than so many of the rows are copies, and the share of these that is missed because they
# cannot be told from rows that agree by chance is larger, hidden cells are given away by copies.
MANY, MISSED = 0.05, 0.3
_BLIND = 0.9  # of a chance to agree, above which agreeing says nothing
_SURE = 0.9  # as probably a copy as this is linked whatever the draw


@dataclass(frozen=True, eq=False)
class Copies:
    rows: Ints  # the copies
    twins: Ints  # for each, a row that it is a copy of
    key: int | None = None  # whose rows share cells
    missed: bool = False  # are there probably many more?

    @property
    def warning(self) -> str:
        done = "they are held out together and count as one"
        if self.missed:
            done = "probably there are many more, so the accuracy is unknown"
        return (
            f"{len(self.rows):,} rows are exact or near copies of other rows, and {done}; remove "
            "them if they are a mistake, or name the column that "
            "identifies their owner under `group`"
        )


@dataclass(frozen=True, eq=False)
class Key:
    """A column that may name whose a row is."""

    rows: Ints  # n: the same number for the same cell
    is_of: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows compared with those before them in their cluster."""

    rows: Ints  # m
    others: Ints  # m: how many rows each was compared with
    chance: Floats  # m: q, how probably it agrees with one of them by chance, at most
    agrees: Mask  # m
    twins: Ints  # m: the last one before it that agrees; itself if none does
    alike: Ints  # m: how many agree with it, before it or (in clusters) after it
    specific: Floats  # m: q of its own cells: how many should agree with it, over how many do
    links: tuple[Ints, Ints]  # rows and those they agree with: enough to join all that agree

    def share(self, some: Ints | slice = slice(None)) -> float:
        """Return the share of copies among the rows, or some of them."""
        chance = self.chance[some].mean()
        return max(float((self.agrees[some].mean() - chance) / max(1 - chance, _LEAST)), 0.0)

    @property
    def most_evidence(self) -> float:
        """Return how much evidence of copies there can be, whatever others agree."""
        logs = (_log_e(self.agrees[own], self.chance[own]) for own in self.classes)
        return sum(max(float(of_class.max()), 0.0) for of_class in logs)

    @property
    def classes(self) -> list[Ints]:
        """Return the places of rows that were compared with about as many."""
        number = np.minimum(np.log2(self.others).astype(int), _CLASSES - 1)
        classes = (np.flatnonzero(number == place) for place in range(_CLASSES))
        return [rows for rows in classes if len(rows)]


@dataclass(frozen=True, eq=False)
class View:
    """Rows compared in one way: gathered by some of their OFs, by their cells in some CFs."""

    compared: Comparison
    expected: Floats  # n: how often rows agree by chance with others outside their cluster …
    seen: Floats  # … and how often they do
    exact: bool = False  # are rows gathered that are equal in all OFs?

    def without(self, rows: Mask) -> "View":
        own = self.compared
        left = ~rows[own.rows]
        compared = Comparison(
            own.rows[left],
            own.others[left],
            own.chance[left],
            own.agrees[left],
            own.twins[left],
            own.alike[left],
            own.specific[left],
            own.links,
        )
        return replace(self, compared=compared)

    @cached_property
    def judged(self) -> tuple[float, Floats]:
        return _judge(self.compared, self.expected, self.seen)


def find_copies(
    known: Known,
    *,
    ofs: Sequence[slice] = (),
    keys: Sequence[Key] = (),
    workers: Engine,
    seed: int,
) -> Copies | None:
    """Return the rows that are copies of others; None: nothing speaks for copies.

    `ofs` are the features of each OF. `keys` may name whose a row is. Rows that share cells within
    a group of `known`, or within those of a key that is found, are no copies.
    """
    cells = CfCells(known)
    if not cells.logs.any():  # all are exact or empty
        return None
    points = Points(known.features, ofs, workers, seed)
    ways, of_keys = _ways(cells), _ways_of_keys(cells)
    tests = points.tests * len(ways) + len(keys) * len(of_keys)
    surprising = log(2 * tests / _LEVEL)
    found = np.zeros(len(known), dtype=bool)
    if known.groups is not None:
        found |= _sharing(cells, ranks(known.groups))
    views = [view.without(found) for view in _views(points, ways)]
    # Where rows of a key are equal in all OFs too, they are copies rather than rows of one person.
    plainly = max((view.judged[0] for view in views if view.exact), default=0.0) + FURTHER
    sharing = [_shared(key, of_keys, points) for key in keys]
    key = _best(sharing, keys, max(surprising, plainly), lambda place: not keys[place].is_of)
    if key is not None:
        found |= _sharing(cells, keys[key].rows)
        views = [view.without(found) for view in views]
    joined, missed = [np.empty((0, 2), dtype=np.int64)], False
    if any(view.judged[0] > surprising for view in views):
        linked, missed = _linked(views, found, seed)
        joined += linked
    if key is None:
        left = [[view.without(found) for view in of_key] for of_key in sharing]
        key = _best(left, keys, surprising, lambda place: keys[place].is_of)
    one, other = np.concatenate(joined).T
    if key is None and not len(one):
        return None
    first = components(len(known), one, other)
    _, begins = np.unique(first, return_index=True)
    rows = np.setdiff1d(np.arange(len(known)), begins)
    missed = missed and (key is None or not keys[key].is_of)
    return Copies(rows, begins[first[rows]], key, missed)


# Keys: columns whose rows share cells, such as those of one person in several years.
#
# Cells of one key are compared in all CFs, and in each CF: some cells may be carried forward, and
# others not. Where a column is an OF, rows must share cells beyond those that are copies.


def _ways_of_keys(cells: "CfCells") -> list["CfCells"]:
    if cells.count == 1:
        return [cells]
    every = np.arange(cells.count)
    return [cells, *(one for cf in every if (one := cells.some(cfs=every == cf)).logs.any())]


def _shared(key: Key, ways: Sequence["CfCells"], points: Points) -> list[View]:
    """Return the comparisons of rows with others of the same key that may show that they share."""
    views: list[View] = []
    rows = _some(key.rows, _step(len(key.rows)))
    for cells in ways if len(rows) else ():
        nothing = np.zeros(cells.count, dtype=bool)
        some = cells.some(rows=rows).compare(key.rows[rows], nothing)
        if some.most_evidence > FURTHER:
            compared = cells.compare(key.rows, nothing)
            pairs = points.elsewhere(key.rows)
            views.append(View(compared, *cells.background(pairs, nothing)))
    return views


def _best(
    sharing: Sequence[Sequence[View]],
    keys: Sequence[Key],
    surprising: float,
    asked: Callable[[int], bool],
) -> int | None:
    """Return the key whose rows most clearly share cells; None: none does."""
    best = None
    for place, views in enumerate(sharing):
        for view in views if asked(place) else ():
            evidence = view.judged[0]
            if evidence > surprising and view.compared.share() >= SHARED:
                surprising, best = evidence, place
    return best


def _sharing(cells: "CfCells", groups: Ints) -> Mask:
    """Return which rows have the cells of another row of their group."""
    sharing = np.zeros(len(groups), dtype=bool)
    compared = cells.compare(groups, np.zeros(cells.count, dtype=bool))
    sharing[compared.rows[compared.agrees]] = True
    return sharing


def _ways(cells: "CfCells") -> list[tuple["CfCells", Mask]]:
    """Return the CFs by which rows are compared, and in which of them they must agree already.

    All CFs; among rows that agree in all but the one that says most, that one; and all but one, or
    each half of many.
    """
    every = np.arange(cells.count)
    ways = [(cells, np.zeros(cells.count, dtype=bool))]
    if cells.count > 1:
        ways.append((cells, every != cells.logs.sum(axis=0).argmin()))
        many = cells.count > _MANY_CFS
        parts = [every % 2 == half for half in (0, 1)] if many else [every != cf for cf in every]
        without = (cells.some(cfs=part) for part in parts)
        ways += [(one, np.zeros(one.count, dtype=bool)) for one in without if one.logs.any()]
    return ways


def _views(points: Points, ways: Sequence[tuple["CfCells", Mask]]) -> Iterator[View]:
    """Yield the views that may show copies; of many rows, some are looked at first."""
    step = _step(len(points.of_rows))
    for place, gathered in enumerate(points.gathered()):
        clusters = gathered.clusters[points.of_rows]
        rows = _some(clusters, step)
        pairs = points.pairs(gathered.distance, step) if gathered.pairs else None
        outside: tuple[Ints, Ints] | None = None
        for cells, given in ways if len(rows) else ():
            if pairs:
                compared = cells.compare_pairs(*pairs, given)
            else:
                some = cells if step == 1 else cells.some(rows=rows)
                compared = some.compare(clusters[rows], given)
            if compared.most_evidence <= FURTHER:
                continue
            if step > 1 and pairs:
                compared = cells.compare_pairs(*points.pairs(gathered.distance), given)
            elif step > 1:
                compared = cells.compare(clusters, given)
            outside = outside or points.outside(gathered)
            yield View(compared, *cells.background(outside, given), exact=place == 0)


def _step(n: int) -> int:
    return -(-n // SOME_ROWS)


def _some(clusters: Ints, step: int) -> Ints:
    """Return the rows of one in so many clusters."""
    drawn = draws.draw(clusters, draws.COPIES, 0) % np.uint64(step)
    return np.flatnonzero(drawn == 0)


def _linked(views: Sequence[View], found: Mask, seed: int) -> tuple[list[Ints], bool]:
    """Return pairs of rows that are copies, and whether many copies may be missed.

    The views come first that show copies most clearly. Rows that are `found` are left out, and those
    of the pairs become such rows.
    """
    joined, copies, missed, largest = [], 0.0, 0.0, 0.0
    for view in sorted(views, key=lambda view: view.judged[0], reverse=True):
        left = view.without(found)
        evidence, probability = left.judged
        if evidence <= FURTHER:
            continue
        own = left.compared
        sure, linked = probability > _SURE, np.zeros(len(found), dtype=bool)
        drawn = draws.chances(own.rows, draws.COPIES, seed) < probability
        linked[own.rows[own.agrees & (drawn | sure)]] = True
        copies += probability[own.agrees].sum()
        # A copy is given away as soon as one of those that are alike is missed.
        given_away = probability * (1 - probability**own.alike)
        missed += given_away[own.agrees & ~sure].sum()
        largest = max(largest, _unseen(own))
        rows, twins = own.links
        joined.append(np.column_stack([rows, twins])[linked[rows]])
        found |= linked
    missed += largest
    return joined, bool(copies > MANY * len(found) and missed > MISSED * copies)


def _unseen(compared: Comparison) -> float:
    """Return how many copies there are among rows that agree by chance, if as many as elsewhere."""
    blind = compared.chance > _BLIND
    return 0.0 if blind.all() else compared.share(np.flatnonzero(~blind)) * float(blind.sum())


class CfCells:
    def __init__(self, known: Known) -> None:
        parts = [known.drawn[:, block] for block in known.columns]
        sizes = np.column_stack([(~part).sum(axis=1) for part in parts])
        self.empty = sizes == 0
        self.cells = np.column_stack([distinct(part)[1] for part in parts])  # n × CFs
        # Cells that could agree: of as many exclusions, and exact ones of the same value.
        exact = sizes == [how.exact for how in known.mechanisms]
        self.kinds = np.where(exact, -1 - self.cells, sizes)
        self.logs = np.column_stack(  # log max_v P(S | v, s)
            [how.scaled(part)[1] for how, part in zip(known.mechanisms, parts, strict=True)]
        )

    def some(
        self, *, rows: Ints | slice = slice(None), cfs: Mask | slice = slice(None)
    ) -> "CfCells":
        """Return the cells of some rows, or of some CFs."""
        some = copy(self)
        vars(some).pop("patterns", None)
        for name in ("empty", "cells", "kinds", "logs"):
            setattr(some, name, getattr(self, name)[rows][:, cfs])
        return some

    @property
    def count(self) -> int:
        return int(self.cells.shape[1])

    @cached_property
    def patterns(self) -> list[Mask]:
        """Return which CFs rows have empty, the commonest patterns first."""
        first, places = distinct(self.empty)
        common = np.argsort(-np.bincount(places), kind="stable")[:PATTERNS]
        return [pattern for pattern in self.empty[first[common]] if not pattern.all()]

    def compare(self, clusters: Ints, given: Mask) -> Comparison:
        """Compare rows with those of their cluster that come before them and agree in `given` CFs.

        A row with empty cells comes after those without, and is compared by its other cells.
        """
        ints, floats, mask = (np.empty(0, dtype=kind) for kind in (np.int64, float, bool))
        compared = [(ints, ints, floats, mask, ints, ints, floats)]
        for pattern in self.patterns:
            used = ~pattern
            told, kept = used & ~given, used & given
            if not told.any():
                told, kept = used, np.zeros_like(given)
            rows = np.flatnonzero(~self.empty[:, used].any(axis=1))
            alone = np.bincount(clusters[rows], minlength=clusters.max() + 1)[clusters] == 1
            chance = np.maximum(np.exp(self.logs[:, told].sum(axis=1)), _LEAST)
            rows = rows[~alone[rows] & (chance[rows] < 1)]
            own = (self.empty[rows] == pattern).all(axis=1)
            rows = rows[np.argsort(own, kind="stable")]
            parts = [clusters[rows, None], self.kinds[rows][:, used], self.cells[rows][:, kept]]
            together = draws.hash_rows(np.hstack(parts))
            order, begin, place = _runs(together)
            around = np.bincount(begin)[begin] - 1
            rows, own = rows[order], np.sort(own, kind="stable")[order]
            alike = np.column_stack([together[order].view(np.int64), self.cells[rows][:, told]])
            by, first, nth = _runs(draws.hash_rows(alike))
            agrees, twins, same = np.zeros(len(rows), dtype=bool), rows.copy(), np.zeros_like(rows)
            same[by] = np.bincount(first)[first] - 1
            specific = np.minimum(chance[rows] * around / np.maximum(same, 1), 1)
            agrees[by] = nth > 0
            twins[by] = np.where(nth > 0, rows[np.roll(by, 1)], rows[by])
            new = np.where(agrees, 0, chance[rows])
            before = np.cumsum(new) - new
            before -= before[begin]
            asked = own & (place > 0)
            chance = np.clip(before[asked], _LEAST, 1)  # a difference of sums may be 0, or less
            of_rows = rows[asked], place[asked], chance, agrees[asked], twins[asked]
            compared.append((*of_rows, same[asked], specific[asked]))
        found = zip(*compared, strict=True)
        asking, others, chance, agrees, twins, same, specific = map(np.concatenate, found)
        links = asking[agrees], twins[agrees]
        return Comparison(asking, others, chance, agrees, twins, same, specific, links)

    def compare_pairs(self, one: Ints, other: Ints, given: Mask) -> Comparison:
        """Compare the later row of each pair with the earlier, in the same sense as `compare`."""
        some = self.empty.sum(axis=1)
        swapped = np.where(some[one] == some[other], one > other, some[one] > some[other])
        one, other = np.where(swapped, other, one), np.where(swapped, one, other)
        used = ~self.empty[other]
        told = used & ~given
        told = np.where(told.any(axis=1, keepdims=True), told, used)
        equal = self.cells[one] == self.cells[other]
        able = (used <= (self.kinds[one] == self.kinds[other])).all(axis=1)
        able &= ((used & ~told) <= equal).all(axis=1) & ~(used & self.empty[one]).any(axis=1)
        logs = np.where(told, self.logs[other], 0).sum(axis=1)
        able &= logs < 0
        one, rows, logs, equal, told = one[able], other[able], logs[able], equal[able], told[able]
        agree = (told <= equal).all(axis=1)
        cells = np.where(told, self.cells[one], -1)
        _, first = np.unique(draws.hash_rows(np.column_stack([rows, cells])), return_index=True)
        n = len(self.cells)
        chance = np.bincount(rows[first], np.exp(logs[first]), n)
        others, agrees, twins = (
            np.bincount(rows, minlength=n),
            np.zeros(n, dtype=bool),
            np.arange(n),
        )
        agrees[rows[agree]], twins[rows[agree]] = True, one[agree]
        asked = np.flatnonzero(others)
        each = np.bincount(rows, np.exp(logs), n)  # p, times the number of others
        same = np.bincount(rows[agree], minlength=n)
        return Comparison(
            asked,
            others[asked],
            np.clip(chance[asked], _LEAST, 1),
            agrees[asked],
            twins[asked],
            same[asked],
            np.minimum(each / np.maximum(same, 1), 1)[asked],
            (rows[agree], one[agree]),
        )

    def background(self, pairs: tuple[Ints, Ints], given: Mask) -> tuple[Floats, Floats]:
        """Return how often rows should agree with others by chance, pair by pair, and do; n each.

        Pairs that cannot agree, or do not agree in the `given` CFs, are left out.
        """
        one, other = pairs
        both = ~self.empty[one] & ~self.empty[other]
        equal = (self.cells[one] == self.cells[other]) | ~both
        alike = (self.kinds[one] == self.kinds[other]) | ~both
        told = np.where(both & ~given, self.logs[one], 0).sum(axis=1)
        able = alike.all(axis=1) & equal[:, given].all(axis=1) & (told < 0)
        chance = np.where(able, np.maximum(np.exp(told), _LEAST), 0)
        agree = (able & equal.all(axis=1)).astype(float)
        expected, seen = np.zeros((2, len(self.cells)))
        np.add.at(expected, one, chance)
        np.add.at(seen, one, agree)
        return expected, seen


def _judge(compared: Comparison, expected: Floats, seen: Floats) -> tuple[float, Floats]:
    """Return log E, and how probably rows that agree are copies, m.

    `expected` and `seen`, n, say how often rows agree with others that are near, but not in their
    cluster.
    """
    everywhere = _times_as_often(seen.sum(), expected.sum())
    logs, probability = [np.zeros(len(SHARES))], np.zeros(len(compared.rows))
    for rows in compared.classes:
        # Copies outside raise q as well: what is evidence even then need not be doubted once more.
        q = np.clip(compared.chance[rows], None, np.maximum(compared.specific[rows], _LEAST))
        share = compared.share(rows)
        probability[rows] = share / np.maximum(share + (1 - share) * q, _LEAST)
        near = compared.rows[rows]
        by_chance, raised = expected[near].sum(), 1.0
        if everywhere != 1 or by_chance > _ENOUGH:
            raised = max(everywhere, _times_as_often(seen[near].sum(), by_chance))
        q = np.minimum(raised * compared.chance[rows], 1)
        mean = q.mean()
        more = compared.agrees[rows].mean() - mean
        copies = more / (1 - mean) if more > 0 else 0.0
        # Without pairs to compare with, nobody knows; and then, see above.
        if not expected[near].any() or (raised > _NOT_UNIFORM and copies < _MOST):
            continue
        logs.append(_log_e(compared.agrees[rows], q))
    # Each class may have a share of copies of its own, or all the same.
    evidence = max(sum(map(_log_mean, logs)), _log_mean(np.sum(logs, axis=0)))
    return evidence, probability


def _log_e(agrees: Mask, chance: Floats) -> Floats:
    chance = chance[agrees]
    missed = (~agrees).sum()
    return np.array([np.log(c / chance + 1 - c).sum() + missed * np.log(1 - c) for c in SHARES])


def _log_mean(logs: Floats) -> float:
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


def _times_as_often(seen: float, expected: float) -> float:
    if expected == 0 or (expected > _ENOUGH and seen <= expected + 2 * np.sqrt(expected)):
        return 1.0
    return max(float((seen + 3 * np.sqrt(seen) + 3) / expected), 1.0)


def _runs(keys: draws.Bits) -> tuple[Ints, Ints, Ints]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(new)
    begin = begins[np.cumsum(new) - 1]
    return order, begin, np.arange(len(keys)) - begin
