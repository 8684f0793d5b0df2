"""The command line: options → calls → stdout, stderr and an exit code.

This is the only place that prints errors. Heavy packages are imported inside the commands, so
that `cfl --help` answers at once.
"""

import os
import signal
import sys
import traceback
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from cfl_cli.cli.options import (
    Budget,
    Data,
    Delimiter,
    Encoding,
    Folds,
    Format,
    Gamma,
    InputFormat,
    Iterations,
    Jobs,
    K,
    MaxMemory,
    MethodOption,
    ModeOption,
    NeighborsOption,
    OnBadRow,
    OnBadRowOption,
    Out,
    OutputFormat,
    Overwrite,
    Quiet,
    Quote,
    SchemaFile,
    Verbose,
    be_verbose,
    show_version,
)
from cfl_cli.errors import PROBLEMS_SHOWN, CflError, ResourceError, UsageError

if TYPE_CHECKING:
    from cfl_cli.cli.outputs import Outputs
    from cfl_cli.cli.show.page import Page
    from cfl_cli.tables.table import Place, Table
    from cfl_cli.trust.report import Report

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
        except BrokenPipeError as error:
            # The reader has seen enough. Nothing more may be sent to it, not even at the exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from error
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
    out: Out,
    *,
    input_format: InputFormat = None,
    output_format: OutputFormat = None,
    mode: ModeOption = None,
    method: MethodOption = None,
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
        int | None,
        typer.Option(help="Draws among equal distances, and of rows to hide. Default: 0."),
    ] = None,
    folds: Folds = None,
    budget: Budget = None,
    neighbors: NeighborsOption = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(metavar="P", help="Impute no value below this confidence. Default: 0."),
    ] = None,
    keep_flagged: Annotated[
        bool | None,
        typer.Option("--keep-flagged/--impute-flagged", help="Leave flagged CFs as observed."),
    ] = None,
    fail_on_flag: Annotated[
        bool | None,
        typer.Option("--fail-on-flag/--no-fail-on-flag", help="Exit with 3 if a CF is flagged."),
    ] = None,
    on_bad_row: OnBadRowOption = OnBadRow.refuse,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Report to write, as JSON. Default for CSV and JSONL: OUT.report.json.",
        ),
    ] = None,
    quiet: Quiet = None,
    verbose: Verbose = False,
) -> None:
    """Estimate the value behind every exclusion and write the table with new columns."""
    from contextlib import ExitStack

    from cfl_cli.cli.outputs import Outputs
    from cfl_cli.cli.progress import Display
    from cfl_cli.cli.targets import check_targets
    from cfl_cli.jobs.impute import impute as impute_frame
    from cfl_cli.schema.model import Schema
    from cfl_cli.tables import files
    from cfl_cli.tables import table as tables

    listen()
    loaded = Schema.load(tables.local(schema))
    settings, run = _settings(
        loaded,
        mode=mode and mode.value,
        method=method,
        k=k,
        iterations=iterations,
        gamma=gamma,
        ridge=ridge,
        correction=correction,
        seed=seed,
        folds=folds,
        budget=budget,
        neighbors=neighbors and neighbors.value,
        jobs=jobs,
        max_memory=max_memory,
        min_confidence=min_confidence,
        keep_flagged=keep_flagged,
        fail_on_flag=fail_on_flag,
        overwrite=overwrite,
        report=report,
        quiet=quiet,
        verbose=verbose or None,
    )
    be_verbose(ctx, run.verbose)
    source = tables.Place.to_read(data, input_format)
    target = tables.Place.to_write(out, output_format)
    outputs = Outputs.of(target, run.report, reject=on_bad_row is OnBadRow.reject)
    refuse_terminal(target)
    check_targets(outputs.paths, sources=[source.path, Path(schema)], overwrite=run.overwrite)
    with ExitStack() as stack:
        stream = stack.enter_context(files.standard_output()) if outputs.streams else None
        table = tables.read(
            source,
            set_aside=on_bad_row is OnBadRow.reject,
            delimiter=delimiter,
            quote=quote,
            encoding=encoding,
        )
        tables.check_holds(table, target)
        with Display(quiet=run.quiet) as display:
            result = impute_frame(
                table.frame,
                loaded,
                name=source.name,
                progress=display,
                jobs=run.jobs,
                max_memory=run.max_memory,
                **settings.as_dict(),
            )
        outputs.write(result.frame, table, result.report, stream=stream, overwrite=run.overwrite)
    if not run.quiet:
        tell_rejects(outputs, table, source)
        summarise(result.report, target.name, outputs.readable)
    if run.fail_on_flag and any(column.flagged for column in result.report.columns):
        raise typer.Exit(FLAGGED)


