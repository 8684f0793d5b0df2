"""Data frames → a sheet of Excel (.xlsx): texts stay texts, numbers and dates are such.

A text is written in its cell, marked as text, so that `01`, `1,5` and `=A1` stay what they are and no
formula can come of a cell. Rows are written as they come, and the same rows give the same bytes.
"""

import re
import zipfile
from dataclasses import dataclass, field
from datetime import date
from typing import IO, Any, cast

import polars as pl

from cfl_cli.errors import DataError, Problem
from cfl_cli.tables import frames
from cfl_cli.tables.codec import RowWriter, Table, WriteOptions, all_misfits, misfit, too_many
from cfl_cli.tables.excel_books import FROM_1900, MOST_COLUMNS

MOST_TEXT = 32_767  # characters of a cell
_WHOLE = 1 << 53  # whole numbers up to here are exact; larger ones are written as texts
_FIRST = date(1900, 3, 1)  # before it, calendars of spreadsheets differ: such days are texts
# What XML cannot hold, and texts that look like Excel's way to spell it.
_SPELLED = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # of each part of the archive
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPE}.worksheet+xml"/>'
        "</Types>"
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (  # of cells: 0 anything, 1 a day, 2 a moment, 3 the header
        f'<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/>'
        '</font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill>'
        '<patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
        '</fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
        '<cellXfs count="4"><xf/><xf numFmtId="14" applyNumberFormat="1"/>'
        '<xf numFmtId="22" applyNumberFormat="1"/><xf fontId="1" applyFont="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
        "</styleSheet>"
    ),
}
_SHEET = (
    f'{_HEAD}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>'
    "</sheetViews><sheetData>"
)


def misfits(table: Table, options: WriteOptions) -> list[Problem]:
    """Return a problem for every column that a sheet cannot hold."""
    name, problems = options.name, []
    columns = frames.as_polars(table.frame).get_columns()
    for column in columns:
        what, kind = "", column.dtype
        if not frames.has_text(kind):
            what = frames.type_name(kind)
        elif kind.is_float() and not column.is_finite().all():
            what = "NaN or infinity"
        elif kind == pl.String and (column.str.len_chars() > MOST_TEXT).any():
            what = f"a text of more than {MOST_TEXT:,} characters"
        if what:
            problems.append(misfit(column.name, what, name=name, remedy="write Parquet"))
        if not column.name:
            text = "a column has no name, which {file} needs: {remedy}"
            problems.append(Problem("column-without-name", text, file=name, remedy="write Parquet"))
    if len(columns) > MOST_COLUMNS:
        text = "{file}: a sheet holds {most:,} columns, and this table has {found:,}: {remedy}"
        sizes = {"most": MOST_COLUMNS, "found": len(columns), "remedy": "write .csv or .parquet"}
        problems.append(Problem("excel-too-large", text, file=name, **sizes))
    return all_misfits(problems, table, name=name)


