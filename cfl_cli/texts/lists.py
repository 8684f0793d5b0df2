"""Cells that hold several values: which sign stands between them."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from cfl_cli.texts import BLANKS, Tally

SIGNS = (";", "|", ",", "/", "+", "&", "\n", "、", "；")
WORDS = tuple(f" {word} " for word in "und oder and or et ou y e o en i oraz lub".split())
JOINED = 3  # different cells with the sign, at least
_SHARE = 0.02  # of the cells that hold it, at least
REPEATING = 0.01  # of the cells that may name a part twice
_MOST = 200  # parts
RECURRING = 0.5  # of the parts that stand in two different cells, at least
_SURE = 0.8  # of them, so that there is no doubt
BOTH = 0.3  # of the fewer among first and last parts that are in both


@dataclass(frozen=True)
class Listing:
    separator: str
    parts: tuple[str, ...]  # in order of first appearance
    joined: int  # cells that hold the sign
    example: str  # the first of them
    sure: bool


def split(text: str, separator: str | None) -> list[str]:
    """Return the trimmed parts of a cell, without an empty last one."""
    parts = [part.strip(BLANKS) for part in text.split(separator)] if separator else [text]
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def listing(tally: Tally, signs: Sequence[str] = SIGNS) -> Listing | None:
    """Return how the cells of a column are split, None if they are no lists.

    Of several signs, or words, that would do, the one that more cells hold.
    """
    found = [one for sign in signs if (one := _by(sign, tally)) is not None]
    return max(found, key=lambda one: one.joined, default=None)


def mixed_signs(tally: Tally) -> tuple[str, dict[str, tuple[str, ...]], Tally] | None:
    """Return how lists are written that have several signs, None if there are none.

    It is the separator of most cells; the cells with another sign or word, by that; and all cells,
    written with the separator. A cell has another sign if all its parts are parts of lists without
    it.
    """
    held = {sign: sum(n for text, n in tally if sign in text) for sign in (*SIGNS, *WORDS)}
    signs = [sign for sign, cells in held.items() if cells]
    for sign in sorted((one for one in signs if one in SIGNS), key=lambda one: -held[one]):
        others = [one for one in signs if one != sign]
        odd = [text for text in tally.texts if any(one in text for one in others)]
        parts = {}
        for text in odd:
            pieces = [text]
            for one in signs:
                pieces = [piece for part in pieces for piece in part.split(one)]
            parts[text] = [piece.strip(BLANKS) for piece in pieces]
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
            return sign, by, _replaced(tally, {text: parts[text] for text in odd}, sign)
    return None


def _replaced(tally: Tally, parts: dict[str, list[str]], sign: str) -> Tally:
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
    if len(joined) < JOINED or cells < _SHARE * tally.cells:
        return None
    cut: list[list[str]] = []
    seen: set[str] = set()
    for text in tally.texts:
        cut.append(split(text, sign))
        seen.update(cut[-1])
        if "" in seen or len(seen) > _MOST:
            return None
    counts = tally.counts
    repeating = sum(n for parts, n in zip(cut, counts, strict=True) if len({*parts}) < len(parts))
    standing = Counter(part for parts in cut for part in {*parts})
    if repeating > REPEATING * tally.cells or len(standing) > min(_MOST, len(tally)):
        return None
    recurring = sum(times > 1 for times in standing.values()) / len(standing)
    firsts = {parts[0] for parts in cut if len(parts) > 1}
    lasts = {parts[-1] for parts in cut if len(parts) > 1}
    fewer = min(len(firsts), len(lasts))
    if recurring < RECURRING or not fewer or len(firsts & lasts) < BOTH * fewer:
        return None
    first = {part: None for parts in cut for part in parts}
    # Sure if a part is ever a whole cell, too.
    alone = any(len(parts) == 1 for parts in cut)
    sure = recurring >= _SURE and alone and sign not in WORDS
    return Listing(sign, tuple(first), cells, joined[0][0], sure)


# Cells that programs wrote lists into: `['HR', 'IT']`, `["HR","IT"]`, `{HR,IT}`.
#
# Read are lists, tuples and sets of Python, arrays of NumPy and JSON, and arrays of databases, of
# texts and numbers. Nothing is evaluated.

ENDS = {"[": "]", "(": ")", "{": "}"}
_NEARLY = 0.9  # share of the cells that are lists, so that the column is one of lists
# Elements that are empty.
_NOTHING = frozenset({"None", "null", "NULL", "nan", "NaN", "NA", "<NA>"})
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_BARE = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|None|null|NULL|nan|NaN|NA|<NA>"
_ELEMENT = re.compile(rf"(?:np\.\w+\()?(?P<it>{_TEXT}|{_BARE})\)?", re.DOTALL)
_IN_BRACES = re.compile(rf"(?P<it>{_TEXT}|[^{{}},\"'\\\s:]+)", re.DOTALL)
_BETWEEN = re.compile(r"\s*,\s*|\s+")
_ESCAPED = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<one>.))",
    re.DOTALL,
)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r"}


def elements(text: str) -> tuple[str, ...] | None:
    """Return the elements of a cell that is a list, without empty ones; None if it is no list."""
    bare = text.strip(BLANKS)
    if len(bare) < 2 or ENDS.get(bare[0]) != bare[-1]:
        return None
    inner = bare[1:-1].strip()
    pattern = _IN_BRACES if bare[0] == "{" else _ELEMENT
    found, place = list[str](), 0
    while place < len(inner):
        match = pattern.match(inner, place)
        if match is None:
            return None
        found.append(match["it"])
        place = match.end()
        between = _BETWEEN.match(inner, place)
        if between is None and place < len(inner):
            return None
        place = between.end() if between else place
    read = [_read(one) for one in found if one not in _NOTHING]
    return None if None in read else tuple(one for one in read if one is not None)


def hold_lists(column: Tally) -> bool:
    lists = {text: parts for text in column.texts if (parts := elements(text)) is not None}
    cells = sum(count for text, count in column if text in lists)
    return any(lists.values()) and cells >= _NEARLY * column.cells


def are_lists(texts: Collection[str]) -> bool:
    return hold_lists(Tally("", (*texts,), (1,) * len(texts), (), 0))


def elements_of(column: Tally) -> Tally:
    """Return the elements of all cells with how many cells hold each; other texts are their own."""
    counts: dict[str, int] = {}
    first: dict[str, int] = {}
    nothing = 0
    for text, cells, row in zip(column.texts, column.counts, column.rows, strict=True):
        found = elements(text)
        parts = [text] if found is None else [bare for one in found if (bare := one.strip(BLANKS))]
        nothing += 0 if parts else cells
        for part in dict.fromkeys(parts):
            counts[part] = counts.get(part, 0) + cells
            first.setdefault(part, row)
    empty = column.empty + nothing
    return Tally(column.name, (*counts,), (*counts.values(),), (*first.values(),), empty)


def speaking(parts: Iterable[str], silent: Collection[str]) -> tuple[str, ...]:
    """Return the parts of a cell that say something: those that do not count as missing."""
    return tuple(part for part in parts if part.strip(BLANKS) not in silent)


def saying_nothing(
    texts: pl.Series, separator: str | None, silent: Collection[str]
) -> Iterator[str]:
    """Yield the different texts that are lists, all parts of which say nothing.

    They are lists by their separator or, without one, as programs write them.
    """
    if separator is None:
        begins = texts.str.contains(r"^\s*[\[({]").fill_null(value=False)
        for text in texts.filter(begins).to_list():
            parts = elements(text)
            if parts is not None and not speaking(parts, {*silent, ""}):
                yield text
    elif silent:
        holds = texts.str.contains(separator, literal=True).fill_null(value=False)
        for text in texts.filter(holds).to_list():
            if not speaking(text.split(separator), silent):
                yield text


def _read(one: str) -> str | None:
    if one[0] not in "'\"":
        return one
    if "\\" not in one:
        return one[1:-1]
    try:
        text = json.loads(one, strict=False) if one[0] == '"' else _unescaped(one[1:-1])
    except ValueError:
        text = _unescaped(one[1:-1])
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character
        return None
    return str(text)


def _unescaped(text: str) -> str:
    def sign(match: re.Match[str]) -> str:
        code = match["x"] or match["u"] or match["U"]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return _SIGNS.get(match["one"], match["one"])

    return _ESCAPED.sub(sign, text)


# Columns that look complementary: cells like `not flu`, names like `excluded`.

NEGATED_SHARE = 0.8  # of the cells that begin so, at least
_BEGINNING = re.compile(
    r"(?:not|no|non|kein|keine|keinen|nicht|pas de|pas|sin|geen|niet|nie|não|sem|senza|excluded:?"
    r"|excluding|ruled out:?|rules out|except|ausgeschlossen:?|exclu:?|excluido:?|excluído:?"
    r"|escluso:?|uitgesloten:?|wykluczono:?)\s+\S|(?:≠|!=|!|¬|<>)\s*\S",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?:^|[^a-z])(?:not|isnt|excluded?|excludes|exclusions?|ruled_?out|rules_?out|cannot_?be"
    r"|ausgeschlossen\w*|ausschluss|nicht|kein\w*|exclus?|excluid[oa]s?|exclu[ií]d[oa]s?|esclus[oi]"
    r"|uitgesloten|wyklucz\w*|except|impossible|unmöglich)(?=[^a-z]|$)",
    re.IGNORECASE,
)


def negated(tally: Tally) -> str | None:
    """Return the first cell that says what a value is not, if most cells do."""
    if len(tally) < 2:
        return None
    found, others, most = [], 0, (1 - NEGATED_SHARE) * tally.cells
    for text, count in tally:
        if _BEGINNING.match(text):
            found.append(text)
        else:
            others += count
            if others > most:
                return None
    return found[0] if len(found) > 1 else None


def without_not(text: str) -> str | None:
    match = _BEGINNING.match(text)
    return None if match is None else text[match.end() - 1 :]


def is_name_of_exclusions(name: str) -> bool:
    return _NAME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) is not None


# Beginnings that mark a cell as exact: `=flu`, `gesichert: Grippe`.

_MARK = re.compile(
    r"(?P<mark>==?|!|\+|[^\W\d_][^\d:=;,|]{0,29}(?::|=))\s*(?P<value>\S.*)", re.DOTALL
)
KNOWN = 0.9  # of the cells with the mark that hold a known value behind it
_VALUES = 3  # different ones behind a mark of letters
SIGN_VALUES = 1  # and behind a sign


@dataclass(frozen=True)
class ExactMark:
    text: str
    cells: int
    example: str
    values: tuple[str, ...]  # what stands behind it

    @property
    def sure(self) -> bool:
        return self.text == "="


def possible_mark(tally: Tally) -> ExactMark | None:
    """Return what may be a mark, as all that stands behind it stands in other cells too."""
    marked: dict[str, dict[str, int]] = {}
    for text, cells in tally:
        if (match := _MARK.fullmatch(text)) is not None and match["value"] in tally.texts:
            marked.setdefault(text[: match.start("value")], {})[text] = cells
    for mark, texts in marked.items():
        if not any(text.startswith(mark) and text not in texts for text in tally.texts):
            example, behind = next(iter(texts)), tuple(text[len(mark) :] for text in texts)
            return ExactMark(mark, sum(texts.values()), example, behind)
    return None


def exact_mark(tally: Tally, parts: Collection[str]) -> ExactMark | None:
    """Return the mark of cells that are a known value behind it, None if there is none.

    `parts` are the values that stand in other cells, or parts of them.
    """
    marked: dict[str, dict[str, int]] = {}
    for text, count in tally:
        if (match := _MARK.fullmatch(text)) is not None:
            marked.setdefault(match["mark"], {})[text] = count
    best, parts = None, frozenset(parts)
    for mark, cells in marked.items():
        behind = {text: text.removeprefix(mark).strip(BLANKS) for text in cells}
        known = {rest for rest in behind.values() if rest in parts and not rest.startswith(mark)}
        fits = sum(n for text, n in cells.items() if behind[text] in known)
        total = sum(cells.values())
        fewest = SIGN_VALUES if mark == "=" else _VALUES
        if len(known) < fewest or fits < KNOWN * total:
            continue
        one = ExactMark(mark, total, next(iter(cells)), tuple(dict.fromkeys(behind.values())))
        if best is None or one.cells > best.cells:
            best = one
    return best
