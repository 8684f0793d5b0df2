"""Columns of the objects in JSON Lines, typed as long as no cell would change.

A column whose cells are all of one kind gets that type. All others are *mixed*: objects, lists,
different kinds, numbers that 64 bits do not hold. Their cells are text.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import polars as pl

DIGITS = 17  # what a double holds; a number with more of them is not read as one
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


def typed(name: str, cells: list[Any]) -> tuple[pl.Series, str]:
    """Return the column, and why it is mixed if it is."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if kinds <= {str}:
        return pl.Series(name, cells, dtype=pl.String), ""
    if kinds == {bool}:
        return pl.Series(name, cells, dtype=pl.Boolean), ""
    if kinds <= {Whole, Broken}:
        numbers = _numbers(name, cells, kinds)
        if numbers is not None:
            return numbers, ""
        what = "numbers that 64 bits do not hold"
    elif kinds <= {dict, list}:
        what = "objects or lists"
    else:
        what = "cells of different kinds"
    return pl.Series(name, map(_text, cells), dtype=pl.String), what


def _numbers(name: str, cells: list[Any], kinds: set[type]) -> pl.Series | None:
    """Return the column as numbers, None if any would not be what was written."""
    if kinds == {Whole}:
        if any(len(cell) > 20 or cell == "-0" for cell in cells if cell is not None):
            return None
        whole = [None if cell is None else int(cell) for cell in cells]
        low = min(number for number in whole if number is not None)
        high = max(number for number in whole if number is not None)
        for kind, least, most in (
            (pl.Int64, -1 << 63, (1 << 63) - 1),
            (pl.UInt64, 0, (1 << 64) - 1),
        ):
            if least <= low and high <= most:
                return pl.Series(name, whole, dtype=kind)
        return None
    if not all(_is_double(cell) for cell in cells if cell is not None):
        return None
    return pl.Series(
        name, [None if cell is None else float(cell) for cell in cells], dtype=pl.Float64
    )


def _is_double(cell: str) -> bool:
    """Return whether a double holds the number as it was written."""
    if isinstance(cell, Whole):
        return len(cell) < 20 and abs(int(cell)) <= EXACT
    digits = cell.lower().partition("e")[0].lstrip("-").replace(".", "").lstrip("0").rstrip("0")
    return (
        len(digits) <= DIGITS and math.isfinite(float(cell)) and bool(digits) == (float(cell) != 0)
    )


def _text(cell: Any) -> str | None:
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
