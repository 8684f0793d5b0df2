"""Files and tables: strict reading, atomic writing, nothing else.

Cells of a CSV or TSV file are text and stay what they are; only the schema gives them a type.
"""

import io
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl
from polars.exceptions import PolarsError

from cfl_cli import separated
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.separated import Dialect, Reject
from cfl_cli.words import quote

REPORT_KEY = "cfl.report"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".parquet")


def suffix_of(path: Path) -> str:
    """Return the path's suffix, which says its format, or raise if there is no such format."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(
            f"{path}: the name says no format that cfl knows: end it in {', '.join(SUFFIXES)}"
        )
    return suffix


@dataclass(frozen=True)
class Table:
    """What a file holds, and the records of it that were set aside."""

    frame: pl.DataFrame
    rejects: list[Reject]


def read(path: Path, *, reject: bool = False, **signs: str | None) -> Table:
    """Return the table in a CSV, TSV or Parquet file.

    `signs` are the delimiter, quote and encoding of a text table, where they are not the usual
    ones. With `reject`, its records that do not fit are set aside; without, they are refused.
    """
    suffix = suffix_of(path)
    with _readable(path):
        data = path.read_bytes()
    with _well_formed(path):
        if suffix == ".parquet":
            return Table(pl.read_parquet(io.BytesIO(data)), [])
        given = {name: sign for name, sign in signs.items() if sign is not None}
        dialect = Dialect(**{"delimiter": SEPARATORS[suffix], **given})
        return Table(*separated.read(data, name=str(path), dialect=dialect, reject=reject))


def read_report(path: Path) -> bytes:
    """Return the JSON text of a report: embedded in a table, or a file of its own."""
    if path.suffix.lower() == ".parquet":
        with _readable(path), _well_formed(path), path.open("rb") as file:
            metadata = pl.read_parquet_metadata(file)
        if REPORT_KEY not in metadata:
            raise DataError(f"{path}: no report inside: `cfl impute` did not write this file")
        return metadata[REPORT_KEY].encode()
    if path.suffix.lower() in SEPARATORS:
        beside = report_path(path)
        if not beside.exists():
            raise DataError(f"{path}: there is no {beside.name} beside it: name the report itself")
        path = beside
    with _readable(path):
        return path.read_bytes()


def report_path(out: Path) -> Path:
    """Return where the report of a table that cannot embed one goes."""
    return out.with_name(f"{out.name}.report.json")


def embeds_report(path: Path) -> bool:
    """Return whether the format of `path` carries a report inside."""
    return suffix_of(path) not in SEPARATORS


def check_holds(frame: pl.DataFrame, path: Path) -> None:
    """Raise if the table has columns that the format of `path` cannot hold."""
    if suffix_of(path) in SEPARATORS:
        problems = [
            f"column {quote(column.name)} holds {column.dtype}, which {path} cannot: write Parquet"
            for column in frame.get_columns()
            if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration, pl.Object)
        ]
        if problems:
            raise DataError(*problems)


def write(
    frame: pl.DataFrame, path: Path, *, report: str, beside: Mapping[Path, str] | None = None
) -> None:
    """Write the table, and texts `beside` it, whole or not at all; embed `report` if possible."""
    suffix = suffix_of(path)
    with replacing(path) as file, ExitStack() as others:
        if suffix == ".parquet":
            frame.write_parquet(file, metadata={REPORT_KEY: report})
        else:
            frame.write_csv(file, separator=SEPARATORS[suffix])
        for other, text in (beside or {}).items():
            others.enter_context(replacing(other)).write(text.encode())


def rejects_path(out: Path) -> Path:
    """Return where the records that were set aside go."""
    return out.with_name(f"{out.name}.rejects.csv")


def rejects_text(rejects: list[Reject]) -> str:
    """Return records that were set aside as CSV: the line, the cause and the text of each."""
    return pl.DataFrame(rejects, schema=["line", "cause", "record"], orient="row").write_csv()


def write_text(text: str, path: Path) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Give a new file that takes the place of `path` when all went well, and vanishes if not."""
    target = path.resolve()
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=".cfl-", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), _mode(target))
            os.fsync(file.fileno())
        Path(temporary).replace(target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise ResourceError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def _well_formed(path: Path) -> Iterator[None]:
    """Turn polars' errors, which quote cells of the table, into one that does not."""
    try:
        yield
    except (PolarsError, pl.exceptions.PanicException) as error:
        kind = path.suffix.lower().removeprefix(".").upper()
        raise DataError(f"{path}: not a well-formed {kind} file") from error
