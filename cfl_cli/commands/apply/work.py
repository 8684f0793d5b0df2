"""How `cfl apply` works: block by block, and in the end the verdict, the files, the history."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from cfl_cli.cli.inputs import (
    check_columns,
    check_encoding,
    check_style,
    columns_to_show,
    digits_of,
    load,
    of_model,
    open_table,
    read_reference,
    sets_aside,
    signs_of,
    style_of,
    typing_of,
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
    exit_if_failing,
    model_target,
    note_rejects,
    summarise,
    summarise_model,
    warned_of_rejects,
)
from cfl_cli.cli.progress import shown_progress
from cfl_cli.cli.several import run_each, several
from cfl_cli.cli.start import listen
from cfl_cli.commands.apply.batch import NewRows, answering
from cfl_cli.commands.impute.work import by_blocks
from cfl_cli.core import process
from cfl_cli.core.messages import printable
from cfl_cli.core.progress import Progress, Stages, heard_by
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.large import remove_run
from cfl_cli.run import Context, refuse_blurred
from cfl_cli.run.fit import fit_stored
from cfl_cli.run.learn import JUDGE
from cfl_cli.run.result import ANSWER, Model
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.trust import history
from cfl_cli.trust.history import check_appendable
from cfl_cli.trust.report import Report


class _KeptNow(Exception):  # noqa: N818 — no error
    """The verdict on a batch keeps CFs as observed that were not."""


def _apply(
    model: Model,
    source: tables.Place,
    outputs: Outputs,
    how: Values,
    progress: Progress,
    *,
    settings: Settings,
    run: RunSettings,
    course: Path | None,
) -> tuple[Report, int, bool]:
    """Answer all rows, judge them and write everything, or nothing at all.

    Return the report, how many records were set aside, and if the history had the batch.
    """
    stages, schema = Stages(progress), model.schema
    with (
        outputs.stream() as stream,
        answering(model, run, near=outputs.near) as by,
        ExitStack() as held,
    ):
        if by.team is not None:
            heard_by(progress, "meet")(by.team)
        digits = digits_of(how, outputs.table)
        asked: dict[str, Any] = {"name": source.name, "digits": digits}
        batch = NewRows(model, settings, by.workers, **asked)
        signs: dict[str, Any] = signs_of(how, source, schema.file)
        reading = signs | {"set_aside": sets_aside(how), "columns": columns_to_show(how, schema)}
        held.enter_context(without_words(schema))
        blocks = held.enter_context(tables.reading(source, rows=batch.rows_at_once, **reading))
        names = frames.names(blocks.empty.frame)
        check_columns(names, source, signs, schema)
        warn_of_cells(blocks.empty, source, schema, model=True)
        if sets_aside(how):
            from cfl_cli.encode.set_aside import setting_aside  # few runs do

            blocks = setting_aside(blocks, schema, model.encoding)
        blocks.check_holds(outputs.table)
        typed = typing_of(how, outputs.table, schema)
        style = style_of(how, outputs.table, source, blocks, schema.file)
        check_style(style, outputs.table, schema)
        outputs = replace(outputs, style=style)
        batch.check(names)
        batch.sample.left_out = model.rows_seen(blocks)  # it is not judged by these

        def new_rows() -> Iterator[tuple[tables.Table, Any]]:
            for block in blocks:
                if not block.first and signs["encoding"] and "encoding" not in how:
                    check_encoding(block, source, signs["encoding"])
                yield block, block.frame

        line, judged = None, None
        while True:  # again if the verdict keeps CFs as observed that were written as imputed
            with (
                suppress(_KeptNow),
                outputs.writing(stream=stream, overwrite=run.overwrite) as writer,
            ):
                stages(ANSWER, 0, blocks.height)
                for block, answered in batch.add(new_rows(), by):
                    stages(ANSWER, block.first, blocks.height)
                    writer.table.add(typed(frames.append(block.frame, answered.columns)), block)
                if judged is None:
                    stages(JUDGE, 0, 1)
                    # No other run may add a batch between this one's verdict and its line.
                    line = held.enter_context(history.to_append(course)) if course else None
                    name = source.path.name if source.path else None
                    before, cfs = None, [*model.encoding.domains]
                    if line is not None:
                        before = line.history.before(model.checksum, batch.checksum, cfs, name=name)
                    judged = batch.judged(before, diagnostics=False).verdict
                    model.check_unchanged()
                    if more := judged.report.kept - batch.as_observed:
                        batch = NewRows(model, settings, by.workers, **asked, kept_now=more)
                        raise _KeptNow
                report = replace(
                    judged.report,
                    timings=stages.seconds(),
                    peak_memory_mb=process.peak_mb(),
                    sources=with_table(model.sources, source, how, blocks, style, schema),
                    answers_sha256=batch.answers.hexdigest(),
                )
                report = warned_of_rejects(report, blocks.rejected, run)
                then = None
                if line and before and report.rows and not before.repeated:
                    then = partial(line.append, history.Line.of(judged, name=name))
                writer.unlisted = {*blocks.columns} - {*schema.columns}
                writer.finish(report, then=then)
                break
    return report, blocks.rejected, before is not None and before.repeated


def run_apply(
    new: list[str], model: str, out: str, given: Values, history: Values, how: Values
) -> None:
    listen()
    if pairs := several(new, out, how.get("output_format"), report=given.get("report")):
        asked: dict[str, Any] = {"given": given, "history": history, "how": how}
        quiet = given.get("quiet", False)
        run_each(pairs, out, lambda it: _apply_to(it.data, model, it.out, **asked), quiet=quiet)
    _apply_to(new[0], model, out, given, history, how)


def _apply_to(new: str, model: str, out: str, given: Values, history: Values, how: Values) -> None:
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
    asked: dict[str, Any] = {"settings": settings, "run": run, "course": course}
    with shown_progress(quiet=run.quiet) as display:
        report, rejected, repeated = _apply(fitted, source, outputs, how, display, **asked)
    if not run.quiet:
        note_rejects(outputs, rejected, source)
        summarise(report, target.name, outputs.readable)
        if course is not None and report.batch is not None:
            what = "was already there and counts once" if repeated else "was added"
            what = what if report.rows else "has no rows and was not added"
            facts = {"file": str(course), "batch": report.batch.number, "repeated": repeated}
            note(f"{course}: batch {report.batch.number} {what}", event="batch", **facts)
            for column in report.columns:
                if column.drift and column.drift.earlier:
                    said = f"{course}: {printable(column.name)}: {column.drift.earlier[:-1]}"
                    note(said, event="drift", file=str(course), cf=column.name)
    exit_if_failing(report, run, rejected=rejected, fitted=fitted.report)


def run_fit(data: str, schema: str, model: str, given: Values, what: Values, how: Values) -> None:
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.limits
    refuse_blurred(inputs.schema, run.infer)
    source = tables.Place.to_read(data, how.get("input_format"))
    target, paths = model_target(model), [source.path, Path(schema)]
    check_targets([target], sources=paths, overwrite=run.overwrite, files_only=[target])
    near = target.resolve().parent if by_blocks(inputs, source) else None
    where: dict[str, Any] = {"in_memory": near is None, "directory": near}
    with (
        open_table(source, how, inputs.schema, may_set_aside=True, **where) as table,
        shown_progress(quiet=run.quiet) as display,
    ):
        warn_of_rejects(table.rejected, source)
        sources = with_table(inputs.sources, source, how, table, schema=inputs.schema)
        cells = table if table.whole is None else table.whole.frame
        other = read_reference(what, inputs.schema, how)
        context = Context(source.name, display, sources, near, other)
        fitted = fit_stored(cells, inputs, context)
        fitted.save(target, overwrite=run.overwrite)
    remove_run(run)
    if not run.quiet:
        summarise(fitted.report, str(target), target, fitted=True)
        summarise_model(fitted, target)
    exit_if_failing(fitted.report, run, rejected=table.rejected)
