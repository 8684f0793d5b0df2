"""Which rows of a finished run to look at, and why, as a small data frame.

    suspect-cell      the candidates get under 1 % of the estimate: what the report counts
    doubtful-cell     not so few, but among the cells that most likely rule out the true value
    impossible-value  the cell rules out a value that is ruled out too often
    fallback          the estimate rules out every candidate, and all of them count alike

Suspect and doubtful cells are ranked together, those of which it is not known how likely they are
wrong after all others; a cell may be listed for several reasons.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.messages import command, count
from cfl_cli.encode.encode import Encoded, names_of_classes
from cfl_cli.errors import DataError, Problem
from cfl_cli.methods.interface import Estimate
from cfl_cli.tables import frames
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.report import ColumnReport
from cfl_cli.trust.verdict import SUSPECT
from cfl_cli.trust.wrong_cells import SUPPOSED, Suspects

SUSPECT_CELL = "suspect-cell"
DOUBTFUL_CELL = "doubtful-cell"
IMPOSSIBLE_VALUE = "impossible-value"
FALLBACK = "fallback"
REASONS = {
    SUSPECT_CELL: "suspect cell",
    IMPOSSIBLE_VALUE: "impossible-value cell",
    FALLBACK: "fallback row",
}
SUPPOSED_WRONG = tuple(f"probability_wrong_if_{at:.0%}".replace("%", "_percent") for at in SUPPOSED)
KINDS = {
    "rank": pl.Int64,  # of suspect and doubtful cells, the most likely wrong first; null: of others
    "row": pl.Int64,  # from 1
    "cf": pl.String,
    "why": pl.String,
    # Ruled out by the cell: the one ruled out too often, or the one that the row's prior favors;
    # null: not known.
    "value": pl.String,
    "candidates_mass": pl.Float64,  # that the row's prior leaves, made without its cell if known
    "estimate_mass": pl.Float64,  # that the estimate of the finished run leaves
    "times_as_likely": pl.Float64,  # if the cell is wrong as if it is right; null: exact or empty
    "probability_wrong": pl.Float64,  # of the cell, a guess; null: not known
    "probability_wrong_most": pl.Float64,  # the same, if as many of the CF are wrong as can be
    **dict.fromkeys(SUPPOSED_WRONG, pl.Float64),  # the same, if such a share of them is
}
LATER = ("probability_wrong", "probability_wrong_most", *SUPPOSED_WRONG)  # than earlier versions


def diagnose(encoded: Encoded, estimate: Estimate, columns: Sequence[ColumnReport]) -> pl.DataFrame:
    """Return which cells to look at; `columns` are the reports of the CFs."""
    ranked, parts = [pl.DataFrame(schema=KINDS)], [pl.DataFrame(schema=KINDS)]
    for number, report in enumerate(columns):
        facts = ColumnFacts(encoded, estimate, number)
        found, left = facts.suspects(report.wrong_cells_most), estimate.mass[:, number]
        least = 0.0 if facts.block.mechanism.noisy else SUSPECT
        suspect, doubtful = np.flatnonzero(left < least), found.rows[left[found.rows] >= SUSPECT]
        for why, rows in ((SUSPECT_CELL, suspect), (DOUBTFUL_CELL, doubtful)):
            ranked.append(_frame(facts, found, rows, why))
        for place in report.impossible_values:
            rows = np.flatnonzero(~facts.candidates[:, place - 1])
            value = facts.block.values[place - 1]
            parts.append(_frame(facts, found, rows, IMPOSSIBLE_VALUE, value))
        rows = np.flatnonzero(estimate.fell_back[:, number])
        parts.append(_frame(facts, found, rows, FALLBACK))
    order = ["probability_wrong", "times_as_likely", "estimate_mass"]
    cells = pl.concat(ranked).sort(
        order, descending=[True, True, False], nulls_last=True, maintain_order=True
    )
    cells = cells.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))
    others = pl.concat(parts).sort(
        pl.col("why") == FALLBACK, maintain_order=True
    )  # impossible values of all CFs first
    return pl.concat([cells, others])


def read(frame: Any, *, name: str) -> pl.DataFrame:
    """Return what a file of diagnostics holds, or raise if it is another table."""
    table = frames.as_polars(frame, name=name)
    table = table.with_columns(pl.lit(None).alias(one) for one in LATER if one not in table.columns)
    try:
        texts = table.select(pl.col(KINDS).cast(pl.String).replace("", None))
        found = texts.cast(KINDS)  # type: ignore[arg-type]  # a mapping of any order
    except pl.exceptions.PolarsError:
        found = None
    whys = [*REASONS, DOUBTFUL_CELL]
    if found is None or found["row"].null_count() or not found["why"].is_in(whys).all():
        wrote = command("impute --diagnostics", python="impute")
        text = "{file}: {remedy} did not write this table: pass the file that it wrote"
        raise DataError(Problem("diagnostics-other-table", text, file=name, remedy=wrote))
    return found


def in_words(found: pl.DataFrame) -> str:
    counts = dict(found["why"].value_counts().iter_rows())
    least = counts.pop(DOUBTFUL_CELL, 0)
    parts = [count(counts[why], noun) for why, noun in REASONS.items() if why in counts]
    of = f"of {count(found['cf'].n_unique(), 'CF')}"
    if not parts and not least:
        return "no cells to review"
    if not parts:
        return f"{fit_least(least)} {of}, the least plausible first"
    said = f"{', '.join(parts)} {of}"
    return f"{said}; of the other cells, {fit_least(least)}" if least else said


def fit_least(cells: int) -> str:
    return f"the {cells:,} cells that fit least" if cells != 1 else "the cell that fits least"


def _frame(
    facts: ColumnFacts, found: Suspects, rows: Ints, why: str, value: str | None = None
) -> pl.DataFrame:
    if value is None:
        values = _favored(facts, rows)
    else:
        values = pl.Series([value], dtype=pl.String).new_from_index(0, len(rows))
    how = facts.block.mechanism
    exclusions = (~how.leaves(facts.candidates[rows])).sum(axis=1)
    exact = (exclusions == 0) | (exclusions == how.exact)
    return pl.DataFrame(
        {
            "rank": pl.Series([None], dtype=pl.Int64).new_from_index(0, len(rows)),
            "row": rows + 1,
            "cf": pl.Series([facts.block.name]).new_from_index(0, len(rows)),
            "why": pl.Series([why]).new_from_index(0, len(rows)),
            "value": values,
            "candidates_mass": found.mass_of_all[rows],
            "estimate_mass": facts.estimate.mass[rows, facts.number],
            "times_as_likely": pl.Series(found.times_of_all[rows]).set(pl.Series(exact), None),
            "probability_wrong": pl.Series(found.wrong_of_all[rows]).fill_nan(None),
            "probability_wrong_most": pl.Series(found.most_of_all[rows]).fill_nan(None),
            **{
                name: pl.Series(chances[rows]).fill_nan(None)
                for name, chances in zip(SUPPOSED_WRONG, found.supposed_of_all, strict=True)
            },
        },
        schema=KINDS,
    )


def _favored(facts: ColumnFacts, rows: Ints) -> pl.Series:
    """Return which value, ruled out by the cell, each row's prior favors; null: not known."""
    excluded, hidden = ~facts.candidates[rows], facts.hidden_cells
    known, prior = np.zeros(len(rows), dtype=bool), np.zeros(excluded.shape)
    if hidden is not None and facts.estimate.hidden is not None:
        place = np.full(len(facts.candidates), -1)
        place[facts.estimate.hidden.rows] = np.arange(len(hidden.prior))
        known = place[rows] >= 0
        prior = np.where(known[:, None], hidden.prior[place[rows]], 0.0)
    favored = np.where(excluded, prior, -1.0).argmax(axis=1)
    known |= excluded.sum(axis=1) == 1
    block = facts.block
    names = pl.Series(block.values, dtype=pl.String)
    if block.alike is not None:
        names = pl.Series(names_of_classes(block), dtype=pl.String).gather(block.alike)
    values = names.gather(favored)
    return values.set(pl.Series(~known), None)
