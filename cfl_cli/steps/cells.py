"""The cells of a column, as the schema reads them: missing, named values, what does not fit."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.core.state import State, StateError
from cfl_cli.errors import PROBLEMS_SHOWN, ProblemList
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables.frames import has_text, type_name

CATEGORIES = 1000  # values that an OF may have, and a CF whose domain is not listed


@dataclass(frozen=True)
class Cells:
    """A column as text, null where the schema counts the cell as missing."""

    name: str
    raw: pl.Series
    text: pl.Series

    @classmethod
    def of(cls, column: pl.Series, schema: Schema) -> "Cells":
        """Return the column's cells as text."""
        text = column.cast(pl.String)
        missing = text.is_in(list(schema.missing)) | text.is_null()
        if column.dtype.is_float():
            missing |= column.is_nan()  # how pandas writes a missing number
            tokens = pl.Series(schema.missing).cast(pl.Float64, strict=False).drop_nulls()
            missing |= column.is_in(tokens.to_list())  # "-999" means -999.0 too
        blank = pl.Series(column.name, [None], dtype=pl.String)
        return cls(column.name, column, text.zip_with(~missing.fill_null(value=True), blank))

    @cached_property
    def missing(self) -> Mask:
        """Return which cells are missing."""
        return self.text.is_null().to_numpy()

    @cached_property
    def numbers(self) -> Floats:
        """Return the cells as numbers, NaN where they are not; what is missing may be either."""
        source = self.raw if self.raw.dtype.is_numeric() else self.text.str.strip_chars()
        return source.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()

    @cached_property
    def seen(self) -> list[str]:
        """Return the different texts of the other cells, sorted by code point."""
        return sorted(self.text.drop_nulls().unique().to_list())

    def codes(self, values: Sequence[str]) -> Ints:
        """Return every cell's place in `values`, −1 if it is missing or not among them."""
        places = self.text.replace_strict(
            list(values), list(range(len(values))), default=-1, return_dtype=pl.Int64
        )
        return places.fill_null(-1).to_numpy()


@dataclass(frozen=True)
class Ruling:
    """What one CF cell says: it rules out these values or, if exact, all others."""

    values: tuple[str, ...]
    exact: bool

    @classmethod
    def read(cls, text: str, cf: Complementary) -> "Ruling":
        """Read a cell by the CF's marks."""
        if cf.exact is not None and text.startswith(cf.exact):
            return cls((text.removeprefix(cf.exact),), exact=True)
        parts = text.split(cf.separator) if cf.separator is not None else [text]
        return cls(tuple(parts), exact=False)

    def candidates(self, values: Sequence[str]) -> list[bool]:
        """Return which domain values the cell leaves possible."""
        return [(value in self.values) == self.exact for value in values]

    def fits(self, values: Sequence[str]) -> bool:
        """Return whether the cell names values of the domain only, and leaves one possible."""
        return all(value in values for value in self.values) and any(self.candidates(values))

    def fault(self, values: Sequence[str], *, model: bool = False) -> str:
        """Return what is wrong with the cell, to follow its text in a message.

        `model` says whether the domain is that of a model, which is fitted already.
        """
        for value in self.values:
            if value not in values:
                alone = self.values == (value,) and not self.exact
                way_out = correct_or("add it to the column's `values`", model=model)
                return (
                    f"{'is' if alone else f'names {quote(value)}, which is'} not in the domain"
                    f"{did_you_mean(value, values)}: {way_out}"
                )
        return "rules out the whole domain: leave at least one value"


def correct_or(what: str, *, model: bool) -> str:
    """Return a way out; what changes a schema takes another fit if there is a model already."""
    return f"correct it, or {what} and fit again" if model else f"correct it or {what}"


class Problems(ProblemList):
    """What is wrong with a table, or with a block of new rows for a model.

    `first_row` is the number of its first row, counted from 1.
    """

    def __init__(self, name: str, *, first_row: int = 1, model: bool = False) -> None:
        super().__init__()
        self.name = name
        self.first_row = first_row
        self.model = model

    def add(self, message: str) -> None:
        """Note a problem of the whole table."""
        self.note(f"{self.name}: {message}")

    def add_cells(self, cells: Cells, wrong: Mask, what: Callable[[str], str]) -> None:
        """Note a problem of every cell of a column that `wrong` marks; `what(text)` follows it."""
        rows = np.flatnonzero(wrong)
        for row in rows[:PROBLEMS_SHOWN]:
            text = cells.raw.slice(row, 1).cast(pl.String).item() or ""
            self.note(
                f"{self.name}: row {row + self.first_row}, column {quote(cells.name)}: "
                f"{quote(text) if text else 'an empty cell'} {what(text)}"
            )
        self.more += max(0, len(rows) - PROBLEMS_SHOWN)


def used_columns(schema: Schema) -> list[str]:
    """Return the columns that a schema reads: OFs, CFs, and those that name groups."""
    return [*dict.fromkeys([*schema.ordinary, *schema.complementary, *schema.group])]


def usable_columns(frame: pl.DataFrame, listed: Iterable[str], problems: Problems) -> set[str]:
    """Return which of the columns that a schema lists can be read; note those that cannot."""
    usable = set()
    for column in listed:
        if column not in frame.columns:
            near = did_you_mean(column, frame.columns)
            problems.add(
                f"column {quote(column)} is not in the table{near}: add it, the model needs it"
                if problems.model
                else f"column {quote(column)} is in the schema but not in the table{near}: add it, "
                "or remove it from the schema"
            )
        elif not has_text(frame[column].dtype):
            kind = type_name(frame[column].dtype)
            way_out = "convert it" if problems.model else "mark it `role: ignore`"
            problems.add(f"column {quote(column)} holds {kind}, not text or numbers: {way_out}")
        else:
            usable.add(column)
    return usable


def domain(
    cells: Cells, cf: Complementary, named: Iterable[str], problems: Problems
) -> tuple[str, ...] | None:
    """Return a CF's domain, or the values `named` if the schema lists none; None if unusable."""
    values = cf.values or tuple(sorted(named))
    if cf.values is None and not 2 <= len(values) <= CATEGORIES:
        problems.add(
            f"column {quote(cells.name)}: {count(len(values), 'different value')} seen, but a "
            f"domain that is not listed needs 2 to {CATEGORIES:,}: list all possible ones under "
            "`values`"
        )
        return None
    return values


def kept_values(
    facts: State, listed: tuple[str, ...] | None, schema: Schema, most: int = CATEGORIES
) -> tuple[str, ...]:
    """Return a column's fitted values: those that the schema lists, or those kept as seen."""
    if listed is not None:
        return listed
    values = facts.fact("values", list)
    for value in values:
        if not isinstance(value, str) or value in schema.missing or not _is_utf8(value):
            raise StateError("its values are not texts that cells can hold")
    if len(values) > most or any(one >= other for one, other in pairwise(values)):
        raise StateError(f"its values are not at most {most:,}, sorted and distinct")
    return tuple(values)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can spell
        return False
    return True


def taken_for_whole(cf: str, values: Sequence[str]) -> str:
    """Return the warning about a domain that the schema leaves out."""
    return (
        f"column {quote(cf)}: the schema gives no values, so the {len(values)} seen are taken for "
        "the whole domain; list them under `values`"
    )
