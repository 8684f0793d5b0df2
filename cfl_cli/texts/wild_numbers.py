"""A few numbers so far from all others that they alone decide a column's range.

    rest     from the smallest to the largest of the others
    wild     the rest is less than a fifth of the range, and the gap on either side at which there
             are wild numbers is at least twice the rest

At most a thousandth of the cells are wild, or three in a short column. A column in which nine
tenths of the others hold one number has none: what it says, it says by being another number.
"""

import numpy as np
import numpy.typing as npt

from cfl_cli.core.quick import dataclass

SQUEEZED = 0.2  # of the range: a rest that takes up less is wasted
GAP = 2.0  # times the rest
SHARE, FEW, MANY = 0.001, 3, 100  # of the cells; of cells
CELLS = 10  # others, at least
TAIL = 0.05  # of the others at each end, without which they must still differ
HUGE = 2.0**1000  # differences of larger numbers may be too large
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Wild:
    """Between which numbers all but the wild ones lie."""

    low: float
    high: float
    squeezed: float  # what these take up of the range, between 0 and SQUEEZED


def wild(numbers: Values) -> Wild | None:
    """Return where the others lie if there are wild numbers; all numbers must be finite."""
    n = len(numbers)
    most = min(max(FEW, int(SHARE * n)), MANY, n - CELLS)
    if most < 1:
        return None
    shift = 4 if np.abs(numbers).max() > HUGE else 0
    numbers = np.ldexp(numbers, -shift)
    tail = int(TAIL * n)
    places = [*range(most + 1), tail, n - 1 - tail, *range(n - 1 - most, n)]
    ends = np.partition(numbers, sorted({*places}))
    if ends[tail] == ends[n - 1 - tail]:
        return None
    lows, highs = ends[: most + 1], ends[n - 1 - most :][::-1]
    range_ = highs[0] - lows[0]
    rest = highs - lows[:, None]  # by how many are left out below, and above
    cells = np.add.outer(np.arange(most + 1), np.arange(most + 1))
    gaps_below = np.concatenate([[np.inf], np.diff(lows)])[:, None]
    gaps_above = np.concatenate([[np.inf], -np.diff(highs)])
    found = (
        (cells > 0) & (cells <= most) & (rest > 0) & (rest < SQUEEZED * range_)
        & (gaps_below >= GAP * rest) & (gaps_above >= GAP * rest)
    )  # fmt: skip
    if not found.any():
        return None
    below, above = np.unravel_index(np.where(found, cells, 0).argmax(), cells.shape)
    share = float(rest[below, above] / range_)
    low, high = np.ldexp([lows[below], highs[above]], shift)
    return Wild(float(low), float(high), share)
