"""Tables in and out: a place and its format ↔ a data frame.

Cells of a text table are text and stay what they are; only the schema gives them a type. Parquet
and Arrow columns keep theirs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import polars as pl
from polars.exceptions import PanicException, PolarsError

from cfl_cli.core import budget as memory
from cfl_cli.core.messages import quote
from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import compression as packing
from cfl_cli.tables import csv as separated
from cfl_cli.tables import files, formats, frames, jsonl
from cfl_cli.tables.csv import Dialect, Reject
from cfl_cli.tables.formats import Format

REPORT_KEY = "cfl.report"
STANDARD = "-"
ESCAPES = {"\\t": "\t"}  # a sign that is hard to type
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
            return cls(None, stream, given or Format("csv"))
        path = local(name)
        return cls(path, name, given or formats.of_path(path, option=option))


def local(name: str) -> Path:
    """Return the path of a file on this machine, or raise if the name is an address elsewhere."""
    if REMOTE.match(name):
        raise UsageError(
            f"{name}: only files of this machine are opened: fetch it first, or pipe it in as "
            f"{STANDARD}"
        )
    return Path(name)


@dataclass(frozen=True)
class Table:
    """What a place holds, and the records of it that were set aside."""

    frame: Any  # polars for text, pyarrow for Parquet and Arrow
    rejects: list[Reject] = field(default_factory=list)
    lines: jsonl.Lines | None = None  # of JSON Lines


def read(place: Place, *, set_aside: bool = False, **signs: str | None) -> Table:
    """Return the table at a place.

    `signs` are the delimiter, quote and encoding of a text table, where they are not the usual
    ones. Bad records are set aside with `set_aside`, and an error without.
    """
    kind, name = place.format.kind, place.name
    given = {option: ESCAPES.get(sign, sign) for option, sign in signs.items() if sign is not None}
    _check_signs(place, given)
    data = _unpacked(files.read(place.path), place)
    if place.format.embeds_report:
        from cfl_cli.tables import columnar

        return Table(columnar.read(data, kind, name=name))
    if kind == "jsonl":
        lines = jsonl.read(data, name=name, set_aside=set_aside, **given)
        return Table(lines.frame, lines.rejects, lines)
    certain = "delimiter" in given
    dialect = Dialect(**{"delimiter": formats.DELIMITERS[kind], **given}, certain=certain)
    try:
        return Table(*separated.read(data, name=name, dialect=dialect, set_aside=set_aside))
    except (PolarsError, PanicException) as error:  # whose texts quote cells of the table
        raise DataError(f"{name}: not a well-formed {kind.upper()} file") from error


def _check_signs(place: Place, given: Mapping[str, str]) -> None:
    """Raise if a sign was given for a table that is not written with such signs."""
    allowed = {"delimiter", "quote", "encoding"} if place.format.separated else set()
    if place.format.kind == "jsonl":
        allowed = {"encoding"}
    for option in given:
        if option not in allowed:
            raise UsageError(f"--{option} says nothing about {place.name}, which is {place.format}")


def _unpacked(data: bytes, place: Place) -> bytes:
    """Return the table's own bytes, or raise if they are those of another format."""
    form, name = place.format, place.name
    found = _sniffed(data)
    if found not in {None, form.packing or form.kind}:
        raise DataError(f"{name}: this is no {form.packing or form.kind}: {_way_out(form, found)}")
    if form.packing is None:
        return data
    limit = memory.available() // 4  # what is made of the text needs room too
    data = packing.unpack(data, form.packing, name=name, limit=limit)
    if _sniffed(data):
        raise DataError(f"{name}: there is {_sniffed(data)} inside: unpack it first")
    return data


def _sniffed(data: bytes) -> str | None:
    """Return the packing or the format that the first bytes give away, if they do."""
    return packing.packing_of(data) or formats.kind_of(data)


def _way_out(form: Format, found: str | None) -> str:
    if found not in packing.NAMES:
        return f"add --input-format {found}"
    if form.embeds_report:
        return f"it is packed with {packing.NAMES[found]}: unpack it first"
    return f"add --input-format {form.kind}.{found}"


