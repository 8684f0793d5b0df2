"""A table whose cells are on disk: columns are loaded one at a time, rows come in blocks.

Parquet and Arrow files are read where they are. Text has no columns that could be read alone, so
its cells are copied to a file without a name, as the strict reader gives them.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import polars as pl

from cfl_cli.core.quick import dataclass
from cfl_cli.tables import frames
from cfl_cli.tables.blocks import BLOCK, Blocks, reading, regrouped
from cfl_cli.tables.codec import Table
from cfl_cli.tables.place import Place
from cfl_cli.tables.spool import Spool


@dataclass(frozen=True)
class StoredTable:
    """A table that was checked to the last cell, none of which is in memory."""

    whole: Blocks
    load: Callable[[str], Any]  # returns one column as a frame
    dtypes: dict[str, pl.DataType] = field(default_factory=dict)  # as far as they are known

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(frames.names(self.empty.frame))

    @property
    def height(self) -> int:
        """The rows of the table."""
        return self.whole.height

    @property
    def empty(self) -> Table:
        """The columns, without rows; with notes on cells to look at."""
        return self.whole.empty

    @property
    def rejected(self) -> int:
        """The records that are set aside."""
        return self.whole.rejected

    @property
    def sha256(self) -> str:
        """The checksum of the file as it is."""
        return self.whole.sha256()

    def __len__(self) -> int:
        return self.height

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> pl.Series:
        """Load a column: what the table read whole has, converted by `frames.as_polars`."""
        if name not in self:
            raise KeyError(name)
        column = frames.as_polars(self.load(name), [name])[name].rechunk()
        self.dtypes[name] = column.dtype
        return column

    def dtype(self, name: str) -> pl.DataType:
        """Return the type of a column; it is loaded only where cells decide on the type."""
        if name not in self.dtypes:
            if _is_sure(self.empty.frame, name):
                self.dtypes[name] = frames.as_polars(self.empty.frame, [name])[name].dtype
            else:
                self[name]
        return self.dtypes[name]

    def blocks(self, rows: int | None = None) -> Iterator[Table]:
        """Yield the rows in blocks of at most `rows`, as `reading` does, as often as called."""
        contents = self.whole.contents
        return regrouped(contents.tables(), contents.empty, rows=rows or self.whole.rows)

    def check_holds(self, place: Place) -> None:
        """Raise if the table has columns that the format of `place` cannot hold."""
        self.whole.check_holds(place)


@contextmanager
def stored(
    place: Place,
    *,
    rows: int = BLOCK,
    set_aside: bool | None = None,
    columns: Collection[str] = (),
    directory: Path | None = None,
    **signs: str | None,
) -> Iterator[StoredTable]:
    """Give the table at a place with its cells on disk; it is `read` with the same arguments.

    What has to be copied goes to `directory`, or where the system keeps temporary files, and is
    gone when the `with` block ends, or with the process.
    """
    with reading(place, rows=rows, set_aside=set_aside, columns=columns, **signs) as blocks:
        if blocks.contents.column is not None:
            yield StoredTable(blocks, blocks.contents.column)
            return
        with Spool.create(directory / "cells" if directory else None) as spool:

            @cache
            def cells() -> mmap:  # whoever takes blocks alone needs no copy
                _copy(blocks, spool)
                return mmap(spool.again().fileno(), 0, access=ACCESS_READ)

            yield StoredTable(blocks, lambda name: _column(cells(), name))


def _copy(blocks: Blocks, spool: Spool) -> None:
    """Write the rows of a table as an Arrow file, of which columns can be read alone."""
    import pyarrow as pa  # noqa: PLC0415 — only tables that are too large for memory need it

    options = pa.ipc.IpcWriteOptions(compression="lz4")
    schema = frames.as_arrow(blocks.empty.frame).schema
    with spool.guarded(), pa.ipc.new_file(spool.file, schema, options=options) as file:
        for block in regrouped(blocks.contents.tables(), blocks.empty, rows=BLOCK):
            file.write_table(frames.as_arrow(block.frame))


def _column(cells: mmap, name: str) -> Any:
    from cfl_cli.tables import columnar  # noqa: PLC0415 — loads pyarrow
    from cfl_cli.tables.formats import ARROW  # noqa: PLC0415 — with it

    return columnar.one_of(cells, ARROW, name)


def _is_sure(frame: Any, name: str) -> bool:
    """Return whether cells have no say in a column's type: dates do that polars does not know."""
    if not frames.is_arrow(frame):
        return True
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    kind = frame.schema.field(name).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return not (types.is_temporal(kind) or types.is_nested(kind))
