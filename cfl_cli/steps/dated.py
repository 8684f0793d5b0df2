"""What is fitted of an OF of dates, and the features that cells become by it, also later ones.

    (day − low) / (high − low)      and for each cycle a point on a circle of diameter 1
    robust                          between fences, as numbers: see `ordinary`

A missing cell counts as the median, and as the middle of each circle, as far from any place as from
the opposite one. Days later than the fitted ones are usual; only earlier ones are counted.
"""

from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.schema.columns import Scale
from cfl_cli.schema.model import Ordinary
from cfl_cli.steps.cells import Cells, kept_rows
from cfl_cli.steps.fences import fences
from cfl_cli.steps.findings import Problems
from cfl_cli.steps.unusual import FARTHEST, Counts, chance_outside
from cfl_cli.texts.dates import FIRST_DAY, LAST_DAY, cycle_features


@dataclass(frozen=True)
class FittedDates:
    """An OF of dates; its numbers are days since 1970."""

    rows: int  # whose cell is not missing
    low: float
    high: float
    median: float
    cycle: tuple[str, ...] | None = None  # as the schema has it
    lower: float | None = None  # the fences between which it is scaled, if not low and high
    upper: float | None = None

    @property
    def width(self) -> int:
        """Return how many features it becomes."""
        return 1 + 2 * len(self.cycle or ())

    @property
    def varies(self) -> bool:
        """Return whether the fitted rows differ in it."""
        return self.low < self.high

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, Counts] | None:
        """Return the cells' features, n × width, and what is unusual, or None and note why not.

        A column that was constant is 0 in every row: nothing was learned of how far another day is.
        """
        if not are_dates(cells, problems):
            return None
        days = np.where(cells.missing, self.median, cells.days)
        counts = Counts(len(days), int(cells.missing.sum()), int((days < self.low).sum()))
        if not self.varies:
            return np.zeros((len(days), self.width)), counts
        if self.lower is not None and self.upper is not None:
            bounded = np.clip(days, self.lower, self.upper)
            scaled = (bounded - self.lower) / (self.upper - self.lower)
        else:
            scaled = (days - self.low) / (self.high - self.low)
        points = [
            np.where(cells.missing[:, None], 0.5, cycle_features(days, cycle))
            for cycle in self.cycle or ()
        ]
        return np.hstack([np.clip(scaled, -FARTHEST, FARTHEST)[:, None], *points]), counts

    def chance(self, counts: Counts) -> float:
        """Return how probably, at most, rows like the fitted ones are as unusual as this."""
        known = counts.rows - counts.missing
        return chance_outside(counts.out_of_range, new=known, fitted=self.rows)

    @classmethod
    def from_facts(cls, facts: State, ordinary: Ordinary, scale: Scale) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been.

        Models of earlier versions have no fences, whatever the scale.
        """
        low, median, high = (facts.fact(name, float) for name in ("low", "median", "high"))
        if not FIRST_DAY <= low <= median <= high < LAST_DAY + 1:
            raise StateError("its days are not a median within a range of the calendar")
        rows, cycle = kept_rows(facts), ordinary.cycle
        if scale == "minmax" or not {"lower", "upper"} & facts.facts.keys():
            return cls(rows, low, high, median, cycle)
        lower, upper = (facts.fact(name, float) for name in ("lower", "upper"))
        if not low <= lower <= upper <= high or (low < high) != (lower < upper):
            raise StateError("its fences are not within its range")
        return cls(rows, low, high, median, cycle, lower, upper)


def are_dates(cells: Cells, problems: Problems) -> bool:
    """Return whether all cells that are not missing are dates; note those that are not."""
    wrong = ~cells.missing & np.isnan(cells.days)
    if wrong.any():
        from cfl_cli.steps.number_causes import in_dates  # noqa: PLC0415 — most tables are right

        problems.add_cells(
            cells.shown, wrong, lambda found: in_dates(found, cells, problems.schema)
        )
        return False
    return True


def fit_dates(
    cells: Cells, ordinary: Ordinary, problems: Problems, *, robust: bool
) -> FittedDates | None:
    """Return what there is to fit of a column, or None and note why nothing can be."""
    if not are_dates(cells, problems):
        return None
    known = cells.days[~cells.missing]
    low, high = float(known.min()), float(known.max())
    bounds = fences(known) if robust else (None, None)
    return FittedDates(len(known), low, high, float(np.median(known)), ordinary.cycle, *bounds)
