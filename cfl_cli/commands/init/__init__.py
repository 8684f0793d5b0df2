"""`cfl init`: a first schema for a table."""

from cfl_cli.cli.options import SNIFFING, Columns, Data, TextOut, Values, takes
from cfl_cli.core.settings import Setting

EXAMPLES = {
    "init": "cfl init people.csv --cf job --cf diagnosis --ignore id --out schema.yml",
    "schema": "cfl schema > cfl.schema.json",
}


CF = Setting(
    "cf", Columns(), None, "Column that says what a value is not; repeat it for more.", "input"
)
IGNORE = Setting("ignore", Columns(), None, "Column to leave out; repeat it for more.", "input")


@takes("init.draft:run_init", columns=(CF, IGNORE), how=SNIFFING)
def init(data: Data, *, out: TextOut = "-", given: Values, columns: Values, how: Values) -> None:
    """Draft a schema for a table, with comments that say what to check.

    Name each CF with --cf. The other columns become OFs, whose types are guessed from their cells.
    Guesses that may be wrong are marked `# ?`. Delimiter, quote and encoding of a text
    table are detected; the options for reading text tables override this.
    """


# `cfl schema`: what a schema file may hold.


@takes("init.draft:print_schema")
def schema() -> None:
    """Print the JSON Schema of schema files, for editors."""
