"""The cells of a finished run that are most likely wrong, and how many of them are expected to be.

With p_i the probability that the i-th cell of the list rules out the true value, Σ_{i ≤ L} p_i of
the first L are expected to be wrong. It is a guess; at most, as many as p_i would make it if as
many cells of each CF were wrong as can be, and what chance adds to them:

    Σ p_i + 1.64 · (Σ p_i (1 − p_i))^½

If the share of wrong cells is known, the sum of p_i given that share is no guess.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.shown import Shown
from cfl_cli.core.wording import option
from cfl_cli.errors import UsageError
from cfl_cli.jobs.diagnostics import DOUBTFUL_CELL, SUPPOSED_WRONG, SUSPECT_CELL
from cfl_cli.trust.report import Report
from cfl_cli.trust.suspects import SUPPOSED

CHANCE = 1.645  # standard deviations that are exceeded once in twenty
LENGTHS = (10, 20, 50, 100, 200, 500, 1000)  # of a list, for which the errors are told
FROM_FILE = (
    *("rank", "row", "cf", "value", "candidates_mass", "times_as_likely"),
    *("probability_wrong", "probability_wrong_most", *SUPPOSED_WRONG),
)


@dataclass(frozen=True)
class Errors:
    """How many of the first cells of a list are expected to be wrong."""

    length: int
    expected: float
    at_most: int
    supposed: dict[float, float | None]  # by the share of cells that are wrong; None: not known


@dataclass(frozen=True, eq=False, repr=False)
class SuspectCells(Shown):
    """Cells that are most likely wrong, the most likely first."""

    # As in `diagnostics`, and of all cells up to each one how many are expected to be wrong,
    # `errors_expected`, and at most, `errors_most`; null: not known. Such cells come last.
    cells: pl.DataFrame
    rows: int  # of the table
    cfs: tuple[str, ...]  # whose cells are ranked
    recorded: bool = True  # are there probabilities? an older cfl recorded none

    def __repr__(self) -> str:
        """Return what it holds, in a line."""
        return f"SuspectCells({count(self.rows, 'row')}, {count(self.cells.height, 'cell')})"

    @property
    def known(self) -> int:
        """Return of how many cells it is known how likely they are wrong."""
        return int(self.cells["errors_expected"].count())

    @property
    def unknown_cfs(self) -> tuple[str, ...]:
        """Return the CFs with listed cells of which that is not known, exact ones aside."""
        listed = self.cells.filter(pl.col("times_as_likely").is_not_null())
        found = {*listed.filter(pl.col("errors_expected").is_null())["cf"]}
        return tuple(cf for cf in self.cfs if cf in found)

    def errors(self, length: int) -> Errors | None:
        """Return how many of the first cells are wrong, of those of which it is known; or None."""
        length = min(length, self.known)
        if length <= 0:
            return None
        first = self.cells.head(length)
        supposed = {
            share: None if first[name].null_count() else float(first[name].sum())
            for share, name in zip(SUPPOSED, SUPPOSED_WRONG, strict=True)
        }
        last = first.row(-1, named=True)
        return Errors(length, last["errors_expected"], last["errors_most"], supposed)

    @property
    def by_length(self) -> list[Errors]:
        """Return the same for lists of several lengths, the whole one last."""
        lengths = [*(length for length in LENGTHS if length < self.known), self.known]
        return [errors for errors in map(self.errors, lengths) if errors]

    def to_json(self, top: int | None = None) -> str:
        """Return everything as JSON text, one object; of the cells the first ones, all if None."""
        facts = {
            "version": 1,
            "cfl_version": __version__,
            "rows": self.rows,
            "listed": self.cells.height,
            "errors": [asdict(errors) for errors in self.by_length],
            "cells": (self.cells if top is None else self.cells.head(top)).to_dicts(),
        }
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


def suspects(report: Report, diagnostics: pl.DataFrame, *, cfs: Sequence[str] = ()) -> SuspectCells:
    """Return the cells that are most likely wrong of some CFs, all if none is named."""
    names = [column.name for column in report.columns]
    for cf in cfs:
        if cf not in names:
            raise UsageError(
                f"{option('cf', cf, python='cfs', quoted=True)}: no CF of this result"
                f"{did_you_mean(cf, names)}: it has {', '.join(map(quote, names))}"
            )
    wanted = tuple(name for name in names if not cfs or name in cfs)
    ranked = diagnostics.filter(
        pl.col("why").is_in([SUSPECT_CELL, DOUBTFUL_CELL]) & pl.col("cf").is_in(wanted)
    )
    cells = ranked.select(FROM_FILE).sort("rank", maintain_order=True)
    most = _most(cells["probability_wrong_most"].fill_null(0).to_numpy())
    known = pl.col("probability_wrong").is_not_null()
    return SuspectCells(
        cells.with_columns(
            errors_expected=pl.when(known).then(pl.col("probability_wrong").cum_sum()),
            errors_most=pl.when(known).then(pl.Series(most, dtype=pl.Int64)),
        ),
        report.rows,
        wanted,
        _recorded(ranked, report),
    )


def _recorded(ranked: pl.DataFrame, report: Report) -> bool:
    """Return whether probabilities were recorded, if some could be known."""
    limited = [column.name for column in report.columns if column.wrong_cells_most is not None]
    could = ranked.filter(pl.col("cf").is_in(limited) & pl.col("times_as_likely").is_not_null())
    return could.height == 0 or could["probability_wrong"].count() > 0


def _most(chances: Floats) -> list[int]:
    """Return how many of the first cells are wrong at most, for each length of the list."""
    reach = chances.cumsum() + CHANCE * np.sqrt((chances * (1 - chances)).cumsum())
    lengths = np.arange(1, len(chances) + 1)
    return [int(most) for most in np.minimum(np.ceil(reach - 1e-9), lengths)]
