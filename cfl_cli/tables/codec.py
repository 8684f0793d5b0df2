"""What the module of a format offers: to read a table, to write one, to say what does not fit."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, Protocol, cast

from cfl_cli.core.messages import quote
from cfl_cli.tables import frames
from cfl_cli.tables.formats import FileKind

Reject = tuple[int, str, str]  # a record set aside: its line, the cause, its text


@dataclass(frozen=True)
class Table:
    """What a file holds, and the records of it that were set aside."""

    frame: Any  # polars for text, pyarrow for Parquet and Arrow
    rejects: list[Reject] = field(default_factory=list)
    lines: list[bytes] | None = None  # of JSON Lines, as they were written
    mixed: Mapping[str, str] = field(default_factory=dict)  # columns that only JSON Lines can hold


@dataclass(frozen=True)
class ReadOptions:
    """How a table is to be read."""

    kind: FileKind
    name: str  # what messages call the table
    signs: Mapping[str, str] = field(default_factory=dict)  # delimiter, quote, encoding, if given
    set_aside: bool = False  # bad records; without it they are an error


@dataclass(frozen=True)
class WriteOptions:
    """How a table is to be written."""

    kind: FileKind
    name: str  # what messages call the table
    source: Table | None = None  # what the table was made from
    report: str | None = None  # for formats that embed it


class Codec(Protocol):
    """The functions of a format's module."""

    def read(self, data: bytes, options: ReadOptions) -> Table:
        """Return the table in the bytes of a file, checked to the last cell."""

    def misfits(self, table: Table, options: WriteOptions) -> list[str]:
        """Return a message for every column that the format cannot hold."""

    def write(self, frame: Any, file: IO[bytes], options: WriteOptions) -> None:
        """Write the table."""


class EmbeddingCodec(Codec, Protocol):
    """Those of a format that carries the report inside."""

    def read_report(self, data: bytes, options: ReadOptions) -> bytes | None:
        """Return the JSON text of the report, if there is one."""


def codec_of(kind: FileKind) -> Codec:
    """Return the module that reads and writes a format; pyarrow comes late, and only if needed."""
    return cast("Codec", import_module(f"cfl_cli.tables.{kind.module}"))


def mixed_columns(table: Table, *, name: str) -> list[str]:
    """Return a message for every column that only JSON Lines can hold."""
    return [
        f"column {quote(column)} holds {what}, which {name} cannot hold: write .jsonl"
        for column, what in table.mixed.items()
    ]


def nul_names(table: Table, *, name: str) -> list[str]:
    """Return a message for every column's name with a NUL character."""
    return [
        f"the column name {quote(column)} holds a NUL character, which {name} cannot hold"
        for column in frames.names(table.frame)
        if "\0" in column
    ]
