"""What `auto` costs, as a multiple of a classifier that is given the exact values.

    python -m benchmarks.best.multiple DIR      DIR holds bank.csv and adult.csv

The classifier is LightGBM as it comes, fitted five times for each CF, each time on four fifths of the
rows, and asked about the fifth. `cfl` is given the same rows with exclusions instead, and also
judges itself. Both take one thread; seconds are those of the processor.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
from lightgbm import LGBMClassifier
from threadpoolctl import threadpool_limits

from benchmarks.tables import Table, read
from cfl_cli import Schema, impute
from cfl_cli.encode.encode import encode

FOLDS = 5
TABLES = ("bank", 3000), ("bank", 10_000), ("adult", 3000), ("adult", 10_000)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DIR")
    data = parser.parse_args().data
    with threadpool_limits(1):
        for name, rows in TABLES:
            table = read(name, data, rows=rows, seed=0)
            took = [seconds_of_auto(table), seconds_of_lightgbm(table)]
            print(f"{name} {rows:,}: auto {took[0]:.1f} s, LightGBM {took[1]:.1f} s", end="")
            print(f", {took[0] / took[1]:.1f} times as much", flush=True)


def seconds_of_auto(table: Table) -> float:
    schema, began = Schema.parse(table.schema), process_time()
    impute(table.masked, schema, method="auto", jobs=1)
    return process_time() - began


def seconds_of_lightgbm(table: Table) -> float:
    encoded = encode(table.masked, Schema.parse(table.schema), name="table")
    features, began = encoded.features, process_time()
    parts = np.random.default_rng(0).permutation(len(features)) % FOLDS
    for cf in table.cfs:
        values = table.truth[cf].to_numpy()
        for part in range(FOLDS):
            classifier = LGBMClassifier(n_jobs=1, verbose=-1)
            classifier.fit(features[parts != part], values[parts != part])
            classifier.predict_proba(features[parts == part])
    return process_time() - began


if __name__ == "__main__":
    main()
