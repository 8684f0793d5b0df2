"""The SHA-256 of what columns hold, the same whatever the format that they are written in."""

import io
import json
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import IO, Any, NamedTuple

import numpy as np
import polars as pl

from cfl_cli.core.messages import count, quote
from cfl_cli.tables import frames
from cfl_cli.tables.formats import FileKind, Place

BETWEEN = "\x1f"  # cells of text


@dataclass
class ColumnsChecksum:
    """Adds up columns of text and of numbers, block by block; an empty text counts as null."""

    _made: dict[str, Any] = field(default_factory=dict)

    def add(self, columns: Iterable[pl.Series]) -> None:
        for column in columns:
            made = self._made.setdefault(column.name, sha256())
            if len(column) and column.dtype == pl.String:
                text: str = column.fill_null("").str.join(BETWEEN).item()
                made.update(f"{text}{BETWEEN}".encode())
            elif len(column):
                numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
                made.update(np.ascontiguousarray(numbers, dtype="<f8").tobytes())

    def hexdigest(self) -> str:
        whole = sha256()
        for name, made in self._made.items():
            whole.update(f"{name}{BETWEEN}".encode() + made.digest())
        return whole.hexdigest()


def checksum_of(frame: Any, columns: Collection[str]) -> str:
    """Return the SHA-256 of some columns' cells, for a table that did not come from a file."""
    cells = frames.as_polars(frame, columns)
    there = [column for column in columns if column in cells.columns]
    held = io.BytesIO()
    cells.select(there).write_ipc(held)
    return sha256(held.getbuffer()).hexdigest()


# What a report says of the table that it belongs to, so that damage and mixed pairs are seen.

CHUNK = 1 << 20


@dataclass(frozen=True)
class TableContent:
    """What a table held when it was written. Checksums are SHA-256.

    The last three describe the table's file. They are known only if the report is a separate file.
    """

    rows: int
    columns: tuple[str, ...]
    # Checksum of all cells, in any order of the columns; null and an empty text are alike.
    sha256: str
    nulls_sha256: str  # checksum of which cells are null; in CSV, null is an empty text
    # Checksum of the types of Parquet and Arrow columns; None: all cells are text.
    types_sha256: str | None = None
    # Name of the file, without folders, if the report is a separate file.
    file: str | None = None
    file_bytes: int | None = None
    file_sha256: str | None = None


def sums_of(file: IO[bytes]) -> tuple[int, str]:
    """Return the number of bytes in a file from where it stands, and their SHA-256."""
    made, size = sha256(), 0
    while chunk := file.read(CHUNK):
        made.update(chunk)
        size += len(chunk)
    return size, made.hexdigest()


# What a whole table holds, as checksums that are added up block by block.
#
#     cell → text (null: none) → per column, SHA-256 of the lengths and of the texts → of all columns
#
# The text is what the cell is in any format: `1`, `0.25`, `true`, `2024-01-31`. Moments and times,
# which formats write differently, are as the format at hand writes them; what only Parquet and Arrow
# hold are the bytes there. So a table has the same checksum before it is written and after it is
# read back, however it was cut into blocks, quoted or packed.

_UNTYPED = ("csv", "jsonl", "excel")  # the modules of formats in which all cells are text
PART = 1 << 16  # rows of a column whose text is in memory at once


