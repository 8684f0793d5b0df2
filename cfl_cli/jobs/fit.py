"""Learn once: a table and a schema in, a model out that answers rows that come later."""

from typing import Any

from cfl_cli.core.methods import METHODS
from cfl_cli.core.stages import Progress, Stages
from cfl_cli.errors import UsageError
from cfl_cli.jobs.arguments import AnySchema, Arguments
from cfl_cli.jobs.kept import refusal
from cfl_cli.jobs.learn import learn
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

    The arguments are those of `impute`.
    """
    given = Arguments.read(schema, settings, jobs=jobs, max_memory=max_memory)
    chosen, limits = given.settings, given.limits
    if not METHODS[chosen.method].learns:
        raise UsageError(refusal(chosen.method))
    learned = learn(
        frame, given.schema, chosen, limits, name=name, sources=sources, stages=Stages(progress)
    )
    return Model.of(learned, given.schema)
