"""`cfl explain`: why this answer."""

from typing import Annotated

import typer

from cfl_cli.cli.options import (
    READING,
    REPORT_FORMAT,
    Columns,
    Text,
    TextOut,
    Values,
    described,
    model_option,
    takes,
)
from cfl_cli.core.settings import COUNT, FileName

EXAMPLES = {
    "explain": "cfl explain people.csv --schema schema.yml --where id=17 --cf job",
}


WHICH = (
    described("row", COUNT, "Number of the row, from 1.", panel="input", variable=False),
    described(
        "where",
        Text("COLUMN=CELL"),
        "The row by a cell of any column, such as patient=17; exactly one row must have it.",
        panel="input",
        variable=False,
    ),
    described(
        "cf", Columns(), "A CF to explain; repeat it for more.", panel="input", default_text="all"
    ),
    described(
        "schema", FileName(), "Schema file (YAML).", panel="input", short="s", variable=False
    ),
    described(
        "report",
        FileName(),
        "Table that `cfl impute` wrote from DATA, or its report: with --method graph, what that "
        "run has chosen need not be chosen again.",
        panel="input",
        variable=False,
    ),
)


@takes("explain", which=WHICH, how=READING, shown=(REPORT_FORMAT,))
def explain(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="Table that `cfl impute` filled in, with --schema; or new rows, with --model; - "
            "is standard input.",
        ),
    ],
    *,
    model: Annotated[
        str | None,
        model_option("Model that `cfl fit` wrote: explains how it answers.", panel="Input"),
    ] = None,
    out: TextOut = "-",
    given: Values,
    which: Values,
    how: Values,
    shown: Values,
) -> None:
    """Show why a row is answered so: its neighbors, what they say, and what moved the answer.

    A complementary feature (CF) is a column whose cells say what a value is not. Confidences are
    those that `cfl impute` (or `cfl apply`) writes. It shows cells of the row and of its neighbors:
    unlike a report, do not pass it on. With a model it takes a second or two; without, about as
    long as `cfl impute` or less.
    """
    from cfl_cli.cli.log import warn
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.explain.page import page
    from cfl_cli.commands.explain.work import Asked, by_model
    from cfl_cli.tables import table

    listen()
    asked = Asked.read(data, model, which, how)
    overwrite = given.get("overwrite", False)
    target = text_target(out, asked.paths, overwrite=overwrite)
    if asked.model is not None:
        found = by_model(asked, table.local(asked.model), given)
    else:
        from cfl_cli.commands.explain.work import in_table  # much that a model does without

        found = in_table(asked, given)
    if not given.get("quiet", False):
        warn(*found.warnings)
    form = shown.get("format", REPORT_FORMAT.default)
    if form == "html":
        from cfl_cli.cli.pages.web import sections

        deliver(sections.page(page(found)), target, overwrite=overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=overwrite)
