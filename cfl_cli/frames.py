"""Data frames of either kind, polars or pandas, without importing pandas."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from cfl_cli.errors import DataError, UsageError
from cfl_cli.words import quote


def as_polars(frame: Any, columns: Sequence[str]) -> pl.DataFrame:
    """Return those of `columns` that `frame` has, as a polars frame."""
    if isinstance(frame, pl.DataFrame):
        return frame.select(column for column in columns if column in frame.columns)
    if not _is_pandas(frame):
        raise UsageError(
            f"a polars or pandas DataFrame is needed, not {type(frame).__module__}."
            f"{type(frame).__qualname__}"
        )
    doubled = frame.columns[frame.columns.duplicated()]
    if len(doubled):
        raise DataError(f"column {quote(str(doubled[0]))} stands twice in the table")
    return pl.DataFrame([_series(frame[column]) for column in columns if column in frame.columns])


def append(frame: Any, columns: Sequence[pl.Series]) -> Any:
    """Return a copy of `frame` with `columns` after its own; its own stay as they are."""
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(columns)
    extended = frame.copy()
    for column in columns:
        extended[column.name] = column.to_numpy()
    return extended


def _is_pandas(frame: Any) -> bool:
    kind = type(frame)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def _series(column: Any) -> pl.Series:
    """Return a pandas column as numbers if it holds numbers, and as text otherwise."""
    values = column.to_numpy()
    if values.dtype.kind in "biuf":
        return pl.Series(column.name, values)
    known = column.notna().to_numpy()
    cells = [str(cell) if holds else None for cell, holds in zip(values, known, strict=True)]
    return pl.Series(column.name, cells, dtype=pl.String)
