"""Where the records of a delimited text begin and end, how wide they are, and its first fault.

The bytes are scanned 64 at a time, as bits. With q for the bits of the quotes,

    inside = q ⊕ (q << 1) ⊕ (q << 2) ⊕ …

is 1 from every opening quote up to its closing one. Delimiters and line ends count outside.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.errors import DataError
from cfl_cli.tables.encodings import LONE_RETURN

# What a delimited text consists of: signs, records, and stretches that are not records.

Bytes = npt.NDArray[np.uint8]

NEWLINE, RETURN = ord("\n"), ord("\r")
WITHIN = "a quote inside an unquoted field: quote the whole field and double the quotes in it"
BEHIND = "text after a closing quote: double the quotes inside a field"
OPEN = "a quote opened here is never closed: close it, or quote the field and double it"
NEVER = sys.maxsize  # the position of what does not occur


class Signs(NamedTuple):
    """The characters that delimit and quote cells."""

    delimiter: str
    quote: str | None  # None: no cell is quoted
    escape: str | None = None  # the next character stands for itself
    returns: bool = False  # a carriage return alone ends a line too
    trims: bool = False  # blanks around cells, outside quotes, are no part of them


class Fault(NamedTuple):
    """The position of a misplaced character, and what is wrong with it."""

    position: int
    cause: str


@dataclass(frozen=True)
class BadRecord:
    """A stretch of bytes that is not a record of this table."""

    start: int
    stop: int
    position: int  # of the byte at fault
    cause: str


@dataclass(frozen=True)
class Records:
    """Where the records of a table begin and end, and how many cells each has."""

    starts: Ints
    ends: Ints  # without the line feed
    widths: Ints

    def __getitem__(self, which: slice | Mask) -> "Records":
        return Records(self.starts[which], self.ends[which], self.widths[which])

    @classmethod
    def joined(cls, pieces: "list[Records]") -> "Records":
        """Return the records of all pieces."""
        nothing = cls(*(np.empty(0, np.int64),) * 3)
        starts, ends, widths = (
            np.concatenate([getattr(piece, name) for piece in [nothing, *pieces]])
            for name in ("starts", "ends", "widths")
        )
        return cls(starts, ends, widths)


def next_line(data: bytes, position: int, signs: Signs) -> int:
    """Return where the line after that of a position begins."""
    feed = data.find(b"\n", position)
    back = data.find(b"\r", position) if signs.returns else -1
    if back >= 0 and (feed < 0 or back < feed):
        return back + 1 + (data[back + 1 : back + 2] == b"\n")
    return len(data) if feed < 0 else feed + 1


# Blanks around the cells of a delimited text, outside quotes: `"a", "b"` has one.
#
# They are no part of cells if a table says so. Then a quote opens a cell behind blanks that follow
# the beginning of that cell, and closes it before blanks that lead to its end.

BLANKS = " \t"
STEPS = 64  # blanks that are passed one by one
WINDOW = 1 << 12  # bytes that are looked at at once, if there are more


def blanks(signs: Signs) -> bytes:
    """Return the characters that are blanks: spaces and tabs, unless they mean something else."""
    if not signs.trims:
        return b""
    return "".join(one for one in BLANKS if one not in signs[:3]).encode()


def opens(text: Bytes, quotes: Ints, signs: Signs) -> Mask:
    """Return before which quotes there is nothing but blanks in their cells."""
    beside = _beside(text, quotes, signs, step=-1)
    before = text[np.maximum(beside, 0)]
    edge = (before == ord(signs.delimiter)) | (before == NEWLINE)
    return np.asarray((beside < 0) | edge | ((before == RETURN) & signs.returns))


def closes(text: Bytes, quotes: Ints, signs: Signs) -> Mask:
    """Return behind which quotes there is nothing but blanks in their cells."""
    beside, last = _beside(text, quotes, signs, step=1), len(text) - 1
    behind, second = text[np.minimum(beside, last)], text[np.minimum(beside + 1, last)]
    edge = (behind == ord(signs.delimiter)) | (behind == NEWLINE)
    edge |= (behind == RETURN) & ((second == NEWLINE) | signs.returns)
    return np.asarray((beside > last) | edge)


def _beside(text: Bytes, places: Ints, signs: Signs, *, step: int) -> Ints:
    """Return the position of the first byte before or behind each place that is not a blank."""
    signs_of_blanks = np.frombuffer(blanks(signs), dtype=np.uint8)

    def is_blank(at: Ints) -> Mask:
        inside = (at >= 0) & (at < len(text))
        return inside & np.isin(text[np.clip(at, 0, len(text) - 1)], signs_of_blanks)

    found = places + step
    going = np.flatnonzero(is_blank(found))
    for _ in range(STEPS):
        if not len(going):
            return found
        found[going] += step
        going = going[is_blank(found[going])]
    for one in going.tolist():
        found[one] = _far(text, int(found[one]), signs_of_blanks, step=step)
    return found


def _far(text: Bytes, place: int, signs_of_blanks: Bytes, *, step: int) -> int:
    """Return the first position from a place on that is not a blank's."""
    size = WINDOW
    while 0 <= place < len(text):
        low, high = (max(place - size + 1, 0), place + 1) if step < 0 else (place, place + size)
        others = np.flatnonzero(~np.isin(text[low:high], signs_of_blanks))
        if len(others):
            return low + int(others[0 if step > 0 else -1])
        place = low - 1 if step < 0 else min(high, len(text))
        size *= 2
    return place


