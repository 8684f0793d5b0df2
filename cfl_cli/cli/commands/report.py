"""`cfl report`: how good the answers are."""

from typing import Annotated

import typer

from cfl_cli.cli.given import Values, takes
from cfl_cli.cli.options import FORMAT, HISTORY, TextOut, described
from cfl_cli.core.kinds import FileName, Switch

EXAMPLE = "cfl report imputed.parquet"
SOURCES = (
    described(
        "verify",
        FileName(),
        "Say instead whether OUT was made from this table, by its SHA-256; exit code 1 if not.",
        panel="input",
        variable=False,
    ),
    described(
        "schema",
        FileName(),
        "With --verify: and with this schema.",
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


@takes("report", history=(HISTORY,), which=SOURCES, how=(FORMAT,))
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
    the CF has drifted.
    """
    from cfl_cli.cli.outputs import deliver, drawn, text_target
    from cfl_cli.cli.reports import page_of, rows_page, verify
    from cfl_cli.cli.signals import listen
    from cfl_cli.errors import ExitCode, UsageError
    from cfl_cli.tables import table as tables

    listen()
    course = history.get("history")
    name = source if course is None else course
    if name is None or None not in (source, course):
        raise UsageError("name a table, a report or a model, or a history with --history")
    rows, data = which.get("rows", False), which.get("verify")
    if sum([course is not None, rows, data is not None]) > 1:
        raise UsageError("--history, --rows and --verify show different things: give one")
    for option, needed, there in (("schema", "verify", data), ("diagnostics", "rows", rows)):
        if option in which and not there:
            raise UsageError(f"--{option} goes with --{needed}: add it, or leave --{option} out")
    files = [one for one in (name, *which.values()) if isinstance(one, str)]
    paths = [None if one == tables.STANDARD else tables.local(one) for one in files]
    overwrite = given.get("overwrite", False)
    target = text_target(out, paths, overwrite=overwrite)
    if data is not None:
        found = [*verify(name, data, which.get("schema"))]
        deliver("".join(f"{one.line}\n" for one in found), target, overwrite=overwrite)
        if not all(one.holds for one in found):
            raise typer.Exit(ExitCode.WRONG_INPUT)
        return
    if rows:
        page = rows_page(name, which.get("diagnostics"))
    else:
        page = page_of(name, is_history=course is not None, to_file=target is not None)
    deliver(drawn(page, how.get("format", FORMAT.default), target), target, overwrite=overwrite)
