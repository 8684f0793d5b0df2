"""The main job: a table and a schema in, the table with imputed columns and a report out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import polars as pl

from cfl_cli.core import process
from cfl_cli.core.parallel import available_cores
from cfl_cli.core.progress import Stages
from cfl_cli.core.settings import METHODS, Auto
from cfl_cli.encode.encode import decode, shortened, written
from cfl_cli.run import AnySchema, Arguments, Context, refuse_blurred
from cfl_cli.run.caller import ToldProgress, called, labelled, labels_of
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
        What estimates the values. graph: the paper's method, over a graph of near rows; boost:
        gradient boosting fitted to the exclusions; net: a small neural network for all CFs at once;
        forest: bagged trees fitted to the exclusions; ipal: the paper's baseline, which may pick an
        excluded value; observed: the cells alone, all candidates alike; commonest: how common each
        value is and nothing else; auto: for each CF the blend of graph, boost, forest and net that
        its hidden cells favor.
    k : int, default 20
        How many neighbors a row has.
    iterations : int or "auto", default 100
        Steps of propagation. auto: chosen for each CF by hidden cells.
    gamma : float or "auto", default 0.25; auto where few rows are distinct by their OFs
        How much the first round's confidences count in the second; 0: no second round. auto: a
        second round only for CFs whose hidden cells favor it.
    metric : {"plain", "learned"}, default "plain"
        For graph, and as a part of auto: how much each OF counts in a distance. plain: all alike;
        learned: as much as it says about the CF, for CFs whose held-out cells are clearly better
        predicted so.
    ridge : float, default 0.3
        How evenly a row's neighbors count: larger is more even.
    seed : int, default 0
        Seed of everything random: ties between neighbors, hidden rows, masks, audits.
    folds : int or "auto", default "auto"
        Number of folds: parts of the rows whose cells are hidden in turn, to estimate accuracy; 0:
        none. auto: five, or fewer of five parts of a large table; with `method="auto"` from 2,500
        rows.
    bias : float, default 1.0
        How many times as readily some wrong values may have been ruled out as others: above 1, the
        report says what the accuracy may be then.
    calibration : bool, default True
        Calibrate confidences by hidden cells, with one power per CF where these confirm that it
        helps; answers stay the same.
    neighbors : {"auto", "exact"}, default "auto"
        How neighbors are searched: exact, or auto: approximate on very large tables (recall at
        least 0.999, reported).
    correction : bool, default True
        Apply a row's own exclusions at every step; off only to see what that does.
    mode : {"hard", "soft", "both"}, default "hard"
        Which columns to write. hard: imputed values; soft: a confidence for each value; both.
    min_confidence : float, default 0.0
        Leave an answer empty if its confidence is below this.
    keep_flagged : bool, default False
        Leave flagged CFs as observed.
    budget : float, default no limit
        With `method="auto"`: about how many seconds the command may take. graph always runs; other
        parts are skipped or given up.
    jobs : int, default all cores
        How many threads work at once.
    engine : {"local", "dask"}, default "local"
        Where the work is done. local: threads of this process; dask: worker processes, which Dask
        starts, or which a scheduler has.
    scheduler : str, default none; workers are started here
        With `engine="dask"`: the scheduler whose workers, on this host, do the work. What is not on
        this host must use TLS (tls://HOST:PORT).
    workers : int, default all cores
        With `engine="dask"`: how many worker processes to start.
    run_dir : str, default nowhere
        Keep what is done in this folder until the run has ended well, so that `resume` can go on
        with it. About 2 kB a row.
    resume : bool, default False
        Go on with what `run_dir` has of the same run, with either engine; begin it if there is
        nothing.
    max_memory : int or str, default what the machine has
        Refuse a run that needs more memory than this, such as 2GB.
    infer : str or list of str, default none
        A CF that the schema says was blurred for privacy, to be inferred all the same, or several.
    keep_model : bool, default False
        Keep a model as well, which answers rows that come later (`Result.model`).
    diagnostics : bool, default True
        List the cells to look at. Without, it takes less time.
    sources : Sources, optional
        What the report holds of the files that table and schema came from; by default the checksum
        of the schema's text alone.
    name : str, default "table"
        What errors call the table.
    progress : bool or callable, default True
        True shows a bar after a second, in a terminal or a notebook; False shows nothing. A function
        is called with a stage, how much of it is done and how much there is; if it has a method
        `expect`, that once, with all stages that are to come.

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
        with imputing(frame, given, Context(name, told, sources), **wanted) as imputed:
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
        AnsweredRows.of_run(learned, frame, given.schema, name=name, jobs=threads, labels=labels),
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
