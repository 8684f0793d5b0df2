"""A table in blocks is the table that is read whole, and is refused as that one is."""

import datetime as dt
import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import books
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

from cfl_cli.errors import CflError, DataError, ResourceError
from cfl_cli.tables import codec, formats, frames, source
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table

BAD = Path(__file__).parent / "bad_tables"
EXPECTED = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))
ROWS = [1, 2, 7, 1000]


def outcome(read):
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
        table = codec.join_tables(found)
        assert (blocks.height, blocks.rejected) == (len(table.frame), len(table.rejects))
    return table


@pytest.fixture
def small(monkeypatch):
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
            assert (blocks.columns, blocks.height, blocks["a"].to_list()) == (["a"], 0, [])


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


# Columns, one at a time: those of a text are copied to a file without a name.

DAY = dt.date(2024, 2, 29)
TABLE = pa.table(
    {
        "n": pa.array([1, None, 3, 4, 5] * 5, pa.int16()),
        "a": ["x", None, "é", "", "y"] * 5,
        "a.b": pa.array([1.5, float("nan"), None, 0, -0.0] * 5),
        "": [True, False, None, True, True] * 5,
        "a\nb,;'\"": pa.array(["a", "b", None, "c", "a"] * 5).dictionary_encode(),
        "list": pa.array([[1], [], None, [2, None], [4]] * 5, pa.list_(pa.int8())),
        "struct": pa.array([{"b": 1}, None, {"b": None}, {"b": 2}, {"b": 3}] * 5),
        "day": pa.array([DAY, None, DAY, DAY, DAY] * 5),
        "late": pa.array([2**25, None, 1, 2, 3] * 5, pa.date32()),  # no day that polars knows
        "moment": pa.array(
            [dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)] * 25, pa.timestamp("ms", "Asia/Tokyo")
        ),
        "exact": pa.array([None] * 25, pa.decimal256(50, 2)),
        "nothing": pa.nulls(25),
    },
    metadata={"owner": "clinic"},
)
CSV = 'id,"a\nb",é\n1,"x, ""y""",\n\n2,b\n3,,c\n\ufeff4,d,e\n'
OBJECTS = [
    '{"id": 1, "l": ["a", null], "m": {"x": 1}}',
    '{"id": 2, "l": [], "f": 1.5}',
    "rubbish",
    '{"id": null, "big": 18446744073709551615}',
    '{"l": null, "m": [1], "t": true, "f": -0.0}',
]
SHEET = books.sheet(
    books.row(1, "name", "n"), books.row(2, "Ann", 1), books.row(3, None, 2.5), books.row(4, "é")
)


def written(kind, path):
    if kind == "parquet":
        pq.write_table(TABLE, path / "t.parquet", row_group_size=9)
    elif kind in ("arrow", "stream"):
        opener = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with opener(str(path / "t.arrow"), TABLE.schema) as writer:
            writer.write_table(TABLE, max_chunksize=9)
    elif kind == "xlsx":
        (path / "t.xlsx").write_bytes(books.xlsx(SHEET))
    elif kind == "csv.gz":
        (path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    else:
        text = CSV if kind == "csv" else "\n".join(OBJECTS)
        (path / f"t.{kind}").write_text(text, encoding="utf-8", newline="")
    return Place.to_read(str(next(path.iterdir())))


def cells(frame):
    return repr(frame.schema) + repr(
        frame.to_string(preview_cols=99) if frames.is_arrow(frame) else frame.rows()
    )


@pytest.mark.parametrize("rows", [1, 4, 1000])
@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "csv", "csv.gz", "jsonl", "xlsx"])
def test_every_column_and_every_block_is_that_of_the_whole_table(tmp_path, kind, rows):
    place = written(kind, tmp_path)
    aside = kind in ("csv", "csv.gz", "jsonl")
    whole = tables.read(place, set_aside=aside, checksum=True)
    with (
        tables.reading(place, rows=rows, set_aside=aside, directory=tmp_path) as found,
        tables.reading(place, rows=rows, set_aside=aside) as blocks,
    ):
        assert list(tmp_path.iterdir()) == [place.path]  # no name for what is copied
        assert found.columns == frames.names(whole.frame)
        assert found.height == len(whole.frame) == len(found)
        assert (found.source.sha256(), found.rejected) == (whole.sha256, len(whole.rejects))
        assert whole.sha256 == hashlib.sha256(place.path.read_bytes()).hexdigest()
        assert len(found.empty.frame) == 0
        first = {name: found.dtype(name) for name in found.columns}
        for name in reversed(found.columns):
            expected = frames.as_polars(whole.frame, [name])[name]
            assert_series_equal(found[name], expected)
            assert found[name].n_chunks() == 1
            assert found.dtype(name) == first[name] == expected.dtype
        pairs = list(zip(found.blocks(), blocks, strict=True))
        for block, expected in pairs:
            assert cells(block.frame) == cells(expected.frame)
            assert (block.rejects, block.lines) == (expected.rejects, expected.lines)
            assert (block.first, block.mixed) == (expected.first, expected.mixed)
            if frames.is_arrow(block.frame):
                assert block.frame.schema.equals(whole.frame.schema, check_metadata=True)
        assert sum(len(block.frame) for block in found.blocks(2)) == found.height
        if frames.is_arrow(whole.frame):
            names = ["n", "a", "a\nb,;'\"", "list", "day"]
            together = codec.join_tables([block for block, _ in pairs]).frame
            assert together.select(names).equals(whole.frame.select(names))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "csv", "csv.gz", "jsonl", "xlsx"])
