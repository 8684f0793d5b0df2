"""Whether a column holds numbers, how they are written, and which of them mean nothing."""

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from cfl_cli.core.messages import count, quote
from cfl_cli.schema.context import Context
from cfl_cli.schema.guess import EITHER, IGNORED, POINT, Guess, Look, named, ordinary
from cfl_cli.texts import ids, missing_codes, number_readings, sentinels
from cfl_cli.texts.number_readings import Reading, readings
from cfl_cli.texts.numbers import numbers as read_numbers
from cfl_cli.texts.tally import Tally
from cfl_cli.texts.wild_numbers import wild

FITTING_TEXTS, FITTING_CELLS = 0.9, 0.8  # shares that leave the others to be codes
MISFITS = 3  # such texts, at most
WORDS = 20  # and of known words
FEW = 12  # whole numbers that may be codes
YEARS = range(1900, 2101)
_DIGIT = re.compile(r"\d")
_CODES = re.compile(
    r"(?:^|[^a-z])(?:plz|zip|zipcode|postal|postcode|postleitzahl|cap|kod|icd|isco|nace|sic|fips)"
    r"(?=[^a-z]|$)|(?:zip|post|area)_?code|(?<=[^a-z])code$",
    re.IGNORECASE,
)
_KEYS = re.compile(r"(?:^|[^a-z])(?:id|uuid|guid)$", re.IGNORECASE)


def numbers(look: Look, context: Context) -> Guess | None:
    """Return the guess that a column holds numbers, None if it does not."""
    column = look.rest
    others: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    found = readings(column)
    if not found:
        others = misfits(column)
        column = column.without({*others})
        found = readings(column) if others else ()
        if not found or len(column) < 2:
            return None
        doubts = (fitting(look.rest, others, "numbers"),)
    reading, sure = context.reading(found)
    series = read_numbers(pl.Series(column.texts), decimal=reading.decimal, unit=reading.unit)
    if not series.is_finite().all() or series.has_nulls():
        return None
    kept = series.to_list()
    if guess := _id(look, column, kept):
        return guess
    if not sure:
        doubts += (_two_readings(column, reading),)
    outside = sentinels.sentinels(column, kept)
    own = others
    if outside:
        own += outside.texts
        others_lie = f"the others lie in {outside.low:g} to {outside.high:g}"
        doubts += (f"{named(column, outside.texts)}: {others_lie}",)
        inner = [value for text, value in zip(column.texts, kept, strict=True)
                 if text not in outside.texts]  # fmt: skip
    else:
        inner = kept
    far = () if outside else _wild(column, kept)
    doubts += far
    if reading.decimal == "," and _may_be_lists(column):
        doubts += (f"{quote(_longest(column))}: a decimal comma, or two values?",)
    if reading.lacking:
        doubts += (f"{count(reading.lacking, 'cell')} without {quote(reading.unit or '')}",)
    if not reading.usual:
        doubts += (f"is {quote(reading.unit or '')} a unit?",)
    more_doubts, notes = _remarks(column, inner, reading)
    return Guess(
        ordinary("numeric", unit=reading.unit, scale="robust" if far else None),
        notes=(*notes, *look.code_notes),
        doubts=(*doubts, *more_doubts, *look.code_doubts),
        codes=look.codes,
        own_codes=own,
        values=frozenset(column.texts) - {*own},
        decimal=_needed(reading, column),
    )


def _needed(reading: Reading, column: Tally) -> str | None:
    """Return the decimal sign that the numbers of a column need."""
    if reading.either:
        return EITHER
    return reading.decimal or (POINT if any("." in text for text in column.texts) else None)


def misfits(column: Tally) -> tuple[str, ...]:
    """Return the few texts without digits that may be codes among texts with digits."""
    bare = []
    for text in column.texts:
        if not _DIGIT.search(text):
            bare.append(text)
        if len(bare) > WORDS:
            return ()
    words = [text for text in bare if missing_codes.is_doubtful(text)]
    odd = {*bare}
    cells = sum(n for text, n in column if text in odd) if odd else 0
    few = len(bare) <= MISFITS and len(bare) <= (1 - FITTING_TEXTS) * len(column)
    if few and cells <= (1 - FITTING_CELLS) * column.cells:
        return tuple(bare)
    return tuple(words) if words == bare else ()


