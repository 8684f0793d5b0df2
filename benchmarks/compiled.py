"""Measure what compiled code, the extra [fast], saves `graph`; the bytes must be the same.

    python -m benchmarks.compiled compare [bank adult 100000 ...] [--data DIR] [--before FOLDER]
    python -m benchmarks.compiled search 100000 1000000

`compare` runs `cfl impute --folds 0` with and without numba in turn, and also as it is in another
folder, if there is one: say, one with an earlier commit. CPU seconds are the least of all turns.
`search` measures the neighbors of generated tables, round one, per row.
"""

import argparse
import hashlib
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks import measure

OPTIONS = ("--folds", "0", "--overwrite", "-q")


def main() -> None:
    """Do what is asked."""
    if sys.argv[1:2] == ["plain"]:  # `cfl` as it is where numba is not installed
        plain(sys.argv[2:])
    parser = argparse.ArgumentParser(description="Measure what compiled code saves.")
    parser.add_argument("what", choices=["compare", "search"])
    parser.add_argument("tables", nargs="*", help="bank, adult, or rows of a generated table")
    parser.add_argument("--data", type=Path, help="folder with bank.csv and adult.csv")
    parser.add_argument("--before", type=Path, help="folder with other code to compare with")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    if not importlib.util.find_spec("numba"):
        sys.exit("numba is not installed (extra [fast]): there is nothing to compare")
    if asked.what == "search":
        search([int(rows) for rows in asked.tables or ("100000", "1000000")])
        return
    print("| table | code | CPU s | against the first | peak MB | SHA-256 |")
    print("| --- | --- | --: | --: | --: | --- |")
    for table in asked.tables or ("bank", "adult", "100000"):
        compare(table, asked.data, asked.before, repeats=asked.repeats)


def plain(arguments: list[str]) -> None:
    """Be `cfl` without numba."""
    from cfl_cli.__main__ import main as cfl

    sys.modules["numba"] = None  # type: ignore[assignment]  # importing it now fails
    sys.argv = ["cfl", *arguments]
    cfl()
    sys.exit()


def compare(table: str, data: Path | None, before: Path | None, *, repeats: int) -> None:
    """Print a line for every kind of code."""
    folder = Path(tempfile.mkdtemp(prefix="cfl-compiled-"))
    try:
        kind = ["generated", "--rows", table] if table.isdecimal() else [table]
        where = ["--data", data.resolve()] if data else []
        measure.run("benchmarks.tables", *kind, "--to", folder, *where)
        codes = {"before": ("cfl_cli", before.resolve())} if before else {}
        codes |= {
            "plain": ("benchmarks.compiled", measure.ROOT),
            "fast": ("cfl_cli", measure.ROOT),
        }
        costs: dict[str, list[measure.Cost]] = {code: [] for code in codes}
        shas: dict[str, set[str]] = {code: set() for code in codes}
        for _ in range(repeats):
            for code, (module, root) in codes.items():
                out = folder / "out.parquet"
                job = ["plain"] if code == "plain" else []
                job += ["impute", str(folder / "data.parquet"), "--out", str(out)]
                job += ["--schema", str(folder / "schema.yml"), *OPTIONS]
                costs[code].append(measure.run(module, *job, folder=root))
                shas[code].add(hashlib.sha256(out.read_bytes()).hexdigest()[:12])
    finally:
        shutil.rmtree(folder)
    seconds = {code: min(cost.cpu_seconds for cost in some) for code, some in costs.items()}
    for code, some in costs.items():
        ratio = next(iter(seconds.values())) / seconds[code]
        peak = max(cost.peak_mb for cost in some)
        sha = " ".join(sorted(shas[code]))
        print(f"| {table} | {code} | {seconds[code]:.2f} | {ratio:.2f} | {peak:,.0f} | {sha} |")
    sys.stdout.flush()
    if len(set.union(*shas.values())) > 1:
        sys.exit(f"{table}: the bytes are not the same")


def search(tables: list[int]) -> None:
    """Print the CPU time per row that finding neighbors takes, plain and compiled."""
    from benchmarks.tables import generated
    from cfl_cli.core import parallel as compiled
    from cfl_cli.core.parallel import Workers
    from cfl_cli.core.process import keep_freed_memory
    from cfl_cli.methods.graph.neighbors import nearest_neighbors

    keep_freed_memory()  # as the command does
    compiled.kernel("scan", rows=compiled.ROWS)
    print("| rows | plain, µs a row | fast, µs a row |\n| --: | --: | --: |")
    for rows in tables:
        ofs = [f"of_{place}" for place in range(10)]
        features = generated(rows, seed=0).truth.select(ofs).to_numpy(order="c")
        features = (features - features.min(axis=0)) / (features.max(axis=0) - features.min(axis=0))
        spent = []
        for least in (rows + 1, 0):
            compiled.ROWS = least
            with Workers(1) as workers:
                began = process_time()
                nearest_neighbors(features, k=20, workers=workers)
                spent.append(1e6 * (process_time() - began) / rows)
        print(f"| {rows:,} | {spent[0]:.1f} | {spent[1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
