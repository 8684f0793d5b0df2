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
            help="Also write a model, with which `cfl apply` fills in new rows. Default: none.",
            rich_help_panel="output",
        ),
    ] = None,
    given: Values,
    how: Values,
) -> None:
    """Fill in the values behind the exclusions and write the table with new columns.

    Each CF gets new columns: the imputed value and its confidence, or a confidence for every value.
    Values are predicted from the OFs. A report says how accurate they are.
    """