def trimmed(record: bytes, masked: bytes, signs: Signs) -> bytes:
    """Return a record without the blanks; `masked` is the same with nothing for what is escaped."""
    if not (outer := blanks(signs)):
        return record
    sign = signs.delimiter.encode()
    found = _trimmed_cells(signs).finditer(sign + masked)
    kept = []
    for match in found:
        cell, start = match[1], match.start()
        begin = start + len(cell) - len(cell.lstrip(outer))
        kept.append(record[begin : start + len(cell.rstrip(outer))])
    return sign.join(kept)


@cache
def _trimmed_cells(signs: Signs) -> re.Pattern[bytes]:
    """Return what a delimiter and the cell behind it look like in a record."""
    sign, outer = re.escape(signs.delimiter.encode()), re.escape(blanks(signs))
    plain = b"[^%b]*+" % sign
    if signs.quote is None:
        return re.compile(b"%b(%b)" % (sign, plain))
    mark = re.escape(signs.quote.encode())
    quoted = b"[%b]*+%b(?:[^%b]++|%b%b)*+%b" % (outer, *(mark,) * 5)
    return re.compile(b"%b((?:%b)?+%b)" % (sign, quoted, plain))


def are_blank(data: bytes, starts: Ints, ends: Ints, signs: Signs) -> Mask:
    """Return which records hold nothing but blanks."""
    outer = blanks(signs) + b"\r"
    view = np.frombuffer(data, dtype=np.uint8)
    found = np.zeros(len(starts), dtype=bool)
    first = view[np.minimum(starts, len(view) - 1)]
    likely = np.flatnonzero(np.isin(first, np.frombuffer(outer, dtype=np.uint8)))
    for place in likely.tolist():
        found[place] = not data[int(starts[place]) : int(ends[place])].strip(outer)
    return found


# The records of a text with misplaced characters: all lines are judged at once.
#
# Most records are a line each. So every line is looked at as if a record began with it: it is a
# record, or has a misplaced character, or leaves a quote open. Only from the last kind on is the
# text gone through cell by cell, up to the end of that record.

CHUNK = 1 << 22  # bytes whose lines are judged at once
CAUSES = (WITHIN, BEHIND, LONE_RETURN)


class Lines(NamedTuple):
    """Some lines, each taken for the beginning of a record."""

    starts: Ints
    ends: Ints  # without the line feed
    widths: Ints
    faults: Ints  # position of the first misplaced character, NEVER if there is none
    causes: Ints  # its place in CAUSES
    opens: Mask  # the record goes on in the next line


