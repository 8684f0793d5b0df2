"""What an ordinary column holds: the first of the kinds below that explains all its cells."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.messages import count, option, quote
from cfl_cli.encode.columns import is_running
from cfl_cli.texts import Tally, identifiers, lists, matching, scales
from cfl_cli.texts import dates as date_formats
from cfl_cli.texts import matching as missing
from cfl_cli.texts.dates import COMPACT, formats
from cfl_cli.texts.matching import misspelt
from cfl_cli.texts.numbers import (
    Reading,
    is_number,
    is_zero_padded,
    number,
    numbers,
    readings,
    sentinels,
    wild,
    without_bounds,
)

# What is guessed of one column: its entry in a schema, the evidence, and what stays doubtful.

RUNS = "grows or falls from row to row; set role: ignore if a model will fill in later rows"
POINT = "a point"  # the decimal sign of numbers that are read by default too
EITHER = "either"  # of numbers that need one, whichever it is
_SHOWN = 4  # codes or values that a comment names


@dataclass(frozen=True)
class Guess:
    entry: Mapping[str, Any]
    notes: tuple[str, ...] = ()  # the evidence
    doubts: tuple[str, ...] = ()  # why it may be otherwise
    codes: tuple[str, ...] = ()  # missing codes, which may be those of other columns too
    own_codes: tuple[str, ...] = ()  # missing codes of this column alone
    values: frozenset[str] = field(default_factory=frozenset)  # texts that are values here
    decimal: str | None = None  # the decimal sign that its numbers need, POINT or EITHER
    private: bool = False  # by its name, so that it may have been blurred on purpose

    @property
    def comment(self) -> str:
        parts = [f"{one} " if one.endswith("?") else f"{one}; " for one in self.doubts + self.notes]
        said = "".join(parts).removesuffix("; ").rstrip()
        return f"? {said}" if self.doubts else said


IGNORED = {"role": "ignore"}
IDENTIFIER = {"role": "identifier"}
UNUSED = ("ignore", "identifier")  # roles of columns that play no part


def ordinary(type_: str, **keys: Any) -> dict[str, Any]:
    return {"role": "ordinary", "type": type_, **{k: v for k, v in keys.items() if v is not None}}


@dataclass(frozen=True)
class Look:
    tally: Tally
    codes: tuple[str, ...]  # that are sure
    doubtful_codes: tuple[str, ...]  # that look like the other texts, or hold most cells
    rest: Tally  # the texts that are no codes

    @classmethod
    def at(cls, tally: Tally) -> "Look":
        found = missing.missing_codes(tally)
        doubtful = missing.may_be_answers(tally, found)
        values = missing.rather_values(tally, found)
        left = tuple(text for text in found if text not in values)
        return cls(tally, left, doubtful, tally.without({*left}))

    @property
    def name(self) -> str:
        return self.tally.name

    def doubts(self, *, in_texts: bool = False) -> tuple[str, ...]:
        codes = self._doubtful(in_texts=in_texts)
        return (
            (f"{with_counts(self.tally, codes)}: a missing-value code or a value?",)
            if codes
            else ()
        )

    def notes(self, *, in_texts: bool = False) -> tuple[str, ...]:
        doubtful = self._doubtful(in_texts=in_texts)
        sure = [text for text in self.codes if text not in doubtful]
        return (f"missing: {with_counts(self.tally, sure)}",) if sure else ()

    def _doubtful(self, *, in_texts: bool) -> tuple[str, ...]:
        weak = missing.codes_of(self.codes, "weak") if in_texts else ()
        return tuple(dict.fromkeys([*self.doubtful_codes, *weak]))


def with_counts(tally: Tally, texts: Sequence[str]) -> str:
    counts = dict(tally)
    several = [f"{quote(text)} ({count(counts[text], 'cell')})" for text in texts[:_SHOWN]]
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return f"{', '.join(several)}{more}"


def alike(tally: Tally) -> str | None:
    spelled: dict[str, list[str]] = {}
    for text in tally.texts:
        spelled.setdefault(" ".join(text.casefold().split()), []).append(text)
    several = [texts for texts in spelled.values() if len(texts) > 1]
    if not several:
        return None
    more = f", plus {count(len(several) - 1, 'similar group')}" if len(several) > 1 else ""
    same = all(len({text.casefold() for text in texts}) == 1 for texts in several)
    fix = "ignore_case: true" if same else f"aliases: {{{several[0][0]}: [{several[0][1]}]}}"
    question = f"one value in several spellings? {with_counts(tally, several[0])}{more}"
    return f"{question}: list it once under values, with {fix}"


def slips(counts: Mapping[str, int], cells: int) -> tuple[str, ...]:
    found = list(misspelt(counts, cells).items())
    if not found:
        return ()
    rare, frequent = found[0]
    more = f", plus {count(len(found) - 1, 'similar pair')}" if len(found) > 1 else ""
    cells_ = count(counts[rare], "cell")
    return (f"{quote(rare)} ({cells_}) may be a typo for {quote(frequent)}{more}",)


# What a column of a few texts is: categories, with a word about what else they may be.

_CATEGORIES = 50  # more different texts than this look like names or notes
_WORDS = 4  # by the mean, in a note
_DIFFERENT = 0.5  # share of different texts in names and notes
PARTLY = 0.6  # share of texts that are known steps, so that all may be
ALIKE = 4  # texts that show how they are written


def category(look: Look, doubt: str | None, note: str = "") -> Guess:
    column = look.rest
    different = len(column)
    doubts: tuple[str, ...] = (doubt,) if doubt else ()
    said = f"{different:,} different texts"
    if different > _CATEGORIES:
        length = sum(len(text.split()) * n for text, n in column) / column.cells
        is_note = length >= _WORDS or different > _DIFFERENT * column.cells
        what = "a note?" if is_note else "a name or a note?"
        return Guess(IGNORED, (note,) if note else (), (*doubts, f"{said}: {what}"))
    if spelled := alike(column):
        doubts += (spelled,)
    doubts += slips(dict(column), column.cells)
    doubts += answers(
        column, missing.missing_codes(column, "doubtful") or written_otherwise(column)
    )
    notes = (f"{different} values", *((note,) if note else ()), *look.notes(in_texts=True))
    return Guess(
        ordinary("categorical"),
        notes,
        (*doubts, *look.doubts(in_texts=True)),
        look.codes,
        values=frozenset(column.texts),
    )


def answers(column: Tally, words: Sequence[str]) -> tuple[str, ...]:
    return (f"{with_counts(column, words)}: a value or a missing-value code?",) if words else ()


def steps(column: Tally) -> str | None:
    found = scales.degree_levels(column.texts)
    partly = len({*found.values()}) > 1 and len(found) >= PARTLY * len(column)
    if (not partly and not scales.shared_words(column.texts)) or scales.are_weekdays(column.texts):
        return None
    return "if the values have an order, set type: ordered and list values: from lowest to highest"


def written_otherwise(column: Tally) -> tuple[str, ...]:
    if len(column) < ALIKE:
        return ()
    for style in (lambda text: text[0].isupper(), lambda text: text[0] not in "([<{"):
        odd = tuple(text for text in column.texts if not style(text))
        if len(odd) == 1 and (odd[0][0].isalpha() or odd[0][0] in "([<{"):
            return odd
    return ()


# What a file's columns say about each other: its decimal sign, and whether days come first.


@dataclass(frozen=True)
class FileContext:
    columns: tuple[Tally, ...] = ()
    semicolons: bool = False  # do semicolons separate the cells?

    @cached_property
    def decimals(self) -> frozenset[str]:
        found = ((readings(column), column) for column in self.columns)
        return frozenset(
            "," if one[0].decimal == "," else "."
            for one, column in found
            if len(one) == 1 and any("," in text or "." in text for text in column.texts)
        )

    @cached_property
    def day_first(self) -> frozenset[bool]:
        found = (formats(column) for column in self.columns)
        sure = (one[0] for one in found if len(one) == 1)
        return frozenset(
            format_.find("%d") < format_.find("%m")
            for format_ in sure
            if format_ and "%m" in format_ and format_ != COMPACT
        )

    def reading(self, found: tuple[Reading, ...]) -> tuple[Reading, bool]:
        if len(found) == 1:
            return found[0], True
        by_sign = {one.decimal or ".": one for one in found}
        if len(self.decimals) == 1:
            return by_sign[next(iter(self.decimals))], True
        return by_sign["," if self.semicolons or "," in self.decimals else "."], False

    def format(self, found: tuple[str | None, ...]) -> tuple[str | None, bool]:
        if len(found) == 1:
            return found[0], True
        if self.day_first == {False}:
            return found[-1], True
        return found[0], self.day_first == {True}


# Whether a column holds one text, or two: yes and no, however they are written.

SPELLINGS = 12  # of yes and no, at most
RARE_PAIR = 0.2  # share of cells that a word beside yes and no may hold and be missing
SENTINELS = frozenset({"9", "99", "999", "-9", "-99", "-999", "98", "88", "77"})


def constant(look: Look, _: FileContext) -> Guess | None:
    if len(look.rest) > 1:
        return None
    if not len(look.rest):
        return Guess(IGNORED, ("every cell is missing",))
    text, cells = next(iter(look.rest))
    if len(look.codes) == 1 and (look.codes == ("-",) or missing.codes_of(look.codes, "weak")):
        pair = sorted([text, *look.codes])
        doubt = f"{with_counts(look.tally, look.codes)}: a missing-value code or a value?"
        return Guess(ordinary("binary", values=pair), doubts=(doubt,), values=frozenset(pair))
    empty = look.tally.empty
    if empty and matching.is_sure(text) and matching.truth(text):
        beside = f"{quote(text)} in {count(cells, 'cell')}, {empty:,} empty: does empty mean no?"
        if text[0].isdigit():  # columns of numbers have no empty text
            return Guess(IGNORED, doubts=(beside,))
        return Guess(
            ordinary("binary", values=["", text]),
            look.notes(in_texts=True),
            (beside,),
            look.codes,
            values=frozenset({text}),
        )
    return Guess(IGNORED, ("the same value in every row",))


def two_notes(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    several = len(column) == 2 and all(len(text.split()) > 1 for text in column.texts)
    if not several or matching.is_pair(column.texts) or column.cells >= column.empty:
        return None
    return Guess(IGNORED, doubts=("two long texts in few cells: notes?",))


def two(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    own: tuple[str, ...] = ()
    if len(column) > SPELLINGS:
        return None
    if len(column) > 2 and (found := _two_and_more(look)):
        return found
    if len(column) == 3 and not matching.are_truths(column.texts):
        own = tuple(text for text in column.texts if text in SENTINELS)
        column = column.without({*own})
        if set(column.texts) not in ({"0", "1"}, {"1", "2"}):
            return None
    if not matching.are_truths(column.texts) and len(column) != 2:
        return None
    if len({text.casefold() for text in column.texts}) == 1:
        return Guess(IGNORED, doubts=(alike(column) or "",))
    values = _pair(column)
    words = () if matching.is_pair(values) else missing.missing_codes(column, "doubtful")
    doubts = answers(column, words)
    said = [text for text in values if len(text) > 1 and matching.is_sure(text)]
    if not doubts and not matching.is_pair(values) and len(said) == 1 and not said[0][0].isdigit():
        other = next(text for text in values if text != said[0])
        doubts = (f"{quote(other)} beside {quote(said[0])}: a value or a missing-value code?",)
    if own:
        doubts += (f"{with_counts(look.rest, own)}: a missing-value code?",)
    return Guess(
        ordinary("binary", values=values),
        look.notes(in_texts=True),
        (*doubts, *look.doubts(in_texts=True)),
        look.codes,
        own,
        frozenset(column.texts),
    )


def _two_and_more(look: Look) -> Guess | None:
    column = look.rest
    beside = matching.and_others(column.texts)
    if not beside or len(beside) == len(column) or len(beside) > 2 or scales.scale(column):
        return None
    cells = sum(n for text, n in column if text in beside)
    doubt = f"{with_counts(column, beside)} beside yes and no: a missing-value code?"
    rare = cells <= RARE_PAIR * column.cells or len(missing.codes_of(beside, "doubtful")) == len(
        beside
    )
    if len({text.casefold() for text in beside}) > 1 or not rare:
        return category(look, f"{doubt} If so, set type: binary")
    values = _pair(column.without({*beside}))
    return Guess(
        ordinary("binary", values=values),
        look.notes(in_texts=True),
        (doubt, *look.doubts(in_texts=True)),
        look.codes,
        beside,
        frozenset(values),
    )


def _pair(column: Tally) -> list[str]:
    if not matching.are_truths(column.texts):
        return sorted(column.texts)
    best: dict[bool, tuple[int, str]] = {}
    for text, cells in column:
        said = bool(matching.truth(text))
        best[said] = max(best.get(said, (0, "")), (cells, text))
    return [best[False][1], best[True][1]]


# Whether a column holds numbers, how they are written, and which of them mean nothing.

FITTING_TEXTS, FITTING_CELLS = 0.9, 0.8  # shares that leave the others to be codes
MISFITS = 3  # such texts, at most
NUMBER_WORDS = 20  # and of known words
FEW = 12  # whole numbers that may be codes
_YEARS = range(1900, 2101)
_DIGIT = re.compile(r"\d")
_CODES = re.compile(
    r"(?:^|[^a-z])(?:plz|zip|zipcode|postal|postcode|postleitzahl|cap|kod|icd|isco|nace|sic|fips)"
    r"(?=[^a-z]|$)|(?:zip|post|area)_?code|(?<=[^a-z])code$",
    re.IGNORECASE,
)
_KEYS = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid)$", re.IGNORECASE)


def _numbers(look: Look, context: FileContext) -> Guess | None:
    column = look.rest
    others: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    found = readings(column)
    if not found:
        others = _misfits(column)
        column = column.without({*others})
        found = readings(column) if others else ()
        if not found or len(column) < 2:
            return None
        doubts = (fitting(look.rest, others, "numbers"),)
    reading, sure = context.reading(found)
    series = numbers(pl.Series(column.texts), decimal=reading.decimal, unit=reading.unit)
    if not series.is_finite().all() or series.has_nulls():
        return None
    kept = series.to_list()
    if guess := _number_id(look, column, kept):
        return guess
    if not sure:
        text = next(text for text in column.texts if "." in text or "," in text)
        other = "." if reading.decimal == "," else ","
        words = ("comma", "point") if other == "," else ("point", "comma")
        means = "{0} is the decimal mark" if reading.thousands else "{1} separates thousands"
        read = f"{quote(text)} read as {number(text, reading):.10g}"
        doubts += (f'{read}; if the {means.format(*words)}, set decimal: "{other}"',)
    outside = sentinels(column, kept)
    own = others
    if outside:
        own += outside.texts
        others_lie = f"the others are {outside.low:g} to {outside.high:g}; a missing-value code?"
        doubts += (f"{with_counts(column, outside.texts)}: {others_lie}",)
        inner = [value for text, value in zip(column.texts, kept, strict=True)
                 if text not in outside.texts]  # fmt: skip
    else:
        inner = kept
    cells = np.repeat(np.array(kept, dtype=np.float64), column.counts)
    lone = None if outside else wild(cells)
    if lone is not None:
        far = [text for text, value in zip(column.texts, kept, strict=True)
               if not lone.low <= value <= lone.high]  # fmt: skip
        lie = f"the others are {lone.low:g} to {lone.high:g}"
        doubts += (f"{with_counts(column, far)}: {lie}; a typo? scale: robust limits its effect",)
    joined, there = [text for text in column.texts if "," in text], {*column.texts}
    may_be_lists = joined and all(part in there for text in joined for part in text.split(","))
    if reading.decimal == "," and may_be_lists:
        doubts += (f"{quote(max(column.texts, key=len))}: a decimal comma or two values?",)
    if reading.lacking:
        doubts += (f"{count(reading.lacking, 'cell')} lack the unit {quote(reading.unit or '')}",)
    if not reading.usual:
        doubts += (f"is {quote(reading.unit or '')} a unit?",)
    more_doubts, notes = _remarks(column, inner, reading)
    if len(kept) > column.cells / 2 and is_running(np.array(kept, dtype=float), dates=False):
        notes += (RUNS,)
    needed = EITHER if reading.either else reading.decimal
    if needed is None and any("." in text for text in column.texts):
        needed = POINT
    return Guess(
        ordinary("numeric", unit=reading.unit, scale="robust" if lone else None),
        notes=(*notes, *look.notes()),
        doubts=(*doubts, *more_doubts, *look.doubts()),
        codes=look.codes,
        own_codes=own,
        values=frozenset(column.texts) - {*own},
        decimal=needed,
    )


def _misfits(column: Tally) -> tuple[str, ...]:
    """Return the few texts without digits that may be codes among texts with digits."""
    bare = []
    for text in column.texts:
        if not _DIGIT.search(text):
            bare.append(text)
        if len(bare) > NUMBER_WORDS:
            return ()
    words = [text for text in bare if missing.is_missing_code(text, "doubtful")]
    odd = {*bare}
    cells = sum(n for text, n in column if text in odd) if odd else 0
    few = len(bare) <= MISFITS and len(bare) <= (1 - FITTING_TEXTS) * len(column)
    if few and cells <= (1 - FITTING_CELLS) * column.cells:
        return tuple(bare)
    return tuple(words) if words == bare else ()


def fitting(column: Tally, others: Sequence[str], what: str) -> str:
    fits = f"{len(column) - len(others):,} of {len(column):,} different texts are {what}"
    which = "the other is" if len(others) == 1 else "the others are"
    return f"{fits}; {which} {with_counts(column, others)}: a missing-value code?"


def _number_id(look: Look, column: Tally, values: Sequence[float]) -> Guess | None:
    whole = all(value == int(value) for value in values)
    if found := identifiers.id_kind(column, numbers=True, whole=whole):
        why, sure = found
        if sure:
            return Guess(IGNORED, ("a different value in every row: an ID?",))
        return Guess(IGNORED, doubts=(f"{why}: an ID?",))
    if whole and len(column) > FEW and _KEYS.search(look.name):
        return Guess(
            IGNORED,
            doubts=(
                "named like an ID; if it measures something, set role: ordinary, type: numeric",
            ),
        )
    lengths = {len(text) for text in column.texts}
    if whole and len(column) > 2 and len(lengths) <= 2 and _CODES.search(look.name):
        doubt = "the name suggests codes; if so, set type: categorical or role: ignore"
        if len(column) > 50:
            return Guess(IGNORED, doubts=(doubt,))
        return Guess(ordinary("categorical"), doubts=(doubt,), codes=look.codes,
                     values=frozenset(column.texts))  # fmt: skip
    return None


def _remarks(
    column: Tally, values: Sequence[float], reading: Reading
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    different = sorted({*values})
    whole = all(value == int(value) for value in different)
    notes: tuple[str, ...] = ()
    if reading.decimal == "," and any("," in text for text in column.texts):
        example = next(text for text in column.texts if "," in text)
        notes += (f"decimal comma, as in {quote(example)}",)
    elif reading.decimal is not None:
        notes += (f"thousands separators, as in {quote(max(column.texts, key=len))}",)
    if reading.unit == "%":
        notes += ("in percent",)
    if whole and len(different) > 2 and all(value in _YEARS for value in different):
        return (), (*notes, "a year")
    run = different[0] in (0, 1) and different[-1] - different[0] == len(different) - 1
    if whole and 2 < len(different) <= FEW and run and not reading.unit:
        return (
            f"only {len(different)} values; if they are codes or a scale, set type: categorical",
        ), notes
    if any(re.fullmatch(r"0\d+", text) for text in column.texts):
        return ("some begin with 0; if they are codes, set type: categorical",), notes
    return (), notes


_NEARLY = 0.8  # share of texts that are numbers, so that the others are worth a word
SEVERAL = 5  # texts that may be otherwise in a short column
_RARE = 0.5  # of its even share of the cells: so few hold a text that is no step of a scale
STEPS = 4  # of a scale that leave one other text
PARTS = range(3, 41)  # of a list that looks like exclusions
SAYS_DATE = re.compile(r"dat[eum]|fecha|tag|day|jour|día|dzie|giorno|birth|geb", re.IGNORECASE)
CLOCK = re.compile(r"[0-2]?\d:[0-5]\d(?::[0-5]\d)?(?:\s*[AaPp]\.?[Mm]\.?)?")
COMPACT_DATE = re.compile(
    r"\d{8}|(?:0[1-9]|1[0-2])\.(?:19|20)\d\d|(?:19|20)\d\d\.(?:0[1-9]|1[0-2])"
)
FIRST_DAYS = re.compile(
    r"0?1\D0?1\D(?:1900|1901|1970)(?:\D.*)?|(?:1900|1901|1970)\D0?1\D0?1(?:\D.*)?"
)
_OFTEN = 5  # times as many cells as a usual date has, so that a date may be a code
LAST_DAYS = re.compile(r"(?:9999|2999|2099|1900|1899|0000|0001|1111|31\D12\D9999|0?1\D0?1\D1900).*")


def guess_ordinary(look: Look, context: FileContext) -> Guess:
    for kind in _KINDS:
        found = kind(look, context)
        if found is not None:
            return found
    return _texts(look)


def _dates(look: Look, context: FileContext) -> Guess | None:
    column = look.rest
    others: tuple[str, ...] = ()
    found = date_formats.formats(column)
    doubts: tuple[str, ...] = ()
    if not found:
        odd = tuple(text for text in column.texts if LAST_DAYS.fullmatch(text))
        last_days = odd if 0 < len(odd) <= 2 and len(odd) < len(column) else ()
        others = _misfits(column) or last_days
        column = column.without({*others})
        found = date_formats.formats(column) if others else ()
        if not found or len(column) < 2:
            return None
        doubts = (fitting(look.rest, others, "dates"),)
    usual, counts = sorted(column.counts)[len(column) // 2], dict(column)
    often = [
        text
        for text in column.texts
        if FIRST_DAYS.fullmatch(text) and counts[text] >= max(SEVERAL, _OFTEN * usual)
    ]
    if often:
        doubts += (f"{with_counts(column, often)}: a date or a missing-value code?",)
    format_, sure = context.format(found)
    if format_ in (date_formats.COMPACT, "%m.%Y", "%Y.%m") and not SAYS_DATE.search(look.name):
        doubts += ("numbers that may be dates",)
    if not sure:
        doubts += (f"day or month first? the cells fit both {found[0]} and {found[-1]}",)
    if date_formats.has_short_year(format_):
        doubts += ("two-digit years: 69 to 99 are read as 1969 to 1999, all others as 20..",)
    notes: tuple[str, ...] = (f"dates like {quote(column.texts[0])}",) if format_ else ()
    days = date_formats.days(pl.Series(column.texts, dtype=pl.String), format=format_).to_numpy()
    notes += (RUNS,) if is_running(days, dates=True) else ()
    return Guess(
        ordinary("date", format=format_),
        (*notes, *look.notes()),
        (*doubts, *look.doubts()),
        look.codes,
        others,
        frozenset(column.texts),
    )


def _nearly_dates(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    if date_formats.two_orders(column):
        return None
    found = date_formats.nearly_dates(column)
    if found is None:
        return None
    by_format, others = found
    shown = [f"{len(texts):,} like {quote(texts[0])}" for texts in by_format.values()]
    formats = [date_formats.as_entry(format_) for format_ in by_format]
    if len(formats) > 1:
        said = f"dates in two formats, {' and '.join(shown)}: use one format"
        other = f"; {with_counts(column, others)}: not a date" if others else ""
        return Guess(IGNORED, doubts=(f"{said} and set {formats[0]} or {formats[1]}{other}",))
    dates = f"{shown[0].split(' ')[0]} of {len(column):,} different texts are dates"
    example = next(iter(by_format.values()))[0]
    is_not = "is not: correct it" if len(others) == 1 else "are not: correct them"
    named = with_counts(column, others)
    said = f"{dates} like {quote(example)}; {named} {is_not} and set {formats[0]}"
    return Guess(IGNORED, doubts=(said,))


def _ordered(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    own: tuple[str, ...] = ()
    found = scales.scale(column)
    if found is None:
        own = missing.missing_codes(column, "doubtful") if len(column) <= _CATEGORIES else ()
        levels = scales.degree_levels(column.texts)
        others = tuple(text for text in column.texts if text not in levels)
        if not own and len(others) == 1 and len(levels) >= STEPS:
            rare = dict(column)[others[0]] * len(column) <= _RARE * column.cells
            own = others if rare else ()
        column = column.without({*own})
        found = scales.scale(column) if own else None
    if found is None or (found.doubt and len(column) == column.cells):
        return None  # numbers that differ in every row are an id
    doubts: tuple[str, ...] = (found.doubt,) if found.doubt else ()
    if own:
        doubts += (f"{with_counts(look.rest, own)}: a missing-value code?",)
    if said := missing.codes_of(look.codes, "no opinion"):
        doubts += (
            f"{with_counts(look.tally, said)}: a missing-value code or a step of the scale?",
        )
    return Guess(
        ordinary("ordered", values=list(found.values)),
        (found.kind, *look.notes()),
        doubts,
        look.codes,
        own,
        frozenset(found.values),
    )


def _bounded(look: Look, context: FileContext) -> Guess | None:
    column = look.rest
    bounds = [text for text in column.texts if scales.bound(text)]
    if not bounds or len(bounds) > (1 - _NEARLY) * len(column) + SEVERAL:
        return None
    left = column.without({*bounds})
    if len(left) < 2 or not (readings(left) or readings(left.without({*_misfits(left)}))):
        return None
    counts = dict(column)
    cells = count(sum(counts[text] for text in bounds), "cell")
    said = f"{cells} like {quote(bounds[0])} are bounds"
    guess = _numbers(Look.at(left), context)
    bare = without_bounds(pl.Series(bounds)).to_list()
    if guess and guess.entry.get("type") == "numeric" and all(map(is_number, bare)):
        entry = {**guess.entry, "bounds": True}
        doubts = (f"{said}, read as {quote(bare[0])}", *guess.doubts)
        values = frozenset(column.texts) - {*guess.own_codes}
        return replace(guess, entry=entry, doubts=doubts, codes=look.codes, values=values)
    said += ", not numbers: replace them with numbers"
    if len(column) > _CATEGORIES:
        return Guess(IGNORED, doubts=(f"{said} and set type: numeric",))
    return category(look, f"{said}, or set type: ordered and list all values in order")


def _list(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    if lists.hold_lists(column):
        way = option("cf", look.name, pasted=True)
        example = quote(column.texts[0])
        said = f"lists such as {example}; if they name what a value is not, run with {way}"
        return Guess(IGNORED, doubts=(said,))
    found = lists.listing(column)
    if found is None:
        return None
    cells = f"{count(found.joined, 'cell')} like {quote(found.example)}"
    doubt = (
        f"{cells} hold several of {len(found.parts)} values, separated by {quote(found.separator)}"
    )
    if len(found.parts) in PARTS:
        doubt += (
            f"; if they name what a value is not, run with {option('cf', look.name, pasted=True)}"
        )
    return category(look, doubt)


def _id(look: Look, _: FileContext) -> Guess | None:
    found = identifiers.id_kind(look.rest, numbers=False)
    if found is None:
        return None
    why, sure = found
    said = why if why in identifiers.SHAPES else f"{why}: an ID?"
    return Guess(IGNORED, (said,) if sure else (), () if sure else (said,))


def _odd(look: Look, _: FileContext) -> Guess | None:
    column = look.rest
    if cell := lists.negated(column):
        way = option("cf", column.name, pasted=True)
        return category(look, f"looks like a CF, with cells like {quote(cell)}: run with {way}")
    if rows := date_formats.two_orders(column):
        texts = dict(zip(column.rows, column.texts, strict=True))
        shown = ", ".join(f"row {row}: {texts[row]}" for row in rows)
        return category(look, f"some dates have the day first, others the month ({shown})")
    if said := _almost_numbers(column):
        return category(look, said)
    if all(map(CLOCK.fullmatch, look.rest.texts)):
        return Guess(IGNORED, doubts=(f"times of day like {quote(look.rest.texts[0])}",))
    return None


_KINDS: tuple[Callable[[Look, FileContext], Guess | None], ...] = (
    constant,
    two_notes,
    two,
    lambda look, of: _dates(look, of) if COMPACT_DATE.fullmatch(look.rest.texts[0]) else None,
    _numbers,
    _dates,
    _nearly_dates,
    _ordered,
    _bounded,
    _list,
    _odd,
    _id,
)


def _texts(look: Look) -> Guess:
    if lists.is_name_of_exclusions(look.name):
        way = option("cf", look.name, pasted=True)
        return category(look, f"named like a CF; if it is one, run with {way}")
    padded = is_zero_padded(look.rest.texts)
    if not padded and (order := steps(look.rest)):
        return category(look, order)
    return category(look, None, "codes with leading zeros" if padded else "")


def _almost_numbers(column: Tally) -> str | None:
    if is_zero_padded(column.texts):
        return None
    odd: list[str] = []
    for text in column.texts:
        if not is_number(text):
            odd.append(text)
        if len(odd) > (1 - _NEARLY) * len(column) + SEVERAL:
            return None
    if odd and len(odd) <= (1 - _NEARLY) * len(column):
        fits = f"{len(column) - len(odd):,} of {len(column):,} different texts are numbers"
        return f"{fits}, and {with_counts(column, odd)} are not"
    if not odd:
        return f"numbers written in several ways, such as {quote(column.texts[0])}"
    return None
