"""Pairs of points, and the distances between them."""

from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.parallel import slices

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


def by_row(row: Ints, point: Ints, distance: Floats) -> Pairs:
    """Return the pairs with the asked points' places ascending."""
    by = np.argsort(row, kind="stable")
    return Pairs(row[by], point[by], distance[by])


def measure(points: Floats, one: Ints, other: Ints) -> Floats:
    """Return the distances between pairs of points."""
    distance = np.empty(len(one))
    for part in slices(len(one), max(1, CELLS_AT_ONCE // points.shape[1])):
        distance[part] = np.sqrt(squares(points[one[part]] - points[other[part]]))
    return distance


def squares(vectors: Floats) -> Floats:
    """Return the squared length of every row."""
    lengths: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return lengths
