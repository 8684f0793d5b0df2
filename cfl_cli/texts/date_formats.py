"""The formats in which all dates of a column are written, as a schema's `format` takes them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache, lru_cache

import polars as pl

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.dates import ISO, NUMBERS, days
from cfl_cli.texts.tally import Tally

YEARS = range(1700, 2101)
NEARLY = 0.9  # share of different texts that are dates
TRIED = 12  # texts whose formats are tried on all others
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
    if is_date(tally.texts[0], None) and _are_iso(tally.texts):
        return (None,)
    found = _fitting(_candidates(tally.texts[0]), tally)
    if not found:
        found = _fitting(_own(tally.texts[0]), tally)[:1] or _months(tally)
    texts = pl.Series(tally.texts)
    shown = (_abbreviated(format_, tally) for format_ in found)
    return tuple(one for one in shown if not days(texts, format=one).has_nulls())


def _are_iso(texts: Sequence[str]) -> bool:
    """Return whether all texts are dates by ISO 8601, in years that tables have."""
    found = days(pl.Series(texts), format=None)
    first, after = (date(year, 1, 1).toordinal() - EPOCH for year in (YEARS.start, YEARS.stop))
    return not found.has_nulls() and bool(((found >= first) & (found < after)).all())


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


@dataclass(frozen=True)
class Nearly:
    """Texts nearly all of which are dates, of one format or of two."""

    by_format: dict[str | None, tuple[str, ...]]
    others: tuple[str, ...]


def nearly(tally: Tally) -> Nearly | None:
    """Return how texts are written of which nearly all are dates, None if they are not.

    Dates without signs, such as 20240503 or 05.2024, are rather numbers and do not count.
    """
    one = _commonest(tally.texts)
    if one is None:
        return None
    by_format = dict([one])
    left = _beside(tally.texts, one[1])
    other = _commonest(left)
    if other is not None and 2 * len(other[1]) >= len(left):
        by_format |= dict([other])
        left = _beside(left, other[1])
    few = len(left) <= (1 - NEARLY) * len(tally)
    return Nearly(by_format, tuple(left)) if few else None


def _beside(texts: Sequence[str], dates: Iterable[str]) -> list[str]:
    taken = {*dates}
    return [text for text in texts if text not in taken]


def _commonest(texts: Sequence[str]) -> tuple[str | None, tuple[str, ...]] | None:
    """Return the format that most texts have, and these; None if hardly any is a date."""
    some = [text for text in texts[:: max(1, len(texts) // TRIED)] if _DIGIT.search(text)]
    maybe: dict[str | None, None] = {}
    for text in some:
        iso = [None] if is_date(text, None) else []
        maybe |= dict.fromkeys([*iso, *(one for one in _candidates(text) if one != COMPACT)])
    found = {one: tuple(text for text in texts if is_date(text, one)) for one in maybe}
    best = max(found, key=lambda one: len(found[one]), default=COMPACT)
    return (best, found[best]) if best != COMPACT and len(found[best]) > 1 else None


def shown(format_: str | None) -> str:
    """Return what a schema says of dates in a format."""
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
    """Return whether a text is a date in this format; None: ISO 8601."""
    match = (_ISO if format_ is None else _pattern(format_)).fullmatch(text)
    if match is None:
        return False
    part = {_IN_ISO.get(key, key): figures for key, figures in match.groupdict().items()}
    for key, (least, most) in _BOUNDS.items():
        if part.get(key) and not least <= int(part[key]) <= most:
            return False
    year = int(part["Y"]) if part.get("Y") else 2000 + int(part["y"]) % 100
    of_year = NUMBERS.get(part["B"].casefold().rstrip(".")) if part.get("B") else int(part["m"])
    return year in YEARS and of_year is not None and _exists(year, of_year, int(part.get("d") or 1))


def has_short_year(format_: str | None) -> bool:
    """Return whether the format leaves the century open."""
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


def _abbreviated(format_: str, tally: Tally) -> str:
    """Return the format with %b where months are cut short."""
    if "%B" not in format_:
        return format_
    names = {_pattern(format_).fullmatch(text)["B"].rstrip(".") for text in tally.texts}  # type: ignore[index]  # all texts fit
    return format_ if max(map(len, names)) > 4 else format_.replace("%B", "%b")


@cache
def _pattern(format_: str) -> re.Pattern[str]:
    directives = _COMPACT if format_ == COMPACT else _DIRECTIVES
    pieces = re.split(r"(%[A-Za-z])", format_.replace("%b", "%B"))
    return re.compile("".join(directives.get(one) or re.escape(one) for one in pieces))
