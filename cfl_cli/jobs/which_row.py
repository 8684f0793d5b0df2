"""The row of a table that is meant: by its number, or by a cell of any column."""

from collections.abc import Collection, Sequence

import polars as pl

from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.core.wording import option
from cfl_cli.errors import DataError, UsageError
from cfl_cli.texts.columns import as_text

NAMED = 5  # rows that a message names


def split(where: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column and the cell of `COLUMN=CELL`, or raise; a name may hold = itself."""
    parts = where.split("=")
    for size in range(len(parts) - 1, 0, -1):
        if (column := "=".join(parts[:size])) in columns:
            return column, "=".join(parts[size:])
    if len(parts) < 2:
        raise UsageError(
            f"{option('where', where, quoted=True)}: expected COLUMN=CELL, such as patient=17"
        )
    raise UsageError(
        f"{option('where', where, quoted=True)}: no column {quote(parts[0])}"
        f"{did_you_mean(parts[0], columns)}"
    )


def matches(column: pl.Series, cell: str, *, first: int = 0) -> list[int]:
    """Return the numbers of the rows, from 1, whose cell is this; `first` rows came before."""
    if not cell:
        raise UsageError(
            f"{option('where')}: empty cells cannot be asked for: give {option('row')}"
        )
    if column.dtype.is_nested():
        raise UsageError(
            f"{option('where')}: the cells of column {quote(column.name)} are lists: ask by another"
        )
    same = (as_text(column) == cell).fill_null(value=False)
    number = pl.Series([cell]).cast(pl.Float64, strict=False)[0]
    if number is not None and column.dtype.is_integer():  # 17.0 means 17 too; 17 with 17 digits …
        whole = cell.strip().partition(".")
        if not whole[2].strip("0"):  # … is no float
            same |= (as_text(column) == whole[0]).fill_null(value=False)
    elif number is not None and column.dtype.is_numeric():  # 17 means 17.0 too
        same |= (column.cast(pl.Float64) == number).fill_null(value=False)
    return [first + 1 + at for at in same.arg_true().to_list()]


def discreet(where: str, column: str, identifiers: Collection[str]) -> str:
    """Return `COLUMN=CELL` as it may be shown: without the cell of an identifier."""
    return f"{column}=…" if column in identifiers else where


def only(rows: Sequence[int], where: str, name: str) -> int:
    """Return the one row that matches, or raise; `where` is as it may be shown."""
    if len(rows) == 1:
        return rows[0]
    asked = option("where", where, quoted=True)
    if not rows:
        raise DataError(f"{name}: no row has {asked}: check the spelling, or give {option('row')}")
    listed = ", ".join(f"{row:,}" for row in rows[:NAMED]) + (" …" if len(rows) > NAMED else "")
    raise DataError(
        f"{name}: {count(len(rows), 'row')} have {asked} (rows {listed}): give {option('row')}, or "
        "a column whose cells are unique"
    )
