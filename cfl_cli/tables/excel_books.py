"""The parts of a spreadsheet file: XML in a ZIP archive, neither of which is to be trusted."""

import io
import math
import posixpath
import re
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property
from pyexpat import ExpatError, ParserCreate
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from cfl_cli.errors import DataError, ResourceError, file_problem
from cfl_cli.tables.formats import ANEW, NO_ROOM, SAVE_AS
from cfl_cli.tables.source import refuse_expansion, roomy

CHUNK = 1 << 16  # bytes parsed at once
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ExpatError,
    EOFError,
    LookupError,
    NotImplementedError,  # a way of packing that nobody uses
    OSError,
    OverflowError,
    RuntimeError,  # a part that wants a password
    ValueError,
)

Attributes: TypeAlias = dict[str, str]


class Handlers(NamedTuple):  # of the events of a document
    start: Callable[[str, Attributes], None]
    end: Callable[[str], None] | None = None
    text: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Archive:
    name: str  # what messages call the file
    parts: zipfile.ZipFile
    names: Mapping[str, str]  # as they are, by how they are asked for

    @classmethod
    def of(cls, data: bytes, *, name: str) -> Self:
        parts = zipfile.ZipFile(io.BytesIO(data))
        size = sum(part.file_size for part in parts.infolist())
        refuse_expansion(name, len(data), size)
        if size > roomy():
            remedy = "delete unneeded cells, or save the sheet as CSV UTF-8"
            raise too_large(name, size, remedy, what="unpacks to ", verb=",")
        return cls(name, parts, {_folded(part): part for part in parts.namelist()})

    def __contains__(self, part: str) -> bool:
        return _folded(part) in self.names

    def fault(self, code: str, what: str, remedy: str) -> DataError:
        return DataError(file_problem(code, self.name, what, remedy))

    def size(self, part: str) -> int:
        return self.parts.getinfo(self.names[_folded(part)]).file_size

    def parse(self, part: str, begin: Callable[[str, Attributes], Handlers]) -> None:
        """Go through the XML of a part; `begin` gets its first element and says who takes the rest.

        Names of elements and attributes come as they are written, with their prefixes. No document
        of this kind declares a document type, which is how entities that grow without end come in:
        one that does is refused.
        """
        parser = ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = CHUNK

        def first(element: str, attributes: Attributes) -> None:
            handlers = begin(element, attributes)
            parser.StartElementHandler = handlers.start
            parser.EndElementHandler = handlers.end
            parser.CharacterDataHandler = handlers.text
            handlers.start(element, attributes)

        def refuse(*_: Any) -> None:
            raise ValueError("a document type")

        parser.StartElementHandler = first
        parser.StartDoctypeDeclHandler = refuse
        with self.parts.open(self.names[_folded(part)]) as file:
            while chunk := file.read(CHUNK):
                parser.Parse(chunk, False)
        parser.Parse(b"", True)

    def elements(self, part: str, *names: str) -> list[tuple[str, Attributes]]:
        """Return the elements of a part that have one of the names, without prefixes, in order."""
        found = []

        def start(element: str, attributes: Attributes) -> None:
            if (name := element.rpartition(":")[2]) in names:
                found.append((name, attributes))

        self.parse(part, lambda *_: Handlers(start))
        return found


def _folded(part: str) -> str:
    return part.replace("\\", "/").lstrip("/").lower()


def too_large(name: str, size: int, remedy: str, *, what: str = "", verb: str) -> ResourceError:
    what = f"{what}{size / 1e6:,.0f} MB{verb} too much for the memory of this machine"
    return ResourceError(file_problem("file-too-large", name, what, remedy))


@contextmanager
def well_formed(name: str, title: str) -> Iterator[None]:
    """Turn errors that may quote cells of the table into one that does not."""
    try:
        yield
    except MemoryError as error:
        raise ResourceError(file_problem("file-too-large", name, NO_ROOM)) from error
    except DAMAGED as error:
        what = f"not a well-formed {title} file"
        raise DataError(file_problem("file-malformed", name, what, ANEW)) from error


ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def unescaped(text: str) -> str:
    """Return a text of Excel, which spells characters that XML cannot hold as _x000D_."""
    return ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


# The cells of a sheet as its file holds them: where they are, of what kind, with which value.

_MOST_ROWS, MOST_COLUMNS = 1 << 20, 1 << 14  # that a sheet has
_SHOWN = 3  # cells, rows or ranges that a message names