def sorted_lines(
    text: bytes, signs: Signs, start: int, *, last: bool
) -> tuple[Records, list[BadRecord], int]:
    """Return records and other stretches from `start` on, and up to where the text is used."""
    view = np.frombuffer(text, dtype=np.uint8)
    pieces: list[Records] = []
    bad: list[BadRecord] = []
    while start < len(text):
        stop = _end_of_chunk(text, start, signs)
        lines = _lines(view, start, stop, signs)
        at, opens = 0, np.flatnonzero(lines.opens)
        start = stop
        while at < len(lines.starts):
            here = int(np.searchsorted(opens, at))
            until = int(opens[here]) if here < len(opens) else len(lines.starts)
            _add(lines, at, until, pieces, bad, size=len(text))
            if until == len(lines.starts):
                break
            begin = int(lines.starts[until])
            found = _one_record(text, begin, signs)
            if isinstance(found, Fault):
                if found.cause == OPEN and not last:
                    return Records.joined(pieces), bad, begin
                after = next_line(text, found.position, signs)
                bad.append(BadRecord(begin, after, found.position, found.cause))
            else:
                end, width = found
                pieces.append(Records(*(np.array([one]) for one in (begin, end, width))))
                after = end + 1
            start = max(stop, after)
            at = int(np.searchsorted(lines.starts, after))
    records = Records.joined(pieces)
    ends = records.ends
    if not last and len(ends) and ends[-1] >= len(text):  # its line end is escaped
        return records[:-1], bad, int(records.starts[-1])
    return records, bad, len(text)


def _add(
    lines: Lines, at: int, until: int, pieces: list[Records], bad: list[BadRecord], *, size: int
) -> None:
    """Add the lines of a range to the records or to the others."""
    wrong = lines.faults[at:until] < NEVER
    records = Records(lines.starts[at:until], lines.ends[at:until], lines.widths[at:until])
    pieces.append(records[~wrong])
    columns = (
        records.starts[wrong],
        np.minimum(records.ends[wrong] + 1, size),
        lines.faults[at:until][wrong],
        lines.causes[at:until][wrong],
    )
    bad.extend(
        BadRecord(start, stop, position, CAUSES[cause])
        for start, stop, position, cause in zip(*(one.tolist() for one in columns), strict=True)
    )


def _end_of_chunk(text: bytes, start: int, signs: Signs) -> int:
    """Return where a line begins, about a chunk further."""
    if len(text) - start <= CHUNK:
        return len(text)
    return next_line(text, start + CHUNK, signs)


