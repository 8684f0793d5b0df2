"""How `cfl fit` works: on a table in memory, or on one that need not fit into it."""

from pathlib import Path

from cfl_cli.cli.given import Values
from cfl_cli.cli.inputs import Inputs, read_table, stored_table, warn_of_rejects, with_table
from cfl_cli.cli.progress import Display
from cfl_cli.engines.opened import remove_run
from cfl_cli.jobs.arguments import Context
from cfl_cli.jobs.fit import fit, fit_stored
from cfl_cli.jobs.model import Model
from cfl_cli.tables import table as tables


def fit_whole(inputs: Inputs, source: tables.Place, how: Values, target: Path) -> Model:
    """Write a model of a table and return it; the table is in memory."""
    table = read_table(source, how, inputs.schema, checksum=True, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    fitted = inputs.learn(fit, table, source, how)
    fitted.save(target, overwrite=inputs.run.overwrite)
    return fitted


def fit_in_blocks(inputs: Inputs, source: tables.Place, how: Values, target: Path) -> Model:
    """Write a model of a table and return it; the table's cells are on disk."""
    near = target.resolve().parent
    with (
        stored_table(source, how, inputs.schema, directory=near, may_set_aside=True) as table,
        Display(quiet=inputs.run.quiet) as display,
    ):
        warn_of_rejects(table.rejected, source)
        sources = with_table(inputs.sources, source, how, table)
        context = Context(source.name, display, sources, near)
        fitted = fit_stored(table, inputs.arguments(samples=True), context)
        fitted.save(target, overwrite=inputs.run.overwrite)
    remove_run(inputs.run)
    return fitted
