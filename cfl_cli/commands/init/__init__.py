"""`cfl init`: a first schema for a table."""

from cfl_cli.cli.options import SNIFFING, Columns, Data, TextOut, Values, described, takes

EXAMPLES = {
    "init": "cfl init people.csv --cf job --cf diagnosis --ignore id --out schema.yml",
    "schema": "cfl schema > cfl.schema.json",
}


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
    from cfl_cli.cli.inputs import read_sniffed, without_guessed_words
    from cfl_cli.cli.log import note
    from cfl_cli.cli.outputs import deliver, text_target
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.init import draft
    from cfl_cli.tables import frames, table

    listen()
    source = table.Place.to_read(data, how.get("input_format"))
    overwrite = given.get("overwrite", False)
    target = text_target(out, [source.path], overwrite=overwrite)
    found = read_sniffed(source, how)
    text = draft.draft_schema(
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


# `cfl schema`: what a schema file may hold.


@takes("schema")
def schema() -> None:
    """Print the JSON Schema of schema files, for editors."""
    import json

    from cfl_cli.cli.log import print_out
    from cfl_cli.cli.start import listen
    from cfl_cli.schema.model import json_schema

    listen()
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    print_out(f"{text}\n")
