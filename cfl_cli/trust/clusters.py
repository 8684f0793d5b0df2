"""Rows gathered by their OFs: where these are equal, then where they are nearly equal.

Two distinct OF rows are linked if they are near each other, and a cluster is what is linked:

    ‖x_i − x_j‖ ≤ d        for a few distances d, and j among the nearest of i
"""

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.groups import components
from cfl_cli.core.parallel import Engine
from cfl_cli.steps.neighbors import Groups, nearest

NEAR = 8  # distinct OF rows around each one that are looked at
OUTSIDE = 2  # of these, on average, must be in other clusters for a comparison with them
PAIRS = 400_000  # of near rows in different clusters, about, that are compared
DISTANCES = 12  # at most, at which OFs count as nearly equal
FEWEST = 16  # pairs within the least of these distances


class Points:
    """The distinct OF rows, and which of them are near each other."""

    def __init__(self, features: Floats, workers: Engine, seed: int) -> None:
        self.groups, self.workers, self.seed = Groups.here(features), workers, seed
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
        return components(len(self.near), one, self.near[one, slot])[self.of_rows]

    def largest_share(self, clusters: Ints) -> float:
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
