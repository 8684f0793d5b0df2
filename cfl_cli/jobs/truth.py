"""Columns that say what the values of CFs are: every cell's place in the domain."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.messages import quote
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.steps.cells import Cells, Problems, Ruling, domain, taken_for_whole, usable_columns


@dataclass(frozen=True, eq=False)
class Truth:
    """The true values of one CF."""

    cells: Cells
    values: tuple[str, ...]  # the domain
    places: Ints  # n: of every row's value in the domain, −1 where it is missing


def read(
    frame: pl.DataFrame, schema: Schema, *, name: str = "table"
) -> tuple[list[Truth], list[str]]:
    """Return the truth of every CF, and warnings, or raise one DataError with all problems."""
    problems = Problems(name)
    usable = usable_columns(frame, schema.complementary, problems)
    truths, warnings = [], []
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        cells = Cells.of(frame[column], schema)
        values = domain(cells, cf, cells.seen, problems)
        if values is None:
            continue
        if cf.values is None:
            warnings.append(taken_for_whole(column, values))
            _refuse_unwritable(cells, cf, problems)
        truths.append(Truth(cells, values, places(cells, values, problems)))
    problems.raise_if_any()
    return truths, warnings


def places(cells: Cells, values: Sequence[str], problems: Problems) -> Ints:
    """Return the place of every cell's value in the domain, −1 where it is missing."""
    codes = cells.codes(values)
    problems.add_cells(
        cells,
        (codes < 0) & ~cells.missing,
        lambda text: Ruling((text,), exact=False).fault(values),
    )
    return codes


def _refuse_unwritable(cells: Cells, cf: Complementary, problems: Problems) -> None:
    """Note cells whose value would be read as something else, because it holds a mark of the CF.

    The schema itself checks this for a domain that it lists.
    """
    fit = [text for text in cells.seen if Ruling.read(text, cf) == Ruling((text,), exact=False)]
    signs = [quote(mark) for mark in (cf.separator, cf.exact) if mark is not None]
    marks = f"{' and '.join(signs)} {'are marks' if len(signs) > 1 else 'is a mark'}"
    problems.add_cells(
        cells,
        (cells.codes(fit) < 0) & ~cells.missing,
        lambda _: f"cannot be ruled out by a cell in which {marks}: change the mark in the schema",
    )
