"""Where the records of a delimited text begin and end, how wide they are, and its first fault.

The bytes are scanned 64 at a time, as bits. With q for the bits of the quotes,

    inside = q ⊕ (q << 1) ⊕ (q << 2) ⊕ …

is 1 from every opening quote up to its closing one. Delimiters and line ends count outside.
"""

from collections.abc import Iterator
from itertools import chain, repeat

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.tables.csv_escapes import masked
from cfl_cli.tables.csv_lines import sorted_lines
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
from cfl_cli.tables.csv_trim import closes, opens
from cfl_cli.tables.encodings import LONE_RETURN

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
