"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from cfl_cli import __version__, estimators
from cfl_cli.core import budget
from cfl_cli.core.arrays import Floats
from cfl_cli.core.kinds import AUTO
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress, Stage, Stages, Work, announce
from cfl_cli.estimators.interface import Size
from cfl_cli.jobs.cost import check_memory, size_of
from cfl_cli.jobs.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.jobs.refit import refit
from cfl_cli.jobs.suspects import suspect_cells
from cfl_cli.schema.model import Schema
from cfl_cli.steps.decode import decode, written
from cfl_cli.tables import frames
from cfl_cli.trust import verdict
from cfl_cli.trust.calibrate import calibrate
from cfl_cli.trust.report import Report

ENCODE = Stage("encode", Work.ENCODE, "encoding the table")
JUDGE = Stage("judge", Work.JUDGE, "judging the answers")
DECODE = Stage("decode", Work.DECODE, "adding the answers to the table")
JUDGE_SECONDS = 3.6e-6  # per row, CF and fold; a third of it without calibration
DECODE_SECONDS = 2e-8  # per row and value


@dataclass(frozen=True)
class Result:
    """The table with its new columns, the confidences behind them, and the report."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    confidences: dict[str, Floats]  # per CF: n × K, columns in the domain's order
    report: Report
    suspects: pl.DataFrame  # cells that most likely rule out the true value, ranked


def impute(
    frame: Any,
    schema: Schema,
    *,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Result:
    """Estimate the value behind every exclusion in `frame`, a polars, pandas or pyarrow table.

    `settings` are the fields of `Settings` and win over the schema's; so do `jobs`, how many
    threads work, and `max_memory`, how many bytes may be used (also as text: "2GB"). `name` is what
    errors call the table. `progress` is called with a stage, how much of it is done and how much
    there is; if it has a method `expect`, that once, with all stages that are to come.
    """
    chosen = schema.settings.override(**settings)
    run_settings = schema.run.override(jobs=jobs, max_memory=max_memory)
    threads = run_settings.jobs or available_cores()
    stages = Stages(progress)
    stages(ENCODE, 0, 1)
    encoded = prepare(frame, schema, chosen, name=name, jobs=threads)
    chosen, warnings = settle_gamma(encoded, chosen)
    check_memory(
        encoded,
        chosen,
        table=frames.size(frame),
        jobs=threads,
        max_memory=run_settings.max_memory,
    )
    folds = hidden_together(len(encoded.features), chosen, encoded.groups)
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) else 1
    announce(_expected(size_of(encoded), chosen, folds=len(folds), runs=runs), progress)
    estimate = run(encoded, chosen, folds=folds, jobs=threads, progress=stages)
    refitted = refit(encoded, estimate, chosen, folds=folds, jobs=threads, progress=stages)
    encoded = refitted.encoded
    said = (*refitted.estimate.warnings, *warnings)
    estimate = replace(refitted.estimate, warnings=said)
    stages(JUDGE, 0, 1)
    if chosen.calibration and METHODS[chosen.method].calibrated:
        estimate = calibrate(encoded, estimate, jobs=threads)
    facts = verdict.build(
        encoded,
        estimate,
        cfl_version=__version__,
        settings=chosen.as_dict(),
        k=chosen.k,
        always_second_round=METHODS[chosen.method].second_round and chosen.gamma not in (0, AUTO),
        keep_flagged=chosen.keep_flagged,
        min_confidence=chosen.min_confidence,
        bias=chosen.bias,
        fitted=refitted.fitted,
        jobs=threads,
    )
    suspects = suspect_cells(encoded, estimate)
    stages(DECODE, 0, 1)
    columns = decode(
        estimate.confidences,
        encoded.candidates,
        encoded.blocks,
        answers=estimate.answers,
        mode=chosen.mode,
        kept=facts.kept,
        min_confidence=chosen.min_confidence,
    )
    return Result(
        frames.append(frame, columns),
        {
            block.name: written(estimate.confidences, encoded.candidates, block, facts.kept)
            for block in encoded.blocks
        },
        replace(facts, timings=stages.seconds(), peak_memory_mb=budget.peak_mb()),
        suspects,
    )


def _expected(size: Size, settings: Settings, *, folds: int, runs: int) -> list[Expected]:
    """Return all that is to come once the table is encoded."""
    return [
        *estimators.load(settings.method).stages(size, settings, folds=folds) * runs,
        Expected.of(JUDGE, size.rows, JUDGE_SECONDS * len(size.domains) * folds),
        Expected.of(DECODE, size.rows, DECODE_SECONDS * size.width),
    ]
