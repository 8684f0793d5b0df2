"""`cfl report`: how good the answers are."""

from typing import Annotated

import typer

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import FORMAT, TextOut

EXAMPLE = "cfl report imputed.parquet"


@takes("report", how=(FORMAT,))
def report(
    source: Annotated[
        str,
        typer.Argument(
            metavar="OUT_OR_REPORT",
            help="Table that `cfl impute` wrote, or its report; - is standard input.",
        ),
    ],
    *,
    out: TextOut = "-",
    given: Values,
    how: Values,
) -> None:
    """Show how far each CF's entropy fell, and which CFs can be trusted.

    A complementary feature (CF) is a column whose cells say what a value is not.
    """
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.show.report import page
    from cfl_cli.cli.signals import listen
    from cfl_cli.tables import table as tables
    from cfl_cli.trust.report import Report

    listen()
    path = None if source == tables.STANDARD else tables.local(source)
    overwrite = given.get("overwrite", False)
    target = text_target(out, [path], overwrite=overwrite)
    facts = Report.from_json(tables.read_report(source), name=source)
    text = drawn(page(facts), how.get("format", FORMAT.default), target)
    deliver(text, target, overwrite=overwrite)
