"""`cfl suspects`: the cells that are most likely wrong."""

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
        "CF whose cells to list; repeat it for more.",
        "input",
        default_text="all",
        variable=False,
    ),
    Setting(
        "diagnostics",
        FileName(),
        None,
        "File that `cfl impute --diagnostics` wrote.",
        "input",
        default_text="the file that the report names, beside OUT",
        variable=False,
    ),
)
TOP = Setting(
    "top",
    COUNT,
    None,
    "Number of cells to list.",
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
    """List the cells that are most likely wrong.

    A cell of a CF is wrong if it rules out the true value. The list comes from the file that
    `cfl impute --diagnostics` wrote. It shows row numbers, counted from 1, and the values that the
    cells rule out; it shows nothing else from the table.
    """
