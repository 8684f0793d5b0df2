"""Options let honest tables in, all cells as they are written, whole and in blocks alike."""

import csv
import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import source
from cfl_cli.tables import table as tables
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.codec import read_bytes as read
from cfl_cli.tables.csv_reader import Dialect, renamed
from cfl_cli.tables.encodings import utf8_lines
from cfl_cli.tables.formats import KINDS
from cfl_cli.tables.table import Place


def load(text, **signs):
    data = text.encode() if isinstance(text, str) else text
    return read(data, ReadOptions(KINDS["csv"], "t.csv", signs))


def cells(text, **signs):
    frame = load(text, **signs).frame
    return [frame.columns, *([one or "" for one in row] for row in frame.rows())]


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        ({"skip_lines": "2"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3", "skip_lines": "1"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3", "skip_lines": "4"}, [["a", "b"], ["1", "2"]]),
        ({"header": "none", "skip_lines": "4"}, [["column_1", "column_2"], ["1", "2"]]),
    ],
)
def test_lines_are_counted_from_the_first_of_the_file(signs, expected):
    assert cells('Title "x\n\na,b\nm,s\n1,2\n', **signs) == expected


def test_a_line_that_names_the_delimiter_counts_as_a_line():
    text = "sep=;\nnote\na;b\n1;2\n"
    assert cells(text, skip_lines="2") == cells(text, header="3") == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("signs", "words"),
    [({"skip_lines": "9"}, "lower --skip-lines"), ({"header": "8"}, "lower --header")],
)
def test_more_lines_than_there_are_cannot_be_left_out(signs, words):
    with pytest.raises(DataError, match=words):
        load("a,b\n1,2\n", **signs)


@pytest.mark.parametrize(
    "signs",
    [{"header": "0"}, {"header": "x"}, {"skip_lines": "-1"}, {"escape": '"'}, {"escape": "xy"}],
)
def test_impossible_words_are_refused(signs):
    with pytest.raises(UsageError):
        Dialect(**signs)


def test_made_up_names_are_those_of_no_other_column():
    names = ["", "a", "a", "a_2", "column_1", "", "a"]
    found = renamed(names)
    assert found.names == ["column_1_2", "a", "a_3", "a_2", "column_1", "column_6", "a_4"]
    assert [(one.number, one.name, one.now) for one in found.renamed] == [
        (1, "", "column_1_2"),
        (3, "a", "a_3"),
        (6, "", "column_6"),
        (7, "a", "a_4"),
    ]


@given(st.lists(st.sampled_from(["", "a", "a_2", "column_1", "column_2_2", "b"]), max_size=9))
def test_all_names_are_there_and_different_and_right_ones_stay(names):
    found = renamed(names).names
    assert len({*found}) == len(found)
    assert all(found)
    for place, name in enumerate(names):
        if name and name not in names[:place]:
            assert found[place] == name


def test_short_records_are_filled_up_and_long_ones_make_columns():
    table = load("a,b\r\n1\r\n\r\n2,3,x,\r\n4,5\r\n", ragged="fill")
    assert table.frame.columns == ["a", "b", "column_3", "column_4"]
    assert table.frame.rows() == [
        ("1", None, None, None),
        ("2", "3", "x", None),
        ("4", "5", None, None),
    ]
    assert [note.message for note in table.notes] == [
        "1 record with fewer cells than columns filled up with empty ones",
        "1 record with more cells than columns: these are in 'column_3' to 'column_4'",
        "1 blank line left out",
    ]


FIELDS = st.text(st.sampled_from('ab",\\\n\r;é '), max_size=6)


@given(
    rows=st.lists(st.lists(FIELDS, min_size=2, max_size=2), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_python_writes_with_escapes_is_read_cell_for_cell(rows, quoting, end):
    text = io.StringIO(newline="")
    csv.writer(
        text, lineterminator=end, quoting=quoting, doublequote=False, escapechar="\\"
    ).writerows([["a", "b"], *rows])
    line_end = "cr" if end == "\r" else "lf"
    found = cells(text.getvalue(), escape="\\", line_end=line_end)
    assert found == [["a", "b"], *rows]


def test_escapes_work_without_any_quote():
    assert cells('a,b\nx\\,y,5" z\nu,\\\\\n', escape="\\", quote="none") == [
        ["a", "b"],
        ["x,y", '5" z'],
        ["u", "\\"],
    ]


def test_carriage_returns_in_quotes_stay():
    assert cells('a,b\r"x\ry",1\r\n2,3\r', line_end="cr") == [["a", "b"], ["x\ry", "1"], ["2", "3"]]


MESSY = 'Title\n\nkey,,key\n1,2\n"x\n3\\"y",4,5,6\n\n' + "7,8,9\n" * 50
HOW = {"skip_lines": "2", "rename_columns": "yes", "ragged": "fill", "escape": "\\"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_pieces_of_any_size_give_the_same_rows(tmp_path, monkeypatch, end, size):
    data = MESSY.replace("\n", end).encode()
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(data))
    how = {**HOW, "line_end": "cr"}

    def chunks(_self):
        return (data[at : at + size] for at in range(0, len(data), size))

    monkeypatch.setattr(source.Source, "chunks", chunks)
    place = Place.to_read(str(path))
    whole = tables.read(place, **how)
    with tables.reading(place, rows=7, **how) as blocks:
        rows = [row for block in blocks for row in block.frame.rows()]
        assert (blocks.height, blocks.empty.notes) == (whole.frame.height, whole.notes)
        assert blocks.empty.renamed == whole.renamed
    assert rows == whole.frame.rows()
    assert whole.frame.columns == ["key", "column_2", "key_2", "column_4"]
    assert rows[:2] == [("1", "2", None, None), (f'x{end}3"y', "4", "5", "6")]
    with tables.reading(place, rows=7, **how) as stored:
        assert stored["key_2"].to_list() == whole.frame["key_2"].to_list()


def test_pieces_end_where_a_carriage_return_ends_a_line():
    texts = utf8_lines(iter([b"a\rb\r", b"\nc\r", b"d"]), name="t", limit=99, returns=True)
    assert [*texts] == [b"a\r", b"b\r\n", b"c\rd"]


def test_bad_records_are_named_by_their_lines_in_the_file():
    with pytest.raises(
        DataError, match=r"line 5: 1 cell, but the header has 2: correct it, or add"
    ):
        load("x\ny\na,b\n1,2\n3\n4,5\n6,7\n", skip_lines="2")
    with pytest.raises(DataError, match="line 3: 1 cell, but the first record has 2"):
        load("x,2\ny,3\nz\nu,5\n", header="none")
