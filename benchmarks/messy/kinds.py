"""Columns of the usual kinds, each with what a careful colleague would accept of it."""

from collections.abc import Sequence
from typing import Any

from benchmarks.messy.files import Column

TEXTS = {"names", "note", "address"}  # whether they say something, only the user knows
FEW = 12  # whole numbers that may as well be codes or a scale


def numbers(name: str, kind: str, cells: Sequence[str], **truth: Any) -> Column:
    return Column(name, kind, tuple(cells), ("numeric",), **truth)


def plain(name: str, cells: Sequence[object], **truth: Any) -> Column:
    texts = tuple(str(cell) for cell in cells)
    values = {*texts} - {*truth.get("codes", ()), ""}
    few = len(values) <= FEW
    decimals = (None, ".") if any("." in text for text in values) else (None, ".", ",")
    return Column(
        name,
        "number",
        texts,
        ("numeric", "ordered") if few else ("numeric",),
        **{"decimals": decimals, "doubtful": few, **truth},
    )


def comma(name: str, cells: Sequence[str], kind: str = "decimal comma", **truth: Any) -> Column:
    return numbers(name, kind, cells, **{"decimals": (",",), **truth})


def boolean(name: str, cells: Sequence[str], **truth: Any) -> Column:
    return Column(name, "boolean", tuple(cells), ("binary",), **truth)


def pair(name: str, cells: Sequence[str], **truth: Any) -> Column:
    """Return a column of two values that are not yes and no."""
    return Column(name, "two values", tuple(cells), ("binary", "categorical"), **truth)


def category(name: str, cells: Sequence[str], kind: str = "category", **truth: Any) -> Column:
    types = ("categorical", "ordered") if "order" in truth else ("categorical",)
    return Column(name, kind, tuple(cells), types, **truth)


def ordered(
    name: str, cells: Sequence[str], order: Sequence[str], kind: str = "scale", **truth: Any
) -> Column:
    return Column(name, kind, tuple(cells), ("ordered",), order=tuple(order), **truth)


def grid(name: str, cells: Sequence[object], **truth: Any) -> Column:
    """Return a grid question: whole numbers of a scale."""
    texts = tuple(str(cell) for cell in cells)
    return Column(name, "grid", texts, ("numeric", "ordered"), **{"doubtful": True, **truth})


def date(
    name: str, cells: Sequence[str], *formats: str, kind: str = "date", **truth: Any
) -> Column:
    return Column(name, kind, tuple(cells), ("date",), formats=formats, **truth)


def clock(name: str, cells: Sequence[str], *formats: str, **truth: Any) -> Column:
    """Return a column of times of day: a place in the day, or left out."""
    settings = {"formats": formats, "doubtful": True, **truth}
    return Column(name, "time of day", tuple(cells), ("date", "ignore"), **settings)


def left_out(name: str, kind: str, cells: Sequence[object], **truth: Any) -> Column:
    settings = {"doubtful": kind in TEXTS, **truth}
    return Column(name, kind, tuple(str(cell) for cell in cells), ("ignore",), **settings)


def code(name: str, cells: Sequence[str], kind: str = "code", **truth: Any) -> Column:
    """Return a column of codes, such as postal codes: no numbers."""
    return Column(name, kind, tuple(cells), ("categorical", "ignore"), **truth)


def bounds(name: str, cells: Sequence[str], **truth: Any) -> Column:
    """Return a column of numbers with bounds such as <5 among them: nothing is right unasked."""
    return Column(
        name, "bounds", tuple(cells), ("ignore", "categorical"), doubtful=True, marked=True, **truth
    )


def many(name: str, cells: Sequence[str], **truth: Any) -> Column:
    settings = {"doubtful": True, **truth}
    return Column(name, "several answers", tuple(cells), ("ignore", "categorical"), **settings)


def excluded(
    name: str, cells: Sequence[str], domain: Sequence[str], kind: str = "CF", **truth: Any
) -> Column:
    return Column(name, kind, tuple(cells), ("complementary",), domain=tuple(domain), **truth)
