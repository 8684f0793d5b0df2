"""Sheets of Excel and OpenDocument books → data frames, strictly: nothing is lost in silence.

What readers usually drop without a word is an error that names the cells: merged cells, formulas
that were never calculated, titles above the header. A formula that failed is its text, such as
#N/A, and a note.

The XML is read here, cell by cell, and by no library for it: those take types from a sample of the
rows, cut numbers, or make cells empty that they do not understand. calamine and fastexcel end the
process on a book of 5 kB that unpacks to more than memory holds.
"""

import codecs
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.errors import DataError, Problem, UsageError, UserText, file_problem
from cfl_cli.tables import excel_writer
from cfl_cli.tables.codec import CellNote, Contents, ReadOptions, RowWriter, Table, WriteOptions
from cfl_cli.tables.excel_books import (
    DAY,
    Archive,
    CellKind,
    Grid,
    OdsBook,
    Sheet,
    SheetColumn,
    Spot,
    XlsxBook,
    listed,
    too_large,
    well_formed,
)
from cfl_cli.tables.formats import ANEW, SAVE_AS, ZIP, add_format, only_read
from cfl_cli.tables.frames import RENAME
from cfl_cli.tables.source import Source, roomy

# The cells of a sheet → a table: its header, its rows, and what must not pass in silence.
#
# A column of numbers, truth values or dates keeps its type; whatever is mixed becomes text.

_BLANK = "a blank row"
SAVE_LESS = "save only the needed cells as CSV UTF-8"
_LOOKED_AT = 10  # rows in which a header is looked for
_WHOLE = 2.0**53  # whole numbers up to here are exact
WIDEST = 4  # bytes of a character
# A number among texts is in full, with a point whatever the column's decimal sign is. 1.234 would
# be 1234 with a decimal comma: a zero more says the same and cannot be.
GROUPED = re.compile(r"-?\d{1,3}\.\d{3}")

_Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Cells:
    number: int  # of the column
    rows: _Rows
    kinds: npt.NDArray[np.uint8]
    values: Sequence[object]

    @classmethod
    def of(cls, number: int, column: SheetColumn) -> "_Cells":
        """Return the cells of a column; a cell that occurs twice is a ValueError."""
        rows = np.array(column.rows, dtype=np.int64)
        kinds = np.frombuffer(bytes(column.kinds), dtype=np.uint8)
        values = column.values
        if (np.diff(rows) <= 0).any():
            order = np.argsort(rows, kind="stable")
            rows, kinds, values = rows[order], kinds[order], [values[n] for n in order]
            if (np.diff(rows) == 0).any():
                raise ValueError("a cell that occurs twice")
        return cls(number, rows, kinds, values)

    def without(self, row: int) -> "_Cells":
        first = int(np.searchsorted(self.rows, row, side="right"))
        return _Cells(self.number, self.rows[first:], self.kinds[first:], self.values[first:])

    def text(self, row: int) -> str | None:
        place = int(np.searchsorted(self.rows, row))
        if place == len(self.rows) or self.rows[place] != row:
            return None
        return _text(int(self.kinds[place]), self.values[place], seconds=True)


