"""Copies of rows: equal in all OFs and cells, more often than independent rows can be.

While a table is read, hashes of rows are kept: of all rows that are equal in their OFs, or of none.
Those whose hash is small stay where there are too many. Copies that are found are counted again, each
row with its copies as one group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """The rows that are kept: the hash of their OFs, and the number of each CF's cell."""

    ofs: draws.Bits = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    codes: Ints | None = None
    most: int = _TOP

    def add(self, ofs: draws.Bits, codes: Ints) -> None:
        self.ofs = np.append(self.ofs, ofs)
        self.codes = codes if self.codes is None else np.vstack([self.codes, codes])
        self._keep()
        while len(self.ofs) > AT_ONCE:
            self.most >>= 1
            self._keep()

    def _keep(self) -> None:
        if self.most < _TOP and self.codes is not None:
            kept = draws.draw(self.ofs, draws.COPIES, 0) <= np.uint64(self.most)
            self.ofs, self.codes = self.ofs[kept], self.codes[kept]

    def copies(self, cells: Sequence[Mask], mechanisms: Sequence[Mechanism]) -> float | None:
        """Return how probably equal rows are copies; None: nothing speaks for copies.

        `cells` are the different cells of each CF.
        """
        if self.codes is None or len(np.unique(self.ofs)) == len(self.ofs):
            return None
        from cfl_cli.trust.copies import equal_rows  # loads slowly

        parts = [own[codes] for own, codes in zip(cells, self.codes.T, strict=True)]
        return equal_rows(parts, mechanisms, ranks(self.ofs.view(np.int64)))
