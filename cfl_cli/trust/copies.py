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

from dataclasses import dataclass
from math import log

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask, components
from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import distinct
from cfl_cli.core.parallel import Engine
from cfl_cli.methods.graph.neighbors import Groups, nearest_neighbors

# Rows gathered by their OFs: where these are equal, then where they are nearly equal.
#
# Two distinct OF rows are linked if they are near each other, and a cluster is what is linked:
#
#     ‖x_i − x_j‖ ≤ d        for a few distances d, and j among the nearest of i

_NEAR = 8  # distinct OF rows around each one that are looked at
OUTSIDE = 2  # of these, on average, must be in other clusters for a comparison with them
PAIRS = 400_000  # of near rows in different clusters, about, that are compared
DISTANCES = 12  # at most, at which OFs count as nearly equal
_FEWEST = 16  # pairs within the least of these distances


class Points:
    def __init__(self, features: Floats, workers: Engine, seed: int) -> None:
        self.groups, self.workers, self.seed = Groups.here(features), workers, seed
        sizes = self.groups.size
        self.of_rows = np.empty(len(features), dtype=np.int64)
        self.of_rows[self.groups.members] = np.repeat(np.arange(len(sizes)), sizes)
        self.near, self.distance = self._around(np.arange(len(sizes)))
        self.distances = [0.0]  # at which OFs count as nearly equal
        if self.distance.size:
            ranked = np.sort(self.distance[:, 0])
            ranks = np.geomspace(min(_FEWEST, len(ranked)), len(ranked), DISTANCES).astype(int) - 1
            self.distances += np.unique(ranked[ranks]).tolist()

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

    def outside(self, distance: float, of_points: Ints) -> tuple[Ints, Ints]:
        """Return pairs of rows that are near each other, but not in the same cluster."""
        apart = (self.distance > distance) & (of_points[self.near] != of_points[:, None])
        near, owner = self.near, self.of_rows
        if apart[self.of_rows].sum() < OUTSIDE * len(self.of_rows):
            # One point for each cluster: what is near these is outside.
            _, firsts = np.unique(of_points, return_index=True)
            near, _ = self._around(firsts)
            apart, owner = np.ones(near.shape, dtype=bool), of_points[self.of_rows]
        step = -(-owner.size * near.shape[1] // PAIRS)
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
_LARGEST = 0.2  # of the distinct OF rows that a cluster may hold; otherwise all is near
_CLASSES = 7  # of rows, by how many they are compared with: 1, 2 to 3, 4 to 7, … 64 or more
PATTERNS = 16  # of empty cells, the commonest, that are looked at
_ENOUGH = 9  # pairs that should agree by chance, to know whether more do
_NOT_UNIFORM = 1.2  # times as many agree among rows farther away: exclusions are not uniform …
_MOST = 0.5  # … and then this share at least must be copies
_LEAST = 1e-300  # of a chance
_SURE = 0.9  # as probably a copy as this is linked whatever the draw


@dataclass(frozen=True, eq=False)
class Copies:
    rows: Ints  # the copies
    twins: Ints  # for each, a row that it is a copy of

    @property
    def warning(self) -> str:
        return (
            f"{len(self.rows):,} rows look like duplicates (equal or nearly equal OFs, and the "
            "same exclusions in every CF). They are kept in the same fold and counted once; remove "
            "them if they are a mistake"
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Rows compared with those before them in their cluster."""

    rows: Ints  # m
    others: Ints  # m: how many rows each was compared with
    chance: Floats  # m: q, how probably it agrees with one of them by chance, at most
    agrees: Mask  # m
    twins: Ints  # m: the last one before it that agrees; itself if none does

    @property
    def classes(self) -> list[Ints]:
        """Return the places of rows that were compared with about as many."""
        number = np.minimum(np.log2(self.others).astype(int), _CLASSES - 1)
        classes = (np.flatnonzero(number == place) for place in range(_CLASSES))
        return [rows for rows in classes if len(rows)]


def find_copies(known: Known, *, workers: Engine, seed: int) -> Copies | None:
    """Return the rows that are copies of others; None: nothing speaks for copies."""
    cells = CfCells(known)
    if not cells.logs.any():  # all are exact or empty
        return None
    points = Points(known.features, workers, seed)
    # In all CFs, and among rows that agree in all but the one that says most, in that one.
    all_but_one = np.arange(cells.count) != cells.logs.sum(axis=0).argmin()
    views = [np.zeros(cells.count, dtype=bool), all_but_one][: 1 + (cells.count > 1)]
    most = surprising = log(2 * len(points.distances) * len(views) / _LEVEL)
    best: tuple[Comparison, Floats] | None = None
    for distance in points.distances:
        of_points = np.arange(len(points.near))
        if distance > 0:
            one, slot = np.nonzero(points.distance <= distance)
            of_points = components(len(points.near), one, points.near[one, slot])
            if np.bincount(of_points).max() / len(of_points) > _LARGEST:
                break  # at larger distances even more
        suspect = []
        for given in views:
            of_view = cells.compare(of_points[points.of_rows], given)
            agrees, chance = of_view.agrees, of_view.chance
            logs = (_log_e(agrees[rows], chance[rows]) for rows in of_view.classes)
            # How much evidence of copies there can be, whatever others agree.
            if sum(max(of_class.max(), 0.0) for of_class in logs) > surprising:
                suspect.append((given, of_view))
        if not suspect:
            continue
        outside = points.outside(distance, of_points)
        for given, of_view in suspect:
            evidence, probability = _judge(of_view, *cells.background(outside, given))
            if evidence > most:
                most, best = evidence, (of_view, probability)
    if best is None:
        return None
    found, probability = best
    drawn = draws.chances(found.rows, draws.COPIES, seed) < probability
    linked = found.agrees & (drawn | (probability > _SURE))
    return Copies(found.rows[linked], found.twins[linked]) if linked.any() else None


class CfCells:
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

        # Which CFs rows have empty, the commonest patterns first.
        first, places = distinct(self.empty)
        common = np.argsort(-np.bincount(places), kind="stable")[:PATTERNS]
        self.patterns = [pattern for pattern in self.empty[first[common]] if not pattern.all()]

    def compare(self, clusters: Ints, given: Mask) -> Comparison:
        """Compare rows with those of their cluster that come before them and agree in `given` CFs.

        A row with empty cells comes after those without, and is compared by its other cells.
        """
        compared: list[tuple[Ints, Ints, Floats, Mask, Ints]] = []
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
            rows, own = rows[order], np.sort(own, kind="stable")[order]
            alike = np.column_stack([together[order].view(np.int64), self.cells[rows][:, told]])
            by, _, nth = _runs(draws.hash_rows(alike))
            agrees, twins = np.zeros(len(rows), dtype=bool), rows.copy()
            agrees[by] = nth > 0
            twins[by] = np.where(nth > 0, rows[np.roll(by, 1)], rows[by])
            new = np.where(agrees, 0, chance[rows])
            before = np.cumsum(new) - new
            before -= before[begin]
            asked = own & (place > 0)
            chance = np.clip(before[asked], _LEAST, 1)  # a difference of sums may be 0, or less
            compared.append((rows[asked], place[asked], chance, agrees[asked], twins[asked]))
        return Comparison(*map(np.concatenate, zip(*compared, strict=True)))

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
        probability[rows] = copies / (copies + (1 - copies) * q)
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