def _table_of(grid: Grid, options: ReadOptions) -> Table:
    name = options.name
    columns = [_Cells.of(number, grid.columns[number]) for number in sorted(grid.columns)]
    spots = grid.uncalculated + grid.not_dates
    used = np.unique(np.concatenate([*(c.rows for c in columns), [s.row for s in spots]]))
    rows = used.astype(np.int64)
    if not len(rows):
        what, remedy = "the sheet is empty", "put the column names in its first row"
        raise DataError(file_problem("excel-sheet-empty", name, what, remedy))
    header = [column.text(int(rows[0])) for column in columns]
    is_blank = np.ones(rows[-1] - rows[0] + 1, dtype=bool)
    is_blank[rows - rows[0]] = False
    blank = np.flatnonzero(is_blank) + rows[0]
    problems = [*_problems(grid, columns, rows, header)]
    if len(blank) and not options.set_aside:
        where, them = listed(blank + 1, "row"), "row" if len(blank) == 1 else "rows"
        verb = "is" if len(blank) == 1 else "are"
        remedy = f"delete the blank {them}{options.or_aside}"
        problems.append(_fault("blank-rows", f"{where} of the sheet {verb} blank", remedy))
    if problems:
        raise DataError(*(problem.changed(file=name) for problem in problems))
    body = rows[1:]
    texts = (value for cells in columns for value in cells.values if isinstance(value, str))
    in_texts = sum(len(text) if text.isascii() else WIDEST * len(text) for text in texts)
    if (size := len(body) * len(columns) * 8 + in_texts) > roomy():
        table = f"{count(len(body), 'row')} of {count(len(columns), 'column')}, "
        raise too_large(name, size, SAVE_LESS, what=table, verb=", are")
    below = [column.without(int(rows[0])) for column in columns]
    titled = [(str(title), cells) for title, cells in zip(header, below, strict=True)]
    frame = pl.DataFrame([_series(title, cells, body) for title, cells in titled])
    notes = []
    if hidden := int(np.isin(body, [row for rows in grid.hidden for row in rows]).sum()):
        verb, them = ("is", "it does") if hidden == 1 else ("are", "they do")
        text = "{rows} {verb} read too: if {them} not belong to the table, {remedy}"
        remedy = "copy the visible rows to a sheet of their own"
        facts = {"rows": count(hidden, "hidden row"), "verb": verb, "them": them, "remedy": remedy}
        notes.append(CellNote(None, "", Problem("excel-hidden-rows", text, **facts)))
    notes += [one for title, cells in titled for one in _failed(title, cells, body)]
    return Table(frame, [(row + 1, _BLANK, "") for row in blank.tolist()], notes=tuple(notes))


def _fault(code: str, what: str, remedy: str, cells: str = "") -> Problem:
    return file_problem(f"excel-{code}", "", f"{cells}: {what}" if cells else what, remedy)


def _problems(
    grid: Grid, columns: list[_Cells], rows: _Rows, header: list[str | None]
) -> Iterator[Problem]:
    top = int(rows[0])
    lower = _header_below(columns, rows, header)
    is_title = lower is not None and len(header) > 2 and header.count(None) == len(header) - 1
    if lower is not None and is_title:
        above = [row + 1 for row in rows.tolist() if row < lower]
        what = f"row {lower + 1} of the sheet looks like the header"
        yield _fault("title", what, f"delete {listed(above, 'row')}")
        top = lower
    merged = []
    for merge in grid.merged:
        first, last = merge
        if last.row >= top and first.row <= rows[-1]:
            inside = (one for one in columns if first.column <= one.number <= last.column)
            if any(((one.rows >= first.row) & (one.rows <= last.row)).any() for one in inside):
                merged.append(merge)
    if merged:
        what = "only the first of each holds the value"
        remedy = "unmerge them and fill in the other cells"
        yield _fault("merged-cells", what, remedy, listed(merged, "merged cell"))
    if grid.uncalculated:
        remedy = "open the file in Excel or LibreOffice and save it there"
        what = "a formula that was never calculated"
        yield _fault("not-calculated", what, remedy, listed(grid.uncalculated, "cell"))
    if grid.not_dates:
        what = "formatted as a date, but no date has that number"
        remedy = "correct it, or format it as a number"
        yield _fault("not-a-date", what, remedy, listed(grid.not_dates, "cell"))
    if is_title:
        return
    places: dict[str, list[Spot]] = {}
    unnamed = []
    for cells, name in zip(columns, header, strict=True):
        spot = Spot(int(rows[0]), cells.number)
        if name is None:
            unnamed.append(spot)
        else:
            places.setdefault(name, []).append(spot)
            if cells.rows[0] == rows[0] and cells.kinds[0] == CellKind.ERROR:
                text = "{file}: cell {cell} holds {value!r}, which cannot name a column: {remedy}"
                facts = {"cell": str(spot), "value": name, "remedy": "correct it"}
                yield Problem("excel-column-name", text, **facts)
    if unnamed and not merged:
        below = (
            ""
            if lower is None
            else f"; or, if row {lower + 1} is the header, delete the rows above it"
        )
        remedy = f"name it, or delete the column{below}"
        yield _fault("unnamed", "a column without a name", remedy, listed(unnamed, "cell"))
    for name, spots in places.items():
        if len(spots) > 1:
            text = "{file}: duplicate column {column!r} in {cells}: {remedy}"
            facts = {"cells": listed(spots, "cell"), "remedy": RENAME}
            yield Problem("duplicate-column", text, column=name, **facts)


