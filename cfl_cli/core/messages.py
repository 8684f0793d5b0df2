"""How messages quote what the user wrote."""

import difflib
import reprlib
import shlex
import string
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

LONGEST = 60
_NEAR = 3  # values that a cell may misspell, at most
SLIP = 5  # letters of a text for each one that may be wrong; one may always be
SEVERAL = 3  # columns with missing cells, from which on one line stands for all of them
STDOUT_CLOSED = "standard output is closed"


def quote(text: str) -> str:
    """Return `text` in quotes, escaped, and cut when it is long."""
    return shortened(repr(text))


def shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def count(number: int, noun: str) -> str:
    """Return so many of a thing, in words: `1 CF`, `2 CFs`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def cells_filled(column: str, cells: int) -> str:
    return f"column {quote(column)}: {count(cells, 'missing cell')} filled in"


def row_name(row: object) -> str:
    """Return what a row is called: a number, or a label of a caller's index."""
    return f"{row:,}" if isinstance(row, int) else printable(str(row))


def did_you_mean(text: str, choices: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the choice nearest to `text`, or nothing."""
    near = nearest_word(text, choices)
    return f" (did you mean {quote(near)}?)" if near is not None else ""


def nearest_word(text: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is spelled most like `text`; None if none is like it."""
    folded = {choice.strip().lower(): choice for choice in choices}
    near = difflib.get_close_matches(text.strip().lower(), list(folded), n=1)
    return folded[near[0]] if near else None


def meant(text: str, values: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the value that a cell misspells, or nothing."""
    near = value_meant(text, values)
    return "" if near is None else f" (did you mean {quote(near)}?)"


def value_meant(text: str, values: Iterable[str]) -> str | None:
    """Return the value that a cell misspells, if any.

    A value that differs in its number, or in a beginning such as un or dis, is another one.
    """
    bare = text.strip().lower()
    folded = {value.strip().lower(): value for value in values}
    for near in difflib.get_close_matches(bare, list(folded), n=_NEAR):
        limit = max(1, max(len(bare), len(near)) // SLIP)
        numbered = [[*filter(str.isdigit, one)] for one in (bare, near)]
        words = (sorted(pair, key=len) for pair in zip(bare.split(), near.split(), strict=False))
        opposed = any(len(b) - len(a) > 1 and b.endswith(a) for a, b in words)
        if numbered[0] == numbered[1] and not opposed and edits(bare, near) <= limit:
            return folded[near]
    return None


def edits(one: str, other: str) -> int:
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one):
        now = [row + 1]
        for column, at in enumerate(other):
            cost = min(now[-1] + 1, last[column + 1] + 1, last[column] + (letter != at))
            if row and column and letter == other[column - 1] and one[row - 1] == at:
                cost = min(cost, before[column - 1] + 1)
            now.append(cost)
        before, last = last, now
    return last[-1]


def printable(text: str) -> str:
    """Return `text` with control characters escaped, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unknown(noun: str, value: object, choices: Sequence[str], *, where: str = "") -> str:
    if not isinstance(value, str):
        return f"unknown {noun} {seen(value)}{where}{_among(choices)}"
    return f"unknown {noun} {quote(value)}{where}{did_you_mean(value, choices) or _among(choices)}"


def lacking(key: str, choices: Sequence[str] = ()) -> str:
    return f"{quote(key)} is missing{_among(choices)}"


def either(choices: Sequence[str], word: str = "or") -> str:
    """Return the choices in words: `hard, soft or both`."""
    *others, last = choices
    return f"{', '.join(others)} {word} {last}" if others else last


def _among(choices: Sequence[str]) -> str:
    return f" ({either(choices)})" if len(choices) > 1 else ""


def type_name_of(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def seen(value: object) -> str:
    match value:
        case None | "":
            return "nothing"
        case str():
            return quote(value)
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case _:
            return reprlib.repr(value)


# Options and commands in messages, as the caller writes them: on the command line or in Python.
#
#     option("max_memory")            --max-memory         max_memory
#     option("folds", 0)              --folds 0            folds=0
#     option("keep_flagged", True)    --keep-flagged       keep_flagged=True
#     options("cf", ["a", "b"])       --cf a --cf b        cf=['a', 'b']
#     named_setting("k")              k (--k)              k
#     command("impute")               `cfl impute`         `impute`
#
# The command line sets its caller when it starts; without that, the caller is Python. Texts of a
# report or a model are always those of the command line: there, `STORED` is given as `to`.


class Caller(Enum):
    COMMAND_LINE = "command line"
    PYTHON = "Python"


STORED = Caller.COMMAND_LINE
CALLER: ContextVar[Caller] = ContextVar("caller", default=Caller.PYTHON)  # of each thread


@dataclass(frozen=True)
class Option:
    """An option in a text: `--max-memory` on the command line, `max_memory` in Python."""

    name: str
    value: object = None
    python: str = ""  # the argument's name where it is another one
    quoted: bool = False  # is the value a user's text, not a word that can be typed as it is?
    pasted: bool = False  # is the value to be pasted into a shell?
    to: Caller | None = None  # who reads it; None: whoever reads messages now
    variable: str = ""  # the environment variable that gave the value, named in its place

    def __str__(self) -> str:
        if self.variable:
            return self.variable if self.value is None else f"{self.variable}={self.value}"
        if (self.to or CALLER.get()) is Caller.PYTHON:
            argument = self.python or self.name
            if self.value is None:
                return argument
            return f"{argument}={quote(self.value) if isinstance(self.value, str) else self.value}"
        typed = self.name.rstrip("_").replace("_", "-")
        if self.value is None or isinstance(self.value, bool):
            return f"--no-{typed}" if self.value is False else f"--{typed}"
        if self.pasted:
            return f"--{typed} {shlex.quote(str(self.value))}"
        return f"--{typed} {quote(str(self.value)) if self.quoted else self.value}"


option = Option


@dataclass(frozen=True)
class Options:
    name: str
    values: Sequence[str]

    def __str__(self) -> str:
        if CALLER.get() is Caller.PYTHON:
            return f"{self.name}=[{', '.join(map(quote, self.values))}]"
        return " ".join(str(Option(self.name, value)) for value in self.values)


options = Options


class _Sentence(string.Formatter):
    """Fills in a problem's text: `!r` quotes a user's text, control characters are escaped."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "r":
            return quote(value) if isinstance(value, str) else str(value)
        if isinstance(value, str):
            return printable(value)
        if isinstance(value, tuple | list):
            return either([str(one) for one in value]) if value else ""
        return value

    def format_field(self, value: Any, format_spec: str) -> str:
        return format(value, format_spec) if isinstance(value, int | float) else str(value)


def filled_in(text: str, fields: Mapping[str, object]) -> str:
    return _Sentence().vformat(text, (), fields)


def named_setting(name: str) -> str:
    return name if CALLER.get() is Caller.PYTHON else f"{name} ({option(name)})"


def command(line: str, *, python: str = "", mark: str = "`", to: Caller | None = None) -> str:
    """Return a command, or the function that does the same; `python` names it if not `line`."""
    called = (to or CALLER.get()) is Caller.PYTHON
    return f"{mark}{python or line if called else f'cfl {line}'}{mark}"