def _lines(view: Bytes, start: int, stop: int, signs: Signs) -> Lines:
    """Judge the lines from `start` to `stop`, which both begin one."""
    here = view[start:stop]
    after = np.full(len(here) + 2, NEWLINE, dtype=np.uint8)  # what comes behind each byte
    beyond = view[start + 1 : stop + 3]
    after[: len(beyond)] = beyond
    behind, second = after[: len(here)], after[1 : len(here) + 1]
    feeds, returns = here == NEWLINE, here == RETURN
    lone = returns & (behind != NEWLINE)
    if stop == len(view):
        lone[-1] = returns[-1]
    breaks = np.flatnonzero(feeds | lone if signs.returns else feeds)
    ended = len(breaks) and breaks[-1] == len(here) - 1
    ends = breaks if ended else np.append(breaks, len(here))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
    mark, delimiter = signs.quote and ord(signs.quote), ord(signs.delimiter)
    quotes = np.flatnonzero(here == mark) if mark else np.empty(0, np.int64)
    line = np.searchsorted(ends, quotes)
    first = np.searchsorted(quotes, starts)  # quote of each line, as a number
    opening = (np.arange(len(quotes)) - first[line]) % 2 == 0
    before = here[np.maximum(quotes - 1, 0)]
    may_open = (quotes == starts[line]) | (before == delimiter) | (before == mark)
    next_to, next_but_one = behind[quotes], second[quotes]
    may_close = (next_to == NEWLINE) | (next_to == delimiter) | (next_to == mark)
    may_close |= (next_to == RETURN) & ((next_but_one == NEWLINE) | signs.returns)
    if signs.trims:
        may_open |= opens(view, quotes + start, signs)
        may_close |= closes(view, quotes + start, signs)
    wrong = [quotes[opening & ~may_open], quotes[~opening & ~may_close]]
    if not signs.returns:
        alone = np.flatnonzero(lone)
        wrong.append(alone[~_inside(alone, ends, quotes, first)])
    faults = np.full(len(ends), NEVER)
    causes = np.zeros(len(ends), np.int64)
    for cause, places in enumerate(wrong):
        where = np.searchsorted(ends, places)
        earliest = np.full(len(ends), NEVER)
        np.minimum.at(earliest, where, places + start)
        causes = np.where(earliest < faults, cause, causes)
        faults = np.minimum(faults, earliest)
    delimiters = np.flatnonzero(here == delimiter)
    outside = delimiters[~_inside(delimiters, ends, quotes, first)]
    widths = np.bincount(np.searchsorted(ends, outside), minlength=len(ends)) + 1
    odd = np.bincount(line, minlength=len(ends)) % 2 == 1
    return Lines(starts + start, ends + start, widths, faults, causes, odd & (faults == NEVER))


def _inside(places: Ints, ends: Ints, quotes: Ints, first: Ints) -> Mask:
    """Return which places are within quotes, by the quotes before them in their lines."""
    if not len(quotes):
        return np.zeros(len(places), dtype=bool)
    before = np.searchsorted(quotes, places) - first[np.searchsorted(ends, places)]
    return np.asarray(before % 2 == 1)


def _one_record(text: bytes, start: int, signs: Signs) -> tuple[int, int] | Fault:
    """Return where the record that begins at `start` ends and its width, or its first fault."""
    opening, quoted, plain = _cells(signs)
    mark, delimiter = (signs.quote or "").encode(), signs.delimiter.encode()
    place, width = start, 1
    while True:
        is_quoted = mark != b"" and opening.match(text, place) is not None
        match = (quoted if is_quoted else plain).match(text, place)
        if match is None:
            return Fault(text.rfind(mark), OPEN)
        place = match.end()
        sign = text[place : place + 1]
        if sign == delimiter:
            place, width = place + 1, width + 1
            continue
        if sign in (b"", b"\n"):
            return place, width
        if sign == b"\r" and (signs.returns or text[place + 1 : place + 2] == b"\n"):
            return place + (text[place + 1 : place + 2] == b"\n"), width
        if is_quoted and not (sign == b"\r" and place + 1 == len(text)):
            return Fault(place - 1, BEHIND)
        return Fault(place, LONE_RETURN if sign == b"\r" else WITHIN)


@cache
def _cells(signs: Signs) -> tuple[re.Pattern[bytes], ...]:
    """Return what the beginning of a quoted cell, such a cell and any other look like."""
    mark, delimiter = re.escape((signs.quote or "").encode()), re.escape(signs.delimiter.encode())
    outer = b"[%b]*+" % re.escape(blanks(signs)) if blanks(signs) else b""
    return (
        re.compile(outer + mark),
        re.compile(b"%b%b(?:[^%b]++|%b%b)*+%b%b" % (outer, *(mark,) * 5, outer)),
        re.compile(b"[^%b%b\r\n]*+" % (delimiter, mark)),
    )


# Escapes of a delimited text, such as `\"`: what means nothing by them, and records without.
#
# The first of a run of escapes takes the meaning of the second, the third that of the fourth …; what
# comes behind a run of odd length stands for itself. So `\n` is n, not the end of a line.

NOTHING = 0  # no text holds this byte


