"""How the numbers of a column are written: decimal sign, signs between thousands, a unit."""

import re
from collections.abc import Iterable, Sequence

from cfl_cli.core.quick import dataclass
from cfl_cli.texts.numbers import MINUS
from cfl_cli.texts.tally import BLANKS, LONGEST, Tally
from cfl_cli.texts.words import words

_BLANK = "[ \u00a0\u2009\u202f]"
_SIGN = "[+\u2212-]?"
PLAIN = re.compile(rf"{_SIGN}(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def _grouped(thousands: str, decimal: str) -> str:
    return rf"{_SIGN}(?:[1-9]\d{{0,2}}(?:{thousands}\d{{3}})+(?:{decimal}\d+)?)"


def _written(decimal: str, marks: Sequence[str]) -> re.Pattern[str]:
    ungrouped = rf"{_SIGN}(?:\d+(?:{decimal}\d*)?|{decimal}\d+)(?:[eE][+-]?\d+)?"
    return re.compile("|".join([ungrouped, *(_grouped(mark, decimal) for mark in marks)]), re.ASCII)


WITH_POINT = _written(r"\.", (",", "['’]", _BLANK))
WITH_COMMA = _written(",", (r"\.", "['’]", _BLANK))
_UNIT = re.compile(
    rf"(?P<before>[^\d\s.,+'’−-][^\d\s.,+−-]{{0,3}})?{_BLANK}*"
    rf"(?P<number>{_SIGN}[\d.,][\d.,'’ \u00a0\u2009\u202f]*?"
    rf"(?:[eE][+-]?\d+)?){_BLANK}*(?P<behind>[^\d\s.,+'’−-][^\d]{{0,14}})?"
)
MONEY = frozenset(words("€ $ £ ¥ ₽ ₹ ₺ ₩ zł kr kč ft chf eur usd gbp jpy pln sek nok dkk r$ fr rs"))
UNITS = MONEY | frozenset(
    words("""% ‰ kg g mg µg μg ug ng t lb lbs oz st km m cm mm µm nm mi ft in yd l ml dl cl µl hl
    h hr hrs min mins s sec ms d days day tage tag jours días años ans jahre jahr years year yrs yr
    months monate mois wochen weeks std stunden hours stk stück pcs °c °f °  k kwh mwh w kw mw v a
    ma hz khz mhz ghz kb mb gb tb kcal cal kj j pa hpa kpa bar mbar psi mmhg bpm /min km/h mph m/s
    m² m2 m³ m3 km² ha qm sqm mmol/l mg/dl g/l g/dl µg/l iu ie u/l ppm ppb db x pt px pts punkte
    points dni lat godz""")
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
    """Return the number that a text is by a reading, None if it is not one."""
    bare, _ = _apart(text, reading.unit) if reading.unit else (text, None)
    pattern = {None: PLAIN, ".": WITH_POINT, ",": WITH_COMMA}[reading.decimal]
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
    """Return whether a text is a number by any decimal sign, perhaps with a known unit."""
    if len(text) > LONGEST:
        return False
    if WITH_POINT.fullmatch(text) or WITH_COMMA.fullmatch(text):
        return True
    bare, unit = _apart(text)
    known = unit is not None and unit.casefold().rstrip(".") in UNITS
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
    """Return the decimal signs by which all texts are numbers, and whether thousands are marked."""
    if all(map(PLAIN.fullmatch, texts)):
        pointed = [text for text in texts if "." in text]
        if pointed and all(WITH_COMMA.fullmatch(text) for text in pointed):
            return [(None, False), (",", True)]
        return [(None, False)]
    found: list[tuple[str | None, bool]] = []
    if all(map(WITH_POINT.fullmatch, texts)):
        found.append((".", True))
    if all(map(WITH_COMMA.fullmatch, texts)):
        found.append(
            (",", any(mark in text for text in texts for mark in ".'’ \u00a0\u2009\u202f"))
        )
    if len(found) == 2 and not any("," in text or "." in text for text in texts):
        return found[:1]  # only blanks or apostrophes: both mean the same
    return found


def _with_unit(tally: Tally) -> tuple[Reading, ...]:
    """Return the readings of numbers that share a unit."""
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
    known = unit.casefold().rstrip(".") in UNITS
    if not known and (len(set(bares)) < 3 or len(unit) == 1):
        return ()  # 12b, 14b: numbers of houses
    return tuple(
        Reading(decimal, unit, thousands, lacking, known) for decimal, thousands in _signs(bares)
    )


def _apart(text: str, unit: str | None = None) -> tuple[str | None, str | None]:
    """Return the number in a text, and what stands before or behind it; None: there is none."""
    match = _UNIT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or (match["before"] and match["behind"]):
        return None, None
    before, behind = match["before"], match["behind"]
    if before and before.casefold().rstrip(".") not in MONEY:
        return None, None
    seen = before or (behind or "").strip(BLANKS) or None
    if unit and seen not in (unit, None):
        return None, None
    return match["number"].strip(BLANKS), seen
