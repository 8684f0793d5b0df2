"""A table whose records do not fit together is explained in one line that says what to do."""

from random import Random

import pytest
from builders.dialects import KINDS_OF_FILES, cells, following

from cfl_cli.errors import DataError
from cfl_cli.tables import table
from cfl_cli.tables.table import Place

EXPLAINED = {
    "name, first;age\nDoe, Jo;5\nRoe;6\n": "line 1: 2 columns with ',', but ';' "
    "separates 2 cells in every line: add --delimiter ';', or file: {delimiter: \";\"} in the sch",
    "a\tb\n1,5\t2\n": "line 1: 1 column with ',', but tab separates 2 cells in "
    "every line: add --delimiter tab, or file: {delimiter: tab} in the schema",
    "Survey 2024\nid,age\n1,20\n2,30\n": "line 2 looks like the header: delete line 1",
    "id,b,c\n1,39,3,x\n2,37,1,y\n": "line 2: 4 cells, but the header has 3: is 39,3 a number wit",
    "t,u\nx,39,3\ny,37,1\n": "line 2: 3 cells, but the header has 2: is 39,3 a number with a decim",
    'x,y\n"1",4,5\n"2",6,7\n': "line 2: 3 cells, but the header has 2: it lacks the name of the ro",
    'x,y\n"Mazda",4,5\n"Fiat",6,7\n': "line 2: 3 cells, but the header has 2: it lacks the name "
    "of the row names, as R's write.table leaves it out: begin line 1 with row, or write the table "
    "with col.names=NA or row.names=FALSE",
    "a,b\n1,2,\n3,4,\n": "line 2: 3 cells, but the header has 2: every line but the header ends wi",
    "sep=;\na;b\n1;2\n3\n": "line 4: 1 cell, but the header has 2",
    "sep=;\na;a\n": "line 2: duplicate column 'a'",
    "a,b,\n1,2,\n3,4,\n": "line 1: every line ends with ',', so column 3 has no name: remove that",
    "a,b,c\n1,2,3\n4,5\n6,7\n8,9,0\n": "lines 3 and 4: 2 and 2 cells, but the header has 3: if a ",
    "sep=;\na;b;c\n1;2;x\ny\n": "line 4: 1 cell, but the header has 3",
    ",a,\n0,1,2\n": "line 1: column 3 has no name: name it, or leave it out",
    f"a,b\n{'1' * 5000},2,3\n{'2' * 5000},2,3\n": "line 2: 3 cells, but the header has 2",
    "a,b\n1,2\n3\n4,5\n": "line 3: 1 cell, but the header has 2",
    '"a","b"\r"1","2"\r"3","4"\r': "a carriage return without a line feed: end lines with LF or ",
    '"a";"b"\r"1";"2"\r"3";"4"\r': "a carriage return without a line feed: end lines with LF or ",
    "a,b\nx\\, y,2\nz\\, w,4\n": "line 2: 3 cells, but the header has 2; \\ seems to escape what comes behind it: add --escape '\\'",
    'a,b\n"x" y,2\n"z" w,4\n': "line 2: text after a closing quote; quotes seem to be part of the cells: add --quote none",
    'a,5" b,c\nx,2,u\ny,3,v\nz,4,w\n': "line 1: a quote inside an unquoted field; quotes seem to be part of the cells: add --quote none",
    'a,b,c\nx,2",u\ny,3",v\nz,4,w\n': "line 2: a quote inside an unquoted field; quotes seem to be part of the cells: add --quote none",
    'a,b\n"x" y,2\n"z",4\n': "line 2: text after a closing quote: double the quotes inside a field",
}


@pytest.mark.parametrize("text", EXPLAINED)
def test_records_that_do_not_fit_are_explained(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    place = Place.to_read(str(path))
    with pytest.raises(DataError) as whole:
        table.read(place)
    assert str(whole.value).startswith(f"{path}: {EXPLAINED[text]}")
    with pytest.raises(DataError) as in_blocks, table.reading(place):
        pass
    assert str(in_blocks.value) == str(whole.value)


def test_a_delimiter_that_was_given_is_questioned_only_if_all_lines_speak_against_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="1 column with ';', but ',' separates"):
        table.read(Place.to_read(str(path)), delimiter=";")
    path.write_text("cf,\nx\ny,z\n")
    assert table.read(Place.to_read(str(path)), delimiter=";").frame.columns == ["cf,"]


def test_the_line_with_which_spreadsheets_name_the_delimiter_is_understood(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfsep=;\r\na;b\r\n1;2,5\r\n")
    place = Place.to_read(str(path))
    assert table.read(place).frame.to_dicts() == [{"a": "1", "b": "2,5"}]
    with table.reading(place) as blocks:
        assert [block.frame.to_dicts() for block in blocks] == [[{"a": "1", "b": "2,5"}]]
    path.write_text("sep=;\na,b\n1,2\n")
    assert table.read(place, delimiter=",").frame.columns == ["a", "b"]


@pytest.mark.parametrize("name", ["tab", "\\t", "\t"])
def test_a_tab_can_be_typed(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text("a\tb\n1\t2\n")
    assert table.read(Place.to_read(str(path)), delimiter=name).frame.columns == ["a", "b"]


# Files of all kinds are read to the cell by the options that the messages themselves propose.

ROUNDS = 6


@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_a_file_is_read_by_following_the_messages(kind):
    for seed in range(ROUNDS):
        check(kind, seed)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS_OF_FILES)
def test_many_files_are_read_by_following_the_messages(kind):
    for seed in range(ROUNDS, 300):
        check(kind, seed)


def check(kind, seed):
    written = KINDS_OF_FILES[kind](Random(seed))
    table, how = following(written.data)
    assert table is not None, (kind, seed, how, written.data)
    assert cells(table) == written.rows, (kind, seed, how, written.data)
    if written.names:
        assert table.frame.columns == written.names