def masked(data: bytes, signs: Signs) -> bytes:
    """Return the text with a byte that means nothing in the place of each escaped one."""
    if signs.escape is None or signs.escape.encode() not in data:
        return data
    view = np.frombuffer(data, dtype=np.uint8).copy()
    behind = active(data, signs) + 1
    view[behind[behind < len(view)]] = NOTHING
    return view.tobytes()


def prepared(text: bytes, signs: Signs) -> bytes:
    """Return a text to guess by: only line feeds end lines, and nothing is escaped."""
    text = masked(text, signs)
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if signs.returns else text


def active(data: bytes, signs: Signs) -> Ints:
    """Return the positions of the escapes that are not escaped themselves."""
    if signs.escape is None:
        return np.empty(0, np.int64)
    at = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(signs.escape))
    number = np.arange(len(at))
    begins = np.diff(at, prepend=-2) != 1
    first = np.maximum.accumulate(np.where(begins, number, 0))  # of its run
    return np.asarray(at[(number - first) % 2 == 0])


def undone(records: Sequence[bytes], signs: Signs, *, mark: str) -> Iterator[bytes]:
    """Yield records without escapes: cells that need it are quoted with `mark`, as RFC 4180 says.

    Cells that are empty stay so, whether they were quoted or not.
    """
    special = {signs.delimiter, mark, "\r", "\n"}
    with unlimited():
        for record in records:
            cells = split(record.decode(), signs)
            yield signs.delimiter.join(
                f"{mark}{cell.replace(mark, mark * 2)}{mark}" if special & {*cell} else cell
                for cell in cells
            ).encode()


def split(record: str, signs: Signs) -> list[str]:
    """Return the cells of one record."""
    if signs.trims:
        data = record.encode()
        record = trimmed(data, masked(data, signs), signs).decode()
    lines = io.StringIO(record, newline="")
    found = list(
        csv.reader(
            lines,
            delimiter=signs.delimiter,
            quotechar=signs.quote,
            escapechar=signs.escape,
            quoting=csv.QUOTE_NONE if signs.quote is None else csv.QUOTE_MINIMAL,
            strict=signs.escape is None,
        )
    )
    if len(found) > 1:
        raise DataError("a record that Python's csv takes for several")
    return found[0] if found else []


@contextmanager
def unlimited() -> Iterator[None]:
    """Let cells be of any length."""
    usual = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


Words = npt.NDArray[np.uint64]  # 64 yes-or-no answers each, the first in the lowest bit

BLOCKS = [1 << power for power in range(16, 23)]  # bytes scanned at once: more and more


def find_records(
    data: bytes, signs: Signs, *, go_on: bool, last: bool = True
) -> tuple[Records, list[BadRecord], int]:
    """Return the records, the stretches that are not records, and how many bytes they take.

    At a misplaced character, the scan stops or, with `go_on`, begins anew with the next line. If
    `data` is not the last of a text, it ends with a line, and a record that goes on is left out.
    """
    text = masked(data, signs)  # in which escaped characters mean nothing
    view = np.frombuffer(text, dtype=np.uint8)
    ends, delimiters, fault = scan(view, signs)
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    records = Records(starts[:-1], ends, np.diff(delimiters, prepend=0) + 1)
    if fault is None:
        if last or not len(ends) or ends[-1] < len(data):
            return records, [], len(data)
        return records[:-1], [], int(starts[-2])  # its line end is escaped
    start = int(starts[-1])
    if go_on:
        others, bad, used = sorted_lines(text, signs, start, last=last)
        return Records.joined([records, others]), bad, used
    if fault.cause == OPEN and not last:
        return records, [], start
    stop = next_line(text, fault.position, signs)
    return records, [BadRecord(start, stop, fault.position, fault.cause)], len(data)