class CellKind(IntEnum):
    """What a cell holds, and as what its value is kept."""

    TEXT = 0  # str
    NUMBER = 1  # float, finite
    BOOLEAN = 2  # bool
    DATE = 3  # milliseconds since 1970
    TIME = 4  # milliseconds: of a day, or as many hours as there are
    ERROR = 5  # str, such as #N/A: a formula that failed


@dataclass(frozen=True)
class Sheet:  # of a book
    name: str
    visible: bool
    part: str  # of the file: where its cells are
    blank: bool = False  # it is known to hold nothing


class Spot(NamedTuple):
    row: int
    column: int

    def __str__(self) -> str:
        letters, number = "", self.column + 1
        while number:
            number, letter = divmod(number - 1, 26)
            letters = chr(ord("A") + letter) + letters
        return f"{letters}{self.row + 1}"


class Merge(NamedTuple):
    """Cells that are shown as one; only the first of them holds a value."""

    first: Spot
    last: Spot

    def __str__(self) -> str:
        return f"{self.first}:{self.last}"


@dataclass(frozen=True)
class SheetColumn:
    rows: "array[int]" = field(default_factory=lambda: array("l"))
    kinds: bytearray = field(default_factory=bytearray)
    values: list[Any] = field(default_factory=list)


@dataclass
class Grid:
    columns: dict[int, SheetColumn] = field(default_factory=dict)
    merged: list[Merge] = field(default_factory=list)
    uncalculated: list[Spot] = field(default_factory=list)  # formulas without a value
    not_dates: list[Spot] = field(default_factory=list)  # numbers shown as dates that no year has
    hidden: list[range] = field(default_factory=list)  # rows not shown, by a filter perhaps

    def add(self, row: int, column: int, kind: CellKind, value: object) -> None:
        if value == "":
            return
        if not (0 <= row < _MOST_ROWS and 0 <= column < MOST_COLUMNS):
            raise ValueError("a cell outside of any sheet")
        if (cells := self.columns.get(column)) is None:
            cells = self.columns[column] = SheetColumn()
        cells.rows.append(row)
        cells.kinds.append(kind)
        cells.values.append(value)


def listed(things: Sequence[object] | npt.NDArray[np.int64], noun: str) -> str:
    """Return things in words: `cell K2`, `cells K2, K5, K9 … (12 in all)`."""
    if len(things) == 1:
        return f"{noun} {things[0]}"
    first = ", ".join(map(str, things[:_SHOWN]))
    rest = f" … ({len(things):,} in all)" if len(things) > _SHOWN else ""
    return f"{noun}s {first}{rest}"


# Number formats of cells: which of them show a number as a date or a time, and which it is.
#
# day    1899-12-30 + number        from 1900-03-01 on
#        1899-12-31 + number        before: Excel counts a day, 1900-02-29, that never was
#        1904-01-01 + number        in books that count from 1904

DAY = 86_400_000  # milliseconds
LEAP = 60  # the day that never was
FROM_1900, FROM_1904 = -25_569, -24_107  # 1899-12-30 and 1904-01-01, counted from 1970
_LAST_DAY = 2_932_896  # 9999-12-31, counted from 1970


class ShownAs(IntEnum):
    NUMBER = 0
    DATE = 1  # with a time or without
    CLOCK = 2
    ELAPSED = 3  # hours beyond 24


BUILT_IN = {
    **dict.fromkeys([*range(14, 18), 22, *range(27, 32), 36, *range(50, 59)], ShownAs.DATE),
    **dict.fromkeys([*range(18, 22), *range(32, 36), 45, 47], ShownAs.CLOCK),
    46: ShownAs.ELAPSED,
}
# What stands for itself: quoted text, a sign behind a backslash, a width or a filling sign; colors,
# conditions and languages in brackets, but not the hours, minutes or seconds that go beyond.
LITERAL = re.compile(
    r'"[^"]*"|[\\_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]|am/pm|a/p|general', re.IGNORECASE
)
ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)


def shown_by(code: str) -> ShownAs:
    """Return as what a format such as `yyyy-mm-dd` shows a number."""
    signs = LITERAL.sub("", code).partition(";")[0].lower()
    if ELAPSED.search(signs):
        return ShownAs.ELAPSED
    if "y" in signs or "d" in signs:
        return ShownAs.DATE
    if "h" in signs or "s" in signs:
        return ShownAs.CLOCK
    return ShownAs.DATE if "m" in signs else ShownAs.NUMBER


