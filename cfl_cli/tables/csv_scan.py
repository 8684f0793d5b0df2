"""Where the records of a delimited text begin and end, how wide they are, and what is misplaced.

One grammar, RFC 4180 with other characters, escapes and blanks around cells. `find_records` goes
two ways that give the same (a test compares both with a loop over characters):

    fast   the bytes are scanned 64 at a time, as bits, up to the first misplaced character
    lines  from there on, if asked, each line is judged in both states: a record begins with it, or
           a quote is open. A fault, and the number of its quotes, decide the state of the next.

With q for the bits of the quotes,

    inside = q ⊕ (q << 1) ⊕ (q << 2) ⊕ …

is 1 from every opening quote up to its closing one. Delimiters and line ends count outside.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.tables.dialect import Dialect

Bytes = npt.NDArray[np.uint8]
_Words = npt.NDArray[np.uint64]  # 64 yes-or-no answers each, the first in the lowest bit

NEWLINE, RETURN = ord("\n"), ord("\r")
NEVER = sys.maxsize  # the position of what does not occur
BLOCKS = [1 << power for power in range(16, 23)]  # bytes scanned at once: more and more
CHUNK = 1 << 22  # bytes whose lines are judged at once


class Reason(NamedTuple):
    code: str
    what: str
    fix: str = ""

    @property
    def text(self) -> str:
        """Both, as files of rejected records have it."""
        return f"{self.what}: {self.fix}" if self.fix else self.what


WITHIN = Reason(
    "csv-quote-inside",
    "a quote inside an unquoted field",
    "quote the whole field and double the quotes in it",
)
BEHIND = Reason(
    "csv-text-after-quote", "text after a closing quote", "double the quotes inside a field"
)
OPEN = Reason(
    "csv-open-quote",
    "a quote opened here is never closed",
    "close it, or quote the field and double it",
)
RETURNED = Reason(
    "csv-lone-return", "a carriage return without a line feed", "end lines with LF or CRLF"
)
_CAUSES = (WITHIN, BEHIND, RETURNED)
QUOTE_CODES = {WITHIN.code, BEHIND.code, OPEN.code}


class Fault(NamedTuple):
    position: int  # of a misplaced character
    reason: Reason


@dataclass(frozen=True)
class BadRecord:
    start: int
    stop: int
    position: int  # of the byte at fault
    reason: Reason


@dataclass(frozen=True)
class Records:
    starts: Ints
    ends: Ints  # without the line feed
    widths: Ints

    def __getitem__(self, which: slice | Mask) -> "Records":
        return Records(self.starts[which], self.ends[which], self.widths[which])

    @classmethod
    def joined(cls, pieces: "list[Records]") -> "Records":
        columns = zip(*((one.starts, one.ends, one.widths) for one in pieces), strict=True)
        nothing = np.empty(0, np.int64)
        return cls(*map(np.concatenate, columns)) if pieces else cls(nothing, nothing, nothing)


def find_records(
    data: bytes, dialect: Dialect, *, go_on: bool, last: bool = True
) -> tuple[Records, list[BadRecord], int]:
    """Return the records, the stretches that are not records, and how many bytes they take.

    At a misplaced character, the scan stops or, with `go_on`, begins anew with the next line. If
    `data` is not the last of a text, it ends with a line, and a record that goes on is left out.
    """
    text = (
        masked(data, dialect) if dialect.escape else data
    )  # in which escaped characters mean nothing
    ends, delimiters, fault = scan(np.frombuffer(text, dtype=np.uint8), dialect)
    starts = np.concatenate([np.zeros(1, np.int64), ends + 1])
    records, used = Records(starts[:-1], ends, np.diff(delimiters, prepend=0) + 1), len(data)
    bad: list[BadRecord] = []
    if fault is not None:
        start = int(starts[-1])
        if go_on:
            others, bad, used = _judged(text, dialect, start, last=last)
            records = Records.joined([records, others])
        elif fault.reason == OPEN and not last:
            return records, [], start
        else:
            stop = next_line(text, fault.position, dialect)
            return records, [BadRecord(start, stop, fault.position, fault.reason)], len(data)
    if not last and len(records.ends) and records.ends[-1] >= len(data):  # its line end is escaped
        return records[:-1], bad, int(records.starts[-1])
    return records, bad, used


def next_line(data: bytes, position: int, dialect: Dialect) -> int:
    feed = data.find(b"\n", position)
    back = data.find(b"\r", position) if dialect.returns else -1
    if back >= 0 and (feed < 0 or back < feed):
        return back + 1 + (data[back + 1 : back + 2] == b"\n")
    return len(data) if feed < 0 else feed + 1


# Bits: all records up to the first fault.


def scan(data: Bytes, dialect: Dialect) -> tuple[Ints, Ints, Fault | None]:
    """Return where records end, how many delimiters come before each end, and the first fault.

    Nothing after a fault is returned.
    """
    delimiter, mark = ord(dialect.delimiter), dialect.quote and ord(dialect.quote)
    ends, before_ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    inside, opened, counted, stop = False, 0, 0, 0
    for size in chain(BLOCKS, repeat(BLOCKS[-1])):
        start, stop = stop, min(stop + size, len(data))
        if start == stop:
            break
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
        if dialect.returns:
            newlines, lone = newlines | lone, np.zeros(len(padded), dtype=bool)
        suspects = [(_pack(lone[here]), RETURNED)]
        line_ends = np.flatnonzero(newlines[here])
        outside = _pack(delimiters[here])
        if inside or quotes[here].any():
            quoted = _pack(quotes[here])
            state = quoted.copy()  # 1 from an opening quote to its closing
            for shift in (1, 2, 4, 8, 16, 32):
                state ^= state << np.uint64(shift)
            odd = np.bitwise_xor.accumulate(state >> np.uint64(63))
            carry = np.concatenate([np.zeros(1, np.uint64), odd[:-1]]) ^ np.uint64(inside)
            state ^= np.uint64(0) - carry
            edges = delimiters | newlines | quotes  # a quote next to a quote is one of a pair
            opening_edges = edges[:-3].copy()
            closing_edges = edges[2:-1] | (returns[2:-1] & (newlines[3:] | dialect.returns))
            if dialect.trims:
                at = np.flatnonzero(quotes[here])
                opening_edges[at] |= opens(data, at + start, dialect)
                closing_edges[at] |= closes(data, at + start, dialect)
            suspects = [
                (_pack(lone[here]) & ~state, RETURNED),
                (quoted & state & ~_pack(opening_edges), WITHIN),
                (quoted & ~state & ~_pack(closing_edges), BEHIND),
            ]
            outside &= ~state
            quoted_ends = state[line_ends >> 6] >> (line_ends & 63).astype(np.uint64)
            line_ends = line_ends[quoted_ends & np.uint64(1) == 0]
            openings = quoted & state
            if openings.any():
                hit = int(np.flatnonzero(openings)[-1])
                opened = start + 64 * hit + int(openings[hit]).bit_length() - 1
            inside = bool(int(state[stop - start - 1 >> 6]) >> (stop - start - 1 & 63) & 1)
        fault = Fault(NEVER, RETURNED)
        for words, reason in suspects:
            if len(hits := np.flatnonzero(words)):
                word = int(words[hits[0]])
                place = 64 * int(hits[0]) + (word & -word).bit_length() - 1
                fault = min(fault, Fault(place, reason))
        line_ends = line_ends[line_ends < fault.position]
        ends.append(line_ends + start)
        counts, at = np.bitwise_count(outside).astype(np.int64), line_ends >> 6
        lower = (np.uint64(1) << (line_ends & 63).astype(np.uint64)) - np.uint64(1)
        within = np.bitwise_count(outside[at] & lower)
        before_ends.append((np.cumsum(counts) - counts)[at] + within + counted)
        if fault.position < stop - start:
            fault = Fault(start + fault.position, fault.reason)
            return np.concatenate(ends), np.concatenate(before_ends), fault
        counted += int(counts.sum())
    line_end = (NEWLINE, RETURN) if dialect.returns else (NEWLINE,)
    if not inside and len(data) and data[-1] not in line_end:
        ends.append(np.array([len(data)]))
        before_ends.append(np.array([counted]))
    unclosed = Fault(opened, OPEN) if inside else None
    return np.concatenate(ends), np.concatenate(before_ends), unclosed


def _pack(mask: Mask) -> _Words:
    packed = np.packbits(mask, bitorder="little")
    padding = np.zeros(-len(packed) % 8, dtype=np.uint8)
    return np.concatenate([packed, padding]).view("<u8")


# Lines: all records of a text with misplaced characters.
#
# The state s of a line is 0 if a record begins with it, and 1 if a quote is open. With n quotes in
# the line, the next one's state is 0 after a fault, else (s + n) mod 2. A line with faults in both
# states, or in the one that leads to 1, gives 0 whatever s is; between such lines, states are sums.


def _judged(
    text: bytes, dialect: Dialect, start: int, *, last: bool
) -> tuple[Records, list[BadRecord], int]:
    view = np.frombuffer(text, dtype=np.uint8)
    pieces: list[Records] = []
    bad: list[BadRecord] = []
    held: tuple[int, int] | None = None  # where an open record begins, and its cells so far
    final = text.rfind(dialect.quote.encode(), start) if dialect.quote else -1
    while start < len(text):
        stop = len(text)
        if stop - start > CHUNK:
            stop = next_line(text, start + CHUNK, dialect)
        held = _judge(view, start, stop, dialect, held, pieces, bad)
        start = stop
        if held and stop == len(text):
            if not last:
                return Records.joined(pieces), bad, held[0]
            # It takes the line of its quote only, which is the last one of the text.
            start = next_line(text, final, dialect)
            bad.append(BadRecord(held[0], start, final, OPEN))
            held = None
    return Records.joined(pieces), bad, len(text)


def _judge(
    view: Bytes,
    start: int,
    stop: int,
    dialect: Dialect,
    held: tuple[int, int] | None,
    pieces: list[Records],
    bad: list[BadRecord],
) -> tuple[int, int] | None:
    """Add what the lines from `start` to `stop` hold, both of which begin one.

    `held` is the record that is open before them; the one that is open behind them is returned.
    """
    here = view[start:stop]
    after = np.full(len(here) + 2, NEWLINE, dtype=np.uint8)  # what comes behind each byte
    beyond = view[start + 1 : stop + 3]
    after[: len(beyond)] = beyond
    behind, second = after[: len(here)], after[1 : len(here) + 1]
    returns = here == RETURN
    lone = returns & (behind != NEWLINE)
    if stop == len(view):
        lone[-1] = returns[-1]
    breaks = np.flatnonzero((here == NEWLINE) | lone if dialect.returns else here == NEWLINE)
    ended = len(breaks) and breaks[-1] == len(here) - 1
    ends = breaks if ended else np.append(breaks, len(here))
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])
    mark, delimiter = dialect.quote and ord(dialect.quote), ord(dialect.delimiter)
    quotes = np.flatnonzero(here == mark) if mark else np.empty(0, np.int64)
    line = np.searchsorted(ends, quotes)
    first = np.searchsorted(quotes, starts)  # quote of each line, as a number
    even = (np.arange(len(quotes)) - first[line]) % 2 == 0
    before = here[np.maximum(quotes - 1, 0)]
    may_open = (quotes == starts[line]) | (before == delimiter) | (before == mark)
    next_to, next_but_one = behind[quotes], second[quotes]
    may_close = (next_to == NEWLINE) | (next_to == delimiter) | (next_to == mark)
    may_close |= (next_to == RETURN) & ((next_but_one == NEWLINE) | dialect.returns)
    if dialect.trims:
        may_open |= opens(view, quotes + start, dialect)
        may_close |= closes(view, quotes + start, dialect)
    alone = np.empty(0, np.int64) if dialect.returns else np.flatnonzero(lone)

    def odd_before(places: Ints) -> Mask:
        counts = np.searchsorted(quotes, places) - first[np.searchsorted(ends, places)]
        return np.asarray(counts % 2 == 1)

    def misplaced(state: int) -> tuple[Ints, Ints]:
        opening = even if state == 0 else ~even
        quoted = odd_before(alone) ^ bool(state)
        wrong = (quotes[opening & ~may_open], quotes[~opening & ~may_close], alone[~quoted])
        faults, causes = np.full(len(ends), NEVER), np.zeros(len(ends), np.int64)
        for cause, places in enumerate(wrong):
            earliest = np.full(len(ends), NEVER)
            np.minimum.at(earliest, np.searchsorted(ends, places), places + start)
            causes = np.where(earliest < faults, cause, causes)
            faults = np.minimum(faults, earliest)
        return faults, causes

    odd = np.bincount(line, minlength=len(ends)) % 2 == 1
    found = [misplaced(0), misplaced(1)]
    leads = [odd & (found[0][0] == NEVER), ~odd & (found[1][0] == NEVER)]  # to an open quote
    states = _states(*leads, opened=held is not None)
    faults, causes = (np.where(states, two, one) for one, two in zip(*found, strict=True))
    delimiters = np.flatnonzero(here == delimiter)
    at = np.searchsorted(ends, delimiters)
    outside = at[odd_before(delimiters) == states[at]]
    cells = np.cumsum(np.bincount(outside, minlength=len(ends)))
    goes_on = np.where(states, leads[1], leads[0])
    done = np.flatnonzero(~goes_on)  # lines with which a record or a fault ends
    begun = np.concatenate([np.zeros(1, np.int64), done + 1])  # and begins
    total = np.concatenate([np.zeros(1, np.int64), cells])
    begins = starts[np.minimum(begun, len(starts) - 1)] + start
    widths = total[done + 1] - total[begun[:-1]] + 1
    if held:
        begins[0] = held[0]
        widths[:1] += held[1]
    wrong = faults[done] < NEVER
    records = Records(begins[:-1], ends[done] + start, widths)
    pieces.append(records[~wrong])
    stops = np.minimum(records.ends[wrong] + 1, len(view))
    columns = (records.starts[wrong], stops, faults[done][wrong], causes[done][wrong])
    bad.extend(
        BadRecord(begin, end, position, _CAUSES[cause])
        for begin, end, position, cause in zip(*(one.tolist() for one in columns), strict=True)
    )
    if not goes_on[-1]:
        return None
    so_far = int(total[-1] - total[begun[-1]])
    return int(begins[-1]), so_far + (held[1] if held and not len(done) else 0)


def _states(from_begun: Mask, from_open: Mask, *, opened: bool) -> Mask:
    leads = np.concatenate([[opened], from_begun]), np.concatenate([[opened], from_open])
    fixed = leads[0] == leads[1]  # to one state, whatever the line's own
    flips = np.cumsum(~fixed & leads[0])
    since = np.maximum.accumulate(np.where(fixed, np.arange(len(fixed)), 0))
    return np.asarray(leads[0][since] ^ ((flips - flips[since]) % 2 == 1))[:-1]


# Blanks around cells, outside quotes: `"a", "b"` has one. Where a table says that they are no part
# of cells, a quote opens a cell behind blanks that follow the beginning of that cell, and closes it
# before blanks that lead to its end.

STEPS = 64  # blanks that are passed one by one
WINDOW = 1 << 12  # bytes that are looked at at once, if there are more


def blanks(dialect: Dialect) -> bytes:
    """Return the characters that are blanks: spaces and tabs, unless they mean something else."""
    return b"".join(b for b in (b" ", b"\t") if dialect.trims and b.decode() not in dialect[:3])


def opens(text: Bytes, quotes: Ints, dialect: Dialect) -> Mask:
    """Return before which quotes there is nothing but blanks in their cells."""
    beside = _beside(text, quotes, dialect, step=-1)
    before = text[np.maximum(beside, 0)]
    edge = (before == ord(dialect.delimiter)) | (before == NEWLINE)
    return np.asarray((beside < 0) | edge | ((before == RETURN) & dialect.returns))


def closes(text: Bytes, quotes: Ints, dialect: Dialect) -> Mask:
    """Return behind which quotes there is nothing but blanks in their cells."""
    beside, last = _beside(text, quotes, dialect, step=1), len(text) - 1
    behind, second = text[np.minimum(beside, last)], text[np.minimum(beside + 1, last)]
    edge = (behind == ord(dialect.delimiter)) | (behind == NEWLINE)
    edge |= (behind == RETURN) & ((second == NEWLINE) | dialect.returns)
    return np.asarray((beside > last) | edge)


def _beside(text: Bytes, places: Ints, dialect: Dialect, *, step: int) -> Ints:
    outer = np.frombuffer(blanks(dialect), dtype=np.uint8)
    found, going = places + step, np.arange(len(places))
    for turn in range(STEPS + 1):
        at = found[going]
        is_blank = np.isin(text[np.clip(at, 0, len(text) - 1)], outer)
        going = going[(at >= 0) & (at < len(text)) & is_blank]
        if not len(going):
            return found
        if turn < STEPS:
            found[going] += step
    for one in going.tolist():  # far away: in windows that grow
        place, size = int(found[one]), WINDOW
        while 0 <= place < len(text):
            low, high = (max(place - size + 1, 0), place + 1) if step < 0 else (place, place + size)
            others = np.flatnonzero(~np.isin(text[low:high], outer))
            if len(others):
                place = low + int(others[0 if step > 0 else -1])
                break
            place = low - 1 if step < 0 else min(high, len(text))
            size *= 2
        found[one] = place
    return found


def are_blank(data: bytes, starts: Ints, ends: Ints, dialect: Dialect) -> Mask:
    outer = blanks(dialect) + b"\r"
    view = np.frombuffer(data, dtype=np.uint8)
    found = np.zeros(len(starts), dtype=bool)
    first = view[np.minimum(starts, len(view) - 1)]
    for place in np.flatnonzero(np.isin(first, np.frombuffer(outer, dtype=np.uint8))).tolist():
        found[place] = not data[int(starts[place]) : int(ends[place])].strip(outer)
    return found


# Escapes such as `\"`: the first of a run takes the meaning of the second, the third that of the
# fourth …; what comes behind a run of odd length stands for itself. So `\n` is n, not a line's end.

_NOTHING = 0  # no text holds this byte


def masked(data: bytes, dialect: Dialect) -> bytes:
    """Return the text with a byte that means nothing in the place of each escaped one."""
    view = np.frombuffer(data, dtype=np.uint8).copy()
    behind = active(data, dialect) + 1
    view[behind[behind < len(view)]] = _NOTHING
    return view.tobytes()


def prepared(text: bytes, dialect: Dialect) -> bytes:
    """Return a text to guess by: only line feeds end lines, and nothing is escaped."""
    text = masked(text, dialect) if dialect.escape else text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if dialect.returns else text


def active(data: bytes, dialect: Dialect) -> Ints:
    """Return the positions of the escapes that are not escaped themselves."""
    if dialect.escape is None:
        return np.empty(0, np.int64)
    at = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord(dialect.escape))
    number = np.arange(len(at))
    begins = np.diff(at, prepend=-2) != 1
    first = np.maximum.accumulate(np.where(begins, number, 0))  # of its run
    return np.asarray(at[(number - first) % 2 == 0])


# The cells of one record that `find_records` has found.


@cache
def _cell(dialect: Dialect) -> re.Pattern[bytes]:
    sign, outer = re.escape(dialect.delimiter.encode()), re.escape(blanks(dialect))
    plain = b"[^%b]*+" % sign
    if dialect.quote is None:
        return re.compile(b"%b(%b)" % (sign, plain))
    mark = re.escape(dialect.quote.encode())
    start = b"[%b]*+" % outer if outer else b""
    quoted = b"%b%b(?:[^%b]++|%b%b)*+%b" % (start, *(mark,) * 5)
    return re.compile(b"%b((?:%b)?+%b)" % (sign, quoted, plain))


def _written(record: bytes, dialect: Dialect) -> list[bytes]:
    outer = blanks(dialect)
    found = []
    text = masked(record, dialect) if dialect.escape else record
    for match in _cell(dialect).finditer(dialect.delimiter.encode() + text):
        cell, start = match[1], match.start()
        begin = start + len(cell) - len(cell.lstrip(outer))
        found.append(record[begin : start + len(cell.rstrip(outer))])
    return found


def trimmed(record: bytes, dialect: Dialect) -> bytes:
    cells = _written(record, dialect) if blanks(dialect) else [record]
    return dialect.delimiter.encode().join(cells)


def split(record: bytes, dialect: Dialect) -> list[str]:
    if not record:
        return []
    mark, escape = (dialect.quote or "").encode(), re.escape((dialect.escape or "").encode())
    escaped = re.compile(b"%b(.?)" % escape, re.DOTALL)
    within = re.compile(b"%b(.?)|%b(%b)" % (escape, mark, mark), re.DOTALL)
    cells = []
    for cell in _written(record, dialect):
        quoted = mark != b"" and cell.startswith(mark)
        text = cell[1:-1] if quoted else cell
        if escape:  # the last character of all cannot take the meaning of the line's end
            pattern = within if quoted else escaped
            text = pattern.sub(lambda found: found[found.lastindex or 0] or b"\n", text)
        elif quoted:
            text = text.replace(mark * 2, mark)
        cells.append(text.decode())
    return cells


def undone(records: Sequence[bytes], dialect: Dialect, *, mark: str) -> Iterator[bytes]:
    """Yield records without escapes: cells that need it are quoted with `mark`, as RFC 4180 says.

    Cells that are empty stay so, whether they were quoted or not.
    """
    special = {dialect.delimiter, mark, "\r", "\n"}
    for record in records:
        yield dialect.delimiter.join(
            f"{mark}{cell.replace(mark, mark * 2)}{mark}" if special & {*cell} else cell
            for cell in split(record, dialect)
        ).encode()
