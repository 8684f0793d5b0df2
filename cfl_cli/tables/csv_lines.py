"""The records of a text with misplaced characters: all lines are judged at once.

Most records are a line each. So every line is looked at as if a record began with it: it is a
record, or has a misplaced character, or leaves a quote open. Only from the last kind on is the
text gone through cell by cell, up to the end of that record.
"""

import re
from functools import cache
from typing import NamedTuple

import numpy as np

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.tables.csv_records import (
    BEHIND,
    NEVER,
    NEWLINE,
    OPEN,
    RETURN,
    WITHIN,
    BadRecord,
    Bytes,
    Fault,
    Records,
    Signs,
    next_line,
)
from cfl_cli.tables.csv_trim import blanks, closes, opens
from cfl_cli.tables.encodings import LONE_RETURN

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
