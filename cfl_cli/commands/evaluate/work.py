"""The work of `cfl evaluate` and `cfl mask`."""

from pathlib import Path

from cfl_cli.cli.inputs import load, read_output, read_table, sets_aside, warn_of_rejects
from cfl_cli.cli.log import note, warn
from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import Outputs, deliver, drawn, note_rejects, text_target
from cfl_cli.cli.start import listen
from cfl_cli.commands.evaluate.job import evaluate as evaluate_frame
from cfl_cli.commands.evaluate.job import page
from cfl_cli.commands.evaluate.masking import mask as mask_frame
from cfl_cli.core.messages import count
from cfl_cli.errors import UsageError
from cfl_cli.tables import table as tables


def run_evaluate(
    answers: str, truth: str, schema: str, out: str, given: Values, how: Values
) -> None:
    """Do what `cfl evaluate` does."""
    listen()
    inputs = load(schema, given, data=truth)
    source = tables.Place.to_read(answers, how.get("input_format"))
    other = tables.Place.to_read(truth, how.get("truth_format"), option="--truth-format")
    if source.path is None and other.path is None:
        raise UsageError("OUT and --truth are both standard input: name a file for one")
    sources, overwrite = [source.path, other.path, Path(schema)], inputs.run.overwrite
    target = text_target(out, sources, overwrite=overwrite)
    true = read_table(other, how, inputs.schema, may_set_aside=True)
    warn_of_rejects(len(true.rejects), other)
    evaluation = evaluate_frame(
        read_output(source).frame,
        true.frame,
        inputs.schema,
        name=source.name,
        true_name=other.name,
        key=how.get("key", ()),
    )
    text = drawn(page(evaluation), how.get("format", FORMAT.default), target)
    deliver(text, target, overwrite=overwrite)


def run_mask(data: str, schema: str, out: str, given: Values, cells: Values, how: Values) -> None:
    """Do what `cfl mask` does."""
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
