import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import csv_scan
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.codec import read_bytes as read
from cfl_cli.tables.csv import Dialect
from cfl_cli.tables.formats import KINDS


def load(data, *, set_aside=False, **signs):
    data = data.encode() if isinstance(data, str) else data
    table = read(data, ReadOptions(KINDS["csv"], "t.csv", signs, set_aside))
    return table.frame, table.rejects


def cells(frame):
    """All cells as text, the header first; nothing between delimiters is the empty text."""
    return [frame.columns, *([cell or "" for cell in row] for row in frame.rows())]


def by_the_letter(text):  # noqa: C901, PLR0912 — plain on purpose: it is the oracle
    """RFC 4180 character by character: the records, or None for what is no such file.

    A blank line is the record None. Lines end in LF or CRLF.
    """
    records, record, place = [], [], 0
    while place < len(text):
        begin, field = place, ""
        if text[place] == '"':
            place += 1
            while True:
                if place >= len(text):
                    return None
                if text[place] == '"' and text[place + 1 : place + 2] == '"':
                    field, place = field + '"', place + 2
                elif text[place] == '"':
                    place += 1
                    break
                else:
                    field, place = field + text[place], place + 1
        else:
            while place < len(text) and text[place] not in '",\r\n':
                field, place = field + text[place], place + 1
        record.append(field)
        rest = text[place : place + 2]
        if rest[:1] == ",":
            place += 1
            if place == len(text):
                record.append("")
        elif rest[:1] == "\n" or rest == "\r\n":
            if record == [""] and begin == place:
                record = None
            records.append(record)
            record, place = [], place + (1 if rest[0] == "\n" else 2)
        elif rest:
            return None
    return [*records, record] if record else records


def expected(text):
    """What a strict reader makes of the text: header and records, or None if it must refuse."""
    records = by_the_letter(text)
    while records and len(records) > 1 and records[-1] is None:
        records.pop()
    if not records or None in records:
        return None
    header = records[0]
    if not all(header) or len(set(header)) < len(header):
        return None
    return records if all(len(record) == len(header) for record in records) else None


def outcome(text):
    try:
        return cells(load(text)[0])
    except DataError:
        return None


@pytest.fixture(params=[[1, 3, 64, 70], csv_scan.BLOCKS], ids=["tiny blocks", "usual blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(csv_scan, "BLOCKS", request.param)


@given(rest=st.text(st.sampled_from('ab",\n\r'), max_size=30), blocks=st.sampled_from([1, 3, 65]))
def test_any_text_is_read_to_the_letter_or_refused(rest, blocks):
    text = f"h,i\n{rest}"
    usual, csv_scan.BLOCKS = csv_scan.BLOCKS, [blocks]
    try:
        assert outcome(text) == expected(text)
    finally:
        csv_scan.BLOCKS = usual


FIELDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(
    rows=st.lists(st.lists(FIELDS, min_size=3, max_size=3), max_size=12),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
def test_what_python_writes_is_read_cell_for_cell(rows, line_end, quoting):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=line_end, quoting=quoting).writerows([["a", "b", "c"], *rows])
    assert cells(load(text.getvalue())[0]) == [["a", "b", "c"], *rows]


@given(rest=st.text(st.sampled_from('ab",\n\r'), max_size=40))
def test_with_set_aside_every_line_is_either_read_or_set_aside(rest):
    text = f"h,i\n{rest}"
    frame, rejects = load(text, set_aside=True)
    if expected(text) is not None:
        assert (cells(frame), rejects) == (expected(text), [])
    else:
        assert rejects
    for _, _, record in rejects:
        assert record in text


def test_bad_records_are_set_aside_with_line_cause_and_text(blocks):
    text = 'a,b\n1,2\n3\n4,"x" y\n5,"two\nlines"\n\n6,"never\n7,8\n'
    frame, rejects = load(text, set_aside=True)
    assert cells(frame) == [["a", "b"], ["1", "2"], ["5", "two\nlines"], ["7", "8"]]
    assert [(line, record) for line, _, record in rejects] == [
        (3, "3"),
        (4, '4,"x" y'),
        (7, ""),
        (8, '6,"never'),
    ]


def test_a_table_with_every_other_line_broken_is_read_by_the_good_ones():
    text = "a,b\n" + '1,5" pipe\n2,3\n' * 4000
    frame, rejects = load(text, set_aside=True)
    assert (frame.height, len(rejects)) == (4000, 4000)


def test_quoted_empty_cells_stay_apart_from_empty_ones():
    frame, _ = load('a,b\n"",\n')
    assert frame.rows() == [("", None)]
    assert frame.write_csv() == 'a,b\n"",\n'


def test_cells_come_back_as_they_were():
    text = "a,b,c\n007,1e5,-0.0\n padded ,NA,null\ntrue,,0x1F\n"
    frame, _ = load(text)
    assert set(frame.dtypes) == {pl.String}
    assert frame.write_csv() == text


def test_doubled_quotes_in_the_header_are_undone():
    frame, _ = load('"a ""x""","b,c"\n1,2\n')
    assert frame.columns == ['a "x"', "b,c"]


def test_a_byte_order_mark_and_other_encodings_are_accepted():
    text = "a,b\nJosé,2\n"
    for encoding in ("utf-8-sig", "latin-1", "utf-16", "utf-16-le", "cp1252"):
        data = text.encode(encoding)
        signs = {} if encoding == "utf-8-sig" else {"encoding": encoding}
        assert load(data, **signs)[0].rows() == [("José", "2")]


def test_delimiter_and_quote_can_be_given():
    frame, _ = load("a;b\n'x;y';2,5\n", delimiter=";", quote="'")
    assert frame.rows() == [("x;y", "2,5")]


@pytest.mark.parametrize(
    "signs",
    [
        {"delimiter": ""},
        {"delimiter": "ab"},
        {"quote": "\n"},
        {"quote": "«"},
        {"encoding": "utf-9"},
        {"delimiter": '"'},
    ],
)
def test_impossible_signs_are_refused(signs):
    with pytest.raises(UsageError):
        Dialect(**signs)


def test_the_first_twenty_bad_records_are_named_and_the_rest_counted():
    with pytest.raises(DataError) as error:
        load("a,b\n" + "1\n" * 50)
    assert len(error.value.texts) == 20
    assert error.value.more == 30
