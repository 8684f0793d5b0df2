"""`cfl tabulate`: shares, cross tables and means of CFs."""

from dataclasses import replace

from cfl_cli.cli.options import (
    READING,
    REPORT_FORMAT,
    Columns,
    Data,
    SchemaFile,
    TextOut,
    Values,
    takes,
)
from cfl_cli.core.settings import SETTINGS, FileName, Number, Setting, Switch

EXAMPLES = {"tabulate": "cfl tabulate people.csv --schema schema.yml --cf job --by defaulted"}

_text = "CF to tabulate. Repeat it for several; each pair of CFs gets a cross table."
CF = Setting("cf", Columns(), None, _text, "input", default_text="every CF", variable=False)
_text = "Column that divides the rows into groups, for cross tables with each CF."
BY = Setting("by", FileName("COLUMN"), None, _text, "input", variable=False)
_text = "Column of numbers whose mean is estimated for each value."
MEAN = Setting("mean", FileName("COLUMN"), None, _text, "input", variable=False)
_text = "Column of survey weights."
WEIGHT = Setting("weight", FileName("COLUMN"), None, _text, "input", variable=False)
BIAS = replace(
    SETTINGS["bias"],
    help="Assume some wrong values are ruled out up to X times "
    "as often as other values, and show the range of the shares.",
    default_text="1, no bias",
    variable=False,
)
_text = (
    "File with rows that `cfl audit` drew "
    "at random and a person filled in. Figures from these rows are valid under any mechanism."
)
AUDIT = Setting("audit", FileName(), None, _text, "input", variable=False)
_text = "Say how many rows to look up for shares whose intervals are this wide, such as 0.05."
WIDTH = Setting(
    "width", Number(more_than=0, most=1, word="W"), None, _text, "judging", variable=False
)
_text = (
    "Also learn from the OFs. It narrows intervals where tests show "
    "that they stay valid, for CFs of at most four values. It runs `boost` on the whole table, in memory."
)
WITH_MODEL = Setting("with_model", Switch(), False, _text, "method", variable=False)
INFER = replace(SETTINGS["infer"], help="CF that was blurred for privacy, and may be tabulated.")


@takes(
    "tabulate.work:run_tabulate",
    what=(CF, BY, MEAN, WEIGHT, AUDIT, WIDTH, WITH_MODEL, BIAS, INFER),
    how=READING,
    shown=(REPORT_FORMAT,),
)
def tabulate(
    data: Data,
    schema: SchemaFile,
    *,
    out: TextOut = "-",
    given: Values,
    what: Values,
    how: Values,
    shown: Values,
) -> None:
    """Estimate shares, cross tables and means of CFs, with valid 95 % intervals.

    A complementary feature (CF) is a column whose cells say what a value is not. The figures come
    from the cells themselves: no model is fitted, and DATA need not be imputed. Counting imputed
    values gives biased figures. If DATA has columns that `cfl impute` added, they are counted
    beside the estimates.
    """
