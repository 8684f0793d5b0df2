"""Run all variants on parts of Bank and Adult, and write what they gave.

python -m benchmarks.tried --data DIR --out docs/tried.json

writes the JSON file and, beside it, the page. Tables and seeds that the file holds already are not
run again; `--page` writes the page alone. Without `--data` a generated table is taken.
"""

import argparse
from pathlib import Path
from time import process_time

from threadpoolctl import threadpool_limits

from benchmarks import tables
from benchmarks.machine import machine
from benchmarks.tried import blends, boosts, graphs, nets
from benchmarks.tried.lab import Lab
from benchmarks.tried.page import page
from benchmarks.tried.results import DIGITS, Results, Run, rounded
from benchmarks.tried.variants import VARIANTS
from cfl_cli.core.parallel import Workers


def run(table: str, seed: int, *, rows: int, data: Path | None) -> list[Run]:
    """Return what every variant gives on one table, masked with the seed."""
    made = tables.make(table, rows=rows, data=data, seed=seed)
    with threadpool_limits(limits=1), Workers(1) as workers:
        lab = Lab(made, seed=seed, workers=workers)
        for part in (boosts, nets, graphs, blends):
            began = process_time()
            part.run(lab)
            name = part.__name__.rpartition(".")[2]
            print(f"{table} {seed}: {name}, {process_time() - began:.0f} s", flush=True)
    runs = []
    for variant in VARIANTS:
        answer = lab.answers[variant.name]
        gain = lab.gain(answer, lab.answers[variant.against]) if variant.against else (None, None)
        rounded_gain = [None if each is None else round(each, DIGITS) for each in gain]
        runs.append(Run(table, seed, variant.name, rounded(lab.judge(answer)), *rounded_gain))
    return runs


def main() -> None:
    """Run what is asked for and is not known yet."""
    parser = argparse.ArgumentParser(description="Try what might estimate better.")
    parser.add_argument("--data", type=Path, help="folder with bank.csv and adult.csv")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--page", action="store_true", help="write the page anew, run nothing")
    asked = parser.parse_args()
    facts = machine()
    versions = {**facts["versions"], "source of cfl_cli": facts["sources"]}
    results = Results(asked.rows, versions, ())
    if asked.out.exists():
        held = Results.load(asked.out)
        if asked.page or (held.rows, held.versions) == (results.rows, results.versions):
            results = held
    names = [] if asked.page else list(tables.CFS) if asked.data else ["generated"]
    for table in names:
        for seed in asked.seeds:
            if any((held.table, held.seed) == (table, seed) for held in results.runs):
                continue
            found = run(table, seed, rows=asked.rows, data=asked.data)
            results = Results(results.rows, results.versions, (*results.runs, *found))
            results.save(asked.out)
    asked.out.with_suffix(".md").write_text(page(results))


if __name__ == "__main__":
    main()
