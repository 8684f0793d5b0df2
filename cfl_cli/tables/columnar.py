"""Parquet and Arrow files ↔ pyarrow tables, every column's type and metadata as they were.

pyarrow and not polars, because columns that nobody asked about pass through unconverted, because
it checks what it reads, and because it keeps the report inside an Arrow file.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfl_cli.core.messages import quote
from cfl_cli.core.parallel import interrupts_wait
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables import frames
from cfl_cli.tables.codec import ReadOptions, Table, WriteOptions, mixed_columns, nul_names
from cfl_cli.tables.formats import ARROW, ENCRYPTED, FEATHER_1, KINDS, FileKind

REPORT_KEY = "cfl.report"
PARQUET = KINDS["parquet"]


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table in a file, a pyarrow one."""
    kind, name = options.kind, options.name
    with _well_formed(data, kind, name=name), interrupts_wait():  # pyarrow starts threads
        if kind == PARQUET:
            source = pa.BufferReader(data)
            table = pq.ParquetFile(source, page_checksum_verification=True).read()
        else:
            table = _open(data).read_all()
    problems = [
        f"{name}: duplicate column {quote(column)}"
        for column, times in Counter(table.column_names).items()
        if times > 1
    ]
    problems += [
        f"{name}: column {quote(field.name)} has cells that are not valid as {field.type}: text "
        "that is not UTF-8, a number out of range, or damage"
        for field, column in zip(table.schema, table.columns, strict=True)
        if not _is_valid(column)
    ]
    if problems:
        raise DataError(*problems)
    return Table(table)


def _is_valid(column: pa.ChunkedArray) -> bool:
    """Return whether every cell is what its type allows."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def read_report(data: bytes, options: ReadOptions) -> bytes | None:
    """Return the report among the keys and values beside the columns, if it is there."""
    with _well_formed(data, options.kind, name=options.name):
        if options.kind == PARQUET:
            metadata = pq.read_metadata(pa.BufferReader(data)).metadata
        else:
            metadata = _open(data).schema.metadata
    return (metadata or {}).get(REPORT_KEY.encode())


def misfits(table: Table, options: WriteOptions) -> list[str]:
    """Return which columns a file of this kind cannot hold."""
    name, problems = options.name, mixed_columns(table, name=options.name)
    if frames.is_arrow(table.frame):
        for field in table.frame.schema:
            try:
                write(table.frame.select([field.name])[:0], pa.BufferOutputStream(), options)
            except (DataError, OSError):
                title = quote(field.name)
                problems.append(
                    f"column {title} holds {field.type}, which {name} cannot hold: "
                    "write another format"
                )
    return problems + nul_names(table, name=name)


def write(frame: Any, file: IO[bytes], options: WriteOptions) -> None:
    """Write the table, with the report added to its own metadata."""
    table, kind = frames.as_arrow(frame), options.kind
    # As bytes, like the keys that the table has, or it would have both reports.
    report = {REPORT_KEY.encode(): options.report} if options.report else {}
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **report})
    try:
        if kind == PARQUET:
            pq.write_table(table, file, compression="zstd")
        else:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{options.name}: {kind.title} cannot store everything in the table: "
            "write another format"
        ) from error


def _open(data: bytes) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    """Open either of Arrow's two forms: a file, or a stream that was saved."""
    if data.startswith(ARROW):
        return pa.ipc.open_file(pa.BufferReader(data))
    return pa.ipc.open_stream(pa.BufferReader(data))


@contextmanager
def _well_formed(data: bytes, kind: FileKind, *, name: str) -> Iterator[None]:
    """Turn pyarrow's errors, which may quote cells of the table, into ones that do not."""
    if not data:
        raise DataError(f"{name}: the file is empty")
    if data.startswith(ENCRYPTED):
        raise DataError(f"{name}: this Parquet file is encrypted: decrypt it first")
    if data.startswith(FEATHER_1):
        raise DataError(
            f"{name}: Feather version 1 is not supported: save it as version 2, or Parquet"
        )
    try:
        yield
    except MemoryError as error:  # pyarrow's is an ArrowException too
        raise ResourceError(
            f"{name}: needs more memory than is available: it is too large, or damaged"
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise DataError(
            f"{name}: uses a part of the {kind.title} format that pyarrow {pa.__version__} does "
            "not support"
        ) from error
    except (pa.ArrowException, OSError, UnicodeError, ValueError, KeyError) as error:
        if "decrypt" in str(error):
            raise DataError(f"{name}: has encrypted columns: decrypt them first") from error
        raise DataError(f"{name}: not a well-formed {kind.title} file") from error
