"""Why cells are not the numbers or dates of their column: other signs, units, formats, or words."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from cfl_cli.core.messages import quote
from cfl_cli.schema.model import Schema
from cfl_cli.steps.causes import codes, missing, pasteable, patched, take
from cfl_cli.steps.cells import Cells
from cfl_cli.steps.findings import Cause
from cfl_cli.steps.type_causes import misfits
from cfl_cli.texts import date_formats, missing_codes
from cfl_cli.texts.bands import bound
from cfl_cli.texts.dates import days
from cfl_cli.texts.number_readings import UNITS
from cfl_cli.texts.numbers import numbers, numbers_or_plain
from cfl_cli.texts.tally import BLANKS, LONGEST, Tally

_UNIT = re.compile(
    r"(?P<before>[^\d\s.,+<>≤≥−-][^\d\s]{0,4})?\s*[+−-]?\d[\d.,'’\s]*"
    r"(?P<behind>[^\d\s.,+<>−-]\D{0,14})?"
)
ENOUGH = 3  # different texts that show a unit which is not a known one


def in_numbers(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of a numeric column's wrong cells."""
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    if (found := _decimal(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    yield from codes(left, name, schema, missing_codes.is_code)
    bounds = [text for text in left if bound(text.strip(BLANKS))]
    if bounds:
        yield Cause(
            "bound",
            "are bounds, not numbers",
            "make it `type: ordered`",
            "write numbers instead",
            texts=bounds,
        )
        take(left, bounds)
    if (found := _unit(left, right, name, schema)) is not None:
        yield found
        take(left, found)
    read = numbers(_series(left), decimal=schema.decimal_of(name), unit=schema.ordinary[name].unit)
    endless = _series(left).filter(read.is_infinite().fill_null(value=False)).to_list()
    if endless:
        yield replace(
            missing(endless, name, schema),
            key="not-finite",
            what="are not finite",
            correct="correct them",
        )
        take(left, endless)
    if left:
        yield _dates(left, right, name) or misfits(
            Cause("not-a-number", "are not numbers"), left, cells, schema
        )


def _dates(left: Iterable[str], right: Sequence[str], name: str) -> Cause | None:
    """Return that cells are dates in a column that holds no number, if they are."""
    formats = [] if right else date_formats.formats(_tally(left))
    if not formats:
        return None
    written = "" if formats[0] is None else f", format: {pasteable(formats[0])}"
    other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
    patch = patched(name, decimal=None, unit=None, type="date", format=formats[0])
    return Cause("not-a-number", "are dates", f"set type: date{written}{other}", patch=patch)


def in_dates(wrong: Sequence[str], cells: Cells, schema: Schema) -> Iterator[Cause]:
    """Yield the causes of wrong cells in a column of dates."""
    name, left = cells.name, dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    yield from codes(left, name, schema, missing_codes.is_code)
    if not left:
        return
    everything = [*left, *right]
    formats = date_formats.formats(_tally(everything))
    if formats and days(_series(everything), format=formats[0]).is_not_null().all():
        shown = (
            "leave out `format`" if formats[0] is None else f"set format: {pasteable(formats[0])}"
        )
        other = f" (or {pasteable(formats[1])})" if len(formats) > 1 else ""
        patch = patched(name, format=formats[0])
        yield Cause("not-a-date", "are dates in another format", f"{shown}{other}", patch=patch)
    elif date_formats.two_orders(_tally(everything)) is not None:
        what = "have day and month the other way round than others"
        yield Cause("date-order", what, correct="write all in one order")
    elif date_formats.formats(_tally(left)):
        what = "are dates, but not written as the schema says"
        yield Cause("not-a-date", what, correct="write them as the others are")
    else:
        form = "ISO 8601, such as 2024-03-01" if cells.format is None else cells.format
        yield misfits(Cause("not-a-date", f"are not dates ({form})"), left, cells, schema)


def _decimal(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    """Return that cells are numbers with another decimal sign, if any are."""
    now, unit = schema.decimal_of(name), schema.ordinary[name].unit
    wrong = [text for text in left if any(char.isdigit() for char in text)]
    trials = []
    for sign in (",", "."):
        fits = [] if sign == now else _as_numbers(wrong, sign, unit)
        if fits:
            harmless = _stay(right, sign, unit, name, schema, evident=_is_evident(fits))
            trials.append((harmless, len(fits), sign, fits))
    if not trials:
        return None
    harmless, _, sign, fits = max(trials, key=lambda trial: trial[:2])
    if sign == "," and any("," in text for text in fits):
        what = "are numbers with a decimal comma"
    elif sign == "." and now == ",":
        what = "are numbers with a decimal point"
    else:
        what = "are numbers with signs between thousands"
    if not harmless:
        point = "comma" if now == "," else "point"
        few = f"write them with a decimal {point}"
        correct = few if len(fits) <= len(right) else "write all numbers with one decimal sign"
        return Cause("decimal", what, correct=correct, texts=fits)
    change = f'set decimal: "{sign}"'
    alike = len(trials) > 1 and trials[0][0] == trials[1][0] and trials[0][3] == trials[1][3]
    if alike and any("," in text for text in fits):
        change += ' (or decimal: ".", if it separates thousands)'
    return Cause("decimal", what, change, patch=patched(name, decimal=sign), texts=fits)


def _unit(left: Iterable[str], right: Sequence[str], name: str, schema: Schema) -> Cause | None:
    """Return that cells are numbers with a unit, if any are."""
    found: dict[str, list[str]] = {}
    for text in left:
        match = _UNIT.fullmatch(text.strip(BLANKS)) if len(text) <= LONGEST else None
        if match is not None and bool(match["before"]) != bool(match["behind"]):
            unit = (match["before"] or match["behind"]).strip(BLANKS)
            found.setdefault(unit, []).append(text)
    known = schema.ordinary[name].unit
    for unit, texts in sorted(found.items(), key=lambda item: -len(item[1])):
        if unit.casefold() not in UNITS and len(texts) < ENOUGH:
            continue
        trials = {
            decimal: _as_numbers(texts, decimal, unit)
            for decimal in (schema.decimal_of(name), ",", ".")
        }
        decimal = max(trials, key=lambda one: len(trials[one]))
        if not (fits := trials[decimal]):
            continue
        what = f"have the unit {quote(unit)}"
        if known is not None or not _stay(right, decimal, unit, name, schema):
            return Cause("unit", what, correct="write them as the others are", texts=fits)
        keys: dict[str, Any] = {"unit": unit}
        if decimal != schema.decimal_of(name):
            keys["decimal"] = decimal
        change = "set " + ", ".join(f"{key}: {pasteable(value)}" for key, value in keys.items())
        return Cause("unit", what, change, patch=patched(name, **keys), texts=fits)
    return None


def _stay(
    right: Sequence[str],
    decimal: str | None,
    unit: str | None,
    name: str,
    schema: Schema,
    *,
    evident: bool = False,
) -> bool:
    """Return whether cells that are numbers stay the same ones by another reading.

    If that is evident from the others, they need not: beside 1.234,5 it is 1.234 that was misread.
    """
    entry, texts = schema.ordinary[name], _series(right)
    read = numbers if entry.decimal else numbers_or_plain
    before = read(texts, decimal=schema.decimal_of(name), unit=entry.unit)
    after = numbers(texts, decimal=decimal, unit=unit)
    return not after.has_nulls() and (evident or bool((before == after).all()))


def _is_evident(texts: Iterable[str]) -> bool:
    """Return whether a number has both signs, so that each can only mean one thing."""
    return any("." in text and "," in text for text in texts)


def _as_numbers(texts: Sequence[str], decimal: str | None, unit: str | None) -> list[str]:
    """Return the texts that are finite numbers by a reading."""
    read = numbers(_series(texts), decimal=decimal, unit=unit)
    return _series(texts).filter(read.is_finite().fill_null(value=False)).to_list()


def _series(texts: Iterable[str]) -> pl.Series:
    return pl.Series([*texts], dtype=pl.String)


def _tally(texts: Iterable[str]) -> Tally:
    bare = tuple(dict.fromkeys(text.strip(BLANKS) for text in texts))
    return Tally("", bare, (1,) * len(bare), tuple(range(1, len(bare) + 1)), 0)
