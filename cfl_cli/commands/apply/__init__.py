"""`cfl apply`: fill in new rows by a model (uses: impute)."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    HISTORY,
    READING,
    READING_AND_WRITING,
    Data,
    Out,
    SchemaFile,
    Values,
    model_option,
    takes,
    variant,
)

EXAMPLES = {
    "apply": "cfl apply tonight.csv --model people.cfl --out filled.csv --history people.jsonl",
    "fit": "cfl fit people.csv --schema schema.yml --model people.cfl",
}


BATCHES = variant(
    HISTORY,
    "Judge the batch as the next one of those in this file, and append a line to it; the file is "
    "made if it does not exist.",
    default_text="by itself",
)


@takes("apply", history=(BATCHES,), how=READING_AND_WRITING)
def apply(
    new: Annotated[
        str,
        typer.Argument(
            metavar="NEW", help="Table of new rows, in any format of DATA; - is standard input."
        ),
    ],
    model: Annotated[str, model_option("Model that `cfl fit` wrote.", panel="Input")],
    out: Out,
    *,
    given: Values,
    history: Values,
    how: Values,
) -> None:
    """Fill in new rows by a model, and judge it by their cells, which it has not seen.

    A complementary feature (CF) is a column whose cells say what a value is not. Columns that the
    model does not know stay as they are. Rows go through in blocks. What is said of a row depends
    on that row alone. A CF is flagged as drifted if new cells are predicted clearly worse than
    those that the model was fitted to.
    """
    from cfl_cli.cli.inputs import of_model, sets_aside
    from cfl_cli.cli.outputs import Outputs, check_targets, note_rejects, note_signs, summarise
    from cfl_cli.cli.progress import Display
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.apply.work import Application
    from cfl_cli.errors import ExitCode
    from cfl_cli.run.arguments import refuse_blurred
    from cfl_cli.run.result import Model
    from cfl_cli.tables import table
    from cfl_cli.trust.history import check_appendable

    listen()
    path = table.local(model)
    course = table.local(history["history"]) if "history" in history else None
    source = table.Place.to_read(new, how.get("input_format"))
    target = table.Place.to_write(out, how.get("output_format"))
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
        done = application.run(source, how, progress=display, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, done.rejected, source)
        note_signs(target, source, fitted.schema.file)
        summarise(done.report, target.name, outputs.readable)
        done.note_history()
    if run.fail_on_flag and any(column.flagged for column in done.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)


# `cfl fit`: learn once.


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

    from cfl_cli.cli.inputs import load
    from cfl_cli.cli.outputs import check_targets, model_target, summarise_fit, summarise_model
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.apply.work import fit_in_blocks, fit_whole
    from cfl_cli.commands.impute.work import by_blocks
    from cfl_cli.errors import ExitCode
    from cfl_cli.run.arguments import refuse_blurred
    from cfl_cli.tables import table

    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    refuse_blurred(inputs.schema, run.infer)
    source = table.Place.to_read(data, how.get("input_format"))
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
