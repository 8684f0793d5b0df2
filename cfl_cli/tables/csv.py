"""CSV and TSV, strictly: records as wide as the header, quotes only where RFC 4180 has them.

Polars pads short records and shifts cells around stray quotes, both without a word. So the bytes
are scanned first; what passes is parsed by polars, and the numbers of records are compared.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any, NamedTuple

import polars as pl
from polars.exceptions import PanicException, PolarsError

from cfl_cli.errors import PROBLEMS_SHOWN, DataError, Problem
from cfl_cli.tables import csv_hints, csv_reader, frames
from cfl_cli.tables.codec import (
    CellNote,
    Contents,
    ReadOptions,
    Table,
    WriteOptions,
    misfit,
    mixed_columns,
    nul_names,
)
from cfl_cli.tables.csv_reader import Columns, MisshapenError, Sheet, notes, record_problem
from cfl_cli.tables.dialect import Dialect
from cfl_cli.tables.encodings import to_utf8, utf8_lines
from cfl_cli.tables.source import Source, roomy


class Sums(NamedTuple):
    """What a table consists of."""

    columns: Columns
    height: int
    rejected: int
    notes: tuple[CellNote, ...]  # on what was put right


def scan(source: Source, options: ReadOptions) -> Contents:
    """Check the table, and return how to get at its rows, all cells text."""
    dialect = Dialect.of(options.dialect, delimiter=options.kind.delimiter)
    held = source.data is not None

    def texts() -> Iterable[bytes]:
        name, encoding = options.name, dialect.encoding
        if source.data is not None:
            return [to_utf8(source.data, name=name, encoding=encoding, in_schema=True)]
        return utf8_lines(
            source.chunks(),
            name=name,
            encoding=encoding,
            limit=roomy(),
            in_schema=True,
            returns=dialect.returns,
        )

    def sheets() -> Iterator[Sheet]:
        return csv_reader.sheets(texts(), dialect, options)

    def tables() -> Iterator[Table]:
        with _well_formed(options):
            for sheet in kept or sheets():
                yield _table(sheet, sums.columns, options)

    with _well_formed(options), _explained(texts, dialect, options) as check:
        kept = [*sheets()] if held else []
        sums = _refuse_bad(kept or sheets(), options)
        check(sums)
    columns = sums.columns
    frame = _parse(b"", columns.names, dialect)
    empty = Table(frame, notes=sums.notes, renamed=columns.renamed)
    return Contents(empty, sums.height, sums.rejected, tables, plain=True)


@contextmanager
def _explained(
    texts: Callable[[], Iterable[bytes]], dialect: Dialect, options: ReadOptions
) -> Iterator[Callable[[Sums], None]]:
    """Let records that do not fit be explained by the beginning of the table.

    Gives what raises if there is only one column, and a delimiter that makes more of it.
    """

    def check(sums: Sums) -> None:
        if len(sums.columns.names) == 1:
            csv_hints.refuse_lone_column(_beginning(texts()), dialect, options)

    try:
        yield check
    except MisshapenError as error:
        hint = csv_hints.explained(_beginning(texts()), dialect, options, error)
        raise hint or error from None


def _beginning(texts: Iterable[bytes]) -> bytes:
    held, size = [], 0
    for text in texts:
        held.append(text)
        size += len(text)
        if size > csv_hints.ENOUGH:
            break
    data = b"".join(held)
    return (
        data
        if len(data) <= csv_hints.ENOUGH
        else data[: max(data.rfind(end, 0, csv_hints.ENOUGH) for end in (b"\n", b"\r")) + 1]
    )


@contextmanager
def _well_formed(options: ReadOptions) -> Iterator[None]:
    try:
        yield
    except (PolarsError, PanicException) as error:
        text = "{file}: not a well-formed {format} file"
        problem = Problem("csv-unreadable", text, file=options.name, format=options.kind.title)
        raise DataError(problem) from error


def misfits(table: Table, options: WriteOptions) -> list[Problem]:
    """Return what does not fit between delimiters."""
    name = options.name
    problems = [*mixed_columns(table, name=name)]
    columns = frames.as_polars(table.frame).get_columns()
    for place, column in enumerate(columns):
        what = "" if frames.has_text(column.dtype) else frames.type_name(column.dtype)
        if column.dtype == pl.String and column.str.contains("\0", literal=True).any():
            what = "a NUL character"
        if what:
            to = "write .jsonl or .parquet" if column.dtype.is_nested() else "write Parquet"
            problems.append(misfit(column.name, what, name=name, remedy=to))
        if not column.name and (place or len(columns) == 1):  # the first may be an index
            text = "a column has no name, which {file} needs: {remedy}"
            problem = Problem("column-without-name", text, file=name, remedy="write Parquet")
            problems.append(problem)
    return problems + nul_names(table, name=name)


def writer(file: IO[bytes], options: WriteOptions) -> "CsvWriter":
    return CsvWriter(file, options.kind.delimiter)


class CsvWriter:
    """Writes the header, then records."""

    def __init__(self, file: IO[bytes], delimiter: str) -> None:
        self.file = file
        self.delimiter = delimiter
        self.begun = False

    def add(self, frame: Any, source: Table | None = None) -> None:
        if not self.begun:
            self.file.write(_header_text(frames.names(frame), self.delimiter).encode())
            self.begun = True
        frames.as_polars(frame).write_csv(self.file, separator=self.delimiter, include_header=False)

    def finish(self, report: str | None = None) -> None:
        """Leave it at that: CSV embeds no report."""

    def close(self) -> None:
        """Hold nothing."""


def _refuse_bad(sheets: Iterable[Sheet], options: ReadOptions) -> Sums:
    columns = Columns([])
    problems: list[Problem] = []
    height = rejected = widest = fewer = more = left_out = 0
    for sheet in sheets:
        columns = sheet.columns
        height += sheet.height
        rejected += sheet.rejected
        widths = sheet.widths
        widest, fewer, more = max(widest, widths[0]), fewer + widths[1], more + widths[2]
        left_out += sheet.left_out
        if not options.set_aside:
            causes = islice(sheet.causes(), PROBLEMS_SHOWN - len(problems))
            problems += (
                record_problem(
                    cause, options.name, line, csv_hints.record_remedy(cause), options.or_aside
                )
                for line, cause in causes
            )
    if problems:
        raise MisshapenError(*problems, more=rejected - len(problems))
    wide = columns.widened(widest)
    put_right = [*notes(columns, wide, fewer=fewer, more=more, left_out=left_out)]
    return Sums(wide, height, rejected, tuple(CellNote(None, "", one) for one in put_right))


def _table(sheet: Sheet, columns: Columns, options: ReadOptions) -> Table:
    data = sheet.good(len(columns.names))
    frame = _parse(data, columns.names, sheet.dialect._replace(quote=sheet.strict_quote))
    if frame.height != sheet.height:
        text = (
            "{file}: {records:,} records, but polars reads {read:,}: the file cannot be read "
            "reliably"
        )
        facts = {"records": sheet.height, "read": frame.height}
        raise DataError(Problem("csv-unreadable", text, file=options.name, **facts))
    return Table(frame, list(sheet.rejects()) if sheet.rejected else [])


def _header_text(names: Sequence[str], delimiter: str) -> str:
    """Return the first line of a table.

    A name that begins like a byte-order mark goes in quotes too, or it would be taken for one.
    """
    special = {delimiter, '"', "\r", "\n"}
    doubled = [name.replace('"', '""') for name in names]
    return (
        delimiter.join(
            f'"{name}"' if special & set(name) or name.startswith("\ufeff") else name
            for name in doubled
        )
        + "\n"
    )


def _parse(data: bytes, header: list[str], dialect: Dialect) -> pl.DataFrame:
    schema = dict.fromkeys(header, pl.String)
    if not data:
        return pl.DataFrame(schema=schema)
    if data.startswith(codecs.BOM_UTF8):  # a cell that begins so: polars takes one such mark away
        data = codecs.BOM_UTF8 + data
    return pl.read_csv(
        data,
        has_header=False,
        schema=schema,
        separator=dialect.delimiter,
        quote_char=dialect.quote,
        infer_schema=False,
    )
