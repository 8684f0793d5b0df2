"""Neighbor lists scanned by compiled code, where there is some and it is worth it.

Of points whose neighbors are beyond doubt, these come back at once; of others, all pairs that can
matter, measured as the plain search does: so that equal distances are told from unequal ones alike.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.compiled import kernel
from cfl_cli.steps.distances import TIE, Pairs, measure
from cfl_cli.steps.near_lists import CROWD, Lists

LARGEST = 1e15  # a distance whose square is far within single precision


@dataclass(frozen=True)
class Scanned:
    """What a scan has found; a point that is in neither was left to the next searcher."""

    sure: Ints  # s: places among the asked points
    nearest: Ints  # s × wanted: the nearest points of each, in order
    near: Pairs  # what is near the others


def scan(lists: Lists, asked: Ints, size: Ints) -> Scanned | None:
    """Return what is near the asked points, they themselves first; None: plain code is to search.

    Points stand for `size` rows each. Neighbors are sure only if each is a single row.
    """
    return _scan(lists, lists.points[asked], asked, lists.home[asked], size, room=0.0)


def scan_around(lists: Lists, points: Floats, home: Ints, size: Ints) -> Scanned | None:
    """Return what is near any points, whose `homes` are given, as `Lists.search_around` does."""
    none = np.full(len(points), -1)
    return _scan(lists, points, none, home, size, room=lists.rounding)


def _scan(
    lists: Lists, own: Floats, same: Ints, home: Ints, size: Ints, *, room: float
) -> Scanned | None:
    compiled = kernel("scan", rows=len(lists.members))
    if compiled is None or not lists.slack < LARGEST * lists.rounding:
        return None
    most = CROWD * lists.wanted
    near = np.empty((len(own), most), dtype=np.int64)
    found, sure = np.empty(len(own), dtype=np.int64), np.empty(len(own), dtype=bool)
    compiled(
        *(lists.points, own, same, home, lists.members, lists.begin),
        *(lists.centers, lists.radius, lists.reach, np.asarray(lists.offsets).reshape(-1), size),
        *(lists.slack, lists.wanted, lists.rounding, room, TIE, near, found, sure),
    )
    row, place = np.nonzero(np.arange(most) < np.where(sure, 0, found)[:, None])
    point = near[row, place]
    pairs = Pairs(row, point, measure(own, row, point, others=lists.points))
    return Scanned(np.flatnonzero(sure), near[sure, : lists.wanted], pairs)
