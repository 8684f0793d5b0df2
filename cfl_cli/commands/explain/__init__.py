"""`cfl explain`: why this answer."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    READING,
    REPORT_FORMAT,
    Columns,
    TextOut,
    Values,
    model_option,
    takes,
)
from cfl_cli.core.settings import COUNT, FileName, Setting
from cfl_cli.tables.dialect import Text

EXAMPLES = {"explain": "cfl explain people.csv --schema schema.yml --where id=17 --cf job"}


WHICH = (
    Setting("row", COUNT, None, "Number of the row, from 1.", "input", variable=False),
    Setting(
        "where",
        Text("COLUMN=CELL"),
        None,
        "The row by a cell of any column, such as patient=17; exactly one row must have it.",
        "input",
        variable=False,
    ),
    Setting(
        "cf", Columns(), None, "A CF to explain; repeat it for more.", "input", default_text="all"
    ),
    Setting("schema", FileName(), None, "Schema file (YAML).", "input", short="s", variable=False),
    Setting(
        "report",
        FileName(),
        None,
        "Table that `cfl impute` wrote from DATA, or its report: with --method graph, what that "
        "run has chosen need not be chosen again.",
        "input",
        variable=False,
    ),
)


@takes("explain.work:run_explain", which=WHICH, how=READING, shown=(REPORT_FORMAT,))
def explain(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Table that `cfl impute` filled in, with --schema; or new rows, with --model; - "
            "is standard input.",
        ),
    ],
    *,
    model: Annotated[
        str | None,
        model_option(
            help="Model that `cfl fit` wrote: explains how it answers.", rich_help_panel="Input"
        ),
    ] = None,
    out: TextOut = "-",
    given: Values,
    which: Values,
    how: Values,
    shown: Values,
) -> None:
    """Show why a row is answered so: its neighbors, what they say, and what moved the answer.

    A complementary feature (CF) is a column whose cells say what a value is not. Confidences are
    those that `cfl impute` (or `cfl apply`) writes. It shows cells of the row and of its neighbors:
    unlike a report, do not pass it on. With a model it takes a second or two; without, about as
    long as `cfl impute` or less.
    """
