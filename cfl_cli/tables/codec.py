"""What the module of a format offers: to read a table, to write one, to say what does not fit."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Protocol, TypeGuard, cast

import polars as pl

from cfl_cli.core.messages import count
from cfl_cli.errors import DataError, Problem
from cfl_cli.tables import frames
from cfl_cli.tables.dialect import Dialect, TextStyle
from cfl_cli.tables.formats import HEAD, KINDS, FileKind, Format, Place
from cfl_cli.tables.source import Source

OR_ASIDE = ", or add --on-bad-row set-aside"
Reject = tuple[int | None, str, str]  # a record set aside: its line, the cause, its text


@dataclass(frozen=True)
class CellNote:
    column: str | None  # None: of the whole table
    text: str  # of the cells
    message: Problem  # names them, and the way out


@dataclass(frozen=True)
class Renamed:
    number: int  # from 1
    name: str  # in the file
    now: str


@dataclass(frozen=True)
class FolderLayout:
    files: tuple[tuple[str, int], ...]  # path in the folder and rows of each, in order
    keys: tuple[str, ...]  # columns that are in no file but in the names of its folders


@dataclass(frozen=True)
class Table:
    frame: Any  # polars for text, pyarrow for Parquet and Arrow
    rejects: list[Reject] = field(default_factory=list)
    lines: list[bytes] | None = None  # of JSON Lines, as they were written
    mixed: Mapping[str, str] = field(default_factory=dict)  # columns that only JSON Lines can hold
    first: int = 0  # the number of its first row, counted from 0
    notes: tuple[CellNote, ...] = ()
    sha256: str | None = None  # of the whole file as it is; None: not asked for
    layout: FolderLayout | None = None  # of the whole table, if it is a folder
    renamed: tuple[Renamed, ...] = ()  # columns of a text table
    dialect: Dialect | None = None  # in which a text table is written


@dataclass(frozen=True)
class Contents:
    """What is known of a table that was gone through once, and the way to its rows."""

    empty: Table  # its columns, without rows
    height: int  # rows
    rejected: int  # records that are set aside
    tables: Callable[[], Iterator[Table]]  # yields the rows, some at a time, as often as called
    plain: bool = False  # only text without a NUL, so that no cell is in the way of any format
    column: Callable[[str], Any] | None = None  # returns one column as a frame; None: no short way

    def joined(self) -> Table:
        found = join_tables([*self.tables()] or [self.empty])
        own = {name: getattr(self.empty, name) for name in ("notes", "renamed", "dialect")}
        return replace(found, **own)


@dataclass(frozen=True)
class ReadOptions:
    kind: FileKind
    name: str  # what messages call the table
    dialect: Mapping[str, str] = field(default_factory=dict)  # of text, as far as it is given
    set_aside: bool | None = None  # bad records, or refuse them; None: nobody can ask for it
    sheet: str | None = None  # of a book with several
    is_file: bool = True  # and not standard input

    @property
    def or_aside(self) -> str:
        """The other way out for a bad record, where there is one."""
        return OR_ASIDE if self.set_aside is False else ""


@dataclass(frozen=True)
class WriteOptions:
    kind: FileKind
    name: str  # what messages call the table
    path: Path | None = None  # where it will be, if it gets a file
    style: TextStyle | None = None  # of a text table, if it is not the usual one


class RowWriter:
    """Writes a table, some rows at a time; how many makes no difference to the bytes."""

    def add(self, frame: Any, source: Table | None = None) -> None:
        """Write further rows; `source` is what they were made from."""
        raise NotImplementedError

    def finish(self, report: str | None = None) -> None:
        """Write what is left to write, the report too if the format embeds it."""

    def close(self) -> None:
        """Let go of what is held; what is written is of no use unless it was finished."""


class Codec(Protocol):
    """The functions of a format's module."""

    def scan(self, source: Source, options: ReadOptions) -> Contents:
        """Check a table to the last cell, and return how to get at its rows.

        The rows of a source in memory come as few tables as possible, and are parsed once.
        """

    def misfits(self, table: Table, options: WriteOptions) -> list[Problem]:
        """Return a problem for every column that the format cannot hold."""

    def writer(self, file: IO[bytes], options: WriteOptions) -> RowWriter:
        """Return what writes a table to a file."""


class EmbeddingCodec(Codec, Protocol):
    """Those of a format that carries the report inside."""

    def read_report(self, data: bytes, options: ReadOptions) -> bytes | None:
        """Return the JSON text of the report, if there is one."""


def codec_of(kind: FileKind) -> Codec:
    """Import the module that reads and writes a format; pyarrow comes late, and only if needed."""
    return cast("Codec", import_module(f"cfl_cli.tables.{kind.module}"))


def read_bytes(data: bytes, options: ReadOptions) -> Table:
    """Return the table in the bytes of a file; of a folder's, one file."""
    kind = KINDS[options.kind.name]
    place = Place(None, options.name, Format(kind))
    source = Source(None, place, data[:HEAD], (len(data), 0), raw=data, data=data)
    return codec_of(kind).scan(source, replace(options, kind=kind)).joined()


def write_frame(
    frame: Any,
    file: IO[bytes],
    options: WriteOptions,
    *,
    source: Table | None = None,
    report: str | None = None,
) -> None:
    with closing(codec_of(options.kind).writer(file, options)) as writer:
        writer.add(frame, source)
        writer.finish(report)


def join_tables(tables: Sequence[Table]) -> Table:
    first, *others = tables
    if not others:
        return first
    lines = None if first.lines is None else [line for one in tables for line in one.lines or []]
    return Table(
        frames.concat([one.frame for one in tables]),
        [reject for one in tables for reject in one.rejects],
        lines,
        first.mixed,
        first.first,
        layout=first.layout,
    )


def misfit(column: str, what: str, *, name: str, remedy: str) -> Problem:
    facts = {"what": what, "remedy": remedy}
    text = "column {column!r} holds {what}, which {file} cannot hold: {remedy}"
    return Problem("column-not-storable", text, column=column, file=name, **facts)


def all_misfits(own: Iterable[Problem], table: Table, *, name: str) -> list[Problem]:
    """Return a format's own problems with a table among those that most formats have.

    Before them are columns that only JSON Lines can hold, behind them names with a NUL character.
    """
    nul = "the column name {column!r} holds a NUL character, which {file} cannot hold"
    return [
        *(misfit(*one, name=name, remedy="write .jsonl") for one in table.mixed.items()),
        *own,
        *(
            Problem("column-name-nul", nul, column=column, file=name)
            for column in frames.names(table.frame)
            if "\0" in column
        ),
    ]


def too_many(name: str, rows: int, most: int) -> DataError:
    text = (
        "{file}: a sheet holds {most:,} rows below its header, and this table has {rows}: {remedy}"
    )
    facts = {"most": most, "rows": count(rows, "row"), "remedy": "write .csv or .parquet"}
    return DataError(Problem("excel-too-large", text, file=name, **facts))


# Tables as the encoding sees them: columns by their names, loaded when they are asked for.


class Columns(Protocol):
    """A polars table, or one whose columns are loaded when they are asked for."""

    @property
    def columns(self) -> list[str]: ...

    @property
    def height(self) -> int: ...

    def __getitem__(self, name: str, /) -> pl.Series: ...


class Loading(Columns, Protocol):
    def dtype(self, name: str) -> pl.DataType:
        """Return the type of a column, if possible without loading it."""


def is_loading(frame: object) -> TypeGuard[Loading]:
    return hasattr(type(frame), "dtype") and hasattr(frame, "height")
