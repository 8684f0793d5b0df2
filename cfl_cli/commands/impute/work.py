"""How `cfl impute` works on a table that need not fit into memory: rows come and go in blocks."""

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import polars as pl

from cfl_cli.cli.inputs import Inputs, read_table, stored_table, with_table
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import Outputs, tried
from cfl_cli.cli.progress import Display
from cfl_cli.core import process
from cfl_cli.run.arguments import Context
from cfl_cli.run.impute import impute
from cfl_cli.run.result import Model
from cfl_cli.tables import files
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
    result = inputs.learn(impute, table, source, how, **wanted)
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
                inputs.arguments(),
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
