"""How messages quote what the user wrote."""

import difflib
import reprlib
from collections.abc import Iterable, Mapping, Sequence

LONGEST = 60
NEAR = 3  # values that a cell may misspell, at most
SLIP = 5  # letters of a text for each one that may be wrong; one may always be
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
    near = nearest(text, choices)
    return f" (did you mean {quote(near)}?)" if near is not None else ""


def nearest(text: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is spelled most like `text`; None if none is like it."""
    folded = {choice.strip().lower(): choice for choice in choices}
    near = difflib.get_close_matches(text.strip().lower(), list(folded), n=1)
    return folded[near[0]] if near else None


def meant(text: str, values: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the value that a cell misspells, or nothing.

    A value that differs in its number, or in a beginning such as un or dis, is another one.
    """
    bare = text.strip().lower()
    folded = {value.strip().lower(): value for value in values}
    for near in difflib.get_close_matches(bare, list(folded), n=NEAR):
        limit = max(1, max(len(bare), len(near)) // SLIP)
        other = _digits(bare) != _digits(near) or _opposed(bare, near)
        if not other and edits(bare, near) <= limit:
            return f" (did you mean {quote(folded[near])}?)"
    return ""


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _opposed(one: str, other: str) -> bool:
    """Return whether a word of one text is that of the other with something in front."""
    for first, second in zip(one.split(), other.split(), strict=False):
        short, long = sorted((first, second), key=len)
        if len(long) - len(short) > 1 and long.endswith(short):
            return True
    return False


def edits(one: str, other: str) -> int:
    """Return how many letters are added, left out, changed or swapped with the next."""
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
    """Return that `value` is not such a noun, and the nearest choice, or all of them."""
    if not isinstance(value, str):
        return f"unknown {noun} {seen(value)}{where}{_among(choices)}"
    return f"unknown {noun} {quote(value)}{where}{did_you_mean(value, choices) or _among(choices)}"


def lacking(key: str, choices: Sequence[str] = ()) -> str:
    """Return that an entry is not there, and what it could be."""
    return f"{quote(key)} is missing{_among(choices)}"


def either(choices: Sequence[str], word: str = "or") -> str:
    """Return the choices in words: `hard, soft or both`."""
    *others, last = choices
    return f"{', '.join(others)} {word} {last}" if others else last


def _among(choices: Sequence[str]) -> str:
    return f" ({either(choices)})" if len(choices) > 1 else ""


def kind_of(thing: object) -> str:
    """Return the name of a thing's type, as Python shows it."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


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
