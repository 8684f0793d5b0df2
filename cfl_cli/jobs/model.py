"""A model as users hold it: it answers new rows, is saved and loaded."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core import budget
from cfl_cli.core.arrays import Floats
from cfl_cli.core.parallel import Workers, available_cores, slices
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Stage, Stages, Work
from cfl_cli.errors import UsageError
from cfl_cli.jobs.batch import Batch
from cfl_cli.jobs.kept import Kept
from cfl_cli.jobs.learn import JUDGE
from cfl_cli.tables import frames
from cfl_cli.trust.report import Report

ANSWER = Stage("answer", Work.DECODE, "answering new rows")
CHANGEABLE = ("mode", "min_confidence", "keep_flagged", "bias")  # settings, when it is applied


@dataclass(frozen=True)
class Result:
    """The table with its new columns, the confidences behind them, and the report."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    confidences: dict[str, Floats]  # per CF: n × K, columns in the domain's order
    report: Report
    suspects: pl.DataFrame  # cells that most likely rule out the true value, ranked
    model: "Model | None" = None  # what was learned from the table, if it was to be kept


class Model(Kept):
    """What a method has learned from a table, by which it answers rows that come later.

    `fit` makes one, and so does `impute` with `keep_model`. What it says of a row depends on that
    row alone. Do not apply one of graph, ipal or auto to the rows that it was fitted to: they would
    meet themselves among their neighbors, and figures would be too good. `impute` answers these.
    """

    def apply(
        self,
        frame: Any,
        *,
        name: str = "table",
        progress: Progress = lambda *_: None,
        jobs: int | None = None,
        **settings: Any,
    ) -> Result:
        """Estimate the value behind every exclusion in new rows, a polars, pandas or pyarrow table.

        Of the settings, `mode`, `min_confidence`, `keep_flagged` and `bias` may be others than at
        fitting; flagged CFs that are kept are those that were flagged then. The report is that of
        these rows, beside what was so at fitting. `name` is what errors call the table.
        """
        stages = Stages(progress)
        threads = self.schema.run.override(jobs=jobs).jobs or available_cores()
        with Workers(threads) as workers:
            batch = Batch(self, self.changed(**settings), workers, name=name)
            cells = frames.as_polars(frame, batch.used, name=name)
            batch.check(frames.names(frame))
            parts = []
            for part in slices(cells.height, batch.rows_at_once) or [slice(0)]:
                stages(ANSWER, part.start or 0, cells.height)
                parts.append(batch.add(cells[part]))
            stages(JUDGE, 0, 1)
            judged = batch.judged()
        report = replace(
            judged.verdict.report, timings=stages.seconds(), peak_memory_mb=budget.peak_mb()
        )
        columns = [
            pl.concat(series) for series in zip(*(one.columns for one in parts), strict=True)
        ]
        confidences = {
            cf: np.vstack([part.confidences[cf] for part in parts]) for cf in parts[0].confidences
        }
        return Result(frames.append(frame, columns), confidences, report, judged.suspects)

    def changed(self, **settings: Any) -> Settings:
        """Return the settings with which it is applied, or raise if they belong to fitting."""
        fixed = [name for name in settings if name not in CHANGEABLE]
        if fixed:
            raise UsageError(
                f"{fixed[0]} is decided when a model is fitted: fit again, or leave it out"
            )
        return self.settings.override(**settings)
