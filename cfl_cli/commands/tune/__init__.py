"""`cfl tune`: settings of method graph that hidden cells favor."""

from dataclasses import replace
from typing import Annotated

from cfl_cli.cli.options import FORMAT, READING, Data, SchemaFile, Values, out_option, takes
from cfl_cli.core.settings import COUNT, Number, Setting

EXAMPLES = {"tune": "cfl tune people.csv --schema schema.yml --budget 600 --out tuned.yml"}


SEARCH = (
    Setting(
        "budget",
        Number(least=0, word="SECONDS"),
        None,
        "About how many seconds the search may take.",
        "method",
        default_text="300, or no limit with --trials",
    ),
    Setting(
        "trials", COUNT, None, "How many settings to try at most, however long it takes.", "method"
    ),
    replace(FORMAT, help="Output format of what was tried."),
)


@takes("tune.job:run_tune", search=SEARCH, how=READING)
def tune(
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[
        str,
        out_option(
            metavar="FILE",
            help="Schema to write; with --overwrite it may be the one that is read. "
            "Default: -, standard output.",
        ),
    ] = "-",
    given: Values,
    search: Values,
    how: Values,
) -> None:
    """Choose k, iterations, gamma and ridge of method graph, and write them into the schema.

    They are chosen by hidden cells, those that the method must estimate without seeing them. Other
    methods are refused: auto needs no tuning, and is more accurate as a rule. Comments and layout
    of the schema stay.
    """
