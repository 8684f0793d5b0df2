"""Tables as the encoding sees them: columns by their names, loaded when they are asked for."""

from typing import Protocol, TypeGuard

import polars as pl


class Columns(Protocol):
    """A polars table, or one whose columns are loaded when they are asked for."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def height(self) -> int:
        """The number of rows."""

    def __getitem__(self, name: str, /) -> pl.Series:
        """Return a column."""


class Loading(Columns, Protocol):
    """A table whose columns are loaded when they are asked for."""

    def dtype(self, name: str) -> pl.DataType:
        """Return the type of a column, if possible without loading it."""


def is_loading(frame: object) -> TypeGuard[Loading]:
    """Return whether columns of a table are loaded when they are asked for."""
    return hasattr(type(frame), "dtype") and hasattr(type(frame), "height")


def column_type(frame: Columns, name: str) -> pl.DataType:
    """Return the type of a column."""
    return frame.dtype(name) if is_loading(frame) else frame[name].dtype
