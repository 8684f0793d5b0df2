import pytest
from builders.tallies import tallied
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.texts.numbers import Reading, number, readings

POINT, GROUPED = Reading(), Reading(".", thousands=True)
COMMA = Reading(",")


def read(cells):
    return [(one.decimal, one.unit) for one in readings(tallied(cells))]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2", "-3"], [(None, None)]),
        (["1.5", "2", "1e-3"], [(None, None)]),
        (["1.234", "2.500"], [(None, None), (",", None)]),  # 1234, or one and a bit
        (["1.234", "0.500"], [(None, None)]),  # no group begins with 0
        (["1.234", "2.5"], [(None, None)]),
        (["39,3", "40"], [(",", None)]),
        (["1,234", "2,500"], [(".", None), (",", None)]),
        (["1,234", "2,500.5"], [(".", None)]),
        (["1.234", "12.345,6"], [(",", None)]),
        (["1 234,5", "7"], [(",", None)]),
        (["1\u202f234,5", "7"], [(",", None)]),
        (["1 234", "12 345"], [(".", None)]),
        (["1'234.5", "7"], [(".", None)]),
        (["1,2,4", "7"], []),
        (["1,23,456", "7"], []),
        (["1.234,50 €", "7,10 €"], [(",", "€")]),
        (["12,5 %", "7 %"], [(",", "%")]),
        (["$1,234.50", "$7.10"], [(".", "$")]),
        (["5 kg", "7kg", "9"], [(None, "kg")]),
        (["5 kg", "7", "9"], []),  # too few have the unit
        (["5 kg", "7 g", "9 g"], []),
        (["A1", "A2", "A3"], []),
        (["12b", "14b", "16b"], []),
        (["<5", "7", "9"], []),
        (["007", "012"], []),
        (["inf", "nan"], []),
        (["1-2", "3-4"], []),
        (["1:30", "2:15"], []),
        (["a", "b"], []),
        ([None], []),
    ],
)
def test_the_readings_that_explain_every_cell(cells, expected):
    assert read(cells) == expected


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5))
def test_numbers_written_the_german_way_come_back(values):
    cells = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in values]
    (reading,) = readings(tallied(cells))
    assert reading.decimal == ","
    assert [number(cell, reading) for cell in cells] == [round(value, 2) for value in values]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5))
def test_numbers_written_by_python_come_back(values):
    cells = [repr(value) for value in values]
    assert [number(cell, readings(tallied(cells))[0]) for cell in cells] == values


def test_a_number_with_its_unit_is_read():
    assert number("1.234,50 €", Reading(",", "€")) == 1234.5
    assert number("1.234,50", Reading(",", "€")) == 1234.5
    assert number("1.234,50 $", Reading(",", "€")) is None
    assert number("1,5", POINT) is None
    assert number("1 234", GROUPED) == 1234
    assert number("1 234", COMMA) == 1234


@pytest.mark.parametrize(
    "cells", [["\u22124", "5"], ["\u22121.234,5", "2"], ["\u22124 kg", "3 kg"]]
)
def test_the_minus_of_typesetting_is_one(cells):
    found = readings(tallied(cells))
    assert found
    assert number(cells[0], found[0]) < 0
