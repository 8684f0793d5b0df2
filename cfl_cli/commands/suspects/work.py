"""The work of `cfl suspects`."""

from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, text_target
from cfl_cli.cli.reports import diagnosed, side_files
from cfl_cli.cli.start import listen
from cfl_cli.commands.suspects.job import page
from cfl_cli.commands.suspects.job import suspects as list_suspects
from cfl_cli.tables import table


def run_suspects(source: str, out: str, given: Values, which: Values, how: Values) -> None:
    """Do what `cfl suspects` does."""
    listen()
    names = [source, *([which["diagnostics"]] if "diagnostics" in which else [])]
    paths = [None if one == table.STANDARD else table.local(one) for one in names]
    paths += side_files(source)
    overwrite = given.get("overwrite", False)
    target = text_target(out, paths, overwrite=overwrite)
    report, cells = diagnosed(source, which.get("diagnostics"))
    found = list_suspects(report, cells, cfs=which.get("cf", ()))
    text = drawn(page(found, top=how.get("top")), how.get("format", FORMAT.default), target)
    deliver(text, target, overwrite=overwrite)
