"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from dataclasses import replace
from typing import Any

from cfl_cli.core import budget
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.stages import Progress, Stages
from cfl_cli.errors import UsageError
from cfl_cli.jobs.arguments import OWN, AnySchema, Arguments, Context
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.confidences import Confidences
from cfl_cli.jobs.diagnostics import diagnose
from cfl_cli.jobs.explainers import OfTable
from cfl_cli.jobs.kept import refusal
from cfl_cli.jobs.learn import DECODE, at_work, learn
from cfl_cli.jobs.model import Model, Result
from cfl_cli.jobs.ran import Ran
from cfl_cli.steps.decode import decode, written
from cfl_cli.tables import frames
from cfl_cli.tables.checksum import ColumnsChecksum
from cfl_cli.trust.report import Sources


def impute(
    frame: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    progress: Progress = lambda *_: None,
    jobs: int | None = None,
    max_memory: int | None = None,
    sources: Sources | None = None,
    keep_model: bool = False,
    diagnostics: bool = True,
    **settings: Any,
) -> Result:
    """Estimate the value behind every exclusion in `frame`, a polars, pandas or pyarrow table.

    `schema` is a `Schema`, a dict of what a schema file holds, or the path of one. `settings` are
    the fields of `Settings` and win over the schema's; so do `jobs`, how many threads work, and
    `max_memory`, how many bytes may be used (also as text: "2GB"). `name` is what
    errors call the table. `progress` is called with a stage, how much of it is done and how much
    there is; if it has a method `expect`, that once, with all stages that are to come. `sources` is
    what the report holds of the files that table and schema came from; left out, it holds the
    checksum of the schema's text alone. With `keep_model` the result has a model as well, by which
    rows that come later can be answered. Without `diagnostics` it does not say which cells to look
    at, and takes less time. Where the work is done say `engine`, `scheduler`, `workers`, `run_dir`
    and `resume`, as the options of the command do. `infer` names the CFs to infer that the schema
    says were blurred for privacy.
    """
    own = (*OWN, "sources", "keep_model", "diagnostics")
    given = Arguments.read(
        schema, settings, jobs=jobs, max_memory=max_memory, own=own, engines=True, infers=True
    )
    refuse_blurred(given.schema, given.limits.infer)
    chosen = given.settings
    if keep_model and not METHODS[chosen.method].learns:
        raise UsageError(refusal(chosen.method))
    context, stages = Context(name, progress, sources), Stages(progress)
    with at_work(frame, given, context) as engine:
        learned = learn(frame, given, context, stages=stages, engine=engine, fit=keep_model)
        engine.finish()
    encoded, estimate, facts = learned.encoded, learned.estimate, learned.report
    listed = diagnose(encoded, estimate, facts.columns if diagnostics else ())
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
    checksum = ColumnsChecksum()
    checksum.add(columns)
    threads = given.limits.jobs or available_cores()
    return Result(
        frames.append(frame, columns),
        Confidences(
            {
                block.name: written(estimate.confidences, encoded.candidates, block, facts.kept)
                for block in encoded.blocks
            },
            {block.name: block.values for block in encoded.blocks},
            like=frame,
        ),
        replace(
            facts,
            timings=stages.seconds(),
            peak_memory_mb=budget.peak_mb(),
            answers_sha256=checksum.hexdigest(),
        ),
        listed,
        Model.of(learned, given.schema) if keep_model else None,
        OfTable(Ran.of(learned, frame, given.schema, name=name, jobs=threads)),
    )
