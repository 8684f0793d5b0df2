"""`cfl risk`: what an attacker would learn from blurred data."""

from dataclasses import replace

from cfl_cli.cli.options import READING, REPORT_FORMAT, Data, SchemaFile, TextOut, Values, takes
from cfl_cli.core.settings import SETTINGS, Setting, Whole

EXAMPLES = {"risk": "cfl risk people.csv --schema schema.yml"}


TRIED = (
    replace(
        SETTINGS["method"],
        help="What an attacker would use, whatever the schema says; see `cfl impute`.",
        default="auto",
    ),
    Setting(
        "rows",
        Whole(least=0),
        None,
        "On how many rows OFs are left out and other ways of blurring are tried; 0: on none.",
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

    A complementary feature (CF) is a column whose cells say what a value is not; ordinary features
    (OFs) say what it is. For each CF: the share of rows whose value is inferred right beside that
    of always guessing the commonest, how many rows an attacker would be sure of, which OFs carry
    it, and what other ways of blurring would do. Nothing is written but the report.
    """
