"""Learn once: a table and a schema in, a model out that answers rows that come later."""

from dataclasses import replace
from typing import Any

from cfl_cli.core.methods import METHODS
from cfl_cli.core.stages import Progress, Stages
from cfl_cli.engines.opened import remove_run
from cfl_cli.errors import UsageError
from cfl_cli.jobs.arguments import AnySchema, Arguments, Context
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.drawn import part_of
from cfl_cli.jobs.kept import refusal
from cfl_cli.jobs.learn import at_work, learn
from cfl_cli.jobs.model import Model
from cfl_cli.trust.report import Sources


def fit(
    frame: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    sources: Sources | None = None,
    **settings: Any,
) -> Model:
    """Learn from `frame`, a polars, pandas or pyarrow table, and return what was learned.

    The arguments are those of `impute`. With `sample` it learns from so many rows, drawn at random.
    """
    given = Arguments.read(
        schema,
        settings,
        jobs=jobs,
        max_memory=max_memory,
        engines=True,
        samples=True,
        infers=True,
    )
    fitted = fit_stored(frame, given, Context(name, progress, sources))
    remove_run(given.limits)
    return fitted


def fit_stored(frame: Any, given: Arguments, context: Context) -> Model:
    """Learn from a table, whose cells may be on disk."""
    refuse_blurred(given.schema, given.limits.infer)
    chosen, name = given.settings, context.name
    if not METHODS[chosen.method].learns:
        raise UsageError(refusal(chosen.method))
    stages = Stages(context.progress)
    part = part_of(frame, given.schema, chosen, name=name, progress=stages)
    with at_work(part.frame, given, context) as engine, part.numbered(name):
        learned = learn(part.frame, given, context, stages=stages, engine=engine)
        facts = replace(learned.report, sample=part.facts)
        return Model.of(replace(learned, report=facts), given.schema)
