"""Pseudo-random draws that depend on a seed and on row numbers alone.

Not on how many threads run, on the order in which rows are asked for, or on the version of a
package.
"""

import os
from hashlib import blake2b
from heapq import heapreplace

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask, columns, ranks

# The streams; a row's draws among equal distances take those from 0, one per neighbor.
_FOLDS = 1 << 40
SAMPLE = 1 << 41
SHUFFLES = 1 << 42
TRIALS = 1 << 43
COPIES = 1 << 44
JUDGED = 1 << 45
FITTED = 1 << 46
NAMED = 1 << 63  # and above: those of names
PER_NAME = 1 << 20

Bits = npt.NDArray[np.uint64]


def mix(bits: Bits) -> Bits:
    """Return the splitmix64 finaliser of 64-bit numbers: every bit depends on all bits."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def draw(rows: Ints | Bits, stream: int, seed: int) -> Bits:
    """Return 64 bits for every row; each `stream` of a seed gives others."""
    key = mix(np.array([seed, stream], dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15))
    return mix(mix(rows.astype(np.uint64) + key[0]) ^ key[1])


def stream_of(name: str) -> int:
    """Return the first of the `PER_NAME` streams that belong to a name, whatever names are near."""
    number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
    return NAMED | number // PER_NAME * PER_NAME


def chances(rows: Ints, stream: int, seed: int) -> Floats:
    return np.asarray((draw(rows, stream, seed) >> np.uint64(11)) * 2.0**-53)


def unguessable(n: int) -> Floats:
    """Return uniform random numbers of the operating system, which no seed draws again."""
    bits = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
    return np.asarray((bits >> np.uint64(11)) * 2.0**-53)


def order(n: int, stream: int, seed: int) -> Ints:
    return np.argsort(draw(np.arange(n), stream, seed), kind="stable")


def some(n: int, size: int, stream: int, seed: int, *, at_once: int = 1 << 20) -> Ints:
    """Return `size` of the numbers below n, drawn at random, in order; all, if there are no more.

    They are those with the smallest random numbers. Never more than twice as many are held, and
    `at_once` others.
    """
    rows, keys = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint64)
    for start in range(0, n, at_once):
        more = np.arange(start, min(start + at_once, n))
        drawn = draw(more, stream, seed)
        if len(keys) >= size:
            staying = drawn < keys.max(initial=np.uint64(0))
            more, drawn = more[staying], drawn[staying]
        rows, keys = np.append(rows, more), np.append(keys, drawn)
        if len(rows) > size:
            first = np.sort(np.argpartition(keys, size)[:size])
            rows, keys = rows[first], keys[first]
    return rows


def folds(n: int, parts: int, seed: int, groups: Ints | None = None) -> list[Ints]:
    """Deal n rows into `parts` folds of equal size, or nearly; none is empty.

    Rows with the same number in `groups` come into the same fold: the largest groups are dealt
    first, each into the fold with the fewest rows.
    """
    dealt = order(n, _FOLDS, seed)
    if groups is None:
        return [np.sort(dealt[part::parts]) for part in range(min(parts, n))]
    places = ranks(groups[dealt])
    sizes = np.bincount(places)
    filled = [(0, part) for part in range(min(parts, len(sizes)))]
    fold_of = np.empty(len(sizes), dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable") if filled else ():
        rows, fold_of[group] = filled[0]
        heapreplace(filled, (rows + int(sizes[group]), int(fold_of[group])))
    of_rows = fold_of[places]
    return [np.sort(dealt[of_rows == part]) for part in range(len(filled))]


def shuffled(cells: Floats | Mask, blocks: Ints, seed: int) -> Floats | Mask:
    """Return every CF's cells, shuffled over the rows, each CF by itself."""
    mixed = np.empty_like(cells)
    for cf, block in enumerate(columns(blocks, cells.shape[1])):
        mixed[:, block] = cells[order(len(cells), SHUFFLES + cf, seed)][:, block]
    return mixed


def hash_rows(numbers: Floats | Ints) -> Bits:
    """Return one key per row; equal rows have equal keys, and unequal rows nearly always not."""
    keys = np.zeros(len(numbers), dtype=np.uint64)
    for column in numbers.T:
        keys = mix(keys * np.uint64(3) + np.ascontiguousarray(column).view(np.uint64))
    return keys
