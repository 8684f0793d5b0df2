"""Tables in and out: a place and its format ↔ a data frame.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.
"""

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self, cast

import polars as pl

from cfl_cli.core import budget
from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import compression, files, formats
from cfl_cli.tables.codec import EmbeddingCodec, ReadOptions, Reject, Table, WriteOptions, codec_of
from cfl_cli.tables.formats import FORMATS, Format

__all__ = [
    "STANDARD",
    "Place",
    "Table",
    "check_holds",
    "local",
    "read",
    "read_report",
    "rejects_path",
    "rejects_text",
    "report_path",
    "write",
    "write_text",
]

STANDARD = "-"
ESCAPES = {"\\t": "\t"}  # a tab is hard to type
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True)
class Place:
    """Where a table is or will be, and its format."""

    path: Path | None  # None: a standard stream
    name: str  # what messages call it
    format: Format

    @classmethod
    def to_read(cls, name: str, form: str | None = None, *, option: str = "--input-format") -> Self:
        """Return the place of a table that the user names, `-` for standard input.

        `option` is the one that `form`, the name of its format, was given with.
        """
        return cls._of(name, form, stream="standard input", option=option)

    @classmethod
    def to_write(cls, name: str, form: str | None = None) -> Self:
        """Return the place that the user names for a table, `-` for standard output."""
        return cls._of(name, form, stream="standard output", option="--output-format")

    @classmethod
    def _of(cls, name: str, form: str | None, *, stream: str, option: str) -> Self:
        given = formats.by_name(form, option=option) if form else None
        if name == STANDARD:
            return cls(None, stream, given or FORMATS["csv"])
        path = local(name)
        return cls(path, name, given or formats.of_path(path, option=option))


def local(name: str) -> Path:
    """Return the path of a file on this machine, or raise if the name is an address elsewhere."""
    if not name:
        raise UsageError(f"an empty file name: name a file, or {STANDARD} for a standard stream")
    if REMOTE.match(name):
        raise UsageError(
            f"{name}: only local files can be opened: download it first, or pipe it in as "
            f"{STANDARD}"
        )
    return Path(name)


def read(place: Place, *, set_aside: bool = False, **signs: str | None) -> Table:
    """Return the table at a place.

    `signs` are the delimiter, quote and encoding of a text table, where they are not the usual
    ones. Bad records are set aside with `set_aside`, and an error without.
    """
    kind = place.format.kind
    given = {option: ESCAPES.get(sign, sign) for option, sign in signs.items() if sign is not None}
    for option in given:
        if option not in kind.signs:
            raise UsageError(f"--{option} does not apply to {place.name}, which is {place.format}")
    data = _unpacked(files.read(place.path), place)
    return codec_of(kind).read(data, ReadOptions(kind, place.name, given, set_aside))


def _unpacked(data: bytes, place: Place) -> bytes:
    """Return the table's own bytes, or raise if they are those of another format."""
    form, name = place.format, place.name
    expected = compression.NAMES[form.packing] if form.packing else form.kind.title
    if _title(data) not in {None, expected}:
        raise DataError(f"{name}: this is {_title(data)}, not {expected}: {_way_out(data, form)}")
    if form.packing is None:
        return data
    limit = budget.available() // 4  # what is made of the text needs room too
    data = compression.unpack(data, form.packing, name=name, limit=limit)
    if _title(data):
        raise DataError(f"{name}: contains {_title(data)} data: unpack it first")
    return data


def _title(data: bytes) -> str | None:
    """Return what to call the compression or the format that the first bytes show, if they do."""
    if packed := compression.packing_of(data):
        return compression.NAMES[packed]
    kind = formats.kind_of(data)
    return kind.title if kind else None


def _way_out(data: bytes, form: Format) -> str:
    packed = compression.packing_of(data)
    if packed and form.kind.packs_itself:
        return "unpack it first"
    kind = form.kind if packed else formats.kind_of(data) or form.kind
    return f"add --input-format {Format(kind, packed)}"


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


def rejects_text(rejects: list[Reject]) -> str:
    """Return records that were set aside as CSV: the line, the cause and the text of each."""
    return pl.DataFrame(rejects, schema=["line", "cause", "record"], orient="row").write_csv()


def write(
    frame: Any,
    place: Place,
    *,
    report: str | None,
    source: Table | None = None,
    beside: Mapping[Path, str] | None = None,
    stream: IO[bytes] | None = None,
    overwrite: bool = True,
) -> None:
    """Write the table, and texts `beside` it, completely or not at all; embed `report` if possible.

    `source` is the table that `frame` comes from, `stream` is standard output if the place is that.
    """
    kind = place.format.kind
    options = WriteOptions(kind, place.name, source, report)
    with files.Staging(overwrite=overwrite) as staging:
        for other, text in (beside or {}).items():
            with staging.file(other) as file:
                file.write(text.encode())
        with _opened(place, staging, stream) as file:
            with compression.packed(file, place.format.packing) as inner:
                codec_of(kind).write(frame, inner, options)
            file.flush()


def _opened(
    place: Place, staging: files.Staging, stream: IO[bytes] | None
) -> AbstractContextManager[IO[bytes]]:
    if place.path is not None:
        return staging.file(place.path)
    if stream is None:
        raise ValueError("standard output is wanted and not given")
    return nullcontext(stream)


def write_text(text: str, path: Path, *, overwrite: bool = True) -> None:
    """Write a text file completely or not at all."""
    with files.Staging(overwrite=overwrite) as staging, staging.file(path) as file:
        file.write(text.encode())
