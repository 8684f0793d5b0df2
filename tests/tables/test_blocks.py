"""A table in blocks is the table that is read whole, and is refused as that one is."""

import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.errors import CflError, DataError
from cfl_cli.tables import codec, formats, frames, source
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table, regrouped

BAD = Path(__file__).parent / "bad_tables"
EXPECTED = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))
ROWS = [1, 2, 7, 1000]


def outcome(read):
    """Return everything in a table, or the error with all its words."""
    try:
        table = read()
    except CflError as error:
        return type(error), error.texts, error.more
    frame = table.frame if isinstance(table.frame, pl.DataFrame) else pl.DataFrame(table.frame)
    return frame.schema, frame.rows(), table.rejects, table.lines, dict(table.mixed)


def joined(place, rows, **how):
    with tables.reading(place, rows=rows, **how) as blocks:
        found = list(blocks)
        assert [len(block.frame) <= rows for block in found] == [True] * len(found)
        firsts = [sum(len(block.frame) for block in found[:n]) for n in range(len(found))]
        assert [block.first for block in found] == firsts
        table = codec.joined(found)
        assert (blocks.height, blocks.rejected) == (len(table.frame), len(table.rejects))
    return table


@pytest.fixture
def small(monkeypatch):
    """Read a few bytes at a time, so that small files come in many pieces."""
    monkeypatch.setattr(formats, "CHUNK", 5)
    monkeypatch.setattr(source, "CHUNK", 5)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("set_aside", [False, True])
@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_table_is_refused_in_blocks_as_when_it_is_read_whole(name, set_aside):
    place = Place.to_read(str(BAD / name))
    whole = outcome(lambda: tables.read(place, set_aside=set_aside))
    for rows in ROWS:
        assert outcome(lambda rows=rows: joined(place, rows, set_aside=set_aside)) == whole


@st.composite
def csv_files(draw):
    """Return bytes: records good and bad, in some encoding, packed or not."""
    records = ["1,2\n", "é,漢\r\n", '"x\ny","a,""b"""\n', "\n", "\r\n", "1\n", "1,2,3\n", '"",\n']
    faults = ['a"b,c\n', '"a"b,c\n', '"open,\n', "a,b\rc\n", "\0,1\n", "\ufeffx,y\n"]
    header = draw(
        st.sampled_from(["h,i\n", "\ufeffh,i\r\n", '"h\n",i\n', "h;i\n", "h,h\n", '"h\n'])
    )
    kinds = st.sampled_from(records + (faults if draw(st.booleans()) else []))
    return header + "".join(draw(st.lists(kinds, max_size=12))) + draw(st.sampled_from(["", "9,9"]))


@given(
    text=csv_files(),
    encoding=st.sampled_from([None, None, "utf-16", "utf-8-sig", "latin-1", "gb18030"]),
    damage=st.sampled_from([b"", b"", b"", b"\xff", b"\0"]),
    size=st.integers(1, 40),
    rows=st.sampled_from(ROWS),
    set_aside=st.booleans(),
)
def test_any_csv_file_is_the_same_in_blocks(
    tmp_path_factory, text, encoding, damage, size, rows, set_aside
):
    path = tmp_path_factory.mktemp("t") / "t.csv.gz"
    path.write_bytes(gzip.compress(text.encode(encoding or "utf-8", "ignore") + damage))
    how = {"set_aside": set_aside} | ({"encoding": encoding} if encoding else {})
    compare(path, size, rows, how)


LINES = ['{"a":1}', '{"a":2.5}', '{"b":"é"}', '{"a":-0,"c":[1]}', '{"c":{"d":1}}', "{}", ""]
LINES += ['{"a":18446744073709551615}', '{"a":true}', "  ", "rubbish", "{", "[", "]", "}", '"a":1']
LINES += ['{"b":"x"}\r', '{"a":1,"a":2}', '{"b":"\\ud800"}', '{"a":123456789012345678901}', "1"]


@given(
    lines=st.lists(st.sampled_from(LINES), max_size=10),
    end=st.sampled_from(["", "\n", "\n\n \r\n"]),
    size=st.integers(1, 40),
    rows=st.sampled_from(ROWS),
    set_aside=st.booleans(),
)
def test_any_json_lines_are_the_same_in_blocks(tmp_path_factory, lines, end, size, rows, set_aside):
    path = tmp_path_factory.mktemp("t") / "t.jsonl"
    path.write_text("\n".join(lines) + end, encoding="utf-8")
    compare(path, size, rows, {"set_aside": set_aside})


def compare(path, size, rows, how):
    place = Place.to_read(str(path))
    whole = outcome(lambda: tables.read(place, **how))
    usual = formats.CHUNK
    formats.CHUNK = source.CHUNK = size
    try:
        assert outcome(lambda: joined(place, rows, **how)) == whole
    finally:
        formats.CHUNK = source.CHUNK = usual


