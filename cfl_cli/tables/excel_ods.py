"""OpenDocument spreadsheets, .ods: the names of their sheets, and the cells of one."""

import math
import re
from functools import cached_property

from cfl_cli.core.quick import dataclass
from cfl_cli.errors import DataError
from cfl_cli.tables.excel_archive import Archive, Attributes, Handlers
from cfl_cli.tables.excel_grid import MOST_COLUMNS, Grid, Kind, Merge, Sheet, Spot
from cfl_cli.tables.excel_xlsx import milliseconds
from cfl_cli.tables.source import roomy

CONTENT, MANIFEST = "content.xml", "META-INF/manifest.xml"
SPACES = {
    **{
        name: f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"
        for name in ("table", "office", "text", "style")
    },
    "calcext": "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
}
TIME = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?")
FAILED = re.compile(r"#(?:N/A|NAME\?|DIV/0!|VALUE!|REF!|NUM!|NULL!)|Err:\d+")
LONGEST = 1 << 15  # characters of a cell
CELL_SIZE = 64  # bytes of memory, about


@dataclass(frozen=True)
class Book:
    """A spreadsheet of OpenDocument."""

    archive: Archive

    @cached_property
    def sheets(self) -> list[Sheet]:
        """Return the sheets, in order."""
        hidden: set[str] = set()
        styles: dict[str, str] = {}  # of the sheets
        filled: set[str] = set()

        def begin(_: str, root: Attributes) -> Handlers:
            names = _Names.of(root)
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

        self._refuse_locked()
        self.archive.parse(CONTENT, begin)
        return [
            Sheet(name, own not in hidden, CONTENT, name not in filled)
            for name, own in styles.items()
        ]

    def _refuse_locked(self) -> None:
        """Raise if the content can only be read with a password."""
        locked = []

        def start(element: str, _: Attributes) -> None:
            if element == "encryption-data":
                locked.append(element)

        if MANIFEST in self.archive:
            self.archive.elements(MANIFEST, start)
        if locked:
            raise DataError(f"{self.archive.name}: has a password: save it without one")

    def is_blank(self, sheet: Sheet) -> bool:
        """Return whether nothing is on a sheet."""
        return sheet.blank

    def grid(self, sheet: Sheet) -> Grid:
        """Return the cells of a sheet."""
        grid = Grid()
        self.archive.parse(CONTENT, lambda _, root: _Cells(grid, sheet.name, root).handlers())
        return grid


@dataclass(frozen=True)
class _Names:
    """The prefixes of names, with their colons, and the names that are asked for most."""

    table: str
    office: str
    text: str
    style: str
    calcext: str

    @classmethod
    def of(cls, root: Attributes) -> "_Names":
        """Return the prefixes that the first element declares."""
        declared = {
            uri: f"{key.partition(':')[2]}:"
            for key, uri in root.items()
            if key.startswith("xmlns:")
        }
        return cls(**{name: declared.get(uri, "?:") for name, uri in SPACES.items()})

    @property
    def sheet(self) -> str:
        """Return the element of a sheet."""
        return self.table + "table"

    @property
    def name(self) -> str:
        """Return the attribute of a sheet's name."""
        return self.table + "name"


class _Cells:
    """Takes the cells of one sheet as they come."""

    def __init__(self, grid: Grid, sheet: str, root: Attributes) -> None:
        self.grid = grid
        self.sheet = sheet
        self.names = _Names.of(root)
        self.row = self.column = 0
        self.cells: list[tuple[int, Kind, object]] = []  # of the row
        self.room = roomy()  # bytes for further cells

    def handlers(self) -> Handlers:  # noqa: C901 — a call for every element is what costs
        """Return what takes the elements of the document."""
        names = self.names
        cell, covered, line = (
            names.table + name for name in ("table-cell", "covered-table-cell", "table-row")
        )
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
        """Return the blanks that an element within a text stands for."""
        prefix, _, name = element.rpartition(":")
        if f"{prefix}:" != self.names.text:
            return ""
        if name == "s":
            blanks = min(_times(attributes, self.names.text + "c"), LONGEST)
            self.use(blanks)
            return " " * blanks
        return {"tab": "\t", "line-break": "\n"}.get(name, "")

    def take(self, given: Attributes, text: str) -> None:
        """Note a cell that holds something, as often as it is repeated."""
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

    def cell(self, given: Attributes, text: str) -> tuple[Kind, object] | None:
        """Return what a cell holds, None if that is nothing."""
        office = self.names.office
        failed = given.get(self.names.calcext + "value-type") == "error"
        if failed or (self.names.table + "formula" in given and FAILED.fullmatch(text)):
            return Kind.ERROR, text or "Err"
        cell: tuple[Kind, object]
        match given.get(office + "value-type"):
            case "float" | "percentage" | "currency":
                cell = Kind.NUMBER, _finite(given[office + "value"])
            case "date":
                cell = Kind.DATE, milliseconds(given[office + "date-value"])
            case "time":
                cell = Kind.TIME, _span(given[office + "time-value"])
            case "boolean":
                cell = Kind.BOOLEAN, given[office + "boolean-value"] == "true"
            case "string" | None:
                cell = Kind.TEXT, given.get(office + "string-value", text)
            case _:
                raise ValueError("an unknown kind of cell")
        return None if cell[1] == "" else cell

    def take_row(self, rows: int, *, shown: bool) -> None:
        """Add the cells of a row, as often as it is repeated."""
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
        """Take some bytes of the memory, or raise if there are not as many."""
        self.room -= size
        if self.room < 0:
            raise MemoryError


def _times(attributes: Attributes, name: str) -> int:
    text = attributes.get(name)
    number = 1 if text is None else int(text)
    if number < 1:
        raise ValueError("less than once")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _span(text: str) -> int:
    """Return a time such as PT08H15M00S in milliseconds."""
    found = TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a time")
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