@app.command(context_settings=TWINS)
def report(
    source: Annotated[
        str,
        typer.Argument(
            metavar="OUT_OR_REPORT", help="What `cfl impute` wrote; - is standard input."
        ),
    ],
    *,
    format: Annotated[  # noqa: A002 — the option's name
        Format, typer.Option("--format", "-f", help="How to show it.")
    ] = Format.table,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Default: -, standard output.")
    ] = "-",
    overwrite: Overwrite = None,
    verbose: Verbose = False,
) -> None:
    """Show how far each CF's entropy fell, and which CFs can be trusted."""
    from cfl_cli.cli.show.report import page
    from cfl_cli.tables import table as tables
    from cfl_cli.trust.report import Report

    listen()
    facts = Report.from_json(tables.read_report(source), name=source)
    deliver(drawn(page(facts), format, out), out, source, overwrite=bool(overwrite))


@app.command(context_settings=TWINS)
def check(
    data: Data,
    schema: SchemaFile,
    *,
    input_format: InputFormat = None,
    mode: ModeOption = None,
    method: MethodOption = None,
    k: K = None,
    iterations: Iterations = None,
    gamma: Gamma = None,
    folds: Folds = None,
    neighbors: NeighborsOption = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    verbose: Verbose = False,
) -> None:
    """Find every problem in schema and data, and foretell the memory and time of a run."""
    from cfl_cli.jobs import cost as plan
    from cfl_cli.schema.model import Schema
    from cfl_cli.tables import table as tables

    listen()
    loaded = Schema.load(tables.local(schema))
    settings, run = _settings(
        loaded,
        mode=mode and mode.value,
        method=method,
        k=k,
        iterations=iterations,
        gamma=gamma,
        folds=folds,
        neighbors=neighbors and neighbors.value,
        jobs=jobs,
        max_memory=max_memory,
    )
    source = tables.Place.to_read(data, input_format)
    table = tables.read(source, delimiter=delimiter, quote=quote, encoding=encoding)
    found = plan.plan(table.frame, loaded, settings, run, name=source.name)
    deliver(plan.describe(found) + "\n", "-", data, overwrite=False)


@app.command(context_settings=TWINS)
def init(
    data: Data,
    *,
    input_format: InputFormat = None,
    cf: Annotated[
        list[str] | None,
        typer.Option("--cf", metavar="COLUMN", help="A column that says what a value is not."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="A column to leave out.")
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Default: -, standard output.")
    ] = "-",
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    verbose: Verbose = False,
) -> None:
    """Draft a schema from a table, with comments that say what to check."""
    from cfl_cli.schema import draft
    from cfl_cli.tables import frames
    from cfl_cli.tables import table as tables

    listen()
    source = tables.Place.to_read(data, input_format)
    table = tables.read(source, delimiter=delimiter, quote=quote, encoding=encoding)
    text = draft.draft(frames.as_polars(table.frame), cfs=cf or [], ignored=ignore or [])
    deliver(text, out, data, overwrite=bool(overwrite))


