"""The command line: errors → messages → exit codes, for whichever command was asked for.

This is the only place that prints errors. A command's file is imported when it is asked for, and
heavy packages when it runs, so that `cfl --help` answers at once.
"""

import os
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from cfl_cli import __version__
from cfl_cli.cli import help
from cfl_cli.cli.log import LOG, asked_for, complain, leave_stdout, note
from cfl_cli.cli.start import lacks_memory, out_of_memory
from cfl_cli.commands import COMMANDS, GROUPS
from cfl_cli.core import process
from cfl_cli.core.messages import CALLER, Caller, count, did_you_mean, printable, quote
from cfl_cli.core.process import settle
from cfl_cli.errors import (
    PROBLEMS_SHOWN,
    CflError,
    CflWarning,
    ExitCode,
    Problem,
    is_panic,
)

# What is wrong with a command line, in one style: `--option: what was expected`.


@contextmanager
def located(ctx: Any) -> Iterator[None]:
    """Let problems with the command line know the command, which Typer sometimes leaves out."""
    try:
        yield
    except typer.TyperException as error:
        facts: Any = error
        facts.ctx = getattr(error, "ctx", None) or ctx
        raise


def _problem_of(error: Any) -> str:
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if option and hasattr(error, "possibilities"):
        wanted, ctx = option.lstrip("-"), error.ctx
        names = [
            name.lstrip("-")
            for one in ctx.command.get_params(ctx)
            for name in (*one.opts, *one.secondary_opts)
            if name.startswith("--")
        ]
        alike = [name for name in names if len(wanted) > 1 and name.startswith(wanted)]
        alike += get_close_matches(wanted, names, n=1)
        near = f" (did you mean {quote(f'--{alike[0]}')}?)" if alike else ""
        return f"{option}: unknown option{near}"
    if option:
        expected = "expected a value" if "requires" in error.message else "takes no value"
        return f"{option}: {expected}"
    if param is None:
        message = str(error.message).rstrip(".")
        return message[:1].lower() + message[1:]
    argument = param.param_type_name == "argument"
    name = param.metavar.removesuffix("...") if argument else param.opts[0]
    drafts = ": `cfl init DATA` drafts a schema" if name == "--schema" else ""
    return f"{name}: {error.message or f'this {param.param_type_name} is required{drafts}'}"


# Shell completion: Typer answers the Tab key; these are the scripts that let a shell ask it.

PROGRAM, VARIABLE = "cfl", "_CFL_COMPLETE"
# Typer's own script for zsh loses the first Tab of every session: zsh loads it then, and it only
# registers a function for the next time.
ZSH = """\
#compdef cfl

_cfl_completion() {
  eval $(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _CFL_COMPLETE=complete_zsh cfl)
}

if [[ "$funcstack[1]" == "_cfl" ]]; then
  _cfl_completion "$@"
else
  compdef _cfl_completion cfl
fi
"""


def _answer(ctx: typer.Context, param: typer.CallbackParam, value: bool) -> None:
    if value and param.name == "version":
        typer.echo(f"cfl {__version__}")
        raise typer.Exit
    if not value or ctx.resilient_parsing:
        return
    option, *others = sys.argv[1:] or [""]
    if others:
        text = f"{option}: takes no value; it is for the shell that runs cfl"
        raise typer.BadParameter(text, ctx)
    from typer import completion

    names: dict[str, Any] = {"prog_name": PROGRAM, "complete_var": VARIABLE}
    if param.name == "install_completion":  # where the shell finds it
        shell, path = completion.install(**names)  # type: ignore[attr-defined]  # typer's types lack it
        if shell == "zsh":
            path.write_text(ZSH, encoding="utf-8")
        typer.echo(f"{shell} completion is in {path}; it works in new terminals")
    else:
        shell = completion._get_shell_name() or ""  # type: ignore[attr-defined]  # noqa: SLF001 — no other way
        script = completion.get_completion_script(**names, shell=shell)  # type: ignore[attr-defined]  # typer's types lack it
        typer.echo(ZSH if shell == "zsh" else script)
    raise typer.Exit


