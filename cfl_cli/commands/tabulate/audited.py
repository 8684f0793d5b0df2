"""Rows that a person looked up, and the confidences of all rows beside them, if a table has some.

The file has the columns `cfl_row`, the number of a row of DATA from 1, and one for each CF with the
true value, empty where it was not found out; `cfl audit` draws such files. Its rows must be a
random sample of those of DATA.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.commands.tabulate.estimates import All
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.encode import new_names
from cfl_cli.encode.findings import Cause, Problems
from cfl_cli.errors import DataError, Problem, UserText
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames

ROW = "cfl_row"


@dataclass(frozen=True, eq=False)
class Checked:
    """What was looked up: the rows, counted from 0 and sorted, and their values by CF."""

    rows: Ints
    places: dict[str, Ints]  # in the domain, −1 where it was not found out
    name: str

    @classmethod
    def read(cls, frame: Any, schema: Schema, cfs: tuple[str, ...], *, name: str) -> "Checked":
        table = frames.as_polars(frame, name=name)
        named = [cf for cf in cfs if cf in table.columns]
        if ROW not in table.columns or not named:
            text = "{file}: expected a column {column!r} and one for a CF with the true values: {remedy}"
            remedy = "pass a file as `cfl audit` writes it"
            raise DataError(
                Problem("tabulate-audit-columns", text, file=name, column=ROW, remedy=remedy)
            )
        numbers = table[ROW].cast(pl.Float64, strict=False).fill_null(-1).to_numpy()
        seen, counts = np.unique(numbers, return_counts=True)
        wrong = [it for it in seen[counts > 1].tolist() if it >= 1]
        wrong += [it for it in numbers.tolist() if it < 1 or it != int(it)]
        if wrong:
            text = "{file}: column {column!r}: is not a row number, or occurs twice: {remedy}"
            remedy = "restore it, or remove the line"
            raise DataError(
                Problem("tabulate-audit-row", text, file=name, column=ROW, remedy=remedy)
            )
        problems, places = Problems(name, schema), dict[str, Ints]()
        order = np.argsort(numbers)
        for cf in named:
            cells = Cells.of(table[cf], schema)
            values = schema.complementary[cf].values or ()
            texts = cells.text.str.strip_chars().rename(cf)
            mark = schema.complementary[cf].exact
            texts = texts if mark is None else texts.str.strip_prefix(mark)
            found = texts.replace_strict(
                [*values], [*range(len(values))], default=-1, return_dtype=pl.Int64
            )
            codes = np.where(cells.missing, -1, found.fill_null(-1).to_numpy())
            what = "[are not values|is not a value] of the CF"
            cause = Cause("tabulate-audit-value", what, correct="correct [them|it]")
            problems.add_cells(cells.raw, (codes < 0) & ~cells.missing, cause)
            places[cf] = codes[order]
        problems.raise_if_any()
        return cls(numbers[order].astype(np.int64) - 1, places, name)

    def within(self, rows: int) -> None:
        """Raise if a row is not in a table of so many rows."""
        if len(self.rows) and self.rows[-1] >= rows:
            text = "{file}: column {column!r}: the table has no row {value}: {remedy}"
            facts = {
                "value": UserText(self.rows[-1] + 1),
                "remedy": "restore it, or remove the line",
            }
            raise DataError(
                Problem("tabulate-audit-row", text, file=self.name, column=ROW, **facts)
            )


@dataclass
class Sample:
    """What is known of one CF's looked-up rows, and of the confidences of all rows by group."""

    size: int
    places: list[Ints] = field(default_factory=list)
    groups: list[Ints] = field(default_factory=list)
    numbers: list[Floats] = field(default_factory=list)
    confidences: list[Floats] = field(default_factory=list)
    sums: dict[int, Floats] = field(default_factory=dict)  # by group: 2 × K, Σ q and Σ q²
    rows: dict[int, float] = field(default_factory=dict)

    def add(self, places: Ints, groups: Ints, numbers: Floats, confidences: Floats | None) -> None:
        known = places >= 0
        self.places.append(places[known])
        self.groups.append(groups[known])
        self.numbers.append(numbers[known])
        if confidences is not None:
            self.confidences.append(confidences[known])

    def count(self, confidences: Floats, groups: Ints) -> None:
        for group in np.unique(groups).tolist():
            own = confidences[groups == group]
            sums = np.stack([own.sum(axis=0), (own**2).sum(axis=0)])
            self.sums[group] = self.sums.get(group, np.zeros_like(sums)) + sums
            self.rows[group] = self.rows.get(group, 0.0) + len(own)

    def of(self, group: int | None = None) -> tuple[Ints, Floats, Floats | None, All | None]:
        """Return the places, numbers and confidences of looked-up rows, and what all rows have."""
        if not self.places:
            return np.zeros(0, dtype=np.int64), np.zeros(0), None, None
        places, groups = np.concatenate(self.places), np.concatenate(self.groups)
        own = np.ones(len(places), dtype=bool) if group is None else groups == group
        numbers = np.concatenate(self.numbers)[own]
        if not self.confidences:
            return places[own], numbers, None, None
        chosen = [one for one in self.sums if group in (None, one)]
        n = sum(self.rows[one] for one in chosen)
        first, second = sum((self.sums[one] for one in chosen), np.zeros((2, self.size))) / n
        whole = All(first, np.maximum(second - first**2, 0.0), n)
        return places[own], numbers, np.concatenate(self.confidences)[own], whole


def confidences_of(table: pl.DataFrame, cf: str, values: tuple[str, ...]) -> Floats | None:
    """Return the soft columns of a CF, n × K; None if the table does not have them, in full."""
    names = new_names(cf, values, "soft")
    if not all(name in table.columns for name in names):
        return None
    columns = [table[name].cast(pl.Float64, strict=False).fill_null(np.nan) for name in names]
    found = np.column_stack([column.to_numpy() for column in columns])
    return None if np.isnan(found).any() else found
