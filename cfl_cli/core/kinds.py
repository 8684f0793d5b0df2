"""What a setting can take: a kind reads a value, from a file, an option or Python, or says why not.

A file and the command line give text; Python may give the value itself, also as NumPy has it. Text
is read strictly: `1_000`, ` 20 ` and `on` are refused, and True is not 1.
"""

import math
import numbers
import operator
import re
from abc import ABC, abstractmethod
from typing import Any, Final

from cfl_cli.core.messages import did_you_mean, either, seen, shortened
from cfl_cli.core.quick import dataclass

AUTO: Final = "auto"
UNITS = {"": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}

_DIGITS = re.compile("[-+]?[0-9]{1,4000}")
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_SIZE = re.compile("([0-9]+(?:[.][0-9]+)?) ?([a-z]*)")


class Kind(ABC):
    """What a setting can take."""

    metavar = ""  # what help shows in its place
    choices: tuple[str, ...] = ()  # the words that it can be, for completion

    @abstractmethod
    def read(self, value: object) -> Any:
        """Return the value, or raise ValueError: what was expected, and what was found."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """Return what an editor should accept."""


@dataclass(frozen=True)
class Bounds:
    """From where to where a number may lie; None: anywhere."""

    least: float | None = None
    more_than: float | None = None
    most: float | None = None
    less_than: float | None = None

    def refusal(self, number: float) -> str | None:
        """Return what was expected instead of a number out of bounds."""
        if self.least is not None and number < self.least:
            return f"at least {self.least:g}"
        if self.more_than is not None and number <= self.more_than:
            return f"more than {self.more_than:g}"
        if self.most is not None and number > self.most:
            return f"at most {self.most:g}"
        if self.less_than is not None and number >= self.less_than:
            return f"less than {self.less_than}"
        return None

    def json_schema(self) -> dict[str, Any]:
        """Return the same in JSON Schema's words."""
        words = {
            "minimum": self.least,
            "exclusiveMinimum": self.more_than,
            "maximum": self.most,
            "exclusiveMaximum": self.less_than,
        }
        return {word: bound for word, bound in words.items() if bound is not None}


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number, or `auto` where that is allowed."""

    bounds: Bounds = Bounds()
    auto: bool = False

    @property
    def metavar(self) -> str:  # type: ignore[override]  # of the instance, not of the class
        """What help shows."""
        return "N|auto" if self.auto else "N"

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # of the instance, not of the class
        """The word that it can be."""
        return (AUTO,) if self.auto else ()

    def read(self, value: object) -> int | str:
        """Return a whole number."""
        value = plain(value)
        if self.auto and value == AUTO:
            return AUTO
        if isinstance(value, str) and _DIGITS.fullmatch(value):
            number = int(value)
        elif hasattr(value, "__index__") and not isinstance(value, bool):
            number = operator.index(value)
        else:
            raise _expected("a whole number", value, auto=self.auto)
        _check_bounds(self.bounds, number, value, auto=self.auto)
        return number

    def json_schema(self) -> dict[str, Any]:
        """Return an integer's schema."""
        return _or_auto({"type": "integer", **self.bounds.json_schema()}, auto=self.auto)


@dataclass(frozen=True)
class Number(Kind):
    """A finite number, or `auto` where that is allowed."""

    bounds: Bounds = Bounds()
    auto: bool = False
    word: str = "X"  # that stands for it in help

    @property
    def metavar(self) -> str:  # type: ignore[override]  # of the instance, not of the class
        """What help shows."""
        return f"{self.word}|auto" if self.auto else self.word

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # of the instance, not of the class
        """The word that it can be."""
        return (AUTO,) if self.auto else ()

    def read(self, value: object) -> float | str:
        """Return a finite number."""
        value = plain(value)
        if self.auto and value == AUTO:
            return AUTO
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not real and not (isinstance(value, str) and _DECIMAL.fullmatch(value)):
            raise _expected("a number", value, auto=self.auto)
        number = float(value)  # type: ignore[arg-type]  # one or the other
        if not math.isfinite(number):
            raise _expected("a finite number", value, auto=self.auto)
        _check_bounds(self.bounds, number, value, auto=self.auto)
        return number

    def json_schema(self) -> dict[str, Any]:
        """Return a number's schema."""
        return _or_auto({"type": "number", **self.bounds.json_schema()}, auto=self.auto)


