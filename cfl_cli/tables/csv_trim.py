"""Blanks around the cells of a delimited text, outside quotes: `"a", "b"` has one.

They are no part of cells if a table says so. Then a quote opens a cell behind blanks that follow
the beginning of that cell, and closes it before blanks that lead to its end.
"""

import re
from functools import cache

import numpy as np

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.tables.csv_records import NEWLINE, RETURN, Bytes, Signs

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
    found = _cells(signs).finditer(sign + masked)
    kept = []
    for match in found:
        cell, start = match[1], match.start()
        begin = start + len(cell) - len(cell.lstrip(outer))
        kept.append(record[begin : start + len(cell.rstrip(outer))])
    return sign.join(kept)


@cache
def _cells(signs: Signs) -> re.Pattern[bytes]:
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
