"""A table as a sheet of Excel, read back by this package, openpyxl and fastexcel."""

import datetime as dt
import io

import fastexcel
import openpyxl
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import DataError, UsageError
from cfl_cli.tables import excel_writer
from cfl_cli.tables import table as tables
from cfl_cli.tables.codec import ReadOptions, Table, read_bytes
from cfl_cli.tables.formats import KINDS, Place

MOMENT = dt.datetime.fromisoformat("2024-01-01T12:30:15")
PLACE = Place.to_write("t.xlsx")
TABLE = pl.DataFrame(
    {
        "a & <b>": ["01", "=A1+1", '<x>&"', None],
        "whole": [1, 2**60, None, -3],
        "number": [0.1, None, 1e-300, 2.5],
        "day": [dt.date(2024, 2, 29), dt.date(1900, 1, 5), None, dt.date(9999, 12, 31)],
        "moment": [MOMENT, None, None, None],
        "truth": [True, False, None, True],
        "odd": ["_x0041_", " two\nlines \r", "\x01ü😀", ""],
    }
)


def ours(data):
    return read_bytes(data, ReadOptions(KINDS["xlsx"], "t.xlsx")).frame


def test_texts_stay_texts_and_numbers_and_dates_are_such():
    data = tables.to_bytes(TABLE, PLACE)
    header, *rows = openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows()
    assert [cell.value for cell in header] == TABLE.columns
    assert [[cell.data_type for cell in row] for row in rows[:2]] == [
        ["s", "n", "n", "d", "d", "b", "s"],
        ["s", "s", "n", "s", "n", "b", "s"],  # too large to be exact; before calendars agree
    ]
    assert [cell.value for cell in rows[0][:6]] == [
        *("01", 1, 0.1, dt.datetime.fromisoformat("2024-02-29"), MOMENT, True)
    ]
    assert rows[1][0].value == "=A1+1"  # a text, no formula
    assert [row[1].value for row in rows] == [1, str(2**60), None, -3]
    again = ours(data)
    for name in ("a & <b>", "number", "truth"):
        assert again[name].equals(TABLE[name])
    assert again["odd"].to_list() == ["_x0041_", " two\nlines \r", "\x01ü😀", None]
    other = fastexcel.read_excel(data).load_sheet(0).to_polars()
    assert other["a & <b>"].to_list() == TABLE["a & <b>"].to_list()
    assert other["odd"].to_list() == again["odd"].to_list()


@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers()),
        min_size=1,
        max_size=5,
    )
)
def test_any_text_comes_back(cells):
    texts, numbers = zip(*cells, strict=True)
    frame = pl.DataFrame({"x": texts, "n": [number % 1000 for number in numbers]})
    again = ours(tables.to_bytes(frame, PLACE))
    assert again["x"].to_list() == [*texts]
    assert again["n"].to_list() == frame["n"].to_list()


def test_how_many_rows_come_at_a_time_makes_no_difference_to_the_bytes(tmp_path):
    place = Place.to_write(str(tmp_path / "t.xlsx"))
    with tables.writing(place) as writer:
        for start in range(4):
            writer.add(TABLE[start : start + 1])
        writer.finish()
    assert place.path.read_bytes() == tables.to_bytes(TABLE, PLACE)


def test_what_a_sheet_cannot_hold_is_refused_by_name(monkeypatch):
    bad = pl.DataFrame({"nan": [float("nan")], "long": ["x" * 32_768], "list": [[1]]})
    with pytest.raises(DataError) as caught:
        tables.check_holds(Table(bad), PLACE)
    assert [problem.column for problem in caught.value.problems] == ["nan", "long", "list"]
    tall = Table(pl.DataFrame({"x": [0]}).select(pl.col("x").repeat_by(1 << 20).explode()))
    with pytest.raises(DataError, match="holds 1,048,575 rows below its header, and this table"):
        tables.check_holds(tall, PLACE)
    writer = excel_writer.XlsxWriter(io.BytesIO(), "t.xlsx", 3)
    with pytest.raises(DataError, match="holds 3 rows below its header"):
        writer.add(TABLE)
    monkeypatch.setattr(excel_writer, "MOST_COLUMNS", 6)
    with pytest.raises(DataError, match="holds 6 columns, and this table has 7"):
        tables.check_holds(Table(TABLE), PLACE)


@pytest.mark.parametrize("name", ["t.xlsm", "t.ods"])
def test_other_books_are_not_written(name):
    with pytest.raises(UsageError, match=r"\.xlsx"):
        Place.to_write(name)


def test_columns_have_letters_as_in_a_sheet():
    letters = [excel_writer._letters(place) for place in (0, 25, 26, 701, 702, 16_383)]
    assert letters == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]
