"""Dates and times as people write them: days since 1970-01-01, and the place in a cycle.

Moments with a zone are read as UTC, all others as they stand. A cell is a date as a whole or not at
all; the years are 1 to 9999.
"""

import re
from functools import cache
from unicodedata import normalize

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.messages import quote
from cfl_cli.texts.tally import BLANKS

FIRST_DAY, LAST_DAY = -719162, 2932896  # of the years 1 and 9999, counted from 1970
DAY = 86400  # seconds
PER_DAY = {"ms": DAY * 10**3, "us": DAY * 10**6, "ns": DAY * 10**9}
PIVOT = 69  # two-digit years from here on are those of the 20th century, as POSIX has it

ISO = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    r"(?: ?(?P<zone>Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?))?)?$"
)
WORD = r"[\p{L}\p{M}]+\.?"
DIRECTIVES = {
    "Y": "(?P<year>[0-9]{4})",
    "y": "(?P<short>[0-9]{2})",
    "m": "(?P<month>[0-9]{1,2})",
    "B": f"(?P<name>{WORD})",
    "b": f"(?P<name>{WORD})",
    "d": "(?P<day>[0-9]{1,2})",
    "A": WORD,
    "a": WORD,
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
DIGITS = frozenset(f"%{sign}" for sign in "YymdHIMSf")  # beside these, two digits are two
SHORT_FOR = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "e": "%d", "h": "%b"}
MONTHS = (  # en, de, fr, es, it, pt, nl
    "january jan januar jänner jän janvier janv enero ene gennaio gen janeiro januari",
    "february feb februar februari febr février févr fév fevrier fev febrero febbraio fevereiro",
    "march mar märz mär maerz mrz mars marzo março marco maart mrt",
    "april apr avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "june jun juni juin junio giugno giu junho",
    "july jul juli juillet juil julio luglio lug julho",
    "august aug août aout aoû agosto ago augustus",
    "september sep sept septembre septiembre setiembre settembre set setembro",
    "october oct oktober okt octobre octubre ottobre ott outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc decembre diciembre dic dicembre dezembro",
)
MORE_MONTHS = (  # ro, fi, cs, sk, hu, ru, uk, tr, el, pl and Scandinavian, also as dates have them
    (
        "ianuarie ian tammikuu tammikuuta leden ledna január januára января январь янв січня "
        "січень ocak ιανουαρίου ιανουάριος ιαν styczeń stycznia sty"
    ),
    (
        "februarie helmikuu helmikuuta únor února február februára февраля февраль фев февр "
        "лютого лютий şubat φεβρουαρίου φεβρουάριος φεβ luty lutego lut"
    ),
    (
        "martie maaliskuu maaliskuuta březen března marec marca március марта март мар березня "
        "березень mart μαρτίου μάρτιος μαρ marts marzec"
    ),
    (
        "aprilie huhtikuu huhtikuuta duben dubna apríl apríla április апреля апрель апр квітня "
        "квітень nisan απριλίου απρίλιος απρ kwiecień kwietnia kwi"
    ),
    (
        "maj toukokuu toukokuuta květen května máj mája május мая май травня травень mayıs μαΐου "
        "μάιος maja"
    ),
    (
        "iunie iun kesäkuu kesäkuuta červen června jún júna június июня июнь июн червня червень "
        "haziran ιουνίου ιούνιος ιουν czerwiec czerwca cze"
    ),
    (
        "iulie iul heinäkuu heinäkuuta červenec července júl júla július июля июль июл липня "
        "липень temmuz ιουλίου ιούλιος ιουλ lipiec lipca lip"
    ),
    (
        "augusti elokuu elokuuta srpen srpna augusta augusztus августа август авг серпня серпень "
        "ağustos αυγούστου αύγουστος αυγ sierpień sierpnia sie"
    ),
    (
        "septembrie syyskuu syyskuuta září septembra szeptember szept сентября сентябрь сен сент "
        "вересня вересень eylül σεπτεμβρίου σεπτέμβριος σεπ wrzesień września wrz"
    ),
    (
        "octombrie lokakuu lokakuuta říjen října október októbra октября октябрь окт жовтня "
        "жовтень ekim οκτωβρίου οκτώβριος οκτ październik października paź"
    ),
    (
        "noiembrie noi marraskuu marraskuuta listopad listopadu novembra ноября ноябрь ноя нояб "
        "листопада kasım νοεμβρίου νοέμβριος νοε listopada lis"
    ),
    (
        "decembrie joulukuu joulukuuta prosinec prosince decembra декабря декабрь дек грудня "
        "грудень aralık δεκεμβρίου δεκέμβριος δεκ grudzień grudnia gru"
    ),
)
NUMBERS = {
    name: number
    for lines in (MONTHS, MORE_MONTHS)
    for number, names in enumerate(lines, 1)
    for name in names.split()
}
HOW = "such as %d.%m.%Y"


