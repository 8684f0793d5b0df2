"""Books of Excel, .xlsx and .xlsm: the names of their sheets, and the cells of one."""

import math
import posixpath
import re
from datetime import UTC, datetime
from functools import cached_property

from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables.excel_archive import Archive, Attributes, Handlers, unescaped
from cfl_cli.tables.excel_formats import BUILT_IN, DAY, Shown, moment, shown_by
from cfl_cli.tables.excel_grid import Grid, Kind, Merge, Sheet, Spot
from cfl_cli.tables.formats import SAVE_AS

ROOT = "_rels/.rels"
USUAL = "xl/workbook.xml"
LISTS = ("cellStyleXfs", "cellXfs", "cellStyles", "dxfs")  # of styles
TRUE = ("1", "true")
REF = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
SMALL = 1 << 16  # bytes of a sheet that may be empty


@dataclass(frozen=True)
class Book:
    """A book of Excel."""

    archive: Archive

    @cached_property
    def sheets(self) -> list[Sheet]:
        """Return the sheets that hold cells, in order."""
        home = self._home
        if home.endswith(".bin"):
            raise DataError(f"{self.archive.name}: .xlsb is not read: {SAVE_AS}")
        targets = self._targets(home, "/worksheet")
        found = []

        def start(element: str, attributes: Attributes) -> None:
            if element != "sheet":
                return
            key = next((v for name, v in attributes.items() if name.endswith(":id")), "")
            if key in targets:
                visible = attributes.get("state", "visible") == "visible"
                found.append(Sheet(attributes["name"], visible, targets[key]))

        self.archive.elements(home, start)
        return found

    def is_blank(self, sheet: Sheet) -> bool:
        """Return whether nothing is on a sheet."""
        return self.archive.size(sheet.part) < SMALL and not self.grid(sheet).columns

    def grid(self, sheet: Sheet) -> Grid:
        """Return the cells of a sheet."""
        cells = _Cells(Grid(), self._shared, self._formats, self._from_1904)
        self.archive.parse(sheet.part, lambda root, _: cells.handlers(_prefix(root)))
        return cells.grid

    @cached_property
    def _home(self) -> str:
        """Return the part that lists the sheets."""
        parts = self._targets("", "/officeDocument") if ROOT in self.archive else {}
        home = next(iter(parts.values()), USUAL)
        if home not in self.archive:
            raise DataError(f"{self.archive.name}: a ZIP archive without a book: unpack it first")
        return home

    def _targets(self, part: str, kind: str) -> dict[str, str]:
        """Return the parts of a kind that a part refers to, by their keys."""
        folder, name = posixpath.split(part)
        found = {}

        def start(element: str, attributes: Attributes) -> None:
            if element == "Relationship" and attributes.get("Type", "").endswith(kind):
                target = attributes["Target"]
                path = target if target.startswith("/") else posixpath.join(folder, target)
                found[attributes["Id"]] = posixpath.normpath(path)

        self.archive.elements(posixpath.join(folder, "_rels", f"{name}.rels"), start)
        return found

    @cached_property
    def _from_1904(self) -> bool:
        settings: dict[str, str] = {}

        def start(element: str, attributes: Attributes) -> None:
            if element == "workbookPr":
                settings.update(attributes)

        self.archive.elements(self._home, start)
        return settings.get("date1904") in TRUE

    def _other(self, kind: str) -> str | None:
        """Return the part of a kind that the book has, if it has one."""
        return next(iter(self._targets(self._home, kind).values()), None)

    @cached_property
    def _formats(self) -> list[Shown]:
        """Return as what each style of cells shows numbers."""
        part = self._other("/styles")
        codes: dict[str, str] = {}
        keys: list[str] = []
        listed = False  # are these the styles of cells?

        def start(element: str, attributes: Attributes) -> None:
            nonlocal listed
            if element == "numFmt":
                codes.setdefault(attributes["numFmtId"], attributes["formatCode"])
            elif element == "xf":
                if listed:
                    keys.append(attributes.get("numFmtId", "0"))
            elif element in LISTS:
                listed = element == "cellXfs"

        if part is not None:
            self.archive.elements(part, start)
        return [
            shown_by(codes[key]) if key in codes else BUILT_IN.get(int(key), Shown.NUMBER)
            for key in keys
        ]

    @cached_property
    def _shared(self) -> list[str]:
        """Return the texts that cells refer to by number."""
        part = self._other("/sharedStrings")
        texts: list[str] = []
        if part is not None:
            self.archive.parse(part, lambda root, _: _text_handlers(_prefix(root), texts))
        return texts


def _prefix(root: str) -> str:
    """Return what stands before the names of elements, as it does before the first."""
    prefix, colon, _ = root.rpartition(":")
    return prefix + colon


