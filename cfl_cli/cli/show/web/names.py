"""Names and values of others on a page: nothing in them is hidden, and nothing is too long."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from cfl_cli.core.quick import dataclass

INTERVAL = re.compile(r"\((\d+) to (\d+)\)")  # which no line is to be broken in
LONGEST = 60  # letters that are shown at once
JOINERS = "\u200c\u200d"  # which emoji and some scripts are written with
EMOJI_PARTS = "\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400)))  # belong to what precedes


@dataclass(frozen=True)
class Name:
    """A text of others: the beginning if it is long, and the whole."""

    short: str
    whole: str

    @property
    def is_cut(self) -> bool:
        """Return whether there is more of it."""
        return self.short != self.whole


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    r"""Return a text with what cannot be seen as codes: `\u202e`, `\x00`, a lone `\ud800`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )


def name_of(text: str) -> Name:
    """Return what is shown of a name or a value; an empty one is shown, too."""
    whole = visible(text) if text.strip() else f"“{visible(text)}”"
    return Name(_cut(whole), whole)


def _cut(text: str) -> str:
    """Return the beginning of a text, no letter of which is torn apart."""
    if len(text) <= LONGEST:
        return text
    end = LONGEST - 1
    while end > 1 and _belongs(text[end - 1], text[end]):
        end -= 1
    return f"{text[:end].rstrip()}…"


def _belongs(before: str, char: str) -> bool:
    """Return whether a sign makes a letter, or an emoji, together with the one before it."""
    flags = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, char))
    mark = unicodedata.category(char)[0] == "M"
    return flags or mark or char in JOINERS + EMOJI_PARTS or before in JOINERS


@dataclass(frozen=True)
class Piece:
    """Part of a sentence."""

    text: str
    is_name: bool  # which may be written from right to left


def sentence(text: str, names: Iterable[str] = ()) -> tuple[Piece, ...]:
    """Return a sentence in pieces, so that names of another script do not reorder the others."""
    foreign: Sequence[str] = sorted(
        {visible(name) for name in names if not name.isascii()}, key=lambda name: (-len(name), name)
    )
    text = INTERVAL.sub("(\\1\u00a0to\u00a0\\2)", visible(text))
    if not any(name in text for name in foreign):
        return (Piece(text, is_name=False),)
    parts = re.split("(" + "|".join(map(re.escape, foreign)) + ")", text)
    return tuple(Piece(part, is_name=bool(number % 2)) for number, part in enumerate(parts) if part)
