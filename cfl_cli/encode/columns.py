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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, inf, lgamma
from typing import Self, TypeAlias

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.messages import count, quote
from cfl_cli.core.state import State, StateError
from cfl_cli.encode.cells import CATEGORIES, Cells, kept_rows, kept_values
from cfl_cli.encode.diagnose import in_dates, in_numbers, of_causes, third_values
from cfl_cli.encode.findings import Problems, ignoring
from cfl_cli.schema.model import Ordinary, Scale, Schema
from cfl_cli.texts.dates import FIRST_DAY, LAST_DAY, cycle_features
from cfl_cli.texts.matching import is_pair, truth

# Between which numbers a column is scaled where a few wild cells must not decide it.
#
#     low, high       the ends of the middle nine tenths of the cells
#     lower           the smallest cell from low − (high − low) on
#     upper           the largest cell up to high + (high − low)
#
# So a column without outliers is scaled as min-max does it, and no twentieth of the cells, however
# wild, can widen it to more than three times what the middle ones take up. Where nine tenths of the
# cells hold one number, the others' ends are taken, and that number with them.

_TAIL = 0.05  # of the cells, at each end, that have no say
_MARGIN = 1.0  # of the width between the ends, beyond each of them


def fences(numbers: Floats) -> tuple[float, float]:
    """Return the lower and the upper fence of the numbers of a column, all of them finite.

    They differ if numbers do. Numbers are at most 1 in size: differences of huge ones are not.
    """
    low, high = _ends(numbers)
    if low == high:
        others = numbers[numbers != low]
        if not len(others):
            return low, high
        ends = _ends(others)
        low, high = min(low, ends[0]), max(high, ends[1])
    margin = _MARGIN * (high - low)
    inside = numbers[(low - margin <= numbers) & (numbers <= high + margin)]
    return float(inside.min()), float(inside.max())


def _ends(numbers: Floats) -> tuple[float, float]:
    tail = min(max(1, int(_TAIL * len(numbers))), (len(numbers) - 1) // 2)
    places = tail, len(numbers) - 1 - tail
    low, high = np.partition(numbers, places)[[*places]]
    return float(low), float(high)


# What new rows hold that the fitted ones did not, and whether that is more than chance.
#
# If n fitted and m new cells are in random order by size, the cells before the first fitted one and
# after the last are two of the n + 1 gaps between the fitted ones. Any two gaps hold x new cells or
# more together exactly if, with these gaps first, at most one of the first x + 1 cells is fitted:
#
#     P(X ≥ x) = (C(m, x + 1) + n C(m, x)) / C(n + m, x + 1)        with the mean 2m / (n + 1)
#
# is how probably x new numbers or more lie outside the fitted range; equal numbers only lower it.
#
# How many cells hold a category never seen follows from those seen once, N₁, and twice, N₂ (Good and
# Turing): X has about the mean μ = m (N₁ + 1) / n, of which the fitted rows leave n/m a variance of
# N₁ + 1 + 2 N₂. With a negative binomial X of this mean and variance
#
#     P(X ≥ x) = I_q(x, r)        r = (N₁ + 1)² / (N₁ + 1 + 2 N₂), q = μ / (μ + r)
#
# and counts once for each category, as any of them might have been the one that was not seen. Without
# N₂ it is exact for one category: all of its x cells are new with a probability of (m / (n + m))ˣ.

LEVEL = 0.0002  # how often a batch of rows like the fitted ones may be flagged, over all OFs
_FARTHEST = 1e6  # of features, in widths of the fitted range: squared distances must be finite
LEAST_SHARE = 0.01  # of the rows: less is counted, but harms nobody
_MOSTLY = 0.5  # of the cells of a batch beyond the largest fitted one: a running number or date
_RUNNING = (
    "above the largest one fitted, as in a running number or date; the model learned nothing "
    "there: mark it `role: ignore` and fit again"
)
_IN_ORDER = 0.99  # of the steps from row to row
_STEPS = 20  # different dates, or cells, at least …
_COUNTED = 100  # … and different numbers


@dataclass(frozen=True)
class CellCounts:
    """How many cells of an OF are not as those it was fitted to."""

    rows: int = 0
    missing: int = 0  # filled in
    out_of_range: int = 0  # numbers, used as they are
    new_categories: int = 0  # cells of such, filled in like missing ones
    beyond: int = 0  # numbers or dates above the largest one fitted
    bounds: int = 0  # such as <5, read as their number

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rows + other.rows,
            self.missing + other.missing,
            self.out_of_range + other.out_of_range,
            self.new_categories + other.new_categories,
            self.beyond + other.beyond,
            self.bounds + other.bounds,
        )

    @property
    def mostly_beyond(self) -> bool:
        return self.beyond >= _STEPS and self.beyond > _MOSTLY * (self.rows - self.missing)

    @property
    def share(self) -> float:
        return (self.out_of_range + self.new_categories) / max(self.rows, 1)


