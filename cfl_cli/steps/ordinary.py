"""What is fitted of an OF's column, and the features that cells become by it, also later ones.

    numeric   (x − low) / (high − low); a missing cell counts as the median
    coded     the place among two values; one-hot / sqrt(K) for K ≥ 3; a missing cell counts as the
              commonest value, and so does one that was never seen

A later number may lie outside low to high, and its feature outside 0 to 1, by FARTHEST at most.
"""

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.state import State, StateError
from cfl_cli.schema.model import Ordinary, Schema
from cfl_cli.steps.cells import CATEGORIES, Cells, Problems, correct_or, kept_values
from cfl_cli.steps.unusual import Counts, chance_outside, chance_unseen

FARTHEST = 1e6  # in widths of the fitted range: squared distances must be finite
EXPONENTS = (-1073, 1024)  # that frexp gives of a finite number
MOST_ROWS = 2**53


@dataclass(frozen=True)
class FittedNumbers:
    """A numeric OF; its numbers are divided by 2^exponent, so that sums of huge ones are finite."""

    rows: int  # whose cell is not missing
    exponent: int
    low: float
    high: float
    median: float

    width = 1  # how many features it becomes

    @property
    def varies(self) -> bool:
        """Return whether the fitted rows differ in it."""
        return self.low < self.high

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, Counts] | None:
        """Return the cells' features, n × 1, and what is unusual, or None and note why not.

        A column that was constant is 0 in every row: nothing was learned of how far another number
        is from it, so one is only counted.
        """
        if not are_numbers(cells, problems):
            return None
        with np.errstate(over="ignore"):  # of what is bounded in the end
            numbers = np.ldexp(cells.numbers, -self.exponent)
            numbers = np.where(cells.missing, self.median, numbers)
            outside = (numbers < self.low) | (numbers > self.high)
            features = np.zeros(len(numbers))
            if self.varies:
                features = (numbers - self.low) / (self.high - self.low)
        counts = Counts(len(numbers), int(cells.missing.sum()), int(outside.sum()))
        return np.clip(features, -FARTHEST, FARTHEST)[:, None], counts

    def chance(self, counts: Counts) -> float:
        """Return how probably rows like the fitted ones are as unusual as this, or more so."""
        known = counts.rows - counts.missing
        return chance_outside(counts.out_of_range, new=known, fitted=self.rows)

    @classmethod
    def from_facts(cls, facts: State) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been."""
        low, median, high = (facts.fact(name, float) for name in ("low", "median", "high"))
        rows, exponent = _rows(facts), facts.fact("exponent", int)
        largest = max(abs(low), abs(high))
        scaled = 0.5 <= largest < 1 and EXPONENTS[0] <= exponent <= EXPONENTS[1]
        if not low <= median <= high or not (scaled or (largest == 0 and exponent == 0)):
            raise StateError("its numbers are not a median within a range")
        return cls(rows, exponent, low, high, median)


@dataclass(frozen=True)
class FittedCategories:
    """A binary or categorical OF."""

    values: tuple[str, ...]
    rows: int  # whose cell is not missing
    commonest: int  # its place
    seen: int  # how many of the values were
    once: int  # how many were seen in one row only
    twice: int

    @property
    def width(self) -> int:
        """Return how many features it becomes."""
        return len(self.values) if len(self.values) > 2 else 1

    @property
    def varies(self) -> bool:
        """Return whether the fitted rows differ in it."""
        return self.seen > 1

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, Counts]:  # noqa: ARG002 — as numbers have it
        """Return the cells' features, n × width, and what is unusual."""
        codes = cells.codes(self.values)
        unseen = int(((codes < 0) & ~cells.missing).sum())
        codes = np.where(codes < 0, self.commonest, codes)
        counts = Counts(len(codes), int(cells.missing.sum()), new_categories=unseen)
        if self.width == 1:
            return codes.astype(float)[:, None], counts
        return (codes[:, None] == np.arange(self.width)) / np.sqrt(self.width), counts

    def chance(self, counts: Counts) -> float:
        """Return how probably rows like the fitted ones are as unusual as this, or more so."""
        return chance_unseen(
            counts.new_categories,
            new=counts.rows - counts.missing,
            fitted=self.rows,
            categories=self.seen,
            once=self.once,
            twice=self.twice,
        )

    @classmethod
    def from_facts(cls, facts: State, ordinary: Ordinary, schema: Schema) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been."""
        values = kept_values(facts, ordinary.values, schema)
        most = 2 if ordinary.type == "binary" else CATEGORIES
        names = ("commonest", "seen", "once", "twice")
        commonest, seen, once, twice = (facts.fact(name, int) for name in names)
        rows, more = _rows(facts), seen - once - twice
        least = once + 2 * twice + 3 * more
        possible = (
            min(commonest, once, twice, more) >= 0
            and max(commonest, 0) < len(values) <= most
            and 1 <= seen <= len(values)
            and (seen == len(values) or ordinary.values is not None)
            and (least <= rows if more else least == rows)
        )
        if not possible:
            raise StateError("no column can have such counts of its values")
        return cls(values, rows, commonest, seen, once, twice)


def _rows(facts: State) -> int:
    """Return how many cells a column was fitted to."""
    rows = facts.fact("rows", int)
    if not 1 <= rows <= MOST_ROWS:
        raise StateError("it was fitted to no cells")
    return rows


FittedOrdinary: TypeAlias = FittedNumbers | FittedCategories


def fit(cells: Cells, ordinary: Ordinary, problems: Problems) -> FittedOrdinary | None:
    """Return what there is to fit of an OF's column, or None and note why nothing can be."""
    if cells.missing.all():
        problems.add(f"column {quote(cells.name)}: every cell is missing: mark it `role: ignore`")
        return None
    return (
        _fit_numbers(cells, problems)
        if ordinary.type == "numeric"
        else _fit_categories(cells, ordinary, problems)
    )


