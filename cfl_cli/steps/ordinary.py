"""What is fitted of an OF's column, and the features that cells become by it, also later ones.

    numeric   (x − low) / (high − low); a missing cell counts as the median
    robust    (x − lower) / (upper − lower), at least 0 and at most 1; see `fences`
    coded     the place among two values; one-hot / sqrt(K) for K ≥ 3; a missing cell counts as the
              commonest value, and so does one that was never seen
    ordered   place / (K − 1); a missing cell counts as the median value
    date      see `dated`

A later number may lie outside low to high, and its feature outside 0 to 1, by FARTHEST at most;
that of a robust column may not.
"""

from typing import Any, Self, TypeAlias

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.schema.columns import Scale
from cfl_cli.schema.model import Ordinary, Schema
from cfl_cli.steps.cells import CATEGORIES, Cells, kept_rows, kept_values
from cfl_cli.steps.dated import FittedDates, fit_dates
from cfl_cli.steps.fences import fences
from cfl_cli.steps.findings import Problems, ignoring
from cfl_cli.steps.unusual import FARTHEST, Counts, chance_outside, chance_unseen
from cfl_cli.texts.booleans import is_pair, truth

EXPONENTS = (-1073, 1024)  # that frexp gives of a finite number

IMPOSSIBLE = "no column can have such counts of its values"


@dataclass(frozen=True)
class FittedNumbers:
    """A numeric OF; its numbers are divided by 2^exponent, so that sums of huge ones are finite."""

    rows: int  # whose cell is not missing
    exponent: int
    low: float
    high: float
    median: float
    lower: float | None = None  # the fences between which it is scaled, if not low and high
    upper: float | None = None

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
            if self.varies and self.lower is not None and self.upper is not None:
                bounded = np.clip(numbers, self.lower, self.upper)
                features = (bounded - self.lower) / (self.upper - self.lower)
            elif self.varies:
                features = (numbers - self.low) / (self.high - self.low)
        counts = Counts(len(numbers), int(cells.missing.sum()), int(outside.sum()))
        return np.clip(features, -FARTHEST, FARTHEST)[:, None], counts

    def chance(self, counts: Counts) -> float:
        """Return how probably rows like the fitted ones are as unusual as this, or more so."""
        known = counts.rows - counts.missing
        return chance_outside(counts.out_of_range, new=known, fitted=self.rows)

    @classmethod
    def from_facts(cls, facts: State, scale: Scale) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been."""
        low, median, high = (facts.fact(name, float) for name in ("low", "median", "high"))
        rows, exponent = kept_rows(facts), facts.fact("exponent", int)
        largest = max(abs(low), abs(high))
        scaled = 0.5 <= largest < 1 and EXPONENTS[0] <= exponent <= EXPONENTS[1]
        if not low <= median <= high or not (scaled or (largest == 0 and exponent == 0)):
            raise StateError("its numbers are not a median within a range")
        if scale == "minmax" or (scale == "auto" and "lower" not in facts.facts):
            return cls(rows, exponent, low, high, median)
        lower, upper = (facts.fact(name, float) for name in ("lower", "upper"))
        if not low <= lower <= upper <= high or (low < high) != (lower < upper):
            raise StateError("its fences are not within its range")
        return cls(rows, exponent, low, high, median, lower, upper)


class OfValues:
    """What OFs have in common whose cells hold one of several values."""

    values: tuple[str, ...]
    rows: int
    seen: int
    once: int
    twice: int

    @property
    def varies(self) -> bool:
        """Return whether the fitted rows differ in it."""
        return self.seen > 1

    def places(self, cells: Cells, default: int) -> tuple[Ints, Counts]:
        """Return the cells' places among the values, and what is unusual."""
        codes = cells.codes(self.values)
        unseen = int(((codes < 0) & ~cells.missing).sum())
        counts = Counts(len(codes), int(cells.missing.sum()), new_categories=unseen)
        return np.where(codes < 0, default, codes), counts

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


@dataclass(frozen=True)
class FittedCategories(OfValues):
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

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, Counts]:  # noqa: ARG002 — as numbers have it
        """Return the cells' features, n × width, and what is unusual."""
        codes, counts = self.places(cells, self.commonest)
        if self.width == 1:
            return codes.astype(float)[:, None], counts
        return (codes[:, None] == np.arange(self.width)) / np.sqrt(self.width), counts

    @classmethod
    def from_facts(cls, facts: State, ordinary: Ordinary, schema: Schema) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been."""
        kept = _kept_counts(facts, ordinary, schema)
        return cls(**kept, commonest=_kept_place(facts, "commonest", kept["values"]))


@dataclass(frozen=True)
class FittedOrdered(OfValues):
    """An ordered OF."""

    values: tuple[str, ...]
    rows: int  # whose cell is not missing
    median: int  # the place of the median value, the lower one of two
    seen: int  # how many of the values were
    once: int  # how many were seen in one row only
    twice: int

    width = 1  # how many features it becomes

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, Counts]:  # noqa: ARG002 — as numbers have it
        """Return the cells' features, n × 1, and what is unusual."""
        codes, counts = self.places(cells, self.median)
        return codes[:, None] / (len(self.values) - 1), counts

    @classmethod
    def from_facts(cls, facts: State, ordinary: Ordinary, schema: Schema) -> Self:
        """Return what was fitted, or raise StateError if nothing can have been."""
        kept = _kept_counts(facts, ordinary, schema)
        return cls(**kept, median=_kept_place(facts, "median", kept["values"]))