class FormatError(ValueError):
    """A format that no date can be read by; its text says why."""


def days(column: pl.Series, *, format: str | None) -> pl.Series:  # noqa: A002 — as the schema calls it
    """Return days since 1970-01-01, with the time as a part of one; null where it is no date.

    Columns that hold dates or moments ignore the format; without one, texts are ISO 8601.
    """
    kind = column.dtype
    if kind == pl.Date:
        found = column.cast(pl.Float64)
    elif isinstance(kind, pl.Datetime):
        found = _from_parts(column.to_physical(), PER_DAY[kind.time_unit])
    else:
        texts = column.cast(pl.String).str.strip_chars(BLANKS)
        found = _read(texts, ISO if format is None else pattern(format))
    in_calendar = (found >= FIRST_DAY) & (found < LAST_DAY + 1)
    return found.set(~in_calendar, None).alias(column.name)


def _from_parts(units: pl.Series, per_day: int) -> pl.Series:
    """Return days with their part; whatever the unit, the same moment is the same number."""
    return (units // per_day).cast(pl.Float64) + (units % per_day).cast(pl.Float64) / per_day


@cache
def pattern(format: str) -> str:  # noqa: A002 — as the schema calls it
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
        written.append(text.replace("{1,2}", "{2}") if near & DIGITS else text)
        groups += re.findall(r"\?P<(\w+)>", text)
    _check(groups)
    return f"^{''.join(written)}$"


def _check(groups: list[str]) -> None:
    """Raise unless a format says year, month and day, or just a month, and nothing twice."""
    several = {group for group in groups if groups.count(group) > 1}
    if several or {"year", "short"} <= {*groups} or {"month", "name"} <= {*groups}:
        raise FormatError(f"says the same part of a date twice: leave one out, {HOW}")
    if {"hour", "half"} <= {*groups}:
        raise FormatError("has %H and %I: leave one out")
    parts = {"a year (%Y)": {"year", "short"}, "a month (%m or %B)": {"month", "name"}}
    if {*groups} - {"year", "short", "month", "name"}:
        parts["a day (%d)"] = {"day"}  # a month by itself is its first day
    for what, names in parts.items():
        if not names & {*groups}:
            raise FormatError(f"lacks {what}: a date has year, month and day, {HOW}")
    if ("half" in groups) != ("noon" in groups):
        raise FormatError("has only one of %I and %p: hours of a half day need both")


def _read(texts: pl.Series, regex: str) -> pl.Series:
    """Return the days of texts that a regular expression with named groups fits."""
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
    month = _month(parts["name"]) if "name" in parts else whole("month", 0)
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
        offset = _offset(parts["zone"])
        fits &= np.abs(offset) < DAY
        seconds = seconds - offset
    time = pl.Series(seconds * 10**9 + nanoseconds, dtype=pl.Int64)
    number = pl.Series(dates.astype(np.int64), dtype=pl.Int64)
    found_days = number + time // PER_DAY["ns"]
    found_time = (time % PER_DAY["ns"]).cast(pl.Float64) / PER_DAY["ns"]
    return (found_days.cast(pl.Float64) + found_time).set(~pl.Series(fits), None)


def _month(names: pl.Series) -> Ints:
    """Return the numbers of months by their names, 0 where it is none."""
    different = names.drop_nulls().unique().to_list()
    folded = [normalize("NFC", name).casefold().rstrip(".") for name in different]
    numbers = [NUMBERS.get(name, 0) for name in folded]
    found = names.replace_strict(different, numbers, default=0, return_dtype=pl.Int64)
    return np.asarray(found.fill_null(0).to_numpy())


def _offset(zones: pl.Series) -> Ints:
    """Return the seconds that zones lie ahead of UTC; a day where minutes are none."""
    parts = zones.str.extract_groups(r"^([+-])([0-9]{2}):?([0-9]{2})?$").struct.unnest()
    sign, hours, minutes = parts
    whole = [part.cast(pl.Int64, strict=False).fill_null(0).to_numpy() for part in (hours, minutes)]
    seconds = np.where(whole[1] < 60, (whole[0] * 60 + whole[1]) * 60, DAY)
    return np.where((sign == "-").fill_null(value=False).to_numpy(), -seconds, seconds)


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
