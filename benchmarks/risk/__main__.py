"""Whether what `cfl risk` says holds: its figures beside what the truth of masked tables shows.

    python -m benchmarks.risk made --tables 20 --seed 1
    python -m benchmarks.risk sklearn
    python -m benchmarks.risk bank --data DIR --rows 2000 --method auto

The shares are those that `impute` really gets right. Without an OF, with coarser OFs or other
exclusions, the table is really published so, imputed, and its answers compared with the truth.
With `--quick`, graph makes one round of 30 steps with 10 neighbors: a third of the time.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.risk.cases import Case, made, of_file, of_sklearn
from benchmarks.risk.compared import CHANGES, SHARES, Line, compared

QUICK: dict[str, Any] = {"method": "graph", "gamma": 0.0, "iterations": 30, "k": 10}


def cases(given: argparse.Namespace) -> Iterator[Case]:
    if given.table == "made":
        for number in range(given.tables):
            yield made(number, seed=given.seed, rows=given.rows)
    elif given.table == "sklearn":
        yield from of_sklearn(given.seed)
    else:
        yield from of_file(given.table, given.data, given.seed, rows=given.rows or 2000)


def summary(lines: Sequence[Line]) -> Iterator[str]:
    kinds = {
        "all shares": [line for line in lines if line.kind == SHARES],
        "all changes": [line for line in lines if line.kind == CHANGES],
    }
    for line in lines:
        if line.kind in (SHARES, CHANGES):
            kinds.setdefault(line.what.split(" without ")[0], []).append(line)
    for what, some in kinds.items():
        if some:
            held = sum(line.holds for line in some)
            wide = np.median([line.said.high - line.said.low for line in some])
            off = np.median([abs(line.said.value - line.really) for line in some])
            yield (
                f"{what:24} {held:4} of {len(some):4} hold ({held / len(some):.1%}), "
                f"median width {wide:.3f}, median error {off:.3f}"
            )


def run(tables: Iterable[Case], **how: Any) -> list[Line]:
    lines = []
    for case in tables:
        own = [*compared(case, **how)]
        print(f"{case.name}: {case.rows:,} rows, {len(own):,} figures", flush=True)
        print(*(line for line in own if not line.holds), sep="\n")
        lines += own
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["made", "sklearn", "bank", "adult"])
    parser.add_argument("--data", type=Path, help="the folder of bank.csv and adult.csv")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--tables", type=int, default=20, help="how many to make")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.table in ("bank", "adult") and given.data is None:
        parser.error(f"name the folder that holds {given.table}.csv with --data")
    how = QUICK if given.quick else {"method": given.method}
    print(*summary(run(cases(given), **how)), sep="\n")


if __name__ == "__main__":
    main()
