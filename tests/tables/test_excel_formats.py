"""What a format of Excel says that a number is, and which moment."""

import numpy as np
import pytest

from cfl_cli.tables.excel_books import Kind, Shown, moment, shown_by


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("General", Shown.NUMBER),
        ("0.00E+00", Shown.NUMBER),
        ('#,##0.00 "days"', Shown.NUMBER),
        ("[Red]0;[Blue]-0", Shown.NUMBER),
        ("[$-409]0.0\\d", Shown.NUMBER),
        ("yyyy-mm-dd", Shown.DATE),
        ("[$-407]d. mmmm yyyy;@", Shown.DATE),
        ("mmm", Shown.DATE),
        ("dd/mm/yy hh:mm", Shown.DATE),
        ("hh:mm:ss AM/PM", Shown.CLOCK),
        ("mm:ss.0", Shown.CLOCK),
        ("[h]:mm:ss", Shown.ELAPSED),
        ("[mm]:ss", Shown.ELAPSED),
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
        kind, milliseconds = moment(number + part, Shown.DATE, from_1904=False)
        then = np.datetime64(day) + np.timedelta64(int(part * 24), "h")
        assert (kind, np.datetime64(milliseconds, "ms")) == (Kind.DATE, then)


@pytest.mark.parametrize("number", [-1, 60, 2958466, 1e21])
def test_some_numbers_are_no_day(number):
    assert moment(number, Shown.DATE, from_1904=False) is None
