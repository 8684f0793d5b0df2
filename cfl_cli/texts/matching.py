"""Which of a column's values a text means, if it is not exactly one of them.

It is, in this order, the value that it equals; that it equals without outer blanks; that it equals
as a whole number, as 1.0 is 1; or, if the values are a known pair such as no and yes, the one that
is surely as true. What would fit two values alike fits none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import polars as pl

from cfl_cli.texts.tally import BLANKS

# Truth values as people write them, in the languages that tables come in.

UNIVERSAL = ("no yes", "false true", "0 1")  # that columns of every language may hold
_FAMILIES = (  # whose words stand for each other
    """no yes|off on|nein ja|falsch wahr|nee ja|onwaar waar|nej ja|nei ja|falsk sann|falskt sant""",
    """non oui|faux vrai|no sí|no si|falso verdadero|não sim|nao sim|falso verdadeiro|no sì
    |falso vero|nu da|fals adevărat""",
    """nie tak|fałsz prawda|ne ano|nepravda pravda|nie áno|nie ano|ne da|нет да|ложь истина|не да
    |ні так|няма има""",
    "nem igen|hamis igaz",
    "ei kyllä|epätosi tosi|ei jah",
    "nē jā|ne taip",
    "hayır evet|hayir evet|yanlış doğru|yok var",
    "όχι ναι|οχι ναι|ψευδής αληθής",
    "いいえ はい|無 有|なし あり",
    "否 是|没有 有|沒有 有|错 对",
    """아니오 예|아니요 예|아니오 네|아니요 네|아니요 그렇다|없음 있음|거짓 참""",
    "tidak ya",
    "không có",
    "ไม่ใช่ ใช่",
    "לא כן",
    "لا نعم",
    "नहीं हाँ",
)
_LETTERS = "n y|f t|n j|n o|n s|n t|n a|n i|n d|н д|h e"
_SIGNS = (
    ("", "x"),
    ("✗", "✓"),
    ("✘", "✔"),
    ("☐", "☑"),
    ("☐", "☒"),
    ("×", "○"),
    ("✕", "✓"),
    ("❌", "✅"),
)


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (pair.split() for pair in text.casefold().split("|"))
    return tuple((false, true) for false, true in pairs)


WORDS = _pairs("|".join((*UNIVERSAL, *_FAMILIES, _LETTERS)))  # false, true
PAIRS = (*WORDS, *_SIGNS)
FAMILIES = tuple(frozenset(text for pair in _pairs(one) for text in pair) for one in _FAMILIES)
ANYWHERE = frozenset(text for pair in _pairs("|".join(UNIVERSAL)) for text in pair)
OF_TYPES = ANYWHERE - {"no", "yes"}  # how programs write truth
LETTERS = frozenset("yntfj10")  # that say the same in whatever pair they stand
YES_NO = frozenset("ynj")  # that hardly ever mean anything else
TRUTHS = {text: truth for pair in PAIRS for text, truth in zip(pair, (False, True), strict=True)}
KNOWN = frozenset(map(frozenset, PAIRS))
SAID_IN_WORDS = frozenset(text for pair in WORDS for text in pair)


def truth(text: str) -> bool | None:
    """Return what a text says, None if that is not clear; an empty one says nothing."""
    bare = folded(text)
    return TRUTHS.get(bare) if bare else None


def is_sure(text: str) -> bool:
    """Return whether a text says yes or no whatever stands beside it."""
    bare = folded(text)
    known = bare in TRUTHS and bare != ""
    return known and (len(bare) > 1 or bare in LETTERS or bare not in SAID_IN_WORDS)


def means(text: str, values: Sequence[str]) -> str | None:
    """Return which of two values, a known pair, a text means; None if that is not sure.

    It may be spelled in other letter case, as programs write truth, or in a word of the same family
    of languages, or be its first letter. Other letters and signs stand for themselves: N and S may
    be north and south.
    """
    bare, pair = folded(text), [*map(folded, values)]
    if pair.count(bare) == 1:
        return values[pair.index(bare)]
    said = [TRUTHS.get(one) for one in pair]
    if bare not in TRUTHS or sorted(map(str, said)) != ["False", "True"]:
        return None
    language = {*pair} - OF_TYPES
    families = [family for family in FAMILIES if language <= family]
    if families:
        initials = frozenset(one[0] for one in pair)
        letter = bare in initials and initials in KNOWN
        sure = letter or bare in ANYWHERE or any(bare in family for family in families)
    else:
        sure = bare in OF_TYPES and all(one in LETTERS for one in pair)
    return values[said.index(TRUTHS[bare])] if sure else None


def and_others(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts beside a known pair of words, all of them if there is none."""
    listed = tuple(texts)
    bare = {text: folded(text) for text in listed}
    there = {*bare.values()}
    for pair in WORDS:
        sure = all(len(word) > 1 or word in YES_NO or not word.isascii() for word in pair)
        if sure and there.issuperset(pair):
            return tuple(text for text in listed if means(text, pair) is None)
    return listed


def is_pair(values: Iterable[str]) -> bool:
    """Return whether texts are the two of a known pair, each perhaps in several spellings."""
    return frozenset(map(folded, values)) in KNOWN


def are_truths(texts: Iterable[str]) -> bool:
    """Return whether texts are a known pair, or one of words and others that mean either."""
    listed = tuple(texts)
    return is_pair(listed) or not and_others(listed)


def folded(text: str) -> str:
    """Return a text without case and outer blanks; 1.0 and 0.0 are how pandas writes 1 and 0."""
    bare = text.strip(BLANKS).casefold()
    return {"1.0": "1", "0.0": "0"}.get(bare, bare)


WHOLE = re.compile(r"([+-]?[0-9]+|.*:[0-9]{2})\.0+")  # a time without a fraction, too


