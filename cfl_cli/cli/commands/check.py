"""`cfl check`: every problem at once, before a run."""

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import READING, Data, SchemaFile

EXAMPLE = "cfl check people.csv --schema schema.yml"


@takes("check", how=READING)
def check(data: Data, schema: SchemaFile, *, given: Values, how: Values) -> None:
    """Find every problem in schema and data, and estimate the memory and time of a run.

    A complementary feature (CF) is a column whose cells say what a value is not.
    """
    from cfl_cli.cli.inputs import load, read_table
    from cfl_cli.cli.show.plan import describe
    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.streams import print_out
    from cfl_cli.jobs import cost
    from cfl_cli.tables import table as tables

    listen()
    inputs = load(schema, given)
    source = tables.Place.to_read(data, how.get("input_format"))
    table = read_table(source, how)
    plan = cost.plan(table.frame, inputs.schema, inputs.settings, inputs.run, name=source.name)
    print_out(describe(plan))
