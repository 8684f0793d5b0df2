"""Some rows of a stream that nobody knows the length of, drawn by their numbers.

Every row has a random number of its own, and those with the smallest stay: all rows of a short
stream. Which rows stay does not depend on how the stream is cut into blocks. Rows that are left out
never stay.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.draws import JUDGED, draw
from cfl_cli.core.quick import dataclass
from cfl_cli.tables.frames import PORTABLE

Arrays = dict[str, npt.NDArray[Any]]
MOST_BLOCKS = 64  # that are held before they become one


@dataclass(frozen=True)
class Drawn:
    """Rows that were drawn, in their order."""

    rows: Ints  # their numbers, from 0
    cells: pl.DataFrame
    arrays: Arrays  # with one entry for each row


class Sample:
    """At most `size` rows: their cells, and arrays with one entry for each."""

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.left_out = np.empty(0, dtype=np.int64)  # numbers of rows, in order
        self.seen = 0
        self._keys = np.empty(0, dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.int64)
        self._blocks: list[tuple[pl.DataFrame, Arrays]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, cells: pl.DataFrame, **arrays: npt.NDArray[Any]) -> None:
        """Add the rows that follow those that were added before."""
        rows = np.arange(self.seen, self.seen + cells.height)
        keys = draw(rows, JUDGED, self.seed)
        self.seen += len(rows)
        first, last = np.searchsorted(self.left_out, [self.seen - len(rows), self.seen])
        may_stay = keys <= self._largest
        may_stay[self.left_out[first:last] - (self.seen - len(rows))] = False
        staying = np.flatnonzero(may_stay)
        self._keys = np.append(self._keys, keys[staying])
        self._rows = np.append(self._rows, rows[staying])
        kept = {name: array[staying] for name, array in arrays.items()}
        if len(staying) or not self._blocks:
            self._blocks.append((compact(cells[staying]), kept))
        if len(self._rows) > 2 * self.size or len(self._blocks) > MOST_BLOCKS:
            self._drop(self._first())

    def drawn(self) -> Drawn:
        """Return the rows that stay."""
        self._drop(self._first())
        return Drawn(self._rows, *self._blocks[0])

    @property
    def _largest(self) -> np.uint64:
        """Return the largest random number that a row may have to stay."""
        full = len(self._keys) >= self.size
        return np.uint64(self._keys.max() if full else 2**64 - 1)

    def _first(self) -> Ints:
        """Return the places of those that stay, in the rows' order."""
        return np.sort(np.argsort(self._keys, kind="stable")[: self.size])

    def _drop(self, staying: Ints) -> None:
        """Keep these places alone, in one block."""
        if len(self._blocks) == 1 and len(staying) == len(self._rows):
            return
        frames, arrays = zip(*self._blocks, strict=True)
        joined = {name: np.concatenate([block[name] for block in arrays]) for name in arrays[0]}
        cells = compact(pl.concat(frames)[staying])
        self._keys, self._rows = self._keys[staying], self._rows[staying]
        self._blocks = [(cells, {name: array[staying] for name, array in joined.items()})]


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with texts of its own: rows that were taken from others keep those of all."""
    return pl.DataFrame(pl.from_arrow(frame.to_arrow(compat_level=PORTABLE)))
