"""Parquet and Arrow files ↔ pyarrow tables, every column's type and metadata as they were.

pyarrow and not polars, because columns that nobody asked about pass through unconverted, because
it checks what it reads, and because it keeps the report inside an Arrow file.
"""

import io
import mmap as maps
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from typing import IO, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

from cfl_cli.core.parallel import interrupts_wait
from cfl_cli.errors import (
    DataError,
    Problem,
    ResourceError,
    file_problem,
    is_short,
    unreadable,
)
from cfl_cli.tables import codec, frames
from cfl_cli.tables.codec import (
    Contents,
    ReadOptions,
    RowWriter,
    Table,
    WriteOptions,
    all_misfits,
    misfit,
)
from cfl_cli.tables.formats import ANEW, ARROW, ENCRYPTED, FEATHER_1, KINDS, NO_ROOM, FileKind
from cfl_cli.tables.frames import DUPLICATE, RENAME
from cfl_cli.tables.source import Source, Spool, refuse_expansion

# pyarrow tables → Parquet and Arrow files, in groups of rows whose size is always the same.
#
# However the rows come, they are cut in the same places, and so the bytes are the same. The report
# is known only after the last row. Parquet keeps such things at its end. Arrow keeps them at its
# beginning, so its rows wait in a file without a name.

REPORT_KEY = b"cfl.report"
GROUP = 1 << 13  # rows


@dataclass
class _GroupWriter(RowWriter, ABC):
    file: IO[bytes]
    options: WriteOptions
    held: list[pa.Table] = field(default_factory=list)
    rows: int = 0  # held
    schema: Any = None  # a pyarrow one, as soon as it is known
    stack: ExitStack = field(default_factory=ExitStack)

    def add(self, frame: Any, source: Table | None = None) -> None:
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
        with self._storable():
            if self.held:  # a table without rows has one group
                self._write(self.rows)
            self.end({REPORT_KEY: report.encode()} if report else {})
        self.stack.close()

    def close(self) -> None:
        self.stack.close()

    @abstractmethod
    def begin(self, schema: pa.Schema) -> None: ...

    @abstractmethod
    def group(self, table: pa.Table) -> None: ...

    @abstractmethod
    def end(self, report: dict[bytes, bytes]) -> None: ...

    def _write(self, rows: int) -> None:
        table = pa.concat_tables(self.held)
        group = table.slice(0, rows).unify_dictionaries()
        columns = [pa.concat_arrays(one.chunks) if one.num_chunks else one for one in group.columns]
        self.group(pa.table(columns, schema=group.schema))
        self.rows -= rows
        self.held = [table.slice(rows)] if self.rows else []
        pa.default_memory_pool().release_unused()  # or it would keep much more than a group

    @contextmanager
    def _storable(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            what = f"{self.options.kind.title} cannot store everything in the table"
            name, remedy = self.options.name, "write another format"
            raise DataError(file_problem("table-not-storable", name, what, remedy)) from error


class _ParquetWriter(_GroupWriter):
    def begin(self, schema: pa.Schema) -> None:
        """Open the file; a report that the table has already waits until the end."""
        metadata = dict(schema.metadata or {})
        self.old = {key: metadata.pop(key) for key in [REPORT_KEY] if key in metadata}
        self.schema = schema.with_metadata(metadata) if metadata else schema.remove_metadata()
        how: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
        self.writer = pq.ParquetWriter(self.file, self.schema, **how)
        self.stack.enter_context(self.writer)

    def group(self, table: pa.Table) -> None:
        self.writer.write_table(table.replace_schema_metadata(self.schema.metadata), GROUP)

    def end(self, report: dict[bytes, bytes]) -> None:
        if report or self.old:
            self.writer.add_key_value_metadata(report or self.old)


class _ArrowWriter(_GroupWriter):
    """Writes record batches, at first to a file without a name."""

    def begin(self, schema: pa.Schema) -> None:
        self.spool = self.stack.enter_context(Spool.create(self.options.path))
        # Of the columns with one, all values so far: a file has one dictionary for all batches.
        self.values: dict[int, pa.Array] = {}
        self.stream = self.stack.enter_context(pa.ipc.new_stream(self.spool.file, schema))

    def group(self, table: pa.Table) -> None:
        for number, column in enumerate(table.columns):
            if pa.types.is_dictionary(column.type):
                for chunk in column.chunks:
                    self.values[number] = _extended(self.values.get(number), chunk.dictionary)
        with self.spool.guarded():
            self.stream.write_table(table)

    def end(self, report: dict[bytes, bytes]) -> None:
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


def _extended(values: pa.Array | None, others: pa.Array) -> pa.Array:
    if values is None or values.equals(others):
        return others
    return pa.concat_arrays([values, others.filter(pc.invert(pc.is_in(others, values)))])


def _recoded(column: pa.DictionaryArray, values: pa.Array) -> pa.DictionaryArray:
    if column.dictionary.equals(values):
        return column
    places = pc.index_in(column.dictionary, values).take(column.indices)
    kind = column.type
    codes = places.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=kind.ordered)


