"""What the lines of JSON Lines hold: objects, and from all of them the columns and their kinds.

The kind of a column is known only after the last line, so the rows of a table that is read in
blocks are parsed twice.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import compress
from typing import Any, NamedTuple

import polars as pl

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import PROBLEMS_SHOWN, DataError
from cfl_cli.tables import encodings, json_columns
from cfl_cli.tables.codec import ReadOptions, Reject, Table
from cfl_cli.tables.json_columns import Broken, Kind, Whole, is_too_deep

BLANK = "a blank line"
NOT_JSON = "not JSON"


class UnfitError(ValueError):
    """A line that is not a JSON object, or one that only Python would read."""


class Rows(NamedTuple):
    """Some lines: the objects on them, None where there is none, and what else is there."""

    texts: list[bytes]
    rows: list[dict[str, Any] | None]
    rejects: list[Reject]


@dataclass
class Census:
    """What is known of a table, as far as its lines were seen."""

    kinds: dict[str, Kind] = field(default_factory=dict)  # columns by first appearance
    lines: int = 0
    height: int = 0
    rejected: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)  # the first few: line and cause
    first: bytes | None = None  # the first line that is not blank
    full: int = 0  # lines that are not blank
    too_deep: bool = False

    def note(self, part: Rows) -> None:
        """Take further lines into account."""
        good = [row for row in part.rows if row is not None]
        full = [text for text in part.texts if text.strip()]
        self.first = self.first or next(iter(full), None)
        self.full += len(full)
        self.lines += len(part.texts)
        self.height += len(good)
        self.rejected += len(part.rejects)
        shown = PROBLEMS_SHOWN - len(self.problems)
        self.problems += ((line, cause) for line, cause, _ in part.rejects[:shown])
        for column, cells in json_columns.columns(good).items():
            self.kinds.setdefault(column, Kind()).note(cells)

    def note_depth(self, part: Rows) -> None:
        """Find out whether all cells of further lines can be shown."""
        cells = (cell for row in part.rows if row is not None for cell in row.values())
        self.too_deep |= any(is_too_deep(cell) for cell in cells if isinstance(cell, dict | list))

    def check(self, texts: Callable[[], Iterator[bytes]], options: ReadOptions) -> None:
        """Raise if the lines, which `texts` yields once more, are not a table."""
        name = options.name
        if self.rejected and self._may_be_document() and _is_document(texts()):
            raise DataError(
                f"{name}: one JSON document over several lines: write one object per line"
            )
        if self.problems and not options.set_aside:
            raise DataError(
                *(
                    f"{name}: line {line}: {cause}{_way_out(cause)}{options.or_aside}"
                    for line, cause in self.problems
                ),
                more=self.rejected - len(self.problems),
            )
        if not self.kinds:
            cause = "every object is empty" if self.height else "no line holds an object"
            raise DataError(f"{name}: no columns: {cause}")
        if self.too_deep:
            raise DataError(f"{name}: a cell is nested too deeply")

    def table(self, part: Rows, *, name: str) -> Table:
        """Return the table in some lines."""
        good = [row is not None for row in part.rows]
        columns = json_columns.columns([row for row in part.rows if row is not None])
        nulls = [None] * sum(good)
        try:
            frame = pl.DataFrame(
                {
                    column: kind.column(column, columns.get(column, nulls))
                    for column, kind in self.kinds.items()
                }
            )
        except RecursionError:
            raise DataError(f"{name}: a cell is nested too deeply") from None
        mixed = {column: kind.mixed for column, kind in self.kinds.items() if kind.mixed}
        return Table(frame, part.rejects, list(compress(part.texts, good)), mixed)

    def _may_be_document(self) -> bool:
        """Return whether the lines can be one JSON document: if so, the first is cut short."""
        if self.lines == 1 or self.first is None:
            return False
        try:
            json.loads(self.first)
        except json.JSONDecodeError as error:
            return error.pos >= len(error.doc.rstrip())
        except RecursionError:
            return True
        except ValueError:  # a number that Python finds too long
            return False
        return self.full == 1  # after blank ones


def lines_of(texts: Iterable[bytes]) -> Iterator[tuple[list[bytes], int]]:
    """Yield the lines of every piece of text, without blank ones at the end, and those before."""
    held: list[bytes] = []
    before = 0
    for text in texts:
        end = len(text.rstrip())
        if not end:
            held.append(text)
            continue
        stop = text.find(b"\n", end)
        stop = len(text) if stop < 0 else stop
        lines = b"".join([*held, text[:stop]]).split(b"\n")
        yield lines, before
        before += len(lines)
        held = [text[stop + 1 :]]


def _way_out(cause: str) -> str:
    """Return what to do about a bad line, unless the cause says it."""
    if cause == BLANK:
        return ": delete it"
    return "" if ": " in cause and not cause.startswith(NOT_JSON) else ": correct it"


def rows_of(texts: list[bytes], before: int) -> Rows:
    """Return what is on some lines, with `before` others before them."""
    rows: list[dict[str, Any] | None] = []
    rejects = []
    for number, text in enumerate(texts, start=before + 1):
        try:
            rows.append(_parse(text))
        except UnfitError as error:
            rows.append(None)
            rejects.append((number, str(error), text.decode().rstrip("\r")))
    return Rows(texts, rows, rejects)


def _parse(text: bytes) -> dict[str, Any]:
    """Return the object on a line, numbers as they were written."""
    try:
        row = DECODER.decode(text.decode())
    except UnfitError:
        raise
    except json.JSONDecodeError as error:
        if not text.strip():
            raise UnfitError(BLANK) from None
        if b"\r" in text[:-1]:
            raise UnfitError(encodings.LONE_RETURN) from None
        raise UnfitError(f"{NOT_JSON}: {error.msg}, at character {error.pos + 1}") from None
    except RecursionError:
        raise UnfitError("nested too deeply") from None
    if not isinstance(row, dict):
        raise UnfitError("not a JSON object: write one object, {…}, on each line")
    if b"\\u" in text:
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UnfitError("half of a surrogate pair, which is not a character") from None
    return row


def _is_document(texts: Iterable[bytes]) -> bool:
    """Return whether all lines together are JSON."""
    lines = (line for lines, _ in lines_of(texts) for line in lines)
    try:
        json.loads(b"\n".join(lines))
    except (ValueError, RecursionError):
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        duplicate = next(key for key, count in counts.items() if count > 1)
        raise UnfitError(f"duplicate key {quote(duplicate)}")
    return members


def _constant(name: str) -> None:
    raise UnfitError(f"{name} is not JSON: write null")


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Whole, parse_float=Broken, parse_constant=_constant
)