@dataclass
class ContentChecksum:
    """Adds up the rows of a table that is written as, or read from, a kind of file."""

    kind: FileKind
    rows: int = 0
    _cells: dict[str, dict[str, Any]] = field(default_factory=dict)  # by column and path: SHA-256
    _nulls: dict[str, Any] = field(default_factory=dict)
    _types: dict[str, str] = field(default_factory=dict)

    def add(self, frame: Any) -> None:
        given, typed = frame, self.kind.module not in _UNTYPED
        if typed:
            from cfl_cli.tables import columnar  # pyarrow, which text can do without
        frame = frames.as_arrow(frame) if typed else frames.as_polars(frame)
        self.rows += len(frame)
        for name in frames.names(frame):
            cells = self._cells.setdefault(name, {})
            nulls = self._nulls.setdefault(name, sha256())
            if typed:
                kind, has_text = columnar.kind_of(frame, name)
                self._types.setdefault(name, kind)
                if not has_text:
                    for path, data in columnar.pieces(frame, name):
                        if len(data):  # or a block without rows would count
                            cells.setdefault(path, sha256()).update(data)
                    continue
            for start in range(0, len(frame), PART):
                part = frame.slice(start, PART)
                if not typed:
                    texts = self._texts(part[name])
                elif isinstance(given, pl.DataFrame):
                    texts = given[name].slice(start, PART).cast(pl.String)
                else:
                    texts = columnar.dates(part, name).cast(pl.String)
                nulls.update(texts.is_null().to_numpy().tobytes())
                texts = texts.fill_null("")
                lengths = texts.str.len_bytes().to_numpy().astype("<u8").tobytes()
                text = texts.str.join("").item().encode()
                for path, data in (("lengths", lengths), ("texts", text)):
                    if len(data):
                        cells.setdefault(path, sha256()).update(data)

    def content(self) -> TableContent:
        cells = {
            f"{name}\0{path}": made.digest()
            for name, paths in self._cells.items()
            for path, made in [("", sha256()), *paths.items()]
        }
        nulls = {name: made.digest() for name, made in self._nulls.items()}
        kinds = {name: text.encode() for name, text in self._types.items()}
        columns, typed = tuple(self._cells), None
        if self.kind.module not in _UNTYPED:
            typed = _sum_of(kinds)
        return TableContent(self.rows, columns, _sum_of(cells), _sum_of(nulls), typed)

    def _texts(self, column: pl.Series) -> pl.Series:
        kind = column.dtype
        if self.kind.module == "jsonl" and (kind.is_nested() or kind.is_temporal()):
            from cfl_cli.tables import jsonl  # other formats do without

            lines = column.rename("").to_frame().write_ndjson().splitlines()
            cells = [jsonl.DECODER.decode(line)[""] for line in lines]
            return pl.Series(map(jsonl.cell_text, cells), dtype=pl.String)
        if isinstance(kind, pl.Datetime | pl.Time):
            text = column.to_frame().write_csv(include_header=False, quote_style="never")
            texts = pl.Series(text.split("\n")[:-1], dtype=pl.String)
            return pl.Series(texts.set(column.is_null(), None))
        return column.cast(pl.String)


def _sum_of(digests: dict[str, bytes]) -> str:
    made = sha256()
    for name, digest in sorted(digests.items()):
        made.update(json.dumps(name).encode() + b"\n" + digest + b"\n")
    return made.hexdigest()


# Whether a table is still the one that its report belongs to.
#
# A file that has the bytes that were written need not be read. Otherwise the cells are compared,
# so that a table which was saved again, quoted or packed in another way, is still the same.

BYTES_AT_ONCE = 500_000_000  # of a file that is summed although nobody asked for it
CELLS_AT_ONCE = 10_000_000  # that are compared although nobody asked for it: about a second
_SHOWN = 3  # columns that a message names


class Compared(NamedTuple):
    holds: bool
    what: str = ""


def compared(
    place: Place,
    content: TableContent,
    reading: Callable[[Place], AbstractContextManager[Any]],
    *,
    size: int,
    thorough: bool,
) -> Compared:
    """Compare a table of `size` bytes with what a report says of it; a large one if `thorough`.

    `reading` is that of `tables.table`, which itself makes checksums of what it writes.
    """
    path, kind = place.path, place.format.kind
    if path is not None and path.is_file() and content.file_sha256 is not None:
        if size == content.file_bytes:
            if size > BYTES_AT_ONCE and not thorough:
                return Compared(holds=True, what="only its size was compared")
            with path.open("rb") as file:
                if sums_of(file)[1] == content.file_sha256:
                    return Compared(holds=True)
    elif not thorough and content.rows * len(content.columns) > CELLS_AT_ONCE:
        return Compared(holds=True, what="its cells were not compared")
    found, names = ContentChecksum(kind), [*content.columns]
    with reading(place) as blocks:
        there = frames.names(blocks.empty.frame)
        if lost := [name for name in names if name not in there]:
            listed = ", ".join(map(quote, lost[:_SHOWN])) + (" …" if len(lost) > _SHOWN else "")
            noun = "column" if len(lost) == 1 else "columns"
            return Compared(holds=False, what=f"it lacks {noun} {listed}")
        if blocks.height != content.rows:
            rows = f"{count(blocks.height, 'row')}, not {content.rows:,}"
            return Compared(holds=False, what=f"it has {rows}")
        for block in blocks:
            found.add(block.frame.select(names))
    now = found.content()
    if now.sha256 != content.sha256:
        return Compared(holds=False, what="its cells differ")
    if kind.module not in ("csv", "excel") and now.nulls_sha256 != content.nulls_sha256:
        return Compared(holds=False, what="its missing cells differ")
    if content.types_sha256 not in (None, now.types_sha256) and now.types_sha256 is not None:
        return Compared(holds=False, what="its columns have other types")
    added = len(there) - len(names)
    return Compared(holds=True, what=f"{count(added, 'column')} were added later" if added else "")
