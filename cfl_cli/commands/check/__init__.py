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


@takes("check.job:run_check", how=(*READING_AND_WRITING, DIGITS, TYPED), shown=(CHECK_FORMAT,))
def check(
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[
        str | None, out_option(metavar="OUT", help="Table that a run would write: can it?")
    ] = None,
    model: Annotated[
        str | None,
        model_option(help="Model that a run would write: can it?", rich_help_panel="Output"),
    ] = None,
    given: Values,
    how: Values,
    shown: Values,
) -> None:
    """Find every problem in schema and data, and estimate the memory and time of a run.

    A complementary feature (CF) is a column whose cells say what a value is not. It takes the
    options of `cfl impute`, writes nothing, and exits with code 1 if there are problems. Warnings
    are about what costs accuracy silently.
    """
