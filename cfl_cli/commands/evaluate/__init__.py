"""`cfl evaluate`: imputed values against the truth; `cfl mask`: make such an experiment."""

from dataclasses import replace
from typing import Annotated, Any

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
from cfl_cli.core.settings import COUNT, SETTINGS, SHARE, Setting, Whole

EXAMPLES = {
    "evaluate": "cfl evaluate imputed.csv --truth truth.csv --schema schema.yml",
    "mask": "cfl mask truth.csv --schema schema.yml --out masked.csv --seed 1",
}


_text = "Column by which rows of OUT and TABLE are matched; repeat it for more."
KEY = Setting(
    "key", Columns(), None, _text, "input", default_text="rows in the same order", variable=False
)
HOW = (
    FORMAT,
    KEY,
    replace(INPUT_FORMAT, help="Format of OUT, such as jsonl."),
    replace(INPUT_FORMAT, help="Format of TABLE.", name="truth_format"),
    *DIALECT,
    LEAVING_OUT,
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
            help="Table with the true values of the CFs, in the row order of OUT unless --key is given.",
            rich_help_panel="input",
        ),
    ],
    schema: SchemaFile,
    *,
    out: TextOut = "-",
    given: Values,
    how: Values,
) -> None:
    """Score imputed values against known true values.

    It shows accuracy, macro-F1, cross entropy and entropy for each CF. The options for reading text
    tables apply to TABLE.
    """


# `cfl mask`: true values become exclusions.

RANDOM = "random"


class Seed(Whole):
    """The seed of a draw, or `random`: a draw that no seed repeats."""

    called = f"a whole number or {RANDOM}"

    def __init__(self) -> None:
        super().__init__(least=0, less_than=2**63)
        self.metavar, self.choices = f"N|{RANDOM}", (RANDOM,)

    def read(self, value: object) -> Any:
        return RANDOM if value == RANDOM else super().read(value)


SEED = Seed()
CELLS = (
    replace(
        SETTINGS["seed"],
        kind=SEED,
        default_text="the schema's, or 0",
        help="Seed of the draw. Anybody who guesses it can undo the draw. Before you publish OUT, use "
        "--seed random, which nothing can repeat.",
    ),
    Setting("exclusions", COUNT, 1, "Number of values that each cell rules out.", "method"),
    Setting(
        "exact_share",
        SHARE,
        0.0,
        "Share of cells that keep the exact value, written as =B.",
        "method",
    ),
    Setting("empty_share", SHARE, 0.0, "Share of cells that are left empty.", "method"),
)


@takes("evaluate.job:run_mask", cells=CELLS, how=READING_AND_WRITING)
def mask(
    data: Data, schema: SchemaFile, out: Out, *, given: Values, cells: Values, how: Values
) -> None:
    """Turn true values into exclusions, for experiments.

    DATA must hold true values in its CFs. In OUT, each cell of a CF rules out wrong values, drawn
    at random.
    """
