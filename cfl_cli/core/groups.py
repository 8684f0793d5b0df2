"""Rows that belong together: copies, or rows that a schema says are of one household or patient.

Each row has a number, and rows with the same number are a group. Groups are hidden together, judged
together, and count as one where rows are taken for independent.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask


def ranks(groups: Ints) -> Ints:
    """Return the numbers of groups, counted from 0 in the order in which they first appear."""
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[places.reshape(-1)]


def independent(groups: Ints | None) -> Floats | None:
    """Return how many independent rows each row counts for: one over the size of its group."""
    if groups is None:
        return None
    places = ranks(groups)
    return np.asarray(1 / np.bincount(places)[places])


def sums_by(groups: Ints | None, numbers: Floats) -> Floats:
    """Return the sums of rows that belong together, groups × …; None: each row by itself."""
    if groups is None:
        return numbers
    places = ranks(groups)
    sums = np.zeros((places.max(initial=-1) + 1, *numbers.shape[1:]))
    np.add.at(sums, places, numbers)
    return sums


def halves(m: int, groups: Ints | None = None) -> Mask:
    """Return which of m rows belong to the first of two halves; no group of `groups` is split.

    Groups go by turns, in the order in which they first appear.
    """
    return np.asarray((np.arange(m) if groups is None else ranks(groups)) % 2 == 0)


def linked(n: int, rows: Ints, others: Ints, groups: Ints | None = None) -> Ints:
    """Return groups of n rows in which each of `rows` belongs to its one of the `others`.

    Rows that belong together by `groups` already still do.
    """
    one, other = rows, others
    if groups is not None:
        places = ranks(groups)
        first = np.unique(places, return_index=True)[1]
        one = np.concatenate([rows, np.arange(n)])
        other = np.concatenate([others, first[places]])
    return components(n, one, other)


def components(n: int, one: Ints, other: Ints) -> Ints:
    """Return a number for each of n rows, counted from 0: the same for what pairs of rows link.

    Every row starts as its own first row. Of two linked rows, the later first row follows the
    earlier, and so do all that follow it; links within what has one first row are done with.
    """
    first = np.arange(n)
    while len(one):
        low, high = np.minimum(first[one], first[other]), np.maximum(first[one], first[other])
        apart = low < high
        one, other, low, high = one[apart], other[apart], low[apart], high[apart]
        np.minimum.at(first, high, low)
        while not np.array_equal(further := first[first], first):
            first = further
    return np.unique(first, return_inverse=True)[1].reshape(-1)
