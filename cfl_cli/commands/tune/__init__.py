"""`cfl tune`: settings that hidden cells favor."""

from typing import Annotated

import typer

from cfl_cli.cli.options import FORMAT, READING, Data, SchemaFile, Values, described, takes, variant
from cfl_cli.core.settings import COUNT, Bounds, Number

EXAMPLES = {"tune": "cfl tune people.csv --schema schema.yml --budget 600 --out tuned.yml"}


SEARCH = (
    described(
        "budget",
        Number(Bounds(least=0), word="SECONDS"),
        "About how many seconds the search may take.",
        panel="method",
        default_text="300, or no limit with --trials",
    ),
    described(
        "trials", COUNT, "How many settings to try at most, however long it takes.", panel="method"
    ),
    variant(FORMAT, "Output format of what was tried."),
)


@takes("tune.job:run_tune", search=SEARCH, how=READING)
def tune(
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Schema to write; with --overwrite it may be the one that is read. "
            "Default: -, standard output.",
            rich_help_panel="Output",
        ),
    ] = "-",
    given: Values,
    search: Values,
    how: Values,
) -> None:
    """Choose k, iterations, gamma and ridge by hidden cells, and write them into the schema.

    A hidden cell is one that the method must estimate without seeing it. Comments and layout of
    the schema stay.
    """