def _header_below(columns: list[_Cells], rows: _Rows, header: list[str | None]) -> int | None:
    """Return the row that looks like the header if the first one does not, a title perhaps.

    That is one with a different text in every column, while the first row leaves some empty.
    """
    if None not in header:
        return None
    for row in rows[1:_LOOKED_AT].tolist():
        texts = [cells.text(row) for cells in columns]
        kinds = {int(cells.kinds[cells.rows == row][0]) for cells in columns if cells.text(row)}
        if None not in texts and len(set(texts)) == len(texts) and kinds == {CellKind.TEXT}:
            return int(row)
    return None


def _failed(name: str, cells: _Cells, body: _Rows) -> Iterator[CellNote]:
    spots: dict[str, list[Spot]] = {}
    for place in np.flatnonzero(cells.kinds == CellKind.ERROR).tolist():
        spot = Spot(int(cells.rows[place]), cells.number)
        spots.setdefault(str(cells.values[place]), []).append(spot)
    for text, found in spots.items():
        held = "holds" if len(found) == 1 else "hold"
        rows = np.searchsorted(body, [spot.row for spot in found]) + 1  # as other messages count
        typed = " (a text that begins with = is typed as '=)" if text == "#NAME?" else ""
        said = (
            "{cells} ({rows}) {held} {value!r}, a formula that failed: correct it{typed}, or add "
            'missing: ["{value}"] to column {column!r}'
        )
        where = {"cells": listed(found, "cell"), "rows": listed(rows, "row"), "held": held}
        fault = {"column": name, "value": UserText(text)}
        problem = Problem("excel-formula-failed", said, **fault, **where, typed=typed)
        yield CellNote(name, text, problem)


def _series(name: str, cells: _Cells, body: _Rows) -> pl.Series:
    places, values, kinds = np.searchsorted(body, cells.rows), cells.values, set(cells.kinds)
    if kinds == {CellKind.NUMBER}:
        numbers = np.full(len(body), np.nan)
        numbers[places] = np.array(values, dtype=float)
        series = pl.Series(name, numbers).fill_nan(None)
        known = numbers[places]
        whole = (known == np.round(known)).all() and (np.abs(known) <= _WHOLE).all()
        return series.cast(pl.Int64) if whole else series
    if kinds == {CellKind.DATE}:
        days_only = all(int(str(value)) % DAY == 0 for value in values)
        series = pl.Series(name, _spread(values, places, len(body)), dtype=pl.Int64)
        dates = series.cast(pl.Datetime("ms"))
        return dates.cast(pl.Date) if days_only else dates
    if kinds == {CellKind.BOOLEAN}:
        return pl.Series(name, _spread(values, places, len(body)), dtype=pl.Boolean)
    if kinds != {CellKind.TEXT}:
        pairs = [*zip(cells.kinds.tolist(), values, strict=True)]
        seconds = any(kind == CellKind.TIME and int(str(it)) % 60_000 for kind, it in pairs)
        values = [_text(kind, value, seconds=seconds) for kind, value in pairs]
    return pl.Series(name, _spread(values, places, len(body)), dtype=pl.String)


def _spread(values: Sequence[object], places: _Rows, height: int) -> list[object]:
    spread: list[object] = [None] * height
    for place, value in zip(places.tolist(), values, strict=True):
        spread[place] = value
    return spread


def _text(kind: int, value: object, *, seconds: bool) -> str:
    match kind, value:
        case CellKind.NUMBER, float():
            whole = value.is_integer() and abs(value) <= _WHOLE
            text = f"{value:.0f}" if whole else repr(value)
            return f"{text}0" if GROUPED.fullmatch(text) else text
        case CellKind.BOOLEAN, bool():
            return str(value).lower()
        case CellKind.DATE, int():
            days, time = divmod(value, DAY)
            date = str(np.datetime64(days, "D"))
            return f"{date} {_time(time, seconds=True)}" if time else date
        case CellKind.TIME, int():
            return _time(value, seconds=seconds)
        case _:
            return str(value)


