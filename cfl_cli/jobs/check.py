"""Every problem of a table at once, what costs accuracy silently, and what a run would cost."""

import json
from dataclasses import asdict, replace
from typing import Any

from cfl_cli.core.quick import dataclass
from cfl_cli.core.shown import Shown
from cfl_cli.errors import CflError, DataError, SchemaError
from cfl_cli.jobs import blurred
from cfl_cli.jobs.arguments import AnySchema, Arguments, Context
from cfl_cli.jobs.cost import Plan, plan
from cfl_cli.jobs.learn import would_resume
from cfl_cli.steps.findings import Finding, MisfitError


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
            found += [Finding(cause, text, "") for text in (*error.problems, *more)]
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
    """Return what is found in a polars, pandas or pyarrow table; nothing in it raises an error.

    The arguments are those of `impute`; a schema that is wrong itself is a `SchemaError`, and a
    `run_dir` that a run would refuse is a `UsageError`.
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
    blurred.check_names(given.schema, infer)
    refused = tuple(
        Finding(blurred.CAUSE, said, "") for said in blurred.refusals(given.schema, infer)
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
