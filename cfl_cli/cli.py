"""The command line: options → calls → stdout, stderr and an exit code.

This is the only place that prints errors. Heavy packages are imported inside the commands, so
that `cfl --help` answers at once.
"""

import os
import signal
import sys
import traceback
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from cfl_cli import __version__
from cfl_cli.errors import PROBLEMS_SHOWN, CflError, ResourceError, UsageError

if TYPE_CHECKING:
    from cfl_cli.report import Report

FLAGGED = 3
RESOURCES = 4
INTERRUPTED = 130
TERMINATED = 143


class Terminated(BaseException):
    """The process was told to end."""


class Commands(TyperGroup):
    """All commands, with errors turned into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except (CflError, MemoryError, KeyboardInterrupt, Terminated) as error:
            code = explain(error)
            if ctx.meta.get("verbose"):
                traceback.print_exception(error)
            raise typer.Exit(code) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich alone would take a third of a second
    context_settings={"help_option_names": ["-h", "--help"]},
)
# Every option has an environment twin: --k is CFL_K.
TWINS = {"auto_envvar_prefix": "CFL"}


class Mode(StrEnum):
    """Which columns a CF gets."""

    hard = "hard"
    soft = "soft"
    both = "both"


class OnBadRow(StrEnum):
    """What happens to records of a text table that do not fit."""

    refuse = "refuse"
    reject = "reject"


class Format(StrEnum):
    """How a report is written."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


def be_verbose(ctx: typer.Context, value: bool) -> bool:  # noqa: FBT001 — Typer's signature
    """Remember that errors should come with a traceback."""
    ctx.meta["verbose"] = value
    return value


def show_version(value: bool) -> None:  # noqa: FBT001 — Typer's signature
    """Print the version and stop."""
    if value:
        typer.echo(f"cfl {__version__}")
        raise typer.Exit


Data = Annotated[Path, typer.Argument(metavar="DATA", help="Table: .csv, .tsv or .parquet.")]
SchemaFile = Annotated[
    Path, typer.Option("--schema", "-s", metavar="FILE", help="Schema file (YAML).")
]
ModeOption = Annotated[
    Mode | None,
    typer.Option("--mode", help="Imputed values, confidences per value, or both. Default: hard."),
]
K = Annotated[int | None, typer.Option("--k", help="Neighbors of a row. Default: 20.")]
Iterations = Annotated[int | None, typer.Option(help="Steps of propagation. Default: 100.")]
Gamma = Annotated[
    float | None,
    typer.Option(help="Weight of the first round in the second; 0: no second. Default: 0.25."),
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Threads. Default: all cores.")]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="SIGN", help="Between a text table's cells. Default: comma; .tsv: tab."),
]
Quote = Annotated[
    str | None, typer.Option(metavar="SIGN", help="Around a text table's cells. Default: \".")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a text table. Default: UTF-8.")
]
Overwrite = Annotated[
    bool | None, typer.Option("--overwrite/--no-overwrite", help="Replace files that exist.")
]
Quiet = Annotated[bool | None, typer.Option("--quiet", "-q", help="Print errors only.")]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Show a traceback with errors.", callback=be_verbose),
]