def test_blocks_columns_and_the_checksum_may_be_asked_for_at_once(tmp_path, kind):
    with tables.reading(written(kind, tmp_path), rows=1, set_aside=True) as table:
        expected = [cells(block.frame) for block in table.blocks()]
        found = []
        for one, two in zip(table.blocks(), table.blocks(), strict=True):
            assert cells(one.frame) == cells(two.frame)
            found.append(cells(one.frame))
            assert len(table[table.columns[0]]) == table.height
            assert len(table.source.sha256()) == 64
        assert found == expected


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, kind):
    place = written(kind, tmp_path)
    with tables.reading(place, set_aside=True) as table:
        with place.path.open("ab") as file:
            file.write(b"more\n")
        with pytest.raises(DataError, match="changed while it was read"):
            list(table.blocks())
        if kind != "csv":  # whose cells are a copy
            with pytest.raises(DataError, match="changed while it was read"):
                table[table.columns[0]]


def test_a_directory_that_takes_no_files_is_an_error(tmp_path):
    with (
        pytest.raises(ResourceError, match="temporary file: cannot be written: No such file"),
        tables.reading(
            written("csv", tmp_path), set_aside=True, directory=tmp_path / "none"
        ) as table,
    ):
        table[table.columns[0]]


PEAK = """
import sys, threading, time
from pathlib import Path
from cfl_cli.tables import table as tables

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

peak = 0
def watch():
    global peak
    while True:
        peak = max(peak, anonymous())
        time.sleep(0.005)

with tables.reading(tables.Place.to_read(sys.argv[1]), directory=Path(sys.argv[1]).parent) as table:
    for block in table.blocks():
        break
    table[table.columns[-1]]  # what is needed once for any table is loaded before
    height, start = table.height, anonymous()
threading.Thread(target=watch, daemon=True).start()
with tables.reading(tables.Place.to_read(sys.argv[2]), directory=Path(sys.argv[1]).parent) as table:
    with tables.writing(tables.Place.to_write(sys.argv[3])) as writer:
        for block in table.blocks():
            writer.add(block.frame, block)
        writer.finish()
    for name in table.columns[:2]:
        table[name]
print(round(peak - start))
"""


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("jsonl", "parquet", "arrow")]


@pytest.mark.parametrize("kind", ["csv", *SLOW])
def test_memory_does_not_grow_with_the_table_beyond_one_column(tmp_path, kind):
    line = {f"column{n}": f"text of some length {n}" for n in range(20)}
    paths = []
    for rows in (1_000, 300_000):
        path = tmp_path / f"{rows}.{kind}"
        block = pa.table({name: [text] * 1_000 for name, text in line.items()})
        with tables.writing(Place.to_write(str(path))) as writer:
            for _ in range(rows // 1_000):
                writer.add(block)
            writer.finish()
        paths.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *paths, f"{tmp_path}/out.{kind}"],
        capture_output=True,
        text=True,
        check=True,
    )
    # In memory the whole table is 216 MB: 20 characters and 16 bytes a cell. A column and its copy
    # are 22 MB; what polars and pyarrow keep for blocks was 30 to 45 MB for any number of rows.
    assert int(done.stdout) < 100
