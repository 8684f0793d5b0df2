"""The work of `cfl check`."""

from pathlib import Path

import typer

from cfl_cli.cli.inputs import load, sets_aside, unreadable
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import Outputs, check_targets, model_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.check import job
from cfl_cli.commands.check.job import check_table, show
from cfl_cli.errors import DataError, ExitCode, SchemaError, UsageError
from cfl_cli.large.engine import check_engine
from cfl_cli.tables import table


def run_check(
    data: str,
    schema: str,
    out: str | None,
    model: str | None,
    given: Values,
    how: Values,
    shown: Values,
) -> None:
    """Do what `cfl check` does."""
    listen()
    form, quiet = shown.get("format", "table"), given.get("quiet", False)
    try:
        inputs = load(schema, given, data=data)
    except (SchemaError, UsageError) as error:
        if not isinstance(error, SchemaError) and error.code != "swapped":
            raise
        too = unreadable(data, how, schema) if isinstance(error, SchemaError) else None
        show(job.Checked.failed(*([too] if too else []), error), form, name="", quiet=quiet)
        raise typer.Exit(error.exit_code) from error
    source = table.Place.to_read(data, how.get("input_format"))
    run, paths = inputs.run, [source.path, Path(schema)]
    check_engine(run)
    near = None
    if out is not None:
        target = table.Place.to_write(out, how.get("output_format"))
        outputs = Outputs.of(
            target, run.report, reject=sets_aside(how), diagnostics=run.diagnostics
        )
        outputs.check(sources=paths, overwrite=run.overwrite)
        paths += outputs.paths
        near = outputs.near
    if model is not None:
        kept = model_target(model)
        check_targets([kept], sources=paths, overwrite=run.overwrite, files_only=[kept])
    try:
        found = check_table(inputs, source, how, near)
    except DataError as error:
        found = job.Checked.failed(error)
        show(found, form, name="", quiet=run.quiet)
    else:
        show(found, form, name=source.name, quiet=run.quiet)
    if found.problems:
        raise typer.Exit(ExitCode.WRONG_INPUT)
