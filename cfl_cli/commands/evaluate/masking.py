"""Turns columns that say what a value is into CFs, for experiments whose truth is known.

Every cell draws by itself: whether it stays exact, whether it is left empty, and otherwise the
values that it rules out, by the CF's mechanism. A draw depends on the seed, the name of the CF and
the number of the row alone. So the same cells rule out the same values whatever the shares of exact
and empty cells, and a larger share adds to the cells of a smaller one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.commands.evaluate import job
from cfl_cli.commands.evaluate.job import Truth
from cfl_cli.core import draws
from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.exclusions import Mechanism, distinct
from cfl_cli.core.messages import option, quote
from cfl_cli.core.settings import COUNT, SHARE, read_by
from cfl_cli.errors import Problem, UsageError
from cfl_cli.run.arguments import AnySchema
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables import frames

CHANCES = 1 << 22  # random numbers drawn at once


@dataclass(frozen=True)
class Masked:
    """The table with exclusions in its CFs."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Recipe:
    """How many exclusions a cell gets, and the shares of cells that get none."""

    exclusions: int = 1
    exact_share: float = 0.0
    empty_share: float = 0.0

    def __post_init__(self) -> None:
        kinds = {"exclusions": COUNT, "exact_share": SHARE, "empty_share": SHARE}
        for name, value in read_by(kinds, vars(self)).items():
            object.__setattr__(self, name, value)  # frozen, but for this
        if self.exact_share + self.empty_share > 1:
            raise UsageError(
                Problem(
                    "option-conflict",
                    "{option} and {option2}: expected a sum of at most 1, found {fact:g}",
                    option=option("exact_share"),
                    option2=option("empty_share"),
                    fact=self.exact_share + self.empty_share,
                )
            )

    def misfits(self, known: Truth, cf: Complementary) -> Iterator[str]:
        column, size = f"column {quote(known.cells.name)}", len(known.values)
        asked = f"{option('exclusions', self.exclusions)}: {column}"
        if self.exact_share > 0 and cf.exact is None:
            yield (
                f"{option('exact_share')}: {column} has no mark for exact cells: add `exact` in "
                'the schema, such as exact: "="'
            )
        if self.exclusions > 1 and cf.separator is None:
            yield (
                f"{asked} has no sign between exclusions: add `separator` in the schema, "
                'such as separator: ";"'
            )
        if cf.mechanism == "fit":
            yield (
                f"{column}: no cell can be drawn from `mechanism: fit`: give its weights in the "
                "schema, or leave `mechanism` out"
            )
        if self.exclusions >= size:
            yield f"{asked} has {size} values, of which a cell rules out at most {size - 1}"
            return
        able = mechanism(cf, size).possible[:, self.exclusions]
        for place in np.unique(known.places[known.places >= 0]):
            if not able[place]:
                yield (
                    f"{asked}: its `mechanism` allows fewer for the value "
                    f"{quote(known.values[place])}"
                )


def mask(
    frame: Any,
    schema: AnySchema,
    *,
    exclusions: int = 1,
    exact_share: float = 0.0,
    empty_share: float = 0.0,
    seed: int | None = None,
    name: str = "table",
) -> Masked:
    """Turn the true values in the CFs of a table into exclusions.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A table with true values; a missing cell stays as it is.
    schema : Schema, dict, str or path
        As in `impute`.
    exclusions : int, default 1
        Values that a cell rules out.
    exact_share, empty_share : float, default 0
        About which share of the cells becomes exact, or empty.
    seed : int, optional
        Wins over the schema's.
    name : str, default "table"
        What errors call the table.

    Returns
    -------
    Masked
        The table, `frame`, and `warnings`.

    Raises
    ------
    UsageError
        A CF has too few values for so many exclusions.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> truth = table.with_columns(job=pl.Series(["student"] * 20 + ["retired"] * 20))
    >>> cfl_cli.mask(truth, schema, seed=1).frame["job"].head(3).to_list()
    ['clerk', 'retired', 'clerk']
    """
    recipe, schema = Recipe(exclusions, exact_share, empty_share), Schema.of(schema)
    chosen = schema.settings.override(seed=seed)
    table = frames.as_polars(frame, schema.complementary, name=name)
    truths, warnings = job.read(table, schema, name=name)
    cfs = schema.complementary
    problems = [flaw for one in truths for flaw in recipe.misfits(one, cfs[one.cells.name])]
    if problems:
        raise UsageError(*problems)
    empty = next(iter(schema.missing), "") or None
    columns = [
        _masked(one, cfs[one.cells.name], recipe, seed=chosen.seed, empty=empty) for one in truths
    ]
    return Masked(frames.replace(frame, columns), tuple(warnings))


def mechanism(cf: Complementary, size: int) -> Mechanism:
    return Mechanism.of(size, None if cf.mechanism == "fit" else cf.mechanism)


def draw(known: Ints, by: Mechanism, exclusions: int, *, cf: str, seed: int) -> Iterator[Mask]:
    """Yield the candidates of the cells that draw exclusions, a stretch of rows at a time.

    `known` holds the place of every row's value in the domain; those of −1 draw nothing.
    """
    stream = draws.stream_of(cf)
    step = max(CHANCES // by.size, 1)
    for start in range(0, len(known), step):
        rows = start + np.flatnonzero(known[start : start + step] >= 0)
        chances = np.column_stack(
            [draws.chances(rows, stream + 1 + place, seed) for place in range(by.size)]
        )
        yield by.draw(known[rows], np.full(len(rows), exclusions), chances)


def _masked(
    known: Truth, cf: Complementary, recipe: Recipe, *, seed: int, empty: str | None
) -> pl.Series:
    name, raw = known.cells.name, known.cells.raw
    fate = draws.chances(np.arange(len(raw)), draws.stream_of(name), seed)
    # Exact cells are taken from below and empty ones from above: neither share moves the other's.
    left = (fate < recipe.exact_share) | (fate >= 1 - recipe.empty_share)
    exact = (known.places >= 0) & (fate < recipe.exact_share)
    drawing = np.where(left, -1, known.places)
    cells = np.full(len(raw), empty, dtype=object)
    cells[exact] = [f"{cf.exact}{known.values[place]}" for place in known.places[exact]]
    by = mechanism(cf, len(known.values))
    lists = [
        text
        for candidates in draw(drawing, by, recipe.exclusions, cf=name, seed=seed)
        for text in _texts(candidates, known.values, cf.separator or "")
    ]
    cells[drawing >= 0] = lists
    texts = pl.Series(name, cells.tolist(), dtype=pl.String)
    kept = raw if raw.dtype == pl.String else pl.Series([None], dtype=pl.String)
    return texts.zip_with(pl.Series(known.places >= 0), kept)


def _texts(candidates: Mask, values: tuple[str, ...], separator: str) -> list[str]:
    first, places = distinct(candidates)
    written = [
        separator.join(value for value, left in zip(values, row, strict=True) if not left)
        for row in candidates[first]
    ]
    return [written[place] for place in places]
