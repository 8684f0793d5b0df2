"""What one wild cell does to the accuracy of `graph`, by how the column is scaled.

python -m benchmarks.wild                   a generated column of 0 to 1, with one cell replaced
python -m benchmarks.wild --data FOLDER     Bank and Adult too, as they are
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.tables import mask, read
from cfl_cli.run.impute import impute

SCALES = ("minmax", "robust", "auto")
CELLS = (None, 2.0, 10.0, 1000.0, 1e6)  # that stand in one row of the column
DOMAIN = list("abcd")
ROWS, SEED = 2000, 0


def generated(cell: float | None) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, Any]]:
    rng = np.random.default_rng(SEED)
    ofs = {name: rng.random(ROWS) for name in ("x", "noise_1", "noise_2")}
    truth = pl.DataFrame(ofs | {"cf": np.array(DOMAIN)[(ofs["x"] * len(DOMAIN)).astype(int)]})
    masked = mask(truth, {"cf": DOMAIN}, seed=SEED)
    if cell is not None:
        wild = np.where(np.arange(ROWS) == 17, cell, ofs["x"])
        masked = masked.with_columns(pl.Series("x", wild))
    columns: dict[str, Any] = {name: {"role": "ordinary", "type": "numeric"} for name in ofs}
    return masked, truth, columns | {"cf": {"role": "complementary", "values": DOMAIN}}


def accuracy(
    masked: pl.DataFrame, truth: pl.DataFrame, columns: dict[str, Any], scale: str
) -> float:
    """Return the mean accuracy over the CFs."""
    cfs = [name for name, it in columns.items() if it["role"] == "complementary"]
    schema = {"version": 1, "scale": scale, "columns": columns}
    table = impute(masked, schema, folds=0).frame
    return float(np.mean([(table[f"{cf}_imputed"] == truth[cf]).mean() for cf in cfs]))


def lines(data: Path | None, rows: int | None) -> Iterator[str]:
    yield f"| table | {' | '.join(SCALES)} |"
    yield f"| --- | {' | '.join('---' for _ in SCALES)} |"
    for cell in CELLS:
        table = generated(cell)
        named = "0 to 1" if cell is None else f"0 to 1, one cell {cell:g}"
        yield _line(named, [accuracy(*table, scale) for scale in SCALES])
    if data is None:
        return
    for name in ("bank", "adult"):
        real = read(name, data, rows=rows, seed=SEED)
        columns: dict[str, Any] = {
            of: {"role": "ordinary", "type": kind} for of, kind in real.ofs.items()
        } | {cf: {"role": "complementary", "values": it} for cf, it in real.cfs.items()}
        yield _line(name, [accuracy(real.masked, real.truth, columns, it) for it in SCALES])


def _line(name: str, accuracies: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{it:.3f}' for it in accuracies)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    for line in lines(given.data, given.rows):
        print(line, flush=True)
