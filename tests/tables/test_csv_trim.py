"""Blanks around cells are left out if that is asked for, those within quotes never."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError
from cfl_cli.tables import csv_scan, source
from cfl_cli.tables import table as tables
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv import read
from cfl_cli.tables.dialect import Dialect
from cfl_cli.tables.formats import KINDS
from cfl_cli.tables.table import Place


def cells(text, **signs):
    frame = read(text.encode(), ReadOptions(KINDS["csv"], "t.csv", signs)).frame
    return [frame.columns, *([one or "" for one in row] for row in frame.rows())]


def test_blanks_stay_unless_asked():
    text = "a, b\n 1 ,2\t\n"
    assert cells(text) == [["a", " b"], [" 1 ", "2\t"]]
    assert cells(text, trim_cells="no") == cells(text)
    assert cells(text, trim_cells="yes") == [["a", "b"], ["1", "2"]]


def test_blanks_within_quotes_stay():
    assert cells('"a" , " b "\n" 1, ", "x ""y"" , z" \n', trim_cells="yes") == [
        ["a", " b "],
        [" 1, ", 'x "y" , z'],
    ]


def test_a_line_of_blanks_is_a_blank_line():
    assert cells('a,b\n1, "2"\n  \t\n \n', trim_cells="yes") == [["a", "b"], ["1", "2"]]
    with pytest.raises(DataError, match="line 3: a blank line"):
        cells('a,b\n1, "2"\n  \n3,4\n', trim_cells="yes")


@pytest.mark.parametrize(
    "text", ['a,b\n1,"x" "y"\n', 'a,b\n1,"x" y\n', 'a,b\n1, x"y"\n', 'a,b\n1, "x\n', 'a,b\n" 1,2\n']
)
def test_other_misplaced_quotes_are_still_refused(text):
    with pytest.raises(DataError, match=r"line 2: (text after|a quote)"):
        cells(text, trim_cells="yes")


def test_a_tab_between_cells_is_no_blank_and_a_blank_between_cells_neither():
    assert cells('a\t "b"\n\t 2 \n', trim_cells="yes", delimiter="\t") == [["a", "b"], ["", "2"]]
    assert cells('a "b"\n \t2\n', trim_cells="yes", delimiter=" ") == [["a", "b"], ["", "2"]]


def test_an_escaped_blank_stays():
    text = 'a,b\n \\ x\\  , "y \\" , z"\n'
    assert cells(text, trim_cells="yes", escape="\\") == [["a", "b"], [" x ", 'y " , z']]


CELLS = st.text(st.sampled_from('ab", \n\r\té'), max_size=6)
PADS = st.sampled_from(["", " ", "\t", "   "])


@st.composite
def padded(draw):
    """Rows, and a text in which blanks stand around each cell."""
    rows = draw(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=8))
    lines = []
    for row in [["a", "b"], *rows]:
        written = []
        for cell in row:
            must = {*cell} & {*',"\n\r'} or cell != cell.strip(" \t")
            quoted = must or draw(st.booleans())
            text = '"' + cell.replace('"', '""') + '"' if quoted else cell
            written.append(draw(PADS) + text + draw(PADS))
        lines.append(",".join(written))
    return rows, draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""])


@given(padded())
def test_padded_cells_are_read_to_the_character(table):
    rows, text = table
    assert cells(text, trim_cells="yes") == [["a", "b"], *rows]


@given(padded())
def test_a_bad_record_costs_no_other(table):
    rows, text = table
    head, _, body = text.partition("\n")
    data = f'{head}\n"x" y, 1\n{body}'.encode()
    options = ReadOptions(KINDS["csv"], "t.csv", {"trim_cells": "yes"}, "set aside")
    found = read(data, options)
    assert [[one or "" for one in row] for row in found.frame.rows()] == rows
    assert [reject[2] for reject in found.rejects] == ['"x" y, 1']


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_pieces_of_any_size_give_the_same_rows(tmp_path, monkeypatch, size):
    data = ('a, "b"\n' + '1 , "x\n , ""y"" "\t\n \t2, z \n' * 40).encode()
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(data))
    monkeypatch.setattr(
        source.Source, "chunks", lambda _: (data[n : n + size] for n in range(0, len(data), size))
    )
    place = Place.to_read(str(path))
    with tables.reading(place, rows=7, trim_cells="yes") as blocks:
        rows = [row for block in blocks for row in block.frame.rows()]
    assert rows == [("1", 'x\n , "y" '), ("2", "z")] * 40


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 5000, 20_000])
def test_any_number_of_blanks_is_passed(count):
    signs, pad = Dialect(",", '"', trims=True), b" " * count
    text = np.frombuffer(b"x," + pad + b'"y"' + pad + b",z" + pad, dtype=np.uint8)
    first = count + 2
    assert csv_scan.opens(text, np.array([first]), signs).all()
    assert csv_scan.closes(text, np.array([first + 2]), signs).all()
    assert not csv_scan.closes(text, np.array([1]), signs).any()
