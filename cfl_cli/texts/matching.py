"""Which of a column's values a text means, if it is not exactly one of them.

It is, in this order, the value that it equals; that it equals without outer blanks; that it equals
as a whole number, as 1.0 is 1; that it equals in other letter case, if the schema ignores case; or,
if the values are a known pair such as no and yes, the one that is surely as true. A value's aliases
stand for it. What would fit two values alike fits none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

import polars as pl

from cfl_cli.texts import BLANKS, Tally, word_list, word_lists

# Truth values as people write them, in the languages that tables come in.

LETTERS = frozenset("yntfj10")  # that say the same in whatever pair they stand
YES_NO = frozenset("ynj")  # that hardly ever mean anything else


class Truths:
    def __init__(self) -> None:
        def pairs(*lines: str) -> list[tuple[str, str]]:
            split = (pair.split() for line in lines for pair in line.casefold().split("|"))
            return [(false, true) for false, true in split]

        lists = word_lists("truths")
        families = lists["families"]
        self.words = pairs(*lists["universal"], *families, *lists["letters"])
        self.pairs = [*self.words, ("", "x"), *pairs(*lists["signs"])]
        self.families = [frozenset(text for pair in pairs(it) for text in pair) for it in families]
        self.anywhere = frozenset(text for pair in pairs(*lists["universal"]) for text in pair)
        self.of_types = self.anywhere - {"no", "yes"}  # how programs write truth
        self.truth = {text: truth for pair in self.pairs for truth, text in enumerate(pair)}
        self.known = frozenset(map(frozenset, self.pairs))
        self.in_words = frozenset(text for pair in self.words for text in pair)


truths = cache(Truths)


def truth(text: str) -> bool | None:
    """Return what a text says, None if that is not clear; an empty one says nothing."""
    bare = folded_truth(text)
    return bool(truths().truth[bare]) if bare and bare in truths().truth else None


def is_sure(text: str) -> bool:
    """Return whether a text says yes or no whatever stands beside it."""
    bare = folded_truth(text)
    known = bare in truths().truth and bare != ""
    return known and (len(bare) > 1 or bare in LETTERS or bare not in truths().in_words)


def means(text: str, values: Sequence[str]) -> str | None:
    """Return which of two values, a known pair, a text means; None if that is not sure.

    It may be spelled in other letter case, as programs write truth, or in a word of the same family
    of languages, or be its first letter. Other letters and signs stand for themselves: N and S may
    be north and south.
    """
    bare, pair = folded_truth(text), [*map(folded_truth, values)]
    if pair.count(bare) == 1:
        return values[pair.index(bare)]
    known = truths()
    said = [known.truth.get(one) for one in pair]
    if bare not in known.truth or sorted(map(str, said)) != ["0", "1"]:
        return None
    language = {*pair} - known.of_types
    families = [family for family in known.families if language <= family]
    if families:
        initials = frozenset(one[0] for one in pair)
        letter = bare in initials and initials in known.known
        sure = letter or bare in known.anywhere or any(bare in family for family in families)
    else:
        sure = bare in known.of_types and all(one in LETTERS for one in pair)
    return values[said.index(known.truth[bare])] if sure else None


def and_others(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the texts beside a known pair of words, all of them if there is none."""
    listed = tuple(texts)
    bare = {text: folded_truth(text) for text in listed}
    there = {*bare.values()}
    for pair in truths().words:
        sure = all(len(word) > 1 or word in YES_NO or not word.isascii() for word in pair)
        if sure and there.issuperset(pair):
            return tuple(text for text in listed if means(text, pair) is None)
    return listed


def is_pair(values: Iterable[str]) -> bool:
    return frozenset(map(folded_truth, values)) in truths().known


def are_truths(texts: Iterable[str]) -> bool:
    """Return whether texts are a known pair, or one of words and others that mean either."""
    listed = tuple(texts)
    return is_pair(listed) or not and_others(listed)


def folded_truth(text: str) -> str:
    """Return a text without case and outer blanks; 1.0 and 0.0 are how pandas writes 1 and 0."""
    bare = text.strip(BLANKS).casefold()
    return {"1.0": "1", "0.0": "0"}.get(bare, bare)


_WHOLE = re.compile(r"([+-]?[0-9]+|.*:[0-9]{2})\.0+")  # a time without a fraction, too


class Matcher:
    def __init__(
        self,
        values: Sequence[str],
        aliases: Mapping[str, Sequence[str]] | None = None,
        *,
        ignore_case: bool = False,
    ) -> None:
        self.values, self.ignore_case = values, ignore_case
        own = {value: place for place, value in enumerate(values)}
        known = (aliases or {}).items()
        also = {text: own[value] for value, texts in known if value in own for text in texts}
        self.exact = also | own

    def place(self, text: str) -> int:
        exactly = self.exact.get(text)
        if exactly is not None:
            return exactly
        bare = text.strip(BLANKS)
        trimmed, plain, folded, are_pair = self._loose
        for found in (trimmed.get(bare), plain.get(whole(bare)), folded.get(bare.casefold())):
            if found is not None:
                return found
        said = means(bare, self.values) if are_pair else None
        return -1 if said is None else self.exact[said]

    def __call__(self, text: str) -> str:
        place = self.place(text)
        return text if place < 0 else self.values[place]

    @cached_property
    def _loose(self) -> tuple[dict[str, int], dict[str, int], dict[str, int], bool]:
        bare = [(text.strip(BLANKS), place) for text, place in self.exact.items()]
        plain = _unique((whole(text), place) for text, place in bare)
        folded = _unique((text.casefold(), place) for text, place in bare if self.ignore_case)
        return _unique(bare), plain, folded, is_pair(self.values)


