"""`cfl report`: how good the answers are."""

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
        "Say instead whether OUT is as it was written, cell by cell; with FILE also whether it was "
        "made from this table, by its SHA-256; exit code 1 if not.",
        "input",
        variable=False,
    ),
    Setting(
        "schema",
        FileName(),
        None,
        "With --verify: and whether it was made with this schema.",
        "input",
        short="s",
        variable=False,
    ),
    Setting(
        "details",
        Switch(),
        None,
        "Show all figures, with what they assume and what was noticed, instead of one line per CF.",
        "input",
        variable=False,
    ),
    Setting(
        "rows",
        Switch(),
        None,
        "List instead the rows of suspect cells and impossible values, with domain values, then "
        "the cells that fit least, from the file that `cfl impute --diagnostics` wrote.",
        "input",
        variable=False,
    ),
    Setting(
        "diagnostics",
        FileName(),
        None,
        "With --rows: that file.",
        "input",
        default_text="the one that the report names, beside OUT",
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
    """Show how far each CF's entropy fell, and which CFs can be trusted; or a model's history.

    A complementary feature (CF) is a column whose cells say what a value is not. With --history, it
    shows for each CF how well the cells of one batch after the other were predicted, and whether
    the CF has drifted. With --format html it is a page for browsers; OUT and --history together
    make one that has both.
    """