def moment(number: float, shown: ShownAs, *, from_1904: bool) -> tuple[CellKind, int] | None:
    if number < 0 or number > _LAST_DAY - FROM_1900 + 1:
        return None
    milliseconds = round(number * DAY)
    if shown == ShownAs.ELAPSED or (number < 1 and (shown == ShownAs.CLOCK or not from_1904)):
        return CellKind.TIME, milliseconds
    day, rest = divmod(milliseconds, DAY)
    if from_1904:
        day += FROM_1904
    elif day == LEAP:
        return None
    else:
        day += FROM_1900 + (day < LEAP)
    return (CellKind.DATE, day * DAY + rest) if day <= _LAST_DAY else None


# Books of Excel, .xlsx and .xlsm: the names of their sheets, and the cells of one.

_LISTS = ("cellStyleXfs", "cellXfs", "cellStyles", "dxfs")  # of styles
TRUE = ("1", "true")
REF = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
SMALL = 1 << 16  # bytes of a sheet that may be empty


@dataclass(frozen=True)
class XlsxBook:
    archive: Archive

    @cached_property
    def sheets(self) -> list[Sheet]:
        home = self._home
        if home.endswith(".bin"):
            raise self.archive.fault("excel-not-read", ".xlsb is not read", SAVE_AS)
        targets = self._targets(home, "/worksheet")
        found = []
        for _, sheet in self.archive.elements(home, "sheet"):
            key = next((value for name, value in sheet.items() if name.endswith(":id")), "")
            if key in targets:
                visible = sheet.get("state", "visible") == "visible"
                found.append(Sheet(sheet["name"], visible, targets[key]))
        return found

    def is_blank(self, sheet: Sheet) -> bool:
        return self.archive.size(sheet.part) < SMALL and not self.grid(sheet).columns

    def grid(self, sheet: Sheet) -> Grid:
        cells = _XlsxCells(Grid(), self._shared, self._formats, self._from_1904)
        self.archive.parse(sheet.part, lambda root, _: cells.handlers(_prefix(root)))
        return cells.grid

    @cached_property
    def _home(self) -> str:
        parts = self._targets("", "/officeDocument") if "_rels/.rels" in self.archive else {}
        home = next(iter(parts.values()), "xl/workbook.xml")
        if home not in self.archive:
            what = "a ZIP archive without a workbook"
            raise self.archive.fault("file-other-format", what, "unpack it first")
        return home

    def _targets(self, part: str, kind: str) -> dict[str, str]:
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        return {
            # `join` leaves a target that begins with / alone
            one["Id"]: posixpath.normpath(posixpath.join(folder, one["Target"]))
            for _, one in self.archive.elements(rels, "Relationship")
            if one.get("Type", "").endswith(kind)
        }

    @cached_property
    def _from_1904(self) -> bool:
        settings: Attributes = {}
        for _, attributes in self.archive.elements(self._home, "workbookPr"):
            settings |= attributes
        return settings.get("date1904") in TRUE

    def _other(self, kind: str) -> str | None:
        return next(iter(self._targets(self._home, kind).values()), None)

    @cached_property
    def _formats(self) -> list[ShownAs]:
        part = self._other("/styles")
        codes: dict[str, str] = {}
        keys: list[str] = []
        listed = False  # are these the styles of cells?
        found = self.archive.elements(part, "numFmt", "xf", *_LISTS) if part is not None else []
        for element, attributes in found:
            if element == "numFmt":
                codes.setdefault(attributes["numFmtId"], attributes["formatCode"])
            elif element != "xf":
                listed = element == "cellXfs"
            elif listed:
                keys.append(attributes.get("numFmtId", "0"))
        return [
            shown_by(codes[key]) if key in codes else BUILT_IN.get(int(key), ShownAs.NUMBER)
            for key in keys
        ]

    @cached_property
    def _shared(self) -> list[str]:
        part = self._other("/sharedStrings")
        texts: list[str] = []
        if part is not None:
            self.archive.parse(part, lambda root, _: _text_handlers(_prefix(root), texts))
        return texts


def _prefix(root: str) -> str:
    return root[: root.rfind(":") + 1]


