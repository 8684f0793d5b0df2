"""A small table with what new rows may hold, and models of it."""

import numpy as np
import polars as pl

from cfl_cli import Schema

SCHEMA = Schema.parse(
    """\
version: 1
missing: ["", "NA"]
columns:
  x: {role: ordinary, type: numeric}
  place: {role: ordinary, type: categorical}
  smokes: {role: ordinary, type: binary, values: [no, yes]}
  one: {role: complementary, values: [a, b, c], separator: ";", exact: "="}
  two: {role: complementary, values: [p, q, r, s]}
settings: {k: 5, iterations: 10}
"""
)
PLACES = ("north", "south", "west")


def table(rows=60, seed=0):
    """A table whose CFs follow from x and place, and which has a column that no schema knows."""
    rng = np.random.default_rng(seed)
    x, place = rng.random(rows).round(3), rng.integers(3, size=rows)
    first = np.minimum((x * 3).astype(int), 2)
    out = (first + rng.integers(1, 3, rows)) % 3
    second = (place + rng.integers(1, 4, rows)) % 4
    return pl.DataFrame(
        {
            "id": [f"P{number}" for number in range(rows)],
            "x": [str(number) for number in x],
            "place": [PLACES[number] for number in place],
            "smokes": np.where(rng.random(rows) < 0.3, "yes", "no"),
            "one": [
                "=" + "abc"[v] if n % 7 == 0 else "abc"[o]
                for n, (v, o) in enumerate(zip(first, out, strict=True))
            ],
            "two": ["pqrs"[number] for number in second],
        }
    )
