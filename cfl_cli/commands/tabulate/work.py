"""The work of `cfl tabulate`: the table is read in blocks, whatever its size."""

from functools import partial
from pathlib import Path

from cfl_cli.cli.checked import read_looked_up
from cfl_cli.cli.inputs import load, open_table, warn_of_rejects
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, text_target
from cfl_cli.cli.progress import shown_progress
from cfl_cli.cli.start import listen
from cfl_cli.commands.tabulate.audited import ROW, Checked
from cfl_cli.commands.tabulate.figures import made
from cfl_cli.commands.tabulate.job import asked_of, by_model, counted
from cfl_cli.commands.tabulate.page import page
from cfl_cli.commands.tabulate.tally import ROWS_AT_ONCE
from cfl_cli.run import Context
from cfl_cli.tables import table as tables


def run_tabulate(
    data: str, schema: str, out: str, given: Values, what: Values, how: Values, shown: Values
) -> None:
    listen()
    inputs = load(schema, given, data=data)
    overwrite = inputs.limits.overwrite
    asked = asked_of(
        inputs.schema,
        cfs=what.get("cf", ()),
        by=what.get("by"),
        mean=what.get("mean"),
        weight=what.get("weight"),
        bias=what.get("bias", inputs.settings.bias),
        infer=what.get("infer", inputs.limits.infer),
        width=what.get("width"),
    )
    source = tables.Place.to_read(data, how.get("input_format"))
    sources, checked = [source.path, Path(schema)], None
    if "audit" in what:
        place = tables.Place.to_read(what["audit"], None, option="--audit")
        sources.append(place.path)
        looked_up = read_looked_up(place, ROW)
        checked = Checked.read(looked_up, inputs.schema, asked.cfs, name=place.name)
    target = text_target(out, sources, overwrite=overwrite)
    with_model = what.get("with_model", False)
    where = {"in_memory": with_model, "may_set_aside": True}
    with (
        open_table(source, how, inputs.schema, **where) as table,
        shown_progress(quiet=inputs.limits.quiet) as display,
    ):
        warn_of_rejects(table.rejected, source)
        blocks = partial(table.blocks, ROWS_AT_ONCE)
        tally = counted(blocks, inputs.schema, asked, source.name, checked)
        found = made(tally, inputs.schema, asked)
        if with_model and table.whole is not None:
            context = Context(source.name, display)
            found = by_model(found, table.whole.frame, tally, inputs, context)
    form = shown.get("format", REPORT_FORMAT.default)
    if form == "html":
        from cfl_cli.cli.pages import web  # which loads jinja2

        deliver(web.page(page(found, drawn=True)), target, overwrite=overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=overwrite)
