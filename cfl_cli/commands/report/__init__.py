"""`cfl report`: how good the answers are."""

from typing import Annotated

import typer

from cfl_cli.cli.options import HISTORY, REPORT_FORMAT, MaybeFile, TextOut, Values, described, takes
from cfl_cli.core.settings import FileName, Switch

EXAMPLES = {
    "report": "cfl report imputed.parquet",
}


SOURCES = (
    described(
        "verify",
        MaybeFile(),
        "Say instead whether OUT is as it was written, cell by cell; with FILE also whether it was "
        "made from this table, by its SHA-256; exit code 1 if not.",
        panel="input",
        variable=False,
    ),
    described(
        "schema",
        FileName(),
        "With --verify: and whether it was made with this schema.",
        panel="input",
        short="s",
        variable=False,
    ),
    described(
        "rows",
        Switch(),
        "List instead the rows of suspect cells and impossible values, with domain values, then "
        "the cells that fit least, from the file that `cfl impute --diagnostics` wrote.",
        panel="input",
        variable=False,
    ),
    described(
        "diagnostics",
        FileName(),
        "With --rows: that file.",
        panel="input",
        default_text="the one that the report names, beside OUT",
        variable=False,
    ),
)


@takes("report", history=(HISTORY,), which=SOURCES, how=(REPORT_FORMAT,))
def report(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT_OR_REPORT",
            help="Table that `cfl impute` or `cfl apply` wrote, its report, or a model; - is "
            "standard input.",
        ),
    ] = None,
    *,
    out: TextOut = "-",
    given: Values,
    history: Values,
    which: Values,
    how: Values,
) -> None:
    """Show how far each CF's entropy fell, and which CFs can be trusted; or a model's history.

    A complementary feature (CF) is a column whose cells say what a value is not. With --history, it
    shows for each CF how well the cells of one batch after the other were predicted, and whether
    the CF has drifted. With --format html it is a page for browsers; OUT and --history together
    make one that has both.
    """
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.reports import side_files
    from cfl_cli.cli.start import listen
    from cfl_cli.commands.report.work import (
        check_pair,
        html_of,
        named,
        page_of,
        rows_page,
        verify,
    )
    from cfl_cli.errors import ExitCode
    from cfl_cli.tables import table

    listen()
    course, form = history.get("history"), how.get("format", REPORT_FORMAT.default)
    rows, data = which.get("rows", False), which.get("verify")
    if data and source is None and course is None:  # `--verify OUT`
        source, data = data, ""
    name = named(source, course, {*which}, html=form == "html")
    files = [one for one in (source, course, *which.values()) if one and isinstance(one, str)]
    paths = [None if one == table.STANDARD else table.local(one) for one in files]
    paths += side_files(source) if source is not None else []
    overwrite = given.get("overwrite", False)
    target = text_target(out, paths, overwrite=overwrite)
    if data is not None:
        found = [*verify(name, data or None, which.get("schema"))]
        deliver("".join(f"{one.line}\n" for one in found), target, overwrite=overwrite)
        if not all(one.holds for one in found):
            raise typer.Exit(ExitCode.WRONG_INPUT)
        return
    if form == "html":
        deliver(html_of(source, course), target, overwrite=overwrite, utf8=True)
    else:
        if rows:
            page = rows_page(name, which.get("diagnostics"))
        else:
            page = page_of(name, is_history=course is not None, to_file=target is not None)
        deliver(drawn(page, form, target), target, overwrite=overwrite)
    if source is not None:
        check_pair(source)
