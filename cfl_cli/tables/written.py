"""What a report says of the table that it belongs to, so that damage and mixed pairs are seen."""

import hashlib
from typing import IO

from cfl_cli.core.quick import dataclass

CHUNK = 1 << 20


@dataclass(frozen=True)
class TableContent:
    """What a table held when it was written. Checksums are SHA-256.

    The last three are of its file, and known only to a report that has a file of its own.
    """

    rows: int
    columns: tuple[str, ...]
    sha256: str  # of all cells, in any order of the columns; null and an empty text are alike
    nulls_sha256: str  # which cells are null; not for CSV, where null is an empty text
    types_sha256: str | None = None  # of Parquet and Arrow; None: all cells are text
    file: str | None = None  # name, without folders
    file_bytes: int | None = None
    file_sha256: str | None = None


def sums_of(file: IO[bytes]) -> tuple[int, str]:
    """Return the number of bytes in a file from where it stands, and their SHA-256."""
    made, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK):
        made.update(chunk)
        size += len(chunk)
    return size, made.hexdigest()
