"""How `cfl apply` works: block by block, and in the end the verdict, the files, the history."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from cfl_cli.cli.discreet import without_words
from cfl_cli.cli.given import Values
from cfl_cli.cli.inputs import (
    check_encoding,
    columns_to_show,
    sets_aside,
    signs_of,
    warn_of_cells,
    with_table,
)
from cfl_cli.cli.other_names import check_names
from cfl_cli.cli.outputs import Outputs
from cfl_cli.cli.streams import note
from cfl_cli.core import budget
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.core.stages import Progress, Stages, introduce
from cfl_cli.jobs.answering import answering
from cfl_cli.jobs.batch import Batch
from cfl_cli.jobs.learn import JUDGE
from cfl_cli.jobs.model import ANSWER, Model
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.trust import history
from cfl_cli.trust.report import Report


@dataclass(frozen=True)
class Done:
    """What came of it."""

    report: Report
    rejected: int  # records that were set aside
    course: Path | None  # the history
    repeated: bool  # was the batch in it already?

    def note_history(self) -> None:
        """Say what became of the history."""
        batch = self.report.batch
        if self.course is None or batch is None:
            return
        what = "is there already, and counts once" if self.repeated else "is added"
        if not self.report.rows:
            what = "has no rows, and is left out"
        note(f"{self.course}: batch {batch.number} {what}")


@dataclass(frozen=True)
class Application:
    """A model, and where what it says goes."""

    model: Model
    settings: Settings
    outputs: Outputs
    course: Path | None
    limits: RunSettings

    def run(
        self, source: tables.Place, how: Values, *, progress: Progress, overwrite: bool
    ) -> Done:
        """Answer all rows, judge them and write everything, or nothing at all."""
        stages = Stages(progress)
        with (
            self.outputs.stream() as stream,
            answering(self.model, self.limits, near=self.outputs.near) as by,
            ExitStack() as held,
        ):
            introduce(by.team, progress)
            batch = Batch(self.model, self.settings, by.workers, name=source.name)
            schema = self.model.schema
            signs, aside = signs_of(how, source, schema.file), sets_aside(how)
            held.enter_context(without_words(schema))
            blocks = held.enter_context(
                tables.reading(
                    source,
                    rows=batch.rows_at_once,
                    set_aside=aside,
                    columns=columns_to_show(how, schema),
                    **signs,
                )
            )
            check_names(frames.names(blocks.empty.frame), source, signs, schema)
            warn_of_cells(blocks.empty, source, schema, model=True)
            blocks.check_holds(self.outputs.table)
            batch.check(frames.names(blocks.empty.frame))
            batch.sample.left_out = self.model.rows_seen(blocks)  # it is not judged by these
            with self.outputs.writing(stream=stream, overwrite=overwrite) as writer:

                def new_rows() -> Iterator[tuple[tables.Table, Any]]:
                    for block in blocks:
                        if not block.first:
                            check_encoding(block, source, signs, how)
                        yield block, block.frame

                stages(ANSWER, 0, blocks.height)
                for block, answered in batch.add(new_rows(), by):
                    stages(ANSWER, block.first, blocks.height)
                    writer.add(frames.append(block.frame, answered.columns), block)
                stages(JUDGE, 0, 1)
                # No other run may add a batch between this one's verdict and its line.
                course = held.enter_context(history.to_append(self.course)) if self.course else None
                name = source.path.name if source.path else None
                before = self._before(batch, course, name)
                judged = batch.judged(before, diagnostics=False)
                self.model.check_unchanged()
                took, peak = stages.seconds(), budget.peak_mb()
                report = replace(
                    judged.verdict.report,
                    timings=took,
                    peak_memory_mb=peak,
                    sources=with_table(self.model.sources, source, how, blocks),
                    answers_sha256=batch.answers.hexdigest(),
                )
                writer.finish(report)
                if course and before and report.rows and not before.repeated:
                    held.push(_taken_back_if_it_fails(course))
                    course.append(history.Line.of(judged.verdict, name=name))
        return Done(report, blocks.rejected, self.course, before is not None and before.repeated)

    def _before(
        self, batch: Batch, course: history.OpenHistory | None, name: str | None
    ) -> history.Before | None:
        """Return what precedes the batch in the history; None: there is none."""
        if course is None:
            return None
        cfs = [*self.model.encoding.domains]
        return course.history.before(self.model.checksum, batch.checksum, cfs, name=name)


def _taken_back_if_it_fails(course: history.OpenHistory) -> Callable[..., None]:
    """Return what takes back the line of a batch whose files did not get into their places."""

    def leave(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            course.take_back()

    return leave
