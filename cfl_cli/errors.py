"""How `cfl` ends, and everything that can go wrong for a reason that the user can fix.

    CflError            exit code 1
    ├── SchemaError     1  the schema is wrong
    ├── DataError       1  the table is wrong, or does not fit the schema
    ├── UsageError      2  the command line, or the call, is wrong
    └── ResourceError   4  memory or disk ran out, or the solver failed

Logic raises these; `cli/app.py` is the only place that prints them and picks the exit code.
"""

from enum import IntEnum
from typing import ClassVar, Self

PROBLEMS_SHOWN = 20  # of one kind, spelled out; the rest is counted


class ExitCode(IntEnum):
    """How `cfl` ends; `words` are the manual's."""

    words: str

    def __new__(cls, code: int, words: str) -> Self:
        """Return the code, which knows its words."""
        made = int.__new__(cls, code)
        made._value_, made.words = code, words
        return made

    DONE = 0, "Done."
    WRONG_INPUT = 1, "The data or the schema is wrong."
    USAGE = 2, "The command line is wrong."
    FLAGGED = 3, "Done, but a CF is flagged and --fail-on-flag was given."
    RESOURCES = 4, "Out of memory or disk, or the solver failed."
    HUNG_UP = 129, "The terminal was closed; no partial file was left."
    INTERRUPTED = 130, "Interrupted; no partial file was left."
    TERMINATED = 143, "Terminated; no partial file was left."


class CflError(Exception):
    """Some problems, each a sentence that names the place, the value and the way out.

    `more` counts further problems that are not spelled out. `cause` is a key that stays the same,
    for programs, where there is one.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.WRONG_INPUT

    def __init__(self, *problems: str, more: int = 0, cause: str = "") -> None:
        self.problems = problems
        self.more = more
        self.cause = cause
        super().__init__("\n".join([*problems, *([f"and {more:,} more"] if more else [])]))


class SchemaError(CflError):
    """The schema is wrong."""


class DataError(CflError):
    """The table is wrong, or does not fit the schema."""


class UsageError(CflError):
    """The command line, or the call, is wrong."""

    exit_code = ExitCode.USAGE


class ResourceError(CflError):
    """Memory or disk ran out, or the solver failed."""

    exit_code = ExitCode.RESOURCES


class ProblemList:
    """What is wrong with data: the first few problems in words, the rest as a count."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.more = 0

    def note(self, message: str) -> None:
        """Note a problem, a sentence that names the place, the value and the way out."""
        if len(self.shown) < PROBLEMS_SHOWN:
            self.shown.append(message)
        else:
            self.more += 1

    def raise_if_any(self) -> None:
        """Raise a DataError if anything was noted."""
        if self.shown:
            raise DataError(*self.shown, more=self.more)
