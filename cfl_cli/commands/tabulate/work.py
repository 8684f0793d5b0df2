"""The work of `cfl tabulate`: the table is read in blocks, whatever its size."""

from pathlib import Path

from cfl_cli.cli.inputs import load, open_table, warn_of_rejects
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, text_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.tabulate.audited import Checked
from cfl_cli.commands.tabulate.job import asked_of, tabulated
from cfl_cli.commands.tabulate.page import page
from cfl_cli.commands.tabulate.tally import ROWS_AT_ONCE
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
        looked_up = tables.read(place).frame
        checked = Checked.read(looked_up, inputs.schema, asked.cfs, name=place.name)
    target = text_target(out, sources, overwrite=overwrite)
    with open_table(source, how, inputs.schema, in_memory=False, may_set_aside=True) as table:
        warn_of_rejects(table.rejected, source)
        found = tabulated(table.blocks(ROWS_AT_ONCE), inputs.schema, asked, source.name, checked)
    form = shown.get("format", REPORT_FORMAT.default)
    if form == "html":
        from cfl_cli.cli.pages import web  # which loads jinja2

        deliver(web.page(page(found, drawn=True)), target, overwrite=overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=overwrite)