def whole(text: str) -> str:
    """Return a text without the zeros behind the point of a whole number."""
    found = _WHOLE.fullmatch(text)
    return found[1] if found else text


def _unique(texts: Iterable[tuple[str, int]]) -> dict[str, int]:
    places: dict[str, set[int]] = {}
    for text, place in texts:
        places.setdefault(text, set()).add(place)
    return {text: next(iter(found)) for text, found in places.items() if len(found) == 1}


# A column of any type as text, alike whatever file or data frame it comes from.

_EXACT = 2**53  # whole numbers up to this are floats too
_TIME = r"(:[0-9]{2})\.0+([+-].*)?$"  # without a part of a second
FEW = 6  # codes that are looked for one by one


def as_text(column: pl.Series) -> pl.Series:
    """Return a column as text: whole numbers that were made floats, and times, without `.0`."""
    kind = column.dtype
    if kind.is_float():
        known = column.fill_nan(None)
        if ((known == known.floor()) & (known.abs() <= _EXACT)).all():
            return column.cast(pl.Int64, strict=False).cast(pl.String)
    text = column.cast(pl.String)
    return text.str.replace(_TIME, "${1}${2}") if isinstance(kind, pl.Datetime) else text


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
_RARE, FEW_SPELLINGS = 0.02, 3  # share of the cells, or cells, that a slip has at most
_OFTEN = 5  # times as many cells hold the right spelling, at least


def misspelt(counts: Mapping[str, int], cells: int) -> dict[str, str]:
    """Return the frequent value that each rare one may be; `counts` are the cells that hold each.

    Numbers, and words that differ in case only, are none of them.
    """
    most = max(FEW_SPELLINGS, _RARE * cells)
    found = {}
    for rare, few in counts.items():
        if few > most:
            continue
        often = ((many, other) for other, many in counts.items() if many >= _OFTEN * few)
        near = [one for one in often if _one_apart(rare.casefold(), one[1].casefold())]
        if near:
            found[rare] = max(near)[1]
    return found


def _one_apart(text: str, right: str) -> bool:
    words, others = text.split(), right.split()
    if len(words) != len(others):
        return False
    differ = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    if len(differ) != 1:
        return False
    one, other = differ[0]
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


# Texts that people write where a value is missing: `k.A.`, `n/a`, `-`, `#N/A`.

_BEHIND_DOT = re.compile(r"(?<=\.)\s+")
_BLANKS = re.compile(r"\s+")
_SIGNS = re.compile(r"[-–−]{1,3}|\+{1,3}|0|o|±|\+/[-–−]|[-–−]/\+|\*+", re.IGNORECASE)  # of a scale
_LONGEST = 40  # signs of a code, with its blanks
_MOSTLY = 0.6  # a code that holds more than this share of the cells may be an answer


def is_missing_code(text: str, kind: str = "sure") -> bool:
    """Return whether a text is a missing code of a kind, a heading of `data/missing.txt`."""
    text = _BEHIND_DOT.sub("", _BLANKS.sub(" ", text.strip().casefold()))
    return (text.rstrip(".") or text) in word_list("missing", kind, "|")


def codes_of(found: Sequence[str], kind: str) -> tuple[str, ...]:
    return tuple(text for text in found if is_missing_code(text, kind))


def missing_codes(tally: Tally, kind: str = "sure") -> tuple[str, ...]:
    def found() -> Iterator[tuple[int, str]]:
        for text, count in tally:
            short = len(text) <= _LONGEST and not text[0].isdigit() and not text[-1].isdigit()
            if short and is_missing_code(text, kind):
                yield -count, text

    return tuple(text for _, text in sorted(found()))


def may_be_answers(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that look like the other texts, or hold most cells.

    `NA` among two capitals is Namibia, `-` among single signs is one of them.
    """
    if len(tally) > 2 and _are_signs(tally.without({*found}).texts):
        return ()
    counts, most = dict(tally), _MOSTLY * (tally.cells + tally.empty)
    same = _same_shape(tally, found)
    return tuple(text for text in found if text in same or counts[text] > most)


def rather_values(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the codes among `found` that are values rather: `-` beside `+`, ND beside NY and TX.

    So is `b/d` beside b and d. `NA` and `n/a` are not among them, since programs write them.
    """
    if len(tally) > 2 and _are_signs(tally.without({*found}).texts):  # from -- to ++
        return tuple(text for text in found if _SIGNS.fullmatch(text))
    alike, texts = _same_shape(tally, found), {*tally.texts}
    joined = [text for text in found if "/" in text and texts.issuperset(text.split("/"))]
    none = ("na", "n/a")
    return tuple(text for text in (*joined, *alike) if text.strip(". ").casefold() not in none)


def _are_signs(texts: Sequence[str]) -> bool:
    ranked = any("+" in text or "**" in text for text in texts)
    return ranked and all(map(_SIGNS.fullmatch, texts))


def _same_shape(tally: Tally, found: tuple[str, ...]) -> tuple[str, ...]:
    shapes = {_shape(text) for text in tally.without({*found}).texts} if found else set()
    return tuple(text for text in found if shapes == {_shape(text)})


def _shape(text: str) -> str:
    if len(text) == 1 and not text.isalnum():
        return "a sign"
    if 2 <= len(text) <= 3 and text.isalpha():
        return f"{len(text)} {'capitals' if text.isupper() else 'letters'}"
    return text
