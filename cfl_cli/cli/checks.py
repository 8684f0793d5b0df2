"""How `cfl check` reads a table: as the run would, so that it need not fit into memory."""

from pathlib import Path

from cfl_cli.cli.given import Values
from cfl_cli.cli.imputes import by_blocks
from cfl_cli.cli.inputs import Inputs, read_table, stored_table, with_table
from cfl_cli.jobs.arguments import Context
from cfl_cli.jobs.check import Checked, check_stored
from cfl_cli.tables import table as tables


def check_table(inputs: Inputs, source: tables.Place, how: Values, near: Path | None) -> Checked:
    """Return what is found in a table; what has to be copied goes to `near`."""
    schema, given = inputs.schema, inputs.arguments()
    if not by_blocks(inputs, source):
        table = read_table(source, how, schema, may_set_aside=True)
        return check_stored(table.frame, given, Context(source.name, near=near))
    with stored_table(source, how, schema, directory=near, may_set_aside=True) as stored:
        sources = with_table(inputs.sources, source, how, stored)
        return check_stored(stored, given, Context(source.name, sources=sources, near=near))
