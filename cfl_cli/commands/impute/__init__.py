"""`cfl impute`: the main job."""

from typing import Annotated

from cfl_cli.cli.options import (
    DIGITS,
    READING_AND_WRITING,
    TYPED,
    DataFiles,
    Out,
    SchemaFile,
    Values,
    model_option,
    takes,
)

EXAMPLES = {"impute": "cfl impute people.csv --schema schema.yml --out imputed.parquet"}


@takes("impute.work:run_impute", how=(*READING_AND_WRITING, DIGITS, TYPED))
def impute(
    data: DataFiles,
    schema: SchemaFile,
    out: Out,
    *,
    model: Annotated[
        str | None,
        model_option(
            help="Also write the model, by which `cfl apply` fills in new rows. Default: none.",
            rich_help_panel="Output",
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