def fitting(column: Tally, others: Sequence[str], what: str) -> str:
    """Return how many texts are numbers or dates, and what the others are."""
    fits = f"{len(column) - len(others):,} of {len(column):,} different texts are {what}"
    which = "the other is" if len(others) == 1 else "the others are"
    return f"{fits}; {which} {named(column, others)}: missing?"


def _id(look: Look, column: Tally, values: Sequence[float]) -> Guess | None:
    whole = all(value == int(value) for value in values)
    if found := ids.id_kind(column, numbers=True, whole=whole):
        why, sure = found
        said = "a different value in every row" if sure else why
        return Guess(IGNORED, notes=(f"{said}: an id?",) if sure else (),
                     doubts=() if sure else (f"{said}: an id?",))  # fmt: skip
    if whole and len(column) > FEW and _KEYS.search(look.name):
        return Guess(IGNORED, doubts=("named like an id: does it measure anything?",))
    lengths = {len(text) for text in column.texts}
    if whole and len(column) > 2 and len(lengths) <= 2 and _CODES.search(look.name):
        doubt = "codes, by the column's name? then type: categorical, or role: ignore"
        if len(column) > 50:
            return Guess(IGNORED, doubts=(doubt,))
        return Guess(ordinary("categorical"), doubts=(doubt,), codes=look.codes,
                     values=frozenset(column.texts))  # fmt: skip
    return None


def _wild(column: Tally, values: Sequence[float]) -> tuple[str, ...]:
    """Return what is to be said of numbers that would squeeze all others, if there are such."""
    found = wild(np.repeat(np.array(values, dtype=np.float64), column.counts))
    if found is None:
        return ()
    far = [text for text, value in zip(column.texts, values, strict=True)
           if not found.low <= value <= found.high]  # fmt: skip
    lie = f"the others lie in {found.low:g} to {found.high:g}"
    return (f"{named(column, far)}: {lie}, hence scale: robust; a slip?",)


def _two_readings(column: Tally, reading: Reading) -> str:
    """Return how an ambiguous number was read, and how to read it otherwise."""
    text = next(text for text in column.texts if "." in text or "," in text)
    value = number_readings.number(text, reading)
    other = "." if reading.decimal == "," else ","
    as_other = "one and a bit" if reading.thousands else "thousands"
    return f'{quote(text)} read as {value:.10g}; if it means {as_other} set decimal: "{other}"'


def _remarks(
    column: Tally, values: Sequence[float], reading: Reading
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what is doubtful and what is worth knowing about numbers."""
    different = sorted({*values})
    whole = all(value == int(value) for value in different)
    notes: tuple[str, ...] = ()
    if reading.decimal == "," and any("," in text for text in column.texts):
        example = next(text for text in column.texts if "," in text)
        notes += (f"a decimal comma, as in {quote(example)}",)
    elif reading.decimal is not None:
        notes += (f"thousands as in {quote(_longest(column))}",)
    if reading.unit == "%":
        notes += ("in percent",)
    if whole and len(different) > 2 and all(value in YEARS for value in different):
        return (), (*notes, "a year")
    run = different[0] in (0, 1) and different[-1] - different[0] == len(different) - 1
    if whole and 2 < len(different) <= FEW and run and not reading.unit:
        return (f"only {len(different)} values: codes or a scale? then type: categorical",), notes
    if any(re.fullmatch(r"0\d+", text) for text in column.texts):
        return ("some begin with 0: codes? then type: categorical",), notes
    return (), notes


def _may_be_lists(column: Tally) -> bool:
    """Return whether what stands before and behind every comma is a cell of its own too."""
    joined, there = [text for text in column.texts if "," in text], {*column.texts}
    return bool(joined) and all(part in there for text in joined for part in text.split(","))


def _longest(column: Tally) -> str:
    return max(column.texts, key=len)
