"""`cfl evaluate`: answers against the truth."""

from dataclasses import replace
from typing import Annotated

import typer

from cfl_cli.cli.options import (
    DIALECT,
    FORMAT,
    INPUT_FORMAT,
    LEAVING_OUT,
    READING_AND_WRITING,
    Columns,
    Data,
    Out,
    SchemaFile,
    TextOut,
    Values,
    takes,
)
from cfl_cli.core.settings import COUNT, SHARE, Setting

EXAMPLES = {
    "evaluate": "cfl evaluate imputed.csv --truth truth.csv --schema schema.yml",
    "mask": "cfl mask truth.csv --schema schema.yml --out masked.csv --seed 1",
}


KEY = Setting(
    "key",
    Columns(),
    None,
    "Column whose cells say which rows of OUT and TABLE belong together; repeat it for several.",
    "input",
    default_text="rows in the same order",
    variable=False,
)
HOW = (
    FORMAT,
    KEY,
    replace(INPUT_FORMAT, help="Format of OUT, such as jsonl."),
    replace(INPUT_FORMAT, help="Format of TABLE.", name="truth_format"),
    *(
        replace(option, help=option.help.replace("a text table", "TABLE, if it is a text table", 1))
        for option in (*DIALECT, LEAVING_OUT)
    ),
)


@takes("evaluate.job:run_evaluate", how=HOW)
def evaluate(
    answers: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Table that `cfl impute` wrote; - is standard input, as CSV."
        ),
    ],
    truth: Annotated[
        str,
        typer.Option(
            "--truth",
            "-t",
            metavar="TABLE",
            help="True values of the CFs, row by row as in OUT, or by --key.",
            rich_help_panel="Input",
        ),
    ],
    schema: SchemaFile,
    *,
    out: TextOut = "-",
    given: Values,
    how: Values,
) -> None:
    """Score what `cfl impute` wrote against the truth, where that is known.

    A complementary feature (CF) is a column whose cells say what a value is not. Scores for each:
    accuracy, macro-F1, cross entropy and entropy.
    """


# `cfl mask`: true values become exclusions.

CELLS = (
    Setting("exclusions", COUNT, 1, "How many values a cell rules out.", "method"),
    Setting(
        "exact_share", SHARE, 0.0, "Share of cells written as exact values, such as =B.", "method"
    ),
    Setting("empty_share", SHARE, 0.0, "Share of cells that are left empty.", "method"),
)


@takes("evaluate.job:run_mask", cells=CELLS, how=READING_AND_WRITING)
def mask(
    data: Data, schema: SchemaFile, out: Out, *, given: Values, cells: Values, how: Values
) -> None:
    """Turn CF columns that hold true values into exclusions, for experiments.

    A complementary feature (CF) is a column whose cells say what a value is not.
    """
