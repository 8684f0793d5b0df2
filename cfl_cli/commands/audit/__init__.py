"""`cfl audit`: accuracy from rows that a person checks."""

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


DRAW = Setting("draw", COUNT, None, "Number of rows to draw.", "judging", variable=False)
_text = "Column that identifies the rows, such as a patient's number; repeat it for more."
KEY = Setting("key", Columns(), None, _text, "output", variable=False)
_text = "Write the imputed values beside the columns to fill in. Seeing them may bias the check."
SHOW_ANSWERS = Setting("show_answers", Switch(), None, _text, "output", variable=False)
_text = "File of drawn rows, filled in by you; repeat it for several draws."
CHECKED = Setting("checked", Columns("FILE"), None, _text, "input", variable=False)
_text = (
    "Table that OUT was made from. It is written to --out with "
    "the checked values as exact cells, from which the next run learns."
)
INTO = Setting("into", FileName(), None, _text, "input", variable=False)
CF = Setting("cf", Columns(), None, "CF to audit; repeat it for more.", "input", default_text="all")
_text = "Schema file (YAML). It also lists values that were never imputed. Needed for --into."
SCHEMA = Setting("schema", FileName(), None, _text, "input", short="s", variable=False)
REPORT = Setting(
    "report",
    FileName(),
    None,
    "Report of OUT, to be updated; it is created if it does not exist.",
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
    *(replace(one, help=one.help.replace("OUT", "FILE")) for one in READING_AND_WRITING[1:]),
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
            help="File for the drawn rows, the table of --into, or the result of the audit. "
            "Default: -, standard output.",
        ),
    ] = None,
    given: Values,
    options: Values,
) -> None:
    """Measure the accuracy on rows that you check by hand.

    Draw rows with --draw, write down the true values, then pass the file with --checked. Leave a
    cell empty if its true value cannot be found. The accuracy of a CF is then valid however its
    exclusions came about. The options for reading text tables apply to --into.
    """