def scan(data: Bytes, signs: Signs) -> tuple[Ints, Ints, Fault | None]:
    """Return where records end, how many delimiters come before each end, and the first fault.

    Nothing after a fault is returned.
    """
    delimiter, mark = ord(signs.delimiter), signs.quote and ord(signs.quote)
    ends, before_ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    inside, opened, counted = False, 0, 0
    for start, stop in _blocks(len(data)):
        # One byte before and two behind, to see what is next to a sign; line ends at the edges.
        padded = np.full(stop - start + 3, NEWLINE, dtype=np.uint8)
        low, high = max(start - 1, 0), min(stop + 2, len(data))
        padded[low - start + 1 : high - start + 1] = data[low:high]
        newlines, delimiters = padded == NEWLINE, padded == delimiter
        quotes = padded == mark if mark else np.zeros(len(padded), dtype=bool)
        returns = padded == RETURN
        here = slice(1, stop - start + 1)
        lone = returns.copy()
        lone[:-1] &= ~newlines[1:]
        lone[stop - start] |= stop == len(data) and returns[stop - start]
        if signs.returns:
            newlines, lone = newlines | lone, np.zeros(len(padded), dtype=bool)
        faults = [Fault(_first(_pack(lone[here])), LONE_RETURN)]
        line_ends = np.flatnonzero(newlines[here])
        outside = _pack(delimiters[here])
        if inside or quotes[here].any():
            quoted = _pack(quotes[here])
            state = _prefix_xor(quoted, inside=inside)  # 1 from an opening quote to its closing
            edges = delimiters | newlines | quotes  # a quote next to a quote is one of a pair
            opening_edges = edges[:-3].copy()
            closing_edges = edges[2:-1] | (returns[2:-1] & (newlines[3:] | signs.returns))
            if signs.trims:
                at = np.flatnonzero(quotes[here])
                opening_edges[at] |= opens(data, at + start, signs)
                closing_edges[at] |= closes(data, at + start, signs)
            faults = [
                Fault(_first(_pack(lone[here]) & ~state), LONE_RETURN),
                Fault(_first(quoted & state & ~_pack(opening_edges)), WITHIN),
                Fault(_first(quoted & ~state & ~_pack(closing_edges)), BEHIND),
            ]
            outside &= ~state
            line_ends = line_ends[~_bits(state, line_ends)]
            openings = quoted & state
            if openings.any():
                opened = start + _last(openings)
            inside = bool(_bits(state, np.array([stop - start - 1]))[0])
        fault = min(faults)
        line_ends = line_ends[line_ends < fault.position]
        ends.append(line_ends + start)
        before_ends.append(_count_before(outside, line_ends) + counted)
        if fault.position < stop - start:
            fault = Fault(start + fault.position, fault.cause)
            return np.concatenate(ends), np.concatenate(before_ends), fault
        counted += int(np.bitwise_count(outside).sum())
    unclosed = Fault(opened, OPEN) if inside else None
    if (
        not inside
        and len(data)
        and data[-1] not in ([NEWLINE, RETURN] if signs.returns else [NEWLINE])
    ):
        ends.append(np.array([len(data)]))
        before_ends.append(np.array([counted]))
    return np.concatenate(ends), np.concatenate(before_ends), unclosed


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
    """Return whether the bits at these positions are set."""
    return np.asarray(words[at >> 6] >> (at & 63).astype(np.uint64) & np.uint64(1), dtype=bool)


def _count_before(words: Words, at: Ints) -> Ints:
    """Return how many bits are set before each position."""
    counts = np.bitwise_count(words).astype(np.int64)
    lower = (np.uint64(1) << (at & 63).astype(np.uint64)) - np.uint64(1)
    whole = np.cumsum(counts) - counts
    return np.asarray(whole[at >> 6] + np.bitwise_count(words[at >> 6] & lower))


def _first(words: Words) -> int:
    """Return the position of the first bit that is set, NEVER if there is none."""
    hits = np.flatnonzero(words)
    if not len(hits):
        return NEVER
    word = int(words[hits[0]])
    return 64 * int(hits[0]) + (word & -word).bit_length() - 1


def _last(words: Words) -> int:
    """Return the position of the last bit that is set."""
    hit = int(np.flatnonzero(words)[-1])
    return 64 * hit + int(words[hit]).bit_length() - 1