class Matcher:
    """Finds the places of texts among values."""

    def __init__(self, values: Sequence[str]) -> None:
        self.values = values
        self.exact = {value: place for place, value in enumerate(values)}

    def place(self, text: str) -> int:
        """Return the place of the value that a text means, −1 if it is none."""
        place = self.exact.get(text)
        return self._near(text) if place is None else place

    def __call__(self, text: str) -> str:
        """Return the value that a text means, or the text itself if it is none."""
        place = self.place(text)
        return text if place < 0 else self.values[place]

    def _near(self, text: str) -> int:
        bare = text.strip(BLANKS)
        for found in (self._bare.get(bare), self._whole.get(whole(bare))):
            if found is not None:
                return found
        said = means(bare, self.values) if self._are_pair else None
        return -1 if said is None else self.exact[said]

    @cached_property
    def _bare(self) -> dict[str, int]:
        return _unique(value.strip(BLANKS) for value in self.values)

    @cached_property
    def _whole(self) -> dict[str, int]:
        return _unique(whole(value.strip(BLANKS)) for value in self.values)

    @cached_property
    def _are_pair(self) -> bool:
        return is_pair(self.values)


def whole(text: str) -> str:
    """Return a text without the zeros behind the point of a whole number."""
    found = WHOLE.fullmatch(text)
    return found[1] if found else text


def _unique(texts: Iterable[str]) -> dict[str, int]:
    """Return the places of texts that occur once."""
    listed = list(texts)
    counts: dict[str, int] = {}
    for text in listed:
        counts[text] = counts.get(text, 0) + 1
    return {text: place for place, text in enumerate(listed) if counts[text] == 1}


# A column of any type as text, alike whatever file or data frame it comes from.

EXACT = 2**53  # whole numbers up to this are floats too
TIME = r"(:[0-9]{2})\.0+([+-].*)?$"  # without a part of a second
FEW = 6  # codes that are looked for one by one


def as_text(column: pl.Series) -> pl.Series:
    """Return a column as text: whole numbers that were made floats, and times, without `.0`."""
    kind = column.dtype
    if kind.is_float() and _are_whole(column):
        return column.cast(pl.Int64, strict=False).cast(pl.String)
    text = column.cast(pl.String)
    return text.str.replace(TIME, "${1}${2}") if isinstance(kind, pl.Datetime) else text


def _are_whole(column: pl.Series) -> bool:
    """Return whether all numbers of a column, NaN aside, are whole and exact."""
    known = column.fill_nan(None)
    return bool(((known == known.floor()) & (known.abs() <= EXACT)).all())


def lists_as_text(column: pl.Series, missing: list[str]) -> pl.Series:
    """Return a column of lists as text, JSON arrays of texts, null where a list says nothing.

    Elements that are null or count as missing are left out.
    """
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    element = pl.element()
    says = element.is_not_null() & ~element.str.strip_chars(BLANKS).is_in(missing)
    kept = lists.cast(pl.List(pl.String)).list.eval(element.filter(says)).alias("list")
    text = kept.to_frame().select(pl.struct("list").struct.json_encode()).to_series()
    text = text.str.strip_prefix('{"list":').str.strip_suffix("}").alias(column.name)
    return text.set((kept.list.len() == 0).fill_null(value=True), None)


def nearly(texts: pl.Series, codes: list[str]) -> list[str]:
    """Return the different texts that are a code but for outer blanks, or as a whole number.

    Most columns have none, which is seen without trimming each cell: a text that begins with a
    blank comes before `!` or after the last ASCII sign, and all others begin with a code.
    """
    forms = {whole(code.strip(BLANKS)) for code in codes}
    maybe = (texts < "!") | (texts > "\x7f")
    if len(forms) > FEW:
        maybe = texts.is_not_null()
    else:
        for form in forms - {""}:
            maybe |= texts.str.starts_with(form)
    different = texts.filter(maybe.fill_null(value=False)).unique().to_list()
    return [text for text in different if whole(text.strip(BLANKS)) in forms]


# Values that may be others misspelt: rare, and one letter away from a frequent one.

SHORTEST = 4  # letters of a word in which one may be wrong
RARE, FEW_SPELLINGS = 0.02, 3  # share of the cells, or cells, that a slip has at most
OFTEN = 5  # times as many cells hold the right spelling, at least


def misspelt(counts: Mapping[str, int], cells: int) -> dict[str, str]:
    """Return the frequent value that each rare one may be; `counts` are the cells that hold each.

    Numbers, and words that differ in case only, are none of them.
    """
    most = max(FEW_SPELLINGS, RARE * cells)
    found = {}
    for rare, few in counts.items():
        if few > most:
            continue
        near = [
            (many, other)
            for other, many in counts.items()
            if many >= OFTEN * few and _is_slip(rare.casefold(), other.casefold())
        ]
        if near:
            found[rare] = max(near)[1]
    return found


def _is_slip(one: str, other: str) -> bool:
    """Return whether two texts differ in one word of letters, by one of them."""
    words, others = one.split(), other.split()
    if len(words) != len(others):
        return False
    differ = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return len(differ) == 1 and _one_apart(*differ[0])


def _one_apart(one: str, other: str) -> bool:
    """Return whether a letter was left out, added or changed, or two were swapped."""
    short, long = sorted((one, other), key=len)
    if len(short) < SHORTEST or len(long) - len(short) > 1 or not (one + other).isalpha():
        return False
    start = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), None)
    if start is None:
        return True  # the last letter
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    changed = short[start + 1 :] == long[start + 1 :]
    swapped = short[start : start + 2] == long[start : start + 2][::-1]
    return changed or (swapped and short[start + 2 :] == long[start + 2 :])