PARQUET = KINDS["parquet"]
_INTERVALS = ("month_interval", "day_time_interval")
PART = 1 << 12  # rows read at once
_DROP = getattr(maps, "MADV_DONTNEED", None)  # pages that were read; not on Windows
_PAGES = 1 << 16  # bytes of a column read at once
# Without threads: those that still read the rest of a damaged file abort the process if it ends.
_ALONE = pa.ipc.IpcReadOptions(use_threads=False)


def scan(source: Source, options: ReadOptions) -> Contents:
    kind, name = options.kind, options.name
    with _well_formed(source.head, kind, name=name):
        if kind == PARQUET:
            _refuse_bombs(source, name)
        kept = [*_parts(source, kind)] if source.data is not None else []
        columns = kept[0].schema if kept else _schema(source, kind)
        height, invalid = 0, set[int]()
        for part in kept or _parts(source, kind):
            height += len(part)
            for number, column in enumerate(part.columns):
                try:
                    if not _is_beyond(column.type):
                        column.validate(full=True)
                except pa.ArrowInvalid:  # its name is not asked for: it may not be UTF-8
                    invalid.add(number)
    source.check_unchanged()
    problems = [
        Problem("duplicate-column", DUPLICATE, file=name, column=column, remedy=RENAME)
        for column, times in Counter(columns.names).items()
        if times > 1
    ]
    text = (
        "{file}: column {column!r} holds {type}, which pyarrow {version} cannot convert: {remedy}"
    )
    facts = {"version": pa.__version__, "remedy": "drop the column, or save it as another type"}
    problems += [
        Problem("parquet-type", text, file=name, column=one.name, type=str(one.type), **facts)
        for one in columns
        if _is_beyond(one.type)
    ]
    why = "{file}: column {column!r} has cells that are not valid as {type}: text that is not UTF-8, a number out of range, or damage"
    problems += [
        Problem("parquet-cells", why, file=name, column=one.name, type=str(one.type))
        for number, one in enumerate(columns)
        if number in invalid
    ]
    if problems:
        raise DataError(*problems)
    return Contents(
        Table(pa.Table.from_batches([], schema=columns)),  # `empty_table` would load pandas
        height,
        0,
        lambda: map(Table, kept) if kept else rows(source, options),
        column=lambda column: one_column(source, options, column),
    )


_LONG = 1 << 12  # bytes of a cell: a column of shorter ones may shrink to next to nothing


