"""CSV text, some lines at a time → sheets: records that fit the header, and those that do not."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count, quote
from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables.codec import ReadOptions, Reject
from cfl_cli.tables.csv_scan import RETURN, BadRecord, Records, Signs, find_records
from cfl_cli.tables.encodings import check_encoding, exhaust, line_of
from cfl_cli.tables.sep_line import sep_line

BLANK = "a blank line"


class MisshapenError(DataError):
    """Records that do not fit together, perhaps because other signs separate their cells."""


@dataclass(frozen=True)
class Dialect:
    """The delimiter, quote and encoding that a table is written with."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    certain: bool = False  # the user gave the delimiter, so no first line changes it

    def __post_init__(self) -> None:
        for option, sign in (("--delimiter", self.delimiter), ("--quote", self.quote)):
            if len(sign) != 1 or not sign.isascii() or sign in "\r\n\0":
                raise UsageError(
                    f"{option}: expected one ASCII character or tab, found {quote(sign)}"
                )
        if self.delimiter == self.quote:
            raise UsageError(f"--delimiter and --quote are both {quote(self.quote)}")
        check_encoding(self.encoding)

    @property
    def signs(self) -> Signs:
        """Return the characters that delimit and quote cells."""
        return Signs(self.delimiter, self.quote)


@dataclass(frozen=True)
class Sheet:
    """Some records of a table, one after the other."""

    header: list[str]
    signs: Signs  # that delimit and quote its cells
    data: bytes  # with these records, and perhaps others
    body: Records
    fits: Mask  # which of them are as they should be
    bad: list[BadRecord]  # the others, and stretches that are no records
    line: int  # lines of the table before `data`
    blanks: range  # the lines before this sheet that are blank, and no longer at the end

    @property
    def height(self) -> int:
        """Good records."""
        return int(np.count_nonzero(self.fits))

    @property
    def rejected(self) -> int:
        """Bad ones."""
        return len(self.blanks) + len(self.bad)

    def good(self) -> bytes:
        """Return the bytes of the good records."""
        if not self.height:
            return b""
        begin, pieces = int(self.body.starts[0]), []
        for record in self.bad:
            pieces.append(self.data[begin : record.start])
            begin = max(begin, record.stop)
        return b"".join([*pieces, self.data[begin : int(self.body.ends[-1]) + 1]])

    def causes(self) -> Iterator[tuple[int, str]]:
        """Yield the line at fault and the cause of every bad record."""
        yield from ((line, BLANK) for line in self.blanks)
        for record in self.bad:
            yield self.line + line_of(self.data, record.position), record.cause

    def rejects(self) -> Iterator[Reject]:
        """Yield the first line, the cause and the text of every bad record."""
        yield from ((line, BLANK, "") for line in self.blanks)
        line, counted = self.line + 1, 0
        for record in self.bad:
            line += self.data.count(b"\n", counted, record.start)
            counted = record.start
            text = self.data[record.start : record.stop].decode().rstrip("\r\n")
            yield line, record.cause, text


def sheets(texts: Iterable[bytes], dialect: Dialect, options: ReadOptions) -> Iterator[Sheet]:
    """Yield the sheets of a table whose text is UTF-8, in pieces of whole lines.

    If bad records are an error, nothing after the first misplaced character is looked at.
    """
    header: list[str] | None = None
    blanks = range(0)
    texts, signs, line = _without_sep_line(iter(texts), dialect)
    for data, records, bad, before in _scanned(
        texts, signs, line=line, go_on=bool(options.set_aside)
    ):
        body, blank = records, _blank(data, records)
        if header is None:
            try:
                header = _header(data, records, bad, name=options.name, signs=signs, line=before)
            except DataError:
                exhaust(texts)
                raise
            body, blank = records[1:], blank[1:]
        sheet, blanks = _sheet(header, signs, data, body, blank, bad, before, blanks)
        yield sheet
    if header is None:
        nothing, _, _ = find_records(b"", signs, go_on=False)
        _header(b"", nothing, [], name=options.name, signs=signs, line=line)


def _without_sep_line(
    texts: Iterator[bytes], dialect: Dialect
) -> tuple[Iterator[bytes], Signs, int]:
    """Return the text without a first line that names the delimiter, its signs and lines left out.

    The user's own word wins over that line.
    """
    first = next(texts, b"")
    sign, start = sep_line(first)
    if sign is None or sign == dialect.quote:
        return chain([first], texts), dialect.signs, 0
    signs = dialect.signs if dialect.certain else Signs(sign, dialect.quote)
    return chain([first[start:]], texts), signs, 1


