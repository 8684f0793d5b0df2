"""Between which numbers a column is scaled where a few wild cells must not decide it.

    low, high       the ends of the middle nine tenths of the cells
    lower           the smallest cell from low − (high − low) on
    upper           the largest cell up to high + (high − low)

So a column without outliers is scaled as min-max does it, and no twentieth of the cells, however
wild, can widen it to more than three times what the middle ones take up. Where nine tenths of the
cells hold one number, the others' ends are taken, and that number with them.
"""

import numpy as np

from cfl_cli.core.arrays import Floats

TAIL = 0.05  # of the cells, at each end, that have no say
MARGIN = 1.0  # of the width between the ends, beyond each of them


def fences(numbers: Floats) -> tuple[float, float]:
    """Return the lower and the upper fence of the numbers of a column, all of them finite.

    They differ if numbers do. Numbers are at most 1 in size: differences of huge ones are not.
    """
    low, high = _ends(numbers)
    if low == high:
        others = numbers[numbers != low]
        if not len(others):
            return low, high
        ends = _ends(others)
        low, high = min(low, ends[0]), max(high, ends[1])
    margin = MARGIN * (high - low)
    inside = numbers[(low - margin <= numbers) & (numbers <= high + margin)]
    return float(inside.min()), float(inside.max())


def _ends(numbers: Floats) -> tuple[float, float]:
    """Return the smallest and the largest number without the tails, one cell at least each."""
    tail = min(max(1, int(TAIL * len(numbers))), (len(numbers) - 1) // 2)
    places = tail, len(numbers) - 1 - tail
    low, high = np.partition(numbers, places)[[*places]]
    return float(low), float(high)