def _kept_counts(facts: State, ordinary: Ordinary, schema: Schema) -> dict[str, Any]:
    """Return what was kept of how often values were seen, or raise StateError."""
    values = kept_values(facts, ordinary, schema)
    most = 2 if ordinary.type == "binary" else CATEGORIES
    seen, once, twice = (facts.fact(name, int) for name in ("seen", "once", "twice"))
    rows, more = kept_rows(facts), seen - once - twice
    least = once + 2 * twice + 3 * more
    possible = (
        min(once, twice, more) >= 0
        and 1 <= seen <= len(values) <= most
        and (seen == len(values) or ordinary.values is not None)
        and (least <= rows if more else least == rows)
    )
    if not possible:
        raise StateError(IMPOSSIBLE)
    return {"values": values, "rows": rows, "seen": seen, "once": once, "twice": twice}


def _kept_place(facts: State, name: str, values: tuple[str, ...]) -> int:
    """Return the place of a value that was kept, or raise StateError."""
    place = facts.fact(name, int)
    if not 0 <= place < len(values):
        raise StateError(IMPOSSIBLE)
    return place


FittedOrdinary: TypeAlias = FittedNumbers | FittedCategories | FittedOrdered | FittedDates


def fit(cells: Cells, ordinary: Ordinary, problems: Problems) -> FittedOrdinary | None:
    """Return what there is to fit of an OF's column, or None and note why nothing can be."""
    if cells.missing.all():
        problems.add(
            "all-missing",
            "every cell is missing",
            "mark it `role: ignore`",
            column=cells.name,
            patch=ignoring(cells.name, problems.schema),
        )
        return None
    robust = problems.schema.scale_of(cells.name) == "robust"
    if ordinary.type == "numeric":
        return _fit_numbers(cells, problems, robust=robust)
    if ordinary.type == "date":
        return fit_dates(cells, ordinary, problems, robust=robust)
    return _fit_values(cells, ordinary, problems)


def check_missing(cells: Cells, schema: Schema, problems: Problems) -> None:
    """Note missing cells of a column that may not have any."""
    if not schema.fills_missing(cells.name):
        from cfl_cli.steps.causes import required  # noqa: PLC0415 — most tables are right

        problems.add_cells(cells.shown, cells.missing, required(cells.name))


def are_numbers(cells: Cells, problems: Problems) -> bool:
    """Return whether all cells that are not missing are finite numbers; note those that are not."""
    known = ~cells.missing
    words = known & np.isnan(cells.numbers)
    endless = known & np.isinf(cells.numbers)
    wrong = words | endless
    if wrong.any():
        from cfl_cli.steps.number_causes import in_numbers  # noqa: PLC0415 — most tables are right

        problems.add_cells(
            cells.shown, wrong, lambda found: in_numbers(found, cells, problems.schema)
        )
        return False
    return True


def _fit_numbers(cells: Cells, problems: Problems, *, robust: bool) -> FittedNumbers | None:
    if not are_numbers(cells, problems):
        return None
    known = cells.numbers[~cells.missing]
    exponent = int(np.frexp(np.abs(known).max())[1])
    known = np.ldexp(known, -exponent)
    low, high, median = float(known.min()), float(known.max()), float(np.median(known))
    bounds = fences(known) if robust else (None, None)
    return FittedNumbers(len(known), exponent, low, high, median, *bounds)


def _fit_values(
    cells: Cells, ordinary: Ordinary, problems: Problems
) -> FittedCategories | FittedOrdered | None:
    values = ordinary.values or tuple(cells.named)
    if ordinary.type == "binary":
        values = _two_of(values)
    if ordinary.type == "binary" and len(values) > 2:
        from cfl_cli.steps.causes import third_values  # noqa: PLC0415 — most tables are right

        codes = cells.codes(values)
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        usual = np.argsort(-counts, kind="stable")[:2]
        third = (codes >= 0) & ~np.isin(codes, usual)
        problems.add_cells(
            cells.shown, third, lambda found: third_values(found, cells.name, problems.schema)
        )
        return None
    if len(values) > CATEGORIES:
        problems.add(
            "many-values",
            f"{len(values):,} different values, but a categorical column has at most "
            f"{CATEGORIES:,}",
            "mark it `role: ignore`, or group its values",
            column=cells.name,
            patch=ignoring(cells.name, problems.schema),
        )
        return None
    codes = cells.codes(values)
    outside = ~cells.missing & (codes < 0)
    if outside.any():
        from cfl_cli.steps.type_causes import in_ordinary  # noqa: PLC0415 — most tables are right

        problems.add_cells(
            cells.shown, outside, lambda found: in_ordinary(found, cells, values, problems.schema)
        )
        return None
    counts = np.bincount(codes[~cells.missing], minlength=len(values))
    rows, seen = int(counts.sum()), int((counts > 0).sum())
    once, twice = (int((counts == number).sum()) for number in (1, 2))
    if ordinary.type == "ordered":
        middle = int((2 * counts.cumsum() >= rows).argmax())
        return FittedOrdered(values, rows, middle, seen, once, twice)
    return FittedCategories(values, rows, int(counts.argmax()), seen, once, twice)


def _two_of(spellings: tuple[str, ...]) -> tuple[str, ...]:
    """Return one text for each of the two values that several spellings of a known pair mean."""
    if len(spellings) <= 2 or not is_pair(spellings):
        return spellings
    meant = {truth(text): text for text in reversed(spellings)}  # the first of each
    return tuple(sorted(meant.values()))
