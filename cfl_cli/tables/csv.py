"""CSV and TSV, strictly: records as wide as the header, quotes only where RFC 4180 has them.

Polars pads short records and shifts cells around stray quotes, both without a word. So the bytes
are scanned first; what passes is parsed by polars, and the numbers of records are compared.
"""

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from cfl_cli.core.messages import count, option
from cfl_cli.errors import PROBLEMS_SHOWN, DataError, Problem, UserText
from cfl_cli.tables import codec, frames
from cfl_cli.tables.csv_reader import (
    BLANK,
    ColumnNames,
    MisshapenError,
    RecordBlock,
    record_blocks,
    record_problem,
)
from cfl_cli.tables.dialect import QUOTE, UTF8, Dialect, TextStyle
from cfl_cli.tables.encodings import line_of, to_utf8, utf8_lines
from cfl_cli.tables.source import Source, roomy

if TYPE_CHECKING:
    from types import ModuleType

_SHOWN = 5  # columns with other names that are named


def scan(source: Source, options: codec.ReadOptions) -> codec.Contents:
    dialect = Dialect.of(options.dialect, delimiter=options.kind.delimiter)
    held = source.data is not None

    def texts() -> Iterable[bytes]:
        how: dict[str, Any] = {"name": options.name, "encoding": dialect.encoding}
        how["in_schema"] = True
        if source.data is not None:
            return [to_utf8(source.data, **how)]
        return utf8_lines(source.chunks(), limit=roomy(), returns=dialect.returns, **how)

    def tables() -> Iterator[codec.Table]:
        for block in kept or record_blocks(texts(), dialect, options):
            quote = block.dialect.quote or (QUOTE if block.dialect.escape else None)
            strict = block.dialect._replace(quote=quote)  # how the good records are given
            frame = _parse(block.good(len(columns.names)), columns.names, strict, options)
            rows = int(np.count_nonzero(block.fits))
            if frame.height != rows:
                text = "{file}: {records:,} records found, but polars reads {read:,}, so the file cannot be read reliably: export it again"
                facts = {"records": rows, "read": frame.height}
                raise DataError(Problem("csv-unreadable", text, file=options.name, **facts))
            yield codec.Table(frame, [*block.rejects()] if block.blanks or block.bad else [])

    try:
        kept = [*record_blocks(texts(), dialect, options)] if held else []
        blocks = kept or record_blocks(texts(), dialect, options)
        columns, height, rejected, notes, seen = _refuse_bad(blocks, options)
        if len(columns.names) == 1:
            _hints().refuse_lone_column(texts(), dialect, options)
    except MisshapenError as error:  # explained by the beginning of the table
        hint = _hints().explained(texts(), dialect, options, error)
        raise hint or error from None
    frame = _parse(b"", columns.names, dialect, options)
    empty = codec.Table(frame, notes=notes, renamed=columns.renamed, dialect=seen or dialect)
    return codec.Contents(empty, height, rejected, tables, plain=True)


def _hints() -> "ModuleType":
    from cfl_cli.tables import csv_hints  # most files have no faults

    return csv_hints


def misfits(table: codec.Table, options: codec.WriteOptions) -> list[Problem]:
    name, problems = options.name, []
    columns = frames.as_polars(table.frame).get_columns()
    for place, column in enumerate(columns):
        what = "" if frames.has_text(column.dtype) else frames.type_name(column.dtype)
        if column.dtype == pl.String and column.str.contains("\0", literal=True).any():
            what = "a NUL character"
        if what:
            to = "write .jsonl or .parquet" if column.dtype.is_nested() else "write Parquet"
            problems.append(codec.misfit(column.name, what, name=name, remedy=to))
        if not column.name and (place or len(columns) == 1):  # the first may be an index
            text = "a column has no name, which {file} needs: {remedy}"
            problem = Problem("column-without-name", text, file=name, remedy="write Parquet")
            problems.append(problem)
    return codec.all_misfits(problems, table, name=name)


def writer(file: IO[bytes], options: codec.WriteOptions) -> codec.RowWriter:
    style = options.style or TextStyle(options.kind.delimiter)
    if codecs.lookup(style.encoding).name != UTF8:
        file = cast("IO[bytes]", _Encoded(file, style.encoding, options.name))
    return _CsvWriter(file, style)


@dataclass
class _Encoded:
    """A file of UTF-8 that is written in another encoding."""

    file: IO[bytes]
    encoding: str
    name: str  # what messages call the table

    def __post_init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder(UTF8)()
        self.encoder = codecs.getincrementalencoder(self.encoding)()

    def write(self, data: Any) -> int:
        try:
            self.file.write(self.encoder.encode(self.decoder.decode(data)))
        except UnicodeEncodeError as error:
            raise unencodable(self.name, self.encoding, error.object[error.start]) from None
        return len(data)


