"""What one wild cell does to the accuracy of `graph`, by how the column is scaled.

python -m benchmarks.wild                   a generated column of 0 to 1, with one cell replaced
python -m benchmarks.wild --data FOLDER     Bank and Adult too, as they are
"""

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.tables import Table, make, mask
from cfl_cli.run.impute import impute

SCALES = ("minmax", "robust", "auto")
CELLS = (None, 2.0, 10.0, 1000.0, 1e6)  # that stand in one row of the column
DOMAIN = list("abcd")
ROWS, SEED = 2000, 0


def generated(cell: float | None) -> Table:
    """Return a table whose CF follows from one of three OFs, of which a cell is wild."""
    rng = np.random.default_rng(SEED)
    ofs = {name: rng.random(ROWS) for name in ("x", "noise_1", "noise_2")}
    truth = pl.DataFrame(ofs | {"cf": np.array(DOMAIN)[(ofs["x"] * len(DOMAIN)).astype(int)]})
    masked = mask(truth, {"cf": DOMAIN}, seed=SEED)
    if cell is not None:
        wild = np.where(np.arange(ROWS) == 17, cell, ofs["x"])
        masked = masked.with_columns(pl.Series("x", wild))
    return Table(truth, masked, dict.fromkeys(ofs, "numeric"), {"cf": DOMAIN})


def lines(data: Path | None, rows: int | None) -> Iterator[str]:
    yield f"| table | {' | '.join(SCALES)} |"
    yield f"| --- | {' | '.join('---' for _ in SCALES)} |"
    tables: dict[str, Callable[[], Table]] = {
        "0 to 1" if cell is None else f"0 to 1, one cell {cell:g}": partial(generated, cell)
        for cell in CELLS
    }
    for name in ("bank", "adult") if data else ():
        tables[name] = partial(make, name, data=data, rows=rows, seed=SEED)
    for name, made in tables.items():
        table, means = made(), []
        for scale in SCALES:
            schema = json.loads(table.schema) | {"scale": scale}
            found = impute(table.masked, schema, folds=0).frame
            right = [(found[f"{cf}_imputed"] == table.truth[cf]).mean() for cf in table.cfs]
            means.append(f"{np.mean(right):.3f}")
        yield f"| {name} | {' | '.join(means)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    for line in lines(given.data, given.rows):
        print(line, flush=True)
