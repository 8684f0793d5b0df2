"""Tables whose truth is known, and the same tables published in other ways.

A case keeps its exact values and which values each cell rules out, so that it can really be
published without an OF, with coarser OFs, or with more or fewer exclusions.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
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


OFS = 8  # of a table, at most
BLURRED = {  # none of them is a CF of the paper's evaluation
    "bank": (("month", "campaign"), ("housing", "duration"), ("age", "pdays")),
    "adult": (("age", "income"), ("hours-per-week", "sex"), ("education-num", "capital-gain")),
}


def of_sklearn(seed: int) -> Iterator[Case]:
    """Yield tables of scikit-learn: the class and a column in bins are blurred."""
    from sklearn import datasets

    for name in ("iris", "wine", "breast_cancer", "digits"):
        random = np.random.default_rng([seed, len(name)])
        bunch = getattr(datasets, f"load_{name}")()
        order = random.permutation(bunch.data.shape[1])
        varied = [place for place in order if len(np.unique(bunch.data[:, place])) > 5]
        chosen, other = varied[1 : OFS + 1], varied[0]
        ofs = {f"of_{place}": pl.Series(f"of_{place}", bunch.data[:, place]) for place in chosen}
        target = bunch.target.astype(np.int64)
        truth = {"class": target, "bins": _in_bins(pl.Series(bunch.data[:, other]), 4)}
        yield _case(name, ofs, truth, random)


def of_file(name: str, data: Path, seed: int, *, rows: int) -> Iterator[Case]:
    """Yield Bank or Adult with two other columns blurred than those of the paper, in turn."""
    table = pl.read_csv(data / f"{name}.csv")
    for number, cfs in enumerate(BLURRED[name]):
        random = np.random.default_rng([seed, number, len(name)])
        some = table[np.sort(random.permutation(table.height)[:rows])]
        others = [column for column in some.columns if column not in cfs]
        chosen = [others[place] for place in np.sort(random.permutation(len(others))[:OFS])]
        truth = {cf: _in_bins(some[cf], 5) for cf in cfs}
        yield _case(f"{name} {number}", {of: some[of] for of in chosen}, truth, random)


def _case(name: str, ofs: dict[str, pl.Series], truth: dict[str, Ints], random: Random) -> Case:
    exclusions = {}
    for cf, values in truth.items():
        exclusions[cf] = int(random.integers(1, max(min(int(values.max()), 3), 1) + 1))
    return blurred(name, ofs, truth, random, exclusions=exclusions)


def _in_bins(series: pl.Series, bins: int) -> Ints:
    if not series.dtype.is_numeric():
        return series.rank("dense").to_numpy().astype(np.int64) - 1
    numbers = series.to_numpy()
    edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
    places = np.searchsorted(edges, numbers, side="right")
    return np.unique(places, return_inverse=True)[1].astype(np.int64)


ROWS = (500, 1000)
MOST_VALUES, MOST_EXCLUSIONS = 8, 3
CFS = 2  # of each table
Ofs = dict[str, pl.Series]
Made = tuple[Ofs, Floats]  # the OFs, and the n × d numbers that CFs follow from


def _series(name: str, numbers: Floats) -> pl.Series:
    return pl.Series(name, numbers.round(4))


def _independent(random: Random, rows: int) -> Made:
    ofs = {f"of_{n}": _series(f"of_{n}", random.normal(size=rows)) for n in range(4)}
    return ofs, np.zeros((rows, 2))


def _determined(random: Random, rows: int) -> Made:
    numbers = random.random((rows, 5))
    ofs = {f"of_{n}": _series(f"of_{n}", numbers[:, n]) for n in range(5)}
    return ofs, 12 * numbers[:, :2]


def _mixture(random: Random, rows: int) -> Made:
    groups = int(random.integers(3, 7))
    group = random.integers(0, groups, rows)
    centers = 1.5 * random.normal(size=(groups, 5))
    numbers = centers[group] + random.normal(size=(rows, 5))
    ofs = {f"of_{n}": _series(f"of_{n}", numbers[:, n]) for n in range(5)}
    return ofs, 3.0 * (group[:, None] == np.arange(groups))


def _skewed(random: Random, rows: int) -> Made:
    numbers = np.exp(1.2 * random.normal(size=(rows, 4)))  # with a long tail, as incomes have
    coin = random.random(rows) < 0.3
    ofs = {f"of_{n}": _series(f"of_{n}", numbers[:, n]) for n in range(4)}
    ofs["coin"] = pl.Series("coin", np.where(coin, "yes", "no"))
    return ofs, np.column_stack([np.log(numbers), 2.0 * coin])


def _categories(random: Random, rows: int) -> Made:
    place = random.choice(12, size=rows, p=random.dirichlet(np.full(12, 0.5)))
    kind = random.integers(0, 3, rows)
    number = random.normal(size=rows)
    ofs = {
        "place": pl.Series("place", [f"p{one}" for one in place]),
        "kind": pl.Series("kind", [f"k{one}" for one in kind]),
        "number": _series("number", number),
    }
    effects = 1.5 * random.normal(size=(12, 3))
    return ofs, np.column_stack([effects[place], kind == 1, number])


def _redundant(random: Random, rows: int) -> Made:
    factors = random.normal(size=(rows, 2))
    ofs: Ofs = {}
    for n in range(6):
        numbers = factors[:, n % 2] + 0.3 * random.normal(size=rows)
        ofs[f"of_{n}"] = _series(f"of_{n}", numbers)
    return ofs, 2 * factors


def _missing(random: Random, rows: int) -> Made:
    ofs, follows = _mixture(random, rows)
    for name, series in ofs.items():
        gone = random.random(rows) < 0.1
        ofs[name] = series.scatter(np.flatnonzero(gone), None)
    return ofs, follows


FAMILIES: Mapping[str, Callable[[Random, int], Made]] = {
    "independent": _independent,
    "determined": _determined,
    "mixture": _mixture,
    "skewed": _skewed,
    "categories": _categories,
    "redundant": _redundant,
    "missing": _missing,
}


def made(number: int, *, seed: int = 0, rows: int | None = None) -> Case:
    """Return the made table with this number: families take turns, all else is drawn."""
    family = [*FAMILIES][number % len(FAMILIES)]
    random = np.random.default_rng([seed, number])
    n = rows or int(random.integers(ROWS[0], ROWS[1] + 1))
    ofs, follows = FAMILIES[family](random, n)
    truth, exclusions = {}, {}
    for place in range(CFS):
        size = int(random.integers(2, MOST_VALUES + 1))
        truth[f"cf_{place}"] = _values(random, follows, size, determined=family == "determined")
        most = max(min(int(truth[f"cf_{place}"].max()), MOST_EXCLUSIONS), 1)
        exclusions[f"cf_{place}"] = int(random.integers(1, most + 1))
    empty = float(random.choice([0.0, 0.0, 0.2]))
    name = f"{family} {number}"
    return blurred(name, ofs, truth, random, exclusions=exclusions, empty=empty)


def _values(random: Random, follows: Floats, size: int, *, determined: bool) -> Ints:
    """Return values that follow from numbers, n × d: more or less, and some rarer than others."""
    if determined:
        edges = np.quantile(follows[:, 0], np.sort(random.random(size - 1)))
        return np.searchsorted(edges, follows[:, 0]).astype(np.int64)
    leaning = random.normal(size=(follows.shape[1], size))
    liking = random.uniform(0.3, 1.5) * follows @ leaning + random.uniform(0, 1.5) * (
        random.normal(size=size)
    )
    liking += random.gumbel(size=liking.shape)
    values = liking.argmax(axis=1)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