@dataclass(frozen=True)
class Unusual:
    """The counts of some rows, by OF; those of several blocks of rows can be added."""

    columns: Mapping[str, CellCounts] = field(default_factory=dict)

    def __add__(self, other: Self) -> Self:
        one, two, nothing = self.columns, other.columns, CellCounts()
        names = dict.fromkeys([*one, *two])
        return type(self)({name: one.get(name, nothing) + two.get(name, nothing) for name in names})

    @property
    def said(self) -> tuple[tuple[str, str, int, str], ...]:
        kinds = (
            ("filled-in", "missing", "missing cell", "filled in"),
            ("out-of-range", "out_of_range", "number", "outside the fitted range"),
            (
                "new-categories",
                "new_categories",
                "cell",
                "with a category not in the fitted rows, filled in",
            ),
            ("beyond-fitted", "beyond", "cell", _RUNNING),
            ("bounds", "bounds", "bound", "such as <5, read as the number"),
        )
        return tuple(
            (key, name, number, f"{count(number, noun)} {what}")
            for name, counts in self.columns.items()
            for key, kind, noun, what in kinds
            if (number := getattr(counts, kind))
            and (kind != "beyond" or counts.mostly_beyond)
            and (kind != "out_of_range" or not counts.mostly_beyond)
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(f"column {quote(name)}: {words}" for _, name, _, words in self.said)


def is_running(numbers: Floats, *, dates: bool) -> bool:
    """Return whether a column grows, or falls, from row to row, as time stamps and counters do.

    Tables may be sorted by a number that says more, whose cells then often repeat.
    """
    different = len(np.unique(numbers))
    if different < (_STEPS if dates else max(_COUNTED, len(numbers) / 2)):
        return False
    steps = np.diff(numbers)
    return bool(max((steps >= 0).mean(), (steps <= 0).mean()) >= _IN_ORDER)


def chance_outside(outside: int, *, new: int, fitted: int) -> float:
    """Return how probably so many of the new cells, or more, are outside the fitted range."""
    some = _log_choose(fitted + new, outside + 1)
    none_fitted = _log_choose(new, outside + 1) - some
    one_fitted = _log_choose(fitted, 1) + _log_choose(new, outside) - some
    return min(1.0, exp(none_fitted) + exp(one_fitted))


def chance_unseen(
    unseen: int, *, new: int, fitted: int, categories: int, once: int, twice: int
) -> float:
    """Return how probably so many of the new cells, or more, hold categories never seen."""
    if not unseen:
        return 1.0
    mean = new * (once + 1) / fitted
    shape = (once + 1) ** 2 / (once + 1 + 2 * twice)
    tail = float(scipy.special.betainc(unseen, shape, mean / (mean + shape)))
    return min(1.0, tail * (categories + 1))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if k <= n else -inf


# What is fitted of an OF of dates, and the features that cells become by it, also later ones.
#
#     (day − low) / (high − low)      and for each cycle a point on a circle of diameter 1
#     robust                          between fences, as numbers: see `ordinary`
#
# A missing cell counts as the median, and as the middle of each circle, as far from any place as from
# the opposite one. Days later than the fitted ones are usual; only earlier ones are counted.


@dataclass(frozen=True)
class _Measured:
    rows: int  # whose cell is not missing
    low: float
    high: float
    median: float
    lower: float | None = None  # the fences between which it is scaled, if not low and high
    upper: float | None = None

    @property
    def varies(self) -> bool:
        return self.low < self.high

    def scaled(self, numbers: Floats) -> Floats:
        low, high = self.low, self.high
        if self.lower is not None and self.upper is not None:
            low, high = self.lower, self.upper
            numbers = np.clip(numbers, low, high)
        return np.clip((numbers - low) / (high - low), -_FARTHEST, _FARTHEST)

    def chance(self, counts: CellCounts) -> float:
        known = counts.rows - counts.missing
        return chance_outside(counts.out_of_range, new=known, fitted=self.rows)


@dataclass(frozen=True)
class FittedDates(_Measured):
    """An OF of dates; its numbers are days since 1970."""

    cycle: tuple[str, ...] | None = None  # as the schema has it

    @property
    def width(self) -> int:
        return 1 + 2 * len(self.cycle or ())

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, CellCounts] | None:
        """Return the cells' features, n × width, and what is unusual, or None and note why not.

        A column that was constant is 0 in every row: nothing was learned of how far another day is.
        """
        if not _all_read(cells, problems, dates=True):
            return None
        days = np.where(cells.missing, self.median, cells.days)
        missing, beyond = int(cells.missing.sum()), int((days > self.high).sum())
        counts = CellCounts(len(days), missing, int((days < self.low).sum()), beyond=beyond)
        if not self.varies:
            return np.zeros((len(days), self.width)), counts
        unknown = cells.missing[:, None]
        cycles = (cycle_features(days, cycle) for cycle in self.cycle or ())
        points = [np.where(unknown, 0.5, cycle) for cycle in cycles]
        return np.hstack([self.scaled(days)[:, None], *points]), counts


