"""JSON Lines, strictly: one object per line, no duplicate keys, nothing that is not JSON.

The lines are kept. When the table is written as JSON Lines again, changed cells and new columns are
put into them, and all else keeps its spelling.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import IO, Any

import polars as pl

from cfl_cli.core.messages import quote
from cfl_cli.tables import encodings, frames
from cfl_cli.tables.codec import Contents, ReadOptions, Table, WriteOptions, joined, nul_names
from cfl_cli.tables.json_census import DECODER, Census, Rows, lines_of, rows_of
from cfl_cli.tables.source import Source, roomy


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table in the lines."""
    text = encodings.to_utf8(
        data, name=options.name, encoding=options.signs.get("encoding", encodings.DEFAULT)
    )
    parts = [rows_of(*lines) for lines in lines_of([text])]
    census = Census()
    for part in parts:
        census.note(part)
    census.check(lambda: iter([text]), options)
    return joined([census.table(part, name=options.name) for part in parts])


def scan(source: Source, options: ReadOptions) -> Contents:
    """Check the lines, learn the columns and their types, and return how to get at the rows."""

    def texts() -> Iterator[bytes]:
        return encodings.utf8_lines(
            source.chunks(),
            name=options.name,
            limit=roomy(),
            encoding=options.signs.get("encoding", encodings.DEFAULT),
        )

    def tables() -> Iterator[Table]:
        for lines in lines_of(texts()):
            yield census.table(rows_of(*lines), name=options.name)

    census = Census()
    for lines in lines_of(texts()):
        part = rows_of(*lines)
        census.note(part)
        census.note_depth(part)
    census.check(texts, options)
    empty = census.table(Rows([], [], []), name=options.name)
    return Contents(empty, census.height, census.rejected, tables)


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


def writer(file: IO[bytes], options: WriteOptions) -> "JsonlWriter":  # noqa: ARG001 — as all have it
    """Return what writes a line per row."""
    return JsonlWriter(file)


class JsonlWriter:
    """Writes a line per row: a new one, or the one that was read with what changed in it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def add(self, frame: Any, source: Table | None = None) -> None:
        """Write lines."""
        if source is not None and source.lines is not None:
            self.file.write(rewrite(source, source.lines, frame))
        else:
            frames.as_polars(frame).write_ndjson(self.file)

    def finish(self, report: str | None = None) -> None:
        """Leave it at that: JSON Lines embed no report."""

    def close(self) -> None:
        """Hold nothing."""


def rewrite(source: Table, texts: Sequence[bytes], frame: pl.DataFrame) -> bytes:
    """Return the lines of `source` with the cells of `frame`: other ones, and further columns.

    Members that did not change keep their spelling.
    """
    others = {
        column.name: frame[column.name].ne_missing(_comparable(column))
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


def _comparable(column: pl.Series) -> pl.Series:
    """Return a column as cells that replace its own are: lists as lists, all else as text."""
    return column if isinstance(column.dtype, pl.List) else column.cast(pl.String)


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
