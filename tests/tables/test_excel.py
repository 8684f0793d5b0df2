import datetime as dt
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.books import ods, ods_number, ods_row, ods_text, row, sheet, xlsx, zipped

from cfl_cli.errors import CflError, DataError, ResourceError, UsageError
from cfl_cli.tables import excel, excel_books
from cfl_cli.tables import table as tables
from cfl_cli.tables.excel_books import CellKind, ShownAs, moment, shown_by
from cfl_cli.tables.formats import Place

HEAD = row(1, "a", "b")


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def read(data, name="book.xlsx", sheet="", **options):
        Path(name).write_bytes(data)
        return tables.read(Place.to_read(name + sheet), **options)

    return read


def refusal(read, *arguments, kind=DataError, **options):
    with pytest.raises(kind) as error:
        read(*arguments, **options)
    return list(error.value.texts)


def columns(table):
    return {column.name: column.to_list() for column in table.frame.get_columns()}


def test_numbers_are_whole_or_exact_and_what_is_mixed_is_text_in_full(book):
    cells = [(1, 37, 1 / 3, 1 / 3), (2, 36.6, "k.A.", 1e21), (-3, 36.65, 1.234, 0.1)]
    rows = [row(n + 2, *line) for n, line in enumerate(cells)]
    frame = book(xlsx(sheet(row(1, "whole", "float", "mixed", "big"), *rows))).frame
    expected = {"whole": pl.Int64, "float": pl.Float64, "mixed": pl.String, "big": pl.Float64}
    assert frame.schema == expected
    assert frame["whole"].to_list() == [1, 2, -3]
    assert frame["float"].to_list() == [37.0, 36.6, 36.65]
    # 1.234 would be 1234 to a column with a decimal comma: 1.2340 cannot be
    assert frame["mixed"].to_list() == ["0.3333333333333333", "k.A.", "1.2340"]
    assert frame["big"].to_list() == [1 / 3, 1e21, 0.1]


def test_texts_stay_what_they_are_also_of_formulas(book):
    texts = ["01231", " x ", "1e5", "TRUE", "a&amp;b", "_x000D_", "_x005F_x0041_", "Größe"]
    rows = [row(n, text, n) for n, text in enumerate(texts, start=2)]
    found = columns(book(xlsx(sheet(HEAD, *rows))))["a"]
    assert found == ["01231", " x ", "1e5", "TRUE", "a&b", "\r", "_x0041_", "Größe"]
    cells = ['<c t="str"><f>B1</f><v>0100</v></c>', "<c><f>1+1</f><v>2</v></c>"]
    assert columns(book(xlsx(sheet(HEAD, row(2, *cells))))) == {"a": ["0100"], "b": [2]}


def test_text_behind_thousands_of_numbers_is_kept(book):
    rows = [row(n, n, n) for n in range(2, 2003)]
    frame = book(xlsx(sheet(HEAD, *rows, row(2003, "k.A.", 7)))).frame
    assert frame.height == 2002
    assert frame["a"][-1] == "k.A."
    assert frame["a"].null_count() == 0


def test_truth_values_dates_times_percent_and_currency(book):
    first = ["45352", "45352.5", "0.34375", "0.34376157407407407", "1.0833333333333333", "0.05"]
    styles = [1, 1, 2, 2, 3, 4]
    cells = [f'<c s="{s}"><v>{v}</v></c>' for s, v in zip(styles, first, strict=True)]
    names = ["day", "moment", "minutes", "seconds", "hours", "percent", "truth", "money"]
    line = row(2, *cells, '<c t="b"><v>1</v></c>', '<c s="5"><v>1234.5</v></c>')
    frame = book(xlsx(sheet(row(1, *names), line))).frame
    assert frame.row(0, named=True) == {
        "day": dt.date(2024, 3, 1),
        "moment": dt.datetime(2024, 3, 1, 12),  # noqa: DTZ001 — a sheet has no zone
        "minutes": "08:15",
        "seconds": "08:15:01",
        "hours": "26:00",
        "percent": 0.05,
        "truth": True,
        "money": 1234.5,
    }
    settings = '<workbookPr date1904="1"/>'
    data = xlsx(sheet(HEAD, row(2, '<c s="1"><v>43890</v></c>', 1)), settings=settings)
    assert columns(book(data))["a"] == [dt.date(2024, 3, 1)]


