"""Parquet and Arrow files ↔ pyarrow tables, every column's type and metadata as they were.

pyarrow and not polars, because columns that nobody asked about pass through unconverted, because
it checks what it reads, and because it keeps the report inside an Arrow file.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from cfl_cli.core.messages import quote
from cfl_cli.core.parallel import interrupts_wait
from cfl_cli.errors import DataError, ResourceError
from cfl_cli.tables.formats import ARROW, ENCRYPTED, FEATHER_1

TITLES = {"parquet": "Parquet", "arrow": "Arrow"}


def read(data: bytes, kind: str, *, name: str) -> pa.Table:
    """Return the table in the bytes of a Parquet or Arrow file, checked to the last cell."""
    with _well_formed(data, kind, name=name), interrupts_wait():  # pyarrow starts threads
        if kind == "parquet":
            source = pa.BufferReader(data)
            table = pq.ParquetFile(source, page_checksum_verification=True).read()
        else:
            table = _open(data).read_all()
    problems = [
        f"{name}: column {quote(column)} stands twice"
        for column, count in Counter(table.column_names).items()
        if count > 1
    ]
    problems += [
        f"{name}: column {quote(field.name)} holds what no {field.type} can be: text that is not "
        "UTF-8, a number out of range, or damage"
        for field, column in zip(table.schema, table.columns, strict=True)
        if not _is_valid(column)
    ]
    if problems:
        raise DataError(*problems)
    return table


def _is_valid(column: pa.ChunkedArray) -> bool:
    """Return whether every cell is what its type allows."""
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def read_metadata(data: bytes, kind: str, *, name: str) -> Mapping[bytes, bytes]:
    """Return the keys and values that stand beside the columns."""
    with _well_formed(data, kind, name=name):
        if kind == "parquet":
            return pq.read_metadata(pa.BufferReader(data)).metadata or {}
        return _open(data).schema.metadata or {}


def write(table: pa.Table, file: IO[bytes], kind: str, *, metadata: Mapping[str, str]) -> None:
    """Write the table, with `metadata` added to its own."""
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata})
    try:
        if kind == "parquet":
            pq.write_table(table, file, compression="zstd")
        else:
            with pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"the table holds something that has no form in {TITLES[kind]}: write another format"
        ) from error


def misfits(table: pa.Table, kind: str, *, name: str) -> list[str]:
    """Return which columns a file of this kind cannot hold."""
    problems = []
    for field in table.schema:
        try:
            write(table.select([field.name])[:0], pa.BufferOutputStream(), kind, metadata={})
        except (DataError, OSError):
            problems.append(
                f"column {quote(field.name)} holds {field.type}, which {name} cannot: "
                "write another format"
            )
    return problems


def _open(data: bytes) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    """Open either of Arrow's two forms: a file, or a stream that was saved."""
    if data.startswith(ARROW):
        return pa.ipc.open_file(pa.BufferReader(data))
    return pa.ipc.open_stream(pa.BufferReader(data))


@contextmanager
def _well_formed(data: bytes, kind: str, *, name: str) -> Iterator[None]:
    """Turn pyarrow's errors, which may quote cells of the table, into ones that do not."""
    if not data:
        raise DataError(f"{name}: the file is empty")
    if data.startswith(ENCRYPTED):
        raise DataError(f"{name}: this Parquet file is encrypted: decrypt it first")
    if data.startswith(FEATHER_1):
        raise DataError(f"{name}: Feather version 1 is not read: save it as version 2, or Parquet")
    try:
        yield
    except MemoryError as error:  # pyarrow's is an ArrowException too
        raise ResourceError(
            f"{name}: asks for more memory than there is: it is too large, or damaged"
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise DataError(
            f"{name}: uses a part of the {TITLES[kind]} format that pyarrow {pa.__version__} does "
            "not read"
        ) from error
    except (pa.ArrowException, OSError, UnicodeError, ValueError, KeyError) as error:
        if "decrypt" in str(error):
            raise DataError(f"{name}: has encrypted columns: decrypt them first") from error
        raise DataError(f"{name}: not a well-formed {TITLES[kind]} file") from error