COLUMNS = pa.table(
    {
        "n": pa.array([*range(25)], pa.int16()),
        "s": ["x", None, "é", "", "y"] * 5,
        "d": pa.array(["a", "b", None, "c", "a"] * 5).dictionary_encode(),
        "l": pa.array([[1], [], None, [2, 3], [4]] * 5, pa.list_(pa.int8())),
    },
    metadata={"owner": "clinic"},
)


def arrow_bytes(kind):
    file = io.BytesIO()
    if kind == "parquet":
        pq.write_table(COLUMNS, file, row_group_size=9)
    else:
        opener = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
        with opener(file, COLUMNS.schema) as writer:
            writer.write_table(COLUMNS, max_chunksize=9)
    return file.getvalue()


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", ["parquet", "file", "stream"])
def test_columns_come_in_blocks_with_their_types_and_metadata(tmp_path, kind, rows):
    path = tmp_path / ("t.parquet" if kind == "parquet" else "t.arrow")
    path.write_bytes(arrow_bytes(kind))
    table = joined(Place.to_read(str(path)), rows)
    assert table.frame.equals(COLUMNS)
    whole = tables.read(Place.to_read(str(path))).frame
    assert table.frame.schema.equals(whole.schema, check_metadata=True)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_text_that_is_not_utf_8_is_refused_before_the_first_block(tmp_path, kind):
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xe9")]
    )
    path = tmp_path / f"t.{kind}"
    tables.write(pa.table({"a": bad}), Place.to_write(str(path)), report=None)
    for rows in (1, 2):
        found = outcome(lambda rows=rows: joined(Place.to_read(str(path)), rows))
        assert found == outcome(lambda: tables.read(Place.to_read(str(path))))
        assert "column 'a' has cells that are not valid as string" in found[1][0]


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.arrow"])
def test_a_table_without_rows_has_one_block_with_its_columns(tmp_path, name):
    place = Place.to_write(str(tmp_path / name))
    tables.write(pl.DataFrame({"a": ["x"], "b": ["y"]}), place, report=None)
    with tables.reading(place) as blocks:
        assert frames.names(blocks.empty.frame) == ["a", "b"]
        assert len(blocks.empty.frame) == 0
    if name != "t.jsonl":  # which has no columns without rows
        tables.write(pl.DataFrame({"a": ["x"]})[:0], place, report=None)
        with tables.reading(place) as blocks:
            assert [(len(block.frame), block.first) for block in blocks] == [(0, 0)]


def test_records_that_were_set_aside_come_with_their_block_and_never_too_many_at_once():
    one = Table(pl.DataFrame({"a": ["x", "y", "z"]}), [(1, "cause", "r")])
    two = Table(pl.DataFrame({"a": ["u"]}), [(n, "cause", "r") for n in range(2, 7)])
    blocks = list(regrouped([one, two], Table(pl.DataFrame({"a": []})), rows=2))
    assert [(block.first, len(block.frame)) for block in blocks] == [(0, 2), (2, 2), (4, 0), (4, 0)]
    assert [[line for line, _, _ in block.rejects] for block in blocks] == [
        [1],
        [2, 3],
        [4, 5],
        [6],
    ]


def test_a_pipe_is_read_in_blocks_too(tmp_path, monkeypatch):
    data = b"a,b\n1,2\n3,4\n"
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=[data])
    writing.start()
    assert joined(Place.to_read(str(pipe)), 1).frame.rows() == [("1", "2"), ("3", "4")]
    writing.join()
    ends = os.pipe()
    os.write(ends[1], data)
    os.close(ends[1])
    with open(ends[0], encoding="utf-8") as stdin:  # noqa: PTH123 — a number, not a path
        monkeypatch.setattr(sys, "stdin", stdin)
        assert joined(Place.to_read("-"), 1).frame.rows() == [("1", "2"), ("3", "4")]


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n2\n")
    with tables.reading(Place.to_read(str(path)), rows=1) as blocks:
        path.write_text("a\n1\n2\n3\n")
        with pytest.raises(DataError, match=r"t\.csv: changed while it was read: try again"):
            list(blocks)


def test_the_checksum_is_that_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    with tables.reading(Place.to_read(str(path))) as blocks:
        # printf 'a\n1\n' | sha256sum
        assert blocks.sha256().startswith("309b0e45a73d3fc5")


@pytest.mark.parametrize("target", ["o.csv", "o.jsonl", "o.parquet"])
@pytest.mark.parametrize(
    "columns",
    [
        {"a": ["x", "y\0", "z"], "b": [1.5, 2, float("nan")], "c": [b"", b"", b""]},
        {"a": ["x", "y", "z"]},
    ],
)
def test_what_a_format_cannot_hold_is_found_in_any_block(tmp_path, target, columns):
    place, target = Place.to_write(str(tmp_path / "t.parquet")), Place.to_write(target)
    tables.write(pa.table(columns), place, report=None)
    whole = outcome(lambda: tables.check_holds(tables.read(place), target) or Table(pl.DataFrame()))

    def check(rows):
        with tables.reading(place, rows=rows) as blocks:
            blocks.check_holds(target)
        return Table(pl.DataFrame())

    for rows in (1, 2, 9):
        assert outcome(lambda rows=rows: check(rows)) == whole
