"""How texts fit the width of a terminal: cut, or wrapped with a hanging indent."""

import re
from collections.abc import Iterator
from unicodedata import combining, east_asian_width

_INDENT = "  "  # of the second and later lines of a text
_PART = re.compile(r"(?:`[^`]*`|[^\s`])+|`\S*")  # a word; a command in backticks is one


def cell_len(text: str) -> int:
    """Return how many places a terminal takes for it; as rich has it, which is slow to load."""
    return sum(1 + (east_asian_width(one) in "WF") - (combining(one) > 0) for one in text)


def cut(text: str, width: int) -> str:
    """Return the beginning of a text, with … in place of what does not fit."""
    if cell_len(text) <= width:
        return text
    return f"{_fitting(text, width - 1).rstrip()}…"


def cut_apart(texts: list[str], width: int) -> list[str]:
    """Return texts cut to a width such that different ones stay different, if that is possible.

    The beginnings are kept, or else beginnings and ends, or else the ends.
    """
    for end in (0, (width - 1) // 2, width - 1):
        found = [_cut_with_end(text, width, end) for text in texts]
        if len({*found}) == len({*texts}):
            return found
    return [_cut_with_end(text, width, (width - 1) // 2) for text in texts]


def _cut_with_end(text: str, width: int, end: int) -> str:
    if cell_len(text) <= width or not end:
        return cut(text, width)
    return f"{_fitting(text, width - 1 - end)}…{_fitting(text[::-1], end)[::-1]}"


def _fitting(text: str, width: int) -> str:
    while cell_len(text) > width:
        text = text[:-1]
    return text


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of a width, broken at blanks; later lines of each are indented.

    A command in backticks stays whole, and so does a word that no line can hold.

    >>> print(wrapped("warning: so `cfl check`", 14))
    warning: so
      `cfl check`
    """
    return "\n".join("\n".join(_lines(line, width)) for line in text.split("\n"))


def _lines(text: str, width: int) -> Iterator[str]:
    if cell_len(text) <= width or text.startswith(" "):
        yield text
        return
    line, empty = "", True
    for word in _PART.findall(text):
        for place, part in enumerate(_parts(word, width - len(_INDENT))):
            gap = " " if place == 0 and not empty else ""
            if not empty and cell_len(line + gap + part) > width:
                yield line
                line, gap = _INDENT, ""
            line, empty = line + gap + part, False
    yield line


def _parts(word: str, width: int) -> Iterator[str]:
    """Yield what a line may end after: wide characters, if there are too many for a line."""
    whole = cell_len(word) <= width or not any(east_asian_width(one) in "WF" for one in word)
    yield from (word,) if whole else word
