"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from cfl_cli.core import process
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.progress import Stages
from cfl_cli.core.settings import METHODS, Auto
from cfl_cli.encode.encode import decode, shortened, written
from cfl_cli.run import (
    AnySchema,
    Arguments,
    Context,
    ToldProgress,
    called,
    labelled,
    labels_of,
    refuse_blurred,
)
from cfl_cli.run.apart import parts_of
from cfl_cli.run.diagnostics import KINDS, diagnose
from cfl_cli.run.learn import DECODE, Learned, at_work, learn
from cfl_cli.run.result import AnsweredRows, Confidences, Model, Result, refusal
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.checksums import ColumnsChecksum
from cfl_cli.tables.codec import Table
from cfl_cli.tables.table import Blocks
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:
    from cfl_cli.run.draws import Drawable, Draws


def impute(
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
    keep_model: bool = False,
    diagnostics: bool = True,
    reference: Any = None,
    sources: Sources | None = None,
    name: str = "table",
    progress: ToldProgress = True,
) -> Result:
    """Estimate the value behind every exclusion of a table.

    Every setting that is None is left to the schema, or if the schema does not name it, to the
    default that is listed here.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        The table. Its complementary features (CFs) say what a value is not.
    schema : Schema, dict, str or path
        A `Schema`, a dict of what a schema file holds, the path of one, or its text.
    method : {"graph", "boost", "net", "forest", "ipal", "observed", "commonest", "auto"}, default "graph"
        How values are estimated. graph: the paper's method, on a graph of similar rows; boost:
        gradient boosting fitted to the exclusions; net: a small neural network for all CFs at once;
        forest: bagged trees fitted to the exclusions; ipal: the paper's baseline, which may pick an
        excluded value; observed: only the row's own cell, with equal confidences; commonest: the
        majority value, whatever the row (the baseline); auto: for each CF, a blend of graph, boost,
        forest and net chosen by cross-validation.
    k : int, default 20
        Number of neighbors per row.
    iterations : int or "auto", default 100
        Number of propagation steps. auto: chosen for each CF on held-out cells.
    gamma : float or "auto", default 0.25; auto if few rows have distinct OFs
        Weight of the first round's confidences in the second round; 0: no second round. auto: a
        second round only for CFs whose held-out cells it predicts better.
    metric : {"plain", "learned"}, default "plain"
        For graph, also within auto: how much each OF counts in the distance between rows. plain:
        all equally; learned: by how well it predicts a CF, if held-out cells clearly confirm it.
    ridge : float, default 0.3
        How evenly a row's neighbors are weighted; a larger value is more even.
    seed : int, default 0
        Seed of everything random, such as held-out rows.
    folds : int or "auto", default "auto"
        Number of cross-validation folds that estimate the accuracy; 0: no estimate. auto: five, or
        fewer for a large table.
    bias : float, default 1.0
        Assume some values are ruled out up to X times as often as other values, and show the
        accuracy range.
    calibration : bool, default True
        Calibrate confidences on held-out cells where that helps; imputed values stay the same.
    neighbors : {"auto", "exact"}, default "auto"
        How neighbors are searched. auto: approximately on very large tables, with a recall of at
        least 0.999 (see the report).
    correction : bool, default True
        Apply a row's own exclusions at every step. Turn it off for experiments only.
    mode : {"hard", "soft", "both"}, default "hard"
        Columns to add for each CF. hard: the imputed value and its confidence; soft: a confidence
        for every value; both: hard and soft.
    min_confidence : float, default 0.0
        Leave cells empty whose confidence is lower than this.
    keep_flagged : bool, default False
        Don't fill in columns that are flagged.
    budget : float, default no limit
        With `method="auto"`: approximate time limit of the command, in seconds. graph always runs;
        slower parts are skipped or abandoned.
    jobs : int, default all cores
        Number of threads.
    engine : {"local", "dask"}, default "local"
        Where the work is done. local: threads of this process; dask: worker processes, started here
        or by a scheduler.
    scheduler : str, default none; workers are started here
        With `engine="dask"`: address of a scheduler whose workers run on this host. A scheduler on
        another host needs TLS (tls://HOST:PORT).
    workers : int, default all cores
        With `engine="dask"`: number of worker processes to start.
    run_dir : str, default none
        Save checkpoints in this folder (about 2 kB a row), from which `resume` continues; deleted
        on success.
    resume : bool, default False
        Resume the run saved in `run_dir`, or start a new one.
    max_memory : int or str, default the memory of this machine
        Refuse a run that needs more memory than this, such as 2GB.
    infer : str or list of str, default none
        Infer this CF although the schema marks it as blurred for privacy, or several.
    keep_model : bool, default False
        Also keep a model for new rows (`Result.model`).
    diagnostics : bool, default True
        List the cells to look at. False saves time.
    reference : data frame, optional
        Other rows whose values are known, such as the last wave or a public sample. The method learns
        from them, but they are not imputed or counted. Their CFs hold values, not exclusions.
    sources : Sources, optional
        The files that table and schema came from, for the report. Default: only the checksum of the
        schema's text.
    name : str, default "table"
        Name of the table in errors.
    progress : bool or callable, default True
        True shows a bar after a second, in a terminal or a notebook; False shows nothing. A
        function is called with the stage, the finished amount and the total amount. If it has a
        method `expect`, this is called once with all stages.

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
    given = Arguments.of_call(locals())
    labels = labels_of(frame, given.schema)
    wanted = {"keep_model": keep_model, "diagnostics": diagnostics}
    with called(frame, progress, schema=given.schema) as told:
        with imputing(
            frame, given, Context(name, told, sources, reference=reference), **wanted
        ) as imputed:
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
        labelled(imputed.diagnostics, labels),
        imputed.model() if keep_model else None,
        None
        if reference is not None or parts_of(learned.encoded)
        else AnsweredRows.of_run(
            learned, frame, given.schema, name=name, jobs=threads, labels=labels
        ),
        imputed.drawable,
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
    name: str = "table"
    checksum: ColumnsChecksum = field(default_factory=ColumnsChecksum)
    drawn: "Draws | None" = None

    @property
    def drawable(self) -> "Drawable":
        from cfl_cli.run.draws import Drawable  # few runs draw values

        learned = self.learned
        estimate = replace(learned.estimate, fitted=None, null=None, raw=None)
        settings = learned.settings
        return Drawable(
            learned.encoded, estimate, self.schema, settings.seed, settings.method, self.name
        )

    def completed(self, number: int, by: Sequence[str]) -> Iterator[tuple[Any, Table | None]]:
        """Yield the rows in the long form of multiple imputation, or raise DataError."""

        def column(one: str) -> pl.Series:
            if isinstance(self.table, Blocks):
                return self.table[one]
            return frames.as_polars(self.table, [one], name=self.name)[one]

        def blocks() -> Iterator[Table]:
            is_stored = isinstance(self.table, Blocks)
            yield from self.table.blocks(ROWS_AT_ONCE) if is_stored else [Table(self.table)]

        self.drawn = self.drawable.draw(column, number, by)
        for frame, block in self.drawn.frames(blocks):
            cfs = [cf.name for cf in self.drawn.cfs]
            self.checksum.add([frames.as_polars(frame, cfs)[one] for one in cfs])
            yield frame, block

    def blocks(self, *, digits: int | None = None) -> Iterator[tuple[Any, Table]]:
        """Yield the rows with their new columns; confidences have so many digits, None: all."""
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
            columns = shortened(columns, digits)
            self.checksum.add(columns)
            yield frames.append(block.frame, columns), block

    @property
    def report(self) -> Report:
        return replace(
            self.learned.report,
            timings=self.stages.seconds(),
            peak_memory_mb=process.peak_mb(),
            warnings=(
                *self.learned.report.warnings,
                *([self.drawn.warning] if self.drawn else []),
            ),
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
        yield Imputed(table, given.schema, learned, stages, listed, context.name)
        if engine.keeps:  # not where an error has come before this
            engine.finish()
