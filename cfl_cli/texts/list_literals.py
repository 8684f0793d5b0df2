"""Cells that programs wrote lists into: `['HR', 'IT']`, `["HR","IT"]`, `{HR,IT}`.

Read are lists, tuples and sets of Python, arrays of NumPy and JSON, and arrays of databases, of
texts and numbers. Nothing is evaluated.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator

import polars as pl

from cfl_cli.texts.tally import BLANKS, Tally

ENDS = {"[": "]", "(": ")", "{": "}"}
NEARLY = 0.9  # share of the cells that are lists, so that the column is one of lists
NOTHING = frozenset({"None", "null", "NULL", "nan", "NaN", "NA", "<NA>"})  # elements that are empty
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
    read = [_read(one) for one in found if one not in NOTHING]
    return None if None in read else tuple(one for one in read if one is not None)


def hold_lists(column: Tally) -> bool:
    """Return whether nearly all cells are lists, and some list holds something."""
    lists = {text: parts for text in column.texts if (parts := elements(text)) is not None}
    cells = sum(count for text, count in column if text in lists)
    return any(lists.values()) and cells >= NEARLY * column.cells


def are_lists(texts: Collection[str]) -> bool:
    """Return whether nearly all of some different texts are lists."""
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
    """Return the text of an element, None if it holds no text that a table can."""
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
    return _ESCAPED.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = match["x"] or match["u"] or match["U"]
    if code:
        return chr(min(int(code, 16), 0x10FFFF))
    return _SIGNS.get(match["one"], match["one"])
