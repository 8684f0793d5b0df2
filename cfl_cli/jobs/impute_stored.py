"""The main job for a table whose cells are not in memory: rows leave as they come, in blocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

import polars as pl

from cfl_cli.core import budget
from cfl_cli.core.quick import dataclass
from cfl_cli.core.stages import Stages
from cfl_cli.jobs.arguments import Arguments, Context
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.diagnostics import diagnose
from cfl_cli.jobs.learn import DECODE, Learned, at_work, learn
from cfl_cli.jobs.model import Model
from cfl_cli.schema.model import Schema
from cfl_cli.steps.decode import decode
from cfl_cli.tables import frames
from cfl_cli.tables.checksum import ColumnsChecksum
from cfl_cli.tables.codec import Table
from cfl_cli.tables.stored import StoredTable
from cfl_cli.trust.report import Report

ROWS_AT_ONCE = 8192


@dataclass
class Imputed:
    """What is said of a table's rows, while the engine that knows it is open."""

    table: StoredTable
    schema: Schema
    learned: Learned
    stages: Stages
    diagnostics: pl.DataFrame
    checksum: ColumnsChecksum = field(default_factory=ColumnsChecksum)

    def blocks(self) -> Iterator[tuple[Any, Table]]:
        """Yield rows with their new columns, and the block of the table that they come from."""
        encoded, estimate, report = self.learned.encoded, self.learned.estimate, self.learned.report
        settings, done = self.learned.settings, 0
        for block in self.table.blocks(ROWS_AT_ONCE):
            self.stages(DECODE, done, self.table.height)
            part = slice(done, done + len(block.frame))
            columns = decode(
                estimate.confidences[part],
                encoded.candidates[part],
                encoded.blocks,
                answers=None if estimate.answers is None else estimate.answers[part],
                mode=settings.mode,
                kept=report.kept,
                min_confidence=settings.min_confidence,
            )
            self.checksum.add(columns)
            done = part.stop
            yield frames.append(block.frame, columns), block

    @property
    def report(self) -> Report:
        """Return the report, once all blocks have been asked for."""
        return replace(
            self.learned.report,
            timings=self.stages.seconds(),
            peak_memory_mb=budget.peak_mb(),
            answers_sha256=self.checksum.hexdigest(),
        )

    def model(self) -> Model:
        """Return the model, if it was asked for."""
        return Model.of(self.learned, self.schema)


@contextmanager
def impute_stored(
    table: StoredTable,
    given: Arguments,
    context: Context,
    *,
    keep_model: bool = False,
    diagnostics: bool = False,
) -> Iterator[Imputed]:
    """Estimate the value behind every exclusion in a table whose cells are not in memory."""
    refuse_blurred(given.schema, given.limits.infer)
    stages = Stages(context.progress)
    with at_work(table, given, context) as engine:
        learned = learn(table, given, context, stages=stages, engine=engine, fit=keep_model)
        listed = diagnose(
            learned.encoded, learned.estimate, learned.report.columns if diagnostics else ()
        )
        yield Imputed(table, given.schema, learned, stages, listed)
