"""Made tables, each from its seed: how a CF hangs together with the OFs is known."""

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from benchmarks.risk.cases import Case, Random, blurred
from cfl_cli.core.arrays import Floats, Ints

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
    shares = random.dirichlet(np.full(12, 0.5))
    place = random.choice(12, size=rows, p=shares)
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
