"""What new rows hold that the fitted ones did not, and whether that is more than chance.

If n fitted and m new cells are in random order by size, the cells before the first fitted one and
after the last are two of the n + 1 gaps between the fitted ones. Any two gaps hold x new cells or
more together exactly if, with these gaps first, at most one of the first x + 1 cells is fitted:

    P(X ≥ x) = (C(m, x + 1) + n C(m, x)) / C(n + m, x + 1)        with the mean 2m / (n + 1)

is how probably x new numbers or more lie outside the fitted range; equal numbers only lower it.

How many cells hold a category never seen follows from those seen once, N₁, and twice, N₂ (Good and
Turing): X has about the mean μ = m (N₁ + 1) / n, of which the fitted rows leave n/m a variance of
N₁ + 1 + 2 N₂. With a negative binomial X of this mean and variance

    P(X ≥ x) = I_q(x, r)        r = (N₁ + 1)² / (N₁ + 1 + 2 N₂), q = μ / (μ + r)

and counts once for each category, as any of them might have been the one that was not seen. Without
N₂ it is exact for one category: all of its x cells are new with a probability of (m / (n + m))ˣ.
"""

from collections.abc import Mapping
from dataclasses import field
from math import exp, inf, lgamma
from typing import Self

from cfl_cli.core.messages import count, quote
from cfl_cli.core.quick import dataclass

LEVEL = 0.0002  # how often a batch of rows like the fitted ones may be flagged, over all OFs
FARTHEST = 1e6  # of features, in widths of the fitted range: squared distances must be finite
LEAST_SHARE = 0.01  # of the rows: less is counted, but harms nobody


@dataclass(frozen=True)
class Counts:
    """How many cells of an OF are not as those it was fitted to."""

    rows: int = 0
    missing: int = 0  # filled in
    out_of_range: int = 0  # numbers, used as they are
    new_categories: int = 0  # cells of such, filled in like missing ones

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.rows + other.rows,
            self.missing + other.missing,
            self.out_of_range + other.out_of_range,
            self.new_categories + other.new_categories,
        )

    @property
    def share(self) -> float:
        """Return the share of the rows whose cell was never seen, or is out of range."""
        return (self.out_of_range + self.new_categories) / max(self.rows, 1)


@dataclass(frozen=True)
class Unusual:
    """The counts of some rows, by OF; those of several blocks of rows can be added."""

    columns: Mapping[str, Counts] = field(default_factory=dict)

    def __add__(self, other: Self) -> Self:
        names = dict.fromkeys([*self.columns, *other.columns])
        nothing = Counts()
        return type(self)(
            {
                name: self.columns.get(name, nothing) + other.columns.get(name, nothing)
                for name in names
            }
        )

    @property
    def said(self) -> tuple[tuple[str, str, int, str], ...]:
        """Return what to say of it: a key for programs, the column, the count, and the words."""
        return tuple(
            (key, name, number, f"{count(number, noun)} {what}")
            for name, counts in self.columns.items()
            for key, number, noun, what in (
                ("filled-in", counts.missing, "missing cell", "filled in"),
                ("out-of-range", counts.out_of_range, "number", "outside the fitted range"),
                (
                    "new-categories",
                    counts.new_categories,
                    "cell",
                    "with a category never seen, filled in",
                ),
            )
            if number
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the same as sentences."""
        return tuple(f"column {quote(name)}: {words}" for _, name, _, words in self.said)


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
    from scipy.special import betainc  # noqa: PLC0415 — it loads slowly, and few batches need it

    mean = new * (once + 1) / fitted
    shape = (once + 1) ** 2 / (once + 1 + 2 * twice)
    tail = float(betainc(unseen, shape, mean / (mean + shape)))
    return min(1.0, tail * (categories + 1))


def _log_choose(n: int, k: int) -> float:
    """Return the log of a binomial coefficient."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if k <= n else -inf
