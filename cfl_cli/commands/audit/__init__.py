"""`cfl audit`: accuracy from rows that a person looks up."""

from dataclasses import replace
from typing import Annotated

import typer

from cfl_cli.cli.options import (
    CHECKED_ENCODING,
    FORMAT,
    INPUT_FORMAT,
    READING_AND_WRITING,
    Columns,
    Values,
    out_option,
    takes,
)
from cfl_cli.core.settings import COUNT, FileName, Setting, Switch

EXAMPLES = {"audit": "cfl audit imputed.csv --draw 100 --key patient --out to_check.csv"}


DRAW = Setting("draw", COUNT, None, "How many rows to draw.", "judging", variable=False)
KEY = Setting(
    "key",
    Columns(),
    None,
    "A column to find the rows by, such as a patient's number; repeat it for more.",
    "output",
    variable=False,
)
SHOW_ANSWERS = Setting(
    "show_answers",
    Switch(),
    None,
    "Write the answers beside the columns to fill in. They may lead the eye.",
    "output",
    variable=False,
)
CHECKED = Setting(
    "checked",
    Columns("FILE"),
    None,
    "Rows that were drawn, filled in; repeat it for several draws.",
    "input",
    variable=False,
)
INTO = Setting(
    "into",
    FileName(),
    None,
    "DATA, the table that OUT was made from: write it to --out with the checked values as exact "
    "cells, for the next run to learn from. Exact cells are a random part of all cells only if "
    "DATA had none before and few were left empty.",
    "input",
    variable=False,
)
CF = Setting(
    "cf", Columns(), None, "A CF to audit; repeat it for more.", "input", default_text="all"
)
SCHEMA = Setting(
    "schema",
    FileName(),
    None,
    "Schema file (YAML). It knows values that were never answered; --into needs it.",
    "input",
    short="s",
    variable=False,
)
REPORT = Setting(
    "report",
    FileName(),
    None,
    "The report of OUT, to be read and brought up to date; if the file does not exist, it is "
    "written.",
    "output",
    variable=False,
    default_text="the one beside OUT or inside it",
)
HOW = (
    replace(FORMAT, help="Output format of the audit."),
    replace(INPUT_FORMAT, help="Format of OUT, such as jsonl."),
    replace(INPUT_FORMAT, help="Format of --checked.", name="checked_format"),
    CHECKED_ENCODING,
    replace(INPUT_FORMAT, help="Format of --into.", name="into_format"),
    *(
        replace(option, help=option.help.replace("a text table", "--into").replace("OUT", "FILE"))
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
        out_option(
            metavar="FILE",
            help="The rows to check, the table of --into, or else the audit. "
            "Default: -, standard output.",
        ),
    ] = None,
    given: Values,
    options: Values,
) -> None:
    """Measure accuracy by rows that a person looks up: draw them, fill them in, read them back.

    A complementary feature (CF) is a column whose cells say what a value is not. The measured
    accuracy holds however the cells came about. Leave empty what cannot be found out.
    """
