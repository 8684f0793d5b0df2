"""How messages quote what the user wrote."""

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence

LONGEST = 60
STDOUT_CLOSED = "standard output: it is closed"


def quote(text: str) -> str:
    """Return `text` in quotes, escaped, and cut when it is long."""
    return shortened(repr(text))


def shortened(text: str) -> str:
    """Return `text`, cut when it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def count(number: int, noun: str) -> str:
    """Return so many of a thing, in words: `1 CF`, `2 CFs`."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def did_you_mean(text: str, choices: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the choice nearest to `text`, or nothing."""
    folded = {choice.strip().lower(): choice for choice in choices}
    near = difflib.get_close_matches(text.strip().lower(), list(folded), n=1)
    return f" (did you mean {quote(folded[near[0]])}?)" if near else ""


def printable(text: str) -> str:
    """Return `text` with control characters escaped, so that it cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unknown(noun: str, value: object, choices: Sequence[str], *, where: str = "") -> str:
    """Return that `value` is not such a noun, and the nearest choice, or all of them."""
    if not isinstance(value, str):
        return f"unknown {noun} {seen(value)}{where}{_among(choices)}"
    return f"unknown {noun} {quote(value)}{where}{did_you_mean(value, choices) or _among(choices)}"


def lacking(key: str, choices: Sequence[str] = ()) -> str:
    """Return that an entry is not there, and what it could be."""
    return f"{quote(key)} is missing{_among(choices)}"


def either(choices: Sequence[str]) -> str:
    """Return the choices in words: `hard, soft or both`."""
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


def _among(choices: Sequence[str]) -> str:
    return f" ({either(choices)})" if len(choices) > 1 else ""


def seen(value: object) -> str:
    """Return what was found instead, in few words."""
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