def _text_handlers(prefix: str, texts: list[str]) -> Handlers:
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
class _XlsxCells:
    grid: Grid
    shared: list[str]
    formats: list[ShownAs]
    from_1904: bool

    def handlers(self, prefix: str) -> Handlers:
        names = ("c", "v", "t", "f", "row", "rPh", "mergeCell")
        cell, value, run, formula, line, spoken, merge = (prefix + name for name in names)
        pieces: list[str] = []  # of the text that was begun last
        known: dict[str, int] = {}  # numbers of columns by their letters
        row = column = -1
        digits = text = ""
        kind, style = "n", "0"
        is_formula = is_spoken = False

        def start(element: str, attributes: Attributes) -> None:
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
        add = self.grid.add
        if kind == "s":
            add(*spot, CellKind.TEXT, self.shared[_at_least(0, text)])
        elif kind in {"str", "inlineStr"}:
            add(*spot, CellKind.TEXT, unescaped(text))
        elif not text:
            self.grid.uncalculated.append(spot)
        elif kind == "b":
            add(*spot, CellKind.BOOLEAN, text.strip() in TRUE)
        elif kind == "e":
            add(*spot, CellKind.ERROR, text)
        elif kind == "d":
            add(*spot, CellKind.DATE, milliseconds(text))
        else:
            number, shown = _finite(text), self.formats[style] if self.formats else ShownAs.NUMBER
            if shown == ShownAs.NUMBER:
                add(*spot, CellKind.NUMBER, number)
            elif found := moment(number, shown, from_1904=self.from_1904):
                add(*spot, *found)
            else:
                self.grid.not_dates.append(spot)


def _spot(ref: str) -> Spot:
    found = REF.fullmatch(ref)
    if found is None:
        raise ValueError("not a cell")
    number = 0
    for letter in found[1].upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return Spot(int(found[2]) - 1, number - 1)


def milliseconds(text: str) -> int:
    """Return a date, perhaps with a time, of ISO 8601 in milliseconds since 1970."""
    then = datetime.fromisoformat(text)
    day = then.toordinal() - datetime(1970, 1, 1, tzinfo=UTC).toordinal()
    time = (then.hour * 60 + then.minute) * 60 + then.second
    return day * DAY + time * 1000 + round(then.microsecond / 1000)


# OpenDocument spreadsheets, .ods: the names of their sheets, and the cells of one.

_CONTENT, _MANIFEST = "content.xml", "META-INF/manifest.xml"
SPACES = (
    *(
        f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
        for name in ("table", "office", "text", "style")
    ),
    "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
)
TIME = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?")
FAILED = re.compile(r"#(?:N/A|NAME\?|DIV/0!|VALUE!|REF!|NUM!|NULL!)|Err:\d+")
_LONGEST = 1 << 15  # characters of a cell
CELL_SIZE = 64  # bytes of memory, about


@dataclass(frozen=True)
class OdsBook:
    archive: Archive

    @cached_property
    def sheets(self) -> list[Sheet]:
        hidden: set[str] = set()
        styles: dict[str, str] = {}  # of the sheets
        filled: set[str] = set()

        def begin(_: str, root: Attributes) -> Handlers:
            names = _Names(root)
            properties, of_style = names.style + "table-properties", names.style + "style"
            display, named = names.table + "display", names.style + "name"
            value_type, style_name = names.office + "value-type", names.table + "style-name"
            style = sheet = ""

            def start(element: str, attributes: Attributes) -> None:
                nonlocal style, sheet
                if value_type in attributes:
                    filled.add(sheet)
                elif element == of_style:
                    style = attributes.get(named, "")
                elif element == properties and attributes.get(display) == "false":
                    hidden.add(style)
                elif element == names.sheet and names.name in attributes:
                    sheet = attributes[names.name]
                    styles[sheet] = attributes.get(style_name, "")

            return Handlers(start)

        if _MANIFEST in self.archive and self.archive.elements(_MANIFEST, "encryption-data"):
            raise self.archive.fault("excel-password", "has a password", "save it without one")
        self.archive.parse(_CONTENT, begin)
        found = styles.items()
        return [Sheet(name, own not in hidden, _CONTENT, name not in filled) for name, own in found]

    def is_blank(self, sheet: Sheet) -> bool:
        return sheet.blank

    def grid(self, sheet: Sheet) -> Grid:
        grid = Grid()
        self.archive.parse(
            _CONTENT, lambda _, root: _OdsCells(grid, sheet.name, _Names(root), roomy()).handlers()
        )
        return grid


class _Names:
    """The prefixes of names, with their colons, and the names that are asked for most."""

    def __init__(self, root: Attributes) -> None:
        declared = {uri: key.partition(":")[2] for key, uri in root.items() if key[:6] == "xmlns:"}
        prefixes = (f"{declared.get(uri, '?')}:" for uri in SPACES)
        self.table, self.office, self.text, self.style, self.calcext = prefixes
        self.sheet, self.name = self.table + "table", self.table + "name"


