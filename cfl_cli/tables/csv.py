"""CSV and TSV, strictly: records as wide as the header, quotes only where RFC 4180 has them.

Polars pads short records, shifts cells around stray quotes and says nothing. So the bytes are
scanned first, 64 at a time, as bits: which delimiters and line ends stand outside quotes, what
stands beside each quote, how wide each record is. What passes is parsed by polars, and its number
of records is compared with the scan's.
"""

import codecs
import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.messages import quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError, UsageError
from cfl_cli.tables.encodings import LONE_RETURN, check_encoding, line_of, to_utf8

Bytes = npt.NDArray[np.uint8]
Reject = tuple[int, str, str]  # a record set aside: its line, the cause, its text
Words = npt.NDArray[np.uint64]  # 64 yes-or-no answers each, the first in the lowest bit

NEWLINE, RETURN = ord("\n"), ord("\r")
BLOCKS = [1 << power for power in range(16, 23)]  # bytes scanned at once: more and more

WITHIN = "a quote within a field: put the whole field in quotes and write this one twice"
BEHIND = "text behind a closing quote: write quotes within a field twice"
OPEN = "a quote is opened here and never closed"
BLANK = "a blank line"
NEVER = sys.maxsize  # the place of what is nowhere


@dataclass(frozen=True)
class Dialect:
    """The signs that a table is written with, and its encoding."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    certain: bool = False  # the delimiter is what the user said, and no question to ask

    def __post_init__(self) -> None:
        for option, sign in (("--delimiter", self.delimiter), ("--quote", self.quote)):
            if len(sign) != 1 or not sign.isascii() or sign in "\r\n\0":
                raise UsageError(f"{option}: {quote(sign)} is not one ASCII character")
        if self.delimiter == self.quote:
            raise UsageError(f"--delimiter and --quote are both {quote(self.quote)}")
        check_encoding(self.encoding)


@dataclass(frozen=True)
class Flaw:
    """A stretch of bytes that is no record, or none of this table."""

    start: int
    stop: int
    position: int  # of the byte at fault
    message: str


@dataclass(frozen=True)
class Records:
    """Where the records of a table begin and end, and how many cells each has."""

    starts: Ints
    ends: Ints  # without the line feed
    widths: Ints

    def __getitem__(self, which: slice | Mask) -> "Records":
        return Records(self.starts[which], self.ends[which], self.widths[which])


def read(
    data: bytes, *, name: str, dialect: Dialect, reject: bool = False
) -> tuple[pl.DataFrame, list[Reject]]:
    """Return the table, all cells text, and the records set aside.

    Records that do not fit are refused or, with `reject`, set aside.
    """
    data = to_utf8(data, name=name, encoding=dialect.encoding)
    records, flaws = find_records(data, dialect, go_on=reject)
    header = _header(data, records, flaws, name=name, dialect=dialect)
    body = records[1:]
    blank = _blank(data, body)
    end = flaws[-1].stop if flaws else 0
    while len(blank) and blank[-1] and body.starts[-1] >= end:  # at the very end, no harm
        body, blank = body[:-1], blank[:-1]
    fits = ~blank & (body.widths == len(header))
    flaws += [
        Flaw(int(start), int(end) + 1, int(start), BLANK if empty else _misfit(width, header))
        for start, end, width, empty in zip(
            *(part[~fits] for part in (body.starts, body.ends, body.widths, blank)), strict=True
        )
    ]
    flaws.sort(key=lambda flaw: flaw.start)
    if flaws and not reject:
        shown, more = flaws[:PROBLEMS_SHOWN], len(flaws[PROBLEMS_SHOWN:])
        raise DataError(
            *(f"{name}: line {line_of(data, flaw.position)}: {flaw.message}" for flaw in shown),
            more=more,
        )
    good = _good(data, body, flaws) if fits.any() else b""
    frame = _parse(good, header, dialect)
    if frame.height != int(fits.sum()):
        raise DataError(
            f"{name}: {int(fits.sum()):,} records, of which polars finds {frame.height:,}: "
            "the file cannot be read reliably"
        )
    return frame, list(_set_aside(data, flaws))


def find_records(data: bytes, dialect: Dialect, *, go_on: bool) -> tuple[Records, list[Flaw]]:
    """Return the records and what is none.

    At a misplaced sign, the scan stops or, to `go_on`, begins anew with the next line.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    parts, flaws = [], []
    offset = 0
    while offset < len(data):
        ends, delimiters, fault = scan(view[offset:], dialect)
        starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
        widths = np.diff(delimiters, prepend=0) + 1
        parts.append(Records(starts[:-1] + offset, ends + offset, widths))
        if fault is None:
            break
        position, message = fault
        line_end = data.find(b"\n", offset + position)
        stop = len(data) if line_end < 0 else line_end + 1
        flaws.append(Flaw(int(starts[-1]) + offset, stop, position + offset, message))
        if not go_on:
            break
        offset = stop
    none = Records(*(np.empty(0, np.int64),) * 3)
    starts, ends, widths = (
        np.concatenate([getattr(part, name) for part in [none, *parts]])
        for name in ("starts", "ends", "widths")
    )
    return Records(starts, ends, widths), flaws


