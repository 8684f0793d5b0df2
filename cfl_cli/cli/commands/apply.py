"""`cfl apply`: fill in new rows by a model."""

from typing import Annotated

import typer

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import HISTORY, READING_AND_WRITING, Out, model_option, variant

EXAMPLE = "cfl apply tonight.csv --model people.cfl --out filled.csv --history people.jsonl"
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
    from cfl_cli.cli.applies import Application
    from cfl_cli.cli.inputs import of_model, sets_aside
    from cfl_cli.cli.outputs import Outputs, check_targets
    from cfl_cli.cli.progress import Display
    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.summary import note_rejects, note_signs, summarise
    from cfl_cli.errors import ExitCode
    from cfl_cli.jobs.blurred import refuse_blurred
    from cfl_cli.jobs.model import Model
    from cfl_cli.tables import table as tables
    from cfl_cli.trust.history import check_appendable

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
        done = application.run(source, how, progress=display, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, done.rejected, source)
        note_signs(target, source, fitted.schema.file)
        summarise(done.report, target.name, outputs.readable)
        done.note_history()
    if run.fail_on_flag and any(column.flagged for column in done.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)
