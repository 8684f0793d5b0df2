"""Writes a table as old and new rows: `python -m benchmarks.models.split TABLE DATA FOLDER ROWS …`.

`old.csv`, `all.csv` with a thousand rows more, `schema.yml`, and `new_ROWS.csv` of so many rows.
"""

import sys
from pathlib import Path

import numpy as np

from benchmarks import tables

HELD_BACK = 1000


def main(name: str, data: str, to: str, *rows: str) -> None:
    folder = Path(to)
    table = tables.make(name, rows=None, data=Path(data), seed=0)
    order = np.random.default_rng(0).permutation(table.masked.height)
    old, new = np.sort(order[:-HELD_BACK]), np.sort(order[-HELD_BACK:])
    (folder / "schema.yml").write_text(table.schema)
    table.masked[old].write_csv(folder / "old.csv")
    table.masked.write_csv(folder / "all.csv")
    for count in map(int, rows):
        table.masked[np.resize(new, count)].write_csv(folder / f"new_{count}.csv")


if __name__ == "__main__":
    main(*sys.argv[1:])
