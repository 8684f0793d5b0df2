"""The SHA-256 of what columns hold, the same whatever the format that they are written in."""

import io
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.tables import frames

BETWEEN = "\x1f"  # cells of text


class ColumnsChecksum:
    """Adds up columns of text and of numbers, block by block; an empty text counts as null."""

    def __init__(self) -> None:
        self._made: dict[str, Any] = {}

    def add(self, columns: Iterable[pl.Series]) -> None:
        """Add further rows of the same columns."""
        for column in columns:
            made = self._made.setdefault(column.name, sha256())
            if len(column):
                made.update(_bytes(column))

    def hexdigest(self) -> str:
        """Return the checksum of all columns, in their order and with their names."""
        whole = sha256()
        for name, made in self._made.items():
            whole.update(f"{name}{BETWEEN}".encode() + made.digest())
        return whole.hexdigest()


def _bytes(column: pl.Series) -> bytes:
    if column.dtype == pl.String:
        text: str = column.fill_null("").str.join(BETWEEN).item()
        return f"{text}{BETWEEN}".encode()
    numbers = column.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.ascontiguousarray(numbers, dtype="<f8").tobytes()


def checksum_of(frame: Any, columns: Collection[str]) -> str:
    """Return the SHA-256 of some columns' cells, for a table that did not come from a file."""
    cells = frames.as_polars(frame, columns)
    there = [column for column in columns if column in cells.columns]
    held = io.BytesIO()
    cells.select(there).write_ipc(held)
    return sha256(held.getbuffer()).hexdigest()
