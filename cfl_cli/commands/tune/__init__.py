"""`cfl tune`: settings of method graph, chosen on held-out cells."""

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
        "Approximate time limit of the search, in seconds.",
        "method",
        default_text="300, or no limit with --trials",
    ),
    Setting(
        "trials",
        COUNT,
        None,
        "Maximum number of settings to try, however long that takes.",
        "method",
    ),
    replace(FORMAT, help="Format of the list of trials."),
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
            help="Schema to write. With --overwrite it may be the file of --schema. "
            "Default: -, standard output.",
        ),
    ] = "-",
    given: Values,
    search: Values,
    how: Values,
) -> None:
    """Choose k, iterations, gamma and ridge for method graph, and write them into the schema.

    They are chosen on held-out cells. Comments and layout of the schema stay. Other methods are
    refused: auto needs no tuning and is usually more accurate.
    """