def check_missing(cells: Cells, schema: Schema, problems: Problems) -> None:
    """Note missing cells of a column that may not have any."""
    if not schema.fills_missing(cells.name):
        problems.add_cells(
            cells, cells.missing, lambda _: "is missing in a column that has `on_missing: error`"
        )


def are_numbers(cells: Cells, problems: Problems) -> bool:
    """Return whether all cells that are not missing are finite numbers; note those that are not."""
    known = ~cells.missing
    words = known & np.isnan(cells.numbers)
    endless = known & np.isinf(cells.numbers)
    way_out = correct_or("list it under `missing`", model=problems.model)
    retype = (
        way_out if problems.model else "correct it, list it under `missing`, or change the type"
    )
    problems.add_cells(cells, words, lambda _: f"is not a number: {retype}")
    problems.add_cells(cells, endless, lambda _: f"is not finite: {way_out}")
    return not (words | endless).any()


def _fit_numbers(cells: Cells, problems: Problems) -> FittedNumbers | None:
    if not are_numbers(cells, problems):
        return None
    known = cells.numbers[~cells.missing]
    exponent = int(np.frexp(np.abs(known).max())[1])
    known = np.ldexp(known, -exponent)
    low, high, median = float(known.min()), float(known.max()), float(np.median(known))
    return FittedNumbers(len(known), exponent, low, high, median)


def _fit_categories(
    cells: Cells, ordinary: Ordinary, problems: Problems
) -> FittedCategories | None:
    values = ordinary.values or tuple(cells.seen)
    if ordinary.type == "binary" and len(values) > 2:
        problems.add(
            f"column {quote(cells.name)}: {len(values):,} different values, but a binary column "
            "has two: make it categorical, or list other tokens under `missing`"
        )
        return None
    if len(values) > CATEGORIES:
        problems.add(
            f"column {quote(cells.name)}: {len(values):,} different values, but a categorical "
            f"column has at most {CATEGORIES:,}: mark it `role: ignore`, or group its values"
        )
        return None
    codes = cells.codes(values)
    outside = ~cells.missing & (codes < 0)
    problems.add_cells(
        cells,
        outside,
        lambda text: (
            f"is not among the column's `values`{did_you_mean(text, values)}: correct it "
            "or add it there"
        ),
    )
    if outside.any():
        return None
    counts = np.bincount(codes[~cells.missing], minlength=len(values))
    return FittedCategories(
        values,
        rows=int(counts.sum()),
        commonest=int(counts.argmax()),
        seen=int((counts > 0).sum()),
        once=int((counts == 1).sum()),
        twice=int((counts == 2).sum()),
    )
