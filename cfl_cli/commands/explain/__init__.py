"""`cfl explain`: why a row got its imputed values."""

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

EXAMPLES = {"explain": "cfl explain imputed.csv --where id=17 --cf job"}


WHICH = (
    Setting("row", COUNT, None, "Number of the row, counted from 1.", "input", variable=False),
    Setting(
        "where",
        Text("COLUMN=CELL"),
        None,
        "Find the row by a cell of any column, such as patient=17. Exactly one row must have this cell.",
        "input",
        variable=False,
    ),
    Setting(
        "cf", Columns(), None, "CF to explain; repeat it for more.", "input", default_text="all"
    ),
    Setting(
        "schema",
        FileName(),
        None,
        "Schema file (YAML), if SOURCE is the table that `cfl impute` read.",
        "input",
        short="s",
        variable=False,
    ),
    Setting(
        "report",
        FileName(),
        None,
        "With --schema: table that `cfl impute` wrote, or its report. With method graph, the choices "
        "of that run are used again.",
        "input",
        variable=False,
        rare=True,
    ),
)
_SETTINGS = "method folds seed min_confidence keep_flagged".split()


@takes("explain.work:run_explain", rare=_SETTINGS, which=WHICH, how=READING, shown=(REPORT_FORMAT,))
def explain(
    data: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Table that `cfl impute` or `cfl apply` wrote; with --schema, the table that `cfl "
            "impute` read; with --model, a table of new rows; - is standard input.",
        ),
    ],
    *,
    model: Annotated[
        str | None,
        model_option(
            help="Model that `cfl fit` wrote, to explain new rows.", rich_help_panel="input"
        ),
    ] = None,
    out: TextOut = "-",
    given: Values,
    which: Values,
    how: Values,
    shown: Values,
) -> None:
    """Explain one row's imputed values.

    It shows the most similar rows, what they suggest and which OFs moved the prediction. If SOURCE
    is an output, its report names the table, schema or model that it was made from; they are looked
    up beside it, in the current folder and in folders inside it. The explanation holds cells of the row and of similar
    rows: unlike a report, it should not be published.
    """
