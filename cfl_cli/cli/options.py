"""What the user gave a command: from the command line, else from the environment, else nothing.

The table of settings makes the options: an entry there is an option with its help, its variable and
its check in every command that it names. Options that name files or allow overwriting have no
variable. Those that few people need are `rare`: accepted everywhere, listed by --help-all.
"""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from importlib import import_module
from typing import Annotated, Any, get_args

import typer

from cfl_cli.cli.help import help_text
from cfl_cli.cli.log import LOG
from cfl_cli.cli.pages import RENDERERS
from cfl_cli.core.messages import Option, option
from cfl_cli.core.settings import (
    EVERY_COMMAND,
    SETTINGS,
    Choice,
    FileName,
    Names,
    Setting,
    Switch,
    Whole,
)
from cfl_cli.errors import Problem, UsageError
from cfl_cli.tables.dialect import OPTIONS, Text, csv_setting
from cfl_cli.tables.formats import FORMATS, KINDS, Packing

# Options that commands share and that are no settings of a run, in the form of settings.


@dataclass(eq=False)
class MaybeFile(FileName):
    """The name of a file, or nothing: an option that may stand alone."""

    metavar: str = "[FILE]"  # by which the parser knows it

    def read(self, value: object) -> Any:
        return "" if value == "" else super().read(value)


@dataclass(eq=False)
class Columns(FileName):
    """Names of columns: an option that is repeated, a variable with one name per line."""

    metavar: str = "COLUMN"

    def read(self, value: object) -> Any:
        lines: Any = value.splitlines() if isinstance(value, str) else value
        return [super(Columns, self).read(one) for one in lines if one]


class BadRows(Choice):
    """What to do with bad records; the words of earlier versions are understood."""

    def read(self, value: object) -> str:
        return super().read({"refuse": "fail", "reject": "set-aside"}.get(str(value), value))


_WRITTEN = tuple(name for name, form in FORMATS.items() if not form.kind.is_only_read)
INPUT_FORMAT = Setting(
    "input_format",
    Text("NAME", tuple(FORMATS)),
    None,
    "Format of DATA, such as csv.gz.",
    "reading",
    default_text="guessed from the file name",
    variable=False,
    rare=True,
)
OUTPUT_FORMAT = Setting(
    "output_format",
    Text("NAME", _WRITTEN),
    None,
    "Format of OUT, such as jsonl.",
    "output",
    default_text="guessed from the file name",
    variable=False,
    rare=True,
)
DIALECT = tuple(
    replace(csv_setting(name, "the schema's `file`, else {}"), rare=True) for name in OPTIONS
)
CHECKED_ENCODING = replace(
    csv_setting("encoding", "UTF-8"),
    help="Encoding of --checked.",
    name="checked_encoding",
    variable=False,
    rare=True,
)
_text = (
    "Bad records, and rows whose cells do not fit the schema. fail: refuse the table; set-aside: "
    "write them to OUT.rejects.csv."
)
ON_BAD_ROW = Setting(
    "on_bad_row", BadRows(("fail", "set-aside")), "fail", _text, "reading", rare=True
)
LEAVING_OUT = replace(
    ON_BAD_ROW,
    help="Bad records, and rows whose cells do not fit the schema. fail: refuse the table; "
    "set-aside: leave them out and count them.",
)
_SNIFFED = ("delimiter", "quote", "encoding")
SNIFFING = tuple(
    replace(one, rare=False)
    for one in (
        INPUT_FORMAT,
        *(csv_setting(name, "detected" if name in _SNIFFED else "{}") for name in OPTIONS),
        LEAVING_OUT,
    )
)
READING = (INPUT_FORMAT, *DIALECT, LEAVING_OUT)
_KEPT = "that of DATA if it is text too, else the schema's `file`, else {}"
OUTPUT_DELIMITER = replace(
    csv_setting("delimiter", _KEPT),
    name="output_delimiter",
    help="Delimiter of OUT, if it is a text table.",
    panel="output",
)
OUTPUT_ENCODING = replace(
    csv_setting("encoding", _KEPT),
    name="output_encoding",
    help="Encoding of OUT, if it is a text table.",
    panel="output",
)
STYLE = (OUTPUT_DELIMITER, OUTPUT_ENCODING)
FULL = "full"


