"""Values that a person found out, written as exact cells into the table that was imputed.

Everything else stays as it is. The next run learns from these cells; they are a random part of all
cells as long as no others are exact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import command, option
from cfl_cli.errors import DataError, SchemaError
from cfl_cli.jobs.answers import Output
from cfl_cli.jobs.checked import Checked
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables import frames

CLOSE = 1e-9  # relative: numbers that were written as text and read again


@dataclass(frozen=True)
class Written:
    """The table with its new exact cells."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    cells: dict[str, int]  # how many of each CF


def write_back(
    frame: Any, output: Output, checked: Sequence[Checked], schema: Schema, *, name: str = "table"
) -> Written:
    """Write checked values into `frame`, the table that `output` was made from.

    `name` is what errors call it.
    """
    found = [one for one in checked if one.known.any()]
    marks = _marks([one.answers.cf for one in found], schema)
    table = frames.as_polars(frame, name=name)
    _refuse_other(table, output, name)
    columns = []
    for one in found:
        cf, rows = one.answers.cf, np.flatnonzero(one.known)
        values = pl.Series(one.answers.values, dtype=pl.String).gather(one.places[rows])
        columns.append(_with_cells(table[cf], rows, marks[cf] + values))
    cells = {one.answers.cf: int(one.known.sum()) for one in found}
    return Written(frames.replace(frame, columns), cells)


def _with_cells(column: pl.Series, rows: Ints, texts: pl.Series) -> pl.Series:
    """Return a column with other texts in some rows; in one of lists each is a list of its own."""
    if not frames.holds_lists(column.dtype):
        return column.cast(pl.String).scatter(rows, texts)
    cells = column.cast(pl.List(pl.String)).to_list()
    for row, text in zip(rows.tolist(), texts, strict=True):
        cells[row] = [text]
    return pl.Series(column.name, cells, dtype=pl.List(pl.String))


def _marks(cfs: Sequence[str], schema: Schema) -> dict[str, str]:
    """Return the mark of each CF's exact cells, or raise if one has none."""
    columns: dict[str, Complementary] = schema.complementary
    problems = [
        f"column {quote(cf)} has no mark for exact cells: add `exact` in the schema, such as "
        f'exact: "=", or name the other CFs with {option("cf", python="cfs")}'
        for cf in cfs
        if columns[cf].exact is None
    ]
    if problems:
        raise SchemaError(*problems)
    return {cf: str(columns[cf].exact) for cf in cfs}


def _refuse_other(table: pl.DataFrame, output: Output, name: str) -> None:
    """Raise unless the table is the one that was imputed, row by row."""
    answers = [title for one in output.answers for title in one.columns if title in table.columns]
    if answers:
        raise DataError(
            f"{name}: has answers, in column {quote(answers[0])}: pass the table that "
            f"{output.name} was made from, before {command('impute')}"
        )
    theirs = f"{name}: not the table that {output.name} was made from"
    if table.height != output.table.height:
        raise DataError(
            f"{theirs}: {table.height:,} rows, but {output.name} has {output.table.height:,}"
        )
    absent = [column for column in table.columns if column not in output.table.columns]
    cfs = [answers.cf for answers in output.answers if answers.cf not in table.columns]
    problems = [
        f"{theirs}: its column {quote(column)} is not in {output.name}" for column in absent
    ]
    problems += [f"{theirs}: it has no column {quote(cf)}" for cf in cfs]
    for column in table.columns:
        if column in absent or not frames.has_text(table[column].dtype):
            continue
        differs = _differ(table[column], output.table[column])
        if differs.any():
            problems.append(
                f"{theirs}: row {int(differs.argmax()) + 1}, column {quote(column)} differs: rows "
                "are matched by their order"
            )
    if problems:
        raise DataError(problems[0], more=len(problems) - 1)


def _differ(one: pl.Series, other: pl.Series) -> Mask:
    """Return which cells differ; a number and its text are equal, and so are empty and null."""
    if not frames.has_text(other.dtype):
        return np.zeros(len(one), dtype=bool)
    texts = [column.cast(pl.String).fill_null("") for column in (one, other)]
    differ = (texts[0] != texts[1]).to_numpy()
    if differ.any() and one.dtype != other.dtype:
        numbers = [text.cast(pl.Float64, strict=False).to_numpy() for text in texts]
        differ &= ~np.isclose(numbers[0], numbers[1], rtol=CLOSE, atol=0)
    return np.asarray(differ)
