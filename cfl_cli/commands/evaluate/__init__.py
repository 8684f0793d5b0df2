"""`cfl evaluate`: answers against the truth."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    DIALECT,
    FORMAT,
    INPUT_FORMAT,
    LEAVING_OUT,
    READING_AND_WRITING,
    Columns,
    Data,
    Out,
    SchemaFile,
    TextOut,
    Values,
    described,
    takes,
    variant,
)
from cfl_cli.core.settings import COUNT, SHARE

EXAMPLES = {
    "evaluate": "cfl evaluate imputed.csv --truth truth.csv --schema schema.yml",
    "mask": "cfl mask truth.csv --schema schema.yml --out masked.csv --seed 1",
}


KEY = described(
    "key",
    Columns(),
    "Column whose cells say which rows of OUT and TABLE belong together; repeat it for several.",
    panel="input",
    default_text="rows in the same order",
    variable=False,
)
HOW = (
    FORMAT,
    KEY,
    variant(INPUT_FORMAT, "Format of OUT, such as jsonl."),
    variant(INPUT_FORMAT, "Format of TABLE.", name="truth_format"),
    *(
        variant(option, option.help.replace("a text table", "TABLE, if it is a text table", 1))
        for option in (*DIALECT, LEAVING_OUT)
    ),
)


@takes("evaluate", how=HOW)
def evaluate(
    answers: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Table that `cfl impute` wrote; - is standard input, as CSV."
        ),
    ],
    truth: Annotated[
        str,
        typer.Option(
            "--truth",
            "-t",
            metavar="TABLE",
            help="True values of the CFs, row by row as in OUT, or by --key.",
            rich_help_panel="Input",
        ),
    ],
    schema: SchemaFile,
    *,
    out: TextOut = "-",
    given: Values,
    how: Values,
) -> None:
    """Score what `cfl impute` wrote against the truth, where that is known.

    A complementary feature (CF) is a column whose cells say what a value is not. Scores for each:
    accuracy, macro-F1, cross entropy and entropy.
    """
    from pathlib import Path

    from cfl_cli.cli.inputs import load, read_output, read_table, warn_of_rejects
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.evaluate.job import evaluate as evaluate_frame
    from cfl_cli.commands.evaluate.job import page
    from cfl_cli.errors import Problem, UsageError
    from cfl_cli.tables import table as tables

    listen()
    inputs = load(schema, given, data=truth)
    source = tables.Place.to_read(answers, how.get("input_format"))
    other = tables.Place.to_read(truth, how.get("truth_format"), option="--truth-format")
    if source.path is None and other.path is None:
        raise UsageError(
            Problem(
                "stdin-twice",
                "OUT and --truth are both standard input: {remedy}",
                remedy="name a file for one",
            )
        )
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


# `cfl mask`: true values become exclusions.

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
    from cfl_cli.cli.log import note, warn
    from cfl_cli.cli.outputs import Outputs, note_rejects
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.evaluate.masking import mask as mask_frame
    from cfl_cli.core.messages import count
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