def _time(milliseconds: int, *, seconds: bool) -> str:
    whole, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(whole, 60)
    text = f"{minutes // 60:02}:{minutes % 60:02}"
    if seconds:
        text += f":{second:02}"
    return f"{text}.{rest:03}" if rest else text


BEGIN = 4096  # bytes that show whether a file is text
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def scan(source: Source, options: ReadOptions) -> Contents:
    """Read the sheet that is named, or the only one; whole, as a book is compressed inside."""
    size, name = source.state[0], options.name
    if source.data is None and size > roomy():
        raise too_large(name, size, "save the sheet as CSV UTF-8", verb=" are")
    data = b"".join(source.chunks())
    if not data.startswith(ZIP):
        title, begin = options.kind.title, data[:BEGIN].lstrip(codecs.BOM_UTF8).lstrip()
        line = begin.partition(b"\n")[0]
        code, remedy = "file-other-format", ""
        if not data:
            code, what = "file-empty", "the file is empty"
        elif b"\0" in begin and not data.startswith(UTF_16):
            code, what, remedy = "file-malformed", f"not a well-formed {title} file", ANEW
        elif begin.startswith(b"<"):
            what, remedy = f"this is XML or HTML, not {title}", SAVE_AS
        else:
            form = "jsonl" if line.startswith(b"{") else "csv"
            if b"\t" in line and not {*b",;"} & {*line}:
                form = "tsv"
            what, remedy = f"this is text, not {title}", add_format(form)
        raise DataError(file_problem(code, name, what, remedy))
    with well_formed(name, options.kind.title):
        make = XlsxBook if options.kind.name == "xlsx" else OdsBook
        book = make(Archive.of(data, name=name))
        table = _table_of(book.grid(_chosen(book, options)), options)
    empty = Table(table.frame.clear(), notes=table.notes)
    height, rejected = table.frame.height, len(table.rejects)
    return Contents(empty, height, rejected, lambda: iter([table]), column=table.frame.select)


def misfits(table: Table, options: WriteOptions) -> list[Problem]:
    if options.kind.is_only_read:
        return [*only_read(options.kind, options.name).problems]
    return excel_writer.misfits(table, options)


def writer(file: IO[bytes], options: WriteOptions) -> RowWriter:
    if options.kind.most_rows is None:
        raise only_read(options.kind, options.name)
    return excel_writer.XlsxWriter(file, options.name, options.kind.most_rows)


def _chosen(book: XlsxBook | OdsBook, options: ReadOptions) -> Sheet:
    name, sheets = options.name, book.sheets
    if not sheets:
        what, remedy = "no sheet inside", "is it a spreadsheet?"
        raise DataError(file_problem("excel-no-sheet", name, what, remedy))
    if options.sheet is not None:
        named = [sheet for sheet in sheets if sheet.name == options.sheet]
        if not named:
            near = did_you_mean(options.sheet, [sheet.name for sheet in sheets])
            what = f"no sheet {quote(options.sheet)}{near}"
            remedy = f"the sheets are {_quoted(sheets)}"
            raise UsageError(file_problem("excel-other-sheet", name, what, remedy))
        return named[0]
    shown = [sheet for sheet in sheets if sheet.visible] or sheets
    if len(shown) > 1:
        shown = [sheet for sheet in shown if not book.is_blank(sheet)] or shown[:1]
    if len(shown) > 1:
        file = name if options.is_file else f"book.{options.kind.name}"
        what = "name one" if options.is_file else "save it as a file and name one of them"
        example = shlex.quote(f"{file}#{shown[0].name}")
        remedy, what = f"{what}, such as {example}", f"{len(shown)} sheets, {_quoted(shown)}"
        raise UsageError(file_problem("excel-several-sheets", name, what, remedy))
    return shown[0]


def _quoted(sheets: Sequence[Sheet]) -> str:
    return ", ".join(quote(sheet.name) for sheet in sheets)
