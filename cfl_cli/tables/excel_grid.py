"""The cells of a sheet as its file holds them: where they are, of what kind, with which value."""

from array import array
from collections.abc import Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cfl_cli.core.quick import dataclass

MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14  # that a sheet has
SHOWN = 3  # cells, rows or ranges that a message names


class Kind(IntEnum):
    """What a cell holds, and as what its value is kept."""

    TEXT = 0  # str
    NUMBER = 1  # float, finite
    BOOLEAN = 2  # bool
    DATE = 3  # milliseconds since 1970
    TIME = 4  # milliseconds: of a day, or as many hours as there are
    ERROR = 5  # str, such as #N/A: a formula that failed


@dataclass(frozen=True)
class Sheet:
    """A sheet of a book."""

    name: str
    visible: bool
    part: str  # of the file: where its cells are
    blank: bool = False  # it is known to hold nothing


class Spot(NamedTuple):
    """The place of a cell, counted from 0."""

    row: int
    column: int

    def __str__(self) -> str:
        letters, number = "", self.column + 1
        while number:
            number, letter = divmod(number - 1, 26)
            letters = chr(ord("A") + letter) + letters
        return f"{letters}{self.row + 1}"


class Merge(NamedTuple):
    """Cells that are shown as one; only the first of them holds a value."""

    first: Spot
    last: Spot

    def __str__(self) -> str:
        return f"{self.first}:{self.last}"


@dataclass(frozen=True)
class Column:
    """The cells of a column that hold something, from top to bottom."""

    rows: "array[int]" = field(default_factory=lambda: array("l"))
    kinds: bytearray = field(default_factory=bytearray)
    values: list[Any] = field(default_factory=list)


@dataclass
class Grid:
    """The cells of a sheet, and what in it is not as it seems."""

    columns: dict[int, Column] = field(default_factory=dict)
    merged: list[Merge] = field(default_factory=list)
    uncalculated: list[Spot] = field(default_factory=list)  # formulas without a value
    not_dates: list[Spot] = field(default_factory=list)  # numbers shown as dates that no year has
    hidden: list[range] = field(
        default_factory=list
    )  # rows that are not shown, by a filter perhaps

    def add(self, row: int, column: int, kind: Kind, value: object) -> None:
        """Take a cell; an empty text is none."""
        if value == "":
            return
        if not (0 <= row < MOST_ROWS and 0 <= column < MOST_COLUMNS):
            raise ValueError("a cell outside of any sheet")
        cells = self.columns.get(column)
        if cells is None:
            cells = self.columns[column] = Column()
        cells.rows.append(row)
        cells.kinds.append(kind)
        cells.values.append(value)


class Book(Protocol):
    """A file with sheets."""

    @property
    def sheets(self) -> list[Sheet]:
        """Its sheets, in order."""

    def is_blank(self, sheet: Sheet) -> bool:
        """Return whether nothing is on a sheet."""

    def grid(self, sheet: Sheet) -> Grid:
        """Return the cells of a sheet."""


def listed(things: Sequence[object] | npt.NDArray[np.int64], noun: str) -> str:
    """Return things in words: `cell K2`, `cells K2, K5, K9 … (12 in all)`."""
    if len(things) == 1:
        return f"{noun} {things[0]}"
    first = ", ".join(map(str, things[:SHOWN]))
    rest = f" … ({len(things):,} in all)" if len(things) > SHOWN else ""
    return f"{noun}s {first}{rest}"
