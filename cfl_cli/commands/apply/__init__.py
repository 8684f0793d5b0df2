"""`cfl apply`: fill in new rows by a model (uses: impute)."""

from dataclasses import replace
from typing import Annotated

import typer

from cfl_cli.cli.options import (
    DIGITS,
    HISTORY,
    READING,
    READING_AND_WRITING,
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
    help="Judge the batch as the next one of those in this file, and append a line to it; the file is "
    "made if it does not exist.",
    default_text="by itself",
)


@takes("apply.work:run_apply", history=(BATCHES,), how=(*READING_AND_WRITING, DIGITS, TYPED))
def apply(
    new: Annotated[
        list[str],
        typer.Argument(
            metavar="NEW...",
            help="Table of new rows, in any format of DATA; - is standard input. Several, or a "
            "pattern such as 'n_*.csv', have an output each in the folder OUT.",
        ),
    ],
    model: Annotated[
        str, model_option(help="Model that `cfl fit` wrote.", rich_help_panel="Input")
    ],
    out: Out,
    *,
    given: Values,
    history: Values,
    how: Values,
) -> None:
    """Fill in new rows by a model, and judge it by their cells, which it has not seen.

    A complementary feature (CF) is a column whose cells say what a value is not. Columns that the
    model does not know stay as they are. Rows go through in blocks. What is said of a row depends
    on that row alone. A CF is flagged as drifted if new cells are predicted clearly worse than
    those that the model was fitted to.
    """


# `cfl fit`: learn once.


@takes("apply.work:run_fit", how=READING)
def fit(
    data: Data,
    schema: SchemaFile,
    model: Annotated[
        str, model_option(help="Model to write, by convention .cfl.", rich_help_panel="Output")
    ],
    *,
    given: Values,
    how: Values,
) -> None:
    """Learn from a table and keep a model, by which `cfl apply` fills in new rows later.

    A complementary feature (CF) is a column whose cells say what a value is not. The model is one
    file that holds the schema, the settings, the report and what was learned; methods graph
    and ipal, and auto where graph counts, keep features and confidences of the table's rows in it,
    boost, forest and net do not. Of a table with more rows than one can learn from, --sample draws some.
    """
