"""Options and commands in messages, as the caller writes them: on the command line or in Python.

    option("max_memory")            --max-memory         max_memory
    option("folds", 0)              --folds 0            folds=0
    option("keep_flagged", True)    --keep-flagged       keep_flagged=True
    options("cf", ["a", "b"])       --cf a --cf b        cf=['a', 'b']
    setting("k")                    k (--k)              k
    command("impute")               `cfl impute`         `impute`

The command line says so when it starts; whoever else calls is Python. What a report or a model
keeps is the same whoever made it, and so in the words of the command line: there, `STORED` is
given as `to`, and `spoken` puts such a text into the words of whoever reads it.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum

from cfl_cli.core.messages import quote


class Caller(Enum):
    """Who reads the messages."""

    COMMAND_LINE = "command line"
    PYTHON = "Python"


STORED = Caller.COMMAND_LINE
_CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller.PYTHON)
_VALUE = "auto|graph|soft|[0-9][0-9.]*[0-9]|[0-9]"  # those that stored texts name
_OPTION = re.compile(rf"--(no-)?([a-z][a-z-]*[a-z]|k)\b(?: ({_VALUE}))?")
_COMMAND = re.compile("`cfl ([a-z]+)`")


def caller() -> Caller:
    """Return who reads messages that are made now."""
    return _CALLER.get()


def speak_to(reader: Caller) -> None:
    """Let messages of this thread speak to `reader` from now on; a new thread speaks to Python."""
    _CALLER.set(reader)


@contextmanager
def on_command_line() -> Iterator[None]:
    """Let messages within the block speak to the command line."""
    before = _CALLER.set(Caller.COMMAND_LINE)
    try:
        yield
    finally:
        _CALLER.reset(before)


def option(
    name: str,
    value: object = None,
    *,
    python: str = "",
    quoted: bool = False,
    pasted: bool = False,
    to: Caller | None = None,
) -> str:
    """Return an option, or the argument that stands for it in Python, and its value if given.

    `python` is the argument's name where it is another one. `quoted` is for values that are the
    user's texts, not words that can be typed as they are; with `pasted`, a shell takes them.
    """
    if (to or caller()) is Caller.PYTHON:
        argument = python or name
        if value is None:
            return argument
        return f"{argument}={quote(value) if isinstance(value, str) else value}"
    typed = name.replace("_", "-")
    if value is None or isinstance(value, bool):
        return f"--no-{typed}" if value is False else f"--{typed}"
    if pasted:
        return f"--{typed} {shlex.quote(str(value))}"
    return f"--{typed} {quote(str(value)) if quoted else value}"


def options(name: str, values: Sequence[str]) -> str:
    """Return an option that is repeated, or the argument that takes a list instead."""
    if caller() is Caller.PYTHON:
        return f"{name}=[{', '.join(map(quote, values))}]"
    return " ".join(option(name, value) for value in values)


def setting(name: str) -> str:
    """Return a setting by its name, which the command line writes in its own way."""
    return name if caller() is Caller.PYTHON else f"{name} ({option(name)})"


def command(line: str, *, python: str = "", mark: str = "`", to: Caller | None = None) -> str:
    """Return a command, or the function that does the same; `python` names it if not `line`."""
    called = (to or caller()) is Caller.PYTHON
    return f"{mark}{python or line if called else f'cfl {line}'}{mark}"


def spoken(stored: str) -> str:
    """Return a text that was stored, in the words of whoever reads it now."""
    if caller() is not Caller.PYTHON:
        return stored

    def argument(found: re.Match[str]) -> str:
        name, value = found[2].replace("-", "_"), found[3]
        if found[1]:
            return option(name, value=False)
        return f"{name}={value if value[0].isdigit() else quote(value)}" if value else name

    return _COMMAND.sub(r"`\1`", _OPTION.sub(argument, stored))
