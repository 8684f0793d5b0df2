"""A model as users hold it: it answers new rows, is saved and loaded."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cfl_cli.core import budget
from cfl_cli.core.messages import count
from cfl_cli.core.parallel import slices
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Stage, Stages, Work
from cfl_cli.errors import UsageError
from cfl_cli.jobs.arguments import OWN, refuse_unknown
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.confidences import Confidences
from cfl_cli.jobs.kept import CHANGEABLE, Kept
from cfl_cli.jobs.learn import JUDGE
from cfl_cli.steps.cells import used_columns
from cfl_cli.tables import frames
from cfl_cli.trust.report import Report

if TYPE_CHECKING:
    from cfl_cli.jobs.explainers import OfNewRows, OfTable
    from cfl_cli.jobs.explanation import Explanation
    from cfl_cli.jobs.suspects import SuspectCells

ANSWER = Stage("answer", Work.DECODE, "answering new rows")
WHERE = ("engine", "scheduler", "workers", "infer")  # the work is done, and what may be inferred
MENTIONED = 5  # CFs, at most, of a result in a line


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The table with its new columns, the confidences behind them, and the report."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    confidences: Confidences  # per CF a table of that kind, with a column for each value
    report: Report
    diagnostics: pl.DataFrame  # which cells to look at, and why: see `jobs.diagnostics`
    model: "Model | None" = None  # what was learned from the table, if it was to be kept
    # What explains its rows: of `impute` the encoded table, the cells that were used and what was
    # fitted, without points; of `Model.apply` the model and the rows.
    explainer: "OfTable | OfNewRows | None" = None

    def explain(self, row: int, cf: str | Sequence[str] | None = None) -> "Explanation":
        """Return why a row, numbered from 1, is answered so; `cf` names CFs, all if left out.

        Confidences are those of this result. Of a table that `impute` filled in, graph, ipal and a
        blend with graph repeat the walk over all rows, without hidden ones; of new rows that a
        model answered it takes a moment. It shows cells of the row and of its neighbors.
        """
        if self.explainer is None:
            raise UsageError("this result was not made by `impute` or `Model.apply`: call these")
        return self.explainer(row, cf)

    def __repr__(self) -> str:
        """Return what it holds, in a line."""
        report, columns = self.report, count(len(frames.names(self.frame)), "column")
        cfs = [f"{cf.name} (flagged)" if cf.flagged else cf.name for cf in report.columns]
        named = f"{', '.join(cfs[:MENTIONED])}{', …' if len(cfs) > MENTIONED else ''}"
        return f"Result({count(report.rows, 'row')}, {columns}, {count(len(cfs), 'CF')}: {named})"

    @property
    def suspects(self) -> "SuspectCells":
        """Return the cells that are most likely wrong, as `cfl suspects` shows them."""
        from cfl_cli.jobs.suspects import suspects  # noqa: PLC0415 — most results need none

        return suspects(self.report, self.diagnostics)

    def _repr_html_(self) -> str:
        """Return the same for a notebook, above the report."""
        from html import escape  # noqa: PLC0415 — the same

        return f"<p>{escape(repr(self))}</p>{self.report._repr_html_()}"


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
        these rows, beside what was so at fitting. `name` is what errors call the table. Where the
        work is done say `engine`, `scheduler` and `workers`, as the options of the command do.
        `infer` names the CFs to infer that were blurred for privacy, as at fitting.
        """
        # Whoever fits a model does without what applies it.
        from cfl_cli.jobs.answering import answering  # noqa: PLC0415 — loads late
        from cfl_cli.jobs.batch import Batch  # noqa: PLC0415 — loads late
        from cfl_cli.jobs.explainers import OfNewRows  # noqa: PLC0415 — loads late

        stages = Stages(progress)
        where = {name: settings.pop(name) for name in WHERE if name in settings}
        limits = self.schema.run.override(jobs=jobs, **where)
        refuse_blurred(self.schema, limits.infer)
        with answering(self, limits) as by:
            batch = Batch(self, self.changed(**settings), by.workers, name=name)
            cells = frames.as_polars(frame, batch.used, name=name)
            batch.check(frames.names(frame))
            cut = slices(cells.height, batch.rows_at_once) or [slice(0)]
            stages(ANSWER, 0, cells.height)
            parts = []
            for part, filled in batch.add(((part, cells[part]) for part in cut), by):
                stages(ANSWER, part.stop, cells.height)
                parts.append(filled)
            stages(JUDGE, 0, 1)
            judged = batch.judged()
        report = replace(
            judged.verdict.report,
            timings=stages.seconds(),
            peak_memory_mb=budget.peak_mb(),
            sources=self.sources,
            answers_sha256=batch.answers.hexdigest(),
        )
        columns = [
            pl.concat(series) for series in zip(*(one.columns for one in parts), strict=True)
        ]
        confidences = Confidences(
            {
                cf: np.vstack([part.confidences[cf] for part in parts])
                for cf in parts[0].confidences
            },
            {cf: domain.values for cf, domain in self.encoding.domains.items()},
            like=frame,
        )
        return Result(
            frames.append(frame, columns),
            confidences,
            report,
            judged.diagnostics,
            explainer=OfNewRows(
                self, frames.snapshot(frame, batch.used, name=name), batch.settings, name, jobs
            ),
        )

    def explain(
        self,
        frame: Any,
        row: int,
        *,
        cf: str | Sequence[str] | None = None,
        name: str = "table",
        jobs: int | None = None,
        **settings: Any,
    ) -> "Explanation":
        """Return why a new row of `frame`, numbered from 1, is answered so; no other is answered.

        `cf` names CFs, all if it is left out; the other arguments are those of `apply`.
        """
        from cfl_cli.jobs.explainers import OfNewRows  # noqa: PLC0415 — most models need none

        limits = self.schema.run.override(infer=settings.pop("infer", None))
        refuse_blurred(self.schema, limits.infer, cfs=[cf] if isinstance(cf, str) else cf)
        cells = frames.as_polars(frame, used_columns(self.schema), name=name)
        return OfNewRows(self, cells, self.changed(**settings), name, jobs)(row, cf)

    def changed(self, **settings: Any) -> Settings:
        """Return the settings with which it is applied, or raise if they belong to fitting."""
        refuse_unknown(settings, OWN)
        fixed = [name for name in settings if name not in CHANGEABLE]
        if fixed:
            raise UsageError(
                f"{fixed[0]} is decided when a model is fitted: fit again, or leave it out"
            )
        return self.settings.override(**settings)
