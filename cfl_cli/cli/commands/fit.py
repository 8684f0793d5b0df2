"""`cfl fit`: learn once."""

from typing import Annotated

import typer

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import READING, Data, SchemaFile, model_option

EXAMPLE = "cfl fit people.csv --schema schema.yml --model people.cfl"


@takes("fit", how=READING)
def fit(
    data: Data,
    schema: SchemaFile,
    model: Annotated[str, model_option("Model to write, by convention .cfl.", panel="Output")],
    *,
    given: Values,
    how: Values,
) -> None:
    """Learn from a table and keep a model, by which `cfl apply` fills in new rows later.

    A complementary feature (CF) is a column whose cells say what a value is not. The model is one
    file that holds the schema, the settings, the report and what was learned; methods graph
    and ipal, and auto where graph counts, keep features and confidences of the table's rows in it,
    boost and net do not. Of a table with more rows than one can learn from, --sample draws some.
    """
    from pathlib import Path

    from cfl_cli.cli.fits import fit_in_blocks, fit_whole
    from cfl_cli.cli.imputes import by_blocks
    from cfl_cli.cli.inputs import load
    from cfl_cli.cli.outputs import check_targets, model_target
    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.summary import summarise_fit, summarise_model
    from cfl_cli.errors import ExitCode
    from cfl_cli.jobs.blurred import refuse_blurred
    from cfl_cli.tables import table as tables

    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    refuse_blurred(inputs.schema, run.infer)
    source = tables.Place.to_read(data, how.get("input_format"))
    target = model_target(model)
    check_targets(
        [target],
        sources=[source.path, Path(schema)],
        overwrite=run.overwrite,
        files_only=[target],
    )
    fit_table = fit_in_blocks if by_blocks(inputs, source) else fit_whole
    fitted = fit_table(inputs, source, how, target)
    if not run.quiet:
        summarise_fit(fitted.report, target)
        summarise_model(fitted, target)
    if run.fail_on_flag and any(column.flagged for column in fitted.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)
