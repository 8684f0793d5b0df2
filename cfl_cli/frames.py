"""Data frames of either kind, polars or pandas, without importing pandas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.errors import DataError, UsageError
from cfl_cli.words import quote


def as_polars(frame: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Return `frame` as a polars frame; only `columns` need hold their cells."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if not _is_pandas(frame):
        raise UsageError(
            f"a polars or pandas DataFrame is needed, not {type(frame).__module__}."
            f"{type(frame).__qualname__}"
        )
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise DataError(f"column {quote(str(doubled[0]))} stands twice in the table")
    return pl.DataFrame(
        [
            _series(frame[name]) if name in columns else pl.Series(name, [None] * len(frame))
            for name in frame.columns
            if isinstance(name, str)
        ]
    )


def append(frame: Any, columns: Sequence[pl.Series]) -> Any:
    """Return a copy of `frame` with `columns` after its own; its own stay as they are."""
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(columns)
    extended = frame.reindex(columns=[*frame.columns, *(column.name for column in columns)])
    for column in columns:
        extended[column.name] = column.to_numpy()
    return extended


def _is_pandas(frame: Any) -> bool:
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"
        for kind in type(frame).__mro__
    )


def _series(column: Any) -> pl.Series:
    """Return a pandas column as numbers if it holds numbers, and as text otherwise."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(column.name, column.to_numpy())
    cells = column.astype(object).where(column.notna(), None)
    return pl.Series(column.name, map(_text, cells), dtype=pl.String)


def _text(cell: Any) -> str | None:
    """Return a cell as polars would write it; a pandas column of mixed types holds objects."""
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower()
    return None if cell is None else str(cell)