def test_open_document_says_the_same_and_cells_that_it_repeats_are_there_as_often(book):
    line = (
        ods_number(37)
        + ods_number("36.65")
        + '<table:table-cell office:value-type="date" office:date-value="2024-03-01"/>'
        + '<table:table-cell office:value-type="date" office:date-value="2024-03-01T08:15:00"/>'
        + '<table:table-cell office:value-type="time" office:time-value="PT26H00M00S"/>'
        + '<table:table-cell office:value-type="boolean" office:boolean-value="true"/>'
        + '<table:table-cell office:value-type="string"><text:p>a<text:s text:c="2"/>b</text:p>'
        "<text:p>c</text:p><office:annotation><text:p>a comment</text:p></office:annotation></table:table-cell>"
    )
    names = ["whole", "float", "day", "moment", "hours", "truth", "text"]
    frame = book(ods(ods_text(*names), line), "book.ods").frame
    assert frame.row(0, named=True) == {
        "whole": 37,
        "float": 36.65,
        "day": dt.date(2024, 3, 1),
        "moment": dt.datetime(2024, 3, 1, 8, 15),  # noqa: DTZ001 — a sheet has no zone
        "hours": "26:00",
        "truth": True,
        "text": "a  b\nc",
    }
    sevens = ods_number(7, ' table:number-columns-repeated="2"')
    more = ods_row(sevens, ' table:number-rows-repeated="3"')
    empty = ods_row("<table:table-cell/>", ' table:number-rows-repeated="1048000"')
    data = ods(ods_text("a", "b"), more, sevens, empty)
    assert columns(book(data, "book.ods")) == {"a": [7] * 4, "b": [7] * 4}


ERROR = '<c t="e"><f>NA()</f><v>#N/A</v></c>'
UNCALCULATED = "<c><f>A1*2</f><v></v></c>"
MERGED = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
TRAPS = (
    sheet(HEAD, row(2, "x", 1), row(3, None, 2), more=MERGED),
    sheet(HEAD, row(2, "x", UNCALCULATED)),
    sheet(HEAD, row(2, "x", '<c s="1"><v>1e21</v></c>')),
    sheet(row(1, "Patients 2024"), row(3, "a", "b", "c"), row(4, "x", 1, 2)),
    sheet(row(1, "Names"), row(2, "first", "last"), row(3, "Ada", "Byron")),
    sheet(row(1, "a"), row(2, "x", 1)),
    sheet(row(1, "a", "a"), row(2, "x", 1)),
    sheet(row(1, "a", ERROR), row(2, "x", 1)),
    sheet(HEAD, row(2, "x", 1), row(5, "y", 2)),
    sheet(),
)
NAMED = """\
merged cell A2:A3: only the first of each holds the value: unmerge them and fill in the other cells
cell B2: a formula that was never calculated: open the file in Excel or LibreOffice and save it there
cell B2: formatted as a date, but no date has that number: correct it, or format it as a number
row 3 of the sheet looks like the header: delete row 1|row 2 of the sheet is blank: delete the blank row
cell B1: a column without a name: name it, or delete the column; or, if row 2 is the header, delete the rows above it
cell B1: a column without a name: name it, or delete the column
duplicate column 'a' in cells A1, B1: rename one of them
cell B1 holds '#N/A', which cannot name a column: correct it
rows 3, 4 of the sheet are blank: delete the blank rows
the sheet is empty: put the column names in its first row
"""


@pytest.mark.parametrize(("content", "named"), [*zip(TRAPS, NAMED.splitlines(), strict=True)])
def test_what_would_be_lost_is_one_line_that_names_the_cell(book, content, named):
    assert refusal(book, xlsx(content)) == [f"book.xlsx: {line}" for line in named.split("|")]


