"""How a text table is written is found from its bytes, or it is left to the strict reader."""

import csv
import io
import random

import pytest

from cfl_cli.errors import DataError
from cfl_cli.tables import table as tables
from cfl_cli.tables.sniff import sniff
from cfl_cli.tables.table import Place

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
    """Return a table as the csv module of Python writes it, with the delimiter."""
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
    guessed = f"? encoding {encoding} guessed from {words} (2 cells)"
    assert doubts == ([guessed] if encoding.startswith("cp") else [])


def test_what_is_given_is_not_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("a;b,c\nä;1,2\n".encode("cp1252"))
    table, found = tables.read_sniffed(
        Place.to_read(str(path)), delimiter=",", encoding="iso-8859-15"
    )
    assert table.frame.to_dicts() == [{"a;b": "ä;1", "c": "2"}]
    assert not [*found.notes()]


def test_the_other_quote_is_found_where_it_stands_around_cells():
    assert sniff(b"a;b\n'x;y';1\n'z';2\n").dialect == {"delimiter": ";", "quote": "'"}
    assert sniff(b"a;b\nO'Neil;1\n'tis;2\n").dialect == {"delimiter": ";"}


def test_two_delimiters_that_fit_alike_are_doubtful():
    notes = [*sniff(b"a;b,c\nx;y,z\nu;v,w\n").notes()]
    assert notes == ["? ';' would separate 2 cells in every line"]


def test_a_title_above_the_header_is_refused_with_the_lines_to_delete(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Survey\n\nid,age\n1,20\n2,30\n")
    with pytest.raises(DataError, match=r"t\.csv: line 3 looks like the header: delete lines 1 an"):
        tables.read_sniffed(Place.to_read(str(path)))


def test_lines_that_repeat_the_header_are_named():
    lines = ["id,name", "1,a", '2,"b', 'c"', "id,name", "3,d", "id2,nam", "id,name"]
    for end in ("\n", "\r\n"):
        notes = [*sniff(end.join(lines).encode()).notes()]
        assert notes == [f"? line {line} repeats the header: delete it" for line in (5, 8)]


def test_a_first_line_without_names_is_doubtful():
    notes = [*sniff(b"1,20\n2,30\n").notes()]
    do = "add a line of names above it, or --header none"
    assert notes == [f"? line 1 looks like cells, not like names: if so, {do}"]


def test_tables_that_are_not_delimited_are_read_as_they_are(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "x;y"}\n')
    table, found = tables.read_sniffed(Place.to_read(str(path)))
    assert (table.frame.to_dicts(), found) == ([{"a": "x;y"}], None)
