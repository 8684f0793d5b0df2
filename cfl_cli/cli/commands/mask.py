"""`cfl mask`: true values become exclusions."""

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import READING_AND_WRITING, Data, Out, SchemaFile, described
from cfl_cli.core.kinds import COUNT, SHARE

EXAMPLE = "cfl mask truth.csv --schema schema.yml --out masked.csv --seed 1"
CELLS = (
    described(
        "exclusions",
        COUNT,
        "How many values a cell rules out.",
        panel="method",
        default=1,
    ),
    described(
        "exact_share",
        SHARE,
        "Share of cells written as exact values, such as =B.",
        panel="method",
        default=0.0,
    ),
    described(
        "empty_share",
        SHARE,
        "Share of cells that are left empty.",
        panel="method",
        default=0.0,
    ),
)


@takes("mask", cells=CELLS, how=READING_AND_WRITING)
def mask(
    data: Data,
    schema: SchemaFile,
    out: Out,
    *,
    given: Values,
    cells: Values,
    how: Values,
) -> None:
    """Turn CF columns that hold true values into exclusions, for experiments.

    A complementary feature (CF) is a column whose cells say what a value is not.
    """
    from pathlib import Path

    from cfl_cli.cli.inputs import load, read_table, sets_aside
    from cfl_cli.cli.outputs import Outputs
    from cfl_cli.cli.signals import listen
    from cfl_cli.cli.streams import note, warn
    from cfl_cli.cli.summary import note_rejects
    from cfl_cli.core.messages import count
    from cfl_cli.jobs.mask import mask as mask_frame
    from cfl_cli.tables import table as tables

    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    source = tables.Place.to_read(data, how.get("input_format"))
    target = tables.Place.to_write(out, how.get("output_format"))
    outputs = Outputs.without_report(target, reject=sets_aside(how))
    outputs.check(sources=[source.path, Path(schema)], overwrite=run.overwrite)
    with outputs.stream() as stream:
        table = read_table(source, how, inputs.schema, may_set_aside=True)
        tables.check_holds(table, target)
        masked = mask_frame(
            table.frame, inputs.schema, seed=inputs.settings.seed, name=source.name, **cells
        )
        outputs.write(masked.frame, table, stream=stream, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, len(table.rejects), source)
        warn(*masked.warnings)
        cfs = count(len(inputs.schema.complementary), "CF")
        note(f"{target.name}: {len(masked.frame):,} rows, {cfs} masked")