def _text_handlers(prefix: str, texts: list[str]) -> Handlers:
    """Return what puts the runs of each text together, without hints at how it is pronounced."""
    run, item, spoken = (prefix + name for name in ("t", "si", "rPh"))
    pieces: list[str] = []  # of the run
    runs: list[str] = []
    is_spoken = False

    def start(element: str, _: Attributes) -> None:
        nonlocal is_spoken
        if element == run:
            pieces.clear()
        elif element == spoken:
            is_spoken = True

    def end(element: str) -> None:
        nonlocal is_spoken
        if element == run:
            if not is_spoken:
                runs.append("".join(pieces))
        elif element == spoken:
            is_spoken = False
        elif element == item:
            texts.append(unescaped("".join(runs)))
            runs.clear()

    return Handlers(start, end, pieces.append)


@dataclass
class _Cells:
    """Takes the cells of a sheet as they come."""

    grid: Grid
    shared: list[str]
    formats: list[Shown]
    from_1904: bool

    def handlers(self, prefix: str) -> Handlers:  # noqa: C901 — a call for every element is what costs
        """Return what takes the elements of a sheet."""
        names = ("c", "v", "t", "f", "row", "rPh", "mergeCell")
        cell, value, run, formula, line, spoken, merge = (prefix + name for name in names)
        pieces: list[str] = []  # of the text that was begun last
        known: dict[str, int] = {}  # numbers of columns by their letters
        row = column = -1
        digits = text = ""
        kind, style = "n", "0"
        is_formula = is_spoken = False

        def start(element: str, attributes: Attributes) -> None:  # noqa: C901 — the same
            nonlocal row, column, digits, text, kind, style, is_formula, is_spoken
            if element == cell:
                ref = attributes.get("r")
                if ref is None:
                    column += 1
                elif (found := known.get(ref.removesuffix(digits))) is not None:
                    column = found
                else:
                    row, column = _spot(ref)
                    if str(row + 1) == digits:
                        known[ref.removesuffix(digits)] = column
                kind, style = attributes.get("t", "n"), attributes.get("s", "0")
                text, is_formula = "", False
            elif element in (value, run):
                pieces.clear()
            elif element == formula:
                is_formula = True
            elif element == line:
                row = int(attributes["r"]) - 1 if "r" in attributes else row + 1
                column, digits = -1, str(row + 1)
                if attributes.get("hidden") in TRUE:
                    self.grid.hidden.append(range(row, row + 1))
            elif element == spoken:
                is_spoken = True
            elif element == merge:
                first, _, last = attributes["ref"].partition(":")
                if last:
                    self.grid.merged.append(Merge(_spot(first), _spot(last)))

        def end(element: str) -> None:
            nonlocal text, is_spoken
            if element == value or (element == run and not is_spoken):
                text += "".join(pieces)
            elif element == cell:
                if text or is_formula:
                    self.take(Spot(row, column), kind, text, int(style))
            elif element == spoken:
                is_spoken = False

        return Handlers(start, end, pieces.append)

    def take(self, spot: Spot, kind: str, text: str, style: int) -> None:
        """Add a cell that holds something, or a formula without a value."""
        add = self.grid.add
        if kind == "s":
            add(*spot, Kind.TEXT, self.shared[_index(text)])
        elif kind in {"str", "inlineStr"}:
            add(*spot, Kind.TEXT, unescaped(text))
        elif not text:
            self.grid.uncalculated.append(spot)
        elif kind == "b":
            add(*spot, Kind.BOOLEAN, text.strip() in TRUE)
        elif kind == "e":
            add(*spot, Kind.ERROR, text)
        elif kind == "d":
            add(*spot, Kind.DATE, milliseconds(text))
        else:
            self.take_number(spot, float(text), style)

    def take_number(self, spot: Spot, number: float, style: int) -> None:
        """Add a number, or the date or time that it is shown as."""
        if not math.isfinite(number):
            raise ValueError("not a number")
        shown = self.formats[style] if self.formats else Shown.NUMBER
        if shown == Shown.NUMBER:
            self.grid.add(*spot, Kind.NUMBER, number)
        elif found := moment(number, shown, from_1904=self.from_1904):
            self.grid.add(*spot, *found)
        else:
            self.grid.not_dates.append(spot)


def _spot(ref: str) -> Spot:
    """Return the place of a cell such as K2."""
    found = REF.fullmatch(ref)
    if found is None:
        raise ValueError("not a cell")
    number = 0
    for letter in found[1].upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return Spot(int(found[2]) - 1, number - 1)


def _index(text: str) -> int:
    """Return the number of a shared text; a negative one would count from the end."""
    number = int(text)
    if number < 0:
        raise ValueError("not an index")
    return number


def milliseconds(text: str) -> int:
    """Return a date, perhaps with a time, of ISO 8601 in milliseconds since 1970."""
    then = datetime.fromisoformat(text)
    day = then.toordinal() - datetime(1970, 1, 1, tzinfo=UTC).toordinal()
    time = (then.hour * 60 + then.minute) * 60 + then.second
    return day * DAY + time * 1000 + round(then.microsecond / 1000)
