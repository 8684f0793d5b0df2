"""Tables in CSV are read to the character, or refused: as usual, and by every option."""

import csv
import gzip
import io

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import DataError, UsageError
from cfl_cli.tables import csv_scan, source
from cfl_cli.tables import table as tables
from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.codec import read_bytes as read
from cfl_cli.tables.csv_reader import as_usual, renamed
from cfl_cli.tables.csv_scan import (
    BEHIND,
    OPEN,
    RETURNED,
    WITHIN,
    closes,
    find_records,
    next_line,
    opens,
    scan,
    split,
)
from cfl_cli.tables.dialect import Dialect, checked
from cfl_cli.tables.formats import KINDS
from cfl_cli.tables.table import Place


def loaded(text, *, set_aside=None, **dialect):
    data = text.encode() if isinstance(text, str) else text
    return read(data, ReadOptions(KINDS["csv"], "t.csv", dialect, set_aside))


def load(text, *, set_aside=False, **dialect):
    table = loaded(text, set_aside=set_aside, **dialect)
    return table.frame, table.rejects


def read_cells(text, **dialect):
    return cells(loaded(text, **dialect).frame)


def cells(frame):
    """All cells as text, the header first; nothing between delimiters is the empty text."""
    return [frame.columns, *([cell or "" for cell in row] for row in frame.rows())]


def by_the_letter(text):
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
    expected = [(3, "3"), (4, '4,"x" y'), (7, ""), (8, '6,"never')]
    assert [(line, record) for line, _, record in rejects] == expected


def test_a_table_with_every_other_line_broken_is_read_by_the_good_ones():
    frame, rejects = load("a,b\n" + '1,5" pipe\n2,3\n' * 4000, set_aside=True)
    assert (frame.height, len(rejects)) == (4000, 4000)


def test_cells_stay_as_they_were_and_quoted_empty_ones_apart():
    frame, _ = load('a,b\n"",\n')
    assert frame.rows() == [("", None)]
    assert frame.write_csv() == 'a,b\n"",\n'
    text = "a,b,c\n007,1e5,-0.0\n padded ,NA,null\ntrue,,0x1F\n"
    frame, _ = load(text)
    assert set(frame.dtypes) == {pl.String}
    assert frame.write_csv() == text
    frame, _ = load('"a ""x""","b,c"\n1,2\n')
    assert frame.columns == ['a "x"', "b,c"]


def test_encodings_delimiter_and_quote_can_be_given():
    text = "a,b\nJosé,2\n"
    for encoding in ("utf-8-sig", "latin-1", "utf-16", "utf-16-le", "cp1252"):
        data = text.encode(encoding)
        dialect = {} if encoding == "utf-8-sig" else {"encoding": encoding}
        assert load(data, **dialect)[0].rows() == [("José", "2")]
    frame, _ = load("a;b\n'x;y';2,5\n", delimiter=";", quote="'")
    assert frame.rows() == [("x;y", "2,5")]


@pytest.mark.parametrize(
    "dialect",
    [
        *({"delimiter": ""}, {"delimiter": "ab"}, {"quote": "\n"}, {"quote": "«"}),
        *({"encoding": "utf-9"}, {"encoding": "hex"}, {"encoding": "a\0b"}, {"delimiter": '"'}),
        *({"header": "0"}, {"header": "x"}, {"skip_lines": "-1"}, {"escape": '"'}),
        *({"escape": "xy"}, {"ragged": "mend"}, {"trim_cells": "perhaps"}),
    ],
)
def test_impossible_words_are_refused(dialect):
    with pytest.raises(UsageError):
        Dialect.of(checked(dialect))


def test_the_first_twenty_bad_records_are_named_and_the_rest_counted():
    with pytest.raises(DataError) as error:
        load("a,b\n" + "1\n" * 50)
    assert len(error.value.texts) == 20
    assert error.value.more == 30


# Options.


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ({"skip_lines": "2"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3", "skip_lines": "1"}, [["a", "b"], ["m", "s"], ["1", "2"]]),
        ({"header": "3", "skip_lines": "4"}, [["a", "b"], ["1", "2"]]),
        ({"header": "none", "skip_lines": "4"}, [["column_1", "column_2"], ["1", "2"]]),
    ],
)
def test_lines_are_counted_from_the_first_of_the_file(dialect, expected):
    assert read_cells('Title "x\n\na,b\nm,s\n1,2\n', **dialect) == expected


