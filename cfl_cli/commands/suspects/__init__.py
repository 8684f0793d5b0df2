"""`cfl suspects`: which cells are most likely wrong."""

from typing import Annotated

import typer

from cfl_cli.cli.options import FORMAT, Columns, TextOut, Values, takes
from cfl_cli.core.settings import COUNT, FileName, Setting

EXAMPLES = {"suspects": "cfl suspects imputed.parquet"}


WHICH = (
    Setting(
        "cf",
        Columns(),
        None,
        "A CF whose cells are listed; repeat it for more.",
        "input",
        default_text="all",
        variable=False,
    ),
    Setting(
        "diagnostics",
        FileName(),
        None,
        "The file that `cfl impute --diagnostics` wrote.",
        "input",
        default_text="the one that the report names, beside OUT",
        variable=False,
    ),
)
TOP = Setting(
    "top",
    COUNT,
    None,
    "How many cells are listed.",
    "output",
    default_text="20 in a table or Markdown, all in CSV and JSON",
    variable=False,
)


@takes("suspects.job:run_suspects", which=WHICH, how=(FORMAT, TOP))
def suspects(
    source: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="Table that `cfl impute --diagnostics` wrote, or its report; - is standard input.",
        ),
    ],
    *,
    out: TextOut = "-",
    given: Values,
    which: Values,
    how: Values,
) -> None:
    """List the cells most likely to be wrong, the most suspect first.

    A complementary feature (CF) is a column whose cells say what a value is not; such a cell is
    wrong if it rules out the true value. It reads what `cfl impute --diagnostics` wrote, and
    shows row numbers, from 1, and values that cells rule out, nothing else of the table.
    """