@dataclass(frozen=True)
class Switch(Kind):
    """On or off."""

    def read(self, value: object) -> bool:
        """Return true or false."""
        value = plain(value)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in {"true", "True", "false", "False"}:
            return value[0] in "Tt"
        raise _expected("true or false", value)

    def json_schema(self) -> dict[str, Any]:
        """Return a boolean's schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Choice(Kind):
    """One of some words."""

    words: tuple[str, ...]

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # of the instance, not of the class
        """The words."""
        return self.words

    @property
    def metavar(self) -> str:  # type: ignore[override]  # of the instance, not of the class
        """What help shows."""
        return "|".join(self.words)

    def read(self, value: object) -> str:
        """Return the word."""
        value = plain(value)
        if isinstance(value, str) and value in self.words:
            return value
        near = did_you_mean(value, self.words) if isinstance(value, str) else ""
        raise ValueError(f"expected {either(self.words)}, found {seen(value)}{near}")

    def json_schema(self) -> dict[str, Any]:
        """Return the words as an enumeration."""
        return {"enum": [*self.words]}


@dataclass(frozen=True)
class Size(Kind):
    """A number of bytes, also as `500MB` or `1.5 GiB`."""

    metavar = "SIZE"

    def read(self, value: object) -> int | str:
        """Return the number of bytes."""
        value = plain(value)
        if not isinstance(value, str):
            return COUNT.read(value)
        parts = _SIZE.fullmatch(value.lower())
        if parts is None or parts[2] not in UNITS:
            raise _expected("a size such as 500MB or 2GB", value)
        size = int(float(parts[1]) * UNITS[parts[2]])
        _check_bounds(COUNT.bounds, size, value, auto=False)
        return size

    def json_schema(self) -> dict[str, Any]:
        """Return that a size is text or a number."""
        return {"type": ["string", "integer"]}


@dataclass(frozen=True)
class FileName(Kind):
    """The name of a file."""

    metavar = "FILE"

    def read(self, value: object) -> str:
        """Return the name."""
        value = plain(value)
        if not isinstance(value, str):
            raise _expected("text", value)
        if not value:
            raise _expected("at least one character", value)
        return value

    def json_schema(self) -> dict[str, Any]:
        """Return a text's schema."""
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class FolderName(FileName):
    """The name of a folder."""

    metavar = "DIR"


@dataclass(frozen=True)
class Names(FileName):
    """Names of columns: an option that is repeated."""

    metavar = "COLUMN"

    def read(self, value: object) -> Any:
        """Return the names; one alone may be given as it is."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list | tuple):
            raise _expected("names of columns", value)
        return tuple(dict.fromkeys(super(Names, self).read(one) for one in value))

    def json_schema(self) -> dict[str, Any]:
        """Return a list of texts."""
        return {"type": "array", "items": FileName().json_schema()}


@dataclass(frozen=True)
class Address(Kind):
    """Where something listens, such as `tcp://localhost:8786`."""

    metavar = "ADDRESS"

    def read(self, value: object) -> str:
        """Return the address."""
        return FileName().read(value)

    def json_schema(self) -> dict[str, Any]:
        """Return a text's schema."""
        return FileName().json_schema()


COUNT = Whole(Bounds(least=1))  # of things
SHARE = Number(Bounds(least=0, most=1), word="P")  # of things; or a probability


def plain(value: object) -> object:
    """Return a number, a switch or a text of NumPy's as Python has it, and all else as it is."""
    is_scalar = getattr(value, "shape", None) == () and hasattr(value, "item")
    return value.item() if is_scalar else value  # type: ignore[attr-defined]  # it has


def _expected(what: str, value: object, *, auto: bool = False) -> ValueError:
    return ValueError(f"expected {what}{_or(auto=auto)}, found {seen(value)}")


def _or(*, auto: bool) -> str:
    return f" or {AUTO}" if auto else ""


def _check_bounds(bounds: Bounds, number: float, value: object, *, auto: bool) -> None:
    """Raise if a number, read from `value`, is out of bounds; quote it as it was written."""
    refusal = bounds.refusal(number)
    if refusal:
        raise ValueError(f"expected {refusal}{_or(auto=auto)}, found {shortened(str(value))}")


def _or_auto(schema: dict[str, Any], *, auto: bool) -> dict[str, Any]:
    return {"anyOf": [{"const": AUTO}, schema]} if auto else schema
