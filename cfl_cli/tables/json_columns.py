"""Columns of the objects in JSON Lines, typed as long as no cell would change.

A column whose cells are all of one kind gets that type; lists do if their elements are of one kind.
All others are *mixed*: objects, other lists, different kinds, numbers that 64 bits do not hold.
Their cells are text.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import polars as pl

from cfl_cli.core.quick import dataclass

DIGITS = 17  # what a double holds; a number with more of them is not read as one
LONGEST = 20  # characters of a whole number of 64 bits
EXACT = 1 << 53  # whole numbers beyond this are not read as doubles


class Whole(str):
    """A number without a point or an exponent, as it was written."""

    __slots__ = ()


class Broken(str):
    """A number with a point or an exponent, as it was written."""

    __slots__ = ()


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the cells column by column, columns in order of first appearance."""
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        for key, cell in row.items():
            if key not in columns:
                columns[key] = [None] * number
            columns[key].append(cell)
        if len(row) < len(columns):
            for cells in columns.values():
                if len(cells) == number:
                    cells.append(None)
    return columns


@dataclass
class Kind:
    """What the cells of a column are, as far as they were seen."""

    types: set[type] = field(default_factory=set)  # without that of null
    low: int = 0  # of whole numbers, with 0 among them: only what is beyond counts
    high: int = 0
    long: bool = False  # a whole number has more digits than 64 bits
    minus_zero: bool = False  # which only a double holds
    doubles: bool = True  # doubles hold all other numbers
    elements: "Kind | None" = None  # of lists

    def note(self, cells: Sequence[Any]) -> None:
        """Take further cells into account."""
        types = set(map(type, cells)) - {type(None)}
        self.types |= types
        if Whole in types:
            texts = [cell for cell in cells if type(cell) is Whole]
            self.long |= any(len(text) > LONGEST for text in texts)
            self.minus_zero |= "-0" in texts
            if not self.long:
                numbers = [self.low, self.high, *map(int, texts)]
                self.low, self.high = min(numbers), max(numbers)
        if Broken in types and self.doubles:
            self.doubles = all(_is_double(cell) for cell in cells if type(cell) is Broken)
        if list in types:
            self.elements = self.elements or Kind()
            self.elements.note([one for cell in cells if type(cell) is list for one in cell])

    @property
    def dtype(self) -> pl.DataType | None:
        """The type of the column, None if it is mixed."""
        if self.types <= {str}:
            return pl.String()
        if self.types == {bool}:
            return pl.Boolean()
        if self.types == {Whole} and not self.long and not self.minus_zero:
            if self.low >= -1 << 63 and self.high < 1 << 63:
                return pl.Int64()
            return pl.UInt64() if not self.low and self.high < 1 << 64 else None
        exact = not self.long and self.low >= -EXACT and self.high <= EXACT
        if Broken in self.types <= {Whole, Broken} and self.doubles and exact:
            return pl.Float64()
        inner = self.elements.dtype if self.elements and self.types == {list} else None
        return None if inner is None or inner.is_nested() else pl.List(inner)

    @property
    def mixed(self) -> str:
        """Why the column is mixed, if it is."""
        if self.dtype is not None:
            return ""
        if self.types <= {Whole, Broken}:
            return "numbers that 64 bits do not hold"
        return "objects or lists" if self.types <= {dict, list} else "cells of different kinds"

    def column(self, name: str, cells: Sequence[Any]) -> pl.Series:
        """Return a column of this kind."""
        dtype = self.dtype
        if dtype is None:
            return pl.Series(name, map(cell_text, cells), dtype=pl.String)
        if isinstance(dtype, pl.List) and self.elements:
            inner = self.elements
            cells = [None if cell is None else inner.plain(cell) for cell in cells]
        return pl.Series(name, self.plain(cells), dtype=dtype)

    def plain(self, cells: Sequence[Any]) -> Sequence[Any]:
        """Return the cells with numbers as Python has them."""
        dtype = self.dtype
        if dtype is None or not dtype.is_numeric():
            return cells
        number = float if dtype.is_float() else int
        return [None if cell is None else number(cell) for cell in cells]


def typed(name: str, cells: list[Any]) -> tuple[pl.Series, str]:
    """Return the column, and why it is mixed if it is."""
    kind = Kind()
    kind.note(cells)
    return kind.column(name, cells), kind.mixed


def is_too_deep(cell: Any) -> bool:
    """Return whether an object or a list is nested too deeply to be shown."""
    try:
        cell_text(cell)
    except RecursionError:
        return True
    return False


def _is_double(cell: str) -> bool:
    """Return whether a double holds a broken number as it was written."""
    digits = cell.lower().partition("e")[0].lstrip("-").replace(".", "").lstrip("0").rstrip("0")
    return (
        len(digits) <= DIGITS and math.isfinite(float(cell)) and bool(digits) == (float(cell) != 0)
    )


def cell_text(cell: Any) -> str | None:
    """Return a cell of a mixed column: text as it is, all else as JSON."""
    return cell if cell is None or isinstance(cell, str) else _json(cell)


def _json(value: Any) -> str:
    if isinstance(value, Whole | Broken):
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(key)}: {_json(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)
