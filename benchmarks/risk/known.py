"""Known tables that others have gathered: those of scikit-learn, and columns of Bank and Adult.

Of a known table some columns are blurred in turn: texts as they are, numbers in bins.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.risk.cases import Case, Random, blurred
from cfl_cli.core.arrays import Ints

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
