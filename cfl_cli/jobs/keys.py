"""Rows of two tables matched by the cells of key columns, which name a row in both."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells
from cfl_cli.tables import frames

SHOWN = 3  # rows, or keys, of one message
WHOLE = r"^([+-]?[0-9]+)\.0+$"  # a whole number that a float column made


@dataclass(frozen=True, eq=False)
class Matched:
    """Which row of the other table each row of a table is."""

    rows: Ints  # n: from 0; −1: none
    warnings: tuple[str, ...]

    def carried_over(self, numbers: Ints) -> Ints:
        """Return what the other table's rows have, −1 at least, row by row of the table."""
        known = self.rows >= 0
        carried = np.full(len(known), -1)
        carried[known] = numbers[self.rows[known]]
        return carried


@dataclass(frozen=True)
class Side:
    """A table, and what messages call it."""

    table: pl.DataFrame
    name: str

    def texts(self, column: str, schema: Schema) -> pl.Series:
        """Return a key column as text, or raise if it cannot be one."""
        if column not in self.table.columns:
            near = did_you_mean(column, self.table.columns)
            raise DataError(
                f"{self.name}: no column {quote(column)}{near}: a key is in both tables"
            )
        if not frames.has_text(self.table[column].dtype):
            kind = frames.type_name(self.table[column].dtype)
            raise DataError(f"{self.name}: column {quote(column)} holds {kind}, which is no key")
        return Cells.of(self.table[column], schema).text


def match(
    table: pl.DataFrame,
    other: pl.DataFrame,
    key: Sequence[str],
    schema: Schema,
    *,
    name: str,
    other_name: str,
) -> Matched:
    """Return which row of `other` has the key of each row of `table`.

    Keys are compared as text; outer blanks and `.0` behind a whole number do not count, unless they
    alone tell keys apart. A key of several rows of a table is an error. Rows without a partner
    are counted in the warnings.
    """
    if not table.height:
        raise DataError(f"{name}: the table has no rows to score")
    sides = Side(table, name), Side(other, other_name)
    pairs = [_alike(*(side.texts(column, schema) for side in sides)) for column in key]
    left, right = (
        pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
        for columns in zip(*pairs, strict=True)
    )
    hidden = not schema.identifiers.isdisjoint(key)
    problems = [
        *_repeated(left, key, name, hidden=hidden),
        *_repeated(right, key, other_name, hidden=hidden),
    ]
    if problems:
        raise DataError(*problems)
    numbered = right.with_row_index("other").drop_nulls()
    found = left.join(numbered, on=left.columns, how="left", maintain_order="left")["other"]
    rows = found.cast(pl.Int64).fill_null(-1).to_numpy()
    if not (rows >= 0).any():
        raise DataError(
            f"{name}: none of its keys is in {other_name}: compare {_columns(key)} of both tables"
        )
    return Matched(rows, tuple(_unmatched(left, right, rows, name, other_name)))


def _alike(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the texts of a key column of both tables, so that the same key is the same text."""
    plain = [text.str.strip_chars().str.replace(WHOLE, "$1") for text in (one, other)]
    merged = (new.n_unique() < old.n_unique() for new, old in zip(plain, (one, other), strict=True))
    return (one, other) if any(merged) else (plain[0], plain[1])


def _repeated(keys: pl.DataFrame, key: Sequence[str], name: str, *, hidden: bool) -> list[str]:
    """Return that keys stand in several rows of a table, if any do; `hidden`: not which."""
    places = keys.with_row_index("row", offset=1).drop_nulls()
    groups = places.group_by(keys.columns, maintain_order=True).agg("row")
    several = groups.filter(pl.col("row").list.len() > 1)
    if not several.height:
        return []
    shown = "; ".join(
        f"{'one' if hidden else ', '.join(map(quote, cells))} in rows {_numbers(rows)}"
        for *cells, rows in several.head(SHOWN).iter_rows()
    )
    more = " …" if several.height > SHOWN else ""
    stand = f"{several.height:,} keys stand" if several.height > 1 else "a key stands"
    problem = (
        f"{name}: {stand} in several rows, in {_columns(key)}: {shown}{more}: leave copies out, or "
        "name one more column that tells them apart"
    )
    return [problem]


def _unmatched(
    left: pl.DataFrame, right: pl.DataFrame, rows: Ints, name: str, other_name: str
) -> list[str]:
    """Return which rows have no partner, table by table."""
    partners = np.zeros(right.height, dtype=bool)
    partners[rows[rows >= 0]] = True
    said = []
    for keys, here, own, another, so in (
        (left, rows >= 0, name, other_name, "counted as not known"),
        (right, partners, other_name, name, "not used"),
    ):
        blank = keys.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
        for which, what in ((blank, "without a key"), (~here & ~blank, f"not in {another}")):
            places = np.flatnonzero(which) + 1
            if len(places):
                noun = "row" if len(places) == 1 else "rows"
                listed = f"{len(places):,} {noun} {what} ({noun} {_numbers(places.tolist())})"
                said.append(f"{own}: {listed}: {so}")
    return said


def _numbers(rows: Sequence[int]) -> str:
    return ", ".join(f"{row:,}" for row in rows[:SHOWN]) + (" …" if len(rows) > SHOWN else "")


def _columns(key: Sequence[str]) -> str:
    return f"column{'s' if len(key) > 1 else ''} {', '.join(map(quote, key))}"
