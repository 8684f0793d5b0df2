"""A messy file: its columns, what is right to say of each, and how the file is written."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

Quoting = Literal["minimal", "all", "texts"]
QUOTING: dict[Quoting, Literal[0, 1, 2]] = {
    "minimal": csv.QUOTE_MINIMAL,
    "all": csv.QUOTE_ALL,
    "texts": csv.QUOTE_NONNUMERIC,
}
ANY_DECIMAL = (None, ".", ",")


@dataclass(frozen=True)
class Column:
    """A column's cells, and every draft of it that a careful colleague would accept."""

    name: str
    kind: str  # what is hard about it: figures are given by kind
    cells: tuple[str, ...]
    types: tuple[str, ...]  # a type of OFs, `ignore`, `complementary`
    codes: tuple[str, ...] = ()  # cells that must count as missing
    either: tuple[str, ...] = ()  # cells that may count as missing, or be values
    decimals: tuple[str | None, ...] = ANY_DECIMAL  # that read the numbers right
    units: tuple[str | None, ...] = (None,)
    formats: tuple[str, ...] = ()  # of dates; "" stands for ISO 8601, with nothing said
    order: tuple[str, ...] = ()  # of an ordered column, or its reverse
    domain: tuple[str, ...] = ()  # of a CF
    separator: str | None = None
    exact: str | None = None
    doubtful: bool = False  # a mark is welcome even if the guess is right
    marked: bool = False  # no draft is right without a mark

    @property
    def is_cf(self) -> bool:
        return "complementary" in self.types


@dataclass(frozen=True)
class MessyFile:
    """A file as somebody exported it."""

    name: str
    columns: tuple[Column, ...]
    delimiter: str = ","
    encoding: str = "utf-8"
    quoting: Quoting = "minimal"
    newline: str = "\r\n"
    above: str = ""  # a line above the header, such as sep=;
    suffix: str = ".csv"

    @property
    def cfs(self) -> list[str]:
        return [column.name for column in self.columns if column.is_cf]

    @property
    def rows(self) -> int:
        return len(self.columns[0].cells)

    def text(self) -> str:
        stream = io.StringIO()
        stream.write(self.above + self.newline if self.above else "")
        writer = csv.writer(
            stream,
            delimiter=self.delimiter,
            lineterminator=self.newline,
            quoting=QUOTING[self.quoting],
        )
        writer.writerow([column.name for column in self.columns])
        for row in zip(*(column.cells for column in self.columns), strict=True):
            writer.writerow([_bare(cell) if self.quoting == "texts" else cell for cell in row])
        return stream.getvalue()

    def data(self) -> bytes:
        return self.text().encode(self.encoding)


class _Bare(float):
    """A cell that R writes without quotes."""

    def __new__(cls, cell: str) -> Self:
        made = super().__new__(cls, 0.0)
        made.cell = cell
        return made

    cell: str

    def __repr__(self) -> str:
        return self.cell

    __str__ = __repr__


def _bare(cell: str) -> str | _Bare:
    """Return a cell that is written without quotes if R would: a number, TRUE, NA."""
    if cell in {"NA", "TRUE", "FALSE", ""}:
        return _Bare(cell)
    try:
        float(cell)
    except ValueError:
        return cell
    return _Bare(cell)


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
