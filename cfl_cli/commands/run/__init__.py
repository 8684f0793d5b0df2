"""`cfl run`: init, check, impute and report in one go (uses: init, check, impute)."""

from dataclasses import replace
from typing import Annotated

from cfl_cli.cli.options import OUTPUT_FORMAT, SNIFFING, Data, Values, out_option, takes
from cfl_cli.commands.init import CF, IGNORE
from cfl_cli.core.settings import SETTINGS

EXAMPLES = {"run": "cfl run people.csv --cf job --cf diagnosis --ignore id"}

CHOSEN = (
    replace(SETTINGS["method"], default=None, default_text="as `cfl init` recommends"),
    replace(
        SETTINGS["infer"],
        help="CF that may be inferred although its name sounds private; repeat it for more.",
        rare=False,
    ),
)


@takes(
    "run.work:run_all",
    columns=(CF, IGNORE),
    chosen=CHOSEN,
    how=tuple(replace(one, rare=True) for one in (*SNIFFING, OUTPUT_FORMAT)),
)
def run(
    data: Data,
    *,
    out: Annotated[
        str | None,
        out_option(
            metavar="OUT",
            help="Table to write. The file name determines the format. Default: DATA's name with _imputed, in "
            "the current folder.",
        ),
    ] = None,
    given: Values,
    columns: Values,
    chosen: Values,
    how: Values,
) -> None:
    """Run init, check, impute and report in one go.

    The schema that it drafts is written beside OUT, as OUT.schema.yml. If a guess in it may be
    wrong, the doubtful lines and the next command are printed, and nothing is imputed.
    """
