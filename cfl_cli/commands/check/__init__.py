"""`cfl check`: every problem at once, before a run (uses: impute)."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    CHECK_FORMAT,
    READING_AND_WRITING,
    Data,
    SchemaFile,
    Values,
    model_option,
    out_option,
    takes,
)

EXAMPLES = {
    "check": "cfl check people.csv --schema schema.yml",
}


@takes("check", how=READING_AND_WRITING, shown=(CHECK_FORMAT,))
def check(
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[str | None, out_option("Table that a run would write: can it?")] = None,
    model: Annotated[
        str | None,
        model_option("Model that a run would write: can it?", panel="Output"),
    ] = None,
    given: Values,
    how: Values,
    shown: Values,
) -> None:
    """Find every problem in schema and data, and estimate the memory and time of a run.

    A complementary feature (CF) is a column whose cells say what a value is not. It takes the
    options of `cfl impute`, writes nothing, and exits with code 1 if there are problems. Warnings
    are about what costs accuracy silently.
    """
    from pathlib import Path

    from cfl_cli.cli.inputs import load, sets_aside, unreadable
    from cfl_cli.cli.outputs import Outputs, check_targets, model_target
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.check import job
    from cfl_cli.commands.check.job import check_table, show
    from cfl_cli.errors import DataError, ExitCode, SchemaError, UsageError
    from cfl_cli.large.engine import check_engine
    from cfl_cli.tables import table

    listen()
    form, quiet = shown.get("format", "table"), given.get("quiet", False)
    try:
        inputs = load(schema, given, data=data)
    except (SchemaError, UsageError) as error:
        if not isinstance(error, SchemaError) and not error.cause:
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
