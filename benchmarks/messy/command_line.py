"""The command line in this process: what it prints and its exit code."""

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from cfl_cli.cli.app import app


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    said: str  # on stderr
    crashed: str = ""  # an exception that a user would see as a traceback

    @property
    def lines(self) -> list[str]:
        """What it said, line by line, without the hint at the help."""
        return [line for line in self.said.splitlines() if not line.startswith("see ")]


def cfl(*arguments: str | Path, text: bytes | None = None) -> Ended:
    """Run `cfl` with these arguments and this standard input."""
    result = CliRunner().invoke(app, [str(part) for part in arguments], input=text)
    error = result.exception
    crashed = "" if error is None or isinstance(error, SystemExit) else repr(error)
    return Ended(result.exit_code, result.stdout, result.stderr, crashed)