def test_all_traps_of_a_sheet_are_named_at_once_and_many_cells_are_counted(book):
    rows = [row(n, "x", UNCALCULATED) for n in range(2, 1202)]
    lines = refusal(book, xlsx(sheet(HEAD, *rows, row(1300, "y", 2), more=MERGED)))
    assert [line.split(":")[1] for line in lines] == [
        " merged cell A2",
        " cells B2, B3, B4 … (1,200 in all)",
        " rows 1202, 1203, 1204 … (98 in all) of the sheet are blank",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            ods_text("x", attributes=' table:number-rows-spanned="2"') + ods_number(1),
            "merged cell A2:A3:",
        ),
        (ods_text("x") + '<table:table-cell table:formula="of:=1"/>', "cell B2: a formula that"),
    ],
)
def test_the_traps_of_open_document_are_named_too(book, line, expected):
    (problem,) = refusal(book, ods(ods_text("a", "b"), line, ods_text("y")), "book.ods")
    assert problem.startswith(f"book.ods: {expected}")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (xlsx(sheet(HEAD, row(2, "x", ERROR), row(3, "y", 2.5))), "book.xlsx"),
        (
            ods(
                ods_text("a", "b"),
                ods_text("x") + ods_text("#N/A", attributes=' calcext:value-type="error"'),
                ods_text("y") + ods_number("2.5"),
            ),
            "book.ods",
        ),
    ],
)
def test_a_formula_that_failed_is_its_text_and_a_note_with_the_cell(book, data, name):
    table = book(data, name)
    assert columns(table) == {"a": ["x", "y"], "b": ["#N/A", "2.5"]}
    (note,) = table.notes
    assert (note.column, note.text) == ("b", "#N/A")
    expected = "cell B2 (row 1) holds '#N/A', a formula that failed: correct it, or add missing: [\"#N/A\"] to column 'b'"
    assert str(note.message) == expected


def test_an_exact_mark_that_excel_took_for_a_formula_is_explained(book):
    cell = '<c t="e"><f>flu</f><v>#NAME?</v></c>'
    (note,) = book(xlsx(sheet(HEAD, row(2, "x", cell), row(3, "y", cell)))).notes
    assert str(note.message).startswith(
        "cells B2, B3 (rows 1, 2) hold '#NAME?', a formula that failed: correct it (a text that begins with = is typed as '=), or add"
    )


def test_hidden_rows_are_read_and_counted(book):
    hidden = ("<row ", '<row hidden="1" ')
    lines = [row(n, n, "x").replace(*(hidden if n % 2 else ("", ""))) for n in range(2, 9)]
    table = book(xlsx(sheet(HEAD, *lines, '<row r="9" hidden="1"/>')))
    assert table.frame["a"].to_list() == [2, 3, 4, 5, 6, 7, 8]
    (note,) = table.notes
    expected = "3 hidden rows are read too: if they do not belong to the table, copy the visible rows to a sheet of their own"
    assert str(note.message) == expected
    filtered = ' table:visibility="filter" table:number-rows-repeated="2"'
    rows = [ods_text("a"), ods_row(ods_text("x"), filtered), ods_text("y")]
    (note,) = book(ods(*rows), "book.ods").notes
    assert str(note.message).startswith("2 hidden rows are read too")
    assert book(ods(*rows[::2]), "book.ods").notes == ()


def test_blank_rows_can_be_set_aside(book):
    table = book(xlsx(sheet(HEAD, row(2, "x", 1), row(5, "y", 2))), set_aside=True)
    assert columns(table) == {"a": ["x", "y"], "b": [1, 2]}
    assert table.rejects == [(3, "a blank row", ""), (4, "a blank row", "")]


def test_a_table_may_begin_anywhere_and_empty_cells_formatted_or_merged_are_nothing(book):
    empty = '<c s="1"/>'
    rows = [row(4, None, empty, "a", "b"), row(5, None, empty, "x", 1), row(6, None, empty)]
    assert columns(book(xlsx(sheet(*rows)))) == {"a": ["x"], "b": [1]}
    more = '<mergeCells><mergeCell ref="D1:E9"/></mergeCells>'
    assert columns(book(xlsx(sheet(HEAD, row(2, "x", 1), more=more)))) == {"a": ["x"], "b": [1]}


def test_other_spellings_of_the_xml_mean_the_same(book):
    plain = sheet("<row><c t='inlineStr'><is><t>a</t></is></c></row><row><c><v>7</v></c></row>")
    spelled = plain.replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x=")
    assert "<x:c" in spelled
    for text in (plain, spelled, f"<!-- <c r='A9'/> -->{plain}"):
        assert columns(book(xlsx(text))) == {"a": [7]}


