"""What a delimited text consists of: signs, records, and stretches that are not records."""

import sys
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.quick import dataclass

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
