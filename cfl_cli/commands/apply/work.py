"""How `cfl apply` works: block by block, and in the end the verdict, the files, the history."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import typer

from cfl_cli.cli.inputs import (
    Inputs,
    check_encoding,
    check_names,
    columns_to_show,
    load,
    of_model,
    open_table,
    read_table,
    sets_aside,
    signs_of,
    warn_of_cells,
    warn_of_rejects,
    with_table,
    without_words,
)
from cfl_cli.cli.log import note
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import (
    Outputs,
    check_targets,
    model_target,
    note_rejects,
    note_signs,
    summarise,
    summarise_fit,
    summarise_model,
)
from cfl_cli.cli.progress import Display
from cfl_cli.cli.start import listen
from cfl_cli.commands.apply.batch import Batch, answering
from cfl_cli.commands.impute.work import by_blocks
from cfl_cli.core import process
from cfl_cli.core.progress import Progress, Stages, introduce
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.errors import ExitCode
from cfl_cli.large import remove_run
from cfl_cli.run.arguments import Context, refuse_blurred
from cfl_cli.run.fit import fit_stored
from cfl_cli.run.learn import JUDGE
from cfl_cli.run.result import ANSWER, Model
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.trust import history
from cfl_cli.trust.history import check_appendable
from cfl_cli.trust.report import Report


@dataclass(frozen=True)
class Application:
    """A model, and where what it says goes."""

    model: Model
    settings: Settings
    outputs: Outputs
    course: Path | None
    limits: RunSettings

    def run(
        self, source: tables.Place, how: Values, *, progress: Progress
    ) -> tuple[Report, int, bool]:
        """Answer all rows, judge them and write everything, or nothing at all.

        Return the report, how many records were set aside, and if the history had the batch.
        """
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

            def new_rows() -> Iterator[tuple[tables.Table, Any]]:
                for block in blocks:
                    if not block.first:
                        check_encoding(block, source, signs, how)
                    yield block, block.frame

            with self.outputs.writing(stream=stream, overwrite=self.limits.overwrite) as writer:
                stages(ANSWER, 0, blocks.height)
                for block, answered in batch.add(new_rows(), by):
                    stages(ANSWER, block.first, blocks.height)
                    writer.table.add(frames.append(block.frame, answered.columns), block)
                stages(JUDGE, 0, 1)
                # No other run may add a batch between this one's verdict and its line.
                course = held.enter_context(history.to_append(self.course)) if self.course else None
                name = source.path.name if source.path else None
                before, cfs = None, [*self.model.encoding.domains]
                if course is not None:
                    made = self.model.checksum
                    before = course.history.before(made, batch.checksum, cfs, name=name)
                judged = batch.judged(before, diagnostics=False)
                self.model.check_unchanged()
                report = replace(
                    judged.verdict.report,
                    timings=stages.seconds(),
                    peak_memory_mb=process.peak_mb(),
                    sources=with_table(self.model.sources, source, how, blocks),
                    answers_sha256=batch.answers.hexdigest(),
                )
                writer.finish(report)
                if course and before and report.rows and not before.repeated:
                    held.push(_taken_back_if_it_fails(course))
                    course.append(history.Line.of(judged.verdict, name=name))
        return report, blocks.rejected, before is not None and before.repeated


def _taken_back_if_it_fails(course: history.OpenHistory) -> Callable[..., None]:
    def leave(kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            course.take_back()

    return leave


# How `cfl fit` works: on a table in memory, or on one that need not fit into it.


def _fit_whole(inputs: Inputs, source: tables.Place, how: Values, target: Path) -> Model:
    table = read_table(source, how, inputs.schema, checksum=True, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    with Display(quiet=inputs.run.quiet) as display:
        sources = with_table(inputs.sources, source, how, table)
        fitted = fit_stored(table.frame, inputs, Context(source.name, display, sources))
    remove_run(inputs.run)
    fitted.save(target, overwrite=inputs.run.overwrite)
    return fitted


def _fit_in_blocks(inputs: Inputs, source: tables.Place, how: Values, target: Path) -> Model:
    """Write a model of a table and return it; the table's cells are on disk."""
    near = target.resolve().parent
    with (
        open_table(
            source, how, inputs.schema, in_memory=False, directory=near, may_set_aside=True
        ) as table,
        Display(quiet=inputs.run.quiet) as display,
    ):
        warn_of_rejects(table.rejected, source)
        sources = with_table(inputs.sources, source, how, table)
        context = Context(source.name, display, sources, near)
        fitted = fit_stored(table, inputs, context)
        fitted.save(target, overwrite=inputs.run.overwrite)
    remove_run(inputs.run)
    return fitted


def run_apply(new: str, model: str, out: str, given: Values, history: Values, how: Values) -> None:
    listen()
    path = tables.local(model)
    course = tables.local(history["history"]) if "history" in history else None
    source = tables.Place.to_read(new, how.get("input_format"))
    target = tables.Place.to_write(out, how.get("output_format"))
    fitted = Model.load(path)
    settings, run = of_model(fitted, given)
    refuse_blurred(fitted.schema, run.infer)
    outputs = Outputs.of(target, run.report, reject=sets_aside(how))
    outputs.check(sources=[source.path, path, course], overwrite=run.overwrite)
    if course is not None:
        others = [source.path, path, *outputs.paths]
        check_targets([course], sources=others, overwrite=True, files_only=[course])
        check_appendable(course)
    application = Application(fitted, settings, outputs, course, run)
    with Display(quiet=run.quiet) as display:
        report, rejected, repeated = application.run(source, how, progress=display)
    if not run.quiet:
        note_rejects(outputs, rejected, source)
        note_signs(target, source, fitted.schema.file)
        summarise(report, target.name, outputs.readable)
        if course is not None and report.batch is not None:
            what = "is there already, and counts once" if repeated else "is added"
            what = what if report.rows else "has no rows, and is left out"
            note(f"{course}: batch {report.batch.number} {what}")
    if run.fail_on_flag and any(column.flagged for column in report.columns):
        raise typer.Exit(ExitCode.FLAGGED)


def run_fit(data: str, schema: str, model: str, given: Values, how: Values) -> None:
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    refuse_blurred(inputs.schema, run.infer)
    source = tables.Place.to_read(data, how.get("input_format"))
    target, paths = model_target(model), [source.path, Path(schema)]
    check_targets([target], sources=paths, overwrite=run.overwrite, files_only=[target])
    fit_table = _fit_in_blocks if by_blocks(inputs, source) else _fit_whole
    fitted = fit_table(inputs, source, how, target)
    if not run.quiet:
        summarise_fit(fitted.report, target)
        summarise_model(fitted, target)
    if run.fail_on_flag and any(column.flagged for column in fitted.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)
