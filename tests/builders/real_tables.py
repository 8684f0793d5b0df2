"""The paper's two tables, which are not part of the project, and masks of them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.tables import MONTHS

DATA = Path(__file__).parents[3] / "shared" / "data"
needed = pytest.mark.skipif(
    not (DATA / "bank.csv").exists(), reason="the Bank and Adult tables are not beside the project"
)


def read(name):
    frame = pl.read_csv(DATA / f"{name}.csv", infer_schema=False)
    if name == "bank":
        numbers = [str(number) for number in range(1, 13)]
        frame = frame.with_columns(pl.col("month").replace_strict(MONTHS, numbers))
    return frame


def masked(truth, cfs):
    rng = np.random.default_rng(0)
    columns = []
    for name in cfs:
        domain = sorted(truth[name].unique().to_list())
        places = truth[name].replace_strict(domain, range(len(domain))).to_numpy()
        wrong = (places + rng.integers(1, len(domain), len(places))) % len(domain)
        columns.append(pl.Series(name, np.array(domain)[wrong]))
    return truth.with_columns(columns)


def schema_text(truth, cfs, ofs):
    columns = {name: {"role": "ordinary", "type": kind} for name, kind in ofs.items()}
    for name in cfs:
        values = sorted(truth[name].unique().to_list())
        columns[name] = {"role": "complementary", "values": values}
    return json.dumps({"version": 1, "columns": columns})


def kinds(truth, cfs, binary, ignored):
    others = [name for name in truth.columns if name not in (*cfs, *ignored)]
    return {name: "binary" if name in binary else "numeric" for name in others}
