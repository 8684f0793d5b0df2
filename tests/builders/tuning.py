"""A table to tune for, its schema, and a few settings to try."""

import numpy as np
import polars as pl

SCHEMA = """\
version: 1
columns:  # all of them
  x: {role: ordinary, type: numeric}
  y: {role: ordinary, type: numeric}
  one: {role: complementary, values: [a, b, c], separator: ";"}
  two: {role: complementary, values: [d, e, f, g]}
settings:
  k: 3  # few
  iterations: 60
  seed: 1
"""
FEW = {"iterations": ("auto",), "k": (3, 15), "gamma": (0.0, 0.25), "ridge": (0.3,)}


def table(rows, *, seed=0):
    random = np.random.default_rng(seed)
    x, y = random.random(rows), random.random(rows)
    columns = {"x": x.round(3).astype(str), "y": y.round(3).astype(str)}
    for name, domain, at in (("one", "abc", x), ("two", "defg", y)):
        size = len(domain)
        sure = (at * size).astype(int)
        value = np.where(random.random(rows) < 0.8, sure, random.integers(0, size, rows))
        wrong = (value + random.integers(1, size, rows)) % size
        columns[name] = np.array(list(domain))[wrong]
    return pl.DataFrame(columns)
