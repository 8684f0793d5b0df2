"""`cfl audit`: accuracy from rows that a person looks up."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    CHECKED_ENCODING,
    FORMAT,
    INPUT_FORMAT,
    READING_AND_WRITING,
    Columns,
    Values,
    described,
    takes,
    variant,
)
from cfl_cli.core.settings import COUNT, FileName, Switch

EXAMPLES = {"audit": "cfl audit imputed.csv --draw 100 --key patient --out to_check.csv"}


DRAW = described("draw", COUNT, "How many rows to draw.", panel="judging", variable=False)
KEY = described(
    "key",
    Columns(),
    "A column to find the rows by, such as a patient's number; repeat it for more.",
    panel="output",
    variable=False,
)
SHOW_ANSWERS = described(
    "show_answers",
    Switch(),
    "Write the answers beside the columns to fill in. They may lead the eye.",
    panel="output",
    variable=False,
)
CHECKED = described(
    "checked",
    Columns("FILE"),
    "Rows that were drawn, filled in; repeat it for several draws.",
    panel="input",
    variable=False,
)
INTO = described(
    "into",
    FileName(),
    "DATA, the table that OUT was made from: write it to --out with the checked values as exact "
    "cells, for the next run to learn from. Exact cells are a random part of all cells only if "
    "DATA had none before and few were left empty.",
    panel="input",
    variable=False,
)
CF = described(
    "cf", Columns(), "A CF to audit; repeat it for more.", panel="input", default_text="all"
)
SCHEMA = described(
    "schema",
    FileName(),
    "Schema file (YAML). It knows values that were never answered; --into needs it.",
    panel="input",
    short="s",
    variable=False,
)
REPORT = described(
    "report",
    FileName(),
    "The report of OUT, to be read and brought up to date; if the file does not exist, it is "
    "written.",
    panel="output",
    variable=False,
    default_text="the one beside OUT or inside it",
)
HOW = (
    variant(FORMAT, "Output format of the audit."),
    variant(INPUT_FORMAT, "Format of OUT, such as jsonl."),
    variant(INPUT_FORMAT, "Format of --checked.", name="checked_format"),
    CHECKED_ENCODING,
    variant(INPUT_FORMAT, "Format of --into.", name="into_format"),
    *(
        variant(option, option.help.replace("a text table", "--into").replace("OUT", "FILE"))
        for option in READING_AND_WRITING[1:]
    ),
)


@takes(
    "audit.work:run_audit",
    options=(DRAW, CHECKED, CF, SCHEMA, INTO, KEY, SHOW_ANSWERS, REPORT, *HOW),
)
def audit(
    answers: Annotated[
        str, typer.Argument(metavar="OUT", help="Table that `cfl impute` wrote, with its report.")
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="The rows to check, the table of --into, or else the audit. "
            "Default: -, standard output.",
            rich_help_panel="Output",
        ),
    ] = None,
    given: Values,
    options: Values,
) -> None:
    """Measure accuracy by rows that a person looks up: draw them, fill them in, read them back.

    A complementary feature (CF) is a column whose cells say what a value is not. The measured
    accuracy holds however the cells came about. Leave empty what cannot be found out.
    """