THREE = [sheet(HEAD, row(2, letter, 1)) for letter in "xyz"]


def test_one_of_several_sheets_must_be_named_and_hidden_or_blank_ones_are_no_candidates(book):
    data = xlsx(*THREE, names=["Data", "My notes", "Codes"], states=["", "", "hidden"])
    (line,) = refusal(book, data, kind=UsageError)
    assert line == ("book.xlsx: 2 sheets, 'Data', 'My notes': name one, such as 'book.xlsx#Data'")
    assert columns(book(data, sheet="#My notes"))["a"] == ["y"]
    assert columns(book(data, sheet="#Codes"))["a"] == ["z"]
    (line,) = refusal(book, data, sheet="#data", kind=UsageError)
    expected = "book.xlsx#data: no sheet 'data' (did you mean 'Data'?): the sheets are 'Data', 'My notes', 'Codes'"
    assert line == expected
    assert columns(book(xlsx(THREE[0], sheet(), sheet())))["a"] == ["x"]
    assert columns(book(xlsx(*THREE[:2], states=["hidden"])))["a"] == ["y"]


def test_a_hidden_sheet_of_open_document_is_no_candidate(book):
    styles = '<style:style style:name="off"><style:table-properties table:display="false"/></style:style>'
    other = (
        '<table:table table:name="T" table:style-name="off"><table:table-row>'
        f"{ods_text('c')}</table:table-row><table:table-row>{ods_text('z')}</table:table-row></table:table>"
    )
    data = ods(ods_text("a"), ods_text("x"), styles=styles, more=other)
    assert columns(book(data, "book.ods")) == {"a": ["x"]}
    assert columns(book(data, "book.ods", "#T")) == {"c": ["z"]}
    data = ods(ods_text("a"), ods_text("x"), more=other)
    (line,) = refusal(book, data, "book.ods", kind=UsageError)
    assert line == "book.ods: 2 sheets, 'S1', 'T': name one, such as 'book.ods#S1'"


def test_a_file_whose_name_holds_the_sign_of_a_sheet_wins(book):
    assert columns(book(xlsx(THREE[1], names=["b.xlsx"]), "a.xlsx"))["a"] == ["y"]
    assert columns(book(xlsx(THREE[0]), "a.xlsx#b.xlsx"))["a"] == ["x"]
    Path("a.xlsx#b.xlsx").unlink()
    assert columns(tables.read(Place.to_read("a.xlsx#b.xlsx")))["a"] == ["y"]
    Path("n#1.csv").write_text("a\n1\n", encoding="utf-8")
    assert columns(tables.read(Place.to_read("n#1.csv")))["a"] == ["1"]
    place = Place.to_read("none.xlsx#S#1")
    assert (str(place.path), place.sheet) == ("none.xlsx", "S#1")


GOOD = xlsx(sheet(HEAD, row(2, "x", 1)))
GOOD_ODS = ods(ods_text("a", "b"), ods_text("x") + ods_number(1))


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"a,b\n1,2\n", "b.xlsx", "this is text, not Excel: add --input-format csv"),
        (b"a\tb\n1\t2\n", "b.ods", "this is text, not OpenDocument: add --input-format tsv"),
        (b'{"a":1}\n', "b.xlsx", "this is text, not Excel: add --input-format jsonl"),
        (b"<html><table>", "b.xlsx", "this is XML or HTML, not Excel: open it and save it as"),
        (GOOD, "b.csv", "this is Excel, not CSV: add --input-format xlsx"),
        (GOOD, "b.ods", "this is Excel, not OpenDocument: add --input-format xlsx"),
        (GOOD_ODS, "b.csv", "this is OpenDocument, not CSV: add --input-format ods"),
        (GOOD_ODS, "b.xlsx", "this is OpenDocument, not Excel: add --input-format ods"),
        (b"PAR1....PAR1", "b.xlsx", "this is Parquet, not Excel: add --input-format parquet"),
        (zipped({"t.csv": "a\n1\n"}), "t.csv", "this is a ZIP archive, not CSV: unpack it first"),
        (
            zipped({"t.csv": "a\n1\n"}),
            "t.xlsx",
            "a ZIP archive without a workbook: unpack it first",
        ),
        (
            bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600),
            "b.xlsx",
            "this is an old Excel file (.xls) or one with a password: open it and save it as",
        ),
        (b"", "b.xlsx", "the file is empty"),
        (bytes(range(256)), "b.xlsx", "not a well-formed Excel file"),
    ],
)
def test_a_file_that_is_something_else_is_told_by_its_first_bytes(book, data, name, expected):
    (line,) = refusal(book, data, name)
    assert line.startswith(f"{name}: {expected}")