def unencodable(name: str, encoding: str, character: str) -> DataError:
    text = "{file}: {value!r} cannot be written in {encoding}: {remedy}"
    remedy = f"add {option('output_encoding', UTF8)}"
    facts = {"value": UserText(character), "encoding": encoding}
    return DataError(Problem("out-encoding", text, file=name, remedy=remedy, **facts))


@dataclass
class _CsvWriter(codec.RowWriter):
    file: IO[bytes]
    style: TextStyle
    begun: bool = False

    def add(self, frame: Any, source: codec.Table | None = None) -> None:
        sign, mark = self.style.delimiter, self.style.quote
        if not self.begun:
            special = {sign, mark, "\r", "\n"}
            doubled = (name.replace(mark, 2 * mark) for name in frames.names(frame))
            # A name that begins like a byte-order mark goes in quotes too, or is taken for one.
            header = (
                f"{mark}{name}{mark}" if special & {*name} or name.startswith("\ufeff") else name
                for name in doubled
            )
            self.file.write(f"{sign.join(header)}\n".encode())
            self.begun = True
        how: dict[str, Any] = {"separator": sign, "quote_char": mark, "include_header": False}
        frames.as_polars(frame).write_csv(self.file, **how)


def _refuse_bad(
    blocks: Iterable[RecordBlock], options: codec.ReadOptions
) -> tuple[ColumnNames, int, int, tuple[codec.CellNote, ...], Dialect | None]:
    """Return the columns, the numbers of rows and rejects, notes on what was put right, the dialect."""
    columns, dialect = ColumnNames([]), None
    problems: list[Problem] = []
    height = rejected = widest = fewer = more = left_out = 0
    for block in blocks:
        columns, widths, dialect = block.columns, block.body.widths[block.fits], block.dialect
        height += len(widths)
        rejected += len(block.blanks) + len(block.bad)
        widest = max(widest, int(widths.max(initial=0)))
        fewer += int((widths < len(columns.names)).sum())
        more += int((widths > len(columns.names)).sum())
        left_out += block.left_out
        if not options.set_aside:
            reasons = chain(
                ((line, BLANK) for line in block.blanks),
                ((block.line + line_of(block.data, one.position), one.reason) for one in block.bad),
            )
            for line, reason in islice(reasons, PROBLEMS_SHOWN - len(problems)):
                remedy = _hints().record_remedy(reason, options.or_aside)
                problem = record_problem(reason, options.name, line, remedy)
                problems.append(problem.changed(or_aside=options.or_aside))
    if problems:
        raise MisshapenError(*problems, more=rejected - len(problems))
    wide = columns.widened(widest) if widest > len(columns.names) else columns
    notes = []
    for one in columns.renamed[:_SHOWN]:
        was = "is a duplicate of {name!r}, renamed" if one.name else "has no name and is called"
        text = "column {number} " + was + " {now!r}"
        names = {"name": UserText(one.name), "now": UserText(one.now) if one.name else one.now}
        notes.append(Problem("csv-renamed-column", text, number=one.number, **names))
    if len(columns.renamed) > _SHOWN:
        others = count(len(columns.renamed) - _SHOWN, "more column")
        notes.append(Problem("csv-renamed-column", "{others} renamed", others=others))
    if fewer:
        text = "{records} with fewer cells than columns, filled up with empty cells"
        notes.append(Problem("csv-filled-records", text, records=count(fewer, "record")))
    if more:
        added = wide.names[len(columns.names) :]
        text = "{records} with more cells than columns: the extra cells are in {first!r}"
        text += " to {last!r}" if len(added) > 1 else ""
        names = {"first": added[0], "last": added[-1]}
        notes.append(Problem("csv-filled-records", text, records=count(more, "record"), **names))
    if left_out:
        lines = count(left_out, "blank line")
        notes.append(Problem("csv-blank-line", "{lines} skipped", lines=lines))
    put_right = tuple(codec.CellNote(None, "", one) for one in notes)
    return wide, height, rejected, put_right, dialect


def _parse(
    data: bytes, header: list[str], dialect: Dialect, options: codec.ReadOptions
) -> pl.DataFrame:
    schema = dict.fromkeys(header, pl.String)
    if not data:
        return pl.DataFrame(schema=schema)
    if data.startswith(codecs.BOM_UTF8):  # a cell that begins so: polars takes one such mark away
        data = codecs.BOM_UTF8 + data
    try:
        how: dict[str, Any] = {"has_header": False, "schema": schema, "infer_schema": False}
        sign, mark = dialect.delimiter, dialect.quote
        return pl.read_csv(data, separator=sign, quote_char=mark, **how)
    except (PolarsError, PanicException) as error:
        text = "{file}: not a well-formed {format} file"
        problem = Problem("csv-unreadable", text, file=options.name, format=options.kind.title)
        raise DataError(problem) from error