@dataclass
class _OdsCells:
    grid: Grid
    sheet: str
    names: _Names
    room: int  # bytes for further cells
    row: int = 0
    column: int = 0
    cells: list[tuple[int, CellKind, object]] = field(default_factory=list)  # of the row

    def handlers(self) -> Handlers:
        names = self.names
        line = names.table + "table-row"
        cell, covered = names.table + "table-cell", names.table + "covered-table-cell"
        paragraph = names.text + "p"
        asides = (names.office + "annotation", names.table + "shapes")
        pieces: list[str] = []  # of the text that was begun last
        paragraphs: list[str] = []  # of the cell
        given: Attributes = {}
        within = False  # the sheet
        aside = 0  # open elements whose texts are not the cell's
        rows = 1  # that the row stands for
        shown = True

        def start(element: str, attributes: Attributes) -> None:
            nonlocal given, within, aside, rows, shown
            if not within:
                within = element == names.sheet and attributes.get(names.name) == self.sheet
            elif element in asides:
                aside += 1
            elif aside:
                return
            elif element in (cell, covered):
                given = attributes
                paragraphs.clear()
            elif element == paragraph:
                pieces.clear()
            elif element == line:
                rows = _times(attributes, names.table + "number-rows-repeated")
                self.column = 0
                shown = attributes.get(names.table + "visibility", "visible") == "visible"
            else:
                pieces.append(self.spacing(element, attributes))

        def end(element: str) -> None:
            nonlocal within, aside
            if not within:
                return
            if element in asides:
                aside -= 1
            elif aside:
                return
            elif element == paragraph:
                paragraphs.append("".join(pieces))
            elif element in (cell, covered):
                self.take(given, "\n".join(paragraphs))
            elif element == line:
                self.take_row(rows, shown=shown)
            elif element == names.sheet:
                within = False

        def text(text: str) -> None:
            if not aside:
                pieces.append(text)

        return Handlers(start, end, text)

    def spacing(self, element: str, attributes: Attributes) -> str:
        text = self.names.text
        if element == text + "s":
            blanks = min(_times(attributes, text + "c"), _LONGEST)
            self.use(blanks)
            return " " * blanks
        return {text + "tab": "\t", text + "line-break": "\n"}.get(element, "")

    def take(self, given: Attributes, text: str) -> None:
        table, spot = self.names.table, Spot(self.row, self.column)
        times = _times(given, table + "number-columns-repeated")
        self.column += times
        across = _times(given, table + "number-columns-spanned")
        down = _times(given, table + "number-rows-spanned")
        if across > 1 or down > 1:
            last = Spot(spot.row + down - 1, spot.column + across - 1)
            self.grid.merged.append(Merge(spot, last))
        cell = self.cell(given, text)
        if cell is not None:
            if self.column > MOST_COLUMNS:
                raise ValueError("a cell outside of any sheet")
            self.cells += ((spot.column + n, *cell) for n in range(times))
        elif table + "formula" in given and self.names.office + "value-type" not in given:
            self.grid.uncalculated.append(spot)

    def cell(self, given: Attributes, text: str) -> tuple[CellKind, object] | None:
        office = self.names.office
        failed = given.get(self.names.calcext + "value-type") == "error"
        if failed or (self.names.table + "formula" in given and FAILED.fullmatch(text)):
            return CellKind.ERROR, text or "Err"
        cell: tuple[CellKind, object]
        match given.get(office + "value-type"):
            case "float" | "percentage" | "currency":
                cell = CellKind.NUMBER, _finite(given[office + "value"])
            case "date":
                cell = CellKind.DATE, milliseconds(given[office + "date-value"])
            case "time":
                cell = CellKind.TIME, _span(given[office + "time-value"])
            case "boolean":
                cell = CellKind.BOOLEAN, given[office + "boolean-value"] == "true"
            case "string" | None:
                cell = CellKind.TEXT, given.get(office + "string-value", text)
            case _:
                raise ValueError("an unknown kind of cell")
        return None if cell[1] == "" else cell

    def take_row(self, rows: int, *, shown: bool) -> None:
        if self.cells:
            texts = sum(len(value) for _, _, value in self.cells if isinstance(value, str))
            self.use(rows * (len(self.cells) * CELL_SIZE + texts))
            for row in range(self.row, self.row + rows):
                for cell in self.cells:
                    self.grid.add(row, *cell)
            self.cells = []
            if not shown:
                self.grid.hidden.append(range(self.row, self.row + rows))
        self.row += rows

    def use(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise MemoryError


def _times(attributes: Attributes, name: str) -> int:
    return _at_least(1, attributes.get(name, "1"))


def _at_least(least: int, text: str) -> int:
    if (number := int(text)) < least:
        raise ValueError("too small a number")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _span(text: str) -> int:
    found = TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a time")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
