"""`cfl explain`: why this answer."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    READING,
    REPORT_FORMAT,
    Columns,
    TextOut,
    Values,
    described,
    model_option,
    takes,
)
from cfl_cli.core.settings import COUNT, FileName
from cfl_cli.tables.dialect import Text

EXAMPLES = {"explain": "cfl explain people.csv --schema schema.yml --where id=17 --cf job"}


WHICH = (
    described("row", COUNT, "Number of the row, from 1.", panel="input", variable=False),
    described(
        "where",
        Text("COLUMN=CELL"),
        "The row by a cell of any column, such as patient=17; exactly one row must have it.",
        panel="input",
        variable=False,
    ),
    described(
        "cf", Columns(), "A CF to explain; repeat it for more.", panel="input", default_text="all"
    ),
    described(
        "schema", FileName(), "Schema file (YAML).", panel="input", short="s", variable=False
    ),
    described(
        "report",
        FileName(),
        "Table that `cfl impute` wrote from DATA, or its report: with --method graph, what that "
        "run has chosen need not be chosen again.",
        panel="input",
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
        model_option("Model that `cfl fit` wrote: explains how it answers.", panel="Input"),
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
