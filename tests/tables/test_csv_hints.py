"""A table whose records do not fit together is explained in one line that says what to do."""

import csv
import io
import random
from random import Random

import pytest
from builders.dialects import KINDS_OF_FILES, cells, following

from cfl_cli.errors import DataError
from cfl_cli.tables import table
from cfl_cli.tables import table as tables
from cfl_cli.tables.sniff import sniff
from cfl_cli.tables.table import Place

EXPLAINED = {
    "name, first;age\nDoe, Jo;5\nRoe;6\n": "line 1: 2 columns with ',', but ';' separates 2 cells in every line: add --delimiter ';', or file: {delimiter: \";\"} in the sch",
    "a\tb\n1,5\t2\n": "line 1: 1 column with ',', but tab separates 2 cells in every line: add --delimiter tab, or file: {delimiter: tab} in the schema",
    "Survey 2024\nid,age\n1,20\n2,30\n": "line 2 looks like the header: delete line 1",
    "id,b,c\n1,39,3,x\n2,37,1,y\n": "line 2: 4 cells, but the header has 3: is 39,3 a number wit",
    "t,u\nx,39,3\ny,37,1\n": "line 2: 3 cells, but the header has 2: is 39,3 a number with a decim",
    'x,y\n"1",4,5\n"2",6,7\n': "line 2: 3 cells, but the header has 2: the header has no name fo",
    'x,y\n"Mazda",4,5\n"Fiat",6,7\n': "line 2: 3 cells, but the header has 2: the header has "
    "no name for R's row names: begin line 1 with row, or write the table "
    "with col.names=NA or row.names=FALSE",
    "a,b\n1,2,\n3,4,\n": "line 2: 3 cells, but the header has 2: every line except the header ends wi",
    "sep=;\na;b\n1;2\n3\n": "line 4: 1 cell, but the header has 2",
    "sep=;\na;a\n": "line 2: duplicate column 'a'",
    "a,b,\n1,2,\n3,4,\n": "line 1: every line ends with ',', so column 3 has no name: remove the last",
    "a,b,c\n1,2,3\n4,5\n6,7\n8,9,0\n": "lines 3 and 4: 2 and 2 cells, but the header has 3: put a ",
    "sep=;\na;b;c\n1;2;x\ny\n": "line 4: 1 cell, but the header has 3",
    ",a,\n0,1,2\n": "line 1: column 3 has no name: name it, or remove the column",
    f"a,b\n{'1' * 5000},2,3\n{'2' * 5000},2,3\n": "line 2: 3 cells, but the header has 2",
    "a,b\n1,2\n3\n4,5\n": "line 3: 1 cell, but the header has 2",
    '"a","b"\r"1","2"\r"3","4"\r': "a carriage return without a line feed: end lines with LF or ",
    '"a";"b"\r"1";"2"\r"3";"4"\r': "a carriage return without a line feed: end lines with LF or ",
    "a,b\nx\\, y,2\nz\\, w,4\n": "line 2: 3 cells, but the header has 2; \\ seems to be an escape character: add --escape '\\'",
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


# How a text table is written is found from its bytes, or it is left to the strict reader.

NASTY = {  # text → delimiter, columns, line of the header; None: one column
    "a,b\n1,x; y\n2,y; z\n3,x\n": (",", 2, 1),
    "a;b\n1;39,3\n2;37,1\n": (";", 2, 1),
    "id;temp;weight\n1;39,3;70,5\n2;37,1;81,2\n": (";", 3, 1),
    "name, first;age\nDoe, Jo;5\nRoe, Al;6\n": (";", 2, 1),
    'a,b\n"Doe, Jo",1\n"Roe, Al",2\n': (",", 2, 1),
    "a|b\n1,5|x;y\n2,5|z;w\n": ("|", 2, 1),
    "a\tb\nx, y\t1\nz, w\t2\n": ("\t", 2, 1),
    "Report 2024\n\na;b\n1;2\n3;4\n": (";", 2, 3),
    "Report;;\n;;\nid;age;dx\n1;2;x\n2;3;y\n": (";", 3, 3),
    "Report\na;b\n1;2\n3;4\n": (";", 2, 2),
    ",x,y\n0,1,2\n1,3,4\n": (",", 3, 1),
    "country;2019;2020\nDE;1,5;2\nFR;3;4,5\n": (";", 3, 1),
    "sep=;\na;b,c\n1;2\n": (";", 2, 2),
    "notes\nhello; world\nfoo; bar\n": None,
    "tags\na;b\nc;d\ne;f\n": None,
    "just one\ncolumn\n": None,
    "": None,
    "a;b;c\n": (";", 3, 1),
    "t;u\n12:30:00;1\n13:45:10;2\n": (";", 2, 1),
    'a;b\n"x\ny; z, w";1\n"q";2\n': (";", 2, 1),
    "a;b\n1;2\n\n\n": (";", 2, 1),
    "u,v\nhttp://x.org/a;b,1\nhttp://y.org,2\n": (",", 2, 1),
    "a;b;c\n1;2;3\n4;5\n6;7;8\n": (";", 3, 1),  # the reader names line 3
}


@pytest.mark.parametrize("text", NASTY)
def test_nasty_texts_are_seen_through(text):
    shape = sniff(text.encode()).shape
    assert (shape and (shape.delimiter, shape.columns, shape.line)) == NASTY[text]


def random_text(rng):
    cells = [
        lambda: str(rng.randint(0, 999)),
        lambda: f"{rng.uniform(0, 9):.1f}".replace(".", ","),
        lambda: rng.choice(["Doe, Jo", "Roe; Al", "x|y", ""]),
        lambda: "; ".join(rng.sample(["flu", "cold", "cough", "none"], rng.randint(1, 3))),
        lambda: f"{rng.randint(1, 28)}.{rng.randint(1, 12)}.2024",
        lambda: f'the "{rng.choice("abc")}", one\nor two',
    ]
    sign, columns = rng.choice(",;\t|"), rng.randint(2, 8)
    kinds = [rng.choice(cells) for _ in range(columns)]
    out = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    writer = csv.writer(out, delimiter=sign, quoting=quoting)
    writer.writerow([f"column {n}, {'wide;' * (n % 2)}" for n in range(columns)])
    writer.writerows([[cell() for cell in kinds] for _ in range(rng.choice([2, 5, 20]))])
    return sign, columns, out.getvalue()


def test_delimiters_of_random_tables_are_found():
    rng = random.Random(17)
    for _ in range(60):
        sign, columns, text = random_text(rng)
        shape = sniff(text.encode()).shape
        assert (shape.delimiter, shape.columns, shape.line) == (sign, columns, 1), text


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "cp1250"]
)
def test_encodings_are_found_and_only_guesses_are_doubtful(tmp_path, encoding):
    text = "ort;n\nŁódź;1\nKraków;2\n" if encoding == "cp1250" else "ort;n\nKöln;1\nGüstrow;2\n"
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    table, found = tables.read_sniffed(Place.to_read(str(path)))
    assert table.frame["ort"].to_list() == [line.split(";")[0] for line in text.split()[1:]]
    doubts = [note for note in found.notes() if note.startswith("?")]
    words = repr(table.frame["ort"].to_list())[1:-1]
    guessed = f"? encoding {encoding} guessed from {words} in 2 cells"
    assert doubts == ([guessed] if encoding.startswith("cp") else [])