def scan(data: Bytes, dialect: Dialect) -> tuple[Ints, Ints, tuple[int, str] | None]:
    """Return where records end, how many delimiters stand before each end, and the first fault.

    After a fault, a position and what is wrong there, nothing more is returned.
    """
    delimiter, mark = ord(dialect.delimiter), ord(dialect.quote)
    ends, before_ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    inside, opened, seen = False, 0, 0
    for start, stop in _blocks(len(data)):
        # One byte before and two behind, for what stands beside a sign; line ends at the edges.
        padded = np.full(stop - start + 3, NEWLINE, dtype=np.uint8)
        low, high = max(start - 1, 0), min(stop + 2, len(data))
        padded[low - start + 1 : high - start + 1] = data[low:high]
        newlines, signs, quotes = padded == NEWLINE, padded == delimiter, padded == mark
        returns = padded == RETURN
        here = slice(1, stop - start + 1)
        lone = returns[here] & ~newlines[2:-1]
        lone[-1] |= stop == len(data) and returns[stop - start]
        faults = [(_first(_pack(lone)), LONE_RETURN)]
        at = np.flatnonzero(newlines[here])
        sign = _pack(signs[here])
        if inside or quotes[here].any():
            quoted = _pack(quotes[here])
            state = _prefix_xor(quoted, inside=inside)  # 1 from an opening quote to its closing
            edges = signs | newlines | quotes  # a quote beside a quote is one of a doubled pair
            closing_edges = edges[2:-1] | (returns[2:-1] & newlines[3:])
            faults = [
                (_first(_pack(lone) & ~state), LONE_RETURN),
                (_first(quoted & state & ~_pack(edges[:-3])), WITHIN),
                (_first(quoted & ~state & ~_pack(closing_edges)), BEHIND),
            ]
            sign &= ~state
            at = at[~_bits(state, at)]
            openings = quoted & state
            if openings.any():
                opened = start + _last(openings)
            inside = bool(_bits(state, np.array([stop - start - 1]))[0])
        position, message = min(faults)
        ends.append(at[at < position] + start)
        before_ends.append(_count_before(sign, at[at < position]) + seen)
        if position < stop - start:
            return np.concatenate(ends), np.concatenate(before_ends), (start + position, message)
        seen += int(np.bitwise_count(sign).sum())
    fault = (opened, OPEN) if inside else None
    if not inside and len(data) and data[-1] != NEWLINE:
        ends.append(np.array([len(data)]))
        before_ends.append(np.array([seen]))
    return np.concatenate(ends), np.concatenate(before_ends), fault


def _blocks(total: int) -> Iterator[tuple[int, int]]:
    """Cut `range(total)`; the first blocks are small, because a scan may end at an early fault."""
    start = 0
    for size in chain(BLOCKS, repeat(BLOCKS[-1])):
        if start >= total:
            return
        yield start, min(start + size, total)
        start += size