@app.command(context_settings=TWINS)
def tune(
    ctx: typer.Context,
    data: Data,
    schema: SchemaFile,
    *,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Schema to write; with --overwrite it may be the one that is read. "
            "Default: -, standard output.",
        ),
    ] = "-",
    input_format: InputFormat = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="About how long it may take. Default: 300, or no limit with --trials.",
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many settings to try at most, whatever it takes."
        ),
    ] = None,
    format: Annotated[  # noqa: A002 — the option's name
        Format, typer.Option("--format", "-f", help="How to show what was tried.")
    ] = Format.table,
    seed: Annotated[
        int | None,
        typer.Option(help="Draws among equal distances, and of rows to hide. Default: 0."),
    ] = None,
    neighbors: NeighborsOption = None,
    jobs: Jobs = None,
    max_memory: MaxMemory = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    quiet: Quiet = None,
    verbose: Verbose = False,
) -> None:
    """Choose k, iterations, gamma and ridge by hidden cells, and write them into the schema."""
    from contextlib import nullcontext

    from cfl_cli.cli.progress import Display
    from cfl_cli.cli.show import render
    from cfl_cli.cli.show import trials as tried
    from cfl_cli.cli.targets import check_targets
    from cfl_cli.jobs import tune as tuning
    from cfl_cli.schema import edit as rewrite
    from cfl_cli.schema import yaml_text as yamltext
    from cfl_cli.schema.model import Schema
    from cfl_cli.tables import files
    from cfl_cli.tables import table as tables

    listen()
    text = yamltext.text_of(tables.local(schema))
    loaded = Schema.parse(text, schema)
    settings, run = _settings(
        loaded,
        seed=seed,
        neighbors=neighbors and neighbors.value,
        jobs=jobs,
        max_memory=max_memory,
        overwrite=overwrite,
        quiet=quiet,
        verbose=verbose or None,
    )
    be_verbose(ctx, run.verbose)
    source = tables.Place.to_read(data, input_format)
    target = None if out == tables.STANDARD else tables.local(out)
    if target is not None:
        check_targets([target], sources=[source.path], overwrite=run.overwrite)
    # Before the work: can the settings be written at all?
    rewrite.put(text, tuning.tuned(loaded.settings), name=schema)
    table = tables.read(source, delimiter=delimiter, quote=quote, encoding=encoding)
    printed = target is None or not run.quiet
    with (
        files.standard_output() if printed else nullcontext(),  # which OSQP might print on
        Display(quiet=run.quiet) as display,
    ):
        found = tuning.tune(
            table.frame,
            loaded,
            name=source.name,
            trials=trials,
            progress=display,
            jobs=run.jobs,
            max_memory=run.max_memory,
            **{**settings.as_dict(), "budget": budget},
        )
    written = rewrite.put(text, found.chosen.settings, name=schema)
    page = tried.page(found)
    if target is None:
        print_out(written.encode())  # as it is, whatever the terminal's encoding
    else:
        tables.write_text(written, target, overwrite=run.overwrite)
    if run.quiet:
        return
    if target is None:
        for line in render(page, format.value).splitlines():
            note(line)
    else:
        print_out(drawn(page, format, tables.STANDARD))
    for line in tried.summary(found):
        note(line)


@app.command(context_settings=TWINS)
def mask(
    ctx: typer.Context,
    data: Data,
    schema: SchemaFile,
    out: Out,
    *,
    exclusions: Annotated[int, typer.Option(metavar="N", help="Values that a cell rules out.")] = 1,
    exact_share: Annotated[
        float, typer.Option(metavar="P", help="Share of cells that stay exact: =B.")
    ] = 0.0,
    empty_share: Annotated[
        float, typer.Option(metavar="P", help="Share of cells that are left empty.")
    ] = 0.0,
    seed: Annotated[
        int | None, typer.Option(help="Draws what every cell rules out. Default: 0.")
    ] = None,
    input_format: InputFormat = None,
    output_format: OutputFormat = None,
    on_bad_row: OnBadRowOption = OnBadRow.refuse,
    delimiter: Delimiter = None,
    quote: Quote = None,
    encoding: Encoding = None,
    overwrite: Overwrite = None,
    quiet: Quiet = None,
    verbose: Verbose = False,
) -> None:
    """Turn CF columns that hold true values into exclusions, for experiments."""
    from contextlib import nullcontext

    from cfl_cli.cli.outputs import Outputs
    from cfl_cli.cli.targets import check_targets
    from cfl_cli.jobs.mask import mask as mask_frame
    from cfl_cli.schema.model import Schema
    from cfl_cli.tables import files
    from cfl_cli.tables import table as tables

    listen()
    loaded = Schema.load(tables.local(schema))
    settings, run = _settings(
        loaded, seed=seed, overwrite=overwrite, quiet=quiet, verbose=verbose or None
    )
    be_verbose(ctx, run.verbose)
    source = tables.Place.to_read(data, input_format)
    target = tables.Place.to_write(out, output_format)
    reject = on_bad_row is OnBadRow.reject
    outputs = Outputs.without_report(target, reject=reject)
    refuse_terminal(target)
    check_targets(outputs.paths, sources=[source.path, Path(schema)], overwrite=run.overwrite)
    with files.standard_output() if outputs.streams else nullcontext() as stream:
        table = tables.read(
            source, set_aside=reject, delimiter=delimiter, quote=quote, encoding=encoding
        )
        tables.check_holds(table, target)
        masked = mask_frame(
            table.frame,
            loaded,
            exclusions=exclusions,
            exact_share=exact_share,
            empty_share=empty_share,
            seed=settings.seed,
            name=source.name,
        )
        outputs.write(masked.frame, table, stream=stream, overwrite=run.overwrite)
    if not run.quiet:
        tell_rejects(outputs, table, source)
        for warning in masked.warnings:
            note(f"warning: {warning}")
        cfs = len(loaded.complementary)
        rows = len(masked.frame)
        note(f"{target.name}: {rows:,} rows, {cfs} CF{'s' if cfs > 1 else ''} masked")


