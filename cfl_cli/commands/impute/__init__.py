"""`cfl impute`: the main job."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    READING_AND_WRITING,
    Data,
    Out,
    SchemaFile,
    Values,
    model_option,
    takes,
)

EXAMPLES = {
    "impute": "cfl impute people.csv --schema schema.yml --out imputed.parquet",
}


@takes("impute", how=READING_AND_WRITING)
def impute(
    data: Data,
    schema: SchemaFile,
    out: Out,
    *,
    model: Annotated[
        str | None,
        model_option(
            "Also write the model, by which `cfl apply` fills in new rows. Default: none.",
            panel="Output",
        ),
    ] = None,
    given: Values,
    how: Values,
) -> None:
    """Estimate the value behind every exclusion and write the table with new columns.

    A complementary feature (CF) is a column whose cells say what a value is not; ordinary features
    (OFs) say what it is. Each CF gets new columns: the imputed value and its confidence, or a
    confidence for every value.
    """
    from pathlib import Path

    from cfl_cli.cli.inputs import load, sets_aside
    from cfl_cli.cli.log import note
    from cfl_cli.cli.outputs import (
        Outputs,
        check_targets,
        model_target,
        note_rejects,
        note_signs,
        summarise,
        summarise_model,
    )
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.impute.work import by_blocks, impute_in_blocks, impute_whole
    from cfl_cli.errors import ExitCode
    from cfl_cli.run.arguments import refuse_blurred
    from cfl_cli.run.diagnostics import in_words
    from cfl_cli.tables import table

    listen()
    inputs = load(schema, given, data=data)
    run = inputs.run
    refuse_blurred(inputs.schema, run.infer)
    source = table.Place.to_read(data, how.get("input_format"))
    target = table.Place.to_write(out, how.get("output_format"))
    outputs = Outputs.of(target, run.report, reject=sets_aside(how), diagnostics=run.diagnostics)
    sources = [source.path, Path(schema)]
    outputs.check(sources=sources, overwrite=run.overwrite)
    kept = model_target(model) if model is not None else None
    if kept is not None:
        targets = [*outputs.paths, kept]
        check_targets(
            targets,
            sources=sources,
            overwrite=run.overwrite,
            files_only=[kept],
            folder=outputs.folder,
        )
    impute_table = impute_in_blocks if by_blocks(inputs, source) else impute_whole
    with outputs.stream() as stream:
        result = impute_table(
            inputs, source, how, outputs, stream=stream, keep_model=kept is not None
        )
    if kept is not None and result.model is not None:
        result.model.save(kept, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, result.rejected, source)
        note_signs(target, source, inputs.schema.file)
        if outputs.diagnostics:
            note(f"{outputs.diagnostics.name}: {in_words(result.diagnostics)}")
        summarise(result.report, target.name, outputs.readable)
        if kept is not None and result.model is not None:
            summarise_model(result.model, kept)
    if run.fail_on_flag and any(column.flagged for column in result.report.columns):
        raise typer.Exit(ExitCode.FLAGGED)
