"""`cfl tune`: settings that hidden cells favor."""

from typing import Annotated

import typer

from cfl_cli.cli.options import FORMAT, READING, Data, SchemaFile, Values, described, takes, variant
from cfl_cli.core.settings import COUNT, Bounds, Number

EXAMPLES = {
    "tune": "cfl tune people.csv --schema schema.yml --budget 600 --out tuned.yml",
}


SEARCH = (
    described(
        "budget",
        Number(Bounds(least=0), word="SECONDS"),
        "About how many seconds the search may take.",
        panel="method",
        default_text="300, or no limit with --trials",
    ),
    described(
        "trials",
        COUNT,
        "How many settings to try at most, however long it takes.",
        panel="method",
    ),
    variant(FORMAT, "Output format of what was tried."),
)


@takes("tune", search=SEARCH, how=READING)
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
    from contextlib import nullcontext

    from cfl_cli.cli.inputs import check_is_schema, load, read_table, warn_of_rejects
    from cfl_cli.cli.log import note, print_out, warn
    from cfl_cli.cli.outputs import drawn, text_target
    from cfl_cli.cli.pages import render
    from cfl_cli.cli.progress import Display
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.tune import job
    from cfl_cli.run.search import tuned
    from cfl_cli.schema import edit, yaml_text
    from cfl_cli.tables import files
    from cfl_cli.tables import table as tables

    listen()
    check_is_schema(schema, data)
    text = yaml_text.text_of(tables.local(schema))
    inputs = load(schema, given, text)
    run = inputs.run
    source = tables.Place.to_read(data, how.get("input_format"))
    target = text_target(out, [source.path], overwrite=run.overwrite)
    # Before the work: can the settings be written at all?
    edit.put(text, tuned(inputs.schema.settings), name=schema)
    table = read_table(source, how, inputs.schema, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    printed = target is None or not run.quiet
    with (
        files.standard_output() if printed else nullcontext(),  # which OSQP might print on
        Display(quiet=run.quiet) as display,
    ):
        result = job.tune(
            table.frame,
            inputs.schema,
            name=source.name,
            trials=search.get("trials"),
            progress=display,
            jobs=run.jobs,
            max_memory=run.max_memory,
            **{**inputs.settings.as_dict(), "budget": search.get("budget")},  # of the search
        )
    written = edit.put(text, result.chosen.settings, name=schema)
    page, form = job.page(result), search.get("format", FORMAT.default)
    if target is None:
        print_out(written.encode())  # as it is, whatever the terminal's encoding
    else:
        tables.write_text(written, target, overwrite=run.overwrite)
    if run.quiet:
        return
    if target is None:
        note(*render(page, form).splitlines())
    else:
        print_out(drawn(page, form, None))
    warn(*result.warnings)
    note(*job.summary(result))