def _refuse_bombs(source: Source, name: str) -> None:
    """Raise if a chunk of a column holds few cells that are far longer than what is stored."""
    data = source.data
    about = _parquet(source.again() if data is None else pa.BufferReader(data), buffer=0).metadata
    for group in map(about.row_group, range(about.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.total_uncompressed_size > _LONG * max(chunk.num_values, 1):
                packed, unpacked = chunk.total_compressed_size, chunk.total_uncompressed_size
                refuse_expansion(name, packed, unpacked)


def schema_of(source: Source, options: ReadOptions) -> pa.Schema:
    """Return the columns of a file, as it names and types them; no cell is read."""
    with _well_formed(source.head, options.kind, name=options.name):
        return _schema(source, options.kind)


def rows(source: Source, options: ReadOptions) -> Iterator[Table]:
    source.check_unchanged()
    with _well_formed(source.head, options.kind, name=options.name):
        yield from map(Table, _parts(source, options.kind))
        source.check_unchanged()


def one_column(source: Source, options: ReadOptions, column: str) -> pa.Table:
    """Return one column of a file that was checked; no other is read."""
    source.check_unchanged()
    kind = options.kind
    with _well_formed(source.head, kind, name=options.name), interrupts_wait():
        data = _mapped(source)
        if kind == PARQUET:
            file = _parquet(pa.BufferReader(pa.py_buffer(data)), buffer=_PAGES)
            found = file.read([column], use_threads=False)  # and those whose names begin like it
        else:
            found = one_of(data, source.head, column)
    source.check_unchanged()
    return found.select([column])


def copied(blocks: Iterable[Table], empty: Table, spool: Spool) -> mmap:
    """Return the rows of a table as an Arrow file in a spool, whose columns can be read alone."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    schema = frames.as_arrow(empty.frame).schema
    with spool.guarded(), pa.ipc.new_file(spool.file, schema, options=options) as copy:
        for block in blocks:
            copy.write_table(frames.as_arrow(block.frame))
    return mmap(spool.again().fileno(), 0, access=ACCESS_READ)


def one_of(data: mmap, head: bytes, column: str) -> pa.Table:
    """Return one column of what Arrow has written, a file or a stream."""
    columns = _arrow(data, head).schema
    number = columns.get_field_index(column)
    reader = _arrow(data, head, pa.ipc.IpcReadOptions(included_fields=[number], use_threads=False))
    # A copy of each: pyarrow makes room for a whole batch, which the column would hold on to.
    cells = [pa.concat_arrays([one.column(0), one.column(0)[:0]]) for one in _batches(reader)]
    own = columns.field(number)
    return pa.table([pa.chunked_array(cells, own.type)], schema=pa.schema([own]))


def _is_beyond(kind: Any) -> bool:
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    if pa.types.is_dictionary(kind):
        inner = [kind.value_type]
    elif isinstance(kind, pa.BaseExtensionType):
        inner = [kind.storage_type]
    return (
        str(kind) in _INTERVALS
        or (pa.types.is_dictionary(kind) and pa.types.is_dictionary(kind.value_type))
        or any(map(_is_beyond, inner))
    )


def read_report(data: bytes, options: ReadOptions) -> bytes | None:
    with _well_formed(data, options.kind, name=options.name):
        if options.kind == PARQUET:
            metadata = pq.read_metadata(pa.BufferReader(data)).metadata
        else:
            metadata = _arrow(data, data).schema.metadata
    return (metadata or {}).get(REPORT_KEY)


def misfits(table: Table, options: WriteOptions) -> list[Problem]:
    name, problems = options.name, []
    if frames.is_arrow(table.frame):
        for one in table.frame.schema:
            try:
                codec.write_frame(table.frame.select([one.name])[:0], io.BytesIO(), options)
            except (DataError, OSError):
                remedy = "write another format"
                problems.append(misfit(one.name, str(one.type), name=name, remedy=remedy))
    return all_misfits(problems, table, name=name)


def writer(file: IO[bytes], options: WriteOptions) -> RowWriter:
    return (_ParquetWriter if options.kind == PARQUET else _ArrowWriter)(file, options)


def _parquet(file: Any, *, buffer: int) -> pq.ParquetFile:
    return pq.ParquetFile(file, page_checksum_verification=True, buffer_size=buffer)


def _arrow(
    data: bytes | mmap, head: bytes, options: pa.ipc.IpcReadOptions = _ALONE
) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    opener = pa.ipc.open_file if head.startswith(ARROW) else pa.ipc.open_stream
    return opener(pa.BufferReader(pa.py_buffer(data)), options=options)


def _schema(source: Source, kind: FileKind) -> pa.Schema:
    if kind == PARQUET:
        return _parquet(source.again(), buffer=_PAGES).schema_arrow
    return _arrow(_mapped(source), source.head).schema


def _parts(source: Source, kind: FileKind) -> Iterator[pa.Table]:
    if source.data is not None:
        with interrupts_wait():  # pyarrow starts threads
            if kind == PARQUET:
                file = _parquet(pa.BufferReader(source.data), buffer=0)
                yield file.read(use_threads=False)
            else:
                yield _arrow(source.data, source.head).read_all()
        return
    if kind == PARQUET:
        file = _parquet(source.again(), buffer=_PAGES)
        batches = file.iter_batches(batch_size=PART, use_threads=False)
        while True:
            with interrupts_wait():
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])
    data = _mapped(source)
    for batch in _batches(_arrow(data, source.head)):
        for start in range(0, max(len(batch), 1), PART):
            yield pa.Table.from_batches([batch.slice(start, PART)])
            if _DROP is not None:
                data.madvise(_DROP)  # a batch may be a whole table: keep none of its pages


def _batches(
    reader: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterable[pa.RecordBatch]:
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    batches: Iterable[pa.RecordBatch] = reader
    return batches


def _mapped(source: Source) -> mmap:
    return mmap(source.file.fileno() if source.file else -1, 0, access=ACCESS_READ)


@contextmanager
def _well_formed(data: bytes, kind: FileKind, *, name: str) -> Iterator[None]:
    if not data:
        raise DataError(file_problem("file-empty", name, "the file is empty"))
    if data.startswith(ENCRYPTED):
        what = "this Parquet file is encrypted"
        raise DataError(file_problem("parquet-encrypted", name, what, "decrypt it first"))
    if data.startswith(FEATHER_1):
        what, remedy = "Feather version 1 is not supported", "save it as version 2, or Parquet"
        raise DataError(file_problem("arrow-feather-1", name, what, remedy))
    try:
        yield
    except MemoryError as error:  # pyarrow's is an ArrowException too
        raise ResourceError(file_problem("file-too-large", name, NO_ROOM)) from error
    except pa.ArrowNotImplementedError as error:
        what = f"uses a part of the {kind.title} format that pyarrow {pa.__version__}"
        what += " does not support"
        raise DataError(file_problem("parquet-unsupported", name, what)) from error
    except (pa.ArrowException, OSError, UnicodeError, ValueError, KeyError) as error:
        if is_short(error):
            raise unreadable(name, error) from error
        problem = file_problem("file-malformed", name, f"not a well-formed {kind.title} file", ANEW)
        if "decrypt" in str(error):  # pyarrow's own sentence
            what, remedy = "has encrypted columns", "decrypt them first"
            problem = file_problem("parquet-encrypted", name, what, remedy)
        raise DataError(problem) from error


# Cells of Arrow types that have no text in every format → bytes that depend on the cells alone.
#
# Not on where a batch begins, which values a dictionary has, or what is stored below a null.

_TEXTS = {"string", "large_string", "string_view", "float", "double", "bool", "date32[day]", "null"}
_Piece: TypeAlias = tuple[str, bytes | memoryview]  # where it is within the type, and its data


def kind_of(table: pa.Table, name: str) -> tuple[str, bool]:
    """Return the type of a column, and whether its cells have a text in every format."""
    kind = own = table.schema.field(name).type
    if types.is_dictionary(kind):
        own = kind.value_type
        kind = f"dictionary<{own}, ordered={kind.ordered}>"
    number = types.is_integer(own) or types.is_decimal128(own)
    return str(kind), number or str(own) in _TEXTS


def dates(table: pa.Table, name: str) -> pl.Series:
    column = table.column(name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not types.is_date32(column.type):
        return frames.as_polars(table.select([name]).set_column(0, name, column))[name]
    days = pl.Series(pl.from_arrow(column.cast("int32")))
    texts = np.datetime_as_string(days.fill_null(0).to_numpy().astype("M8[D]"))
    return pl.Series(texts.astype(str).tolist(), dtype=pl.String).set(days.is_null(), None)


def pieces(table: pa.Table, name: str) -> Iterator[_Piece]:
    """Yield what stands for the cells of a column, chunk by chunk."""
    for chunk in table.column(name).chunks:
        try:
            found = [*_pieces(chunk, "")]
        except (pa.ArrowException, NotImplementedError, TypeError, AttributeError):
            texts = [repr(cell).encode() for cell in chunk.to_pylist()]
            found = [("/text", b"".join(b"%d:%b" % (len(text), text) for text in texts))]
        yield from found


def _pieces(array: pa.Array, path: str) -> Iterator[_Piece]:
    kind = array.type
    plain = None
    if isinstance(kind, pa.BaseExtensionType):
        plain = array.storage
    elif types.is_dictionary(kind):
        plain = array.dictionary_decode()
    elif types.is_string_view(kind) or types.is_binary_view(kind):
        plain = array.cast(pa.large_binary())
    elif types.is_run_end_encoded(kind):
        plain = pc.run_end_decode(array)
    if plain is not None:
        yield from _pieces(plain, path)
        return
    if types.is_union(kind):
        yield from _of_union(array, path)
        return
    yield f"{path}/null", array.is_null().cast("uint8").to_numpy().tobytes()
    if types.is_null(kind):
        return
    if types.is_struct(kind):
        for number, child in enumerate(array.flatten()):
            yield from _pieces(child, f"{path}/{number}")
    elif types.is_map(kind):
        pairs = pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        yield from _of_lists(array.cast(pa.list_(pairs)), path)
    elif hasattr(kind, "value_field"):  # lists of all kinds
        yield from _of_lists(array, path)
    else:
        yield from _of_leaf(array.drop_null(), path)


def _of_leaf(array: pa.Array, path: str) -> Iterator[_Piece]:
    kind = array.type
    if types.is_boolean(kind):
        yield f"{path}/cells", array.cast("uint8").to_numpy().tobytes()
        return
    if types.is_fixed_size_binary(kind) or types.is_primitive(kind) or types.is_decimal(kind):
        width = kind.bit_width // 8
        data = array.buffers()[1]
        if data is not None:
            start = array.offset * width
            yield f"{path}/cells", memoryview(data)[start : start + len(array) * width]
        return
    array = array.cast(pa.large_binary())
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, "<i8")[array.offset : array.offset + len(array) + 1]
    yield f"{path}/lengths", np.diff(places).astype("<i8").tobytes()
    if data is not None and len(places):
        yield f"{path}/cells", memoryview(data)[places[0] : places[-1]]


def _of_lists(array: Any, path: str) -> Iterator[_Piece]:
    lengths = pc.fill_null(pc.list_value_length(array).cast("int64"), 0)
    yield f"{path}/lengths", lengths.to_numpy().astype("<i8").tobytes()
    yield from _pieces(array.flatten(), f"{path}/element")


def _of_union(array: pa.UnionArray, path: str) -> Iterator[_Piece]:
    rows = slice(array.offset, array.offset + len(array))  # pyarrow's own accessors forget it
    _, codes, *others = array.buffers()
    codes = np.frombuffer(codes, "i1")[rows]
    yield f"{path}/codes", codes.tobytes()
    for number, code in enumerate(array.type.type_codes):
        places = np.flatnonzero(codes == code)
        if array.type.mode == "dense":
            places = np.frombuffer(others[0], "<i4")[rows][places]
        yield from _pieces(array.field(number).take(pa.array(places)), f"{path}/{number}")
