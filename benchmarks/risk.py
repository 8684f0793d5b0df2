"""Whether what `cfl risk` says holds: its figures beside what the truth of a masked table shows.

    python -m benchmarks.risk bank --data DIR --rows 6000 --ofs age --ofs month

The share inferred right and the sure rows are those that `impute` really gets right. Without an OF,
with coarser OFs or other exclusions, the table is really published so, imputed by the same method,
and its answers compared with the truth.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks import tables
from benchmarks.tables import Table
from cfl_cli.jobs.impute import impute
from cfl_cli.jobs.otherwise import BINS, MORE
from cfl_cli.jobs.risk import risk
from cfl_cli.schema.model import Schema
from cfl_cli.trust.intervals import Interval


@dataclass(frozen=True)
class Line:
    """A figure, and what it really is."""

    cf: str
    what: str
    said: Interval
    really: float

    @property
    def holds(self) -> bool:
        """Return whether the interval holds the truth."""
        return self.said.low <= self.really <= self.said.high

    def __str__(self) -> str:
        said = f"{self.said.value:+.3f} ({self.said.low:+.3f} to {self.said.high:+.3f})"
        return f"{self.cf:16} {self.what:36} {said:28} {self.really:+.3f} {self.holds}"


def measured(
    table: Table, *, method: str, ofs: Sequence[str], ways: bool = True, jobs: int = 2
) -> Iterator[Line]:
    """Yield every figure beside what it really is; `ofs` are left out in turn."""
    schema = Schema.parse(table.schema)
    found = risk(table.masked, schema, method=method, rows=table.truth.height, jobs=jobs)
    by = found.tried_method or method
    right, sure = _right(table, schema, method, jobs, gamma=None)
    now, _ = _right(table, schema, by, jobs)
    without = {of: _right(table, Schema.parse(table.without(of).schema), by, jobs)[0] for of in ofs}
    others = {}
    if ways:
        others = {f"numbers in {bins} bins": _binned(table, bins) for bins in BINS}
        others[MORE] = replace(table, masked=_twice(table))
    then = {way: _right(other, _several(other), by, jobs)[0] for way, other in others.items()}
    for column in found.columns:
        cf = column.name
        if column.inferred_right is None:
            continue
        yield Line(cf, "inferred right", column.inferred_right, right[cf])
        if column.sure_right is not None:
            yield Line(cf, "sure ones right", column.sure_right, sure[cf])
        for of in column.features:
            if of.name in without:
                really = now[cf] - without[of.name][cf]
                yield Line(cf, f"gain lost without {of.name}", of.gain_lost, really)
        for way in column.otherwise:
            if way.way in then:
                yield Line(cf, way.way, way.change, then[way.way][cf] - now[cf])


def _right(
    table: Table, schema: Schema, method: str, jobs: int, *, gamma: float | None = 0.0
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the share of right answers of each CF, and that of the sure ones."""
    how: dict[str, Any] = {"method": method, "gamma": gamma}
    out = impute(table.masked, schema, diagnostics=False, jobs=jobs, **how).frame
    right = {cf: (out[f"{cf}_imputed"] == table.truth[cf]).to_numpy() for cf in table.cfs}
    sure = {cf: (out[f"{cf}_confidence"] >= 0.9).to_numpy() for cf in table.cfs}
    return (
        {cf: float(one.mean()) for cf, one in right.items()},
        {cf: float(one[sure[cf]].mean()) if sure[cf].any() else 0.0 for cf, one in right.items()},
    )


def _several(table: Table) -> Schema:
    """Return the schema of cells that may hold several exclusions."""
    schema = Schema.parse(table.schema)
    columns = dict(schema.columns)
    for cf in table.cfs:
        columns[cf] = schema.complementary[cf].model_copy(update={"separator": "|"})
    return schema.model_copy(update={"columns": columns})


def _twice(table: Table) -> pl.DataFrame:
    """Return the table with a further exclusion in each cell that leaves more than two values."""
    random = np.random.default_rng(1)
    columns = []
    for cf, domain in table.cfs.items():
        pairs = zip(table.masked[cf], table.truth[cf], strict=True)
        left = [[value for value in domain if value not in pair] for pair in pairs]
        more = [str(random.choice(values)) if values else "" for values in left]
        cells = ["|".join(filter(None, pair)) for pair in zip(table.masked[cf], more, strict=True)]
        columns.append(pl.Series(cf, cells))
    return table.masked.with_columns(columns)


def _binned(table: Table, bins: int) -> Table:
    """Return the table with its numbers in bins of about equally many rows."""
    columns = []
    for name, kind in table.ofs.items():
        if kind == "numeric":
            numbers = table.masked[name].to_numpy()
            edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins))
            places = np.searchsorted(edges, numbers, side="right")
            means = [numbers[places == place].mean() for place in range(len(edges) + 1)
                     if (places == place).any()]  # fmt: skip
            ranks = np.unique(places, return_inverse=True)[1]
            columns.append(pl.Series(name, np.array(means)[ranks]))
    return replace(table, masked=table.masked.with_columns(columns))


def main() -> None:
    """Print every figure, and how many hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["bank", "adult", "generated"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--ofs", action="append", default=[])
    parser.add_argument("--no-ways", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    table = tables.make(given.table, rows=given.rows, data=given.data, seed=given.seed)
    lines = []
    for line in measured(table, method=given.method, ofs=given.ofs, ways=not given.no_ways):
        print(line, flush=True)
        lines.append(line)
    print(f"{sum(line.holds for line in lines)} of {len(lines)} hold")


if __name__ == "__main__":
    main()
