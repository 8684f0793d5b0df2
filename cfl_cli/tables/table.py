"""Tables in and out: a place and its format ↔ a data frame.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from cfl_cli.core.messages import STORED, Option
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.tables import files, folders, formats, frames, source
from cfl_cli.tables.codec import (
    Contents,
    EmbeddingCodec,
    ReadOptions,
    Table,
    WriteOptions,
    codec_of,
    joined,
)
from cfl_cli.tables.csv_reader import as_usual
from cfl_cli.tables.dialect import checked
from cfl_cli.tables.folders import FolderSource
from cfl_cli.tables.formats import STANDARD, Place, local, name_of
from cfl_cli.tables.source import Source, Spool
from cfl_cli.tables.table_writer import TableWriter, rejects_text, to_bytes, write, writing

if TYPE_CHECKING:
    from cfl_cli.tables.sniff import Sniffed

# A table in blocks of rows, so that memory does not grow with the file.
#
# The file is gone through once before the first block, and every fault in it is found then. So a
# table is refused as one that is read whole: for the same causes, in the same words.

BLOCK = 5_000  # rows of a block, unless somebody wants more or fewer


@dataclass(frozen=True)
class Blocks:
    """A table whose rows come in blocks of at most `rows`, as often as it is iterated over.

    There is always a block, perhaps without rows. The records that were set aside come with the
    block in which they would be.
    """

    source: Source | FolderSource
    contents: Contents
    rows: int

    @property
    def empty(self) -> Table:
        """The columns, without rows."""
        return self.contents.empty

    @property
    def height(self) -> int:
        """The rows of the table."""
        return self.contents.height

    @property
    def rejected(self) -> int:
        """The records that are set aside."""
        return self.contents.rejected

    def __iter__(self) -> Iterator[Table]:
        return regrouped(self.contents.tables(), self.contents.empty, rows=self.rows)

    def sha256(self) -> str:
        """Return the checksum of the file, or of all files of a folder."""
        return self.source.sha256()

    def check_holds(self, place: Place) -> None:
        """Raise if the table has columns that the format of `place` cannot hold."""
        kind = place.format.kind
        codec, options = codec_of(kind), WriteOptions(kind, place.name)
        faulty, known = [], set(codec.misfits(self.empty, options))
        if known:
            faulty.append(self.empty)
        own = self.source.place.format.kind
        if kind.minds_cells and kind != own and not self.contents.plain:
            for block in self:
                if new := set(codec.misfits(block, options)) - known:
                    known |= new
                    faulty.append(block)
        if faulty:  # all of them together, so that columns are named in order
            raise DataError(*codec.misfits(joined(faulty), options))


@contextmanager
def reading(
    place: Place,
    *,
    rows: int = BLOCK,
    set_aside: bool | None = None,
    columns: Collection[str] = (),
    **dialect: str | None,
) -> Iterator[Blocks]:
    """Give the table at a place in blocks; it is `read` otherwise, with the same arguments."""
    options = read_options(place, set_aside=set_aside, **dialect)
    if place.is_folder:
        from cfl_cli.tables import folders  # noqa: PLC0415 — loads pyarrow

        folder = FolderSource.of(place)
        yield Blocks(folder, folders.scan(folder, options), rows)
        return
    with Source.of(place) as source:
        options = as_usual(options, source.chunks(), columns)
        yield Blocks(source, codec_of(options.kind).scan(source, options), rows)


def read_options(place: Place, *, set_aside: bool | None, **dialect: str | None) -> ReadOptions:
    """Return how a table is to be read, or raise if it has no such `dialect`."""
    kind = place.format.kind
    for name, word in dialect.items():
        if word is not None and name not in kind.dialect:
            text = "{option} does not apply to {file}, which is {format}"
            facts = {"option": Option(name, to=STORED), "format": str(place.format)}
            raise UsageError(Problem("option-format", text, file=place.name, **facts))  # type: ignore[arg-type]  # facts
    given = checked(dialect)
    return ReadOptions(
        kind, place.name, given, set_aside, place.sheet, is_file=place.path is not None
    )


def regrouped(tables: Iterable[Table], empty: Table, *, rows: int) -> Iterator[Table]:
    """Yield the same rows in blocks of at most `rows`, each with the number of its first row.

    No block has more rejects than that, either. What is left of a table is never put together with
    the next: texts of polars hold on to each other, and the more so the longer that goes on.
    """
    held: list[Table] = []
    height = rejected = first = 0
    for part in (part for table in tables for part in _cut(table, rows)):
        if height + len(part.frame) > rows or rejected + len(part.rejects) > rows:
            yield replace(joined(held), first=first)
            held, first = [], first + height
            height = rejected = 0
        held.append(part)
        height += len(part.frame)
        rejected += len(part.rejects)
    if held or not first:
        yield replace(joined(held or [empty]), first=first)


def _cut(table: Table, rows: int) -> Iterator[Table]:
    """Yield a table in parts of at most `rows` rows and rejects."""
    height = max(len(table.frame), len(table.rejects))
    if height <= rows:
        if height:
            yield table
        return
    for start in range(0, height, rows):
        lines = None if table.lines is None else table.lines[start : start + rows]
        frame, rejects = table.frame.slice(start, rows), table.rejects[start : start + rows]
        yield replace(table, frame=frame, rejects=rejects, lines=lines)


# A table whose cells are on disk: columns are loaded one at a time, rows come in blocks.
#
# Parquet and Arrow files are read where they are. Text has no columns that could be read alone, so
# its cells are copied to a file without a name, as the strict reader gives them.


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
    **dialect: str | None,
) -> Iterator[StoredTable]:
    """Give the table at a place with its cells on disk; it is `read` with the same arguments.

    What has to be copied goes to `directory`, or where the system keeps temporary files, and is
    gone when the `with` block ends, or with the process.
    """
    with reading(place, rows=rows, set_aside=set_aside, columns=columns, **dialect) as blocks:
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


__all__ = [
    "STANDARD",
    "Blocks",
    "Place",
    "StoredTable",
    "Table",
    "TableWriter",
    "check_holds",
    "local",
    "name_of",
    "read",
    "read_report",
    "read_sniffed",
    "reading",
    "rejects_path",
    "rejects_text",
    "report_path",
    "sha256_of",
    "stored",
    "to_bytes",
    "write",
    "write_text",
    "writing",
]


def read(
    place: Place,
    *,
    set_aside: bool | None = None,
    checksum: bool = False,
    columns: Collection[str] = (),
    **dialect: str | None,
) -> Table:
    """Return the table at a place.

    `dialect` are the delimiter, encoding, header … of a text table, where they are not the usual
    ones; with the names of its `columns` it is noticed if they are, after all. Bad records are set
    aside with `set_aside`, and an error without; None says that nobody could ask for it. With
    `checksum` the table has that of its file, which is made while the cells are read.
    """
    options = read_options(place, set_aside=set_aside, **dialect)
    if place.is_folder:
        with reading(place, set_aside=set_aside) as blocks:
            found = joined([*blocks.contents.tables()] or [blocks.empty])
            return replace(found, sha256=blocks.sha256() if checksum else None)

    def table(data: bytes) -> Table:
        return codec_of(options.kind).read(data, as_usual(options, [data], columns))

    if not checksum:
        return table(source.whole(place))
    data = files.read(place.path)
    with ThreadPoolExecutor(1) as beside:
        made = beside.submit(source.sha256_of, data)
        return replace(table(source.own(data, place)), sha256=made.result())


def read_sniffed(
    place: Place, *, set_aside: bool | None = None, **dialect: str | None
) -> tuple[Table, "Sniffed | None"]:
    """Return the table at a place, and how it is written where `dialect` do not say it.

    What was found is read as strictly as what is given. None: not a text with delimiters.
    """
    options = read_options(place, set_aside=set_aside, **dialect)
    if place.is_folder:
        return read(place), None
    kind, data = options.kind, source.whole(place)
    if "delimiter" not in kind.dialect:
        return codec_of(kind).read(data, options), None
    from cfl_cli.tables.csv_hints import title_above  # noqa: PLC0415 — only drafts need it
    from cfl_cli.tables.sniff import sniff  # noqa: PLC0415 — only drafts need it

    found = sniff(data, options.dialect, usual=kind.delimiter)
    if found.shape and not found.shape.first:
        raise DataError(title_above(place.name, found.shape.line))
    options = replace(options, dialect={**found.dialect, **options.dialect})
    return codec_of(kind).read(data, options), found


def bytes_of(place: Place) -> int:
    """Return how large the file or the files at a place are; 0 for standard input."""
    if place.path is None:
        return 0
    try:
        if place.path.is_dir():
            return sum(one.stat().st_size for one in place.path.rglob("*.parquet"))
        return place.path.stat().st_size
    except OSError:  # whoever reads it says why it cannot be read
        return 0


def check_holds(table: Table, place: Place) -> None:
    """Raise if the table has columns that the format of `place` cannot hold."""
    kind = place.format.kind
    if problems := codec_of(kind).misfits(table, WriteOptions(kind, place.name)):
        raise DataError(*problems)


def read_report(name: str) -> bytes:
    """Return the JSON text of a report: embedded in a table, beside it, or a file of its own."""
    path = None if name == STANDARD else local(name)
    title = name if path else "standard input"
    if path is not None and files.exists(path) and path.is_dir():
        folders.check_whole(path, name=title)
        path = path / folders.REPORT
        if not files.exists(path):
            raise DataError(f"{title}: no report inside: `cfl impute` did not write this folder")
    if path is not None and _report_is_beside(path):
        beside = report_path(path)
        if not files.exists(path) and not files.exists(beside):
            raise DataError(f"{path}: cannot be read: No such file or directory")
        if not files.exists(beside):
            raise DataError(
                f"{path}: no report: expected {beside.name} beside it, or pass the report file"
            )
        path, title = beside, str(beside)
    data = files.read(path)
    kind = formats.kind_of(data)
    if kind is None:
        return data
    text = None
    if kind.embeds_report:
        codec = cast("EmbeddingCodec", codec_of(kind))
        text = codec.read_report(data, ReadOptions(kind, title))
    if text is None:
        raise DataError(f"{title}: no report inside: `cfl impute` did not write this file")
    return text


def sha256_of(path: Path | None) -> str:
    """Return the checksum of a file, or of a folder with a table; None is standard input."""
    if path is not None and files.exists(path) and path.is_dir():
        return folders.sha256_of(path)
    return source.sha256_of(files.read(path))


def _report_is_beside(path: Path) -> bool:
    """Return whether this is a table of a format that cannot carry its report."""
    try:
        return not formats.of_path(path, option="").embeds_report
    except UsageError:  # no table at all: the report itself, perhaps
        return False


def report_path(out: Path) -> Path:
    """Return where the report of a table that cannot embed one goes."""
    return out.with_name(f"{out.name}.report.json")


def rejects_path(out: Path) -> Path:
    """Return where the records that were set aside go."""
    return out.with_name(f"{out.name}.rejects.csv")


def write_text(text: str, path: Path, *, overwrite: bool = True) -> None:
    """Write a text file completely or not at all."""
    with files.Staging(overwrite=overwrite) as staging, staging.file(path) as file:
        file.write(text.encode())
