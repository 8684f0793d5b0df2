"""What `impute` and `fit` have in common: a table is encoded, a method is run on it and judged."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from cfl_cli import __version__, methods
from cfl_cli.core.arrays import Fallback, Floats, Ints, most_confident, posterior
from cfl_cli.core.dataset import LEAST_EXACT
from cfl_cli.core.messages import count, option, quote
from cfl_cli.core.parallel import Engine, available_cores
from cfl_cli.core.progress import Expected, Progress, Stage, Stages, Work, heard_by
from cfl_cli.core.settings import AUTO, METHODS, RunSettings, Settings
from cfl_cli.encode.cells import used_columns
from cfl_cli.encode.encode import Encoded
from cfl_cli.errors import Problem, SchemaError, UsageError
from cfl_cli.large import is_in_memory, open_engine, own_versions
from cfl_cli.methods.interface import Estimate, FittedMixture, Origin, Run
from cfl_cli.run import Arguments, Context, apart, recorded
from cfl_cli.run.cost import check_memory, size_of
from cfl_cli.run.prepare import hidden_together, prepare, run, settle_gamma
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.checksums import checksum_of
from cfl_cli.tables.codec import is_loading
from cfl_cli.trust import verdict
from cfl_cli.trust.facts import ColumnFacts, calibrate
from cfl_cli.trust.mechanism import ExactAudit, fit_weights, rates
from cfl_cli.trust.report import FittedMechanism, Report, Sources

# `refit`: a second run with mechanisms fitted from exact cells. The first run takes exclusions for uniform. A mechanism is fitted for each CF whose schema asks for
# it, and all are run once more. A CF takes the second run's answers if its exact cells, hidden in
# both, audit them as clearly better than the first run's; otherwise nothing of it changes.


def refit(
    encoded: Encoded,
    estimate: Estimate,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    progress: Progress,
    **how: Any,
) -> tuple[Encoded, Estimate, dict[int, FittedMechanism], tuple[tuple[Origin, ...], ...]]:
    """Return the first run, with what a second one does clearly better.

    That is the table with the mechanisms that were taken, its estimate, what was fitted by CF, and
    the origins of each run whose answers any CF takes. `how` it is run is what `prepare.run` takes.
    """
    asked = [number for number, block in enumerate(encoded.blocks) if block.to_be_fitted]
    uniform, lacking, weights = _audits(encoded, estimate, asked), [], {}
    for cf in asked:
        block, marked = encoded.blocks[cf], encoded.blocks[cf].marked
        if marked is None:
            marked = np.zeros(len(encoded.features), dtype=bool)
        if cf not in uniform:
            hidden = 0 if estimate.hidden is None else int(marked[estimate.hidden.rows].sum())
            lacking.append(
                f"column {quote(block.name)}: fitting a mechanism needs {LEAST_EXACT} held-out "
                f"exact cells and some that are not exact, but {count(hidden, 'exact cell')} could be "
                "held out: its exclusions count as uniform"
            )
        elif (found := fit_weights(encoded.candidates[:, block.columns], marked)) is not None:
            weights[cf] = found
    estimate = replace(estimate, warnings=(*estimate.warnings, *lacking))
    changed, second = with_weights(encoded, weights), estimate
    if weights:
        second = run(changed, settings, folds=folds, progress=progress, **how)
    fitted = _audits(changed, second, weights)
    taken = {cf for cf, audit in fitted.items() if audit.clearly_better_than(uniform[cf])}
    reports = {}
    for cf, audit in uniform.items():
        even = np.ones(len(encoded.blocks[cf].values))
        reports[cf] = FittedMechanism(
            weights=tuple(np.round(weights.get(cf, even), 4).tolist()),
            taken=cf in taken,
            uniform=audit.accuracy,
            fitted=fitted[cf].accuracy if cf in fitted else None,
        )
    runs = (estimate.origins, second.origins) if taken else (estimate.origins,)
    settled = with_weights(encoded, {cf: weights[cf] for cf in taken})
    return settled, mixed_estimate(estimate, second, encoded, changed, taken), reports, runs


def with_weights(encoded: Encoded, weights: Mapping[int, Floats]) -> Encoded:
    blocks = [
        replace(block, rates=rates(weights[cf])) if cf in weights else block
        for cf, block in enumerate(encoded.blocks)
    ]
    return replace(encoded, blocks=tuple(blocks))


def mixed_estimate(
    one: Estimate, other: Estimate, encoded: Encoded, changed: Encoded, taken: set[int]
) -> Estimate:
    """Return an estimate with some CFs taken from another one of the same rows and folds.

    `encoded` and `changed` are the table with the mechanisms of the first run and of the other one.
    """
    if not taken:
        return one
    cfs = [cf in taken for cf in range(len(encoded.blocks))]
    values = np.repeat(cfs, [len(block.values) for block in encoded.blocks])
    sources = [other if from_other else one for from_other in cfs]
    hidden, null, answers = one.hidden, one.null, one.answers
    if hidden is not None and other.hidden is not None:
        rules = None
        if hidden.rules is not None and other.hidden.rules is not None:
            pair = hidden.rules, other.hidden.rules
            rules = tuple(pair[from_other][cf] for cf, from_other in enumerate(cfs))
        priors = np.where(values, other.hidden.priors, hidden.priors)
        hidden = replace(hidden, priors=priors, rules=rules)
    if null is not None and other.null is not None:
        null = replace(
            null,
            entropy=np.where(cfs, other.null.entropy, null.entropy),
            shuffled=np.where(cfs, other.null.shuffled, null.shuffled),
        )
    if answers is not None and other.answers is not None:
        answers = np.where(cfs, other.answers, answers)
    fitted = None
    if one.fitted is not None and other.fitted is not None:
        fitted = FittedMixture(
            Run(one.fitted, encoded.known.mechanisms),
            Run(other.fitted, changed.known.mechanisms),
            np.array(cfs),
        )
    return replace(
        one,
        confidences=np.where(values, other.confidences, one.confidences),
        fell_back=np.where(cfs, other.fell_back, one.fell_back),
        mass=np.where(cfs, other.mass, one.mass),
        origins=tuple(source.origins[cf] for cf, source in enumerate(sources)),
        hidden=hidden,
        null=null,
        answers=answers,
        rescued_rows=one.rescued_rows + other.rescued_rows,
        recall=min(one.recall, other.recall),
        warnings=tuple(dict.fromkeys((*one.warnings, *other.warnings))),
        fitted=fitted,
    )


def _audits(
    encoded: Encoded, estimate: Estimate, cfs: Sequence[int] | Mapping[int, Floats]
) -> dict[int, ExactAudit]:
    audits = {cf: ColumnFacts(encoded, estimate, cf).exact_audit for cf in cfs}
    return {cf: audit for cf, audit in audits.items() if audit is not None}


ENCODE = Stage("encode", Work.ENCODE, "encoding the table")
JUDGE = Stage("judge", Work.JUDGE, "evaluating held-out cells")
DECODE = Stage("decode", Work.DECODE, "adding the imputed values to the table")
JUDGE_SECONDS = 3.6e-6  # per row, CF and fold; a third of it without calibration
DECODE_SECONDS = 2e-8  # per row and value


@dataclass(frozen=True)
class Learned:
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
        frame,
        schema,
        settings,
        name=context.name,
        jobs=threads,
        empty=engine.within("table").empty,
        reference=context.reference,
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
    if threads < engine.jobs:
        engine.narrow(threads)
    folds = hidden_together(len(encoded.features), settings, encoded.groups)
    runs = 2 if any(block.to_be_fitted for block in encoded.blocks) else 1
    if hasattr(stages.progress, "expect"):
        size, cfs = size_of(encoded), len(encoded.blocks)
        ahead = [
            *methods.load(settings.method).stages(size, settings, folds=len(folds)) * runs,
            Expected.of(JUDGE, size.rows, JUDGE_SECONDS * cfs * len(folds)),
            Expected.of(DECODE, size.rows, DECODE_SECONDS * size.width),
            *then(encoded, settings),
        ]
        stages.progress.expect(ahead)
    # With a mechanism to be fitted, what was fitted also says which of two runs a CF takes.
    fit = fit or runs > 1
    first, second = (engine.within(f"run {number}") for number in (1, 2))
    asked = (
        settings
        if settings.budget is None
        else settings.replaced({"budget": settings.budget / runs})
    )
    estimate = apart.estimate(encoded, asked, folds=folds, progress=stages, engine=first, fit=fit)
    mechanisms = dict[int, FittedMechanism]()
    origins: tuple[tuple[Origin, ...], ...] = (estimate.origins,)
    if runs > 1:
        encoded, estimate, mechanisms, origins = refit(
            encoded, estimate, asked, folds=folds, progress=stages, engine=second, fit=fit
        )
    estimate = replace(estimate, warnings=(*estimate.warnings, *warnings))
    known = encoded.reference
    encoded, estimate = without_reference(encoded, estimate)
    estimate = out_of_sample(encoded, estimate)
    stages(JUDGE, 0, 1)
    traits = METHODS[settings.method]
    if settings.calibration and traits.calibrated:
        estimate = calibrate(encoded, estimate, jobs=threads)
    report = verdict.build(
        encoded,
        estimate,
        cfl_version=__version__,
        settings=settings.recorded(),
        k=settings.k,
        always_second_round=traits.second_round and settings.gamma not in (0, AUTO),
        keep_flagged=settings.keep_flagged,
        min_confidence=settings.min_confidence,
        bias=settings.bias,
        fitted=mechanisms,
        jobs=threads,
    )
    sources = context.sources or Sources(schema_sha256=schema_checksum(schema))
    report = replace(report, sources=sources, reference_rows=known or None)
    if schema.blurred:
        report = recorded(report, schema)
    return Learned(encoded, estimate, settings, report, origins)


def _check_reference(context: Context, limits: RunSettings, rows: int) -> None:
    """Raise if there is a reference that the engine would have no place for."""
    if context.reference is not None and not is_in_memory(limits, rows):
        text = "a run directory and Dask leave no room for a reference: {remedy}"
        remedy = f"leave {option('run_dir')} and {option('engine')} out, or {option('reference')}"
        raise UsageError(Problem("reference-stored", text, remedy=remedy))


def without_reference(encoded: Encoded, estimate: Estimate) -> tuple[Encoded, Estimate]:
    """Return the table and the estimate without the rows of a reference."""
    if not encoded.reference:
        return encoded, estimate
    n = len(encoded.features) - encoded.reference
    hidden, answers = estimate.hidden, estimate.answers
    if hidden is not None:
        own = hidden.rows < n
        hidden = replace(hidden, rows=hidden.rows[own], priors=hidden.priors[own])
    shorter = replace(
        estimate,
        confidences=estimate.confidences[:n],
        fell_back=estimate.fell_back[:n],
        mass=estimate.mass[:n],
        answers=None if answers is None else answers[:n],
        hidden=hidden,
    )
    return replace(encoded.some(np.arange(n)), reference=0), shorter


def out_of_sample(encoded: Encoded, estimate: Estimate) -> Estimate:
    """Return the estimate with noisy CFs by the priors that were made without a row's own cell.

    A method that has seen what a cell states says it again, and the cell counts twice. Exclusions
    don't mind, as they only rule out; of 24 noisy CFs of Bank and Adult (1,500 rows, boost), 22
    were imputed worse so, by up to 0.12. It takes priors of all rows, which five folds give.
    """
    n, hidden = len(encoded.features), estimate.hidden
    noisy = [cf for cf, block in enumerate(encoded.blocks) if block.mechanism.noisy]
    if not noisy or hidden is None or len(hidden.rows) != n:
        return estimate
    confidences, answers = np.array(estimate.confidences), estimate.answers
    fell_back, mass = np.array(estimate.fell_back), np.array(estimate.mass)
    answers = None if answers is None else np.array(answers)
    for cf in noisy:
        columns = encoded.blocks[cf].columns
        prior = np.empty_like(confidences[:, columns])
        prior[hidden.rows] = hidden.priors[:, columns]
        evidence = encoded.known.evidence[:, columns].astype(float)
        own, left = posterior(prior, evidence, over=1, fallback=Fallback.CELL)
        confidences[:, columns] = own
        mass[:, cf], fell_back[:, cf] = left[:, 0], left[:, 0] == 0
        if answers is not None:
            rule = most_confident if hidden.rules is None else hidden.rules[cf]
            answers[:, cf] = rule(prior, evidence)[0]
    return replace(
        estimate, confidences=confidences, fell_back=fell_back, mass=mass, answers=answers
    )


@contextmanager
def at_work(frame: Any, given: Arguments, context: Context) -> Iterator[Engine]:
    """Give the engine of a run on a table.

    Where people can watch a cluster they are told, and progress shows who is at work.
    """
    limits, rows = given.limits, frames.height(frame)
    _check_reference(context, limits, rows)  # before there is a run directory
    identity = _identity(frame, given, context.sources) if limits.run_dir else {}
    with open_engine(limits, rows=rows, identity=identity, near=context.near) as engine:
        if engine.dashboard:
            heard_by(context.progress, "tell")(f"Dask's dashboard: {engine.dashboard}")
        if engine.team is not None:
            heard_by(context.progress, "meet")(engine.team)
        yield engine


def would_resume(frame: Any, given: Arguments, sources: Sources | None) -> bool | None:
    """Return whether a run would go on with its directory, None: it has none; raise if refused."""
    limits = given.limits
    if limits.run_dir is None:
        return None
    from cfl_cli.large.run_directory import RunDirectory  # few runs have one

    identity = _identity(frame, given, sources)
    return RunDirectory.check(Path(limits.run_dir), identity, resume=limits.resume)


def _identity(frame: Any, given: Arguments, sources: Sources | None) -> dict[str, str]:
    known, schema = sources or Sources(), given.schema
    return {
        **own_versions(),
        "settings": json.dumps(given.settings.recorded()),
        "schema": known.schema_sha256 or schema_checksum(schema) or repr(schema),
        "reading": json.dumps(known.reading or {}, sort_keys=True),
        "data": known.table_sha256 or checksum_of(frame, used_columns(schema)),
    }


def schema_checksum(schema: Schema) -> str | None:
    """Return the SHA-256 of a schema's text, which is that of its file if it has one."""
    with suppress(SchemaError):  # it was made in Python, and would be too large as a file
        return sha256(schema.text.encode()).hexdigest()
    return None
