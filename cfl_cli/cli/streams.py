"""The standard streams: data on stdout, messages on stderr, and what the caller may have closed."""

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import typer

from cfl_cli.cli.log import LOG
from cfl_cli.core.messages import STDOUT_CLOSED
from cfl_cli.errors import ResourceError


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


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person reads this stream; None is a stream that the caller has closed."""
    return stream is not None and stream.isatty()


def print_out(text: str | bytes) -> None:
    """Write `text` to standard output."""
    if sys.stdout is None:
        raise ResourceError(STDOUT_CLOSED)
    try:
        typer.echo(text, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        raise  # the reader went away, which is not a failure
    except OSError as error:
        raise ResourceError(f"standard output: {error.strerror or error}") from error


def note(*messages: str) -> None:
    """Say on stderr what was done, one line each."""
    for message in messages:
        LOG.note(message)


def warn(*warnings: str) -> None:
    """Say on stderr what to check, one line each."""
    for warning in warnings:
        LOG.warning(warning)


def attention(message: str) -> None:
    """Say on stderr what was done and should be looked at, which is a warning to programs."""
    LOG.attention(message)


def complain(*problems: str) -> None:
    """Say on stderr what went wrong, one line each."""
    for problem in problems:
        LOG.error(problem)


def leave_stdout() -> None:
    """Send nothing more to a reader that went away, not even at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
