"""Tables whose truth is known, and the same tables published in other ways.

A case keeps its exact values and which values each cell rules out, so that it can really be
published without an OF, with coarser OFs, or with more or fewer exclusions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.schema.model import Schema

RARE = 0.05  # of the rows: categories that are not more common are merged
Random: TypeAlias = np.random.Generator


@dataclass(frozen=True, eq=False)
class Case:
    """A table, its truth, and which values each cell of its CFs rules out."""

    name: str
    ofs: Mapping[str, pl.Series]  # numbers or texts; null: missing
    truth: Mapping[str, Ints]  # by CF, n places in the domain
    excluded: Mapping[str, Mask]  # by CF, n × K

    @property
    def rows(self) -> int:
        return len(next(iter(self.truth.values())))

    @property
    def frame(self) -> pl.DataFrame:
        columns = [series.alias(name) for name, series in self.ofs.items()]
        for name, cells in self.excluded.items():
            texts = ["|".join(f"v{place}" for place in np.flatnonzero(cell)) for cell in cells]
            columns.append(pl.Series(name, texts))
        return pl.DataFrame(columns)

    @property
    def schema(self) -> Schema:
        columns: dict[str, Any] = {}
        for name, series in self.ofs.items():
            kind = "numeric" if series.dtype.is_numeric() else "categorical"
            columns[name] = {"role": "ordinary", "type": kind}
        for name, cells in self.excluded.items():
            values = [f"v{place}" for place in range(cells.shape[1])]
            columns[name] = {"role": "complementary", "values": values, "separator": "|"}
        return Schema.model_validate({"version": 1, "columns": columns})

    def places(self, answers: pl.Series) -> Ints:
        return answers.str.strip_prefix("v").cast(pl.Int64).to_numpy()

    def without(self, of: str) -> "Case":
        """Return it without an OF."""
        return replace(self, ofs={name: own for name, own in self.ofs.items() if name != of})

    def binned(self, bins: int) -> "Case":
        """Return it with each number as the mean of its bin, of about equally many rows."""
        return replace(self, ofs={name: _binned(own, bins) for name, own in self.ofs.items()})

    def merged(self) -> "Case":
        """Return it with the rare categories of each OF as one, where there are several."""
        return replace(self, ofs={name: _merged(own) for name, own in self.ofs.items()})

    def with_more(self, random: Random) -> "Case":
        """Return it with a further exclusion in each cell that has some and leaves three values."""
        return self._moved(random, more=True)

    def with_fewer(self, random: Random) -> "Case":
        """Return it with one exclusion less in each cell that has several and is not exact."""
        return self._moved(random, more=False)

    def _moved(self, random: Random, *, more: bool) -> "Case":
        moved = {}
        for name, cells in self.excluded.items():
            counts, size = cells.sum(axis=1), cells.shape[1]
            can = (counts > (0 if more else 1)) & (counts < size - 1)
            true = np.arange(size) == self.truth[name][:, None]
            open_to = ~cells & ~true if more else cells
            chances = np.where(open_to, random.random(cells.shape), -1.0)
            picked = (np.arange(size) == chances.argmax(axis=1)[:, None]) & can[:, None]
            moved[name] = cells ^ picked
        return replace(self, excluded=moved)


def blurred(
    name: str,
    ofs: Mapping[str, pl.Series],
    truth: Mapping[str, Ints],
    random: Random,
    *,
    exclusions: Mapping[str, int],
    empty: float = 0.0,
) -> Case:
    """Return a case whose cells rule out so many values, drawn uniformly; some are empty."""
    cells = {}
    for cf, true in truth.items():
        size = int(true.max()) + 1
        chances = random.random((len(true), size))
        chances[np.arange(len(true)), true] = 2.0
        ranks = chances.argsort(axis=1).argsort(axis=1)
        cells[cf] = (ranks < exclusions[cf]) & (random.random(len(true)) >= empty)[:, None]
    return Case(name, ofs, truth, cells)


def _binned(series: pl.Series, bins: int) -> pl.Series:
    if not series.dtype.is_numeric():
        return series
    known = series.is_not_null().to_numpy()
    numbers: Floats = series.cast(pl.Float64).to_numpy()[known]
    edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
    bin_of = np.searchsorted(edges, numbers, side="right")
    means = {place: numbers[bin_of == place].mean() for place in np.unique(bin_of)}
    coarse: list[float | None] = [None] * len(series)
    for row, place in zip(np.flatnonzero(known), bin_of, strict=True):
        coarse[row] = float(means[place])
    return pl.Series(series.name, coarse, dtype=pl.Float64)


def _merged(series: pl.Series) -> pl.Series:
    if series.dtype.is_numeric():
        return series
    shares = series.drop_nulls().value_counts(normalize=True)
    rare = shares.filter(pl.col("proportion") <= RARE)[series.name].to_list()
    return series.replace(dict.fromkeys(rare, "other")) if len(rare) > 1 else series