def check_holds(table: Table, place: Place) -> None:
    """Raise if the table has columns that the format of `place` cannot hold."""
    kind, problems = place.format.kind, []
    if table.lines is not None:
        problems = [
            f"column {quote(column)} holds {what}, which {place.name} cannot: write .jsonl"
            for column, what in table.lines.mixed.items()
            if kind != "jsonl"
        ]
    if frames.is_arrow(table.frame) and place.format.embeds_report:
        from cfl_cli.tables import columnar

        problems += columnar.misfits(table.frame, kind, name=place.name)
    elif place.format.separated or (kind == "jsonl" and table.lines is None):
        problems += _misfits_of_text(frames.as_polars(table.frame), place)
    problems += [
        f"the name {quote(name)} holds a NUL character, which {place.name} cannot"
        for name in frames.names(table.frame)
        if "\0" in name and not (kind == "jsonl" and table.lines is not None)
    ]
    if problems:
        raise DataError(*problems)


def _misfits_of_text(frame: pl.DataFrame, place: Place) -> list[str]:
    """Return what a text format cannot say."""
    problems = []
    for column in frame.get_columns():
        what = _unsayable(column, json=place.format.kind == "jsonl")
        if what:
            title = quote(column.name)
            problems.append(
                f"column {title} holds {what}, which {place.name} cannot: write Parquet"
            )
        if place.format.separated and not column.name:
            problems.append(f"a column has no name, which {place.name} needs: write Parquet")
    return problems


def _unsayable(column: pl.Series, *, json: bool) -> str:
    """Return what in a column has no form in JSON or between delimiters, if anything has none."""
    kind = column.dtype
    if json and isinstance(kind, pl.List | pl.Array):
        return _unsayable(column.explode(), json=json)
    if json and isinstance(kind, pl.Struct):
        inner = (_unsayable(column.struct.field(part.name), json=json) for part in kind.fields)
        return next(filter(None, inner), "")
    if kind.is_nested() or kind in (pl.Binary, pl.Duration, pl.Object):
        return frames.type_name(kind)
    if json and kind.is_float() and not column.is_finite().all():
        return "NaN or infinity"
    if not json and kind == pl.String and column.str.contains("\0", literal=True).any():
        return "a NUL character"
    return ""


def read_report(name: str) -> bytes:
    """Return the JSON text of a report: embedded in a table, beside it, or a file of its own."""
    path = None if name == STANDARD else local(name)
    title = name if path else "standard input"
    if path is not None and _report_is_beside(path):
        beside = report_path(path)
        if not files.exists(beside):
            raise DataError(f"{path}: there is no {beside.name} beside it: name the report itself")
        path, title = beside, str(beside)
    data = files.read(path)
    kind = formats.kind_of(data)
    if kind is None:
        return data
    from cfl_cli.tables import columnar

    text = columnar.read_metadata(data, kind, name=title).get(REPORT_KEY.encode())
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
    """Write the table, and texts `beside` it, whole or not at all; embed `report` if possible.

    `source` is the table that `frame` comes from, `stream` is standard output if the place is that.
    """
    with files.Staging(overwrite=overwrite) as staging:
        for other, text in (beside or {}).items():
            with staging.file(other) as file:
                file.write(text.encode())
        if place.path is None:
            if stream is None:
                raise ValueError("standard output is wanted and not given")
            _write(frame, stream, place.format, report=report, source=source)
            stream.flush()
        else:
            with staging.file(place.path) as file:
                _write(frame, file, place.format, report=report, source=source)


def _write(
    frame: Any, file: IO[bytes], form: Format, *, report: str | None, source: Table | None
) -> None:
    if form.embeds_report:
        from cfl_cli.tables import columnar

        table = frames.as_arrow(frame)
        columnar.write(table, file, form.kind, metadata={REPORT_KEY: report} if report else {})
        return
    with packing.packed(file, form.packing) as inner:
        if form.separated:
            delimiter = formats.DELIMITERS[form.kind]
            inner.write(separated.header_text(frames.names(frame), delimiter).encode())
            frames.as_polars(frame).write_csv(inner, separator=delimiter, include_header=False)
        elif source is not None and source.lines is not None:
            inner.write(jsonl.rewrite(source.lines, frame))
        else:
            frames.as_polars(frame).write_ndjson(inner)


def write_text(text: str, path: Path, *, overwrite: bool = True) -> None:
    """Write a text file whole or not at all."""
    with files.Staging(overwrite=overwrite) as staging, staging.file(path) as file:
        file.write(text.encode())
