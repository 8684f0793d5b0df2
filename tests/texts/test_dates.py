"""Dates are read as whole cells, and are the days that `datetime` counts."""

import datetime as dt
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest
from builders.tallies import tallied
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cfl_cli.texts.dates import FormatError, cycle_features, days, formats, pattern, two_orders

START = datetime(1970, 1, 1)  # noqa: DTZ001 — days are counted from it as they stand
MOMENTS = [
    datetime(1, 1, 1),  # noqa: DTZ001 — a table's own time
    datetime(1969, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001 — a table's own time
    datetime(2000, 2, 29, 6),  # noqa: DTZ001 — a table's own time
    datetime(2024, 3, 1, 12, 30, 15, 250000),  # noqa: DTZ001 — a table's own time
    datetime(9999, 12, 31, 18),  # noqa: DTZ001 — a table's own time
]
FORMATS = (
    *("%d.%m.%Y", "%m/%d/%Y %H:%M:%S", "%Y%m%d", "%Y%m%dT%H%M%S", "%d %B %Y", "%b %d, %Y"),
    *("%A, %d. %B %Y", "%d-%b-%Y %I:%M:%S %p", "%F %T.%f", "%Y/%m/%d %R", "%d%b%Y", "%%%d/%m/%Y"),
)


def count(moment):
    return (moment - START) / timedelta(days=1)


def read(*texts, format=None):
    return days(pl.Series(texts, dtype=pl.String), format=format).to_list()


def test_iso_dates_are_read_with_or_without_a_time_and_a_zone_counts():
    texts = ["2024-03-01", "2024-03-01T06:00", "2024-03-01 06:00:00", "2024-03-01T06:00:00.000"]
    assert read(*texts, " 2024-03-01\u00a0") == [19783, 19783.25, 19783.25, 19783.25, 19783]
    assert date(1970, 1, 1) + timedelta(19783) == date(2024, 3, 1)
    zones = ["Z", "+00:00", "+01:30", "-0800", "+05", " UTC"]
    found = read(*(f"2024-03-01T12:00{zone}" for zone in zones))
    hours = [0, 0, -1.5, 8, -5, 0]
    assert found == pytest.approx([19783.5 + shift / 24 for shift in hours], abs=1e-12)


def test_what_datetime_would_not_hold_is_no_date():
    texts = [
        *("2023-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "0000-01-01", "24-03-01"),
        *("2024-3-1", "20240301", "2024-03-01T24:00", "2024-03-01T12", "2024-03-01 12:60"),
        *("2024-03-01T12:00:60", "2024-03-01T12:00+24:00", "2024-03-01T12:00+01:75", "2024-03"),
        *("0001-01-01T00:00+01:00", "9999-12-31T23:00-02:00", "2024-03-01 ?", "12:30", "", "k.A."),
    ]
    assert read(*texts) == [None] * len(texts)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_of_every_kind_are_the_days_of_their_texts(unit):
    moments = [moment for moment in MOMENTS if unit != "ns" or 1700 < moment.year < 2200]
    moments = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in moments]
    found = days(pl.Series(moments).cast(pl.Datetime(unit)), format="%d.%m.%Y")
    assert found.to_list() == read(*(moment.isoformat() for moment in moments))
    assert found.to_list() == pytest.approx([count(moment) for moment in moments], abs=1e-9)


def test_moments_with_a_zone_count_as_utc_and_dates_as_midnight():
    zone = timezone(timedelta(hours=2))
    aware = [datetime(2024, 7, 1, 1, tzinfo=zone), None]
    column = pl.Series(aware, dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone("Asia/Tokyo")
    in_utc = aware[0].astimezone(UTC).replace(tzinfo=None)
    assert days(column, format=None).to_list() == [pytest.approx(count(in_utc)), None]
    assert days(pl.Series([date(2024, 7, 1), None]), format=None).to_list() == [19905, None]


@given(st.datetimes(), st.sampled_from(FORMATS))
@settings(max_examples=60)
def test_a_format_reads_what_datetime_writes_by_it(moment, form):
    spelled = form.replace("%F", "%Y-%m-%d").replace("%T", "%H:%M:%S").replace("%R", "%H:%M")
    text = moment.strftime(spelled.replace("%Y", f"{moment.year:04}"))
    assert read(text, format=form) == pytest.approx([count(datetime.strptime(text, spelled))])  # noqa: DTZ007 — as it stands


def test_two_digit_years_are_those_that_datetime_takes_them_for():
    for text in ("01.02.68", "01.02.69", "31.12.00", "1.2.99"):
        assert read(text, format="%d.%m.%y") == [count(datetime.strptime(text, "%d.%m.%y"))]  # noqa: DTZ007 — as it stands


@pytest.mark.parametrize(
    ("text", "form", "month"),
    [
        ("1. März 2024", "%d. %B %Y", 3),
        ("01 MÄRZ 2024", "%d %B %Y", 3),
        ("01 Ma\u0308rz 2024", "%d %B %Y", 3),  # with a combining mark, as macOS writes it
        ("1 févr. 2024", "%d %b %Y", 2),
        ("1er AOÛT 2024", "%der %B %Y", 8),
        ("1 de septiembre de 2024", "%d de %B de %Y", 9),
        ("1 gen 2024", "%d %b %Y", 1),
        ("1 de março de 2024", "%d de %B de %Y", 3),
        ("1 mrt. 2024", "%d %b %Y", 3),
        ("Dez 1, 2024", "%b %d, %Y", 12),
        ("SEPT. 1 2024", "%B %d %Y", 9),
    ],
)
def test_months_have_names_in_seven_languages(text, form, month):
    assert read(text, format=form) == [count(datetime(2024, month, 1))]  # noqa: DTZ001 — a table's own time


def test_hours_of_half_a_day_begin_with_12_and_digits_without_a_sign_are_two_each():
    form = "%d.%m.%Y %I:%M %p"
    times = ["12:00 am", "12:00 PM", "1:00 a.m.", "11:00 p.m.", "13:00 PM", "0:30 AM"]
    hours = read(*(f"1.1.1970 {time}" for time in times), format=form)
    assert hours[:4] == pytest.approx([0, 12 / 24, 1 / 24, 23 / 24])
    assert hours[4:] == [None, None]
    assert read("20240301", "2024031", "202403011", format="%Y%m%d") == [19783, None, None]


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("%Q", "unknown directive '%Q'"),
        ("%d.%m.%Y %", "unknown directive '%'"),
        *(("%m/%Y %H:%M", "lacks a day"), ("%d.%m.", "lacks a year"), ("%d %Y", "lacks a month")),
        *(("dd.mm.yyyy", "lacks a year"), ("%d.%m.%Y %y", "twice"), ("%d.%d.%m.%Y", "twice")),
        ("%F %I:%M", "%I and %p"),
        ("%F %H %I %p", "%H and %I"),
    ],
)
def test_a_format_that_reads_no_date_is_refused_with_a_reason(form, reason):
    with pytest.raises(FormatError, match=reason):
        pattern(form)