def _pack(mask: Mask) -> Words:
    packed = np.packbits(mask, bitorder="little")
    padding = np.zeros(-len(packed) % 8, dtype=np.uint8)
    return np.concatenate([packed, padding]).view("<u8")


def _prefix_xor(words: Words, *, inside: bool) -> Words:
    """Return, for every bit, whether the bits up to it and `inside` are odd in number."""
    words = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        words ^= words << np.uint64(shift)
    odd = np.bitwise_xor.accumulate(words >> np.uint64(63))
    carry = np.concatenate([np.zeros(1, np.uint64), odd[:-1]]) ^ np.uint64(inside)
    return words ^ (np.uint64(0) - carry)


def _bits(words: Words, at: Ints) -> Mask:
    """Return whether the bits at these places are set."""
    return np.asarray(words[at >> 6] >> (at & 63).astype(np.uint64) & np.uint64(1), dtype=bool)


def _count_before(words: Words, at: Ints) -> Ints:
    """Return how many bits are set before each place."""
    counts = np.bitwise_count(words).astype(np.int64)
    lower = (np.uint64(1) << (at & 63).astype(np.uint64)) - np.uint64(1)
    whole = np.cumsum(counts) - counts
    return np.asarray(whole[at >> 6] + np.bitwise_count(words[at >> 6] & lower))


def _first(words: Words) -> int:
    """Return the place of the first bit that is set, NEVER if there is none."""
    hits = np.flatnonzero(words)
    if not len(hits):
        return NEVER
    word = int(words[hits[0]])
    return 64 * int(hits[0]) + (word & -word).bit_length() - 1


def _last(words: Words) -> int:
    """Return the place of the last bit that is set."""
    hit = int(np.flatnonzero(words)[-1])
    return 64 * hit + int(words[hit]).bit_length() - 1


def _header(
    data: bytes, records: Records, flaws: list[Flaw], *, name: str, dialect: Dialect
) -> list[str]:
    """Return the columns' names, or raise if they cannot be told or used."""
    if flaws and (not len(records.starts) or flaws[0].start < records.starts[0]):
        raise DataError(f"{name}: line {line_of(data, flaws[0].position)}: {flaws[0].message}")
    text = data[: records.ends[0]].decode() if len(records.ends) else ""
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=dialect.delimiter, quotechar=dialect.quote
    )
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise DataError(f"{name}: line 1: the header cannot be read: {error}") from None
    if not any(header):
        raise DataError(f"{name}: line 1: there is no header with the columns' names")
    if text.lower().strip("\r").rstrip(";,\t|") == "sep=":
        raise DataError(f"{name}: line 1: {quote(text)} names no columns: delete this line")
    sign = next((one for one in ";\t|" if one in header[0]), None)
    if len(header) == 1 and sign and not dialect.certain:
        raise DataError(
            f"{name}: line 1: a single column: if {quote(sign)} stands between cells, add "
            f"--delimiter {quote(sign)}"
        )
    problems = [
        f"{name}: line 1: column {number} has no name"
        for number, column in enumerate(header, start=1)
        if not column
    ]
    problems += [
        f"{name}: line 1: column {quote(column)} stands twice"
        for column, count in Counter(header).items()
        if column and count > 1
    ]
    if problems:
        raise DataError(*problems)
    return header


def header_text(names: Sequence[str], delimiter: str) -> str:
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
    return f"{width} cells, but the header has {len(header)}"


def _good(data: bytes, body: Records, flaws: list[Flaw]) -> bytes:
    """Return the bytes of the body without those of the flaws."""
    if not len(body.starts):
        return b""
    begin, pieces = int(body.starts[0]), []
    for flaw in flaws:
        pieces.append(data[begin : flaw.start])
        begin = max(begin, flaw.stop)
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


def _set_aside(data: bytes, flaws: list[Flaw]) -> Iterator[Reject]:
    """Yield the line, the cause and the text of every record that was set aside."""
    line, counted = 1, 0
    for flaw in flaws:
        line += data.count(b"\n", counted, flaw.start)
        counted = flaw.start
        yield line, flaw.message, data[flaw.start : flaw.stop].decode().rstrip("\r\n")
