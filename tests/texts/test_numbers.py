"""Numbers as people write them are read, by one decimal sign; anything else is none."""

import numpy as np
import polars as pl
import pytest
from builders.tallies import tallied
from hypothesis import given, settings
from hypothesis import strategies as st

from cfl_cli.texts.numbers import Reading, Wild, number, numbers, numbers_or_plain, readings, wild


def read(*texts, decimal=None, unit=None):
    return numbers(pl.Series(texts, dtype=pl.String), decimal=decimal, unit=unit).to_list()


def test_without_a_decimal_sign_and_a_unit_numbers_are_what_polars_takes_for_them():
    texts = ["1", " 2.5 ", "1e3", "-.5", "+4", "inf", "1,5", "1 000", "", "x", None]
    assert read(*texts) == [1, 2.5, 1000, -0.5, 4, float("inf"), *[None] * 5]
    assert read("\u22121", "1e\u22122", "2", "5\u22123", "\u2212") == [-1, 0.01, 2, None, None]
    assert read("nan") == [None]


@pytest.mark.parametrize("decimal", [".", ","])
def test_signs_between_groups_of_three_are_read_with_either_decimal_sign(decimal):
    signs = ["", "," if decimal == "." else ".", *" '\u2019\u00a0\u2009\u202f"]
    texts = [f"1{sign}234{sign}567{decimal}25" for sign in signs]
    assert read(*texts, decimal=decimal) == [1234567.25] * len(signs)
    for minus in ("-", "\u2212", "- "):
        found = read(*(f"{minus}{text}" for text in texts), decimal=decimal)
        assert found == [-1234567.25] * len(signs)


def test_groups_have_three_digits_and_one_sign_that_the_decimal_sign_tells():
    texts = ["1.23", "12.3456", "0.123", "1.234.56", "1.234'567", "1,2,3", "1..234", ".234"]
    assert read(*texts, "1.2345,6", decimal=",") == [None] * 9
    other = [text.translate(str.maketrans(".,", ",.")) for text in texts]
    assert read(*other, "1,2345.6", decimal=".") == [None] * 9
    assert read("1.234", decimal=",") == [1234]
    assert read("1.234", decimal=".") == read("1.234") == [1.234]
    assert read("1,234", decimal=".") == [1234]
    assert read("39,3", ",5", "5,", "1e3", decimal=",") == [39.3, 0.5, 5, 1000]


@pytest.mark.parametrize("unit", ["€", "$", "kg", "%", "US$", "m²", "Std.", "CHF ", "a.b"])
def test_a_unit_stands_before_or_behind_with_any_blank_or_is_left_out(unit):
    sign = unit.strip()
    for blank in ("", " ", "\u00a0", "\u202f"):
        texts = [f"12.5{blank}{sign}", f"{sign}{blank}12.5", "12.5", f"-{sign}{blank}12.5"]
        assert read(*texts, unit=unit) == [12.5, 12.5, 12.5, -12.5]
        below = [f"{sign}{blank}\u221212.5", f"- 12.5{blank}{sign}"]
        assert read(*below, unit=unit) == [-12.5, -12.5]


def test_only_one_unit_is_a_unit_and_no_other():
    assert read("€5€", "5 € €", "5 kg", "€", "5 €s", unit="€") == [None] * 5
    assert read("1.234,50 €", "12,5 %", decimal=",", unit="€") == [1234.5, None]


@given(
    st.lists(st.text("0123456789.,' -+e\u00a0\u2212€", max_size=8), min_size=1),
    st.sampled_from([".", ","]),
)
@settings(max_examples=50)
def test_what_is_read_is_what_is_written_without_its_signs(texts, decimal):
    for text, found in zip(texts, read(*texts, decimal=decimal), strict=True):
        if found is not None:
            bare = text.strip().replace("\u2212", "-")
            for sign in ("," if decimal == "." else ".", "'", " ", "\u00a0"):
                bare = bare.replace(sign, "")
            assert found == float(bare.replace(",", "."))


def either(*texts, decimal=",", unit=None):
    return numbers_or_plain(pl.Series(texts, dtype=pl.String), decimal=decimal, unit=unit).to_list()


def test_beside_a_decimal_comma_only_a_point_that_separates_no_thousands_is_read():
    expected = [*(39.3, 39.3, 0.125, -7.5), *(None, None)]
    assert either("39,3", "39.3", "0.125", "-7.5", "k.A.", None) == expected
    assert either("39,3 kg", "39.3 kg", unit="kg") == [39.3, 39.3]
    for thousands in ("1.234", "1.234,5", "1.234.567"):
        assert either(thousands, "39.3")[1] is None
    assert either("1.234", "39,3") == [1234, 39.3]
    assert either("1,5", "2.5", decimal=".") == [None, 2.5]


STEPS = np.linspace(0, 1, 200)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("cells", "share"), [([10.0], 0.1), ([1000.0], 0.001), ([10.0, 1000.0], 0.001), ([-9.0], 0.1)]
)
def test_a_few_far_cells_are_wild_and_the_others_are_told(cells, share):
    found = wild(RNG.permutation(np.concatenate([STEPS, cells])))
    assert (found.low, found.high) == (0.0, 1.0)
    assert found.squeezed == pytest.approx(share)


def test_wild_cells_are_found_on_both_sides_and_as_large_as_can_be():
    assert wild(np.concatenate([STEPS, [-500.0, 499.0]])) == Wild(0.0, 1.0, 1 / 999)
    assert wild(np.concatenate([STEPS, [-1.7e308, 1.7e308]])).high == 1.0


@pytest.mark.parametrize(
    "numbers",
    [
        STEPS,
        np.concatenate([STEPS, [3.0]]),  # a quarter of the range is left to the others
        *(RNG.normal(size=5000), RNG.exponential(size=5000), RNG.lognormal(size=5000)),
        RNG.poisson(1.0, 5000).astype(float),
        np.array([0.0] * 950 + [1.0] * 9 + [20.0]),  # says something by not being 0
        np.array([0.0] * 199 + [1.0]),
        np.array([1.0, 2.0, 100.0]),  # too few to say
        np.zeros(50),
    ],
    ids=range(10),
)
def test_honest_columns_have_none(numbers):
    assert wild(numbers) is None


def test_more_than_a_thousandth_of_the_cells_are_not_wild_but_another_kind():
    assert wild(np.concatenate([STEPS, [100.0] * 4])) is None
    assert wild(np.concatenate([np.resize(STEPS, 20_000), [100.0] * 20])) is not None


POINT, GROUPED = Reading(), Reading(".", thousands=True)
COMMA = Reading(",")


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
        *((["5 kg", "7 g", "9 g"], []), (["A1", "A2", "A3"], []), (["12b", "14b", "16b"], [])),
        *((["<5", "7", "9"], []), (["007", "012"], []), (["inf", "nan"], []), (["1-2", "3-4"], [])),
        *((["1:30", "2:15"], []), (["a", "b"], []), ([None], [])),
    ],
)
def test_the_readings_that_explain_every_cell(cells, expected):
    assert [(one.decimal, one.unit) for one in readings(tallied(cells))] == expected


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
