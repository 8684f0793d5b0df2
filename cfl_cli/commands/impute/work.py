"""How `cfl impute` works: rows come in blocks and leave in blocks, a small table in one."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from cfl_cli.cli.inputs import (
    Inputs,
    check_style,
    digits_of,
    load,
    open_table,
    read_reference,
    sets_aside,
    style_of,
    typing_of,
    with_table,
)
from cfl_cli.cli.log import LOG, is_terminal, note
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import (
    Outputs,
    check_targets,
    exit_if_failing,
    model_target,
    note_rejects,
    summarise,
    summarise_model,
    tried,
    warned_of_rejects,
)
from cfl_cli.cli.progress import in_time, shown_progress
from cfl_cli.cli.several import run_each, several
from cfl_cli.cli.start import listen
from cfl_cli.core import process
from cfl_cli.core.messages import option
from cfl_cli.core.settings import AUTO
from cfl_cli.errors import Problem, UsageError
from cfl_cli.run import Context, refuse_blurred
from cfl_cli.run.cost import peak_bytes, run_seconds, size_of
from cfl_cli.run.diagnostics import in_words
from cfl_cli.run.impute import Imputed, imputing
from cfl_cli.run.result import Model
from cfl_cli.tables import files, formats
from cfl_cli.tables import table as tables

# Shares of right answers, mean over the CFs of Bank and Adult: docs/background/experiments.md.
RIGHT = {"graph": 0.69, "auto": 0.73}
LARGE = 64_000_000  # bytes of a file whose cells are not to be in memory all at once
SMALLER = 16  # or of one that is not so much smaller than the memory there is


def by_blocks(inputs: Inputs, source: tables.Place) -> bool:
    run = inputs.limits
    if run.run_dir is not None:
        # Raise before the work unless files can be written where a run's folder is or will be.
        path = Path(run.run_dir).absolute()
        there = next((one for one in (path, *path.parents) if files.exists(one)), path)
        if there.is_dir():
            with tried(path, f"directory {there} is not writable"):
                files.try_to_write(there / "run")
    if run.engine != "local" or run.run_dir is not None:
        return True
    return tables.bytes_of(source) >= min(
        LARGE, (run.max_memory or process.allowance().size) // SMALLER
    )


def run_impute(
    data: list[str],
    schema: str,
    out: str,
    *,
    model: str | None,
    given: Values,
    what: Values,
    how: Values,
) -> None:
    listen()
    if ("draws" in what) != bool(what.get("for_")):
        text = "{option} and {option2} go together: {remedy}"
        remedy = (
            "name the columns of the analysis, especially its outcome, and how many draws to make"
        )
        options = {"option": option("draws"), "option2": option("for_")}
        raise UsageError(Problem("draws-without-for", text, remedy=remedy, **options))
    names = {name: given.get(name) for name in ("report", "diagnostics", "run_dir")}
    if pairs := several(data, out, how.get("output_format"), model=model, **names):
        load(schema, given)  # once, before anything is done
        asked: dict[str, Any] = {"model": None, "given": given, "what": what, "how": how}
        quiet = given.get("quiet", False)
        run_each(pairs, out, lambda it: _impute(it.data, schema, it.out, **asked), quiet=quiet)
    _impute(data[0], schema, out, model=model, given=given, what=what, how=how)


def _impute(
    data: str, schema: str, out: str, *, model: str | None, given: Values, what: Values, how: Values
) -> None:
    inputs = load(schema, given, data=data)
    if "draws" in what and inputs.settings.folds == AUTO:  # a large table holds out fewer rows
        inputs = inputs.changed(folds=5)
    run = inputs.limits
    refuse_blurred(inputs.schema, run.infer)
    source = tables.Place.to_read(data, how.get("input_format"))
    target = tables.Place.to_write(out, how.get("output_format"))
    outputs = Outputs.of(target, run.report, reject=sets_aside(how), diagnostics=run.diagnostics)
    sources = [source.path, Path(schema)]
    outputs.check(sources=sources, overwrite=run.overwrite)
    kept = model_target(model) if model is not None else None
    if kept is not None:
        folder = target.path if target.format == formats.DATA_SET else None
        how_checked: dict[str, Any] = {"files_only": [kept], "folder": folder}
        paths = [*outputs.paths, kept]
        check_targets(paths, sources=sources, overwrite=run.overwrite, **how_checked)
    where: dict[str, Any] = {"in_memory": not by_blocks(inputs, source), "directory": outputs.near}
    wanted = {"keep_model": kept is not None, "diagnostics": outputs.diagnostics is not None}
    made: Model | None = None
    with (
        outputs.stream() as stream,
        open_table(source, how, inputs.schema, may_set_aside=True, **where) as table,
        shown_progress(quiet=run.quiet) as display,
    ):
        table.check_holds(target)
        if "draws" in what:
            from cfl_cli.run.draws import check_draws  # few runs draw values

            asked = {"name": source.name, "method": inputs.settings.method}
            check_draws(inputs.schema, table.columns, what["for_"], **asked)
            tables.check_rows((what["draws"] + 1) * len(table), target)
        typed = typing_of(how, target, inputs.schema)
        style = style_of(how, target, source, table, inputs.schema.file)
        check_style(style, target, inputs.schema)
        outputs = replace(outputs, style=style)
        known = with_table(inputs.sources, source, how, table, style)
        context = Context(
            source.name, display, known, outputs.near, read_reference(what, inputs.schema, how)
        )
        cells = table if table.whole is None else table.whole.frame
        with (
            imputing(cells, inputs, context, **wanted) as imputed,
            outputs.writing(stream=stream, overwrite=run.overwrite) as writer,
        ):
            rows: Any = imputed.blocks(digits=digits_of(how, target))
            if "draws" in what:
                rows = imputed.completed(what["draws"], what["for_"])
            for frame, block in rows:
                writer.table.add(typed(frame), block and (table.whole or block))
            report = warned_of_rejects(imputed.report, table.rejected, run)
            writer.finish(report, diagnostics=imputed.diagnostics)
            if kept is not None:
                made = imputed.model()
        rejected, suggested = (
            table.rejected,
            [] if run.quiet else _suggestion(imputed, inputs, given),
        )
    if kept is not None and made is not None:
        made.save(kept, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, rejected, source)
        if outputs.diagnostics:
            note(f"{outputs.diagnostics.name}: {in_words(imputed.diagnostics)}")
        summarise(report, target.name, outputs.readable)
        if "draws" in what:
            note(f"{target.name}: .imp 0 is the table as observed, 1 to {what['draws']} are draws")
        if kept is not None and made is not None:
            summarise_model(made, kept)
        note(*suggested)
    exit_if_failing(report, run, rejected=rejected)


def _suggestion(imputed: Imputed, inputs: Inputs, given: Values) -> list[str]:
    """Return what to say on a terminal of auto, if nobody has chosen a method and it could be run."""
    chosen = "method" in given or "method" in inputs.schema.named_settings
    if chosen or LOG.format != "text" or not is_terminal(sys.stderr):
        return []
    auto = inputs.settings.replaced({"method": AUTO})
    encoded, allowed = imputed.learned.encoded, process.allowance().size
    needed = peak_bytes(size_of(encoded), auto, table=0, jobs=1)
    if auto.contradictions() or needed > (inputs.limits.max_memory or allowed):
        return []
    share, other = (f"{100 * RIGHT[name]:.0f} %" for name in (AUTO, "graph"))
    how = {"jobs": inputs.limits.jobs}
    # As long as this run took more than was to be expected, the next one will.
    busy = sum(imputed.report.timings.values()) / run_seconds(encoded, inputs.settings, **how)
    seconds = max(busy, 1) * run_seconds(encoded, auto, **how)
    text = (
        f"method graph was used; {option('method', AUTO)} would take about {in_time(seconds)} and is "
        f"usually more accurate: {share} correct instead of {other} on the paper's tables"
    )
    return [text]
