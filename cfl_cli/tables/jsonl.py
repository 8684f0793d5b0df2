"""JSON Lines, strictly: one object per line, no duplicate keys, nothing that is not JSON.

The lines are kept. When the table is written as JSON Lines again, changed cells and new columns are
put into them, and all else keeps its spelling.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import compress
from typing import IO, Any

import polars as pl

from cfl_cli.core.messages import quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError
from cfl_cli.tables import encodings, frames, json_columns
from cfl_cli.tables.codec import ReadOptions, Table, WriteOptions, nul_names
from cfl_cli.tables.json_columns import Broken, Whole


class UnfitError(ValueError):
    """A line that is not a JSON object, or one that only Python would read."""


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table in the lines."""
    name = options.name
    texts = encodings.to_utf8(data, name=name, **options.signs).split(b"\n")
    while texts and not texts[-1].strip():  # blank lines at the end are fine
        texts.pop()
    rows: list[dict[str, Any] | None] = []
    rejects = []
    for number, text in enumerate(texts, start=1):
        try:
            rows.append(_parse(text))
        except UnfitError as error:
            rows.append(None)
            rejects.append((number, str(error), text.decode().rstrip("\r")))
    if rejects and _is_document(texts):
        raise DataError(f"{name}: one JSON document over several lines: write one object per line")
    if rejects and not options.set_aside:
        raise DataError(
            *(f"{name}: line {line}: {cause}" for line, cause, _ in rejects[:PROBLEMS_SHOWN]),
            more=len(rejects[PROBLEMS_SHOWN:]),
        )
    good = [row is not None for row in rows]
    columns = json_columns.columns([row for row in rows if row is not None])
    if not columns:
        cause = "every object is empty" if any(good) else "no line holds an object"
        raise DataError(f"{name}: no columns: {cause}")
    try:
        typed = {column: json_columns.typed(column, cells) for column, cells in columns.items()}
    except RecursionError:
        raise DataError(f"{name}: a cell is nested too deeply") from None
    return Table(
        pl.DataFrame({column: series for column, (series, _) in typed.items()}),
        rejects,
        list(compress(texts, good)),
        {column: what for column, (_, what) in typed.items() if what},
    )


def misfits(table: Table, options: WriteOptions) -> list[str]:
    """Return what has no form in JSON; a table that was JSON Lines has one."""
    if table.lines is not None:
        return []
    problems = []
    for column in frames.as_polars(table.frame).get_columns():
        if what := _not_json(column):
            title = quote(column.name)
            problems.append(
                f"column {title} holds {what}, which {options.name} cannot hold: write Parquet"
            )
    return problems + nul_names(table, name=options.name)


def _not_json(column: pl.Series) -> str:
    """Return what in a column has no form in JSON, if anything."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _not_json(column.explode())
    if isinstance(kind, pl.Struct):
        inner = (_not_json(column.struct.field(member.name)) for member in kind.fields)
        return next(filter(None, inner), "")
    if not frames.has_text(kind):
        return frames.type_name(kind)
    return "NaN or infinity" if kind.is_float() and not column.is_finite().all() else ""


def write(frame: Any, file: IO[bytes], options: WriteOptions) -> None:
    """Write a line per row: new ones, or those that were read with what changed in them."""
    if options.source is not None and options.source.lines is not None:
        file.write(rewrite(options.source, options.source.lines, frame))
    else:
        frames.as_polars(frame).write_ndjson(file)


def rewrite(source: Table, texts: Sequence[bytes], frame: pl.DataFrame) -> bytes:
    """Return the lines of `source` with the cells of `frame`: other ones, and further columns.

    Members that did not change keep their spelling.
    """
    others = {
        column.name: frame[column.name].ne_missing(column.cast(pl.String))
        for column in source.frame.get_columns()
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
    new = frame.select(frame.columns[source.frame.width :])
    return append(texts, new) if new.width else b"".join(text + b"\n" for text in texts)


def _replaced(text: bytes, cells: Mapping[str, str | None]) -> bytes:
    """Return a line with other values for some members of its object."""
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
    """Return the place of the first character from `at` on that is not white space in JSON."""
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
            raise UnfitError(encodings.LONE_RETURN) from None
        raise UnfitError(f"not JSON: {error.msg}, at character {error.pos + 1}") from None
    except RecursionError:
        raise UnfitError("nested too deeply") from None
    if not isinstance(row, dict):
        raise UnfitError("not a JSON object")
    if b"\\u" in text:
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UnfitError("half of a surrogate pair, which is not a character") from None
    return row


def _is_document(texts: Sequence[bytes]) -> bool:
    """Return whether the lines, some of which are not JSON, are JSON all together."""
    if len(texts) == 1:
        return False
    try:
        json.loads(b"\n".join(texts))
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
