"""`cfl impute`: the main job."""

from typing import Annotated

from cfl_cli.cli.options import (
    DIGITS,
    READING_AND_WRITING,
    REFERENCE,
    TYPED,
    Columns,
    DataFiles,
    Out,
    SchemaFile,
    Values,
    model_option,
    takes,
)
from cfl_cli.core.settings import Setting, Whole

_text = (
    "Write N completed tables for multiple imputation in place of new columns, in the long form of "
    "R's mice. Needs --for."
)
DRAWS = Setting(
    "draws", Whole(least=2, most=1000), None, _text, "output", variable=False, rare=True
)
_text = (
    "With --draws: a column of the later analysis, especially its outcome. Repeat it for several. Do not use the draws to "
    "train a model that predicts it."
)
FOR = Setting("for_", Columns(), None, _text, "output", variable=False, rare=True)
EXAMPLES = {"impute": "cfl impute people.csv --schema schema.yml --out imputed.parquet"}


@takes(
    "impute.work:run_impute",
    what=(DRAWS, FOR, REFERENCE),
    how=(*READING_AND_WRITING, DIGITS, TYPED),
)
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
    what: Values,
    how: Values,
) -> None:
    """Fill in the values behind the exclusions and write the table with new columns.

    Each CF gets new columns: the imputed value and its confidence, or a confidence for every value.
    Values are predicted from the OFs. A report says how accurate they are.
    """
