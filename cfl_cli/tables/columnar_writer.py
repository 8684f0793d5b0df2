"""pyarrow tables → Parquet and Arrow files, in groups of rows whose size is always the same.

However the rows come, they are cut in the same places, and so the bytes are the same. The report
is known only after the last row. Parquet keeps such things at its end. Arrow keeps them at its
beginning, so its rows wait in a file without a name.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfl_cli.errors import DataError
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table, WriteOptions
from cfl_cli.tables.spool import Spool

REPORT_KEY = b"cfl.report"
GROUP = 1 << 13  # rows


class GroupWriter:
    """Collects rows until they are a group."""

    def __init__(self, file: IO[bytes], options: WriteOptions) -> None:
        self.file = file
        self.options = options
        self.held: list[pa.Table] = []
        self.rows = 0  # held
        self.schema: Any = None  # a pyarrow one, as soon as it is known
        self.stack = ExitStack()

    def add(self, frame: Any, source: Table | None = None) -> None:  # noqa: ARG002 — as all have it
        """Write the groups that are complete."""
        table = frames.as_arrow(frame)
        with self._storable():
            if self.schema is None:
                self.schema = table.schema
                self.begin(table.schema)
            self.held.append(table)
            self.rows += len(table)
            while self.rows >= GROUP:
                self._write(GROUP)

    def finish(self, report: str | None = None) -> None:
        """Write the last group and the report."""
        with self._storable():
            if self.held:  # a table without rows has one group
                self._write(self.rows)
            self.end({REPORT_KEY: report.encode()} if report else {})
        self.close()

    def close(self) -> None:
        """Close what is open."""
        self.stack.close()

    def begin(self, schema: pa.Schema) -> None:
        """Make ready for groups."""
        raise NotImplementedError

    def group(self, table: pa.Table) -> None:
        """Write a group, every column in one piece."""
        raise NotImplementedError

    def end(self, report: dict[bytes, bytes]) -> None:
        """Write what comes after the last group."""
        raise NotImplementedError

    def _write(self, rows: int) -> None:
        table = pa.concat_tables(self.held)
        self.group(_fresh(table.slice(0, rows)))
        self.rows -= rows
        self.held = [table.slice(rows)] if self.rows else []
        pa.default_memory_pool().release_unused()  # or it would keep much more than a group

    @contextmanager
    def _storable(self) -> Iterator[None]:
        """Turn pyarrow's errors, which may quote cells of the table, into one that does not."""
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"{self.options.name}: {self.options.kind.title} cannot store everything in the "
                "table: write another format"
            ) from error


class ParquetWriter(GroupWriter):
    """Writes row groups."""

    def begin(self, schema: pa.Schema) -> None:
        """Open the file; a report that the table has already waits until the end."""
        metadata = dict(schema.metadata or {})
        self.old = {key: metadata.pop(key) for key in [REPORT_KEY] if key in metadata}
        self.schema = schema.with_metadata(metadata) if metadata else schema.remove_metadata()
        self.writer = pq.ParquetWriter(
            self.file, self.schema, compression="zstd", write_page_checksum=True
        )
        self.stack.enter_context(self.writer)

    def group(self, table: pa.Table) -> None:
        """Write a row group."""
        self.writer.write_table(table.replace_schema_metadata(self.schema.metadata), GROUP)

    def end(self, report: dict[bytes, bytes]) -> None:
        """Write the report, the old one if there is no new one."""
        if report or self.old:
            self.writer.add_key_value_metadata(report or self.old)


class ArrowWriter(GroupWriter):
    """Writes record batches, at first to a file without a name."""

    def begin(self, schema: pa.Schema) -> None:
        """Open that file."""
        self.spool = self.stack.enter_context(Spool.create(self.options.path))
        # Of the columns with one, all values so far: a file has one dictionary for all batches.
        self.values: dict[int, pa.Array] = {}
        self.stream = self.stack.enter_context(pa.ipc.new_stream(self.spool.file, schema))

    def group(self, table: pa.Table) -> None:
        """Write a record batch to the stream."""
        for number, column in enumerate(table.columns):
            if pa.types.is_dictionary(column.type):
                for chunk in column.chunks:
                    self.values[number] = _extended(self.values.get(number), chunk.dictionary)
        with self.spool.guarded():
            self.stream.write_table(table)

    def end(self, report: dict[bytes, bytes]) -> None:
        """Write the file: the schema with the report, then the record batches."""
        self.stream.close()
        schema = self.schema.with_metadata({**(self.schema.metadata or {}), **report})
        with (
            pa.ipc.open_stream(self.spool.again()) as batches,
            pa.ipc.new_file(self.file, schema) as writer,
        ):
            for batch in batches:
                columns = [
                    _recoded(column, self.values[number]) if number in self.values else column
                    for number, column in enumerate(batch.columns)
                ]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _fresh(table: pa.Table) -> pa.Table:
    """Return a copy with every column in one piece, so that nothing shows where blocks met."""
    columns = [
        pa.concat_arrays(column.chunks) if column.num_chunks else column
        for column in table.unify_dictionaries().columns
    ]
    return pa.table(columns, schema=table.schema)


def _extended(values: pa.Array | None, others: pa.Array) -> pa.Array:
    """Return the values of a dictionary, and those of another one that it lacks."""
    if values is None or values.equals(others):
        return others
    import pyarrow.compute as pc  # noqa: PLC0415 — slow to import and seldom needed

    return pa.concat_arrays([values, others.filter(pc.invert(pc.is_in(others, values)))])


def _recoded(column: pa.DictionaryArray, values: pa.Array) -> pa.DictionaryArray:
    """Return the same cells with a dictionary that has further values."""
    if column.dictionary.equals(values):
        return column
    import pyarrow.compute as pc  # noqa: PLC0415 — slow to import and seldom needed

    places = pc.index_in(column.dictionary, values).take(column.indices)
    kind = column.type
    return pa.DictionaryArray.from_arrays(
        places.cast(kind.index_type), values, ordered=kind.ordered
    )