def test_a_line_that_names_the_delimiter_counts_as_a_line():
    text = "sep=;\nnote\na;b\n1;2\n"
    for how in ({"skip_lines": "2"}, {"header": "3"}):
        assert read_cells(text, **how) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize(
    ("dialect", "words"),
    [({"skip_lines": "9"}, "lower --skip-lines"), ({"header": "8"}, "lower --header")],
)
def test_more_lines_than_there_are_cannot_be_left_out(dialect, words):
    with pytest.raises(DataError, match=words):
        loaded("a,b\n1,2\n", **dialect)


def test_made_up_names_are_those_of_no_other_column():
    found = renamed(["", "a", "a", "a_2", "column_1", "", "a"])
    assert found.names == ["column_1_2", "a", "a_3", "a_2", "column_1", "column_6", "a_4"]
    expected = [(1, "", "column_1_2"), (3, "a", "a_3"), (6, "", "column_6"), (7, "a", "a_4")]
    assert [(one.number, one.name, one.now) for one in found.renamed] == expected


@given(st.lists(st.sampled_from(["", "a", "a_2", "column_1", "column_2_2", "b"]), max_size=9))
def test_all_names_are_there_and_different_and_right_ones_stay(names):
    found = renamed(names).names
    assert len({*found}) == len(found)
    assert all(found)
    for place, name in enumerate(names):
        if name and name not in names[:place]:
            assert found[place] == name


def test_short_records_are_filled_up_and_long_ones_make_columns():
    table = loaded("a,b\r\n1\r\n\r\n2,3,x,\r\n4,5\r\n", ragged="fill")
    assert table.frame.columns == ["a", "b", "column_3", "column_4"]
    expected = [("1", None, None, None), ("2", "3", "x", None), ("4", "5", None, None)]
    assert table.frame.rows() == expected
    assert [str(note.message) for note in table.notes] == [
        "1 record with fewer cells than columns, filled up with empty cells",
        "1 record with more cells than columns: the extra cells are in 'column_3' to 'column_4'",
        "1 blank line skipped",
    ]


ESCAPED = st.text(st.sampled_from('ab",\\\n\r;é '), max_size=6)


