"""`cfl init`: a first schema for a table."""

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import SNIFFING, Columns, Data, TextOut, described

EXAMPLE = "cfl init people.csv --cf job --cf diagnosis --ignore id --out schema.yml"
CF = described(
    "cf", Columns(), "A column that says what a value is not; repeat it for more.", panel="input"
)
IGNORE = described("ignore", Columns(), "A column to leave out; repeat it for more.", panel="input")


@takes("init", columns=(CF, IGNORE), how=SNIFFING)
def init(
    data: Data,
    *,
    out: TextOut = "-",
    given: Values,
    columns: Values,
    how: Values,
) -> None:
    """Draft a schema from a table, with comments that say what to check.

    A complementary feature (CF) is a column whose cells say what a value is not: name each with
    --cf. All others become ordinary features (OFs), whose type is guessed.
    """
    from cfl_cli.cli.discreet import without_guessed_words
    from cfl_cli.cli.inputs import read_sniffed
    from cfl_cli.cli.outputs import deliver, text_target
    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.streams import note
    from cfl_cli.schema import draft
    from cfl_cli.tables import frames
    from cfl_cli.tables import table as tables

    listen()
    source = tables.Place.to_read(data, how.get("input_format"))
    overwrite = given.get("overwrite", False)
    target = text_target(out, [source.path], overwrite=overwrite)
    found = read_sniffed(source, how)
    text = draft.draft(
        frames.as_polars(found.table.frame),
        cfs=columns.get("cf", []),
        ignored=columns.get("ignore", []),
        file=found.file,
        file_notes=found.notes,
    )
    if not len(found.table.frame):
        note(f"{source.name}: no rows below the header, so no type can be guessed: add rows")
    notes = [*found.notes]
    if "{role: identifier}" in text:
        text, *notes = map(without_guessed_words, [text, *notes])
    note(*(f"{source.name}: {one.removeprefix('? ')}" for one in notes))
    deliver(text, target, overwrite=overwrite)
