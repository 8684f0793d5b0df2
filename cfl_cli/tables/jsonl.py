"""JSON Lines, strictly: one object per line, no duplicate keys, nothing that is not JSON.

The lines are kept. When the table is written as JSON Lines again, changed cells and new columns are
put into them, and all else keeps its spelling.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
from typing import IO, Any, NamedTuple

import polars as pl

from cfl_cli.errors import PROBLEMS_SHOWN, DataError, Problem, file_problem
from cfl_cli.tables import codec, encodings, frames
from cfl_cli.tables.dialect import UTF8
from cfl_cli.tables.source import Source, roomy

# Columns of the objects in JSON Lines, typed as long as no cell would change.
#
# A column whose cells are all of one kind gets that type; lists do if their elements are of one kind.
# All others are *mixed*: objects, other lists, different kinds, numbers beyond 64 bits.
# Their cells are text.

_DIGITS = 17  # what a double holds; a number with more of them is not read as one
_LONGEST = 20  # characters of a whole number of 64 bits
_TOO_DEEP = "a cell is nested too deeply"
_EXACT = 1 << 53  # whole numbers beyond this are not read as doubles


class _Whole(str):
    """A number without a point or an exponent, as it was written."""

    __slots__ = ()


class _Broken(str):
    """A number with a point or an exponent, as it was written."""

    __slots__ = ()


def typed_columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
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
class _Kind:
    types: set[type] = field(default_factory=set)  # without that of null
    low: int = 0  # of whole numbers, with 0 among them: only what is beyond counts
    high: int = 0
    long: bool = False  # a whole number has more digits than 64 bits
    minus_zero: bool = False  # which only a double holds
    doubles: bool = True  # doubles hold all other numbers
    elements: "_Kind | None" = None  # of lists

    def note(self, cells: Sequence[Any]) -> None:
        types = set(map(type, cells)) - {type(None)}
        self.types |= types
        if _Whole in types:
            texts = [cell for cell in cells if type(cell) is _Whole]
            self.long |= any(len(text) > _LONGEST for text in texts)
            self.minus_zero |= "-0" in texts
            if not self.long:
                numbers = [self.low, self.high, *map(int, texts)]
                self.low, self.high = min(numbers), max(numbers)
        if _Broken in types and self.doubles:
            self.doubles = all(_is_double(cell) for cell in cells if type(cell) is _Broken)
        if list in types:
            self.elements = self.elements or _Kind()
            self.elements.note([one for cell in cells if type(cell) is list for one in cell])

    @property
    def dtype(self) -> pl.DataType | None:
        if self.types <= {str}:
            return pl.String()
        if self.types == {bool}:
            return pl.Boolean()
        if self.types == {_Whole} and not self.long and not self.minus_zero:
            if self.low >= -1 << 63 and self.high < 1 << 63:
                return pl.Int64()
            return pl.UInt64() if not self.low and self.high < 1 << 64 else None
        exact = not self.long and self.low >= -_EXACT and self.high <= _EXACT
        if _Broken in self.types <= {_Whole, _Broken} and self.doubles and exact:
            return pl.Float64()
        inner = self.elements.dtype if self.elements and self.types == {list} else None
        return None if inner is None or inner.is_nested() else pl.List(inner)

    @property
    def mixed(self) -> str:
        if self.dtype is not None:
            return ""
        if self.types <= {_Whole, _Broken}:
            return "numbers beyond 64 bits"
        return "objects or lists" if self.types <= {dict, list} else "cells of different kinds"

    def column(self, name: str, cells: Sequence[Any]) -> pl.Series:
        dtype = self.dtype
        if dtype is None:
            return pl.Series(name, map(cell_text, cells), dtype=pl.String)
        if isinstance(dtype, pl.List):
            inner = dtype.inner
            cells = [None if cell is None else _numbers(cell, inner) for cell in cells]
        return pl.Series(name, _numbers(cells, dtype), dtype=dtype)


def _numbers(cells: Sequence[Any], dtype: Any) -> Sequence[Any]:
    if not dtype.is_numeric():
        return cells
    number = float if dtype.is_float() else int
    return [None if cell is None else number(cell) for cell in cells]


def _is_double(cell: str) -> bool:
    digits = cell.lower().partition("e")[0].lstrip("-").replace(".", "").strip("0")
    number = float(cell)
    return len(digits) <= _DIGITS and math.isfinite(number) and bool(digits) == (number != 0)


def cell_text(cell: Any) -> str | None:
    """Return a cell of a mixed column: text as it is, all else as JSON."""
    return cell if cell is None or isinstance(cell, str) else _json(cell)


def _json(value: Any) -> str:
    if isinstance(value, _Whole | _Broken):
        return value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_json(key)}: {_json(one)}' for key, one in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)


# What the lines of JSON Lines hold: objects, and from all of them the columns and their kinds.
#
# The kind of a column is known only after the last line, so the rows of a table that is read in
# blocks are parsed twice.


class UnfitError(ValueError):
    """A line that is not a JSON object, or one that only Python would read."""

    def __init__(self, code: str, text: str, *, remedy: str = "correct it", **facts: object):
        self.problem = Problem(f"jsonl-{code}", text, remedy=remedy, **facts)
        super().__init__(str(self.problem))


class Rows(NamedTuple):
    texts: list[bytes]
    rows: list[dict[str, Any] | None]
    rejects: list[codec.Reject]
    causes: list[tuple[int, Problem]] = []  # noqa: RUF012 — why they are rejects, by their lines


@dataclass
class Census:
    kinds: dict[str, _Kind] = field(default_factory=dict)  # columns by first appearance
    lines: int = 0
    height: int = 0
    rejected: int = 0
    problems: list[tuple[int, Problem]] = field(default_factory=list)  # the first few, by lines
    first: bytes | None = None  # the first line that is not blank
    full: int = 0  # lines that are not blank
    too_deep: bool = False

    def note(self, part: Rows) -> None:
        good = [row for row in part.rows if row is not None]
        full = [text for text in part.texts if text.strip()]
        self.first = self.first or next(iter(full), None)
        self.full += len(full)
        self.lines += len(part.texts)
        self.height += len(good)
        self.rejected += len(part.rejects)
        shown = PROBLEMS_SHOWN - len(self.problems)
        self.problems += part.causes[:shown]
        for column, cells in typed_columns(good).items():
            self.kinds.setdefault(column, _Kind()).note(cells)

    def note_depth(self, part: Rows) -> None:
        try:
            for cell in chain.from_iterable(row.values() for row in part.rows if row is not None):
                if isinstance(cell, dict | list):
                    cell_text(cell)
        except RecursionError:
            self.too_deep = True

    def check(self, texts: Callable[[], Iterable[bytes]], options: codec.ReadOptions) -> None:
        """Raise if the lines, which `texts` yields once more, are not a table."""
        name = options.name
        if self.rejected and self._may_be_document() and _is_document(texts()):
            what, remedy = "one JSON document over several lines", "write one object per line"
            raise DataError(file_problem("jsonl-one-document", name, what, remedy))
        if self.problems and not options.set_aside:
            problems = []
            for line, one in self.problems:
                text = f"{{file}}: line {{line}}: {one.text}"
                text += ": {remedy}{aside}" if one.remedy else "{aside}"
                aside = options.or_aside
                problems.append(one.changed(text=text, file=name, line=line, aside=aside))
            raise DataError(*problems, more=self.rejected - len(problems))
        if not self.kinds:
            cause = "every object is empty" if self.height else "no line holds an object"
            raise DataError(file_problem("table-no-columns", name, f"no columns: {cause}"))
        if self.too_deep:
            raise DataError(file_problem("jsonl-too-deep", name, _TOO_DEEP))

    def table(self, part: Rows, *, name: str) -> codec.Table:
        good = [row is not None for row in part.rows]
        columns = typed_columns([row for row in part.rows if row is not None])
        nulls = [None] * sum(good)
        try:
            frame = pl.DataFrame(
                {one: kind.column(one, columns.get(one, nulls)) for one, kind in self.kinds.items()}
            )
        except RecursionError:
            raise DataError(file_problem("jsonl-too-deep", name, _TOO_DEEP)) from None
        mixed = {column: kind.mixed for column, kind in self.kinds.items() if kind.mixed}
        return codec.Table(frame, part.rejects, list(compress(part.texts, good)), mixed)

    def _may_be_document(self) -> bool:
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


def rows_of(texts: list[bytes], before: int) -> Rows:
    rows: list[dict[str, Any] | None] = []
    rejects, causes = list[codec.Reject](), list[tuple[int, Problem]]()
    for number, text in enumerate(texts, start=before + 1):
        try:
            rows.append(_parse(text))
        except UnfitError as error:
            rows.append(None)
            rejects.append((number, str(error), text.decode().rstrip("\r")))
            causes.append((number, error.problem))
    return Rows(texts, rows, rejects, causes)


def _parse(text: bytes) -> dict[str, Any]:
    try:
        row = DECODER.decode(text.decode())
    except UnfitError:
        raise
    except json.JSONDecodeError as error:
        if not text.strip():
            raise UnfitError("blank-line", "a blank line", remedy="delete it") from None
        if b"\r" in text[:-1]:
            raise UnfitError("lone-return", encodings.LONE_RETURN, remedy="") from None
        told = "not JSON: {what}, at character {at}"
        raise UnfitError("not-json", told, what=error.msg, at=error.pos + 1) from None
    except RecursionError:
        raise UnfitError("too-deep", "nested too deeply") from None
    if not isinstance(row, dict):
        told = "not a JSON object: write one object, {{…}}, on each line"
        raise UnfitError("not-an-object", told, remedy="")
    if b"\\u" in text:
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            told = "half of a surrogate pair, which is not a character"
            raise UnfitError("surrogate", told) from None
    return row


def _is_document(texts: Iterable[bytes]) -> bool:
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
        raise UnfitError("duplicate-key", "duplicate key {column!r}", column=duplicate)
    return members


def _constant(name: str) -> None:
    raise UnfitError("not-json", "{what} is not JSON: write null", what=name, remedy="")


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_Whole, parse_float=_Broken, parse_constant=_constant
)


def scan(source: Source, options: codec.ReadOptions) -> codec.Contents:
    encoding = options.dialect.get("encoding", UTF8)

    def texts() -> Iterable[bytes]:
        if source.data is not None:
            return [encodings.to_utf8(source.data, name=options.name, encoding=encoding)]
        chunks = source.chunks()
        return encodings.utf8_lines(chunks, name=options.name, limit=roomy(), encoding=encoding)

    def parts() -> Iterator[Rows]:
        return (rows_of(*lines) for lines in lines_of(texts()))

    census = Census()
    kept = [*parts()] if source.data is not None else []
    for part in kept or parts():
        census.note(part)
        if not kept:  # those in memory are noticed when their table is made
            census.note_depth(part)
    census.check(texts, options)
    empty = census.table(Rows([], [], []), name=options.name)

    def tables() -> Iterator[codec.Table]:
        return (census.table(part, name=options.name) for part in kept or parts())

    return codec.Contents(empty, census.height, census.rejected, tables)


def misfits(table: codec.Table, options: codec.WriteOptions) -> list[Problem]:
    if table.lines is not None:
        return []
    problems = (
        codec.misfit(column.name, what, name=options.name, remedy="write Parquet")
        for column in frames.as_polars(table.frame).get_columns()
        if (what := _not_json(column))
    )
    return codec.all_misfits(problems, table, name=options.name)


def _not_json(column: pl.Series) -> str:
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _not_json(column.explode())
    if isinstance(kind, pl.Struct):
        inner = (_not_json(column.struct.field(member.name)) for member in kind.fields)
        return next(filter(None, inner), "")
    if not frames.has_text(kind):
        return frames.type_name(kind)
    return "NaN or infinity" if kind.is_float() and not column.is_finite().all() else ""


def writer(file: IO[bytes], options: codec.WriteOptions) -> codec.RowWriter:
    return _JsonlWriter(file)


@dataclass
class _JsonlWriter(codec.RowWriter):
    """Writes a line per row: a new one, or the one that was read with what changed in it."""

    file: IO[bytes]

    def add(self, frame: Any, source: codec.Table | None = None) -> None:
        if source is not None and source.lines is not None:
            self.file.write(rewrite(source, source.lines, frame))
        else:
            frames.as_polars(frame).write_ndjson(self.file)


def rewrite(source: codec.Table, texts: Sequence[bytes], frame: pl.DataFrame) -> bytes:
    """Return the lines of `source` with the cells of `frame`: other ones, and further columns.

    Members that did not change keep their spelling.
    """
    others = {
        column.name: frame[column.name].ne_missing(
            column if isinstance(column.dtype, pl.List) else column.cast(pl.String)
        )
        for column in source.frame.get_columns()
        if not frame[column.name].equals(column)
    }
    if others:
        cells = [frame[name].to_list() for name in others]
        rows = zip(*cells, strict=True)
        changes = zip(*(change.to_list() for change in others.values()), strict=True)
        texts = [
            _replaced(text, dict(compress(zip(others, row, strict=True), changed)))
            for text, row, changed in zip(texts, rows, changes, strict=True)
        ]
    new = frame.select(frame.columns[source.frame.width :])
    return _append(texts, new) if new.width else b"".join(text + b"\n" for text in texts)


def _replaced(text: bytes, cells: Mapping[str, str | None]) -> bytes:
    line, pieces, copied = text.decode(), [], 0
    at = _after_space(line, line.index("{") + 1)
    while line[at] != "}":
        key, colon = DECODER.raw_decode(line, at)
        start = _after_space(line, _after_space(line, colon) + 1)
        _, end = DECODER.raw_decode(line, start)
        if key in cells:
            pieces += [line[copied:start], json.dumps(cells[key], ensure_ascii=False)]
            copied = end
        at = _after_space(line, end)
        if line[at] == ",":
            at = _after_space(line, at + 1)
    return "".join([*pieces, line[copied:]]).encode()


def _after_space(line: str, at: int) -> int:
    while line[at] in " \t\r\n":
        at += 1
    return at


def _append(texts: Sequence[bytes], columns: pl.DataFrame) -> bytes:
    added = columns.write_ndjson().encode().split(b"\n")[:-1]
    lines = []
    for text, members in zip(texts, added, strict=True):
        opened = text.rstrip()[:-1].rstrip()  # without the closing brace
        comma = b"" if opened.endswith(b"{") and not opened[:-1].strip() else b","
        lines.append(opened + comma + members[1:] + b"\n")
    return b"".join(lines)