@app.callback()
def cfl(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Estimate the values behind exclusions: columns that only say what a value is not."""


@app.command(context_settings=TWINS)
def impute(
    ctx: typer.Context,
    data: Data,
    schema: SchemaFile,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT", help="Table to write, like DATA.")
    ],
    *,
    mode: ModeOption = None,
    k: K = None,
    iterations: Iterations = None,
    gamma: Gamma = None,
    ridge: Annotated[
        float | None, typer.Option(help="How evenly neighbors count. Default: 0.3.")
    ] = None,
    correction: Annotated[
        bool | None,
        typer.Option(
            "--correction/--no-correction",
            help="Apply a row's own exclusions at every step. Off only to see what it does.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draws among equal distances. Default: 0.")
    ] = None,
    jobs: Jobs = None,
    keep_flagged: Annotated[
        bool | None,
        typer.Option("--keep-flagged/--impute-flagged", help="Leave flagged CFs as observed."),
    ] = None,
    fail_on_flag: Annotated[
        bool | None,
        typer.Option("--fail-on-flag/--no-fail-on-flag", help="Exit with 3 if a CF is flagged."),
    ] = None,
    on_bad_row: Annotated[
        OnBadRow,
        typer.Option(help="Refuse a text table with bad records, or put them in OUT.rejects.csv."),
    ] = OnBadRow.refuse,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Report to write, as JSON. Default for CSV: OUT.report.json."
        ),
    ] = None,
    quiet: Quiet = None,
    verbose: Verbose = False,
) -> None:
    """Estimate the value behind every exclusion and write the table with new columns."""
    from dataclasses import replace

    from cfl_cli import tables
    from cfl_cli.imputation import impute as impute_frame
    from cfl_cli.progress import Display
    from cfl_cli.schema import Schema

    loaded = Schema.load(schema)
    settings = loaded.settings.override(
        mode=mode and mode.value,
        k=k,
        iterations=iterations,
        gamma=gamma,
        ridge=ridge,
        correction=correction,
        seed=seed,
        jobs=jobs,
        keep_flagged=keep_flagged,
        fail_on_flag=fail_on_flag,
        overwrite=overwrite,
        report=report and str(report),
        quiet=quiet,
        verbose=verbose or None,
    )
    be_verbose(ctx, settings.verbose)
    beside = Path(settings.report) if settings.report else None
    if beside is None and not tables.embeds_report(out):
        beside = tables.report_path(out)
    aside = tables.rejects_path(out) if on_bad_row is OnBadRow.reject else None
    check_targets(
        [target for target in (out, beside, aside) if target is not None],
        sources=[data, schema],
        overwrite=settings.overwrite,
    )
    table = tables.read(
        data,
        reject=on_bad_row is OnBadRow.reject,
        delimiter=delimiter,
        quote=quote,
        encoding=encoding,
    )
    tables.check_holds(table.frame, out)
    with Display(quiet=settings.quiet) as display:
        result = impute_frame(
            table.frame, loaded, name=str(data), progress=display, **settings.model_dump()
        )
    # Time and memory differ from run to run; the table's bytes must not.
    embedded = replace(result.report, timings={}, peak_memory_mb=None)
    texts = {beside: result.report.to_json() + "\n"} if beside else {}
    if aside is not None and table.rejects:
        texts[aside] = tables.rejects_text(table.rejects)
    tables.write(result.frame, out, report=embedded.to_json(), beside=texts)
    stale = tables.report_path(out)
    if stale != beside and not tables.embeds_report(out):
        stale.unlink(missing_ok=True)  # the report of the table that was here before
    if not settings.quiet:
        if table.rejects:
            note(f"{aside}: {len(table.rejects):,} bad records of {data} set aside")
        summarise(result.report, out, beside or out)
    if settings.fail_on_flag and any(column.flagged for column in result.report.columns):
        raise typer.Exit(FLAGGED)


@app.command(context_settings=TWINS)
def report(
    source: Annotated[
        Path, typer.Argument(metavar="OUT_OR_REPORT", help="What `cfl impute` wrote.")
    ],
    *,
    format: Annotated[  # noqa: A002 — the option's name
        Format, typer.Option("--format", "-f", help="How to show it.")
    ] = Format.table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
    overwrite: Overwrite = None,
    verbose: Verbose = False,
) -> None:
    """Show how far each CF's entropy fell, and which CFs can be trusted."""
    from cfl_cli import render, tables
    from cfl_cli.report import Report

    facts = Report.from_json(tables.read_report(source), name=str(source))
    if format is Format.table:
        terminal = out is None and sys.stdout.isatty()
        text = render.table(
            facts,
            color=terminal and "NO_COLOR" not in os.environ,
            width=os.get_terminal_size(sys.stdout.fileno()).columns if terminal else None,
        )
    else:
        text = render.FORMATS[format.value](facts)
    deliver(text, out, sources=[source], overwrite=bool(overwrite))


@app.command(context_settings=TWINS)
def check(
    data: Data,
    schema: SchemaFile,
    *,
    mode: ModeOption = None,
    k: K = None,
    iterations: Iterations = None,
    gamma: Gamma = None,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    verbose: Verbose = False,
) -> None:
    """Find every problem in schema and data, and foretell the memory and time of a run."""
    from cfl_cli import plan, tables
    from cfl_cli.schema import Schema

    loaded = Schema.load(schema)
    settings = loaded.settings.override(
        mode=mode and mode.value, k=k, iterations=iterations, gamma=gamma, jobs=jobs
    )
    table = tables.read(data, delimiter=delimiter, quote=quote, encoding=encoding)
    typer.echo(plan.describe(plan.plan(table.frame, loaded, settings, name=str(data))))


@app.command(context_settings=TWINS)
def init(
    data: Data,
    *,
    cf: Annotated[
        list[str] | None,
        typer.Option("--cf", metavar="COLUMN", help="A column that says what a value is not."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="A column to leave out.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: standard output.")
    ] = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    verbose: Verbose = False,
) -> None:
    """Draft a schema from a table, with comments that say what to check."""
    from cfl_cli import draft, tables

    table = tables.read(data, delimiter=delimiter, quote=quote, encoding=encoding)
    text = draft.draft(table.frame, cfs=cf or [], ignored=ignore or [])
    deliver(text, out, sources=[data], overwrite=bool(overwrite))


@app.command(context_settings=TWINS)
def schema() -> None:
    """Print the JSON Schema of schema files, for editors."""
    import json

    from cfl_cli.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


def check_targets(targets: list[Path], *, sources: list[Path], overwrite: bool) -> None:
    """Raise unless every target can be written without harm to a source or to another target."""
    for number, target in enumerate(targets):
        try:
            _check_target(target, [*sources, *targets[:number]], overwrite=overwrite)
        except (OSError, RuntimeError) as error:  # a name too long, links in a circle
            raise UsageError(f"{target}: cannot be written: {error}") from error


def _check_target(target: Path, others: list[Path], *, overwrite: bool) -> None:
    if any(_same(target, other) for other in others):
        raise UsageError(f"{target}: would be read and written, or written twice: name another")
    if not target.parent.is_dir():
        raise UsageError(f"{target}: there is no folder {target.parent}: make it first")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target}: is no regular file: name another")
    if target.exists() and not overwrite:
        raise UsageError(f"{target}: exists already: add --overwrite, or name another file")


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def deliver(text: str, out: Path | None, *, sources: list[Path], overwrite: bool) -> None:
    """Write `text` to the file `out`, or to standard output if there is none."""
    from cfl_cli import tables

    if out is None:
        try:
            typer.echo(text, nl=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise  # the reader went away; Typer ends quietly
        except OSError as error:
            raise ResourceError(f"standard output: {error.strerror or error}") from error
        return
    check_targets([out], sources=sources, overwrite=overwrite)
    tables.write_text(text, out)


def summarise(report: "Report", out: Path, source: Path) -> None:
    """Say on stderr what was done and what to look at; `source` is where the report is."""
    flagged = [column.name for column in report.columns if column.flagged]
    cfs = f"{len(report.columns)} CF{'s' if len(report.columns) > 1 else ''}"
    for warning in report.warnings:
        note(f"warning: {warning}")
    note(f"{out}: {report.rows:,} rows, {cfs} in {sum(report.timings.values()):.1f} s")
    if flagged:
        what = "kept as observed" if report.kept else "do not trust without a look"
        note(f"flagged, {what}: {', '.join(flagged)}; see `cfl report {source}`")


def explain(error: BaseException) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted; files are whole or not there")
        return INTERRUPTED
    if isinstance(error, Terminated):
        complain("terminated; files are whole or not there")
        return TERMINATED
    if not isinstance(error, CflError):
        complain("out of memory: use fewer rows or columns, or a machine with more of it")
        return RESOURCES
    complain(*error.problems[:PROBLEMS_SHOWN])
    more = error.more + len(error.problems[PROBLEMS_SHOWN:])
    if more:
        complain(f"and {more:,} more problems")
    return error.exit_code


def note(message: str) -> None:
    """Print a message on stderr."""
    from cfl_cli.words import printable

    typer.echo(printable(message), err=True)


def complain(*problems: str) -> None:
    """Print problems on stderr, one line each."""
    for problem in problems:
        note(f"cfl: {problem}")


def terminate(_number: int, _frame: object) -> None:
    """End the run as an error would: clean up, then leave."""
    raise Terminated


def main() -> None:
    """Run `cfl`."""
    signal.signal(signal.SIGTERM, terminate)
    # Typed as TextIO, which a program may have put there; at a start they are TextIOWrappers.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    app()