def _scanned(
    texts: Iterator[bytes], signs: Signs, *, line: int, go_on: bool
) -> Iterator[tuple[bytes, Records, list[BadRecord], int]]:
    """Yield text with its records, those that are none, and the lines before it.

    A record that goes on in the next piece of text waits for it. If it is long, it waits for as
    much as there is of it, so that it is not scanned too often. `line` lines are left out before.
    """
    used = wanted = 0
    data = b""
    held: list[bytes] = []
    for text in texts:
        held.append(text)
        last = not text.endswith(b"\n")
        if not last and sum(map(len, held)) < wanted:
            continue
        line += data.count(b"\n", 0, used)
        data = b"".join(held)
        records, bad, used = find_records(data, signs, go_on=go_on, last=last)
        if len(records.starts) or bad:
            yield data, records, bad, line
        held = [data[used:]] if used < len(data) else []
        wanted = 2 * (len(data) - used)
        if bad and not go_on:
            exhaust(texts)
            return
    if held:
        line += data.count(b"\n", 0, used)
        data = b"".join(held)
        records, bad, _ = find_records(data, signs, go_on=go_on)
        yield data, records, bad, line


def _sheet(
    header: list[str],
    signs: Signs,
    data: bytes,
    body: Records,
    blank: Mask,
    bad: list[BadRecord],
    line: int,
    blanks: range,
) -> tuple[Sheet, range]:
    """Return a sheet and the blank lines at its end, which are fine if nothing else follows."""
    end = bad[-1].stop if bad else 0
    full = np.flatnonzero(~blank)
    kept = max(
        int(full[-1]) + 1 if len(full) else 0, int(np.searchsorted(body.starts, end, side="left"))
    )
    waiting = range(0)
    if kept < len(blank):
        first = line + line_of(data, int(body.starts[kept]))
        waiting = range(first, first + len(blank) - kept)
    if not kept and not bad:  # only blank lines, after others perhaps
        start = blanks.start if blanks else waiting.start
        sheet = Sheet(header, signs, data, body[:0], blank[:0], [], line, range(0))
        return sheet, range(start, waiting.stop) if waiting else blanks
    body, blank = body[:kept], blank[:kept]
    fits = ~blank & (body.widths == len(header))
    bad = bad + [
        BadRecord(int(start), int(end) + 1, int(start), BLANK if empty else _misfit(width, header))
        for start, end, width, empty in zip(
            *(column[~fits] for column in (body.starts, body.ends, body.widths, blank)), strict=True
        )
    ]
    bad.sort(key=lambda record: record.start)
    return Sheet(header, signs, data, body, fits, bad, line, blanks), waiting


def _header(
    data: bytes, records: Records, bad: list[BadRecord], *, name: str, signs: Signs, line: int
) -> list[str]:
    """Return the columns' names, or raise if they cannot be read or used.

    The first may be empty: so pandas and R write row numbers and names.
    """
    first = line + 1
    if bad and (not len(records.starts) or bad[0].start < records.starts[0]):
        at = line + line_of(data, bad[0].position)
        raise MisshapenError(f"{name}: line {at}: {bad[0].cause}")
    text = data[: records.ends[0]].decode() if len(records.ends) else ""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=signs.delimiter, quotechar=signs.quote
    )
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{name}: line {first}: the header cannot be read: {error}") from None
    if not any(header):
        raise MisshapenError(f"{name}: the header is empty: line {first} must name the columns")
    problems = [
        f"{name}: line {first}: column {number} has no name: name it, or leave it out"
        for number, column in enumerate(header[1:], start=2)
        if not column
    ]
    twice = [column for column, times in Counter(header).items() if column and times > 1]
    if twice and any(column.replace(".", "").isdecimal() for column in header):
        raise MisshapenError(
            f"{name}: line {first}: duplicate column {quote(twice[0])}: rename one of them, or if "
            "this line is data, add a header above it",
            cause="file-header",
        )
    problems += [
        f"{name}: line {first}: duplicate column {quote(column)}: rename one of them"
        for column in twice
    ]
    if problems:
        raise MisshapenError(*problems)
    return header


def _blank(data: bytes, records: Records) -> Mask:
    """Return which records are empty lines, with or without a carriage return."""
    view = np.frombuffer(data, dtype=np.uint8)
    lengths = records.ends - records.starts
    only = view[np.minimum(records.starts, len(view) - 1)]
    return np.asarray((lengths == 0) | ((lengths == 1) & (only == RETURN)))


def _misfit(width: int, header: list[str]) -> str:
    return f"{count(width, 'cell')}, but the header has {len(header)}"