def test_cycles_are_circles_cut_where_years_and_weeks_begin():
    for cycle, length in (("day", 1), ("week", 7)):
        points = cycle_features(np.array([0.3, 0.3 + length / 2, 0.3 + 5 * length]), cycle)
        assert np.linalg.norm(points[0] - points[1]) == pytest.approx(1)
        assert points[0] == pytest.approx(points[2])
        assert points.min() >= 0
        assert points.max() <= 1
    moments = [datetime(2023, 1, 1), datetime(2023, 7, 2, 12), datetime(2024, 7, 2), START]  # noqa: DTZ001 — a table's own time
    points = cycle_features(np.array([count(moment) for moment in moments]), "year")
    assert points == pytest.approx(np.array([[1, 0.5], [0, 0.5], [0, 0.5], [1, 0.5]]))
    monday = count(datetime(2024, 3, 4))  # noqa: DTZ001 — a table's own time
    assert date(2024, 3, 4).isoweekday() == 1
    assert cycle_features(np.array([monday]), "week")[0] == pytest.approx([1, 0.5])


@pytest.mark.parametrize("format_", ["%m/%Y", "%Y年%m月", "%B %Y"])
def test_a_month_is_its_first_day(format_):
    months = [date(2024, 5, 1), date(1969, 12, 1)]
    found = days(pl.Series([month.strftime(format_) for month in months]), format=format_)
    assert found.to_list() == [(month - date(1970, 1, 1)).days for month in months]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2024-03-01", "2023-12-31"], (None,)),
        (["2024-03-01T08:15:00Z", "2023-12-31T00:00:00+01:00"], (None,)),
        (["2024-03-01 08:15:00.123", "2023-12-31 00:00:00"], (None,)),
        (["01.03.2024", "1.4.2023"], ("%d.%m.%Y",)),
        (["01/02/2024", "03/04/2023"], ("%d/%m/%Y", "%m/%d/%Y")),
        (["01/02/2024", "25/12/2023"], ("%d/%m/%Y",)),
        (["01/02/2024", "12/25/2023"], ("%m/%d/%Y",)),
        (["25/12/2023", "12/25/2023"], ()),
        (["01/02/24 08:15", "25/12/23 23:59"], ("%d/%m/%y %H:%M",)),
        (["12/25/2023 8:15 AM", "1/2/2023 11:00 PM"], ("%m/%d/%Y %I:%M %p",)),
        (["3. März 2024", "12. Mai 2023"], ("%d. %b %Y",)),
        (["3. März 2024", "12. Oktober 2023"], ("%d. %B %Y",)),
        (["3 mars 2024", "14 juillet 2023"], ("%d %B %Y",)),
        (["3 de marzo de 2024", "14 de julio de 2023"], ("%d de %B de %Y",)),
        (["03-Mar-2024", "14-Jul-2023"], ("%d-%b-%Y",)),
        (["March 3, 2024", "July 14, 2023"], ("%B %d, %Y",)),
        (["20240301", "20231231"], ("%Y%m%d",)),
        (["2024/03/01", "2023/12/31"], ("%Y/%m/%d",)),
        (["03/05-2024", "31/12-2023"], ("%d/%m-%Y",)),
        (["3. 5. 2024", "31. 12. 2023"], ("%d. %m. %Y",)),
        (["2024. 05. 03.", "2023. 12. 31."], ("%Y. %m. %d.",)),
        (["2024年5月3日", "2023年12月31日"], ("%Y年%m月%d日",)),
        (["03.05.2024 г.", "31.12.2023 г."], ("%d.%m.%Y г.",)),
        (["3 мая 2024", "31 декабря 2023"], ("%d %B %Y",)),
        (["05/2024", "12/2023"], ("%m/%Y",)),
        (["2024-05", "2023-12"], ("%Y-%m",)),
        (["2009-10", "2010-11"], ()),
        (["2024-03-01", "no"], ()),
        (["2024-02-30", "2024-03-01"], ()),
        *((["5-7", "May"], ()), (["120/80", "130/85"], ()), (["41_10_1", "39,3"], ())),
        *((["20240399", "20231231"], ()), (["1999", "2024"], ()), ([None], ())),
    ],
)
def test_the_formats_that_explain_every_cell(cells, expected):
    assert formats(tallied(cells)) == expected


