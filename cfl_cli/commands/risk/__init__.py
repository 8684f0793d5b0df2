"""`cfl risk`: what an attacker would learn from blurred data."""

from dataclasses import replace

from cfl_cli.cli.options import READING, REPORT_FORMAT, Data, SchemaFile, TextOut, Values, takes
from cfl_cli.core.settings import SETTINGS, Setting, Whole

EXAMPLES = {"risk": "cfl risk people.csv --schema schema.yml"}


TRIED = (
    replace(
        SETTINGS["method"],
        help="Method that an attacker would use; the schema's is ignored. `cfl impute --help` lists them.",
        default="auto",
    ),
    Setting(
        "rows",
        Whole(least=0),
        None,
        "Number of rows on which OFs are left out and other ways of blurring are tried; 0: none.",
        "judging",
        default_text="10,000, or fewer if there are many OFs",
        variable=False,
    ),
)


@takes("risk.work:run_risk", tried=TRIED, how=READING, shown=(REPORT_FORMAT,))
def risk(
    data: Data,
    schema: SchemaFile,
    *,
    out: TextOut = "-",
    given: Values,
    tried: Values,
    how: Values,
    shown: Values,
) -> None:
    """Estimate what an attacker would learn from blurred data, before you publish it.

    For each CF, it shows the share of rows whose value is inferred correctly, beside the baseline
    of guessing the majority value; how many rows an attacker would be sure of; which OFs reveal the
    most; and what other ways of blurring would change. Only the report is written.
    """
