"""CSV and TSV, strictly: records as wide as the header, quotes only where RFC 4180 has them.

Polars pads short records and shifts cells around stray quotes, both without a word. So the bytes
are scanned first; what passes is parsed by polars, and the numbers of records are compared.
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import polars as pl
from polars.exceptions import PanicException, PolarsError

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count, quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError, UsageError
from cfl_cli.tables import frames
from cfl_cli.tables.codec import (
    ReadOptions,
    Reject,
    Table,
    WriteOptions,
    mixed_columns,
    nul_names,
)
from cfl_cli.tables.csv_scan import RETURN, BadRecord, Records, Signs, find_records
from cfl_cli.tables.encodings import check_encoding, line_of, to_utf8

BLANK = "a blank line"


@dataclass(frozen=True)
class Dialect:
    """The delimiter, quote and encoding that a table is written with."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    certain: bool = False  # the user gave the delimiter, so it is not questioned

    def __post_init__(self) -> None:
        for option, sign in (("--delimiter", self.delimiter), ("--quote", self.quote)):
            if len(sign) != 1 or not sign.isascii() or sign in "\r\n\0":
                raise UsageError(f"{option}: expected one ASCII character, found {quote(sign)}")
        if self.delimiter == self.quote:
            raise UsageError(f"--delimiter and --quote are both {quote(self.quote)}")
        check_encoding(self.encoding)

    @property
    def signs(self) -> Signs:
        """Return the characters that delimit and quote cells."""
        return Signs(self.delimiter, self.quote)


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table, all cells text."""
    signs = {"delimiter": options.kind.delimiter, **options.signs}
    dialect = Dialect(**signs, certain="delimiter" in options.signs)
    try:
        return _read(data, dialect, name=options.name, set_aside=options.set_aside)
    except (PolarsError, PanicException) as error:  # whose texts quote cells of the table
        message = f"{options.name}: not a well-formed {options.kind.title} file"
        raise DataError(message) from error


def misfits(table: Table, options: WriteOptions) -> list[str]:
    """Return what does not fit between delimiters."""
    name, problems = options.name, mixed_columns(table, name=options.name)
    for column in frames.as_polars(table.frame).get_columns():
        what = "" if frames.has_text(column.dtype) else frames.type_name(column.dtype)
        if column.dtype == pl.String and column.str.contains("\0", literal=True).any():
            what = "a NUL character"
        if what:
            title = quote(column.name)
            problems.append(f"column {title} holds {what}, which {name} cannot hold: write Parquet")
        if not column.name:
            problems.append(f"a column has no name, which {name} needs: write Parquet")
    return problems + nul_names(table, name=name)


def write(frame: Any, file: IO[bytes], options: WriteOptions) -> None:
    """Write the header and the records."""
    delimiter = options.kind.delimiter
    file.write(_header_text(frames.names(frame), delimiter).encode())
    frames.as_polars(frame).write_csv(file, separator=delimiter, include_header=False)


def _read(data: bytes, dialect: Dialect, *, name: str, set_aside: bool) -> Table:
    data = to_utf8(data, name=name, encoding=dialect.encoding)
    records, bad = find_records(data, dialect.signs, go_on=set_aside)
    header = _header(data, records, bad, name=name, dialect=dialect)
    body = records[1:]
    blank = _blank(data, body)
    end = bad[-1].stop if bad else 0
    while len(blank) and blank[-1] and body.starts[-1] >= end:  # blank lines at the end are fine
        body, blank = body[:-1], blank[:-1]
    fits = ~blank & (body.widths == len(header))
    bad += [
        BadRecord(int(start), int(end) + 1, int(start), BLANK if empty else _misfit(width, header))
        for start, end, width, empty in zip(
            *(column[~fits] for column in (body.starts, body.ends, body.widths, blank)), strict=True
        )
    ]
    bad.sort(key=lambda record: record.start)
    if bad and not set_aside:
        raise DataError(
            *(
                f"{name}: line {line_of(data, record.position)}: {record.cause}"
                for record in bad[:PROBLEMS_SHOWN]
            ),
            more=len(bad[PROBLEMS_SHOWN:]),
        )
    good = _good(data, body, bad) if fits.any() else b""
    frame = _parse(good, header, dialect)
    if frame.height != int(fits.sum()):
        raise DataError(
            f"{name}: {int(fits.sum()):,} records, but polars reads {frame.height:,}: "
            "the file cannot be read reliably"
        )
    return Table(frame, list(_rejects(data, bad)))


def _header(
    data: bytes, records: Records, bad: list[BadRecord], *, name: str, dialect: Dialect
) -> list[str]:
    """Return the columns' names, or raise if they cannot be read or used."""
    if bad and (not len(records.starts) or bad[0].start < records.starts[0]):
        raise DataError(f"{name}: line {line_of(data, bad[0].position)}: {bad[0].cause}")
    text = data[: records.ends[0]].decode() if len(records.ends) else ""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote
    )
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{name}: line 1: the header cannot be read: {error}") from None
    if not any(header):
        raise DataError(f"{name}: the header is empty: line 1 must name the columns")
    if text.lower().strip("\r").rstrip(";,\t|") == "sep=":
        raise DataError(f"{name}: line 1: {quote(text)} is not a header: delete this line")
    sign = next((one for one in ";\t|" if one in header[0]), None)
    if len(header) == 1 and sign and not dialect.certain:
        raise DataError(
            f"{name}: line 1: only one column: if {quote(sign)} separates the cells, add "
            f"--delimiter {quote(sign)}"
        )
    problems = [
        f"{name}: line 1: column {number} has no name"
        for number, column in enumerate(header, start=1)
        if not column
    ]
    problems += [
        f"{name}: line 1: duplicate column {quote(column)}"
        for column, times in Counter(header).items()
        if column and times > 1
    ]
    if problems:
        raise DataError(*problems)
    return header


def _header_text(names: Sequence[str], delimiter: str) -> str:
    """Return the first line of a table.

    A name that begins like a byte-order mark goes in quotes too, or it would be taken for one.
    """
    signs = {delimiter, '"', "\r", "\n"}
    doubled = [name.replace('"', '""') for name in names]
    return (
        delimiter.join(
            f'"{name}"' if signs & set(name) or name.startswith("\ufeff") else name
            for name in doubled
        )
        + "\n"
    )


def _blank(data: bytes, records: Records) -> Mask:
    """Return which records are empty lines, with or without a carriage return."""
    view = np.frombuffer(data, dtype=np.uint8)
    lengths = records.ends - records.starts
    only = view[np.minimum(records.starts, len(view) - 1)]
    return np.asarray((lengths == 0) | ((lengths == 1) & (only == RETURN)))


def _misfit(width: int, header: list[str]) -> str:
    return f"{count(width, 'cell')}, but the header has {len(header)}"


def _good(data: bytes, body: Records, bad: list[BadRecord]) -> bytes:
    """Return the bytes of the body without those of bad records."""
    if not len(body.starts):
        return b""
    begin, pieces = int(body.starts[0]), []
    for record in bad:
        pieces.append(data[begin : record.start])
        begin = max(begin, record.stop)
    return b"".join([*pieces, data[begin : int(body.ends[-1]) + 1]])


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


def _rejects(data: bytes, bad: list[BadRecord]) -> Iterator[Reject]:
    """Yield the line, the cause and the text of every bad record."""
    line, counted = 1, 0
    for record in bad:
        line += data.count(b"\n", counted, record.start)
        counted = record.start
        yield line, record.cause, data[record.start : record.stop].decode().rstrip("\r\n")
