"""`cfl report`: how accurate the imputed values are."""

from typing import Annotated

import typer

from cfl_cli.cli.options import HISTORY, REPORT_FORMAT, MaybeFile, TextOut, Values, takes
from cfl_cli.core.settings import FileName, Setting, Switch

EXAMPLES = {"report": "cfl report imputed.parquet"}


SOURCES = (
    Setting(
        "verify",
        MaybeFile(),
        None,
        "Check instead that OUT has not changed since it was "
        "written and, with FILE, that it was made from this table. The exit code is 1 if a check fails.",
        "input",
        variable=False,
    ),
    Setting(
        "schema",
        FileName(),
        None,
        "With --verify: also check that OUT was made with this schema.",
        "input",
        short="s",
        variable=False,
    ),
    Setting(
        "details",
        Switch(),
        None,
        "Show all figures, their assumptions and all findings, instead of one line per CF.",
        "input",
        variable=False,
    ),
    Setting(
        "rows",
        Switch(),
        None,
        "List instead the rows of cells that are suspicious, impossible or least plausible. It "
        "needs the file that `cfl impute --diagnostics` wrote.",
        "input",
        variable=False,
    ),
    Setting(
        "diagnostics",
        FileName(),
        None,
        "With --rows: the file that `cfl impute --diagnostics` wrote.",
        "input",
        default_text="the file that the report names, beside OUT",
        variable=False,
    ),
    Setting(
        "title",
        FileName("TEXT"),
        None,
        "Title of the page, with --format html.",
        "input",
        variable=False,
    ),
    Setting(
        "date",
        FileName("YYYY-MM-DD"),
        None,
        "Date on the page, with --format html.",
        "input",
        default_text="the day when OUT was written",
        variable=False,
    ),
    Setting(
        "json_schema",
        Switch(),
        None,
        "Print the JSON Schema of a report instead: every field, its type and its meaning.",
        "input",
        variable=False,
    ),
)


@takes("report.work:run_report", history=(HISTORY,), which=SOURCES, how=(REPORT_FORMAT,))
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
    which: Values,
    how: Values,
) -> None:
    """Show how accurate the imputed values are and which columns you can trust.

    With --history, it shows for each batch how well the cells of each CF were predicted, and
    whether the CF has drifted. OUT and --history together make one page with --format html.
    """