@app.command(context_settings=TWINS)
def evaluate(
    ctx: typer.Context,
    answers: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="Table that `cfl impute` wrote; - is standard input, as CSV."
        ),
    ],
    truth: Annotated[
        str,
        typer.Option(
            "--truth", "-t", metavar="TABLE", help="True values of the CFs, row by row as in OUT."
        ),
    ],
    schema: SchemaFile,
    *,
    format: Annotated[  # noqa: A002 — the option's name
        Format, typer.Option("--format", "-f", help="How to show the scores.")
    ] = Format.table,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Default: -, standard output.")
    ] = "-",
    input_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Format of OUT, such as jsonl. Default: by its name."),
    ] = None,
    truth_format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Format of TABLE. Default: by its name."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="SIGN", help="Between TABLE's cells. Default: comma; .tsv: tab."),
    ] = None,
    quote: Annotated[
        str | None, typer.Option(metavar="SIGN", help="Around TABLE's cells. Default: \".")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of TABLE. Default: UTF-8.")
    ] = None,
    overwrite: Overwrite = None,
    verbose: Verbose = False,
) -> None:
    """Score what `cfl impute` wrote against the truth, where that is known."""
    from cfl_cli.cli.show.scores import page
    from cfl_cli.jobs.evaluate import evaluate as evaluate_frame
    from cfl_cli.schema.model import Schema
    from cfl_cli.tables import table as tables

    listen()
    loaded = Schema.load(tables.local(schema))
    _, run = _settings(loaded, overwrite=overwrite, verbose=verbose or None)
    be_verbose(ctx, run.verbose)
    source = tables.Place.to_read(answers, input_format)
    other = tables.Place.to_read(truth, truth_format, option="--truth-format")
    if source.path is None and other.path is None:
        raise UsageError("OUT and --truth are both standard input: name a file for one")
    found = evaluate_frame(
        tables.read(source).frame,
        tables.read(other, delimiter=delimiter, quote=quote, encoding=encoding).frame,
        loaded,
        name=source.name,
        true_name=other.name,
    )
    text = drawn(page(found), format, out)
    deliver(text, out, answers, truth, schema, overwrite=run.overwrite)


@app.command(context_settings=TWINS)
def schema() -> None:
    """Print the JSON Schema of schema files, for editors."""
    import json

    from cfl_cli.schema.for_editors import json_schema

    listen()
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False)
    deliver(f"{text}\n", "-", overwrite=False)


def _settings(schema: Any, **given: object) -> tuple[Any, Any]:
    from cfl_cli.core.settings import override

    return override(schema.settings, schema.run, given)


def drawn(page: "Page[Any]", form: Format, out: str) -> str:
    """Return a page in a format, for the terminal if it goes there."""
    from cfl_cli.cli.show import render

    terminal = out == "-" and is_terminal(sys.stdout)
    return render(
        page,
        form.value,
        color=terminal and "NO_COLOR" not in os.environ,
        width=os.get_terminal_size(sys.stdout.fileno()).columns if terminal else None,
    )


