"""Which rows are copies of others: they agree more often than cells of independent rows can.

Whatever the values behind them, the cells of a row are those of another, independent one with a
probability of at most

    p(S) = Π_CFs max_v P(S | v, s)         1/(K−1) for each cell of one uniform exclusion

Exact and empty cells count 1: they say nothing. Rows are gathered by their OFs, first where these
are equal, then where they are nearly equal, at a few distances. One after the other, each row of
such a cluster is compared with those before it, and agrees with one of them by chance with

    q = Σ p(S)                             over their distinct cells, as far as 1

If a share c of the rows were copies, a row would agree with a probability of c + (1 − c)·q. So

    E = Π (c/q + 1 − c) over rows that agree · Π (1 − c) over the others

is 1 in expectation, or less, if there are none, and to exceed 1/α has a probability of at most α
(Ville). That holds for rows that are compared with those before them, whatever came before, and for
a mean over several c. A row that agrees is a copy with a probability of c/(c + (1 − c)·q), c from
the share x of rows that agree: (x − mean q)/(1 − mean q).

The bound p is reached where all rows have the same values. In large clusters that leaves too much
room, so rows are compared in a second way too: among those that agree in all CFs but the one that
says most, by that CF alone. Exclusions that are not uniform agree more often than p as well, but
then in rows a little farther away too: q is raised by as much as these agree more often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import distinct
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.steps.neighbors import Groups, nearest

LEVEL = 0.001  # how often a table without copies may look as if it had some
# What follows was chosen on a dozen real tables and four made ones (benchmarks/field/copies.py),
# with and without copies, and with exclusions that are not uniform.
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 0.95)  # c, of copies, that are tried
NEAR = 8  # distinct OF rows around each one that are looked at
OUTSIDE = 2  # of these, on average, must be in other clusters for a comparison with them
PAIRS = 400_000  # of near rows in different clusters, about, that are compared
DISTANCES = 12  # at most, at which OFs count as nearly equal
FEWEST = 16  # pairs within the least of these distances
LARGEST = 0.2  # of the distinct OF rows that a cluster may hold; otherwise all is near
CLASSES = 7  # of rows, by how many they are compared with: 1, 2 to 3, 4 to 7, … 64 or more
PATTERNS = 16  # of empty cells, the commonest, that are looked at
ENOUGH = 9  # pairs that should agree by chance, to know whether more do
NOT_UNIFORM = 1.2  # times as many agree among rows farther away: exclusions are not uniform …
MOST = 0.5  # … and then this share at least must be copies
SURE = 0.9  # as probably a copy as this is linked whatever the draw


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows that are copies of others, linked to them."""

    rows: Ints  # the copies
    twins: Ints  # for each, a row that it is a copy of

    @property
    def warning(self) -> str:
        """Return what to tell about them."""
        return (
            f"{len(self.rows):,} rows are copies of others (equal or nearly equal OFs, and the "
            "same exclusions in every CF): they are hidden together, and intervals are wider; "
            "remove them if they are a mistake"
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows compared with those before them in their cluster."""

    rows: Ints  # m
    others: Ints  # m: how many rows each was compared with
    chance: Floats  # m: q, how probably it agrees with one of them by chance, at most
    agrees: Mask  # m
    twins: Ints  # m: the last one before it that agrees; itself if none does

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the comparisons of all parts' rows."""
        names = ("rows", "others", "chance", "agrees", "twins")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Judged:
    """What a comparison says: how surely there are copies, and which rows they are."""

    comparison: Comparison
    evidence: float  # log E
    proven: bool
    probability: Floats  # m: of being a copy, for rows that agree


def find(known: Known, *, workers: Workers, seed: int) -> Copies | None:
    """Return the rows that are copies of others; None: nothing speaks for copies."""
    cells, points = CfCells(known), Points(known.features, workers, seed)
    distances = points.distances()
    views = [np.zeros(cells.count, dtype=bool), cells.all_but_one][: 1 + (cells.count > 1)]
    surprising = log(2 * len(distances) * len(views) / LEVEL)
    best: Judged | None = None
    proven = False
    for distance in distances:
        clusters = points.clusters(distance)
        if points.largest(clusters) > LARGEST and distance > 0:
            continue
        outside = points.outside(distance, clusters)
        for given in views:
            judged = _judge(cells, clusters, outside, given, surprising)
            proven |= judged.proven
            if best is None or judged.evidence > best.evidence:
                best = judged
    if best is None or not proven:
        return None
    rows = best.comparison.rows
    drawn = draws.chances(rows, draws.COPIES, seed) < best.probability
    linked = best.comparison.agrees & (drawn | (best.probability > SURE))
    return Copies(rows[linked], best.comparison.twins[linked])


class CfCells:
    """The cells of all CFs, each as a number."""

    def __init__(self, known: Known) -> None:
        parts = [known.candidates[:, block] for block in known.columns]
        self.count = len(parts)
        sizes = np.column_stack([(~part).sum(axis=1) for part in parts])
        self.empty = sizes == 0
        self.cells = np.column_stack([distinct(part)[1] for part in parts])  # n × CFs
        # Cells that could agree: of as many exclusions, and exact ones of the same value.
        exact = sizes == [part.shape[1] - 1 for part in parts]
        self.kinds = np.where(exact, -1 - self.cells, sizes)
        self.logs = np.column_stack(  # log max_v P(S | v, s)
            [how.scaled(part)[1] for how, part in zip(known.mechanisms, parts, strict=True)]
        )

    @cached_property
    def all_but_one(self) -> Mask:
        """Return which CFs are not the one that says most."""
        return np.asarray(np.arange(self.count) != self.logs.sum(axis=0).argmin())

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
        return Comparison.joined(
            [self._compare(clusters, given, pattern) for pattern in self.patterns]
        )

    def _compare(self, clusters: Ints, given: Mask, pattern: Mask) -> Comparison:
        used = ~pattern
        told = used & ~given
        if not told.any():
            told, given = used, np.zeros_like(given)
        rows = np.flatnonzero(~self.empty[:, used].any(axis=1))
        alone = np.bincount(clusters[rows], minlength=clusters.max() + 1)[clusters] == 1
        chance = np.exp(self.logs[:, told].sum(axis=1))
        rows = rows[~alone[rows] & (chance[rows] < 1)]
        own = (self.empty[rows] == pattern).all(axis=1)
        rows = rows[np.argsort(own, kind="stable")]
        kept = given & used
        parts = [clusters[rows, None], self.kinds[rows][:, used], self.cells[rows][:, kept]]
        together = _keys(np.hstack(parts))
        order, begin, place = _runs(together)
        rows, own = rows[order], np.sort(own, kind="stable")[order]
        by, _, nth = _runs(_keys(np.column_stack([together[order], self.cells[rows][:, told]])))
        agrees, twins = np.zeros(len(rows), dtype=bool), rows.copy()
        agrees[by] = nth > 0
        twins[by] = np.where(nth > 0, rows[np.roll(by, 1)], rows[by])
        new = np.where(agrees, 0, chance[rows])
        before = np.cumsum(new) - new
        before -= before[begin]
        asked = own & (place > 0)
        return Comparison(
            rows[asked],
            place[asked],
            np.minimum(before[asked], 1),
            agrees[asked],
            twins[asked],
        )

    def chance_and_agreement(self, rows: Ints, others: Ints, given: Mask) -> tuple[Floats, Mask]:
        """Return how probably rows agree with others by chance, and whether they do, pair by pair.

        The chance of those that cannot agree or do not agree in the `given` CFs is 0.
        """
        both = ~self.empty[rows] & ~self.empty[others]
        equal = (self.cells[rows] == self.cells[others]) | ~both
        alike = (self.kinds[rows] == self.kinds[others]) | ~both
        able = alike.all(axis=1) & equal[:, given].all(axis=1)
        told = np.where(both & ~given, self.logs[rows], 0).sum(axis=1)
        able &= told < 0
        return np.where(able, np.exp(told), 0), able & equal.all(axis=1)


class Points:
    """The distinct OF rows, and which of them are near each other."""

    def __init__(self, features: Floats, workers: Workers, seed: int) -> None:
        self.groups, self.workers, self.seed = Groups.of(features), workers, seed
        sizes = self.groups.size
        self.of_rows = np.empty(len(features), dtype=np.int64)
        self.of_rows[self.groups.members] = np.repeat(np.arange(len(sizes)), sizes)
        self.near, self.distance = self._around(np.arange(len(sizes)))

    def _around(self, points: Ints) -> tuple[Ints, Floats]:
        """Return the nearest others of some points among them, and how far they are away."""
        places = self.groups.points[points]
        k = min(NEAR, len(points) - 1)
        if k == 0:
            return np.empty((1, 0), dtype=np.int64), np.empty((1, 0))
        near = nearest(places, k=k, seed=self.seed, workers=self.workers).rows
        distance = np.empty(near.shape)
        for slot in range(k):
            distance[:, slot] = np.linalg.norm(places - places[near[:, slot]], axis=1)
        return points[near], distance

    def distances(self) -> list[float]:
        """Return the distances at which OFs count as nearly equal, 0 first."""
        if not self.distance.size:
            return [0.0]
        ranked = np.sort(self.distance[:, 0])
        ranks = np.geomspace(min(FEWEST, len(ranked)), len(ranked), DISTANCES).astype(int) - 1
        return [0.0, *np.unique(ranked[ranks]).tolist()]

    def clusters(self, distance: float) -> Ints:
        """Return a number for each row, the same for rows that are linked by near points."""
        if distance == 0:
            return self.of_rows
        one, slot = np.nonzero(self.distance <= distance)
        size = (len(self.near), len(self.near))
        links = coo_array((np.ones(len(one), dtype=bool), (one, self.near[one, slot])), shape=size)
        _, clusters = connected_components(links, directed=False)
        return np.asarray(clusters, dtype=np.int64)[self.of_rows]

    def largest(self, clusters: Ints) -> float:
        """Return the largest share of the points that a cluster holds."""
        of_points = np.empty(len(self.near), dtype=np.int64)
        of_points[self.of_rows] = clusters
        return float(np.bincount(of_points).max() / len(of_points))

    def outside(self, distance: float, clusters: Ints) -> tuple[Ints, Ints]:
        """Return pairs of rows that are near each other, but not in the same cluster."""
        of_points = np.empty(len(self.near), dtype=np.int64)
        of_points[self.of_rows] = clusters
        apart = (self.distance > distance) & (of_points[self.near] != of_points[:, None])
        near, owner = self.near, self.of_rows
        if apart[self.of_rows].sum() < OUTSIDE * len(self.of_rows):
            # One point for each cluster: what is near these is outside.
            _, firsts = np.unique(of_points, return_index=True)
            near, _ = self._around(firsts)
            apart, owner = np.ones(near.shape, dtype=bool), clusters
        step = -(-owner.size * near.shape[1] // PAIRS)
        rows, slot = np.nonzero(apart[owner[::step]])
        rows *= step
        point = near[owner[rows], slot]
        drawn = draws.draw(rows * NEAR + slot, draws.COPIES, self.seed)
        place = drawn % self.groups.size[point].astype(np.uint64)
        return rows, self.groups.members[self.groups.start[point] + place.astype(np.int64)]


def _judge(
    cells: CfCells, clusters: Ints, outside: tuple[Ints, Ints], given: Mask, surprising: float
) -> Judged:
    """Return what the rows' agreement with those before them in their cluster says."""
    compared = cells.compare(clusters, given)
    chance, agree = cells.chance_and_agreement(*outside, given)
    n = len(clusters)
    expected = np.bincount(outside[0], weights=chance, minlength=n)[compared.rows]
    seen = np.bincount(outside[0], weights=agree, minlength=n)[compared.rows]
    classes = np.minimum(np.log2(compared.others).astype(int), CLASSES - 1)
    everywhere = _raised(agree.sum(), chance.sum())
    each, shared, probability = 0.0, np.zeros(len(SHARES)), np.zeros(len(compared.rows))
    for rows in (np.flatnonzero(classes == place) for place in range(CLASSES)):
        if not len(rows) or not expected[rows].any():
            continue
        raised = everywhere
        if everywhere > 1 or expected[rows].sum() > ENOUGH:
            raised = max(raised, _raised(seen[rows].sum(), expected[rows].sum()))
        q = np.minimum(raised * compared.chance[rows], 1)
        agrees = compared.agrees[rows]
        x, by_chance = agrees.mean(), q.mean()
        copies = max((x - by_chance) / (1 - by_chance), 0.0) if by_chance < 1 else 0.0
        if raised > NOT_UNIFORM and copies < MOST:
            continue
        logs = np.array([_log_e(agrees, q, share) for share in SHARES])
        each += _log_mean(logs)
        shared += logs
        probability[rows] = copies / (copies + (1 - copies) * q)
    evidence = max(each, _log_mean(shared))
    return Judged(compared, evidence, evidence > surprising, probability)


def _log_e(agrees: Mask, chance: Floats, share: float) -> float:
    """Return log E of rows, for a share of copies."""
    return float(np.where(agrees, np.log(share / chance + 1 - share), np.log(1 - share)).sum())


def _log_mean(logs: Floats) -> float:
    return float(np.logaddexp.reduce(logs) - np.log(len(logs)))


def _raised(seen: float, expected: float) -> float:
    """Return how many times as often as by chance rows agree; 1 unless that is clear."""
    if expected == 0 or (expected > ENOUGH and seen <= expected + 2 * np.sqrt(expected)):
        return 1.0
    return max(float((seen + 3 * np.sqrt(seen) + 3) / expected), 1.0)


def _keys(columns: Ints) -> Ints:
    """Return one key per row; equal rows have equal keys, and unequal rows nearly always not."""
    return draws.hash_rows(columns.astype(float)).view(np.int64)


def _runs(keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the order that gathers equal keys; there, where runs begin, and places in runs."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(new)
    begin = begins[np.cumsum(new) - 1]
    return order, begin, np.arange(len(keys)) - begin
