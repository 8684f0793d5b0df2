"""The Parquet files of a folder ↔ one pyarrow table, with a column for every partition.

A partition is of whole numbers if all its values are, written as programs write them (`1`, not
`01`), and of text otherwise.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import IO, Any

import pyarrow as pa

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import PROBLEMS_SHOWN, DataError
from cfl_cli.tables import columnar
from cfl_cli.tables.codec import Contents, Layout, ReadOptions, Table, WriteOptions, Writer
from cfl_cli.tables.columnar_writer import REPORT_KEY
from cfl_cli.tables.folder import FolderSource, PartFile

WHOLE = re.compile("0|-?[1-9][0-9]{0,17}")
WAY_OUT = "write all files with the same columns and types"


@dataclass(frozen=True)
class _Parts:
    """The files of a table, which have the same columns."""

    source: FolderSource
    options: ReadOptions
    schema: pa.Schema  # of the table: the files' columns, then the partitions
    heights: Mapping[str, int]  # of the files

    def rows(self) -> Iterator[Table]:
        """Yield the rows of all files, some at a time."""
        layout = Layout(tuple(self.heights.items()), self.source.keys)
        for file in self.source.files:
            with self.source.opened(file) as source:
                for part in columnar.rows(source, _of_file(self.options, source.name)):
                    columns = [*part.frame.columns, *self._partitions(file, len(part.frame))]
                    yield Table(pa.table(columns, schema=self.schema), layout=layout)

    def column(self, name: str) -> pa.Table:
        """Return one column of all files."""
        field = self.schema.field(name)
        cells: list[pa.Array] = []
        for file in self.source.files:
            if name in self.source.keys:
                values = self._partitions(file, self.heights[file.relative])
                cells.append(values[self.source.keys.index(name)])
                continue
            with self.source.opened(file) as source:
                options = _of_file(self.options, source.name)
                cells += columnar.one_column(source, options, name).column(0).chunks
        return pa.table([pa.chunked_array(cells, field.type)], schema=pa.schema([field]))

    def _partitions(self, file: PartFile, rows: int) -> list[pa.Array]:
        fields = self.schema.field
        return [
            pa.repeat(_scalar(value, fields(key).type), rows)
            for key, value in zip(self.source.keys, file.values, strict=True)
        ]


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table in the bytes of one file."""
    return columnar.read(data, _of_file(options, options.name))


def read_report(data: bytes, options: ReadOptions) -> bytes | None:
    """Return the report in the bytes of one file; that of a folder has a file of its own."""
    return columnar.read_report(data, _of_file(options, options.name))


def scan(source: FolderSource, options: ReadOptions) -> Contents:
    """Check all files, and return how to get at their rows, as pyarrow tables."""
    schema = _schema(source, options)
    heights: dict[str, int] = {}
    for file in source.files:
        with source.opened(file) as one:
            contents = columnar.scan(one, _of_file(options, one.name))
            heights[file.relative] = contents.height
    parts = _Parts(source, options, schema, heights)
    layout = Layout(tuple(heights.items()), source.keys)
    empty = Table(pa.Table.from_batches([], schema=schema), layout=layout)
    return Contents(empty, sum(heights.values()), 0, parts.rows, column=parts.column)


def misfits(table: Table, options: WriteOptions) -> list[str]:
    """Return which columns a Parquet file cannot hold."""
    return columnar.misfits(table, replace(options, kind=columnar.PARQUET))


def writer(file: IO[bytes], options: WriteOptions) -> Writer:
    """Return what writes one file."""
    return columnar.writer(file, replace(options, kind=columnar.PARQUET))


def _of_file(options: ReadOptions, name: str) -> ReadOptions:
    return replace(options, kind=columnar.PARQUET, name=name)


def _schema(source: FolderSource, options: ReadOptions) -> pa.Schema:
    """Return the columns of the table, or raise if files have others."""
    first, *others = source.files
    with source.opened(first) as one:
        schema = columnar.schema(one, _of_file(options, one.name))
    shared = {key: value for key, value in (schema.metadata or {}).items() if key != REPORT_KEY}
    required = [not field.nullable for field in schema]
    problems = []
    for file in others:
        with source.opened(file) as one:
            found = columnar.schema(one, _of_file(options, one.name))
        shared = _shared(shared, found)
        if what := _difference(schema, found, first.relative, file.relative):
            problems.append(f"{source.name}: {what}: {WAY_OUT}")
        else:
            required = [
                both and not field.nullable for both, field in zip(required, found, strict=True)
            ]
    problems += [
        f"{source.name}: column {quote(key)} is in the files and in the names of their folders: "
        "rename one of them"
        for key in source.keys
        if key in schema.names
    ]
    if problems:
        raise DataError(
            *islice(problems, PROBLEMS_SHOWN), more=max(0, len(problems) - PROBLEMS_SHOWN)
        )
    fields = [
        field.with_nullable(not always) for field, always in zip(schema, required, strict=True)
    ]
    fields += [
        pa.field(key, _type([file.values[number] for file in source.files]))
        for number, key in enumerate(source.keys)
    ]
    return pa.schema(fields, metadata=shared or None)


def _shared(entries: dict[bytes, bytes], schema: pa.Schema) -> dict[bytes, bytes]:
    """Return those of the entries beside the columns that another file has too."""
    others = schema.metadata or {}
    return {key: value for key, value in entries.items() if others.get(key) == value}


def _difference(schema: pa.Schema, other: pa.Schema, first: str, file: str) -> str:
    """Return how the columns of a file differ from those of the first one, if they do."""
    for name in schema.names:
        if name not in other.names:
            return f"column {quote(name)} is in {first} and not in {file}"
    for name in other.names:
        if name not in schema.names:
            return f"column {quote(name)} is in {file} and not in {first}"
    for one, two in zip(schema, other, strict=False):
        if one.name != two.name:
            return (
                f"the columns of {first} and {file} are in different orders, {quote(one.name)} "
                f"in the place of {quote(two.name)}"
            )
        if one.type != two.type:
            return f"column {quote(one.name)} is {one.type} in {first} and {two.type} in {file}"
    if len(schema.names) != len(other.names):
        return f"{first} and {file} have different columns"
    return ""


def _type(values: Sequence[str | None]) -> Any:
    """Return the type of a partition."""
    texts = [value for value in values if value is not None]
    whole = bool(texts) and all(WHOLE.fullmatch(text) for text in texts)
    return pa.int64() if whole else pa.string()


def _scalar(value: str | None, kind: Any) -> Any:
    number = value is not None and kind == pa.int64()
    return pa.scalar(int(value) if number and value is not None else value, kind)
