"""The work of `cfl risk`."""

from pathlib import Path

from cfl_cli.cli.inputs import load, read_table
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, text_target
from cfl_cli.cli.progress import Display
from cfl_cli.cli.start import listen
from cfl_cli.commands.risk.job import risk_frame
from cfl_cli.commands.risk.page import page
from cfl_cli.core.settings import AUTO
from cfl_cli.run.arguments import Context
from cfl_cli.tables import table as tables


def run_risk(
    data: str, schema: str, out: str, given: Values, tried: Values, how: Values, shown: Values
) -> None:
    """Do what `cfl risk` does."""
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    source = tables.Place.to_read(data, how.get("input_format"))
    target = text_target(out, [source.path, Path(schema)], overwrite=run.overwrite)
    table = read_table(source, how, inputs.schema)
    with Display(quiet=run.quiet) as display:
        asked = inputs.changed(method=tried.get("method") or AUTO)  # whatever the schema says
        context = Context(source.name, display)
        found = risk_frame(table.frame, asked, context, rows=tried.get("rows"))
    form = shown.get("format", REPORT_FORMAT.default)
    if form == "html":
        from cfl_cli.cli.pages.web import sections  # which loads jinja2

        deliver(sections.page(page(found)), target, overwrite=run.overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=run.overwrite)
