"""The work of `cfl init` and `cfl schema`."""

import json

from cfl_cli.cli.inputs import read_sniffed
from cfl_cli.cli.log import note, print_out
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import deliver, text_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.init import draft
from cfl_cli.core.messages import printable
from cfl_cli.schema.model import json_schema
from cfl_cli.tables import frames, table


def run_init(data: str, out: str, given: Values, columns: Values, how: Values) -> None:
    """Do what `cfl init` does."""
    listen()
    source = table.Place.to_read(data, how.get("input_format"))
    overwrite = given.get("overwrite", False)
    target = text_target(out, [source.path], overwrite=overwrite)
    frame, file, found = read_sniffed(source, how)
    notes = [*found.notes()] if found else []
    text = draft.draft_schema(
        frames.as_polars(frame),
        cfs=columns.get("cf", []),
        ignored=columns.get("ignore", []),
        file=file,
        file_notes=notes,
    )
    if not len(frame):
        note(f"{source.name}: no rows below the header, so no type can be guessed: add rows")
    if found and "{role: identifier}" in text:  # whose words no note may show
        quiet = [*found.notes(words=False)]
        for shown, other in zip(notes, quiet, strict=True):
            text = text.replace(f"# {printable(shown)}", f"# {printable(other)}")
        notes = quiet
    note(*(f"{source.name}: {one.removeprefix('? ')}" for one in notes))
    deliver(text, target, overwrite=overwrite)


def run_schema() -> None:
    """Do what `cfl schema` does."""
    listen()
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    print_out(f"{text}\n")