def test_what_is_given_or_not_delimited_is_not_sniffed_and_a_title_is_to_be_deleted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a;b,c\nä;1,2\n".encode("cp1252"))
    table, found = tables.read_sniffed(
        Place.to_read(str(path)), delimiter=",", encoding="iso-8859-15"
    )
    assert table.frame.to_dicts() == [{"a;b": "ä;1", "c": "2"}]
    assert not [*found.notes()]
    path = tmp_path / "t.csv"
    path.write_text("Survey\n\nid,age\n1,20\n2,30\n")
    with pytest.raises(DataError, match=r"t\.csv: line 3 looks like the header: delete lines 1 an"):
        tables.read_sniffed(Place.to_read(str(path)))
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "x;y"}\n')
    table, found = tables.read_sniffed(Place.to_read(str(path)))
    assert (table.frame.to_dicts(), found) == ([{"a": "x;y"}], None)


def test_the_other_quote_is_found_and_two_delimiters_that_fit_alike_are_doubtful():
    assert sniff(b"a;b\n'x;y';1\n'z';2\n").dialect == {"delimiter": ";", "quote": "'"}
    assert sniff(b"a;b\nO'Neil;1\n'tis;2\n").dialect == {"delimiter": ";"}
    notes = [*sniff(b"a;b,c\nx;y,z\nu;v,w\n").notes()]
    assert notes == ["? ';' would give 2 cells in every line"]


def test_lines_that_repeat_the_header_and_a_first_one_without_names_are_doubtful():
    lines = ["id,name", "1,a", '2,"b', 'c"', "id,name", "3,d", "id2,nam", "id,name"]
    for end in ("\n", "\r\n"):
        notes = [*sniff(end.join(lines).encode()).notes()]
        assert notes == [f"? line {line} repeats the header: delete it" for line in (5, 8)]
    notes = [*sniff(b"1,20\n2,30\n").notes()]
    do = "add a line with the column names above it, or --header none"
    assert notes == [f"? line 1 looks like data, not like column names: if so, {do}"]
