"""How `cfl` ends, and everything that can go wrong for a reason that the user can fix.

    CflError            exit code 1
    ├── SchemaError     1  the schema is wrong
    ├── DataError       1  the table is wrong, or does not fit the schema
    ├── UsageError      2  the command line, or the call, is wrong
    └── ResourceError   4  memory or disk ran out, or the solver failed

A problem is data: a code, a place, a column, a value and a remedy. Logic raises it where the fact is
known; it becomes a sentence where it is shown. `cli/app.py` is the only place that prints errors and
picks the exit code.
"""

import errno
import os
from collections.abc import Collection
from enum import IntEnum
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from cfl_cli.core.messages import filled_in, nearest_word, quote

PROBLEMS_SHOWN = 20  # of one kind, spelled out; the rest is counted
_MOST = 10_000  # files of a folder, among which a similar name is looked for


class ExitCode(IntEnum):
    """How `cfl` ends; for the manual's words see `cli/manual.py`."""

    DONE = 0
    WRONG_INPUT = 1
    USAGE = 2
    FLAGGED = 3
    RESOURCES = 4
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class _Hidden:
    """Stands for a user's text that may not be shown."""

    def __str__(self) -> str:
        return "(not shown)"


class _Place(NamedTuple):
    """Where a problem is: a file, and in it a line, a row (from 1) or a cell of a spreadsheet."""

    file: str = ""
    line: int | None = None
    row: int | None = None
    cell: str = ""


class UserText(str):
    """Text of the user's table, or what may be such, among the facts of a problem."""

    __slots__ = ()


class Problem:
    """One thing that is wrong, as data; `str` makes it a sentence for whoever reads it now.

    Parameters
    ----------
    code : a stable key, such as `csv-ragged-record`; `docs/reference/problems.md` lists all of them
    text : the sentence, with fields in braces: `{file}`, `{line}`, `{row}`, `{cell}`, `{column}`,
        `{value}`, `{remedy}` and the names of `facts`. `{value!r}` quotes a user's text.
    file, line, row, cell : the place
    column : the name of the table's column that it is about
    value : the user's text that is at fault
    remedy : what to do: a text, an option (`core.messages.option`), or several ways
    facts : whatever else the sentence needs. Texts of the table among them are `UserText`.

    >>> str(Problem("no-column", "{file}: no column {column!r}", file="a.csv", column="job"))
    "a.csv: no column 'job'"
    """

    __slots__ = ("code", "column", "facts", "place", "remedy", "text", "value")

    def __init__(
        self,
        code: str,
        text: str,
        /,
        *,
        file: object = "",  # a name or a path
        line: Any = None,
        row: Any = None,
        cell: Any = "",
        column: Any = None,
        value: object = None,
        remedy: object = "",
        **facts: object,
    ) -> None:
        self.code, self.text = code, text
        self.place = _Place("" if file is None else str(file), line, row, cell)
        self.column, self.value, self.remedy = column, value, remedy
        self.facts = facts

    @property
    def fields(self) -> dict[str, object]:
        """What the sentence may name."""
        own = {"column": self.column, "value": self.value, "remedy": self.remedy}
        return {**self.place._asdict(), **own, **self.facts}

    def __str__(self) -> str:
        return filled_in(self.text, self.fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.code, str(self)) == (other.code, str(other))

    def __hash__(self) -> int:
        return hash((self.code, self.text))

    def __repr__(self) -> str:
        return f"Problem({self.code!r}, {str(self)!r})"

    def changed(self, **fields: object) -> "Problem":
        """Return the same problem with other fields: `file`, `remedy`, a fact and so on."""
        return Problem(self.code, str(fields.pop("text", self.text)), **(self.fields | fields))

    def redacted(self, columns: Collection[str], identifiers: Collection[str]) -> "Problem":
        """Return the same problem without texts that may be an identifier's cells.

        `columns` are those that the schema names. A text stays only if it belongs to one of them
        that is no identifier; a column that the schema does not name may be a cell as well, where
        a file has no header.
        """
        known = self.column in columns
        shown = known and self.column not in identifiers
        hidden = _Hidden()
        facts = {
            name: fact if shown or not isinstance(fact, UserText) or fact in columns else hidden
            for name, fact in self.facts.items()
        }
        return self.changed(
            column=self.column if known or self.column is None else hidden,
            value=self.value if shown or self.value is None else hidden,
            remedy=self.remedy if shown or not isinstance(self.remedy, UserText) else hidden,
            **facts,
        )

    def as_dict(self) -> dict[str, object]:
        place = {name: one for name, one in self.place._asdict().items() if one not in (None, "")}
        return {
            "code": self.code,
            "place": place,
            "column": None if self.column is None else str(self.column),
            "value": None if self.value is None else str(self.value),
            "remedy": filled_in("{remedy}", {"remedy": self.remedy}) or None,
            "text": str(self),
        }


