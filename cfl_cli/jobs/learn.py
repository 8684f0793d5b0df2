"""What `impute` and `fit` have in common: a table is encoded, a method is run on it and judged."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from cfl_cli import __version__, estimators
from cfl_cli.core.kinds import AUTO
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Engine, available_cores
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import (
    Expected,
    Stage,
    Stages,
    Work,
    announce,
    introduce,
    telling,
)
from cfl_cli.engines.opened import open_engine
from cfl_cli.errors import SchemaError
from cfl_cli.estimators.interface import Estimate, Origin, Size
from cfl_cli.jobs.arguments import Arguments, Context
from cfl_cli.jobs.blurred import recorded
from cfl_cli.jobs.cost import check_memory, size_of
from cfl_cli.jobs.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.jobs.refit import refit
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import used_columns
from cfl_cli.steps.encode import Encoded
from cfl_cli.tables import frames
from cfl_cli.tables.checksum import checksum_of
from cfl_cli.tables.loading import is_loading
from cfl_cli.trust import verdict
from cfl_cli.trust.calibrate import calibrate
from cfl_cli.trust.report import FittedMechanism, Report, Sources

ENCODE = Stage("encode", Work.ENCODE, "encoding the table")
JUDGE = Stage("judge", Work.JUDGE, "judging the answers")
DECODE = Stage("decode", Work.DECODE, "adding the answers to the table")
JUDGE_SECONDS = 3.6e-6  # per row, CF and fold; a third of it without calibration
DECODE_SECONDS = 2e-8  # per row and value


@dataclass(frozen=True)
class Learned:
    """A table, what a method made of it, and the verdict."""

    encoded: Encoded  # with the mechanisms that were settled on
    estimate: Estimate  # with calibrated confidences
    settings: Settings  # with a γ that was settled on
    report: Report  # without timings and memory
    runs: tuple[tuple[Origin, ...], ...] = ()  # how each run went: one, or two (see `refit`)


def learn(
    frame: Any,
    given: Arguments,
    context: Context,
    *,
    stages: Stages,
    engine: Engine,
    fit: bool = True,
    then: Callable[[Encoded, Settings], Sequence[Expected]] = lambda *_: (),
) -> Learned:
    """Run the method on a table and judge the answers.

    Unless it is to `fit` something for later rows, that is left out where it costs anything.
    `then` says what is done with it afterwards, for those who want to know how long all takes.
    """
    schema, settings, limits = given.schema, given.settings, given.limits
    threads = limits.jobs or available_cores()
    stages(ENCODE, 0, 1)
    encoded = prepare(
        frame, schema, settings, name=context.name, jobs=threads, empty=engine.within("table").empty
    )
    settings, warnings = settle_gamma(encoded, settings)
    threads = check_memory(
        encoded,
        settings,
        table=0 if is_loading(frame) else frames.size(frame),
        jobs=threads,
        max_memory=limits.max_memory,
        in_memory=engine.in_memory,
    )
    engine.narrow(threads)
    folds = hidden_together(len(encoded.features), settings, encoded.groups)
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) else 1
    ahead = _expected(size_of(encoded), settings, folds=len(folds), runs=runs)
    announce([*ahead, *then(encoded, settings)], stages.progress)
    # With a mechanism to be fitted, what was fitted also says which of two runs a CF takes.
    fit = fit or runs > 1
    first, second = (engine.within(f"run {number}") for number in (1, 2))
    estimate = run(encoded, settings, folds=folds, progress=stages, engine=first, fit=fit)
    refitted = refit(
        encoded, estimate, settings, folds=folds, progress=stages, engine=second, fit=fit
    )
    encoded = refitted.encoded
    said = (*refitted.estimate.warnings, *warnings)
    estimate = replace(refitted.estimate, warnings=said)
    stages(JUDGE, 0, 1)
    if settings.calibration and METHODS[settings.method].calibrated:
        estimate = calibrate(encoded, estimate, jobs=threads)
    facts = judged(encoded, estimate, settings, fitted=refitted.fitted, jobs=threads)
    facts = replace(facts, sources=context.sources or Sources(schema_sha256=checksum(schema)))
    facts = recorded(facts, schema)
    return Learned(encoded, estimate, settings, facts, refitted.origins)


@contextmanager
def at_work(frame: Any, given: Arguments, context: Context) -> Iterator[Engine]:
    """Give the engine of a run on a table.

    Where people can watch a cluster they are told, and progress shows who is at work.
    """
    tell, limits, rows = telling(context.progress), given.limits, frames.height(frame)
    identity = _identity(frame, given, context.sources) if limits.run_dir else {}
    with open_engine(limits, rows=rows, identity=identity, near=context.near) as engine:
        if engine.dashboard:
            tell(f"Dask's dashboard: {engine.dashboard}")
        if engine.hosts > 1:
            tell(f"{engine.jobs:,} workers on {engine.hosts:,} hosts")
        introduce(engine.team, context.progress)
        yield engine


def would_resume(frame: Any, given: Arguments, sources: Sources | None) -> bool | None:
    """Return whether a run would go on with its directory, None: it has none; raise if refused."""
    limits = given.limits
    if limits.run_dir is None:
        return None
    from cfl_cli.engines.run_directory import RunDirectory  # noqa: PLC0415 — few runs have one

    identity = _identity(frame, given, sources)
    return RunDirectory.check(Path(limits.run_dir), identity, resume=limits.resume)


def _identity(frame: Any, given: Arguments, sources: Sources | None) -> dict[str, str]:
    """Return what must be the same for a run to go on with what another has done."""
    from cfl_cli.engines import on_workers  # noqa: PLC0415 — loads asyncio, which few runs need

    known, schema = sources or Sources(), given.schema
    return {
        **on_workers.versions(),
        "settings": json.dumps(given.settings.as_dict()),
        "schema": known.schema_sha256 or checksum(schema) or repr(schema),
        "reading": json.dumps(known.reading or {}, sort_keys=True),
        "data": known.table_sha256 or checksum_of(frame, used_columns(schema)),
    }


def judged(
    encoded: Encoded,
    estimate: Estimate,
    settings: Settings,
    *,
    fitted: Mapping[int, FittedMechanism],
    jobs: int,
) -> Report:
    """Return the verdict on calibrated answers; `fitted` are mechanisms, by CF."""
    return verdict.build(
        encoded,
        estimate,
        cfl_version=__version__,
        settings=settings.as_dict(),
        k=settings.k,
        always_second_round=METHODS[settings.method].second_round
        and settings.gamma not in (0, AUTO),
        keep_flagged=settings.keep_flagged,
        min_confidence=settings.min_confidence,
        bias=settings.bias,
        fitted=fitted,
        jobs=jobs,
    )


def checksum(schema: Schema) -> str | None:
    """Return the SHA-256 of a schema's text, which is that of its file if it has one."""
    with suppress(SchemaError):  # it was made in Python, and would be too large as a file
        return sha256(schema.text.encode()).hexdigest()
    return None


def _expected(size: Size, settings: Settings, *, folds: int, runs: int) -> list[Expected]:
    """Return all that is to come once the table is encoded."""
    return [
        *estimators.load(settings.method).stages(size, settings, folds=folds) * runs,
        Expected.of(JUDGE, size.rows, JUDGE_SECONDS * len(size.domains) * folds),
        Expected.of(DECODE, size.rows, DECODE_SECONDS * size.width),
    ]
