"""How `cfl impute` works on a table that need not fit into memory: rows come and go in blocks."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl
import typer

from cfl_cli.cli.inputs import Inputs, load, read_table, sets_aside, stored_table, with_table
from cfl_cli.cli.log import note
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import (
    Outputs,
    check_targets,
    model_target,
    note_rejects,
    note_signs,
    summarise,
    summarise_model,
    tried,
)
from cfl_cli.cli.progress import Display
from cfl_cli.cli.start import listen
from cfl_cli.core import process
from cfl_cli.errors import ExitCode
from cfl_cli.run.arguments import Context, refuse_blurred
from cfl_cli.run.diagnostics import in_words
from cfl_cli.run.impute import impute_frame
from cfl_cli.run.result import Model
from cfl_cli.tables import files, table
from cfl_cli.tables import table as tables
from cfl_cli.trust.report import Report

LARGE = 64_000_000  # bytes of a file whose cells are not to be in memory all at once
SMALLER = 16  # or of one that is not so much smaller than the memory there is


@dataclass(frozen=True)
class Done:
    """What came of it."""

    report: Report
    diagnostics: pl.DataFrame
    rejected: int  # records that were set aside
    model: Model | None


def by_blocks(inputs: Inputs, source: tables.Place) -> bool:
    """Return whether a table goes through in blocks: if it is large, or the engine needs files."""
    run = inputs.run
    if run.run_dir is not None:
        _try_run_directory(Path(run.run_dir).absolute())
    if run.engine != "local" or run.run_dir is not None:
        return True
    return tables.bytes_of(source) >= min(LARGE, (run.max_memory or process.available()) // SMALLER)


def _try_run_directory(path: Path) -> None:
    """Raise before the work unless files can be written where a run's folder is or will be."""
    there = next((one for one in (path, *path.parents) if files.exists(one)), path)
    if there.is_dir():
        with tried(path, f"directory {there} is not writable"):
            files.try_to_write(there / "run")


def impute_whole(
    inputs: Inputs,
    source: tables.Place,
    how: Values,
    outputs: Outputs,
    *,
    stream: IO[bytes] | None,
    keep_model: bool,
) -> Done:
    """Estimate, judge and write everything, or nothing at all; the table is in memory."""
    table = read_table(source, how, inputs.schema, checksum=True, may_set_aside=True)
    tables.check_holds(table, outputs.table)
    wanted = {"keep_model": keep_model, "diagnostics": outputs.diagnostics is not None}
    with Display(quiet=inputs.run.quiet) as display:
        sources = with_table(inputs.sources, source, how, table)
        context = Context(source.name, display, sources)
        result = impute_frame(table.frame, inputs, context, **wanted)
    outputs.write(
        result.frame,
        table,
        result.report,
        diagnostics=result.diagnostics,
        stream=stream,
        overwrite=inputs.run.overwrite,
    )
    return Done(result.report, result.diagnostics, len(table.rejects), result.model)


def impute_in_blocks(
    inputs: Inputs,
    source: tables.Place,
    how: Values,
    outputs: Outputs,
    *,
    stream: IO[bytes] | None,
    keep_model: bool,
) -> Done:
    """Estimate, judge and write everything, or nothing at all."""
    from cfl_cli.large.engine import remove_run  # noqa: PLC0415 — most tables fit into memory
    from cfl_cli.run.impute import impute_stored  # noqa: PLC0415 — the same

    schema, run, near = inputs.schema, inputs.run, outputs.near
    with (
        stored_table(source, how, schema, directory=near, may_set_aside=True) as table,
        Display(quiet=run.quiet) as display,
    ):
        table.check_holds(outputs.table)
        with (
            impute_stored(
                table,
                inputs,
                Context(source.name, display, with_table(inputs.sources, source, how, table), near),
                keep_model=keep_model,
                diagnostics=outputs.diagnostics is not None,
            ) as imputed,
            outputs.writing(stream=stream, overwrite=run.overwrite) as writer,
        ):
            for frame, block in imputed.blocks():
                writer.add(frame, block)
            report = imputed.report
            writer.finish(report, diagnostics=imputed.diagnostics)
            model = imputed.model() if keep_model else None
    remove_run(run)
    return Done(report, imputed.diagnostics, table.rejected, model)


def run_impute(
    data: str, schema: str, out: str, model: str | None, given: Values, how: Values
) -> None:
    """Do what `cfl impute` does."""
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    refuse_blurred(inputs.schema, run.infer)
    source = table.Place.to_read(data, how.get("input_format"))
    target = table.Place.to_write(out, how.get("output_format"))
    outputs = Outputs.of(target, run.report, reject=sets_aside(how), diagnostics=run.diagnostics)
    sources = [source.path, Path(schema)]
    outputs.check(sources=sources, overwrite=run.overwrite)
    kept = model_target(model) if model is not None else None
    if kept is not None:
        targets = [*outputs.paths, kept]
        check_targets(
            targets,
            sources=sources,
            overwrite=run.overwrite,
            files_only=[kept],
            folder=outputs.folder,
        )
    impute_table = impute_in_blocks if by_blocks(inputs, source) else impute_whole
    with outputs.stream() as stream:
        result = impute_table(
            inputs, source, how, outputs, stream=stream, keep_model=kept is not None
        )
    if kept is not None and result.model is not None:
        result.model.save(kept, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, result.rejected, source)
        note_signs(target, source, inputs.schema.file)
        if outputs.diagnostics:
            note(f"{outputs.diagnostics.name}: {in_words(result.diagnostics)}")
        summarise(result.report, target.name, outputs.readable)
        if kept is not None and result.model is not None:
            summarise_model(result.model, kept)
    if run.fail_on_flag and any(column.flagged for column in result.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)