LAUGHS = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>' + sheet(
    row(1, "a&b;"), row(2, 1)
)


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS,
        sheet(row(1, "a"), '<row r="2"><c r="XFE2"><v>1</v></c></row>'),
        sheet(row(1, "a"), '<row r="1048577"><c r="A1048577"><v>1</v></c></row>'),
        sheet(row(1, "a"), row(2, "<c><v>1</v></c>"), row(2, "<c><v>2</v></c>")),
        sheet(row(1, "a"), row(2, '<c t="s"><v>-1</v></c>')),
        sheet(row(1, "a"), row(2, "<c><v>inf</v></c>")),
        sheet(row(1, "a"), row(2, '<c s="99"><v>1</v></c>')),
        sheet(row(1, "a"), row(2, "<c><v>1</v>")),
    ],
)
def test_xml_that_is_out_to_mislead_is_refused(book, content):
    expected = ["book.xlsx: not a well-formed Excel file: copy or export it again"]
    assert refusal(book, xlsx(content)) == expected


def test_cells_at_the_far_end_of_a_sheet_take_no_memory(book):
    far = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    lines = refusal(book, xlsx(sheet(row(1, "a"), far)))
    assert (
        lines[0] == "book.xlsx: cell XFD1: a column without a name: name it, or delete the column"
    )


def test_what_is_larger_than_memory_is_refused_before_it_is_unpacked(book, monkeypatch):
    data = xlsx(sheet(HEAD, row(2, "x" * 10_000, 1)))
    with monkeypatch.context() as patch:
        patch.setattr(excel_books, "roomy", lambda: 5_000)
        (line,) = refusal(book, data, kind=ResourceError)
    assert "MB, too much for the memory of this machine" in line
    with monkeypatch.context() as patch:
        patch.setattr(excel, "roomy", lambda: 8)
        (line,) = refusal(book, data, kind=ResourceError)
    assert "1 row of 2 columns, 0 MB, are too much for the memory" in line
    monkeypatch.setattr(excel_books, "roomy", lambda: 64_000)
    repeated = ods_number(7, ' table:number-columns-repeated="1001"')
    (line,) = refusal(book, ods(ods_text("a"), repeated), "book.ods", kind=ResourceError)
    assert "needs more memory than is available" in line


def test_a_text_counts_in_every_cell_that_holds_it(book, monkeypatch):
    long = row(2, "x" * 1000, 1)
    again = "".join(long.replace('r="2"', f'r="{n}"').replace('2"', f'{n}"') for n in range(3, 8))
    monkeypatch.setattr(excel, "roomy", lambda: 6 * (1000 + 2 * 8) + len("ab"))
    assert book(xlsx(sheet(HEAD, long, again))).frame.height == 6
    wide = xlsx(sheet(HEAD, long, again.replace("x", "ä", 1)))
    (line,) = refusal(book, wide, kind=ResourceError)
    expected = "book.xlsx: 6 rows of 2 columns, 0 MB, are too much for the memory of this machine: save only the needed cells as CSV UTF-8"
    assert line == expected


@pytest.mark.parametrize(
    "line",
    [
        ods_row(ods_text("x" * 1000), ' table:number-rows-repeated="64"'),
        ods_text("x" * 1000, attributes=' table:number-columns-repeated="64"'),
        ods_text('<text:s text:c="32000"/>' * 3),
    ],
)
def test_a_text_that_open_document_repeats_counts_as_often(book, monkeypatch, line):
    monkeypatch.setattr(excel_books, "roomy", lambda: 64_000)
    (said,) = refusal(book, ods(ods_text("a"), line), "book.ods", kind=ResourceError)
    assert "needs more memory than is available" in said


def outcome(read, data, name):
    try:
        return columns(read(data, name))
    except CflError as error:
        return len(str(error).splitlines())


