"""`cfl apply`: fill in new rows with a fitted model (uses: impute)."""

from dataclasses import replace
from typing import Annotated

import typer

from cfl_cli.cli.options import (
    DIGITS,
    HISTORY,
    READING,
    READING_AND_WRITING,
    REFERENCE,
    TYPED,
    Data,
    Out,
    SchemaFile,
    Values,
    model_option,
    takes,
)

EXAMPLES = {
    "apply": "cfl apply tonight.csv --model people.cfl --out filled.csv --history people.jsonl",
    "fit": "cfl fit people.csv --schema schema.yml --model people.cfl",
}


BATCHES = replace(
    HISTORY,
    help="Compare this batch with the earlier ones in this file, and add a line for it. The file is "
    "created if it does not exist.",
    default_text="none",
)


@takes("apply.work:run_apply", history=(BATCHES,), how=(*READING_AND_WRITING, DIGITS, TYPED))
def apply(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW...",
            help="Table of new rows, in any format that `cfl impute` reads; - is standard input. "
            "Several tables, or a pattern such as 'n_*.csv', get one output each in the folder OUT.",
        ),
    ],
    model: Annotated[
        str, model_option(help="Model that `cfl fit` wrote.", rich_help_panel="input")
    ],
    out: Out,
    *,
    given: Values,
    history: Values,
    how: Values,
) -> None:
    """Fill in new rows with a fitted model and check it for drift.

    The prediction for a row depends only on that row. A CF is flagged as drifted if its new cells
    are predicted clearly worse than the cells that the model was fitted to. Columns that the model
    does not know stay as they are.
    """


# `cfl fit`: learn once.


@takes("apply.work:run_fit", rare=["min_confidence", "mode"], what=(REFERENCE,), how=READING)
def fit(
    data: Data,
    schema: SchemaFile,
    model: Annotated[
        str, model_option(help="Model to write, by convention .cfl.", rich_help_panel="output")
    ],
    *,
    given: Values,
    what: Values,
    how: Values,
) -> None:
    """Fit a model to a table, with which `cfl apply` fills in new rows later.

    The model is one file with the schema, the settings, the report and what was learned. With
    methods graph and ipal, and with auto if graph is in the blend, it also holds features and
    confidences of the table's rows; with boost, forest and net it does not.
    """