class _Digits(Whole):
    """How many significant digits, or all of them."""

    def read(self, value: object) -> Any:
        return FULL if value == FULL else super().read(value)


DIGITS = Setting(
    "digits",
    _Digits(least=1, most=17, word=f"N|{FULL}"),
    None,
    "How many significant digits confidences have in OUT.",
    "output",
    default_text="6 in text formats, full in other formats",
)
TYPED = Setting(
    "typed",
    Switch(),
    False,
    "Write numeric columns of a text table as numbers, where OUT has such (.parquet, .arrow, .xlsx). "
    "Cells of the schema's `missing` become empty.",
    "output",
    opposite="--no-typed",
)
READING_AND_WRITING = (INPUT_FORMAT, *DIALECT, ON_BAD_ROW, OUTPUT_FORMAT, *STYLE)
FORMAT = Setting("format", Choice(tuple(RENDERERS)), "table", "Output format.", "output", short="f")
REPORT_FORMAT = replace(
    FORMAT,
    help="Output format. html: a page for browsers, in one file, with charts.",
    kind=Choice((*RENDERERS, "html")),
)
CHECK_FORMAT = replace(
    FORMAT,
    help="Output format. json: one object per problem and warning.",
    kind=Choice(("table", "json")),
)

_text = "Show the history of a model's batches, which `cfl apply --history` wrote."
HISTORY = Setting("history", FileName(), None, _text, "input", variable=False)


_TEXTS = ", ".join(f".{kind.name}" for kind in KINDS.values() if not kind.packs_itself)
_OTHERS = ", ".join(f".{kind.name}" for kind in KINDS.values() if kind.packs_itself)
_PACKED = ", ".join(f".{packing}" for packing in get_args(Packing))
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"Table: {_TEXTS} (also {_PACKED}), {_OTHERS}, or a folder of .parquet files; - is "
        "standard input.",
    ),
]


DataFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help=f"Table: {_TEXTS} (also {_PACKED}), {_OTHERS}, or a folder of .parquet files; - is "
        "standard input. Several tables, or a pattern such as 'n_*.csv', "
        "get one output each in the folder OUT.",
    ),
]


model_option = partial(typer.Option, "--model", "-m", metavar="FILE")
out_option = partial(typer.Option, "--out", "-o", rich_help_panel="output")
SchemaFile = Annotated[
    str,
    typer.Option(
        "--schema", "-s", metavar="FILE", help="Schema file (YAML).", rich_help_panel="input"
    ),
]


Out = Annotated[
    str,
    out_option(
        metavar="OUT",
        help="Table to write. The file name determines the format; a name that ends in / is a folder of .parquet "
        "files; - is standard output.",
    ),
]
TextOut = Annotated[
    str, out_option(metavar="FILE", help="File to write. Default: -, standard output.")
]


def _show_all(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        command: Any = ctx.command
        typer.echo(help_text(command.page(ctx, whole=True)), nl=False)
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option(
        "--help-all", is_eager=True, callback=_show_all, help="Show all options and exit."
    ),
]

Values = dict[str, Any]  # what was given, by name
ON, OFF = {"1", "y", "yes", "t", "true", "on"}, {"0", "n", "no", "f", "false", "off"}


def settings_of(command: str) -> tuple[Setting, ...]:
    return tuple(one for one in SETTINGS.values() if {command, EVERY_COMMAND} & {*one.commands})


