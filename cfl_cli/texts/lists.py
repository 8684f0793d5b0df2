"""Cells that hold several values: which sign stands between them."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.tally import BLANKS, Tally
from cfl_cli.texts.words import words

SIGNS = (";", "|", ",", "/", "+", "&", "\n", "、", "；")
WORDS = tuple(f" {word} " for word in words("und oder and or et ou y e o en i oraz lub"))
JOINED = 3  # different cells with the sign, at least
SHARE = 0.02  # of the cells that hold it, at least
REPEATING = 0.01  # of the cells that may name a part twice
MOST = 200  # parts
RECURRING = 0.5  # of the parts that stand in two different cells, at least
SURE = 0.8  # of them, so that there is no doubt
BOTH = 0.3  # of the fewer among first and last parts that are in both


@dataclass(frozen=True)
class Listing:
    """How cells that hold several values are split."""

    separator: str
    parts: tuple[str, ...]  # in order of first appearance
    joined: int  # cells that hold the sign
    example: str  # the first of them
    recurring: float  # share of parts that stand in two different cells
    alone: bool  # is a part ever a whole cell?

    @cached_property
    def sure(self) -> bool:
        """Return whether it can hardly be otherwise."""
        return self.recurring >= SURE and self.alone and self.separator not in WORDS


def split(text: str, separator: str | None) -> list[str]:
    """Return the trimmed parts of a cell, without an empty last one."""
    parts = [part.strip(BLANKS) for part in text.split(separator)] if separator else [text]
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def listing(tally: Tally) -> Listing | None:
    """Return how the cells of a column are split, None if they are no lists.

    Of several signs that would do, the one that more cells hold.
    """
    found = [one for sign in SIGNS if (one := _by(sign, tally)) is not None]
    return max(found, key=lambda one: one.joined, default=None)


def by_word(tally: Tally) -> Listing | None:
    """Return how cells are split by a word such as `und`, None if they are not."""
    found = [one for word in WORDS if (one := _by(word, tally)) is not None]
    return max(found, key=lambda one: one.joined, default=None)


@dataclass(frozen=True)
class Mixed:
    """Lists of one column with several signs between their parts."""

    separator: str  # of most cells
    others: dict[str, tuple[str, ...]]  # cells with another sign or word, by that
    alike: Tally  # all cells, written with the separator


def mixed(tally: Tally) -> Mixed | None:
    """Return lists that have several signs, None if there are none.

    A cell has another sign if all its parts are parts of lists without it.
    """
    held = {sign: sum(n for text, n in tally if sign in text) for sign in (*SIGNS, *WORDS)}
    signs = [sign for sign, cells in held.items() if cells]
    for sign in sorted((one for one in signs if one in SIGNS), key=lambda one: -held[one]):
        others = [one for one in signs if one != sign]
        odd = [text for text in tally.texts if any(one in text for one in others)]
        parts = {text: _split_by_all(text, signs) for text in odd}
        found = _by(sign, tally.without({*odd})) if odd else None
        if found is None:  # A, B and C
            others = [one for one in others if one in WORDS]
            odd = [text for text in odd if any(one in text for one in others)]
            found = _by(sign, _replaced(tally, {text: parts[text] for text in odd}, sign))
        if not odd or found is None:
            continue
        seen = {part for text in tally.without({*odd}).texts for part in split(text, sign)}
        odd = [text for text in odd if len(parts[text]) > 1 and {*parts[text]} <= seen]
        by: dict[str, tuple[str, ...]] = {}
        for text in odd:
            one = max((one for one in others if one in text), key=lambda one: held[one])
            by[one] = (*by.get(one, ()), text)
        if by:
            return Mixed(sign, by, _replaced(tally, {text: parts[text] for text in odd}, sign))
    return None


def _split_by_all(text: str, signs: Sequence[str]) -> list[str]:
    parts = [text]
    for sign in signs:
        parts = [piece for part in parts for piece in part.split(sign)]
    return [part.strip(BLANKS) for part in parts]


def _replaced(tally: Tally, parts: dict[str, list[str]], sign: str) -> Tally:
    """Return the tally with some texts written as lists by another sign."""
    rows: dict[str, tuple[int, int]] = {}
    for text, cells, row in zip(tally.texts, tally.counts, tally.rows, strict=True):
        written = f"{sign} ".join(parts[text]) if text in parts else text
        before, first = rows.get(written, (0, row))
        rows[written] = (before + cells, first)
    counts, firsts = zip(*rows.values(), strict=True)
    return Tally(tally.name, (*rows,), counts, firsts, tally.empty)


def _by(sign: str, tally: Tally) -> Listing | None:
    joined = [(text, count) for text, count in tally if sign in text]
    cells = sum(count for _, count in joined)
    if len(joined) < JOINED or cells < SHARE * tally.cells:
        return None
    cut: list[list[str]] = []
    seen: set[str] = set()
    for text in tally.texts:
        cut.append(split(text, sign))
        seen.update(cut[-1])
        if "" in seen or len(seen) > MOST:
            return None
    counts = tally.counts
    repeating = sum(n for parts, n in zip(cut, counts, strict=True) if len({*parts}) < len(parts))
    standing = Counter(part for parts in cut for part in {*parts})
    if repeating > REPEATING * tally.cells or len(standing) > min(MOST, len(tally)):
        return None
    recurring = sum(times > 1 for times in standing.values()) / len(standing)
    if recurring < RECURRING or not _ends_overlap(cut):
        return None
    first = {part: None for parts in cut for part in parts}
    alone = any(len(parts) == 1 for parts in cut)
    return Listing(sign, tuple(first), cells, joined[0][0], recurring, alone)


def _ends_overlap(cut: list[list[str]]) -> bool:
    """Return whether parts stand first and last; those of `Last, First` do not."""
    firsts = {parts[0] for parts in cut if len(parts) > 1}
    lasts = {parts[-1] for parts in cut if len(parts) > 1}
    fewer = min(len(firsts), len(lasts))
    return fewer > 0 and len(firsts & lasts) >= BOTH * fewer
