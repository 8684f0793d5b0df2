"""What is wrong with a command line, in one style: `--option: what was expected`."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer

from cfl_cli.core.messages import quote


@contextmanager
def located(ctx: Any) -> Iterator[None]:
    """Let problems with the command line know the command, which Typer sometimes leaves out."""
    try:
        yield
    except typer.TyperException as error:
        facts: Any = error
        facts.ctx = getattr(error, "ctx", None) or ctx
        raise


def with_values(params: Iterable[Any], args: Sequence[str]) -> Iterator[str]:
    """Yield the arguments, with an empty value after an option that may stand alone and does."""
    alone = {name for one in params if str(one.metavar)[:1] == "[" for name in one.opts}
    options = args[: args.index("--")] if "--" in args else args
    for place, arg in enumerate(args):
        yield arg
        following = [*options[place + 1 : place + 2], "--"][0]
        if place < len(options) and arg in alone and following[:1] == "-" and following != "-":
            yield ""


def path_of(error: Any) -> str:
    """Return the command whose help shows what is right."""
    return str(error.ctx.command_path)


def problem_of(error: Any) -> str:
    """Return what Typer found wrong with the command line, in one line."""
    option, param = getattr(error, "option_name", None), getattr(error, "param", None)
    if option and hasattr(error, "possibilities"):
        return f"{option}: unknown option{_nearest(option, error.ctx)}"
    if option:
        expected = "expected a value" if "requires" in error.message else "takes no value"
        return f"{option}: {expected}"
    if param is None:
        message = str(error.message).rstrip(".")
        return message[:1].lower() + message[1:]
    name = param.metavar if param.param_type_name == "argument" else param.opts[0]
    drafts = ": `cfl init DATA` drafts a schema" if name == "--schema" else ""
    return f"{name}: {error.message or f'this {param.param_type_name} is required{drafts}'}"


def _nearest(option: str, ctx: Any) -> str:
    """Return ` (did you mean '--x'?)` for an option that begins alike or is spelled alike."""
    wanted = option.lstrip("-")
    names = [
        name.lstrip("-")
        for param in ctx.command.get_params(ctx)
        for name in (*param.opts, *param.secondary_opts)
        if name.startswith("--")
    ]
    alike = [name for name in names if len(wanted) > 1 and name.startswith(wanted)]
    alike += get_close_matches(wanted, names, n=1)
    return f" (did you mean {quote(f'--{alike[0]}')}?)" if alike else ""