def takes(
    job: str, *, rare: Sequence[str] = (), **others: Sequence[Setting]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its settings, as `given`, and other groups of options, each as `Values`.

    The decorated function says what the command is for and takes. Its `job` below
    `cfl_cli.commands`, such as `impute.work:run_impute`, takes the same and is loaded to run.
    Options that are `rare` with this command are listed by --help-all only.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        groups = {"given": settings_of(function.__name__), **others}

        @wraps(function)
        def run(*, help_all: bool = False, **values: Any) -> None:
            variables: dict[str, str] = {}
            for group, options in groups.items():
                asked = {option.name: values.pop(option.name) for option in options}
                values[group], used = given(options, asked)
                variables |= used
            LOG.verbose = values["given"].get("verbose", False)
            module, _, name = job.partition(":")
            work = getattr(import_module(f"cfl_cli.commands.{module}"), name)
            try:
                work(**{name: values[name] for name in own.parameters})
            except UsageError as error:
                problems = (naming_variables(one, variables) for one in error.problems)
                raise type(error)(*problems, more=error.more) from error

        own = inspect.signature(function)
        parameters = [
            *(p for p in own.parameters.values() if p.name not in groups),
            *(_parameter(option) for options in groups.values() for option in options),
            inspect.Parameter(
                "help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll
            ),
        ]
        facts: Any = run
        facts.job = job
        facts.__signature__ = own.replace(parameters=parameters)
        facts.__annotations__ = {p.name: p.annotation for p in parameters}
        facts.rare = {o.name for group in groups.values() for o in group if o.rare} | {*rare}
        facts.variables = {o.name: o.env for group in groups.values() for o in group if o.env}
        return run

    return decorate


_text = (
    "Table of other rows with known values, such as the last wave. Methods learn from these rows, but "
    "do not write or count them."
)
REFERENCE = Setting(
    "reference", FileName(), None, _text, "input", default_text="none", variable=False, rare=True
)


def given(options: Sequence[Setting], values: Mapping[str, Any]) -> tuple[Values, dict[str, str]]:
    """Return what was given on the command line or in the environment, read and checked.

    Nothing checks it again. The variables that gave a value come beside, by the option's name.
    """
    read: Values = {}
    variables, problems = dict[str, str](), []
    for one in options:
        value = values[one.name]
        if value is None and one.env and os.environ.get(one.env):  # an empty one is not given
            value, variables[one.name] = os.environ[one.env], one.env
            if isinstance(one.kind, Switch) and value.lower() in ON | OFF:
                value = value.lower() in ON
        if value is None:
            continue
        try:
            read[one.name] = one.kind.read(value)
        except ValueError as error:
            named = option(one.name, variable=variables.get(one.name, ""))
            facts: dict[str, Any] = {"message": str(error), "setting": one.name}
            problems.append(Problem("setting-wrong", "{option}: {message}", option=named, **facts))
    if problems:
        raise UsageError(*problems)
    return read, variables


def naming_variables(problem: Problem, variables: Mapping[str, str]) -> Problem:
    """Return a problem that names the environment variable where that gave an option's value.

    The code that finds the problem knows the option alone, and nobody may have typed it.
    """
    blamed = {
        name: replace(fact, variable=variables[fact.name])
        for name, fact in problem.facts.items()
        if isinstance(fact, Option) and fact.name in variables
    }
    return problem.changed(**blamed) if blamed else problem


def _parameter(option: Setting) -> inspect.Parameter:
    name = f"{option.option}/{option.opposite}" if option.opposite else option.option
    flags = [name, *([f"-{option.short}"] if option.short else [])]
    switch, repeated = isinstance(option.kind, Switch), isinstance(option.kind, Columns | Names)
    default = default_of(option)
    if switch and (default == "off" or not option.opposite):
        default = ""
    kind, words = option.kind, option.kind.choices

    def completed(ctx: typer.Context, incomplete: str) -> list[str]:
        if words:
            return [word for word in words if word.startswith(incomplete)]
        from cfl_cli.cli.completion import columns  # only when Tab is pressed

        return columns(ctx.params, incomplete, cfs=option.name == "cf")

    info = typer.Option(
        *flags,
        metavar=None if switch else kind.metavar,
        help=f"{option.help} Default: {default}." if default else option.help,
        rich_help_panel=option.panel,
        autocompletion=completed if words or (repeated and kind.metavar == "COLUMN") else None,
    )
    value: Any = bool if switch else list[str] if repeated else str
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[value | None, info],
    )


def default_of(option: Setting) -> str:
    """Return what holds if the option is not given, in words; empty if there is nothing to say."""
    if option.default_text:
        return option.default_text
    if isinstance(option.kind, Switch):
        return "on" if option.default else "off"
    value = f"{option.default:g}" if isinstance(option.default, float) else option.default
    return "" if value is None else str(value)
