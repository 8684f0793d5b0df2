import datetime as dt

import polars as pl
import pytest
from builders.tallies import tallied
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cfl_cli.texts.dates import days, formats, two_orders


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
        (["5-7", "May"], ()),
        (["120/80", "130/85"], ()),
        (["41_10_1", "39,3"], ()),
        (["20240399", "20231231"], ()),
        (["1999", "2024"], ()),
        ([None], ()),
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