@given(
    rows=st.lists(st.lists(ESCAPED, min_size=2, max_size=2), min_size=1, max_size=8),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_python_writes_with_escapes_is_read_cell_for_cell(rows, quoting, end):
    text = io.StringIO(newline="")
    csv.writer(
        text, lineterminator=end, quoting=quoting, doublequote=False, escapechar="\\"
    ).writerows([["a", "b"], *rows])
    line_end = "cr" if end == "\r" else "lf"
    found = read_cells(text.getvalue(), escape="\\", line_end=line_end)
    assert found == [["a", "b"], *rows]


def test_escapes_work_without_any_quote():
    expected = [["a", "b"], ["x,y", '5" z'], ["u", "\\"]]
    assert read_cells('a,b\nx\\,y,5" z\nu,\\\\\n', escape="\\", quote="none") == expected


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
        assert blocks["key_2"].to_list() == whole.frame["key_2"].to_list()
    assert rows == whole.frame.rows()
    assert whole.frame.columns == ["key", "column_2", "key_2", "column_4"]
    assert rows[:2] == [("1", "2", None, None), (f'x{end}3"y', "4", "5", "6")]
    data = ('a, "b"\n' + '1 , "x\n , ""y"" "\t\n \t2, z \n' * 40).encode()
    with tables.reading(place, rows=7, trim_cells="yes") as blocks:
        rows = [row for block in blocks for row in block.frame.rows()]
    assert rows == [("1", 'x\n , "y" '), ("2", "z")] * 40


def test_bad_records_are_named_by_their_lines_in_the_file():
    words = "line 5: 1 cell, but the header has 2: correct it, or add"
    with pytest.raises(DataError, match=words):
        loaded("x\ny\na,b\n1,2\n3\n4,5\n6,7\n", skip_lines="2")
    with pytest.raises(DataError, match="line 3: 1 cell, but the first record has 2"):
        loaded("x,2\ny,3\nz\nu,5\n", header="none")


# Blanks around cells are left out if that is asked for, those within quotes never.


def test_blanks_stay_unless_asked():
    text = "a, b\n 1 ,2\t\n"
    assert read_cells(text) == [["a", " b"], [" 1 ", "2\t"]]
    assert read_cells(text, trim_cells="no") == read_cells(text)
    assert read_cells(text, trim_cells="yes") == [["a", "b"], ["1", "2"]]


def test_a_line_of_blanks_is_blank_and_a_delimiter_or_an_escaped_blank_is_none():
    assert read_cells('a,b\n1, "2"\n  \t\n \n', trim_cells="yes") == [["a", "b"], ["1", "2"]]
    with pytest.raises(DataError, match="line 3: a blank line"):
        read_cells('a,b\n1, "2"\n  \n3,4\n', trim_cells="yes")
    expected = [["a", "b"], ["", "2"]]
    assert read_cells('a\t "b"\n\t 2 \n', trim_cells="yes", delimiter="\t") == expected
    assert read_cells('a "b"\n \t2\n', trim_cells="yes", delimiter=" ") == [["a", "b"], ["", "2"]]
    text = 'a,b\n \\ x\\  , "y \\" , z"\n'
    assert read_cells(text, trim_cells="yes", escape="\\") == [["a", "b"], [" x ", 'y " , z']]


@pytest.mark.parametrize(
    "text", ['a,b\n1,"x" "y"\n', 'a,b\n1,"x" y\n', 'a,b\n1, x"y"\n', 'a,b\n1, "x\n', 'a,b\n" 1,2\n']
)
def test_other_misplaced_quotes_are_still_refused(text):
    with pytest.raises(DataError, match=r"line 2: (text after|a quote)"):
        read_cells(text, trim_cells="yes")


PADDED = st.text(st.sampled_from('ab", \n\r\té'), max_size=6)
PADS = st.sampled_from(["", " ", "\t", "   "])


@st.composite
def padded(draw):
    """Rows, and a text in which blanks stand around each cell."""
    rows = draw(st.lists(st.lists(PADDED, min_size=2, max_size=2), min_size=1, max_size=8))
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
    assert read_cells(text, trim_cells="yes") == [["a", "b"], *rows]


@given(padded())
def test_a_bad_record_costs_no_other(table):
    rows, text = table
    head, _, body = text.partition("\n")
    found = loaded(f'{head}\n"x" y, 1\n{body}'.encode(), set_aside=True, trim_cells="yes")
    assert [[one or "" for one in row] for row in found.frame.rows()] == rows
    assert [reject[2] for reject in found.rejects] == ['"x" y, 1']


# Tables that cfl wrote are read as such, whatever the schema says of others.

SAID = {"delimiter": ";", "encoding": "cp1252"}
USUAL, NOT_ENCODING = {}, {"delimiter": ";"}


@pytest.mark.parametrize(
    ("text", "encoding", "dialect"),
    [
        ("größe,cf\nÄ;,a\n", "utf-8", USUAL),
        ("x,cf\n1,a\n", "ascii", USUAL),
        ("größe;cf\n1;ä\n", "cp1252", SAID),
        ("x;cf\n1;a\n", "ascii", SAID),  # alike in both encodings
        ("x;cf\n1;ä\n", "utf-8", NOT_ENCODING),
        ("x;cf\n1;Ã\xa4, ü\n", "cp1252", SAID),  # not all of it is UTF-8
        ("x,y\n1,a\n", "ascii", SAID),  # without the column
        ("x|cf\n1|a\n", "ascii", SAID),
        ('"x;y","cf"\n1,a\n', "ascii", USUAL),
        ("größe,cf\n1,a\n", "cp1252", SAID),  # another delimiter, but not UTF-8, as cfl never does
        ("", "ascii", SAID),
    ],
)
def test_a_table_is_read_as_usual_only_if_its_bytes_show_that(text, encoding, dialect):
    options, data = ReadOptions(KINDS["csv"], "t.csv", SAID), text.encode(encoding)
    for chunks in ([data], [data[n : n + 1] for n in range(len(data))]):
        assert as_usual(options, chunks, ["cf"]).dialect == dialect


def test_an_encoding_whose_characters_have_several_bytes_is_kept():
    options = ReadOptions(KINDS["csv"], "t.csv", {"encoding": "gbk"})
    both = "模".encode("gbk")  # is UTF-8 as well
    assert both.decode("utf-8")
    assert as_usual(options, [b"cf\n" + both], ["cf"]).dialect == {"encoding": "gbk"}


# Bits, lines and a loop over characters agree on records, their widths and the first fault.

COMMA = Dialect(",", '"')


def scanned(text, dialect=COMMA):
    ends, delimiters, fault = scan(np.frombuffer(text.encode(), dtype=np.uint8), dialect)
    return ends.tolist(), delimiters.tolist(), fault


@given(
    text=st.text(st.sampled_from('ab",\n\r'), max_size=150),
    sizes=st.lists(st.integers(1, 70), min_size=1, max_size=3),
)
def test_the_size_of_the_blocks_changes_nothing(text, sizes):
    usual, csv_scan.BLOCKS = csv_scan.BLOCKS, sizes
    try:
        assert scanned(text) == by_character(text)
    finally:
        csv_scan.BLOCKS = usual


def by_character(text):
    """Return what `scan` should, by one look at every character."""
    ends, before_ends, delimiters, inside, opened = [], [], 0, False, 0
    for place, sign in enumerate(text):
        before, behind = text[place - 1 : place] or "\n", text[place + 1 : place + 2] or "\n"
        if sign == '"':
            inside = not inside
            opened = place if inside else opened
            if inside and before not in ',\n"':
                return ends, before_ends, (place, WITHIN)
            if not inside and behind not in ',\n"' and text[place + 1 : place + 3] != "\r\n":
                lone = text[place + 1 :] == "\r"  # the end of the text counts as a line feed
                if not lone:
                    return ends, before_ends, (place, BEHIND)
        elif inside:
            continue
        elif sign == "\r" and text[place + 1 : place + 2] != "\n":
            return ends, before_ends, (place, RETURNED)
        elif sign == ",":
            delimiters += 1
        elif sign == "\n":
            ends.append(place)
            before_ends.append(delimiters)
    if inside:
        return ends, before_ends, (opened, OPEN)
    if text and text[-1] != "\n":
        ends.append(len(text))
        before_ends.append(delimiters)
    return ends, before_ends, None


DIALECTS = [
    *(COMMA, Dialect(",", '"', None, returns=True), Dialect(",", None), Dialect(";", "'")),
    *(Dialect(",", '"', trims=True), Dialect(",", '"', None, returns=True, trims=True)),
]


def one_by_one(data, dialect):
    """The records and the other stretches, by a new scan from every line after a fault."""
    view, offset, records, bad = np.frombuffer(data, dtype=np.uint8), 0, [], []
    while offset < len(data):
        ends, delimiters, fault = scan(view[offset:], dialect)
        starts = [0, *(ends + 1).tolist()]
        widths = (np.diff(delimiters, prepend=0) + 1).tolist()
        records += [
            (start + offset, int(end) + offset, width)
            for start, end, width in zip(starts, ends, widths, strict=False)
        ]
        if fault is None:
            break
        at = fault.position + offset
        stop = next_line(data, at, dialect)
        bad.append((starts[-1] + offset, stop, at, fault.reason))
        offset = stop
    return records, bad


@given(
    text=st.text(st.sampled_from("a \",\n\r;'"), max_size=120),
    dialect=st.sampled_from(DIALECTS),
    chunk=st.sampled_from([1, 7, 1 << 22]),
)
def test_lines_are_records_or_faults_as_one_scan_after_the_other_says(text, dialect, chunk):
    usual, csv_scan.CHUNK = csv_scan.CHUNK, chunk
    try:
        found, bad, used = find_records(text.encode(), dialect, go_on=True)
    finally:
        csv_scan.CHUNK = usual
    columns = (found.starts.tolist(), found.ends.tolist(), found.widths.tolist())
    stretches = [(one.start, one.stop, one.position, one.reason) for one in bad]
    assert ([*zip(*columns, strict=True)], stretches) == one_by_one(text.encode(), dialect)
    assert used == len(text)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 5000, 20_000])
