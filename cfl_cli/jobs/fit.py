"""Learn once: a table and a schema in, a model out that answers rows that come later."""

from typing import Any

from cfl_cli.core.methods import METHODS
from cfl_cli.core.stages import Progress, Stages
from cfl_cli.errors import UsageError
from cfl_cli.jobs.kept import refusal
from cfl_cli.jobs.learn import learn
from cfl_cli.jobs.model import Model
from cfl_cli.schema.model import Schema


def fit(
    frame: Any,
    schema: Schema,
    *,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    **settings: Any,
) -> Model:
    """Learn from `frame`, a polars, pandas or pyarrow table, and return what was learned.

    The arguments are those of `impute`.
    """
    chosen = schema.settings.override(**settings)
    limits = schema.run.override(jobs=jobs, max_memory=max_memory)
    if not METHODS[chosen.method].learns:
        raise UsageError(refusal(chosen.method))
    learned = learn(frame, schema, chosen, limits, name=name, stages=Stages(progress))
    return Model.of(learned, schema)