@given(
    st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31)), min_size=1, max_size=5),
    st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y %H:%M", "%d-%m-%Y", "%B %d, %Y", "%Y%m%d"]),
)
def test_what_was_written_in_a_format_is_recognised_and_comes_back(days, format_):
    cells = [dt.datetime.combine(day, dt.time(7)).strftime(format_) for day in days]
    found = [one.replace("%b", "%B") for one in formats(tallied(cells))]
    assert format_ in found
    unique = all(
        dt.datetime.strptime(cell, one).date() == day  # noqa: DTZ007 — a table's own time
        for cell, day in zip(cells, days, strict=True)
        for one in found[:1]
    )
    assert unique or len(found) == 2


def test_dates_in_two_orders_are_named_by_their_rows():
    cells = ["01/02/2024", "25/12/2023", "03/04/2024", "12/25/2023"]
    assert two_orders(tallied(cells)) == (2, 4)
    assert two_orders(tallied(cells[:3])) is None
    assert two_orders(tallied(["120/80", "80/120"])) is None


ODD = st.tuples(
    st.sampled_from(
        ["2024-03-01", "2024-3-1", "01.03.2024", "1/3/24", "3. März 2024", "Mar 3, 2024",
         "20240301", "2024年3月1日", "2024-02-30", "29 feb. 2023", "03/05-2024",
         "0001-01-01", "2024. 5. 3."]
    ),
    st.sampled_from(["", " ", "T", ", "]),
    st.sampled_from(["", "08:15", "0:15 am", "00:15 PM", "12:15 p.m.", "13:00 am", "24:00", "8:5:1",
                     "08:15:60", "08:15:59.5", "08.15"]),
    st.sampled_from(["", "Z", " Z", "UTC", " UTC", "+02:00", " +0200", " +02", "+99:99", "CET"]),
).map("".join)  # fmt: skip


@settings(max_examples=50)
@example(cells=["01.03.2024 00:15 PM"])
@example(cells=["2024-03-01 08:15:00 +0200", "2024-03-01 08:15:00 UTC"])
@given(cells=st.lists(ODD, min_size=1, max_size=3, unique=True))
def test_a_format_that_is_found_reads_every_cell(cells):
    for format_ in formats(tallied(cells)):
        assert not days(pl.Series(cells), format=format_).has_nulls()


@pytest.mark.parametrize("zone", ["Z", "+02:00", "-0530", "+02", "UTC", ""])
def test_a_blank_may_stand_before_the_zone(zone):
    texts = [f"2024-03-01 08:15:00{zone}", f"2024-03-01 08:15:00 {zone}".rstrip()]
    assert formats(tallied(texts)) == (None,)
    offset = dt.datetime.fromisoformat(f"2024-03-01T08:15:00{zone.replace('UTC', 'Z')}")
    moment = offset.replace(tzinfo=offset.tzinfo or dt.UTC).timestamp() / 86400
    assert days(pl.Series(texts), format=None).to_list() == [pytest.approx(moment)] * 2
