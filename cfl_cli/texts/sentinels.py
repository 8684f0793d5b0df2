"""Numbers that stand for a missing value, such as 999 and −9: far outside the others."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.tally import Tally

OUTERMOST = 3  # values of each end that are looked at
GAP = 0.5  # of the range of the others
CELLS = 2  # with a sentinel, at least, unless there is another
PILE = 5  # times as many cells as the other values have by the median
SMALL = -7  # −1 and −2 need a pile
PRICES = 0.3  # more values than this that end in 9: prices
FEWEST = 3  # other values; fewer have no range to speak of
Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_CODES = frozenset(
    sign * float(digit * length) for sign in (1, -1) for digit in "9876" for length in range(2, 7)
) | frozenset(
    [*(sign * n for sign in (1.0, -1.0) for n in (97, 98, 997, 998, 99.9, 999.9, 9997, 9998)),
     -1.0, -2.0, -7.0, -8.0, -9.0]
)  # fmt: skip


@dataclass(frozen=True)
class Sentinels:
    """Values far outside the others, and where the others lie."""

    texts: tuple[str, ...]
    counts: tuple[int, ...]
    low: float
    high: float


def sentinels(tally: Tally, numbers: Sequence[float]) -> Sentinels | None:
    """Return the texts of a numeric column that look like codes of missing values, if any.

    `numbers` are the texts' values. Whether a number is one is seen from its distance only.
    """
    merged: dict[float, int] = {}
    for value, count in zip(numbers, tally.counts, strict=True):
        merged[value] = merged.get(value, 0) + count
    values = np.array(sorted(merged), dtype=np.float64)
    counts = np.array([merged[value] for value in values.tolist()])
    low, high = _inner(values, counts)
    flagged = {*values[:low].tolist(), *values[high:].tolist()}
    if not flagged:
        return None
    texts = [text for text, value in zip(tally.texts, numbers, strict=True) if value in flagged]
    counted = dict(tally)
    return Sentinels(
        tuple(texts),
        tuple(counted[text] for text in texts),
        float(values[low]),
        float(values[high - 1]),
    )


def _inner(values: Values, counts: Counts) -> tuple[int, int]:
    """Return the slice of the sorted values that are no sentinels."""
    low, high = 0, len(values)
    while True:
        inner = values[low:high], counts[low:high]
        cells = CELLS if high - low == len(values) else 1  # one is found: another may stand once
        if top := _outside(-inner[0][::-1], inner[1][::-1], cells, upper=True):
            high -= top
        elif bottom := _outside(*inner, cells, upper=False):
            low += bottom
        else:
            return low, high


def _outside(values: Values, counts: Counts, cells: int, *, upper: bool) -> int:
    """Return how many of the lowest values are sentinels; `upper`: values are turned around."""
    sign = -1 if upper else 1
    found = 0
    for several in range(1, OUTERMOST + 1):
        rest = values[several:]
        if len(rest) < FEWEST or counts[several - 1] < cells:
            break
        if not _is_code(sign * values[several - 1], sign * rest):
            break
        last = values[several - 1]
        apart = rest[0] - last >= GAP * (rest[-1] - rest[0])
        small = not upper and last > SMALL  # a value that scores have too
        below_zero = not upper and last < 0 <= rest[0]
        pile = counts[several - 1] >= PILE * np.median(counts[several:])
        if (apart and not small) or (below_zero and (pile or not small)):
            found = several
    return found if found and not _are_prices(sign * values[found:]) else 0


def may_be_code(value: float) -> bool:
    """Return whether a number is one that codes are, wherever the others lie."""
    return value == 9 or value in _CODES


def _is_code(value: float, others: Values) -> bool:
    if value == 9:
        return bool(others.min() >= 0 and others.max() <= 8)
    return value in _CODES


def _are_prices(values: Values) -> bool:
    return bool(np.mean([f"{value:.10g}".endswith("9") for value in values]) > PRICES)
