"""Pairs of points, and the distances between them."""

from collections.abc import Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.parallel import slices
from cfl_cli.core.quick import dataclass

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


def joined(pairs: Sequence[Pairs], parts: Sequence[slice]) -> Pairs:
    """Return the pairs of all asked points, given those of parts of them."""
    return Pairs(
        np.concatenate([one.row + part.start for one, part in zip(pairs, parts, strict=True)]),
        np.concatenate([one.point for one in pairs]),
        np.concatenate([one.distance for one in pairs]),
    )


def by_row(row: Ints, point: Ints, distance: Floats) -> Pairs:
    """Return the pairs with the asked points' places ascending."""
    by = np.argsort(row, kind="stable")
    return Pairs(row[by], point[by], distance[by])


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
    """Return the squared length of every row."""
    lengths: Floats = np.einsum("ij,ij->i", vectors, vectors)
    return lengths
