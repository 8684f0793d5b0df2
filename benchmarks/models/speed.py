"""How long `cfl apply` takes from start to exit, and its peak of memory.

    python -m benchmarks.models.speed --data DIR --method graph

A model is fitted to Bank but for 1,000 rows, and applied to 1, 1,000, 10,000 and 100,000 rows; the
larger tables repeat rows. Beside it stands what imputing old and new rows again takes, in the same
run: machines are shared and noisy, and ratios less so. Rows per second count new rows alone.
"""

import argparse
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
        folder = Path(name)
        # In a process of its own: this one must stay small.
        measure.run("benchmarks.models.split", asked.table, asked.data, folder, *asked.rows)
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


if __name__ == "__main__":
    main()
