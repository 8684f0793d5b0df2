"""Every problem of a table at once, what costs accuracy silently, and what a run would cost."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import typer

from cfl_cli.cli.inputs import load, open_table, sets_aside, unreadable, with_table
from cfl_cli.cli.log import LOG, as_facts, columns_of, complain, note, print_out, warn
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import Outputs, check_targets, model_target
from cfl_cli.cli.pages.width import wrapped
from cfl_cli.cli.start import listen
from cfl_cli.commands.impute.work import by_blocks
from cfl_cli.core import Shown
from cfl_cli.core.messages import SEVERAL, count, option, printable, quote
from cfl_cli.core.settings import Auto
from cfl_cli.encode.findings import Finding, MisfitError
from cfl_cli.errors import CflError, DataError, ExitCode, Problem, SchemaError, UsageError
from cfl_cli.large import check_engine
from cfl_cli.run import AnySchema, Arguments, Context, labels_of, refusals
from cfl_cli.run.cost import Plan, graph_is_advised, plan_run
from cfl_cli.run.learn import would_resume
from cfl_cli.schema.model import Schema
from cfl_cli.tables import table as tables


@dataclass(frozen=True)
class Checked(Shown):
    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    plan: Plan | None = None  # None: there are problems
    resumes: bool | None = None  # would a run go on with its directory? None: it has none
    notes: tuple[str, ...] = ()  # what the schema might say as well

    @classmethod
    def failed(cls, *errors: CflError) -> "Checked":
        found = []
        for error in errors:
            cause = "schema" if isinstance(error, SchemaError) else "file"
            more = [Problem("more", "{more:,} more problems are not listed", more=error.more)]
            found += [
                Finding(error.code if error.code in _CAUSES else cause, str(one), "", source=one)
                for one in (*error.problems, *(more if error.more else []))
            ]
        return cls(tuple(found))

    def to_json(self) -> str:
        facts: dict[str, Any] = {
            "problems": [finding.as_dict() for finding in self.problems],
            "warnings": [finding.as_dict() for finding in self.warnings],
            "plan": None,
            "notes": [*self.notes],
        }
        if self.plan is not None:
            named = asdict(self.plan).items()
            facts["plan"] = {key: one for key, one in named if key not in ("warnings", "findings")}
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


# Codes of unreadable files that `cause` of the JSON names; it calls all others file or schema.
_CAUSES = frozenset(
    "blurred duplicate-column file-delimiter file-encoding file-header file-line-end file-quote "
    "swapped".split()
)


def check(
    frame: Any,
    schema: AnySchema,
    *,
    method: str | None = None,
    k: int | None = None,
    iterations: int | Auto | None = None,
    gamma: float | Auto | None = None,
    metric: Literal["plain", "learned"] | None = None,
    ridge: float | None = None,
    seed: int | None = None,
    folds: int | Auto | None = None,
    bias: float | None = None,
    calibration: bool | None = None,
    neighbors: Literal["auto", "exact"] | None = None,
    correction: bool | None = None,
    mode: Literal["hard", "soft", "both"] | None = None,
    min_confidence: float | None = None,
    keep_flagged: bool | None = None,
    budget: float | None = None,
    jobs: int | None = None,
    engine: Literal["local", "dask"] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    run_dir: str | None = None,
    resume: bool | None = None,
    max_memory: int | str | None = None,
    infer: str | Sequence[str] | None = None,
    name: str = "table",
) -> Checked:
    """Find every problem that would stop a run. Problems of the table are returned, not raised.

    Parameters
    ----------
    frame, schema
        As in `impute`.
    method, k, iterations, gamma, metric, ridge, seed, folds, bias, calibration, neighbors,
    correction, mode, min_confidence, keep_flagged, budget, jobs, engine, scheduler, workers,
    run_dir, resume, max_memory, infer
        As in `impute`.
    name : str, default "table"
        Name of the table in errors.

    Returns
    -------
    Checked
        The `problems`, the `warnings`, and the `plan` with time and memory.

    Raises
    ------
    SchemaError
        The schema itself is wrong.
    UsageError
        An argument is wrong, or a run would refuse its `run_dir`.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> cfl_cli.check(table, schema, k=5).problems
    ()
    """
    given = Arguments.of_call(locals())
    labels = labels_of(frame, given.schema)
    found = _check_stored(frame, given, Context(name))
    if labels is None:
        return found
    problems, warnings = (
        tuple(one.renumbered(labels.label) for one in some)
        for some in (found.problems, found.warnings)
    )
    return replace(found, problems=problems, warnings=warnings)


def _check_stored(frame: Any, given: Arguments, context: Context) -> Checked:
    resumes = would_resume(frame, given, context.sources)
    blurred = refusals(given.schema, given.limits.infer)
    refused = tuple(Finding(one.code, str(one), "") for one in blurred)
    where: dict[str, Any] = {"name": context.name, "near": context.near}
    try:
        cost = plan_run(frame, given.schema, given.settings, given.limits, **where)
    except MisfitError as error:
        return Checked((*error.findings, *refused), error.warnings, resumes=resumes)
    except DataError as error:
        return Checked((*Checked.failed(error).problems, *refused), resumes=resumes)
    if refused:
        return Checked(refused, cost.findings, resumes=resumes)
    return Checked((), cost.findings, cost, resumes, (*_not_said(given.schema),))


def _not_said(schema: Schema) -> Iterator[str]:
    """Yield what a schema could say of its CFs, and does not, that decides how far they are trusted."""
    lacking = [
        (name, cf)
        for name, cf in schema.complementary.items()
        if not (cf.drawn or cf.mechanism or cf.by_name)
    ]
    blocks = "; if each cell names the block that contains its value, add `drawn: in-blocks`"
    for what, more in (("exclusions", ""), ("candidates", blocks)):
        names = [name for name, cf in lacking if cf.holds_candidates == bool(more)]
        if names:
            yield (
                f"{', '.join(names)}: the schema does not say how {what} arose. If software drew them at "
                f"random, add `drawn: at-random`; if people chose them, add `drawn: by-people`{more}"
            )


# The command: it reads a table as the run would, so that it need not fit into memory.


def run_check(
    data: str,
    schema: str,
    out: str | None,
    model: str | None,
    given: Values,
    how: Values,
    shown: Values,
) -> None:
    listen()
    form, quiet = shown.get("format", "table"), given.get("quiet", False)
    try:
        inputs = load(schema, given, data=data)
    except (SchemaError, UsageError) as error:
        if not isinstance(error, SchemaError) and error.code not in _CAUSES:
            raise
        too = unreadable(data, how, schema) if isinstance(error, SchemaError) else None
        _show(Checked.failed(*([too] if too else []), error), form, name="", quiet=quiet)
        raise typer.Exit(error.exit_code) from error
    source = tables.Place.to_read(data, how.get("input_format"))
    run, paths = inputs.limits, [source.path, Path(schema)]
    check_engine(run)
    near = None
    if out is not None:
        target, reject = tables.Place.to_write(out, how.get("output_format")), sets_aside(how)
        outputs = Outputs.of(target, run.report, reject=reject, diagnostics=run.diagnostics)
        outputs.check(sources=paths, overwrite=run.overwrite)
        paths += outputs.paths
        near = outputs.near
    if model is not None:
        kept = model_target(model)
        check_targets([kept], sources=paths, overwrite=run.overwrite, files_only=[kept])
    name = source.name
    where: dict[str, Any] = {"in_memory": not by_blocks(inputs, source), "directory": near}
    try:
        with open_table(source, how, inputs.schema, may_set_aside=True, **where) as table:
            cells, sources = table if table.whole is None else table.whole.frame, None
            if table.whole is None:
                sources = with_table(inputs.sources, source, how, table, schema=inputs.schema)
            found = _check_stored(cells, inputs, Context(name, sources=sources, near=near))
    except DataError as error:
        found, name = Checked.failed(error), ""
    _show(found, form, name=name, quiet=run.quiet)
    if found.problems:
        raise typer.Exit(ExitCode.WRONG_INPUT)


# What `cfl check` found, in words: problems, warnings, and what a run would cost.

RUN_DIR = {True: "has a checkpoint that a run would resume", False: "is ready for a new run"}


def _show(checked: Checked, form: str, *, name: str, quiet: bool = False) -> None:
    if form == "json":
        print_out(f"{checked.to_json()}\n".encode())
        return
    complain(*(finding.problem(name) for finding in checked.problems))
    if quiet:
        return
    if LOG.format == "text":
        text, width = describe(checked, place=f"{name}: " if name else ""), columns_of(sys.stdout)
        print_out(wrapped(text, width) if width else text)
        return
    for finding in checked.warnings:
        problem = finding.problem(name)
        warn(str(problem), **as_facts(problem) | {"event": "warning"})
    note(*(f"{name}: {text}" for text in checked.notes), event="note", file=name)
    _log_outcome(checked, name)


def _log_outcome(checked: Checked, name: str) -> None:
    """Log the last line of a check, with what a run would cost."""
    problems, warnings = len(checked.problems), len(checked.warnings)
    facts: dict[str, Any] = {"problems": problems, "warnings": warnings}
    if plan := checked.plan:
        facts |= {"rows": plan.rows, "seconds": plan.seconds, "memory_mb": plan.memory_mb}
    note(_outcome(problems, warnings), event="checked", file=name or None, **facts)


def lines(checked: Checked) -> list[str]:
    problems = (printable(finding.text) for finding in checked.problems)
    return [*problems, *describe(checked).splitlines()]


FAR = 1.5  # times as long as foreseen


def describe(checked: Checked, *, place: str = "") -> str:
    problems, warnings = len(checked.problems), len(checked.warnings)
    lines = []
    if plan := checked.plan:
        lines = [
            f"rows           {plan.rows:,} ({plan.distinct_rows:,} with distinct OFs)",
            f"OFs            {plan.ofs}, encoded as {count(plan.features, 'feature')}",
            f"CFs            {plan.cfs} with {plan.confidences} possible values",
            f"memory, about  {_round(plan.memory_mb):,.0f} MB",
            f"time, about    {_round(plan.seconds):,g} s with these settings"
            + _around(plan.seconds, plan.factor),
        ]
        lines += [f"other methods  {one}" for one in _others(plan)]
        if plan.model_mb is not None:
            lines.append(f"model, about   {_round(plan.model_mb):,g} MB")
    if checked.resumes is not None:
        lines.append(f"run directory  {RUN_DIR[checked.resumes]}")
    lines += [f"warning: {place}{text}" for text in _brief_warnings(checked.warnings)]
    lines += [f"note: {place}{text}" for text in checked.notes]
    return "\n".join(map(printable, [*lines, _outcome(problems, warnings)])) + "\n"


def _outcome(problems: int, warnings: int) -> str:
    found = count(problems, "problem") if problems else "no problems"
    found += f" and {count(warnings, 'warning')}" if warnings else ""
    return f"{found} found"


def _brief_warnings(warnings: Sequence[Finding]) -> Iterator[str]:
    """Yield what is warned of; missing cells in several columns as one line."""
    filled = [one for one in warnings if one.code == "filled-in"]
    if len(filled) >= SEVERAL:
        filled.sort(key=lambda one: -one.count)
        most = ", ".join(f"{quote(one.column or '')} {one.count:,}" for one in filled[:SEVERAL])
        others = f" and {len(filled) - SEVERAL:,} more" if len(filled) > SEVERAL else ""
        yield (
            f"{len(filled):,} columns have missing cells, which are filled in: {most}{others} "
            f"({option('format', 'json')} lists all)"
        )
    for one in warnings:
        if len(filled) < SEVERAL or one.code != "filled-in":
            yield one.text


def _around(seconds: float, factor: float) -> str:
    """Say within what most runs are, if that is far from what is foreseen."""
    if factor < FAR:
        return ""
    return f", mostly {_round(seconds / factor):,g} to {_round(seconds * factor):,g} s"


def _others(plan: Plan) -> Iterator[str]:
    """Say what auto would take instead of graph, and if auto takes too long, what graph would."""
    if auto := plan.others.get("auto"):
        graph = plan.others.get("graph")
        if not graph and not graph_is_advised(auto.seconds, plan.seconds):
            yield f"auto: about {_round(auto.seconds):,g} s, usually more accurate"
    elif (graph := plan.others.get("graph")) and graph_is_advised(plan.seconds, graph.seconds):
        times = plan.seconds / graph.seconds
        yield f"graph: about {_round(graph.seconds):,g} s, {times:.0f} times as fast; try it first"


def _round(number: float) -> float:
    return float(f"{number:.1e}")
