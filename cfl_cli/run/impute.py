"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from cfl_cli.core import process
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.progress import Progress, Stages
from cfl_cli.core.settings import METHODS
from cfl_cli.encode.encode import decode, written
from cfl_cli.run import OWN, AnySchema, Arguments, Context, refuse_blurred
from cfl_cli.run.diagnostics import KINDS, diagnose
from cfl_cli.run.learn import DECODE, Learned, at_work, learn
from cfl_cli.run.result import AnsweredRows, Confidences, Model, Result, refusal
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.checksums import ColumnsChecksum
from cfl_cli.tables.codec import Table
from cfl_cli.tables.table import Blocks
from cfl_cli.trust.report import Report, Sources


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
    """Estimate the value behind every exclusion of a table.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        The table. Its complementary features (CFs) say what a value is not.
    schema : Schema, dict, str or path
        A `Schema`, a dict of what a schema file holds, the path of one, or its text.
    name : str, default "table"
        What errors call the table.
    progress : callable, optional
        Called with a stage, how much of it is done and how much there is; if it has a method
        `expect`, that once, with all stages that are to come.
    jobs : int, optional
        Number of threads, all cores by default. It changes no answer.
    max_memory : int or str, optional
        Bytes that may be used, also as text such as "2GB".
    sources : Sources, optional
        What the report holds of the files that table and schema came from; by default the checksum
        of the schema's text alone.
    keep_model : bool, default False
        Keep a model as well, which answers rows that come later (`Result.model`).
    diagnostics : bool, default True
        List the cells to look at. Without, it takes less time.
    **settings
        Fields of `Settings` (`method`, `k`, `mode`, …), which win over the schema's; `engine`,
        `scheduler`, `workers`, `run_dir` and `resume`, as the options of `cfl impute`; and `infer`,
        the CFs to infer although the schema says they were blurred for privacy.

    Returns
    -------
    Result
        The table with its new columns, the confidences, the report and the cells to look at.

    Raises
    ------
    SchemaError, DataError
        The schema or the table is wrong; `error.problems` lists everything that was found.
    UsageError
        An argument is wrong.
    ResourceError
        Memory or disk ran out.

    Examples
    --------
    >>> import cfl_cli, polars as pl
    >>> table = pl.DataFrame({
    ...     "age": [*range(20, 40), *range(60, 80)],
    ...     "job": ["retired", "clerk"] * 10 + ["student", "clerk"] * 10,  # what it is not
    ... })
    >>> schema = {"columns": {
    ...     "age": {"role": "ordinary", "type": "numeric"},
    ...     "job": {"role": "complementary", "values": ["student", "clerk", "retired"]},
    ... }}
    >>> result = cfl_cli.impute(table, schema, k=5)
    >>> result
    Result(40 rows, 4 columns, 1 CF: job)
    >>> result.frame["job_imputed"].unique().sort().to_list()
    ['retired', 'student']
    >>> result.report.columns[0].flagged
    False
    """
    own = (*OWN, "sources", "keep_model", "diagnostics")
    given = Arguments.read(
        schema, settings, jobs=jobs, max_memory=max_memory, own=own, engines=True, infers=True
    )
    wanted = {"keep_model": keep_model, "diagnostics": diagnostics}
    with imputing(frame, given, Context(name, progress, sources), **wanted) as imputed:
        pass
    ((filled, _),) = imputed.blocks()
    learned = imputed.learned
    encoded, estimate, kept = learned.encoded, learned.estimate, learned.report.kept
    threads = given.limits.jobs or available_cores()
    arrays = {
        block.name: written(estimate.confidences, encoded.candidates, block, kept)
        for block in encoded.blocks
    }
    return Result(
        filled,
        Confidences(arrays, {block.name: block.values for block in encoded.blocks}, like=frame),
        imputed.report,
        imputed.diagnostics,
        imputed.model() if keep_model else None,
        AnsweredRows.of_run(learned, frame, given.schema, name=name, jobs=threads),
    )


ROWS_AT_ONCE = 8192


@dataclass
class Imputed:
    """What was learned of a table; its rows leave in blocks, a table in memory as one."""

    table: Any  # a data frame, or `Blocks`
    schema: Schema
    learned: Learned
    stages: Stages
    diagnostics: pl.DataFrame
    checksum: ColumnsChecksum = field(default_factory=ColumnsChecksum)

    def blocks(self) -> Iterator[tuple[Any, Table]]:
        learned = self.learned
        encoded, estimate, settings = learned.encoded, learned.estimate, learned.settings
        is_stored = isinstance(self.table, Blocks)
        for block in self.table.blocks(ROWS_AT_ONCE) if is_stored else [Table(self.table)]:
            self.stages(DECODE, block.first, len(self.table) if is_stored else 1)
            part = slice(block.first, block.first + frames.height(block.frame))
            columns = decode(
                estimate.confidences[part],
                encoded.candidates[part],
                encoded.blocks,
                answers=None if estimate.answers is None else estimate.answers[part],
                mode=settings.mode,
                kept=learned.report.kept,
                min_confidence=settings.min_confidence,
            )
            self.checksum.add(columns)
            yield frames.append(block.frame, columns), block

    @property
    def report(self) -> Report:
        return replace(
            self.learned.report,
            timings=self.stages.seconds(),
            peak_memory_mb=process.peak_mb(),
            answers_sha256=self.checksum.hexdigest(),
        )

    def model(self) -> Model:
        return Model.of(self.learned, self.schema)


@contextmanager
def imputing(
    table: Any,
    given: Arguments,
    context: Context,
    *,
    keep_model: bool = False,
    diagnostics: bool = False,
) -> Iterator[Imputed]:
    """Estimate the value behind every exclusion in a data frame, or in `Blocks` on disk.

    A run directory is not needed any more when the `with` block has ended well.
    """
    refuse_blurred(given.schema, given.limits.infer)
    if keep_model and not METHODS[given.settings.method].learns:
        raise refusal(given.settings.method)
    stages = Stages(context.progress)
    with at_work(table, given, context) as engine:
        learned = learn(table, given, context, stages=stages, engine=engine, fit=keep_model)
        listed = pl.DataFrame(schema=KINDS)
        if diagnostics:
            listed = diagnose(learned.encoded, learned.estimate, learned.report.columns)
        yield Imputed(table, given.schema, learned, stages, listed)
        if engine.keeps:  # not where an error has come before this
            engine.finish()