class CflError(Exception):
    """An error with its problems; `more` counts further problems that are not listed.

    >>> error = DataError(Problem("no-column", "no column {column!r}", column="job"))
    >>> error.problems[0].column
    'job'
    """

    exit_code: ClassVar[ExitCode] = ExitCode.WRONG_INPUT

    def __init__(self, *problems: Problem, more: int = 0) -> None:
        self.problems, self.more = problems, more
        super().__init__(*problems)

    @property
    def texts(self) -> tuple[str, ...]:
        """The problems as sentences, for whoever reads messages now."""
        return tuple(map(str, self.problems))

    @property
    def code(self) -> str:
        return self.problems[0].code if self.problems else ""

    def __str__(self) -> str:
        lines = [*map(str, self.problems), *([f"and {self.more:,} more"] if self.more else [])]
        return "\n".join(lines)


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


class CflWarning(UserWarning):
    """Something that did not go as it should, although all that was asked for is done."""


class ProblemList:
    """What is wrong with data: the first few problems, the rest as a count."""

    def __init__(self) -> None:
        self.shown: list[Problem] = []
        self.more = 0

    def note(self, problem: Problem) -> None:
        if len(self.shown) < PROBLEMS_SHOWN:
            self.shown.append(problem)
        else:
            self.more += 1

    def raise_if_any(self) -> None:
        """Raise a DataError if anything was noted."""
        if self.shown:
            raise DataError(*self.shown, more=self.more)


def file_problem(code: str, file: object, what: str, remedy: object = "") -> Problem:
    """Return what is wrong with a file or a folder as a whole."""
    text = "{file}: {what}: {remedy}" if remedy else "{file}: {what}"
    return Problem(code, text, file=str(file), what=what, remedy=remedy)


def system_problem(file: object, verb: str, error: BaseException) -> Problem:
    """Return that a file cannot be `read` or `written`, for the cause that the system names."""
    code = "file-unreadable" if verb == "read" else "file-unwritable"
    return file_problem(code, file, f"cannot be {verb}: {cause_of(error)}")


def cause_of(error: BaseException) -> str:
    """Return why a file cannot be opened; for one that does not exist, with a similar name."""
    cause = getattr(error, "strerror", None) or str(error)
    path = getattr(error, "filename", None)
    if not isinstance(error, FileNotFoundError) or not path or isinstance(path, int):
        return cause
    from pathlib import Path  # an error takes its time

    name = Path(os.fspath(path))
    try:
        with os.scandir(name.parent) as entries:
            there = sorted(entry.name for entry in islice(entries, _MOST))
    except OSError:
        return cause
    alike = {Path(one).stem: one for one in there if Path(one).suffix == name.suffix}
    same = [one for one in there if one.partition(".")[0] == name.name.partition(".")[0]]
    near = alike.get(nearest_word(name.stem, alike) or "") or next(iter(same), None)
    return f"{cause} (did you mean {quote(near)}?)" if near else cause


_SHORT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS})


def is_short(error: BaseException) -> bool:
    """Return whether the system lacks something, such as handles: no file is to blame."""
    return isinstance(error, OSError) and error.errno in _SHORT


def unreadable(file: object, error: BaseException) -> CflError:
    """Return the error for a file that cannot be read, for the cause that the system names."""
    kind = ResourceError if is_short(error) else DataError
    return kind(system_problem(file, "read", error))


def is_panic(error: BaseException) -> bool:
    """Return whether a package in Rust has panicked; each has a class of its own for that."""
    return any(one.__name__ == "PanicException" for one in type(error).__mro__)
