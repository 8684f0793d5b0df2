"""Does what is learned of CFs help to predict a label? The paper's experiment, as a pipeline.

    python -m benchmarks.models.downstream --data DIR [--table bank|adult] [--rows N | --all]

Each fold of a cross-validation learns everything from the other folds: the CFs, the scale of the
OFs and a logistic regression. No row that is predicted was seen by any of these, while the paper
estimates the CFs of all rows together. Prints, for each form that the CFs can have, F1 of the
positive label (the paper's figure) and the area under the ROC curve, as mean and standard deviation
over the folds, and the processor's seconds, which other work on the machine hardly changes:

    exact values       as if nobody had blurred the table: one column for each value
    soft, METHOD       a confidence for each value, by `ComplementaryImputer`
    hard, METHOD       its most confident value: one column for each, without its confidence
    exclusions alone   the cells as they are: one column for each value that is ruled out
    without CFs        the OFs alone
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from benchmarks.tables import CFS, TARGET, Table, read
from cfl_cli.core.arrays import Floats, Mask
from cfl_cli.sklearn import ComplementaryImputer

SCORES = {"F1": "f1", "AUC": "roc_auc"}
METHODS = ("graph", "boost", "net", "auto", "ipal", "commonest")


def learner(
    table: Table, texts: Sequence[str] = (), confidences: Sequence[str] = (), imputer: Any = None
) -> Any:
    """Return a pipeline to a logistic regression, behind an imputer if there is one.

    It takes the OFs, `texts`, which are columns of values, and `confidences`, and no column else.
    """
    numeric = [name for name, kind in table.ofs.items() if kind == "numeric"]
    named = [*(name for name in table.ofs if name not in numeric), *texts]
    features = ColumnTransformer(
        [
            ("numbers", MinMaxScaler(), numeric),
            ("values", OneHotEncoder(handle_unknown="ignore"), named),
            ("confidences", "passthrough", [*confidences]),
        ],
        remainder="drop",
    )
    steps = [] if imputer is None else [imputer.set_output(transform="polars")]
    return make_pipeline(*steps, features, LogisticRegression(max_iter=2000))


def contestants(
    table: Table, methods: Sequence[str], *, folds: int | None, jobs: int
) -> dict[str, tuple[Any, pl.DataFrame]]:
    ofs, cfs = [*table.ofs], [*table.cfs]
    entries = {"exact values": (learner(table, cfs), table.truth.select(ofs + cfs))}
    rows = table.masked.select(ofs + cfs)
    soft = [f"{cf}__{value}" for cf, values in table.cfs.items() for value in values]
    hard = [f"{cf}_imputed" for cf in cfs]
    for method in methods:
        for mode, texts, confidences in (("soft", [], soft), ("hard", hard, [])):
            imputer = ComplementaryImputer(
                table.schema, method=method, mode=mode, folds=folds, n_jobs=jobs
            )
            entries[f"{mode}, {method}"] = learner(table, texts, confidences, imputer), rows
    entries["exclusions alone"] = learner(table, cfs), rows
    entries["without CFs"] = learner(table), table.truth.select(ofs)
    return entries


def compared(
    entries: dict[str, tuple[Any, pl.DataFrame]], target: Mask, *, splits: int, seed: int
) -> dict[str, tuple[dict[str, Floats], float]]:
    folds = [*StratifiedKFold(splits, shuffle=True, random_state=seed).split(target, target)]
    found = {}
    for name, (pipeline, rows) in entries.items():
        began = time.process_time()
        told = cross_validate(pipeline, rows, target, cv=folds, scoring=SCORES, error_score="raise")
        scores = {score: np.asarray(told[f"test_{score}"]) for score in SCORES}
        found[name] = scores, time.process_time() - began
    return found


def shown(found: dict[str, tuple[dict[str, Floats], float]]) -> str:
    lines = [
        f"| CFs | {' | '.join(SCORES)} | CPU seconds |",
        f"| --- |{' --- |' * len(SCORES)} ---: |",
    ]
    for name, (scores, seconds) in found.items():
        figures = [f"{each.mean():.4f} ±{each.std():.4f}" for each in scores.values()]
        lines.append(f"| {name} | {' | '.join(figures)} | {seconds:.0f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Predict a label from what is known of CFs.")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the table")
    parser.add_argument("--table", choices=[*CFS], default="bank")
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--all", action="store_true", help="all rows of the file")
    parser.add_argument("--method", action="append", choices=METHODS, help="graph if left out")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument(
        "--folds", type=int, help="of the imputer; 0 is quicker, and leaves confidences raw"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if not (asked.data / f"{asked.table}.csv").exists():
        parser.error(f"name the folder that holds {asked.table}.csv with --data")
    rows = None if asked.all else asked.rows
    table = read(asked.table, asked.data, rows=rows, seed=asked.seed)
    column, positive = TARGET[asked.table]
    target = table.truth[column].is_in(positive).to_numpy()
    entries = contestants(table, asked.method or ["graph"], folds=asked.folds, jobs=asked.jobs)
    print(f"{asked.table}, {len(target):,} rows, {asked.splits} folds\n")
    print(shown(compared(entries, target, splits=asked.splits, seed=asked.seed)))


if __name__ == "__main__":
    main()
