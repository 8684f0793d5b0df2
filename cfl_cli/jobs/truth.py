"""Columns that say what the values of CFs are: every cell's place in the domain."""

from collections.abc import Iterator, Sequence

import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.steps.causes import in_values
from cfl_cli.steps.cells import Cells, Ruling, domain, taken_for_whole, usable_columns
from cfl_cli.steps.findings import Cause, Problems


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
    problems = Problems(name, schema)
    usable = usable_columns(frame, schema.complementary, problems)
    truths, warnings = [], []
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        cells = Cells.of(frame[column], schema)
        values = domain(cells, cf, cells.named, problems)
        if values is None:
            continue
        if cf.values is None:
            warnings.append(taken_for_whole(column, values).for_report)
            _refuse_unwritable(cells, cf, problems)
        truths.append(Truth(cells, values, places(cells, values, problems)))
    problems.raise_if_any()
    return truths, warnings


def places(cells: Cells, values: Sequence[str], problems: Problems, *, cf: str = "") -> Ints:
    """Return the place of every cell's value in the domain, −1 where it is missing."""
    codes = cells.codes(values)
    problems.add_cells(
        cells.shown,
        (codes < 0) & ~cells.missing,
        lambda found: _causes(found, cf or cells.name, values, problems.schema),
    )
    return codes


def _causes(
    wrong: Sequence[str], cf: str, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield why cells are no value of a CF."""
    several = {
        text
        for text in wrong
        if len(parts := Ruling.read(text, schema.complementary[cf]).values) > 1
        and {part.strip() for part in parts} <= {*values}
    }
    if several:
        yield Cause(
            "several-values",
            "hold several values, as exclusions do",
            correct="pass a table of true values, one in each cell",
            texts=several,
        )
    yield from in_values([text for text in wrong if text not in several], cf, values, schema)


def _refuse_unwritable(cells: Cells, cf: Complementary, problems: Problems) -> None:
    """Note cells whose value would be read as something else, because it holds a mark of the CF.

    The schema itself checks this for a domain that it lists.
    """
    fit = [text for text in cells.seen if Ruling.read(text, cf) == Ruling((text,), exact=False)]
    signs = [quote(mark) for mark in (cf.separator, cf.exact) if mark is not None]
    marks = f"{' and '.join(signs)} {'are marks' if len(signs) > 1 else 'is a mark'}"
    problems.add_cells(
        cells.shown,
        (cells.codes(fit) < 0) & ~cells.missing,
        Cause(
            "mark-in-value",
            f"hold a mark, and no cell in which {marks} can rule them out",
            "change the mark in the schema",
        ),
    )