@dataclass(frozen=True)
class FittedNumbers(_Measured):
    """A numeric OF; its numbers are divided by 2^exponent, so that sums of huge ones are finite."""

    exponent: int = 0

    width = 1  # how many features it becomes

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, CellCounts] | None:
        """Return the cells' features, n × 1, and what is unusual, or None and note why not.

        A column that was constant is 0 in every row: nothing was learned of how far another number
        is from it, so one is only counted.
        """
        if not _all_read(cells, problems, dates=False):
            return None
        with np.errstate(over="ignore"):  # of what is bounded in the end
            numbers = np.ldexp(cells.numbers, -self.exponent)
            numbers = np.where(cells.missing, self.median, numbers)
            outside = (numbers < self.low) | (numbers > self.high)
            features = self.scaled(numbers) if self.varies else np.zeros(len(numbers))
        missing, beyond = int(cells.missing.sum()), int((numbers > self.high).sum())
        counts = CellCounts(len(numbers), missing, int(outside.sum()), beyond=beyond)
        return features[:, None], replace(counts, bounds=cells.bounds)


@dataclass(frozen=True)
class _OfValues:
    values: tuple[str, ...]
    rows: int  # whose cell is not missing
    seen: int  # how many of the values were
    once: int  # how many were seen in one row only
    twice: int

    @property
    def varies(self) -> bool:
        return self.seen > 1

    def places(self, cells: Cells, default: int) -> tuple[Ints, CellCounts]:
        codes = cells.codes(self.values)
        unseen = int(((codes < 0) & ~cells.missing).sum())
        counts = CellCounts(len(codes), int(cells.missing.sum()), new_categories=unseen)
        return np.where(codes < 0, default, codes), counts

    def chance(self, counts: CellCounts) -> float:
        """Return how probably rows like the fitted ones are as unusual as this, or more so."""
        new, unseen = counts.rows - counts.missing, counts.new_categories
        fitted = {"categories": self.seen, "once": self.once, "twice": self.twice}
        return chance_unseen(unseen, new=new, fitted=self.rows, **fitted)


@dataclass(frozen=True)
class FittedCategories(_OfValues):
    commonest: int  # its place

    @property
    def width(self) -> int:
        return len(self.values) if len(self.values) > 2 else 1

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, CellCounts]:
        (codes, counts), size = self.places(cells, self.commonest), len(self.values)
        if size <= 2:
            return codes.astype(float)[:, None], counts
        return (codes[:, None] == np.arange(size)) / np.sqrt(size), counts


@dataclass(frozen=True)
class FittedOrdered(_OfValues):
    median: int  # the place of the median value, the lower one of two

    width = 1  # how many features it becomes

    def features(self, cells: Cells, problems: Problems) -> tuple[Floats, CellCounts]:
        codes, counts = self.places(cells, self.median)
        return codes[:, None] / (len(self.values) - 1), counts


FittedOrdinary: TypeAlias = FittedNumbers | FittedCategories | FittedOrdered | FittedDates


_EXPONENTS = (-1073, 1024)  # that frexp gives of a finite number


def restored(facts: State, column: Ordinary, schema: Schema) -> FittedOrdinary:
    if column.type in ("numeric", "date"):
        return _restored_measures(facts, column, column.scale or schema.scale or "minmax")
    values = kept_values(facts, column, schema)
    most = 2 if column.type == "binary" else CATEGORIES
    seen, once, twice = (facts.fact(name, int) for name in ("seen", "once", "twice"))
    rows, more = kept_rows(facts), seen - once - twice
    least = once + 2 * twice + 3 * more
    possible = (
        min(once, twice, more) >= 0
        and 1 <= seen <= len(values) <= most
        and (seen == len(values) or column.values is not None)
        and (least <= rows if more else least == rows)
    )
    kind: type[FittedCategories | FittedOrdered] = FittedCategories
    middle = "commonest"
    if column.type == "ordered":
        kind, middle = FittedOrdered, "median"
    place = facts.fact(middle, int) if possible else -1
    if not 0 <= place < len(values):
        raise StateError("no column can have such counts of its values")
    return kind(values, rows, seen, once, twice, place)


