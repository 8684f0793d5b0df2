"""The work of `cfl tune`."""

from contextlib import nullcontext

from cfl_cli.cli.inputs import check_is_schema, load, read_table, warn_of_rejects
from cfl_cli.cli.log import note, print_out, warn
from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import drawn, text_target
from cfl_cli.cli.pages import render
from cfl_cli.cli.progress import Display
from cfl_cli.cli.start import listen
from cfl_cli.commands.tune import job
from cfl_cli.run.arguments import Context
from cfl_cli.run.search import tuned
from cfl_cli.schema import edit, yaml_text
from cfl_cli.tables import files
from cfl_cli.tables import table as tables


def run_tune(data: str, schema: str, out: str, given: Values, search: Values, how: Values) -> None:
    """Do what `cfl tune` does."""
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
        context = Context(source.name, display)
        limits = {name: search.get(name) for name in ("budget", "trials")}  # of the search
        result = job.tune_frame(table.frame, inputs, context, **limits)
    written = edit.put(text, result.chosen.settings, name=schema)
    shown, form = job.page(result), search.get("format", FORMAT.default)
    if target is None:
        print_out(written.encode())  # as it is, whatever the terminal's encoding
    else:
        tables.write_text(written, target, overwrite=run.overwrite)
    if run.quiet:
        return
    if target is None:
        note(*render(shown, form).splitlines())
    else:
        print_out(drawn(shown, form, None))
    warn(*result.warnings)
    note(*job.summary(result))