@pytest.mark.parametrize(("data", "name"), [(GOOD, "b.xlsx"), (GOOD_ODS, "b.ods")])
@pytest.mark.parametrize("times", [40, pytest.param(3_000, marks=pytest.mark.slow)])
def test_damage_is_refused_or_makes_no_difference(book, data, name, times):
    chance = random.Random(7)
    expected = {"a": ["x"], "b": [1]}
    for _ in range(times):
        cut = data[: chance.randrange(len(data))]
        place = chance.randrange(len(data))
        flipped = data[:place] + bytes([chance.randrange(256)]) + data[place + 1 :]
        for damaged in (cut, flipped):
            assert outcome(book, damaged, name) in (1, expected)


def test_other_readers_find_the_same_in_what_other_writers_write(book):
    openpyxl = pytest.importorskip("openpyxl", reason="reads books: pip install '.[test]'")
    fastexcel = pytest.importorskip("fastexcel", reason="reads books: pip install '.[test]'")
    writer = pytest.importorskip("xlsxwriter", reason="writes books: pip install '.[test]'")
    with writer.Workbook("written.xlsx", {"default_date_format": "dd.mm.yyyy hh:mm"}) as made:
        target = made.add_worksheet("Data")
        rows = [
            ["n", "t", "d", "b"],
            [1 / 3, "Größe <5 & 6", dt.datetime(2024, 3, 1, 8, 15), True],  # noqa: DTZ001 — a table's own time
            [-2.5, "a\nb", dt.datetime(1999, 12, 31), False],  # noqa: DTZ001 — a sheet has no zone
            [1e-300, " 007", dt.datetime(2000, 2, 29, 23, 59, 59), True],  # noqa: DTZ001 — a table's own time
        ]
        for number, cells in enumerate(rows):
            target.write_row(number, 0, cells)
    frame = tables.read(Place.to_read("written.xlsx")).frame
    assert [tuple(frame.columns), *frame.rows()] == [tuple(cells) for cells in rows]
    assert [*openpyxl.load_workbook("written.xlsx")["Data"].values] == [
        tuple(cells) for cells in rows
    ]
    sheet_of_other = fastexcel.read_excel("written.xlsx").load_sheet("Data")
    assert frame.rows() == sheet_of_other.to_polars().rows()
    other = openpyxl.Workbook()
    for cells in rows:
        other.active.append(cells)
    other.save("other.xlsx")
    assert tables.read(Place.to_read("other.xlsx")).frame.equals(frame)


# What a format of Excel says that a number is, and which moment.


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("General", ShownAs.NUMBER),
        ("0.00E+00", ShownAs.NUMBER),
        ('#,##0.00 "days"', ShownAs.NUMBER),
        ("[Red]0;[Blue]-0", ShownAs.NUMBER),
        ("[$-409]0.0\\d", ShownAs.NUMBER),
        ("yyyy-mm-dd", ShownAs.DATE),
        ("[$-407]d. mmmm yyyy;@", ShownAs.DATE),
        ("mmm", ShownAs.DATE),
        ("dd/mm/yy hh:mm", ShownAs.DATE),
        ("hh:mm:ss AM/PM", ShownAs.CLOCK),
        *(("mm:ss.0", ShownAs.CLOCK), ("[h]:mm:ss", ShownAs.ELAPSED), ("[mm]:ss", ShownAs.ELAPSED)),
    ],
)
def test_a_format_shows_numbers_as_what_it_says(code, expected):
    assert shown_by(code) == expected


@pytest.mark.parametrize(
    ("number", "day"),
    [
        (1, "1900-01-01"),
        (59, "1900-02-28"),
        (61, "1900-03-01"),  # Excel has a 29th of February between them
        (45352, "2024-03-01"),
        (2958465, "9999-12-31"),
    ],
)
def test_a_number_is_the_day_that_excel_shows(number, day):
    for part in (0, 0.25):
        kind, milliseconds = moment(number + part, ShownAs.DATE, from_1904=False)
        then = np.datetime64(day) + np.timedelta64(int(part * 24), "h")
        assert (kind, np.datetime64(milliseconds, "ms")) == (CellKind.DATE, then)


@pytest.mark.parametrize("number", [-1, 60, 2958466, 1e21])
def test_some_numbers_are_no_day(number):
    assert moment(number, ShownAs.DATE, from_1904=False) is None
