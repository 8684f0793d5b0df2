"""How long `cfl apply` takes from start to exit, and its peak of memory.

    python -m benchmarks.models.speed --data DIR --method graph

A model is fitted to Bank but for 1,000 rows, and applied to 1, 1,000, 10,000 and 100,000 rows; the
larger tables repeat rows. Beside it stands what imputing old and new rows again takes, in the same
run: machines are shared and noisy, and ratios less so. Rows per second count new rows alone.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks import measure

ROWS = (1, 1000, 10_000, 100_000)
HELD_BACK = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Time and memory of applying a model.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--method", default="graph")
    parser.add_argument("--table", default="bank")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), asked.data.resolve()
        # In a process of its own: this one must stay small.
        measure.run("benchmarks.models.speed", "split", asked.table, data, folder, *asked.rows)
        schema, model = folder / "schema.yml", folder / "model.cfl"
        options = ("--method", asked.method, "--overwrite", "-q")
        again = measure.run(
            "cfl_cli", "impute", folder / "all.csv", "-s", schema, "-o", folder / "o.csv", *options
        )
        print(f"impute old and new rows: {again.seconds:.1f} s, {again.peak_mb:,.0f} MB")
        fitted = measure.run(
            "cfl_cli", "fit", folder / "old.csv", "-s", schema, "-m", model, *options
        )
        size = model.stat().st_size / 1e6
        print(f"fit: {fitted.seconds:.1f} s, {fitted.peak_mb:,.0f} MB; model {size:.1f} MB")
        for rows in asked.rows:
            costs = [
                measure.run(
                    "cfl_cli",
                    *("apply", folder / f"new_{rows}.csv", "-m", model, "-o", folder / "n.csv"),
                    *("--overwrite", "-q"),
                )
                for _ in range(asked.repeats)
            ]
            best = min(cost.seconds for cost in costs)
            cpu = min(cost.cpu_seconds for cost in costs)
            peak = max(cost.peak_mb for cost in costs)
            speed = rows / best / (HELD_BACK / again.seconds)
            print(
                f"{rows:>7,} new rows: {best:6.2f} s, {cpu:6.2f} s of processor time, {peak:,.0f} "
                f"MB; {speed:,.0f} times the rows per second of imputing all again",
                flush=True,
            )


def split(name: str, data: str, to: str, *rows: str) -> None:
    """Write `old.csv`, `all.csv` with a thousand rows more, `schema.yml`, and `new_ROWS.csv`."""
    import numpy as np

    from benchmarks import tables

    folder, table = Path(to), tables.make(name, rows=None, data=Path(data), seed=0)
    order = np.random.default_rng(0).permutation(table.masked.height)
    old, new = np.sort(order[:-HELD_BACK]), np.sort(order[-HELD_BACK:])
    (folder / "schema.yml").write_text(table.schema)
    table.masked[old].write_csv(folder / "old.csv")
    table.masked.write_csv(folder / "all.csv")
    for count in map(int, rows):
        table.masked[np.resize(new, count)].write_csv(folder / f"new_{count}.csv")


if __name__ == "__main__":
    if sys.argv[1:2] == ["split"]:
        split(*sys.argv[2:])
    else:
        main()
