"""Copies of rows: equal in their cells and in other columns, more often than independent rows can be.

The other columns are first the OFs, and if these show nothing, all columns of the table. While it is
read, hashes of rows are kept: of all rows that are equal in these columns, or of none. Those whose
hash is small stay where there are too many. Copies that are found are counted again, each row with
its copies as one group.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cfl_cli.core import draws
from cfl_cli.core.arrays import Ints, Mask, ranks
from cfl_cli.core.exclusions import Mechanism

AT_ONCE = 100_000  # rows that are kept, at most
SURE = 0.5  # probability from which on equal rows count as copies
_TOP = (1 << 64) - 1


def hashes(table: pl.DataFrame, columns: Sequence[str]) -> draws.Bits:
    """Return a number for each row, the same for equal cells in these columns, in any block."""
    parts = [table[name] for name in columns if table[name].dtype != pl.Object]
    if not parts:
        return np.zeros(table.height, dtype=np.uint64)
    by_code = (pl.Categorical, pl.Enum)  # codes may differ between blocks
    plain = [one.cast(pl.String) if one.dtype in by_code else one for one in parts]
    return np.asarray(pl.DataFrame(plain).hash_rows().to_numpy())


@dataclass
class Seen:
    """The rows that are kept: a hash of some columns, and the number of each CF's cell."""

    rows: Ints | None = None  # n × (1 + CFs)
    most: int = _TOP

    def add(self, hashed: draws.Bits, codes: Ints) -> None:
        rows = np.column_stack([hashed.view(np.int64), codes])
        self.rows = rows if self.rows is None else np.vstack([self.rows, rows])
        self._keep()
        while len(self.rows) > AT_ONCE:
            self.most >>= 1
            self._keep()

    def _keep(self) -> None:
        if self.most < _TOP and self.rows is not None:
            drawn = draws.draw(self.rows[:, 0].view(np.uint64), draws.COPIES, 0)
            self.rows = self.rows[drawn <= np.uint64(self.most)]

    def copies(self, cells: Sequence[Mask], mechanisms: Sequence[Mechanism]) -> float | None:
        """Return how probably equal rows are copies; None: nothing speaks for copies.

        `cells` are the different cells of each CF.
        """
        if self.rows is None or len(np.unique(self.rows[:, 0])) == len(self.rows):
            return None
        from cfl_cli.trust.copies import equal_rows  # loads slowly

        hashed, *codes = self.rows.T
        parts = [own[places] for own, places in zip(cells, codes, strict=True)]
        return equal_rows(parts, mechanisms, ranks(hashed))
