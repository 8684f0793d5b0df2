"""Which type a column has rather, if many of its cells do not fit the one that it should have."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cfl_cli.schema.model import Schema
from cfl_cli.steps.causes import in_values, missing, pasteable, patched
from cfl_cli.steps.cells import Cells
from cfl_cli.steps.findings import Cause, ignoring
from cfl_cli.texts import date_formats, missing_codes, number_readings, scales
from cfl_cli.texts.tally import BLANKS, Tally, tally

FEW = 0.1  # share of the cells that may be wrong in a column whose type is right
SOME = 1 / 3  # the same, if all of them hold one text
MOSTLY = 0.5  # share of wrong cells beyond which the type is wrong
LISTED = 3  # different texts that may be listed as missing
CATEGORIES = 50  # more different texts than this are names or notes
SHOWN = 120  # signs of a list of values that is shown
OF_A_TYPE = ("values", "decimal", "unit", "format", "cycle")  # keys that go with it


def in_ordinary(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of cells that do not hold one of an OF's values."""
    ordered = schema.ordinary[cells.name].type == "ordered"
    for cause in in_values(wrong, cells.name, values, schema):
        texts = cause.texts or ()
        if cause.key == "binary-values":
            yield misfits(cause, texts, cells, schema)
        elif cause.key == "not-in-domain" and ordered:
            yield _not_a_rung(cause, texts, cells, values, schema)
        else:
            yield cause


def _not_a_rung(
    cause: Cause, texts: Collection[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Cause:
    """Return a cause with the way out for texts whose place in the order may be known."""
    column = tally(cells.text)
    for rungs in ({*column.texts, *values}, {*column.texts}):
        known = _as_tally(cells.name, rungs - {*missing_codes.codes(column)})
        found = scales.scale(known)
        if found is not None and not found.doubt:
            keys = {"values": [*found.values]}
            return replace(cause, change=_in_words(keys), patch=patched(cells.name, **keys))
    if _share(texts, column) > MOSTLY:
        return misfits(cause, texts, cells, schema)
    return replace(cause, change="add them to the column's `values`, in order", patch=None)


def misfits(cause: Cause, texts: Collection[str], cells: Cells, schema: Schema) -> Cause:
    """Return a cause with the way out for so many cells: another type, or that they are missing.

    Few cells with few words may be codes for missing values, more so if it is one word, but many
    cells never are.
    """
    column, wrong = tally(cells.text), {text.strip(BLANKS) for text in texts}
    share = _share(texts, column)
    measured = schema.ordinary[cells.name].type in ("numeric", "date")
    if share > (FEW if len(wrong) > 1 else SOME):
        if measured and share < 1 and all(map(_has_digit, wrong)):  # numbers, written badly
            return replace(cause, change="", correct="correct them", patch=None)
        column = column.without({*missing_codes.codes(column)})
        change, patch = _other_type(column, schema, mostly=share > MOSTLY)
        correct = "" if change and share > MOSTLY else "correct them"
        return replace(cause, change=change, correct=correct, patch=patch)
    few = len(wrong) <= LISTED
    listed = missing([*texts], cells.name, schema)
    if few and not (measured and any(map(_has_digit, wrong))):
        return replace(cause, change=listed.change, correct="correct them", patch=listed.patch)
    which = "them under `missing`" if few else "those under `missing` that say so"
    return replace(cause, change=f"list {which}", correct="correct them", patch=None)


def _other_type(column: Tally, schema: Schema, *, mostly: bool) -> tuple[str, Any]:
    """Return the way to the type that has all texts of a column, and the patch."""
    name, now = column.name, schema.ordinary[column.name]
    keys = _read(column, now.type)
    if keys is None:
        if len(column) > CATEGORIES:
            ignored = ignoring(name, schema) if mostly else None
            return ("mark it `role: ignore`" if mostly else "", ignored)
        keys = {"type": "categorical"}
    old = [key for key in OF_A_TYPE if getattr(now, key) is not None]
    set_it = _in_words({key: it for key, it in keys.items() if it != now.type})
    return set_it, patched(name, **(dict.fromkeys(old) | keys))


def _read(column: Tally, now: str) -> dict[str, Any] | None:
    """Return the keys of the type that a column's texts have: dates, numbers, or an order."""
    if now != "date" and (formats := date_formats.formats(column)):
        return {"type": "date"} | ({"format": formats[0]} if formats[0] else {})
    if now != "numeric" and (readings := number_readings.readings(column)):
        keys = {"decimal": readings[0].decimal, "unit": readings[0].unit}
        return {"type": "numeric"} | {key: sign for key, sign in keys.items() if sign}
    found = scales.scale(column)
    if found is not None and not found.doubt:
        return {"type": "ordered", "values": [*found.values]}
    return None


def _in_words(keys: Mapping[str, Any]) -> str:
    """Return how to set some keys."""
    shown = {key: it if key == "type" else pasteable(it) for key, it in keys.items()}
    if len(shown.get("values", "")) > SHOWN:
        shown["values"] = "[…] from lowest to highest"
    return "set " + ", ".join(f"{key}: {it}" for key, it in shown.items())


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _share(texts: Collection[str], column: Tally) -> float:
    """Return the share of a column's cells that hold these texts."""
    wrong = {text.strip(BLANKS) for text in texts}
    return sum(number for text, number in column if text in wrong) / max(column.cells, 1)


def _as_tally(name: str, texts: Collection[str]) -> Tally:
    ordered = tuple(sorted(texts))
    return Tally(name, ordered, (1,) * len(ordered), (1,) * len(ordered), 0)
