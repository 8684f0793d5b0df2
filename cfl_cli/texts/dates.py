"""Dates and times as people write them: days since 1970-01-01, and the place in a cycle.

Moments with a zone are read as UTC, all others as they stand. A cell is a date as a whole or not at
all; the years are 1 to 9999.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache, lru_cache
from unicodedata import normalize

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.messages import quote
from cfl_cli.texts import BLANKS, Tally, word_lists

FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, counted from 1970
_DAY = 86400  # seconds
PER_DAY = {"ms": _DAY * 10**3, "us": _DAY * 10**6, "ns": _DAY * 10**9}
PIVOT = 69  # two-digit years from here on are those of the 20th century, as POSIX has it

ISO = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?: ?(?P<zone>Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
)
_WORD = r"[\p{L}\p{M}]+\.?"
DIRECTIVES = {
    "Y": "(?P<year>[0-9]{4})",
    "y": "(?P<short>[0-9]{2})",
    "m": "(?P<month>[0-9]{1,2})",
    "B": f"(?P<name>{_WORD})",
    "b": f"(?P<name>{_WORD})",
    "d": "(?P<day>[0-9]{1,2})",
    "A": _WORD,
    "a": _WORD,
    "H": "(?P<hour>[0-9]{1,2})",
    "I": "(?P<half>[0-9]{1,2})",
    "p": r"(?P<noon>[AaPp]\.?[Mm]\.?)",
    "M": "(?P<minute>[0-9]{1,2})",
    "S": "(?P<second>[0-9]{1,2})",
    "f": "(?P<fraction>[0-9]{1,9})",
    "z": "(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)",
    "Z": "(?P<zone>Z|UTC|GMT)",
    "%": "%",
}
_DIGITS = frozenset(f"%{sign}" for sign in "YymdHIMSf")  # beside these, two digits are two
SHORT_FOR = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "e": "%d", "h": "%b"}
_HOW = "such as %d.%m.%Y"


class FormatError(ValueError):
    """A format that no date can be read by; its text says why."""


def days(column: pl.Series, *, format: str | None) -> pl.Series:
    """Return days since 1970-01-01, with the time as a part of one; null where it is no date.

    Columns that hold dates or moments ignore the format; without one, texts are ISO 8601.
    """
    kind = column.dtype
    if kind == pl.Date:
        found = column.cast(pl.Float64)
    elif isinstance(kind, pl.Datetime):
        units, per_day = column.to_physical(), PER_DAY[kind.time_unit]
        found = (units // per_day).cast(pl.Float64) + (units % per_day).cast(pl.Float64) / per_day
    else:
        texts = column.cast(pl.String).str.strip_chars(BLANKS)
        found = _read(texts, ISO if format is None else pattern(format))
    in_calendar = (found >= FIRST_DAY) & (found < LAST_DAY + 1)
    return found.set(~in_calendar, None).alias(column.name)


@cache
def pattern(format: str) -> str:
    """Return the regular expression of a format, or raise FormatError with a reason."""
    bare = format.replace("%-", "%").strip(BLANKS)
    spelled = re.sub("%(.)", lambda found: SHORT_FOR.get(found[1], found[0]), bare)
    pieces = re.findall("%.?|[^%]+", spelled, re.DOTALL)
    written, groups = [], []
    for place, piece in enumerate(pieces):
        if not piece.startswith("%"):
            blanks = re.split(f"[{BLANKS}]+", piece)
            written.append(f"[{BLANKS}]+".join(map(pl.escape_regex, blanks)))
            continue
        if piece[1:] not in DIRECTIVES:
            known = " ".join(f"%{sign}" for sign in DIRECTIVES)
            raise FormatError(f"has an unknown directive {quote(piece)} ({known})")
        text = DIRECTIVES[piece[1:]]
        near = {*pieces[max(place - 1, 0) : place], *pieces[place + 1 : place + 2]}
        written.append(text.replace("{1,2}", "{2}") if near & _DIGITS else text)
        groups += re.findall(r"\?P<(\w+)>", text)
    several = {group for group in groups if groups.count(group) > 1}
    if several or {"year", "short"} <= {*groups} or {"month", "name"} <= {*groups}:
        raise FormatError(f"has the same part of a date twice: leave one out, {_HOW}")
    if {"hour", "half"} <= {*groups}:
        raise FormatError("has %H and %I: leave one out")
    parts = {"a year (%Y)": {"year", "short"}, "a month (%m or %B)": {"month", "name"}}
    if {*groups} - {"year", "short", "month", "name"}:
        parts["a day (%d)"] = {"day"}  # a month by itself is its first day
    for what, names in parts.items():
        if not names & {*groups}:
            raise FormatError(f"lacks {what}: a date has year, month and day, {_HOW}")
    if ("half" in groups) != ("noon" in groups):
        raise FormatError("has only one of %I and %p: 12-hour times need both")
    return f"^{''.join(written)}$"


def _read(texts: pl.Series, regex: str) -> pl.Series:
    found = texts.str.extract_groups(regex).struct.unnest()
    parts = {column.name: column for column in found}
    fits = texts.str.contains(regex).fill_null(value=False).to_numpy()

    def whole(name: str, default: int) -> Ints:
        if name not in parts:
            return np.full(len(texts), default)
        return parts[name].cast(pl.Int64, strict=False).fill_null(default).to_numpy()

    if "short" in parts:
        short = whole("short", 0)
        year = short + np.where(short < PIVOT, 2000, 1900)
    else:
        year = whole("year", 0)
    month = whole("month", 0)
    if "name" in parts:
        names = parts["name"].drop_nulls().unique().to_list()
        folded = [normalize("NFC", name).casefold().rstrip(".") for name in names]
        numbers = [_months_by_name().get(name, 0) for name in folded]
        named = parts["name"].replace_strict(names, numbers, default=0, return_dtype=pl.Int64)
        month = named.fill_null(0).to_numpy()
    day, hour = whole("day", 0 if "day" in parts else 1), whole("hour", 0)
    if "half" in parts:
        half, after = whole("half", 0), parts["noon"].str.contains("^[Pp]").fill_null(value=False)
        fits &= (half >= 1) & (half <= 12)
        hour = half % 12 + 12 * after.to_numpy()
    minute, second = whole("minute", 0), whole("second", 0)
    fits &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    fits &= (hour < 24) & (minute < 60) & (second < 60)
    months = np.where(fits, (year - 1970) * 12 + month - 1, 0).astype("M8[M]")
    dates = months.astype("M8[D]") + (day - 1)
    fits &= dates.astype("M8[M]") == months
    nanoseconds = np.zeros(len(texts), dtype=np.int64)
    if "fraction" in parts:
        digits = parts["fraction"].fill_null("0").str.pad_end(9, "0")
        nanoseconds = digits.cast(pl.Int64).to_numpy()
    seconds = (hour * 60 + minute) * 60 + second
    if "zone" in parts:
        zone = parts["zone"].str.extract_groups(r"^([+-])([0-9]{2}):?([0-9]{2})?$").struct.unnest()
        sign, *figures = zone
        wholes = (part.cast(pl.Int64, strict=False).fill_null(0) for part in figures)
        hours, minutes = (part.to_numpy() for part in wholes)
        offset = np.where(minutes < 60, (hours * 60 + minutes) * 60, _DAY)
        offset = np.where((sign == "-").fill_null(value=False).to_numpy(), -offset, offset)
        fits &= np.abs(offset) < _DAY
        seconds = seconds - offset
    time = pl.Series(seconds * 10**9 + nanoseconds, dtype=pl.Int64)
    number = pl.Series(dates.astype(np.int64), dtype=pl.Int64)
    found_days = number + time // PER_DAY["ns"]
    found_time = (time % PER_DAY["ns"]).cast(pl.Float64) / PER_DAY["ns"]
    return (found_days.cast(pl.Float64) + found_time).set(~pl.Series(fits), None)


@cache
def _months_by_name() -> dict[str, int]:
    lines = word_lists("months")["months"]
    return {name: number for number, line in enumerate(lines, 1) for name in line.split()}


def cycle_features(days: Floats, cycle: str) -> Floats:
    """Return the place of days in a cycle, n × 2: a point on a circle of diameter 1.

    Opposite places lie 1 apart. The circle lies within 0 to 1, so its middle is ½, ½.
    """
    whole = np.floor(days)
    if cycle == "day":
        share = days - whole
    elif cycle == "week":
        share = ((days + 3) % 7) / 7  # 1970 began on a Thursday
    else:
        years = whole.astype(np.int64).astype("M8[D]").astype("M8[Y]")
        first, after = ((years + one).astype("M8[D]").astype(np.int64) for one in (0, 1))
        share = (days - first) / (after - first)
    angle = 2 * np.pi * share
    return np.column_stack([(1 + np.cos(angle)) / 2, (1 + np.sin(angle)) / 2])


# The formats in which all dates of a column are written, as a schema's `format` takes them.

_YEARS = range(1700, 2101)
_NEARLY = 0.9  # share of different texts that are dates
_TRIED = 12  # texts whose formats are tried on all others
EPOCH = date(1970, 1, 1).toordinal()
_ISO = re.compile(ISO)
_IN_ISO = {"year": "Y", "month": "m", "day": "d", "hour": "H", "minute": "M", "second": "S"}
COMPACT = "%Y%m%d"
_DATES = (
    "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d",
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d %m %Y",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y",
    "%d. %B %Y", "%d %B %Y", "%d-%B-%Y", "%d.%B.%Y", "%B %d, %Y", "%B %d %Y", "%Y %B %d",
    "%d de %B de %Y", "%d. %B %y", "%d %B %y", "%d-%B-%y", "%B %d, %y", COMPACT,
)  # fmt: skip
_MONTHS = (
    "%Y-%m", "%m/%Y", "%m.%Y", "%m-%Y", "%Y/%m", "%Y.%m", "%B %Y", "%B-%Y", "%Y %B", "%B-%y",
    "%Y年%m月", "%Y년 %m월", "%Y年 %m月",
)  # fmt: skip
_TIMES = (
    "", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p",
    ", %H:%M", ", %H:%M:%S", " %H.%M",
)  # fmt: skip
_DIRECTIVES = {
    "%Y": r"(?P<Y>[0-9]{4})",
    "%y": r"(?P<y>[0-9]{2})",
    "%m": r"(?P<m>[0-9]{1,2})",
    "%d": r"(?P<d>[0-9]{1,2})",
    "%B": r"(?P<B>[^\W\d_]{3,}\.?)",
    "%H": r"(?P<H>[0-9]{1,2})",
    "%I": r"(?P<I>[0-9]{1,2})",
    "%M": r"(?P<M>[0-9]{2})",
    "%S": r"(?P<S>[0-9]{2})",
    "%p": r"(?P<p>[AaPp]\.?[Mm]\.?)",
}
_SIGN = r"[^\w%]{1,3}|[年月년월] ?"
_OWN = re.compile(
    rf"(?P<one>[0-9]{{1,4}})(?P<first>{_SIGN})(?P<two>[0-9]{{1,2}})(?P<second>{_SIGN})(?P<three>[0-9]{{1,4}})"
    r"(?P<rest>[日일г]?|[.]| ?(?:г|р|г\.|р\.)|[^0-9%]{0,2}[0-9]{1,2}:.*)"
)
_COMPACT = {**_DIRECTIVES, "%m": r"(?P<m>[0-9]{2})", "%d": r"(?P<d>[0-9]{2})"}
_DIGIT = re.compile(r"\d")
_BOUNDS = {"H": (0, 23), "I": (1, 12), "M": (0, 59), "S": (0, 59)}


def formats(tally: Tally) -> tuple[str | None, ...]:
    """Return the formats that explain all cells, None for ISO 8601; more than one is a doubt.

    Of two, the first has the day first. Missing codes are to be taken out before.
    """
    if not len(tally):
        return ()
    if is_date(tally.texts[0], None):
        found = days(pl.Series(tally.texts), format=None)
        years = (_YEARS.start, _YEARS.stop)
        first, after = (date(year, 1, 1).toordinal() - EPOCH for year in years)
        if not found.has_nulls() and ((found >= first) & (found < after)).all():
            return (None,)
    fitting = _fitting(_candidates(tally.texts[0]), tally)
    if not fitting:
        fitting = _fitting(_own(tally.texts[0]), tally)[:1] or _months(tally)
    texts, shown = pl.Series(tally.texts), []
    for one in fitting:
        format_ = one
        if "%B" in format_:
            names = (_pattern(format_).fullmatch(text)["B"] for text in tally.texts)  # type: ignore[index]  # all texts fit
            if max(len(name.rstrip(".")) for name in names) <= 4:
                format_ = format_.replace("%B", "%b")
        if not days(texts, format=format_).has_nulls():
            shown.append(format_)
    return tuple(shown)


def _fitting(formats: Iterable[str], tally: Tally) -> tuple[str, ...]:
    return tuple(one for one in formats if all(is_date(text, one) for text in tally.texts))


def _own(text: str) -> Iterator[str]:
    """Yield formats with the signs of a text, which may differ: 03/05-2024, 2024. 5. 3.

    The year has four digits. Of two orders, the day comes first.
    """
    match = _OWN.fullmatch(text)
    if match is None:
        return
    lengths = [len(match[part]) == 4 for part in ("one", "three")]
    if sum(lengths) != 1:
        return
    for order in ("Y m d",) if lengths[0] else ("d m Y", "m d Y"):
        one, two, three = (f"%{part}" for part in order.split())
        of_day = f"{one}{match['first']}{two}{match['second']}{three}"
        yield of_day + match["rest"]
        for sign in ("", " ", ", ", "T", ". "):
            yield from (of_day + sign + of_time for of_time in ("%H:%M", "%H:%M:%S"))


def _months(tally: Tally) -> tuple[str, ...]:
    """Return the format of months with a year, if all cells are that: 05/2024.

    2009-10, 2010-11 are rather years that begin in autumn.
    """
    found = _fitting(_MONTHS, tally)[:1]
    if found == ("%Y-%m",) and all(
        (int(text[:4]) + 1) % 100 == int(text[5:]) for text in tally.texts
    ):
        return ()
    return found


def nearly_dates(tally: Tally) -> tuple[dict[str | None, tuple[str, ...]], tuple[str, ...]] | None:
    """Return the dates by format, of one or two, and the other texts; None: most are no dates.

    Dates without signs, such as 20240503 or 05.2024, are rather numbers and do not count.
    """
    one = _commonest(tally.texts)
    if one is None:
        return None
    by_format = dict([one])
    of_one = {*one[1]}
    left = [text for text in tally.texts if text not in of_one]
    other = _commonest(left)
    if other is not None and 2 * len(other[1]) >= len(left):
        by_format |= dict([other])
        of_other = {*other[1]}
        left = [text for text in left if text not in of_other]
    few = len(left) <= (1 - _NEARLY) * len(tally)
    return (by_format, tuple(left)) if few else None


def _commonest(texts: Sequence[str]) -> tuple[str | None, tuple[str, ...]] | None:
    some = [text for text in texts[:: max(1, len(texts) // _TRIED)] if _DIGIT.search(text)]
    maybe: dict[str | None, None] = {}
    for text in some:
        iso = [None] if is_date(text, None) else []
        maybe |= dict.fromkeys([*iso, *(one for one in _candidates(text) if one != COMPACT)])
    found = {one: tuple(text for text in texts if is_date(text, one)) for one in maybe}
    best = max(found, key=lambda one: len(found[one]), default=COMPACT)
    return (best, found[best]) if best != COMPACT and len(found[best]) > 1 else None


def as_entry(format_: str | None) -> str:
    return "type: date" if format_ is None else f'type: date, format: "{format_}"'


def two_orders(tally: Tally) -> tuple[int, int] | None:
    """Return rows with the day and the month first, if the cells are dates of both orders."""
    for format_ in [f for text in tally.texts[:1] for f in _candidates(text, valid=False)]:
        if "%m/%d" not in format_ and "%m-%d-" not in format_:
            continue
        other = format_.replace("%m", "%x").replace("%d", "%m").replace("%x", "%d")
        rows: dict[str, int] = {}
        for text, row in zip(tally.texts, tally.rows, strict=True):
            month_first, day_first = is_date(text, format_), is_date(text, other)
            if not (month_first or day_first):
                break
            if month_first != day_first:
                rows.setdefault("month" if month_first else "day", row)
        else:
            if len(rows) == 2:
                return rows["day"], rows["month"]
    return None


def is_date(text: str, format_: str | None) -> bool:
    match = (_ISO if format_ is None else _pattern(format_)).fullmatch(text)
    if match is None:
        return False
    part = {_IN_ISO.get(key, key): figures for key, figures in match.groupdict().items()}
    for key, (least, most) in _BOUNDS.items():
        if part.get(key) and not least <= int(part[key]) <= most:
            return False
    year = int(part["Y"]) if part.get("Y") else 2000 + int(part["y"]) % 100
    named = part.get("B")
    of_year = _months_by_name().get(named.casefold().rstrip(".")) if named else int(part["m"])
    of_day = int(part.get("d") or 1)
    return year in _YEARS and of_year is not None and _exists(year, of_year, of_day)


def has_short_year(format_: str | None) -> bool:
    return format_ is not None and "%y" in format_


@lru_cache(maxsize=2**16)
def _exists(year: int, of_year: int, day: int) -> bool:
    try:
        date(year, of_year, day)
    except ValueError:
        return False
    return True


def _candidates(text: str, *, valid: bool = True) -> Iterator[str]:
    for of_day in _DATES:
        for of_time in _TIMES if of_day != COMPACT else ("",):
            format_ = of_day + of_time
            if is_date(text, format_) if valid else _pattern(format_).fullmatch(text):
                yield format_


@cache
def _pattern(format_: str) -> re.Pattern[str]:
    directives = _COMPACT if format_ == COMPACT else _DIRECTIVES
    pieces = re.split(r"(%[A-Za-z])", format_.replace("%b", "%B"))
    return re.compile("".join(directives.get(one) or re.escape(one) for one in pieces))
