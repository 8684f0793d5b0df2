"""Every problem of a table at once, what costs accuracy silently, and what a run would cost."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cfl_cli.cli.inputs import Inputs, read_table, stored_table, with_table
from cfl_cli.cli.log import complain, print_out
from cfl_cli.cli.options import Values
from cfl_cli.commands.impute.work import by_blocks
from cfl_cli.core import Shown
from cfl_cli.core.messages import count, printable
from cfl_cli.encode.findings import Finding, MisfitError
from cfl_cli.errors import CflError, DataError, SchemaError
from cfl_cli.run import arguments
from cfl_cli.run.arguments import AnySchema, Arguments, Context
from cfl_cli.run.cost import Plan, plan
from cfl_cli.run.learn import would_resume
from cfl_cli.tables import table as tables


@dataclass(frozen=True)
class Checked(Shown):
    """What keeps a run from working, what it should be warned of, and what it costs."""

    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = ()
    plan: Plan | None = None  # None: there are problems
    resumes: bool | None = None  # would a run go on with its directory? None: it has none

    @classmethod
    def failed(cls, *errors: CflError) -> "Checked":
        """Return that a schema or a file cannot be read, by the errors that say why."""
        found = []
        for error in errors:
            cause = error.cause or ("schema" if isinstance(error, SchemaError) else "file")
            more = [f"and {error.more:,} more problems"] if error.more else []
            found += [Finding(cause, str(text), "") for text in (*error.problems, *more)]
        return cls(tuple(found))

    def to_json(self) -> str:
        """Return it as JSON text, one object."""
        facts: dict[str, Any] = {
            "problems": [finding.as_dict() for finding in self.problems],
            "warnings": [finding.as_dict() for finding in self.warnings],
            "plan": None,
        }
        if self.plan is not None:
            named = asdict(self.plan)
            facts["plan"] = {
                key: named[key] for key in named if key not in ("warnings", "findings")
            }
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


def check(
    frame: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Checked:
    """Find everything that would keep a run from working; nothing in the table raises an error.

    Parameters
    ----------
    frame, schema, name, jobs, max_memory, **settings
        As in `impute`.

    Returns
    -------
    Checked
        Its `problems`, its `warnings`, and the `plan`: what a run would cost.

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
    given = Arguments.read(
        schema, settings, jobs=jobs, max_memory=max_memory, engines=True, infers=True
    )
    return check_stored(frame, given, Context(name))


def check_stored(frame: Any, given: Arguments, context: Context) -> Checked:
    """Return what is found in a table, whose cells may be on disk."""
    resumes = would_resume(frame, given, context.sources)
    return replace(_checked(frame, given, context), resumes=resumes)


def _checked(frame: Any, given: Arguments, context: Context) -> Checked:
    infer = given.limits.infer
    arguments.check_names(given.schema, infer)
    refused = tuple(
        Finding(arguments.CAUSE, said, "") for said in arguments.refusals(given.schema, infer)
    )
    try:
        cost = plan(
            frame, given.schema, given.settings, given.limits, name=context.name, near=context.near
        )
    except MisfitError as error:
        return Checked((*error.findings, *refused), error.warnings)
    except DataError as error:
        return Checked((*Checked.failed(error).problems, *refused))
    return Checked(refused, cost.findings, None if refused else cost)


# How `cfl check` reads a table: as the run would, so that it need not fit into memory.


def check_table(inputs: Inputs, source: tables.Place, how: Values, near: Path | None) -> Checked:
    """Return what is found in a table; what has to be copied goes to `near`."""
    schema, given = inputs.schema, inputs.arguments()
    if not by_blocks(inputs, source):
        table = read_table(source, how, schema, may_set_aside=True)
        return check_stored(table.frame, given, Context(source.name, near=near))
    with stored_table(source, how, schema, directory=near, may_set_aside=True) as stored:
        sources = with_table(inputs.sources, source, how, stored)
        return check_stored(stored, given, Context(source.name, sources=sources, near=near))


# What `cfl check` found, in words: problems, warnings, and what a run would cost.


def show(checked: Checked, form: str, *, name: str, quiet: bool = False) -> None:
    """Print what was found; `name` is that of the table, before each line of text."""
    if form == "json":
        print_out(checked.to_json() + "\n")
        return
    place = f"{name}: " if name else ""
    complain(*(f"{place}{finding.text}" for finding in checked.problems))
    if not quiet:
        print_out(describe(checked, place=place))


def lines(checked: Checked) -> list[str]:
    """Return everything in words, problems first."""
    problems = (f"{finding.text}" for finding in checked.problems)
    return [*map(printable, problems), *describe(checked).splitlines()]


def describe(checked: Checked, *, place: str = "") -> str:
    """Return the plan and the warnings in words, a line each, and how many there are."""
    problems, warnings = len(checked.problems), len(checked.warnings)
    lines = [
        *(_cost(checked.plan) if checked.plan else ()),
        *([] if checked.resumes is None else [_run_directory(resumes=checked.resumes)]),
        *(f"warning: {place}{finding.text}" for finding in checked.warnings),
        (f"{count(problems, 'problem')}" if problems else "no problems")
        + (f" and {count(warnings, 'warning')}" if warnings else "")
        + " found",
    ]
    return "\n".join(map(printable, lines)) + "\n"


def _cost(plan: Plan) -> list[str]:
    """Return what a run costs."""
    return [
        f"rows           {plan.rows:,} ({plan.distinct_rows:,} distinct by their OFs)",
        f"OFs            {plan.ofs} in {count(plan.features, 'feature')}",
        f"CFs            {plan.cfs} with {plan.confidences} domain values",
        f"memory, about  {_round(plan.memory_mb):,.0f} MB",
        f"time, about    {_round(plan.seconds):,g} s with these settings",
        *([] if plan.model_mb is None else [f"model, about   {_round(plan.model_mb):,g} MB"]),
    ]


def _run_directory(*, resumes: bool) -> str:
    what = "a run would go on with what is done there" if resumes else "a run can begin there"
    return f"run directory  {what}"


def _round(number: float) -> float:
    """Return the number to two digits, which is all that an estimate is good for."""
    return float(f"{number:.1e}")
