"""How long `cfl` takes from start to exit where there is little to compute.

    python -m benchmarks.startup [--rows 2000] [--against FOLDER] [--repeats 5]

A generated table is imputed by `graph`, as usual and without hidden rows, and `cfl --version` is
run. `--against` is another tree of the project, an older one say: runs of the two take turns, and
the least of each are compared. Processor time, because other work on a machine disturbs it less.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import ROOT
from benchmarks.tables import generated

RUNS = {
    "version": ["--version"],
    "graph": ["impute", "data.parquet", "--schema", "schema.yml", "--method", "graph"],
    "graph, nothing hidden": [
        *("impute", "data.parquet", "--schema", "schema.yml", "--method", "graph"),
        *("--folds", "0"),
    ],
}


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description="Time from start to exit.")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    asked = parser.parse_args()
    trees = [ROOT] if asked.against is None else [ROOT, asked.against.resolve()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generated(asked.rows, seed=0).write(folder)
        for run, arguments in RUNS.items():
            turns = [
                [taken(tree, arguments, folder) for tree in trees] for _ in range(asked.repeats)
            ]
            least = [min(turn[place] for turn in turns) for place in range(len(trees))]
            ratio = "" if len(least) == 1 else f", {least[0] / least[1]:.2f} of {least[1]:.2f} s"
            print(f"{run}: {least[0]:.2f} s of processor time{ratio}", flush=True)


def taken(tree: Path, arguments: list[str], folder: Path) -> float:
    """Return the processor time of `cfl`, as it is in a tree."""
    written = ["--out", "out.parquet", "--overwrite", "-q"] if "impute" in arguments else []
    own = {name: value for name, value in os.environ.items() if not name.startswith("CFL_")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "cfl_cli", *arguments, *written],
        cwd=folder,
        env={**own, "PYTHONPATH": str(tree)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