def deliver(text: str, out: str, *sources: str, overwrite: bool) -> None:
    """Write `text`, made of the files `sources`, to the file `out` or to standard output."""
    from cfl_cli.cli.targets import check_targets
    from cfl_cli.tables import table as tables

    if out != tables.STANDARD:
        path = tables.local(out)
        check_targets([path], sources=[*map(Path, sources)], overwrite=overwrite)
        tables.write_text(text, path, overwrite=overwrite)
    else:
        print_out(text)


def print_out(text: str | bytes) -> None:
    """Write `text` to standard output."""
    if sys.stdout is None:
        raise ResourceError("standard output: it is closed")
    try:
        typer.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader went away, which is no failure
    except OSError as error:
        raise ResourceError(f"standard output: {error.strerror or error}") from error


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads this stream; None is a stream that the caller has closed."""
    return stream is not None and stream.isatty()


def refuse_terminal(target: "Place") -> None:
    """Raise if bytes that are no text would go to a terminal."""
    if target.path is None and target.format.embeds_report and is_terminal(sys.stdout):
        raise UsageError(f"{target.format} is nothing for a terminal: name a file, or pipe it on")


def tell_rejects(outputs: "Outputs", table: "Table", source: "Place") -> None:
    """Say on stderr where bad records went, if there are any."""
    if table.rejects:
        from cfl_cli.core.messages import count

        bad = count(len(table.rejects), "bad record")
        note(f"{outputs.rejects}: {bad} of {source.name} set aside")


def summarise(report: "Report", out: str, source: Path | None) -> None:
    """Say on stderr what was done and what to look at; `source` is where the report is."""
    flagged = [column.name for column in report.columns if column.flagged]
    cfs = f"{len(report.columns)} CF{'s' if len(report.columns) > 1 else ''}"
    for warning in report.warnings:
        note(f"warning: {warning}")
    note(f"{out}: {report.rows:,} rows, {cfs} in {sum(report.timings.values()):.1f} s")
    doubtful = [c.name for c in report.columns if "exclusions-not-uniform" in c.flags]
    if doubtful:
        note(f"exclusions not uniform, figures not to be relied on: {', '.join(doubtful)}")
    if flagged:
        what = "kept as observed" if report.kept else "do not trust without a look"
        see = f"; see `cfl report {source}`" if source else ""
        note(f"flagged, {what}: {', '.join(flagged)}{see}")


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
    """Print a message on stderr, if anybody listens there."""
    from cfl_cli.core.messages import printable

    with suppress(OSError):
        typer.echo(printable(message), err=True)


def complain(*problems: str) -> None:
    """Print problems on stderr, one line each."""
    for problem in problems:
        note(f"cfl: {problem}")


def listen() -> None:
    """From now on end as an error would when told to: clean up, then leave.

    Until its packages are loaded a command has nothing to clean up, and an error raised within the
    import of a package may be lost there. So it simply dies of SIGTERM before, and SIGINT waits.
    """
    if "polars" in sys.modules:
        sys.modules["polars"].read_csv(b"a")  # its threads start now, and leave SIGINT to us
    signal.signal(signal.SIGTERM, terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def terminate(_number: int, _frame: object) -> None:
    """Answer SIGTERM."""
    raise Terminated


def main() -> None:
    """Run `cfl`."""
    open_streams()
    try:
        app()
    except (KeyboardInterrupt, Terminated) as error:  # before a command began
        os._exit(explain(error))
    except OSError as error:
        complain(f"standard output: cannot be written: {error.strerror or error}")
        os._exit(RESOURCES)
    except SystemExit as end:
        if end.code in {INTERRUPTED, TERMINATED}:
            # Threads may be at work on something long, which nobody wants any more.
            os._exit(end.code)
        raise


def open_streams() -> None:
    """Make the standard streams fit for use, whatever the caller has closed."""
    for handle in (0, 1, 2):
        try:
            os.fstat(handle)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # or the next file that is opened would be this one
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 — to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
