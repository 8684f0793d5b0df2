"""Sheets of Excel and OpenDocument books → data frames, strictly: nothing is lost in silence.

What readers usually drop without a word is an error that names the cells: merged cells, formulas
that were never calculated, titles above the header. A formula that failed is its text, such as
#N/A, and a note. Excel is only read.

The XML is read here, cell by cell, and by no library for it: those take types from a sample of the
rows, cut numbers, or make cells empty that they do not understand.
"""

import codecs
import shlex
from collections.abc import Callable, Sequence
from typing import IO

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.tables import excel_ods, excel_xlsx
from cfl_cli.tables.codec import Contents, ReadOptions, Table, WriteOptions, Writer
from cfl_cli.tables.excel_archive import Archive, well_formed
from cfl_cli.tables.excel_grid import Book, Sheet
from cfl_cli.tables.excel_table import table_of
from cfl_cli.tables.formats import SAVE_AS, ZIP
from cfl_cli.tables.source import Source, roomy

BOOKS: dict[str, Callable[[Archive], Book]] = {"xlsx": excel_xlsx.Book, "ods": excel_ods.Book}
BEGIN = 4096  # bytes that show whether a file is text
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read(data: bytes, options: ReadOptions) -> Table:
    """Return the table on the sheet that is named, or on the only one."""
    name, title = options.name, options.kind.title
    _check_begin(data, options)
    with well_formed(name, title):
        archive = Archive.of(data, name=name)
        book = BOOKS[options.kind.name](archive)
        return table_of(book.grid(_chosen(book, options)), options)


def scan(source: Source, options: ReadOptions) -> Contents:
    """Read the table, whole: a book is compressed inside and cannot be gone through in blocks."""
    size, _ = source.state
    if size > roomy():
        raise ResourceError(
            f"{options.name}: {size / 1e6:,.0f} MB are too much for the memory of this machine: "
            "save the sheet as CSV UTF-8"
        )
    table = read(b"".join(source.chunks()), options)
    empty = Table(table.frame.clear(), notes=table.notes)
    return Contents(
        empty,
        table.frame.height,
        len(table.rejects),
        lambda: iter([table]),
        column=table.frame.select,
    )


def misfits(table: Table, options: WriteOptions) -> list[str]:  # noqa: ARG001 — as all have it
    """Return that nothing can be written."""
    return [_only_read(options)]


def writer(file: IO[bytes], options: WriteOptions) -> Writer:  # noqa: ARG001 — as all have it
    """Raise: Excel is only read."""
    raise UsageError(_only_read(options))


def _only_read(options: WriteOptions) -> str:
    return f"{options.name}: {options.kind.title} is only read: write .csv or .parquet"


def _chosen(book: Book, options: ReadOptions) -> Sheet:
    """Return the sheet that is named, or else the only one that is visible and not blank."""
    name, sheets = options.name, book.sheets
    if not sheets:
        raise DataError(f"{name}: no sheet inside: is it a spreadsheet?")
    if options.sheet is not None:
        named = [sheet for sheet in sheets if sheet.name == options.sheet]
        if not named:
            names = [sheet.name for sheet in sheets]
            raise UsageError(
                f"{name}: no sheet {quote(options.sheet)}{did_you_mean(options.sheet, names)}: "
                f"the sheets are {_quoted(sheets)}"
            )
        return named[0]
    shown = [sheet for sheet in sheets if sheet.visible] or sheets
    if len(shown) > 1:
        shown = [sheet for sheet in shown if not book.is_blank(sheet)] or shown[:1]
    if len(shown) > 1:
        file = name if options.is_file else f"book.{options.kind.name}"
        what = "name one" if options.is_file else "save it as a file and name one"
        example = shlex.quote(f"{file}#{shown[0].name}")
        raise UsageError(
            f"{name}: {len(shown)} sheets, {_quoted(shown)}: {what}, such as {example}"
        )
    return shown[0]


def _quoted(sheets: Sequence[Sheet]) -> str:
    return ", ".join(quote(sheet.name) for sheet in sheets)


def _check_begin(data: bytes, options: ReadOptions) -> None:
    """Raise if this is no ZIP archive, and say what it seems to be."""
    name, title = options.name, options.kind.title
    if data.startswith(ZIP):
        return
    if not data:
        raise DataError(f"{name}: the file is empty")
    begin = data[:BEGIN].lstrip(codecs.BOM_UTF8).lstrip()
    if b"\0" in begin and not data.startswith(UTF_16):
        raise DataError(f"{name}: not a well-formed {title} file: copy or export it again")
    if begin.startswith(b"<"):
        raise DataError(f"{name}: this is XML or HTML, not {title}: {SAVE_AS}")
    line = begin.partition(b"\n")[0]
    form = "jsonl" if line.startswith(b"{") else "csv"
    if b"\t" in line and not {*b",;"} & {*line}:
        form = "tsv"
    raise DataError(f"{name}: this is text, not {title}: add --input-format {form}")
