"""Whether new rows are answered as well as rows that are estimated with all others.

    python -m benchmarks.models.new_rows --data DIR --tables bank adult --method graph --rows 10000

A model is fitted to 80 % of a table and applied to the rest; and the whole table is imputed. Of the
rest's rows, by the truth: accuracy and cross entropy, of all rows together and as new rows, and the
difference. Names such as ISLR/Wage are tables of R's packages (`benchmarks.field.tables`).
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks import tables
from cfl_cli import Schema, fit, impute
from cfl_cli.core.arrays import Floats, Ints

SHARE = 0.8  # of the rows, that a model is fitted to
LEAST = 1e-12


def main() -> None:
    asked = arguments()
    print(f"{'table':26} {'CF':24} seed  together  new rows  gained  cross entropy  gained")
    gains = []
    for name in asked.tables:
        for seed in range(asked.seeds):
            gains += compare(name, asked.method, rows=asked.rows, data=asked.data, seed=seed)
    accuracy, entropy = np.mean(gains, axis=0)
    print(f"mean over {len(gains)}: accuracy {accuracy:+.4f}, cross entropy {entropy:+.4f}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="New rows, and the same among all others.")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+", default=["bank", "adult"])
    parser.add_argument("--method", default="graph")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seeds", type=int, default=1)
    return parser.parse_args()


def compare(
    name: str, method: str, *, rows: int | None, data: Path | None, seed: int
) -> list[tuple[float, float]]:
    frame, schema, truth = made(name, rows=rows, data=data, seed=seed)
    order = np.random.default_rng([seed, 7]).permutation(frame.height)
    old, new = np.sort(order[: int(SHARE * len(order))]), np.sort(order[int(SHARE * len(order)) :])
    together = impute(frame, schema, method=method).confidences.arrays
    answered = fit(frame[old], schema, method=method).apply(frame[new]).confidences.arrays
    gains = []
    for cf, column in enumerate(together):
        one, other = together[column][new], answered[column]
        right = truth[new, cf]
        hits = [float((each.argmax(axis=1) == right).mean()) for each in (one, other)]
        costs = [cross_entropy(each, right) for each in (one, other)]
        gains.append((hits[1] - hits[0], costs[1] - costs[0]))
        print(
            f"{name:26} {column:24} {seed:4}  {hits[0]:8.3f}  {hits[1]:8.3f}  {gains[-1][0]:+6.3f}"
            f"  {costs[0]:.3f} → {costs[1]:.3f}  {gains[-1][1]:+6.3f}",
            flush=True,
        )
    return gains


def made(
    name: str, *, rows: int | None, data: Path | None, seed: int
) -> tuple[pl.DataFrame, Schema, Ints]:
    if "/" not in name:
        table = tables.make(name, rows=rows, data=data, seed=seed)
        return table.masked, Schema.parse(table.schema), table.places
    from benchmarks.field import cases
    from benchmarks.field import tables as field

    found = field.read(name)
    frame, schema = cases.masked(found, "uniform", seed)
    return frame, schema, found.truth


def cross_entropy(confidences: Floats, right: Ints) -> float:
    given = confidences[np.arange(len(right)), right]
    return float(-np.log(np.maximum(given, LEAST)).mean())


if __name__ == "__main__":
    main()
