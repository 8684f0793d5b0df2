"""How messages quote what the user wrote."""

import difflib
from collections.abc import Iterable

LONGEST = 60


def quote(text: str) -> str:
    """Return `text` in quotes, escaped, and cut when it is long."""
    shown = repr(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


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
