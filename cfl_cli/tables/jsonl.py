"""JSON Lines, strictly: one object a line, no key twice, nothing that is not JSON.

A column whose cells are all of one kind gets that type. All others are *mixed*: objects, lists,
different kinds, numbers that 64 bits do not hold. They are text here, and what they were in the
lines themselves, to which new columns are appended when the table goes out as JSON Lines again.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import polars as pl

from cfl_cli.core.messages import quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError
from cfl_cli.tables import encodings as utf8

DIGITS = 17  # what a double holds; a number with more of them is not read as one
EXACT = 1 << 53  # whole numbers beyond this are not read as doubles


class Whole(str):
    """A number without a point or an exponent, as it was written."""

    __slots__ = ()


class Broken(str):
    """A number with a point or an exponent, as it was written."""

    __slots__ = ()


class UnfitError(ValueError):
    """A line that is JSON to Python and to nobody else."""


@dataclass(frozen=True)
class Lines:
    """A table of JSON Lines: its columns, and the lines they stood in."""

    frame: pl.DataFrame
    texts: list[bytes]
    mixed: dict[str, str]  # the mixed columns, and what is mixed in them
    rejects: list[tuple[int, str, str]]  # lines set aside: number, cause, text


def read(data: bytes, *, name: str, encoding: str = utf8.DEFAULT, set_aside: bool = False) -> Lines:
    """Return the table. Lines that are not objects are errors or, with `set_aside`, left out."""
    texts = utf8.to_utf8(data, name=name, encoding=encoding).split(b"\n")
    while texts and not texts[-1].strip():  # at the very end, no harm
        texts.pop()
    rows: list[dict[str, Any] | None] = []
    flaws = []
    for number, text in enumerate(texts, start=1):
        try:
            rows.append(_parse(text))
        except UnfitError as error:
            rows.append(None)
            flaws.append((number, str(error), text.decode().rstrip("\r")))
    if flaws and _is_document(texts):
        raise DataError(f"{name}: one JSON document over many lines: write one object a line")
    if flaws and not set_aside:
        raise DataError(
            *(f"{name}: line {line}: {cause}" for line, cause, _ in flaws[:PROBLEMS_SHOWN]),
            more=len(flaws[PROBLEMS_SHOWN:]),
        )
    good = [row is not None for row in rows]
    columns = _columns([row for row in rows if row is not None])
    if not columns:
        raise DataError(f"{name}: there is no line with an object: no columns")
    try:
        typed = {column: _typed(column, cells) for column, cells in columns.items()}
    except RecursionError:
        raise DataError(f"{name}: there is a cell that is nested too deeply") from None
    return Lines(
        pl.DataFrame({column: series for column, (series, _) in typed.items()}),
        list(compress(texts, good)),
        {column: what for column, (_, what) in typed.items() if what},
        flaws,
    )


def rewrite(lines: Lines, frame: pl.DataFrame) -> bytes:
    """Return the lines with what `frame` has in their place: other cells, and further columns.

    Members that did not change keep their spelling.
    """
    texts: Sequence[bytes] = lines.texts
    others = {
        column.name: frame[column.name].ne_missing(column.cast(pl.String))
        for column in lines.frame.get_columns()
        if not frame[column.name].equals(column)
    }
    if others:
        cells = [frame[name].to_list() for name in others]
        texts = [
            _replaced(text, dict(compress(zip(others, row, strict=True), changed)))
            for text, row, changed in zip(
                texts,
                zip(*cells, strict=True),
                zip(*(change.to_list() for change in others.values()), strict=True),
                strict=True,
            )
        ]
    new = frame.select(frame.columns[lines.frame.width :])
    return append(texts, new) if new.width else b"".join(text + b"\n" for text in texts)


def _replaced(text: bytes, cells: Mapping[str, str | None]) -> bytes:
    """Return a line with other values for some members of its object."""
    line, pieces, copied = text.decode(), [], 0
    at = _behind_space(line, line.index("{") + 1)
    while line[at] != "}":
        key, colon = DECODER.raw_decode(line, at)
        start = _behind_space(line, _behind_space(line, colon) + 1)
        _, end = DECODER.raw_decode(line, start)
        if key in cells:
            pieces += [line[copied:start], json.dumps(cells[key], ensure_ascii=False)]
            copied = end
        at = _behind_space(line, end)
        if line[at] == ",":
            at = _behind_space(line, at + 1)
    return "".join([*pieces, line[copied:]]).encode()


def _behind_space(line: str, at: int) -> int:
    """Return the place of the first character from `at` on that is no blank of JSON's."""
    while line[at] in " \t\r\n":
        at += 1
    return at


def append(texts: Sequence[bytes], columns: pl.DataFrame) -> bytes:
    """Return the lines with `columns` as further members of their objects."""
    added = columns.write_ndjson().encode().split(b"\n")[:-1]
    lines = []
    for text, members in zip(texts, added, strict=True):
        opened = text.rstrip()[:-1].rstrip()  # without the closing brace
        comma = b"" if opened.endswith(b"{") and not opened[:-1].strip() else b","
        lines.append(opened + comma + members[1:] + b"\n")
    return b"".join(lines)


def _parse(text: bytes) -> dict[str, Any]:
    """Return the object on a line, numbers as they were written."""
    try:
        row = DECODER.decode(text.decode())
    except UnfitError:
        raise
    except json.JSONDecodeError as error:
        if not text.strip():
            raise UnfitError("a blank line") from None
        if b"\r" in text[:-1]:
            raise UnfitError(utf8.LONE_RETURN) from None
        raise UnfitError(f"not JSON: {error.msg}, at character {error.pos + 1}") from None
    except RecursionError:
        raise UnfitError("nested too deeply") from None
    if not isinstance(row, dict):
        raise UnfitError("not a JSON object")
    if b"\\u" in text:
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UnfitError("half of a surrogate pair, which is no character") from None
    return row


def _is_document(texts: Sequence[bytes]) -> bool:
    """Return whether the lines, of which some are no JSON, are JSON all together."""
    if len(texts) == 1:
        return False
    try:
        json.loads(b"\n".join(texts))
    except (ValueError, RecursionError):
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        doubled = next(key for key, count in counts.items() if count > 1)
        raise UnfitError(f"the key {quote(doubled)} stands twice")
    return found


def _constant(name: str) -> None:
    raise UnfitError(f"{name} is not JSON: write null")


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Whole, parse_float=Broken, parse_constant=_constant
)


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
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


def _typed(name: str, cells: list[Any]) -> tuple[pl.Series, str]:
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