def _restored_measures(facts: State, column: Ordinary, scale: Scale) -> FittedNumbers | FittedDates:
    low, median, high = (facts.fact(name, float) for name in ("low", "median", "high"))
    if column.type == "date":
        if not FIRST_DAY <= low <= median <= high < LAST_DAY + 1:
            raise StateError("its days are not a median within a range of the calendar")
        rows = kept_rows(facts)
        # Models of earlier versions have no fences, whatever the scale.
        fenced = scale != "minmax" and bool({"lower", "upper"} & facts.facts.keys())
    else:
        rows, exponent = kept_rows(facts), facts.fact("exponent", int)
        largest = max(abs(low), abs(high))
        scaled = 0.5 <= largest < 1 and _EXPONENTS[0] <= exponent <= _EXPONENTS[1]
        if not low <= median <= high or not (scaled or (largest == 0 and exponent == 0)):
            raise StateError("its numbers are not a median within a range")
        fenced = scale != "minmax" and (scale != "auto" or "lower" in facts.facts)
    lower, upper = None, None
    if fenced:
        lower, upper = (facts.fact(name, float) for name in ("lower", "upper"))
        if not low <= lower <= upper <= high or (low < high) != (lower < upper):
            raise StateError("its fences are not within its range")
    if column.type == "date":
        return FittedDates(rows, low, high, median, lower, upper, column.cycle)
    return FittedNumbers(rows, low, high, median, lower, upper, exponent)


def _all_read(cells: Cells, problems: Problems, *, dates: bool) -> bool:
    causes, read = (in_dates, cells.days) if dates else (in_numbers, cells.numbers)
    wrong = ~cells.missing & ~np.isfinite(read)
    if not wrong.any():
        return True
    problems.add_cells(cells.shown, wrong, lambda found: causes(found, cells, problems.schema))
    return False


def fit_column(cells: Cells, ordinary: Ordinary, problems: Problems) -> FittedOrdinary | None:
    """Return what there is to fit of an OF's column, or None and note why nothing can be."""
    if cells.missing.all():
        what, fix = "every cell is missing", "mark it `role: ignore`"
        ignored = ignoring(cells.name, problems.schema)
        problems.add("all-missing", what, fix, column=cells.name, patch=ignored)
        return None
    if ordinary.type in ("numeric", "date"):
        is_date, exponent = ordinary.type == "date", 0
        if not _all_read(cells, problems, dates=is_date):
            return None
        known = (cells.days if is_date else cells.numbers)[~cells.missing]
        if not is_date:
            exponent = int(np.frexp(np.abs(known).max())[1])
            known = np.ldexp(known, -exponent)
        low, high, median = float(known.min()), float(known.max()), float(np.median(known))
        robust = problems.schema.scale_of(cells.name) == "robust"
        lower, upper = fences(known) if robust else (None, None)
        if is_date:
            return FittedDates(len(known), low, high, median, lower, upper, ordinary.cycle)
        return FittedNumbers(len(known), low, high, median, lower, upper, exponent)
    values = ordinary.values or tuple(cells.named)
    if ordinary.type == "binary" and len(values) > 2 and is_pair(values):
        meant = {truth(text): text for text in reversed(values)}  # the first spelling of each
        values = tuple(sorted(meant.values()))
    if len(values) > CATEGORIES and ordinary.type != "binary":
        most = f"but a categorical column has at most {CATEGORIES:,}"
        what = f"{len(values):,} different values, {most}"
        fix = "mark it `role: ignore`, or group its values"
        ignored = ignoring(cells.name, problems.schema)
        problems.add("many-values", what, fix, column=cells.name, patch=ignored)
        return None
    codes = cells.codes(values)
    if ordinary.type == "binary" and len(values) > 2:
        counts = np.bincount(codes[codes >= 0], minlength=len(values))
        usual = np.argsort(-counts, kind="stable")[:2]
        third = (codes >= 0) & ~np.isin(codes, usual)
        problems.add_cells(
            cells.shown, third, lambda found: third_values(found, cells.name, problems.schema)
        )
        return None
    outside = ~cells.missing & (codes < 0)
    if outside.any():
        problems.add_cells(
            cells.shown, outside, lambda found: of_causes(found, cells, values, problems.schema)
        )
        return None
    counts = np.bincount(codes[~cells.missing], minlength=len(values))
    rows, seen = int(counts.sum()), int((counts > 0).sum())
    once, twice = (int((counts == number).sum()) for number in (1, 2))
    if ordinary.type == "ordered":
        middle = int((2 * counts.cumsum() >= rows).argmax())
        return FittedOrdered(values, rows, seen, once, twice, middle)
    return FittedCategories(values, rows, seen, once, twice, int(counts.argmax()))