EXAMPLE = """\
cfl init people.csv --cf job --out schema.yml
cfl check people.csv --schema schema.yml
cfl impute people.csv --schema schema.yml --out imputed.parquet
cfl report imputed.parquet"""


class Command(TyperCommand):
    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help.help_text(self.page(ctx)))

    def page(self, ctx: Any, *, whole: bool = False) -> help.HelpPage:
        return help.page(self, ctx, whole=whole)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; an argument too many is a problem like any other."""
        # An option that may stand alone, and does, gets an empty value.
        alone = {name for one in self.params if str(one.metavar)[:1] == "[" for name in one.opts}
        options = args[: args.index("--")] if "--" in args else args
        whole: list[str] = []
        for place, arg in enumerate(args):
            following = [*options[place + 1 : place + 2], "--"][0]
            last = following[:1] == "-" and following != "-"
            whole += [arg, ""] if place < len(options) and arg in alone and last else [arg]
        if ctx.resilient_parsing and whole and whole[-1].startswith("-"):
            whole.pop()  # the option whose value the shell asks for: without it, the rest is read
        ctx.allow_extra_args = True
        with located(ctx):
            extra = super().parse_args(ctx, whole)
        if extra and not ctx.resilient_parsing:
            hint = _repeated(self.params, args)
            raise typer.BadParameter(f"{quote(extra[0])}: one argument too many{hint}", ctx)
        return extra


def _repeated(params: Sequence[Any], args: Sequence[str]) -> str:
    """Return what to type if several words follow an option that takes one and can be repeated."""
    for option in (
        option for one in params if getattr(one, "multiple", False) for option in one.opts
    ):
        for at in (at for at, arg in enumerate(args) if arg == option):
            words = [*takewhile(lambda word: not word.startswith("-"), args[at + 1 :])]
            if len(words) > 1:
                typed = " ".join(f"{option} {shlex.quote(word)}" for word in words[:2])
                return f"; to name several, repeat {option}: {typed}"
    return ""


class Commands(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            if ctx.resilient_parsing:
                return None
            near = did_you_mean(cmd_name, COMMANDS)
            raise typer.BadParameter(f"{quote(cmd_name)}: unknown command{near}", ctx)
        module = import_module(f"cfl_cli.commands.{COMMANDS[cmd_name]}")
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        example = module.EXAMPLES[cmd_name]
        alone.command(cmd_name, cls=Command, epilog=example)(getattr(module, cmd_name))
        return typer.main.get_command(alone)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help.help_text(self.page(ctx)))

    def page(self, ctx: Any) -> help.HelpPage:
        def entry(name: str) -> help.HelpEntry:
            return help.HelpEntry(name, self.get_command(ctx, name).help.partition("\n\n")[0])

        groups = {title: [*map(entry, names)] for title, names in GROUPS.items()}
        return help.page(self, ctx, commands=groups)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments behind the options of `cfl` itself; without any, show the help."""
        if not args and not ctx.resilient_parsing:
            typer.echo(ctx.get_help(), err=True)
            raise typer.Exit(ExitCode.USAGE)
        match args:
            case ["help"] | ["--help-all"]:
                args = ["--help"]
            case ["help", asked, *more]:
                args = [asked, *more, "--help"]
            case ["version"]:
                args = ["--version"]
        for param in self.get_params(ctx):
            if param.default is None:
                param.default = False  # all are switches; to read a None, Typer imports pydantic
        with located(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        others = warnings.showwarning

        def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
            if issubclass(category, CflWarning):  # those of packages stay as they are
                LOG.warning(str(message))
            else:
                others(message, category, *where, **more)

        try:
            with warnings.catch_warnings():
                warnings.showwarning = show
                warnings.simplefilter("always", CflWarning)
                return super().invoke(ctx)
        except BrokenPipeError as error:  # the reader has seen enough
            leave_stdout()
            raise typer.Exit from error
        except BaseException as error:
            known = (CflError, MemoryError, OSError, KeyboardInterrupt)
            if not isinstance(error, known) and not is_panic(error):
                raise
            settle()  # what is half done may have been removed, because a signal ends the process
            code = complain_of(error)
            if LOG.verbose:
                LOG.trace(error)
            raise typer.Exit(code) from error

    def main(self, *args: Any, standalone_mode: bool = True, **options: Any) -> Any:
        arguments = options.get("args")
        LOG.verbose = False  # until a command has read its options
        LOG.format = asked_for(sys.argv[1:] if arguments is None else arguments)
        if VARIABLE in os.environ:
            from typer.completion import get_completion_inspect_parameters

            get_completion_inspect_parameters()  # lets Typer know the shells that ask
        before = CALLER.set(Caller.COMMAND_LINE)
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except typer.TyperException as error:
            facts: Any = error
            complain(_problem_of(facts))
            note(f"see {facts.ctx.command_path} --help")
            code = ExitCode.USAGE
        finally:
            CALLER.reset(before)
        if standalone_mode:
            raise SystemExit(code)
        return code


app = typer.Typer(
    cls=Commands,
    add_completion=False,  # by options of our own, see `completion`
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # our own help: rich alone would take a third of a second
    context_settings={"help_option_names": ["-h", "--help"]},
)


_switch = partial(typer.Option, callback=_answer, is_eager=True)


@app.callback(epilog=EXAMPLE)
def cfl(
    *,
    version: Annotated[bool, _switch("--version", "-V", help="Print the version.")] = False,
    install_completion: Annotated[
        bool, _switch("--install-completion", help="Install completion for the current shell.")
    ] = False,
    show_completion: Annotated[
        bool,
        _switch("--show-completion", help="Print the completion script for the current shell."),
    ] = False,
) -> None:
    """Estimate the values behind exclusions: columns that only say what a value is not.

    An exclusion column (complementary feature, CF) says what a value is not, such as "not a nurse".
    A feature column (ordinary feature, OF) says what a value is. cfl predicts the values of CFs
    from the OFs, and reports how far you can trust them.
    """


def complain_of(error: BaseException) -> ExitCode:
    if isinstance(error, KeyboardInterrupt):
        complain("interrupted; no partial file was left")
        return ExitCode.INTERRUPTED
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{printable(str(error.filename))}: "
        complain(f"{place}{error.strerror or error}")
        return ExitCode.RESOURCES
    if is_panic(error) and not lacks_memory(error):  # its own text may hold a cell
        text = "a package that cfl uses failed on this input: {remedy}"
        remedy = "check whether the file is damaged; if it is not, report this problem with the output of -v"
        complain(Problem("library-panic", text, remedy=remedy))
        return ExitCode.WRONG_INPUT
    if not isinstance(error, CflError):
        complain(out_of_memory(process.allowance()))
        return ExitCode.RESOURCES
    complain(*error.problems[:PROBLEMS_SHOWN])
    more = error.more + len(error.problems[PROBLEMS_SHOWN:])
    if more:
        complain(f"and {count(more, 'more problem')}")
    return error.exit_code


def run_app() -> None:
    """Run `cfl` with standard streams that are fit for use, whatever the caller has closed."""
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
    try:
        app()
    except SystemExit as end:
        settle()
        code = end.code if isinstance(end.code, int) else ExitCode.DONE
        if code:
            _leave(code)
        raise
    except Exception as error:
        if lacks_memory(error):  # in words that only some package has for it
            _leave(complain_of(MemoryError()))
        if isinstance(error, OSError):
            complain(f"standard output: cannot be written: {error.strerror or error}")
            _leave(ExitCode.RESOURCES)
        raise


def _leave(code: int) -> NoReturn:
    """Leave at once, with everything written.

    Threads may be at work on what nobody wants any more, and those of pyarrow that still read a
    table would abort the process.
    """
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: it was closed before
        with suppress(OSError, ValueError):  # the reader may be gone
            stream.flush()
    os._exit(code)
