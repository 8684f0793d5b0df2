"""What `cfl` says on stderr: lines of text, or with `--log-format json` one JSON object per line.

{"time": "2026-05-04T12:04:31.250+02:00", "level": "info", "command": "impute", "stage": null,
 "message": "…", "event": "imputed", "file": "out.csv", "rows": 3000, …}

The message is for people; everything a program needs is in a field (docs/reference/report.md).
"""

import codecs
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partialmethod
from io import TextIOWrapper
from itertools import pairwise
from typing import Any, Literal, TextIO, TypeAlias

import typer

from cfl_cli.cli.pages.width import wrapped
from cfl_cli.core.messages import STDOUT_CLOSED, printable
from cfl_cli.core.settings import SETTINGS
from cfl_cli.errors import Problem, ResourceError, Warned

_Format: TypeAlias = Literal["text", "json"]


_MARKS = {"info": "", "warning": "warning: ", "error": "cfl: "}  # before lines of text, by level


@dataclass
class Log:
    """Where all messages go; nothing happens if nobody listens on stderr."""

    format: _Format = "text"
    verbose: bool = False  # show where in the code an error arose
    command: str | None = None  # that runs
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def say(self, level: str, *messages: str, stage: str | None = None, **facts: object) -> None:
        for message in messages:
            now = self.now()
            if self.format == "json":
                time = now.isoformat(timespec="milliseconds")
                event = {"time": time, "level": level, "command": self.command, "stage": stage}
                line = json.dumps(event | {"message": message} | _about(message) | facts)
            else:
                clock = f"{now:%H:%M:%S} {stage}: " if stage else ""
                line = printable(f"{_MARKS[level]}{clock}{message}")
            with suppress(OSError):
                if self.format == "text" and (width := columns_of(sys.stderr)):
                    line = wrapped(line, width)
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    note = partialmethod(say, "info")
    warning = partialmethod(say, "warning")

    def attention(self, message: str, **facts: Any) -> None:
        """Say what was done and should be looked at; in text it needs no mark."""
        self.say("warning" if self.format == "json" else "info", message, **facts)

    def error(self, *problems: str | Problem) -> None:
        for one in problems:
            self.say("error", str(one), **(as_facts(one) if isinstance(one, Problem) else {}))

    def trace(self, error: BaseException) -> None:
        lines = "".join(traceback.format_exception(error))
        if self.format == "json":
            self.error(lines)
        else:
            with suppress(OSError):
                sys.stderr.write(lines)
                sys.stderr.flush()


def as_facts(problem: Problem) -> dict[str, Any]:
    """Return the fields of a problem in a log: those that it has as data, and its file beside them."""
    known = problem.as_dict()
    del known["text"]
    return {"event": "problem", "file": problem.place.file or None, **known}


def _about(message: str) -> dict[str, Any]:
    """Return what a warning is about, if it is known as data."""
    if not isinstance(message, Warned):
        return {}
    return {"event": "warning", "code": message.code, "column": message.column}


LOG = Log()  # the one that commands share; `--log-format` and `--verbose` set it


def asked_for(arguments: Sequence[str]) -> _Format:
    """Return the format that was asked for, before options are read: that too may fail."""
    option = SETTINGS["log_format"]
    given = [
        later if argument == option.option else argument.partition("=")[2]
        for argument, later in pairwise([*arguments, ""])
        if argument.partition("=")[0] == option.option
    ]
    last = given[-1] if given else os.environ.get(option.env or "")
    return "json" if last == "json" else "text"


# The standard streams: data on stdout, messages on stderr, and what the caller may have closed.


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads this stream; None is a stream that the caller has closed."""
    return stream is not None and stream.isatty()


def columns_of(stream: TextIO | None) -> int | None:
    """Return the width of the terminal; None without one."""
    if stream is None or not is_terminal(stream):
        return None
    return os.get_terminal_size(stream.fileno()).columns


def print_out(text: str | bytes) -> None:
    if sys.stdout is None:
        raise ResourceError(Problem("out-stdout-closed", STDOUT_CLOSED))
    try:
        typer.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader went away, which is not a failure
    except OSError as error:
        what = str(error.strerror or error)
        problem = Problem("out-stdout-broken", "standard output: {what}", what=what)
        raise ResourceError(problem) from error


note, warn, attention, complain = LOG.note, LOG.warning, LOG.attention, LOG.error


# Signs of ours that consoles with an old encoding (cp437, cp1252) lack, and what stands for them.
_IN_ASCII = {
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "x",
    "·": ".",
    "→": "->",
    "↔": "<->",
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "±": "+-",
    "█": "#",
    "░": ".",
    "▏": "|",
    "′": "'",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "Σ": "sum",
    "γ": "gamma",
    "\N{NO-BREAK SPACE}": " ",
}


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    escaped = (_IN_ASCII.get(c) or c.encode("ascii", "backslashreplace").decode() for c in signs)
    return "".join(escaped), error.end


def let_streams_write_all(*streams: TextIO | None) -> None:
    """Let streams write every text, whatever their encoding: as it is, in ASCII, or escaped."""
    codecs.register_error("cfl", _plainly)
    for stream in streams:
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="cfl")


def leave_stdout() -> None:
    """Send nothing more to a reader that went away, not even at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
