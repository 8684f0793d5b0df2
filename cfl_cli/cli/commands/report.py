"""`cfl report`: how good the answers are."""

from typing import Annotated

import typer

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import FORMAT, HISTORY, TextOut

EXAMPLE = "cfl report imputed.parquet"


@takes("report", history=(HISTORY,), how=(FORMAT,))
def report(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT_OR_REPORT",
            help="Table that `cfl impute` or `cfl apply` wrote, its report, or a model; - is "
            "standard input.",
        ),
    ] = None,
    *,
    out: TextOut = "-",
    given: Values,
    history: Values,
    how: Values,
) -> None:
    """Show how far each CF's entropy fell, and which CFs can be trusted; or a model's history.

    A complementary feature (CF) is a column whose cells say what a value is not. With --history, it
    shows for each CF how well the cells of one batch after the other were predicted, and whether
    the CF has drifted.
    """
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.reports import page_of
    from cfl_cli.cli.signals import listen
    from cfl_cli.errors import UsageError
    from cfl_cli.tables import table as tables

    listen()
    course = history.get("history")
    name = source if course is None else course
    if name is None or None not in (source, course):
        raise UsageError("name a table, a report or a model, or a history with --history")
    path = None if name == tables.STANDARD else tables.local(name)
    overwrite = given.get("overwrite", False)
    target = text_target(out, [path], overwrite=overwrite)
    page = page_of(name, is_history=course is not None, to_file=target is not None)
    deliver(drawn(page, how.get("format", FORMAT.default), target), target, overwrite=overwrite)