def test_any_number_of_blanks_is_passed(count):
    dialect, pad = Dialect(",", '"', trims=True), b" " * count
    text = np.frombuffer(b"x," + pad + b'"y"' + pad + b",z" + pad, dtype=np.uint8)
    first = count + 2
    assert opens(text, np.array([first]), dialect).all()
    assert closes(text, np.array([first + 2]), dialect).all()
    assert not closes(text, np.array([1]), dialect).any()


@pytest.mark.parametrize("trims", [False, True])
@given(
    text=st.text(st.sampled_from('a ",\n\r\\é'), max_size=40),
    quote=st.sampled_from(['"', None]),
    escape=st.sampled_from([None, "\\"]),
)
def test_cells_of_a_record_are_those_that_python_reads(trims, text, quote, escape):
    dialect = Dialect(",", quote, escape, trims=trims)
    data = text.encode()
    records, _, _ = find_records(data, dialect, go_on=True)
    for start, end, width in zip(records.starts, records.ends, records.widths, strict=True):
        record = data[start:end].removesuffix(b"\r")
        found = split(record, dialect)
        assert len(found) == (width if record else 0)
        if not trims:
            how = {"quotechar": quote, "escapechar": escape}
            how["quoting"] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
            assert [found] == [
                *csv.reader(io.StringIO(record.decode(), newline=""), **how)
            ] or not (record)
