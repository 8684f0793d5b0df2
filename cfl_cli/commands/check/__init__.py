"""`cfl check`: every problem at once, before a run (uses: impute)."""

from typing import Annotated

from cfl_cli.cli.options import (
    CHECK_FORMAT,
    DIGITS,
    READING_AND_WRITING,
    TYPED,
    Data,
    SchemaFile,
    Values,
    model_option,
    out_option,
    takes,
)

EXAMPLES = {"check": "cfl check people.csv --schema schema.yml"}


@takes(
    "check.job:run_check",
    rare="mode min_confidence keep_flagged fail_on diagnostics seed".split(),
    how=(*READING_AND_WRITING, DIGITS, TYPED),
    shown=(CHECK_FORMAT,),
)
def check(
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[
        str | None, out_option(metavar="OUT", help="Also check that this output can be written.")
    ] = None,
    model: Annotated[
        str | None,
        model_option(help="Also check that this model can be written.", rich_help_panel="output"),
    ] = None,
    given: Values,
    how: Values,
    shown: Values,
) -> None:
    """Find every problem in schema and data, and estimate the memory and time of a run.

    It takes the options of `cfl impute` and writes nothing. The exit code is 1 if there are
    problems. Warnings point out problems that lower the accuracy.
    """
