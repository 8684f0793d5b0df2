"""Bands of numbers, such as 18-24, 25-34 and 65+, in order."""

import re
from collections.abc import Sequence
from itertools import pairwise

from cfl_cli.texts.tally import LONGEST

FEWEST = 3  # bands
_NUMBER = r"\d+(?:[., ]\d{3}(?!\d))*(?:[.,]\d+)?"
_TO = r"\s*(?:-|–|—|−|\.\.\.?|…|~|to|bis|à|a|au|tot|do|up to|bis unter|to under|<)\s*"
_FROM = (
    r"(?:≥|>=|>|over|above|more than|from|at least|über|ab|mehr als|mindestens|plus de|à partir de"
    r"|más de|oltre|più di|meer dan|vanaf|mais de|powyżej|od)\s*"
)
_UNDER = (
    r"(?:≤|<=|<|under|below|less than|up to|at most|unter|bis|bis zu|weniger als|höchstens"
    r"|moins de|jusqu'à|menos de|hasta|meno di|fino a|minder dan|onder|tot|até|poniżej|do)\s*"
)
_MORE = (
    r"\s*(?:\+|(?:and|or|und|oder|et|y|e|en|i|ou|o)\s+(?:over|older|above|more|up|mehr|älter|darüber"
    r"|plus|más|mayores|oltre|più|meer|ouder|mais|więcej|starsi))"
)
_LESS = (
    r"\s*(?:and|or|und|oder|et|y|e|en|i|ou|o)\s+(?:under|less|younger|below|weniger|jünger|moins"
    r"|menos|meno|minder|mniej)"
)
_BAND = re.compile(
    rf"(?P<stem>[^\d<>≥≤]*?)(?:(?P<low>{_NUMBER})(?P<unit>[^\d]*?){_TO}\W*(?P<high>{_NUMBER})"
    rf"|{_FROM}(?P<from>{_NUMBER})|(?P<plus>{_NUMBER})(?P<unit2>[^\d+]*?){_MORE}"
    rf"|{_UNDER}(?P<under>{_NUMBER})|(?P<less>{_NUMBER}){_LESS}|(?P<one>{_NUMBER}))(?P<end>[^\d]*)",
    re.IGNORECASE,
)
_FIGURE = re.compile(_NUMBER)
_UP = re.compile(
    r"\+|≥|>|över|over|above|more|older|from|mehr|älter|plus|más|più|mais|powyżej|więcej|yli|nad"
    r"|více|viac|peste|mult|más|felett|fölött|több|idősebb|более|больше|старше|свыше|більше|понад|старші|üzeri"
    r"|üstü|fazla|άνω|πάνω|以上|超|이상|초과|mer|eldre|ældre|äldre|mere|enemmän|vanhemm|starší|sobre"
    r"|oltre|dessus",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"≤|<|under|below|less|up to|younger|unter|bis|weniger|jünger|moins|menos|hasta|meno|fino"
    r"|poniżej|do\b|alle|pod|méně|menej|sub\b|până|puțin|alatt|kevesebb|до|менее|меньше|младше|менше"
    r"|молодші|altı|altında|kadar|az\b|κάτω|έως|μέχρι|λιγότερο|以下|未満|未满|미만|이하|yngre"
    r"|mindre|upp till|op til|opp til|enintään|mladší|abaixo|até|sotto|onder|tot\b|minder|jusqu",
    re.IGNORECASE,
)


def bound(text: str) -> bool:
    """Return whether a text is an open band, such as <5, 90+ or under 5."""
    match = _BAND.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or not any(match[key] for key in ("from", "plus", "under", "less")):
        return False
    stem = match["stem"]
    return not stem[-1:].isalpha() or text[len(stem)] in "<>≤≥"  # tab 5 is not ab 5


def bands(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the order of bands such as 18-24, 25-34, 65+."""
    rows, stems, closed = [], set(), 0
    for text in texts:
        match = _BAND.fullmatch(text)
        if match is None:
            return None
        part = {key: _value(match[key]) for key in ("low", "high", "from", "plus", "under", "less")}
        if part["low"] is not None and part["high"] is not None:
            low, high = part["low"], part["high"]
            closed += 1
        elif (start := _either(part["from"], part["plus"])) is not None:
            low, high = start, float("inf")
        elif (end := _either(part["under"], part["less"])) is not None:
            low, high = float("-inf"), end
        else:
            low = high = _value(match["one"]) or 0.0
        if high < low:
            return None
        rows.append((low, high, text))
        stems.add(match["stem"].strip(" $€£").casefold())
    open_ends = sum(low == float("-inf") or high == float("inf") for low, high, _ in rows)
    rows.sort()
    disjoint = all(one[1] <= other[0] and one[:2] != other[:2] for one, other in pairwise(rows))
    if not disjoint or len(stems) > 1 or closed + open_ends < 2 or open_ends > 2 or not closed:
        return None
    return tuple(text for *_, text in rows)


def _either(one: float | None, other: float | None) -> float | None:
    return one if one is not None else other


def _value(text: str | None) -> float | None:
    if text is None:
        return None
    whole = re.sub(r"[., ](?=\d{3}(?!\d))", "", text)
    return float(whole.replace(",", "."))


def by_numbers(texts: Sequence[str]) -> tuple[tuple[str, ...], bool] | None:
    """Return bands whose first and last are said in words, and whether these words are known.

    The others have two numbers and are written alike, the first and the last have one: in whatever
    language, `bis 20` comes before 21-40, and `60 y más` behind 41-59.
    """
    rows, forms, ends = [], set(), []
    for text in texts:
        figures = [_value(found) or 0.0 for found in _FIGURE.findall(text)]
        if len(figures) == 2 and figures[0] <= figures[1]:
            rows.append((figures[0], figures[1], text))
            forms.add(
                " ".join(re.sub(r"[\s–—−-]+", " ", _FIGURE.sub("#", text.casefold())).split())
            )
        elif len(figures) == 1:
            ends.append((figures[0], text))
        else:
            return None
    rows.sort()
    ends.sort()
    disjoint = all(one[1] <= other[0] for one, other in pairwise(rows))
    if len(texts) < FEWEST or not rows or not 1 <= len(ends) <= 2 or len(forms) > 1 or not disjoint:
        return None
    low = [text for figure, text in ends if figure <= rows[0][0]]
    high = [text for figure, text in ends if figure >= rows[-1][1] and text not in low]
    if len(low) > 1 or len(high) > 1 or len(low) + len(high) < len(ends):
        return None
    plain = [text for text in low + high if _FIGURE.fullmatch(text)]
    known = all(text in plain or _DOWN.search(text) for text in low) and all(
        text in plain or _UP.search(text) for text in high
    )
    return (*low, *(text for *_, text in rows), *high), known
