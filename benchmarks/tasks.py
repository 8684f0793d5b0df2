"""What is timed besides the command itself, each in a process of its own.

    python -m benchmarks.tasks TASK FOLDER

reads the table that `benchmarks.tables` wrote to FOLDER and writes `result.json` there: `seconds`
of the work alone, without starting, reading and writing, which count against `cfl`.

plain       the paper's recipe, benchmarks/plain.py
tree        one exact query of 21 neighbors (a row is its own first) in the encoded OFs with scipy's
            cKDTree and two workers: the yardstick for neighbors, weights and propagation together
weights     step 3 on the same problems: `cfl` on all rows, SLSQP on some of them
spreading   scikit-learn's LabelSpreading, kernel "knn", 20 neighbors, a fit per CF
imputer     scikit-learn's KNNImputer, 20 neighbors, on the OFs and all CFs one-hot

Neither of the last two knows what an exclusion is, so they do another, easier job on the same
encoded OFs: they are told the exact value of a fifth of the rows, which `cfl` never is, and fill in
the rest. Their accuracy is that on the rest.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from scipy.spatial import cKDTree

from benchmarks import plain, tables
from cfl_cli.core.arrays import Ints, Mask, Places
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.progress import Stages
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.graph.weights import solve

Facts = dict[str, Any]

KNOWN = 0.2  # the share of rows whose exact values the others are told
SLSQP_ROWS = 200
SETTINGS = Settings()
ITERATIONS = 100  # as by default


def run_plain(folder: Path) -> Facts:
    encoded, truth = tables.load(folder)
    stages = Stages()
    confidences = plain.estimate(
        encoded.features,
        encoded.candidates,
        encoded.known.blocks,
        k=SETTINGS.k,
        iterations=ITERATIONS,
        gamma=DEFAULT_GAMMA,
        ridge=SETTINGS.ridge,
        progress=stages,
    )
    seconds = stages.seconds()
    return {
        "seconds": sum(seconds.values()),
        "stages": seconds,
        "accuracy": tables.accuracy(confidences, encoded, truth),
    }


def run_tree(folder: Path) -> Facts:
    encoded, _ = tables.load(folder)
    tree = cKDTree(encoded.features)
    seconds, _ = timed(lambda: tree.query(encoded.features, SETTINGS.k + 1, workers=2))
    return {"seconds": seconds}


def run_weights(folder: Path) -> Facts:
    """Time `cfl` and SLSQP per row, on the neighbors by OFs; SLSQP also with its gradient given."""
    encoded, _ = tables.load(folder)
    features = encoded.features
    _, found = cKDTree(features).query(features, SETTINGS.k + 1, workers=2)
    neighbors = others(np.asarray(found, dtype=np.int64))

    def ours(jobs: int) -> float:
        with Workers(jobs) as workers:
            work = timed(lambda: solve(features, neighbors, ridge=SETTINGS.ridge, workers=workers))
        return work[0] / len(features)

    some = np.random.default_rng(0).permutation(len(features))[:SLSQP_ROWS]

    def slsqp(*, gradient: bool) -> float:
        def work() -> None:
            for row in some:
                differences = features[neighbors[row]] - features[row]
                plain.weigh(differences, ridge=SETTINGS.ridge, gradient=gradient, ftol=1e-6)

        with Workers(1):  # which holds linear algebra to one thread
            return timed(work)[0] / len(some)

    per_row = {
        "cfl, one thread": ours(1),
        "cfl, all cores": ours(available_cores()),
        "SLSQP": slsqp(gradient=False),
        "SLSQP, gradient given": slsqp(gradient=True),
    }
    return {"seconds": per_row["cfl, one thread"] * len(features), "per_row": per_row}


def others(found: Ints) -> Places:
    """Return every row's neighbors without itself, given one more than are wanted."""
    itself = found == np.arange(len(found))[:, None]
    itself[~itself.any(axis=1), -1] = True  # crowded out by its equals: the last one goes
    rest: Places = found[~itself].reshape(len(found), -1).astype(np.int32)
    return rest


def run_spreading(folder: Path) -> Facts:
    """Time LabelSpreading over all CFs; −1 is how it is told that a value is not known."""
    from sklearn.semi_supervised import LabelSpreading

    encoded, truth = tables.load(folder)
    known = draw_known(len(truth))

    def fill() -> Ints:
        fits = (
            LabelSpreading(kernel="knn", n_neighbors=SETTINGS.k, n_jobs=-1).fit(
                encoded.features, np.where(known, right, -1)
            )
            for right in truth.T
        )
        return np.column_stack([fit.transduction_ for fit in fits])

    seconds, filled = timed(fill)
    return {"seconds": seconds, "accuracy": agreement(filled, truth, encoded, known)}


def run_imputer(folder: Path) -> Facts:
    """Time KNNImputer on all CFs at once; its answer is the largest of a block's means."""
    from sklearn.impute import KNNImputer

    encoded, truth = tables.load(folder)
    known = draw_known(len(truth))
    hot = [
        np.eye(len(block.values))[right]
        for block, right in zip(encoded.blocks, truth.T, strict=True)
    ]
    blanked = np.where(known[:, None], np.hstack(hot), np.nan)
    columns = np.hstack([encoded.features, blanked])
    seconds, whole = timed(lambda: KNNImputer(n_neighbors=SETTINGS.k).fit_transform(columns))
    means = whole[:, encoded.features.shape[1] :]
    filled = np.column_stack([means[:, block.columns].argmax(axis=1) for block in encoded.blocks])
    return {"seconds": seconds, "accuracy": agreement(filled, truth, encoded, known)}


def draw_known(rows: int) -> Mask:
    return np.asarray(np.random.default_rng(0).random(rows) < KNOWN)


def agreement(filled: Ints, truth: Ints, encoded: Encoded, known: Mask) -> dict[str, float]:
    shares = (filled == truth)[~known].mean(axis=0)
    return {block.name: float(share) for block, share in zip(encoded.blocks, shares, strict=True)}


def score(folder: Path) -> Facts:
    out = pl.read_parquet(folder / "out.parquet")
    truth = pl.read_parquet(folder / "truth.parquet")
    return {"accuracy": {cf: (out[f"{cf}_imputed"] == truth[cf]).mean() for cf in truth.columns}}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = perf_counter()
    result = work()
    return perf_counter() - began, result


TASKS = {
    "plain": run_plain,
    "tree": run_tree,
    "weights": run_weights,
    "spreading": run_spreading,
    "imputer": run_imputer,
    "score": score,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Time one task on a folder's table.")
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("folder", type=Path)
    asked = parser.parse_args()
    facts = TASKS[asked.task](asked.folder)
    (asked.folder / "result.json").write_text(json.dumps(facts))
