"""One task → one result, kept in the store."""

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from benchmarks import tables
from benchmarks.machine import Facts
from benchmarks.paper import labels
from benchmarks.paper.plan import Imputation, Prediction, Task
from benchmarks.paper.store import Answers, Store
from benchmarks.tables import Table
from cfl_cli import Report, Result, Schema, __version__, impute
from cfl_cli.commands.evaluate import job
from cfl_cli.core.arrays import Floats, Ints, entropies
from cfl_cli.encode.encode import Encoded, encode


def do(task: Task, store: Store, data: Path | None) -> float:
    began = perf_counter()
    table = tables.make(task.table, rows=task.rows, data=data, seed=task.seed)
    with threadpool_limits(limits=1):
        if isinstance(task, Imputation):
            found = run_method(task, part(task, table), store)
        else:
            found = run_classifier(task, table, store)
    seconds = perf_counter() - began
    facts = {"cfl_version": __version__, "task": asdict(task), "rows": table.truth.height}
    store.keep(task, facts | found | {"seconds": round(seconds, 2)})
    return seconds


def part(task: Imputation, table: Table) -> Table:
    seen = table.without(task.without)
    return seen.some(labels.halves(seen.truth.height, task.seed)[0]) if task.half else seen


def run_method(task: Imputation, table: Table, store: Store) -> Facts:
    answers, report = ask(task, table)
    if task.usual:
        store.keep_answers(task, answers)
    flagged = [column.name for column in report.columns if column.flagged]
    return {"settings": report.settings, "scores": judge(answers, table), "flagged": flagged}


def ask(task: Imputation, table: Table, **more: Any) -> tuple[dict[str, Answers], Report]:
    result = impute(table.masked, Schema.parse(table.schema), **settings(task) | more)
    answers = {
        cf: Answers(soft, hard(task, table, cf, result))
        for cf, soft in result.confidences.arrays.items()
    }
    return answers, result.report


def judge(answers: dict[str, Answers], table: Table) -> dict[str, dict[str, float]]:
    return {
        cf: score(*answers[cf], tables.places(table.truth[cf], domain))
        for cf, domain in table.cfs.items()
    }


def hard(task: Imputation, table: Table, cf: str, result: Result) -> Ints:
    """Return a method's answers, those of `observed` drawn at random, as in the paper.

    Without correction they are whatever has most confidence, also if the cell rules it out: the
    paper's too.
    """
    confidences = result.confidences.arrays[cf]
    if task.method == "observed":
        return any_candidate(confidences, seed=task.seed)
    if ("correction", False) in task.settings:
        return np.asarray(confidences.argmax(axis=1))
    return tables.places(result.frame[f"{cf}_imputed"], table.cfs[cf])


def score(confidences: Floats, answers: Ints, truth: Ints) -> dict[str, float]:
    """Return the paper's scores of n × K confidences and n answers, given by their places.

    They are those of `cfl evaluate`.
    """
    return {
        "accuracy": job.accuracy(truth, answers),
        "f1": job.macro_f1(truth, answers),
        "cross_entropy": job.cross_entropy(job.share_in_truth(truth, confidences)),
        "entropy": float(entropies(confidences, np.array([0])).mean()),
    }


def any_candidate(confidences: Floats, *, seed: int) -> Ints:
    """Return for each row the place of a value with some confidence, drawn at random.

    That is how the paper answers for `observed`, where all candidates are equal.
    """
    lots = np.random.default_rng(seed).random(confidences.shape)
    return np.asarray(np.where(confidences > 0, lots, -1).argmax(axis=1))


def settings(task: Imputation) -> Facts:
    """Return the settings of a task as `impute` takes them; confidences are the paper's."""
    return {
        "calibration": False,
        "method": task.method,
        "seed": task.seed,
        "folds": task.folds,
        "jobs": 1,
        **dict(task.settings),
    }


def run_classifier(task: Prediction, table: Table, store: Store) -> Facts:
    """Return the F1 of a classifier, and the CFs that it was told as observed."""
    encoded = encode(table.masked, Schema.parse(table.schema))
    kept: list[str] = []
    learned = None
    if task.source is not None:
        kept = flagged(task.source, store) if task.kept else []
        inputs = columns(task, task.source, labels.as_observed(encoded), encoded, kept, store)
    elif task.told == "ord":
        inputs = exact(table)
    else:
        kept = list(table.cfs)
        inputs = labels.as_observed(encoded)
    column, positive = tables.TARGET[task.table]
    target = table.truth.select(pl.col(column).is_in(positive)).to_series().to_numpy()
    features = np.hstack([encoded.features, inputs])
    if task.learned is not None:
        learn, _ = labels.halves(len(target), task.seed)
        own = columns(task, task.learned, inputs[learn], encoded, kept, store)
        learned = np.hstack([encoded.features[learn], own])
    f1 = labels.predict(features, target, task.classifier, seed=task.seed, learned=learned)
    return {"f1": f1, "kept": kept}


def flagged(source: Imputation, store: Store) -> list[str]:
    facts = store.facts(source)
    if facts is None:
        raise FileNotFoundError(f"{source.name} is yet to be run")
    return [str(cf) for cf in facts["flagged"]]


def columns(
    task: Prediction,
    source: Imputation,
    observed: Floats,
    encoded: Encoded,
    kept: list[str],
    store: Store,
) -> Floats:
    """Return the CFs' columns, n × ΣK: a run's answer, and `kept` ones as observed."""
    answered = observed.copy()
    for block in encoded.blocks:
        if block.name not in kept:
            soft, hard = store.answers(source, block.name)
            one_hot = np.eye(len(block.values))[hard]
            answered[:, block.columns] = soft if task.told.endswith("-soft") else one_hot
    return answered


def exact(table: Table) -> Floats:
    sizes = map(len, table.cfs.values())
    pairs = zip(sizes, table.places.T, strict=True)
    return np.hstack([np.eye(size)[places] for size, places in pairs])
