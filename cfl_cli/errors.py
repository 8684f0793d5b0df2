"""Everything that can go wrong for a reason that the user can fix.

    CflError            exit code 1
    ├── SchemaError     1  the schema is wrong
    ├── DataError       1  the table is wrong, or does not fit the schema
    ├── UsageError      2  the command line, or the call, is wrong
    └── ResourceError   4  memory or disk ran out, or the solver failed

Logic raises these; `cli/app.py` is the only place that prints them and picks the exit code.
"""

from typing import ClassVar

PROBLEMS_SHOWN = 20  # of one kind, spelled out; the rest is counted


class CflError(Exception):
    """Some problems, each a sentence that names the place, the value and the way out.

    `more` counts further problems that are not spelled out.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, *problems: str, more: int = 0) -> None:
        self.problems = problems
        self.more = more
        super().__init__("\n".join([*problems, *([f"and {more:,} more"] if more else [])]))


class SchemaError(CflError):
    """The schema is wrong."""


class DataError(CflError):
    """The table is wrong, or does not fit the schema."""


class UsageError(CflError):
    """The command line, or the call, is wrong."""

    exit_code = 2


class ResourceError(CflError):
    """Memory or disk ran out, or the solver failed."""

    exit_code = 4
