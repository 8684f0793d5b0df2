"""What a whole table holds, as checksums that are added up block by block.

    cell → text (null: none) → per column, SHA-256 of the lengths and of the texts → of all columns

The text is what the cell is in any format: `1`, `0.25`, `true`, `2024-01-31`. Moments and times,
which formats write differently, are as the format at hand writes them; what only Parquet and Arrow
hold are the bytes there. So a table has the same checksum before it is written and after it is
read back, however it was cut into blocks, quoted or packed.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.tables import frames, json_columns
from cfl_cli.tables.formats import FileKind
from cfl_cli.tables.json_census import DECODER
from cfl_cli.tables.written import TableContent

PART = 1 << 16  # rows of a column whose text is in memory at once


class ContentChecksum:
    """Adds up the rows of a table that is written as, or read from, a kind of file."""

    def __init__(self, kind: FileKind) -> None:
        self.kind = kind
        self.typed = kind.module not in ("csv", "jsonl")
        self.rows = 0
        self._cells: dict[str, dict[str, Any]] = {}  # by column and path: SHA-256
        self._nulls: dict[str, Any] = {}
        self._types: dict[str, str] = {}

    def add(self, frame: Any) -> None:
        """Add further rows of the same columns."""
        given = frame
        frame = frames.as_arrow(frame) if self.typed else frames.as_polars(frame)
        self.rows += len(frame)
        for name in frames.names(frame):
            cells = self._cells.setdefault(name, {})
            nulls = self._nulls.setdefault(name, sha256())
            if self.typed:
                self._types.setdefault(name, _type(frame, name))
            for path, data in self._pieces(frame, name, given):
                if path == "nulls":
                    nulls.update(data)
                elif len(data):  # or a block without rows would count
                    cells.setdefault(path, sha256()).update(data)

    def content(self) -> TableContent:
        """Return what was added up."""
        return TableContent(
            rows=self.rows,
            columns=tuple(self._cells),
            sha256=_joined(
                {
                    f"{name}\0{path}": made.digest()
                    for name, paths in self._cells.items()
                    for path, made in [("", sha256()), *paths.items()]
                }
            ),
            nulls_sha256=_joined({name: made.digest() for name, made in self._nulls.items()}),
            types_sha256=(
                _joined({name: text.encode() for name, text in self._types.items()})
                if self.typed
                else None
            ),
        )

    def _pieces(self, frame: Any, name: str, given: Any) -> Iterator[tuple[str, Any]]:
        if self.typed and not _has_text(frame, name):
            from cfl_cli.tables.raw_cells import pieces  # noqa: PLC0415 — loads pyarrow

            for chunk in frame.column(name).chunks:
                yield from pieces(chunk)
            return
        for start in range(0, len(frame), PART):
            part = frame.slice(start, PART)
            if self.typed and isinstance(given, pl.DataFrame):
                column = given[name].slice(start, PART)
            else:
                column = _dates(part, name) if self.typed else part[name]
            texts = column.cast(pl.String) if self.typed else self._texts(column)
            yield "nulls", texts.is_null().to_numpy().tobytes()
            texts = texts.fill_null("")
            yield "lengths", texts.str.len_bytes().to_numpy().astype("<u8").tobytes()
            yield "texts", texts.str.join("").item().encode()

    def _texts(self, column: pl.Series) -> pl.Series:
        """Return the cells as a text format writes them."""
        kind = column.dtype
        if self.kind.module == "jsonl" and (kind.is_nested() or kind.is_temporal()):
            lines = column.rename("").to_frame().write_ndjson().splitlines()
            cells = [DECODER.decode(line)[""] for line in lines]
            return pl.Series(map(json_columns.cell_text, cells), dtype=pl.String)
        if isinstance(kind, pl.Datetime | pl.Time):
            text = column.to_frame().write_csv(include_header=False, quote_style="never")
            texts = pl.Series(text.split("\n")[:-1], dtype=pl.String)
            return pl.Series(texts.set(column.is_null(), None))
        return column.cast(pl.String)


def _has_text(table: Any, name: str) -> bool:
    """Return whether cells of a pyarrow column have a text that is the same in all formats."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    kind = table.schema.field(name).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    texts = (
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_integer,
        types.is_float32,
        types.is_float64,
        types.is_boolean,
        types.is_decimal128,
        types.is_date32,
        types.is_null,
    )
    return any(is_one(kind) for is_one in texts)


def _dates(table: Any, name: str) -> pl.Series:
    """Return a pyarrow column that has text; dates as such, for polars knows not all of them."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    column = table.column(name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not types.is_date32(column.type):
        return frames.as_polars(table.select([name]).set_column(0, name, column))[name]
    days = pl.Series(pl.from_arrow(column.cast("int32")))
    texts = np.datetime_as_string(days.fill_null(0).to_numpy().astype("M8[D]"))
    return pl.Series(texts.astype(str).tolist(), dtype=pl.String).set(days.is_null(), None)


def _type(table: Any, name: str) -> str:
    """Return the name of a type; how the places in a dictionary are stored is left out."""
    from pyarrow import types  # noqa: PLC0415 — it is there if a table of it is

    kind = table.schema.field(name).type
    if types.is_dictionary(kind):
        return f"dictionary<{kind.value_type}, ordered={kind.ordered}>"
    return str(kind)


def _joined(digests: dict[str, bytes]) -> str:
    """Return the SHA-256 of what belongs to names, in their order."""
    made = sha256()
    for name, digest in sorted(digests.items()):
        made.update(json.dumps(name).encode() + b"\n" + digest + b"\n")
    return made.hexdigest()