@dataclass
class XlsxWriter(RowWriter):
    file: IO[bytes]
    name: str  # what messages call the table
    most: int  # rows below the header
    rows: int = 0
    _letters: list[str] = field(default_factory=list)
    _archive: zipfile.ZipFile | None = None
    _sheet: IO[bytes] | None = None

    def add(self, frame: Any, source: Table | None = None) -> None:
        """Write further rows, as `RowWriter` has it."""
        table = frames.as_polars(frame)
        if self.rows + table.height > self.most:
            raise too_many(self.name, self.rows + table.height, self.most)
        sheet = self._sheet or self._begun(table.columns)
        if table.height:
            numbers = pl.int_range(table.height, eager=True) + self.rows + 2
            texts = numbers.cast(pl.String)
            columns = zip(self._letters, table.get_columns(), strict=True)
            cells = [_cells(column, letters, texts) for letters, column in columns]
            lines = pl.select(
                pl.concat_str(pl.lit('<row r="'), texts, pl.lit('">'), *cells, pl.lit("</row>"))
            ).to_series()
            try:
                sheet.write("".join(lines).encode())
            except RuntimeError:  # of zipfile: Excel reads no part above 2 GiB
                text = "{file}: the sheet takes more than 2 GB, which Excel cannot open: {remedy}"
                facts = {"file": self.name, "remedy": "write .csv or .parquet"}
                raise DataError(Problem("excel-too-large", text, **facts)) from None
        self.rows += table.height

    def finish(self, report: str | None = None) -> None:
        """Write what ends the book, as `RowWriter` has it."""
        if self._sheet is not None and self._archive is not None:
            self._sheet.write(b"</sheetData></worksheet>")
            self._sheet.close()
            self._archive.close()

    def close(self) -> None:
        """Let go of the archive, as `RowWriter` has it."""
        self._sheet = self._archive = None

    def _begun(self, names: list[str]) -> IO[bytes]:
        self._archive = archive = zipfile.ZipFile(
            cast("IO[bytes]", _Forward(self.file)), "w", zipfile.ZIP_DEFLATED
        )
        for part, text in _PARTS.items():
            archive.writestr(_entry(part), f"{_HEAD}{text}".encode())
        self._letters = [_letters(place) for place in range(len(names))]
        self._sheet = sheet = archive.open(_entry("xl/worksheets/sheet1.xml"), "w")
        header = (
            f'<c r="{at}1" s="3" t="inlineStr"><is><t xml:space="preserve">{_escaped(name)}</t></is></c>'
            for at, name in zip(self._letters, names, strict=True)
        )
        sheet.write(f'{_SHEET}<row r="1">{"".join(header)}</row>'.encode())
        return sheet


class _Forward:
    """A file that cannot be sought in, so that a file and a pipe get the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush


def _entry(part: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(part, _MOMENT)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _letters(place: int) -> str:
    """Return what a sheet calls a column: A, …, Z, AA, …"""
    letters, left = "", place + 1
    while left:
        left, rest = divmod(left - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _cells(column: pl.Series, letters: str, rows: pl.Series) -> pl.Series:
    """Return a column's cells in XML; an empty one is nothing at all."""
    kind = column.dtype
    style, value = "", None
    if kind == pl.Boolean:
        style, value = ' t="b"', column.cast(pl.Int8).cast(pl.String)
    elif kind.is_integer():
        exact = column.cast(pl.Int128).abs() <= _WHOLE
        value = column.cast(pl.String).set(~exact.fill_null(value=True), None)
    elif kind.is_float():
        value = column.cast(pl.Float64).cast(pl.String)
    elif isinstance(kind, pl.Date | pl.Datetime):
        style = ' s="1"' if kind == pl.Date else ' s="2"'
        moments = column.cast(pl.Datetime("ms")).dt.timestamp("ms")
        days = moments / 86_400_000 - FROM_1900
        late = (column.cast(pl.Date) >= _FIRST).fill_null(value=True)
        value = (days.cast(pl.Int64) if kind == pl.Date else days).cast(pl.String).set(~late, None)
    texts = column.cast(pl.String)
    if value is not None:
        texts = texts.set(value.is_not_null(), None)  # those that are no numbers
    texts = _as_xml(texts.replace("", None))
    begin = pl.concat_str(pl.lit(f'<c r="{letters}'), rows, pl.lit('"'))
    text = pl.concat_str(
        begin, pl.lit(' t="inlineStr"><is><t xml:space="preserve">'), texts, pl.lit("</t></is></c>")
    )
    if value is None:
        return pl.select(text.fill_null("")).to_series()
    number = pl.concat_str(begin, pl.lit(f"{style}><v>"), value, pl.lit("</v></c>"))
    return pl.select(pl.coalesce(number, text, pl.lit(""))).to_series()


def _as_xml(texts: pl.Series) -> pl.Series:
    odd = texts.str.contains(_SPELLED.pattern.replace("(?=", "(?:")).fill_null(value=False)
    texts = texts.str.replace_many(["&", "<", ">"], ["&amp;", "&lt;", "&gt;"])
    if odd.any():
        spelled = [None if one is None else _spelled(one) for one in texts]
        texts = pl.Series(spelled, dtype=pl.String)
    return texts


def _escaped(text: str) -> str:
    return _spelled(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _spelled(text: str) -> str:
    return _SPELLED.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
