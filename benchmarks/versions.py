"""Measure `cfl` beside an earlier commit, and beside itself without compiled code (extra [fast]).

    python -m benchmarks.versions [bank adult 2000 100000 ...] [--data DIR] [--against FOLDER]

Starts `cfl --version`, and imputes each table by `graph`, as CSV and as Parquet, with `--folds 0`.
All versions take turns; CPU seconds are the least of all turns, because other work on a machine
disturbs these less than it does the clock. FOLDER is another tree of the project. The bytes that
come out must be the same.
"""

import argparse
import hashlib
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import measure

JOBS = {
    "version": ["--version"],
    "csv": ["impute", "data.csv", "--out", "out.csv"],
    "parquet": ["impute", "data.parquet", "--out", "out.parquet"],
}
OPTIONS = ("--schema", "schema.yml", "--method", "graph", "--folds", "0", "--overwrite", "-q")
WITHOUT_NUMBA = "import sys; sys.modules['numba'] = None; from cfl_cli.__main__ import main; main()"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure versions of cfl beside each other.")
    parser.add_argument("tables", nargs="*", help="bank, adult, or rows of a generated table")
    parser.add_argument("--data", type=Path, help="folder with bank.csv and adult.csv")
    parser.add_argument("--against", type=Path, help="folder with other code to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    here = {"here": (measure.ROOT, ["-m", "cfl_cli"])}
    if importlib.util.find_spec("numba"):
        here["without numba"] = (measure.ROOT, ["-c", WITHOUT_NUMBA])
    there = {"against": (asked.against.resolve(), ["-m", "cfl_cli"])} if asked.against else {}
    print("| table | job | version | CPU s | of the first | peak MB | SHA-256 |")
    print("| --- | --- | --- | --: | --: | --: | --- |")
    for table in asked.tables or ("2000", "100000"):
        with tempfile.TemporaryDirectory(prefix="cfl-versions-") as place:
            where = ["--data", asked.data.resolve()] if asked.data else []
            kind = ["generated", "--rows", table] if table.isdecimal() else [table]
            measure.run("benchmarks.tables", *kind, "--csv", "--to", place, *where)
            for job in JOBS:
                compare(table, job, there | here, Path(place), repeats=asked.repeats)


def compare(
    table: str, job: str, versions: dict[str, tuple[Path, list[str]]], folder: Path, *, repeats: int
) -> None:
    """Print a line for every version; exit if their bytes differ."""
    costs: dict[str, list[measure.Cost]] = {version: [] for version in versions}
    shas: dict[str, str] = {}
    arguments = [*JOBS[job], *(OPTIONS if job != "version" else ())]
    for _ in range(repeats):
        for version, (root, start) in versions.items():
            cost = measure.start(
                [sys.executable, *start, *arguments],
                folder=folder,
                environment={"PYTHONPATH": str(root)},
                stdout=subprocess.DEVNULL,
            )
            costs[version].append(cost)
            out = folder / f"out.{job}"
            shas[version] = hashlib.sha256(out.read_bytes()).hexdigest() if out.exists() else ""
    seconds = {version: min(cost.cpu_seconds for cost in some) for version, some in costs.items()}
    first = next(iter(seconds.values()))
    for version, some in costs.items():
        peak = max(cost.peak_mb for cost in some)
        figures = f"{seconds[version]:.2f} | {seconds[version] / first:.2f} | {peak:,.0f}"
        print(f"| {table} | {job} | {version} | {figures} | {shas[version][:12]} |", flush=True)
    if len({*shas.values()}) > 1:
        sys.exit(f"{table}, {job}: the bytes are not the same")


if __name__ == "__main__":
    main()
