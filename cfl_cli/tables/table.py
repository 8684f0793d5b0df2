"""Tables in and out: a place and its format ↔ a data frame.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.
"""

from pathlib import Path
from typing import cast

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import files, formats, source
from cfl_cli.tables.blocks import Blocks, read_options, reading
from cfl_cli.tables.codec import EmbeddingCodec, ReadOptions, Table, WriteOptions, codec_of
from cfl_cli.tables.place import STANDARD, Place, local
from cfl_cli.tables.table_writer import TableWriter, rejects_text, write, writing

__all__ = [
    "STANDARD",
    "Blocks",
    "Place",
    "Table",
    "TableWriter",
    "check_holds",
    "local",
    "read",
    "read_report",
    "reading",
    "rejects_path",
    "rejects_text",
    "report_path",
    "write",
    "write_text",
    "writing",
]


def read(place: Place, *, set_aside: bool = False, **signs: str | None) -> Table:
    """Return the table at a place.

    `signs` are the delimiter, quote and encoding of a text table, where they are not the usual
    ones. Bad records are set aside with `set_aside`, and an error without.
    """
    options = read_options(place, set_aside=set_aside, **signs)
    return codec_of(options.kind).read(source.whole(place), options)


def check_holds(table: Table, place: Place) -> None:
    """Raise if the table has columns that the format of `place` cannot hold."""
    kind = place.format.kind
    if problems := codec_of(kind).misfits(table, WriteOptions(kind, place.name)):
        raise DataError(*problems)


def read_report(name: str) -> bytes:
    """Return the JSON text of a report: embedded in a table, beside it, or a file of its own."""
    path = None if name == STANDARD else local(name)
    title = name if path else "standard input"
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
