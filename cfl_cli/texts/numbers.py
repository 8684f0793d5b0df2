"""Numbers as people write them: a decimal sign, signs between groups of three digits, a unit.

decimal   what may stand between groups of three digits
None      nothing
"."       a comma, a blank or an apostrophe
","       a point, a blank or an apostrophe
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.texts import BLANKS, LONGEST, Tally, word_list

BLANK = f"[{BLANKS}]"
_SPACE = "[ \u00a0\u2009\u202f]"  # between groups of digits
APOSTROPHE = "['\u2019]"
MINUS = "\u2212"


def numbers(texts: pl.Series, *, decimal: str | None, unit: str | None) -> pl.Series:
    """Return the texts as numbers, null where they are none; a cell may also lack the unit.

    Without a decimal sign and a unit, a number is what polars takes for one. The sign of negative
    numbers may also be that of typesetting.
    """
    bare = texts.str.strip_chars()
    if decimal is not None or unit is not None:
        text = pl.col("text").str.strip_chars(BLANKS).str.replace_all(MINUS, "-", literal=True)
        if sign := (unit or "").strip(BLANKS):
            escaped = pl.escape_regex(sign)
            before = f"^([+-]?){BLANK}*{escaped}{BLANK}*"
            text = (
                pl.when(text.str.contains(before))
                .then(text.str.replace(before, "${1}"))
                .otherwise(text.str.replace(f"{BLANK}*{escaped}$", ""))
            )
        text = text.str.replace(f"^([+-]){BLANK}+", "${1}")
        if decimal is not None:
            other = "," if decimal == "." else "."
            point, group = pl.escape_regex(decimal), pl.escape_regex(other)
            groups = "|".join(f"(?:{sign}[0-9]{{3}})+" for sign in (group, _SPACE, APOSTROPHE))
            digits = f"^[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:{point}[0-9]*)?$"
            text = (
                pl.when(text.str.contains(digits))
                .then(text.str.replace_all(f"{group}|{_SPACE}|{APOSTROPHE}", ""))
                .when(~text.str.contains(other, literal=True))
                .then(text)
                .str.replace(decimal, ".", literal=True)
            )
        bare = bare.to_frame("text").select(text).to_series()
    found = bare.cast(pl.Float64, strict=False)
    if found.null_count() > bare.null_count() and bare.str.contains(MINUS, literal=True).any():
        found = bare.str.replace_all(MINUS, "-", literal=True).cast(pl.Float64, strict=False)
    return found.fill_nan(None).alias(texts.name)


def without_bounds(texts: pl.Series) -> pl.Series:
    """Return the texts without the signs of a bound: 5 for <5, >= 5 and 5+."""
    return texts.str.replace(rf"^{BLANK}*(?:[<>]=?|=[<>]|[≤≥]){BLANK}*", "").str.replace(
        rf"([0-9]){BLANK}*\+{BLANK}*$", "${1}"
    )


def numbers_or_plain(texts: pl.Series, *, decimal: str | None, unit: str | None) -> pl.Series:
    """Return the texts as numbers; beside a decimal comma also those that have a decimal point.

    Spreadsheets and programs write numbers so in columns that also hold words. The point is one
    only if no number of the column has it between thousands: 1.234 follows the decimal sign.
    """
    found = numbers(texts, decimal=decimal, unit=unit)
    if decimal != "," or "." in (unit or ""):
        return found
    with_point = texts.str.contains(".", literal=True).fill_null(value=False)
    plain = with_point & found.is_null()
    if not plain.any() or (with_point & found.is_not_null()).any():
        return found
    return found.zip_with(~plain, numbers(texts, decimal=None, unit=unit))


# How the numbers of a column are written: decimal sign, signs between thousands, a unit.

_BLANK = "[ \u00a0\u2009\u202f]"
_SIGN = "[+\u2212-]?"
_PLAIN = re.compile(rf"{_SIGN}(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


WITH_POINT, WITH_COMMA = (
    re.compile(
        rf"{_SIGN}(?:\d+(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"  # else in groups
        rf"|{_SIGN}(?:[1-9]\d{{0,2}}(?:{mark}\d{{3}})+(?:{decimal}\d+)?)"
        rf"|{_SIGN}(?:[1-9]\d{{0,2}}(?:['’]\d{{3}})+(?:{decimal}\d+)?)"
        rf"|{_SIGN}(?:[1-9]\d{{0,2}}(?:{_BLANK}\d{{3}})+(?:{decimal}\d+)?)",
        re.ASCII,
    )
    for decimal, mark in ((r"\.", ","), (",", r"\."))
)
_UNIT = re.compile(
    rf"(?P<before>[^\d\s.,+'’−-][^\d\s.,+−-]{{0,3}})?{_BLANK}*"
    rf"(?P<number>{_SIGN}[\d.,][\d.,'’ \u00a0\u2009\u202f]*?"
    rf"(?:[eE][+-]?\d+)?){_BLANK}*(?P<behind>[^\d\s.,+'’−-][^\d]{{0,14}})?"
)
LACKING = 0.5  # a unit that fewer cells have is none


@dataclass(frozen=True)
class Reading:
    """One way to read all cells as numbers; decimal None: a point, and no signs of thousands."""

    decimal: str | None = None
    unit: str | None = None
    thousands: bool = False  # do signs stand between groups of three digits, read so?
    lacking: int = 0  # cells without the unit that the others have
    usual: bool = True  # is the unit a known one?
    either: bool = False  # do only blanks or apostrophes stand between digits?


def readings(tally: Tally) -> tuple[Reading, ...]:
    """Return the ways to read all cells as numbers, the likelier first; more than one is a doubt.

    Codes with leading zeros are not numbers. Missing codes are to be taken out before.
    """
    if not len(tally) or is_zero_padded(tally.texts):
        return ()
    found = _signs(tally.texts)
    if found:
        either = not any("," in text or "." in text for text in tally.texts)
        return tuple(
            Reading(decimal, thousands=thousands, either=either and decimal is not None)
            for decimal, thousands in found
        )
    return _with_unit(tally)


def number(text: str, reading: Reading) -> float | None:
    bare, _ = _apart(text, reading.unit) if reading.unit else (text, None)
    pattern = {None: _PLAIN, ".": WITH_POINT, ",": WITH_COMMA}[reading.decimal]
    if bare is None or not pattern.fullmatch(bare):
        return None
    digits = re.sub(r"['’\s]", "", bare).replace(MINUS, "-")
    if reading.decimal == ",":
        digits = digits.replace(".", "").replace(",", ".")
    elif reading.decimal == ".":
        digits = digits.replace(",", "")
    value = float(digits)
    return value if abs(value) < float("inf") else None


def is_number(text: str) -> bool:
    if len(text) > LONGEST:
        return False
    if WITH_POINT.fullmatch(text) or WITH_COMMA.fullmatch(text):
        return True
    bare, unit = _apart(text)
    known = unit is not None and is_unit(unit.rstrip("."))
    return known and bare is not None and bool(_signs([bare]))


def is_zero_padded(texts: Iterable[str]) -> bool:
    """Return whether the texts are codes with leading zeros, such as 007: digits, equally long."""
    first = None
    padded = False
    for text in texts:
        if not (text.isascii() and text.isdigit()) or len(text) != (first := first or len(text)):
            return False
        padded |= text[0] == "0"
    return padded and bool(first and first > 1)


def _signs(texts: Sequence[str]) -> list[tuple[str | None, bool]]:
    if all(map(_PLAIN.fullmatch, texts)):
        pointed = [text for text in texts if "." in text]
        if pointed and all(WITH_COMMA.fullmatch(text) for text in pointed):
            return [(None, False), (",", True)]
        return [(None, False)]
    found: list[tuple[str | None, bool]] = []
    if all(map(WITH_POINT.fullmatch, texts)):
        found.append((".", True))
    if all(map(WITH_COMMA.fullmatch, texts)):
        grouped = any(mark in text for text in texts for mark in ".'’ \u00a0\u2009\u202f")
        found.append((",", grouped))
    if len(found) == 2 and not any("," in text or "." in text for text in texts):
        return found[:1]  # only blanks or apostrophes: both mean the same
    return found


def _with_unit(tally: Tally) -> tuple[Reading, ...]:
    units: dict[str, int] = {}
    bares, lacking = [], 0
    for text, count in tally:
        bare, unit = _apart(text)
        if bare is None:
            return ()
        bares.append(bare)
        if unit:
            units[unit] = units.get(unit, 0) + count
        else:
            lacking += count
    if len(units) != 1 or lacking > LACKING * tally.cells or is_zero_padded(bares):
        return ()
    unit = next(iter(units))
    known = is_unit(unit.rstrip("."))
    if not known and (len(set(bares)) < 3 or len(unit) == 1):
        return ()  # 12b, 14b: numbers of houses
    signs = _signs(bares)
    return tuple(Reading(decimal, unit, groups, lacking, known) for decimal, groups in signs)


def is_unit(text: str) -> bool:
    return text.casefold() in word_list("units", "money") | word_list("units", "other")


def _apart(text: str, unit: str | None = None) -> tuple[str | None, str | None]:
    match = _UNIT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or (match["before"] and match["behind"]):
        return None, None
    before, behind = match["before"], match["behind"]
    if before and before.casefold().rstrip(".") not in word_list("units", "money"):
        return None, None
    seen = before or (behind or "").strip(BLANKS) or None
    if unit and seen not in (unit, None):
        return None, None
    return match["number"].strip(BLANKS), seen


# Numbers that stand for a missing value, such as 999 and −9: far outside the others.

OUTERMOST = 3  # values of each end that are looked at
GAP = 0.5  # of the range of the others
_CELLS = 2  # with a sentinel, at least, unless there is another
PILE = 5  # times as many cells as the other values have by the median
SMALL = -7  # −1 and −2 need a pile
PRICES = 0.3  # more values than this that end in 9: prices
_FEWEST = 3  # other values; fewer have no range to speak of
_Values = npt.NDArray[np.float64]
_Counts = npt.NDArray[np.int64]
_CODES = frozenset(
    sign * float(digit * length) for sign in (1, -1) for digit in "9876" for length in range(2, 7)
) | frozenset(
    [*(sign * n for sign in (1.0, -1.0) for n in (97, 98, 997, 998, 99.9, 999.9, 9997, 9998)),
     -1.0, -2.0, -7.0, -8.0, -9.0]
)  # fmt: skip
MAY_BE_CODES = _CODES | {9.0}  # wherever the others lie


@dataclass(frozen=True)
class Sentinels:
    texts: tuple[str, ...]
    counts: tuple[int, ...]
    low: float
    high: float


def sentinels(tally: Tally, numbers: Sequence[float]) -> Sentinels | None:
    """Return the texts of a numeric column that look like codes of missing values, if any.

    `numbers` are the texts' values. Whether a number is one is seen from its distance only.
    """
    merged: dict[float, int] = {}
    for value, count in zip(numbers, tally.counts, strict=True):
        merged[value] = merged.get(value, 0) + count
    values = np.array(sorted(merged), dtype=np.float64)
    counts = np.array([merged[value] for value in values.tolist()])
    low, high = 0, len(values)
    while True:
        inner = values[low:high], counts[low:high]
        cells = _CELLS if high - low == len(values) else 1  # one is found: another may stand once
        if top := _outside(-inner[0][::-1], inner[1][::-1], cells, upper=True):
            high -= top
        elif bottom := _outside(*inner, cells, upper=False):
            low += bottom
        else:
            break
    flagged = {*values[:low].tolist(), *values[high:].tolist()}
    if not flagged:
        return None
    texts = [text for text, value in zip(tally.texts, numbers, strict=True) if value in flagged]
    counted = dict(tally)
    cells_of = tuple(counted[text] for text in texts)
    return Sentinels(tuple(texts), cells_of, float(values[low]), float(values[high - 1]))


def _outside(values: _Values, counts: _Counts, cells: int, *, upper: bool) -> int:
    sign = -1 if upper else 1
    found = 0
    for several in range(1, OUTERMOST + 1):
        rest = values[several:]
        if len(rest) < _FEWEST or counts[several - 1] < cells:
            break
        value, others = sign * values[several - 1], sign * rest
        ends_scale = value == 9 and others.min() >= 0 and others.max() <= 8
        if not ends_scale and value not in _CODES:
            break
        last = values[several - 1]
        apart = rest[0] - last >= GAP * (rest[-1] - rest[0])
        small = not upper and last > SMALL  # a value that scores have too
        below_zero = not upper and last < 0 <= rest[0]
        pile = counts[several - 1] >= PILE * np.median(counts[several:])
        if (apart and not small) or (below_zero and (pile or not small)):
            found = several
    if not found:
        return 0
    prices = np.mean([f"{value:.10g}".endswith("9") for value in sign * values[found:]])
    return found if prices <= PRICES else 0


# A few numbers so far from all others that they alone decide a column's range.
#
#     rest     from the smallest to the largest of the others
#     wild     the rest is less than a fifth of the range, and the gap on either side at which there
#              are wild numbers is at least twice the rest
#
# At most a thousandth of the cells are wild, or three in a short column. A column in which nine
# tenths of the others hold one number has none: what it says, it says by being another number.

SQUEEZED = 0.2  # of the range: a rest that takes up less is wasted
WILD_GAP = 2.0  # times the rest
_SHARE, FEW, _MANY = 0.001, 3, 100  # of the cells; of cells
WILD_CELLS = 10  # others, at least
_TAIL = 0.05  # of the others at each end, without which they must still differ
_HUGE = 2.0**1000  # differences of larger numbers may be too large


@dataclass(frozen=True)
class Wild:
    low: float
    high: float
    squeezed: float  # what these take up of the range, between 0 and SQUEEZED


def wild(numbers: _Values) -> Wild | None:
    """Return where the others lie if there are wild numbers; all numbers must be finite."""
    n = len(numbers)
    most = min(max(FEW, int(_SHARE * n)), _MANY, n - WILD_CELLS)
    if most < 1:
        return None
    shift = 4 if np.abs(numbers).max() > _HUGE else 0
    numbers = np.ldexp(numbers, -shift)
    tail = int(_TAIL * n)
    places = [*range(most + 1), tail, n - 1 - tail, *range(n - 1 - most, n)]
    ends = np.partition(numbers, sorted({*places}))
    if ends[tail] == ends[n - 1 - tail]:
        return None
    lows, highs = ends[: most + 1], ends[n - 1 - most :][::-1]
    range_ = highs[0] - lows[0]
    rest = highs - lows[:, None]  # by how many are left out below, and above
    cells = np.add.outer(np.arange(most + 1), np.arange(most + 1))
    gaps_below = np.concatenate([[np.inf], np.diff(lows)])[:, None]
    gaps_above = np.concatenate([[np.inf], -np.diff(highs)])
    found = (
        (cells > 0) & (cells <= most) & (rest > 0) & (rest < SQUEEZED * range_)
        & (gaps_below >= WILD_GAP * rest) & (gaps_above >= WILD_GAP * rest)
    )  # fmt: skip
    if not found.any():
        return None
    below, above = np.unravel_index(np.where(found, cells, 0).argmax(), cells.shape)
    share = float(rest[below, above] / range_)
    low, high = np.ldexp([lows[below], highs[above]], shift)
    return Wild(float(low), float(high), share)


def looks_like_number(text: str) -> bool:
    digits = text.strip("+-−%€$£ ").replace(".", "").replace(",", "").replace("'", "")
    return digits.isdecimal()
