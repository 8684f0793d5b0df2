"""A table whose cells are on disk is the table that is read whole, column by column."""

import datetime as dt
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders import books
from polars.testing import assert_series_equal

from cfl_cli.errors import CflError, DataError, ResourceError
from cfl_cli.tables import formats, frames, source
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place

BAD = Path(__file__).parent / "bad_tables"
EXPECTED = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))
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
LINES = [
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
    """Write a table in some format, and return its place."""
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
        text = CSV if kind == "csv" else "\n".join(LINES)
        (path / f"t.{kind}").write_text(text, encoding="utf-8", newline="")
    return Place.to_read(str(next(path.iterdir())))


def cells(frame):
    """Return all there is in a table, as text: NaN is itself."""
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
        assert (found.sha256(), found.rejected) == (whole.sha256, len(whole.rejects))
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
        assert sum(len(block.frame) for block in found.blocks(2)) == found.height


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "csv", "csv.gz", "jsonl", "xlsx"])
def test_blocks_columns_and_the_checksum_may_be_asked_for_at_once(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(source, "CHUNK", 5)  # so that small files come in many pieces
    monkeypatch.setattr(formats, "CHUNK", 5)
    with tables.reading(written(kind, tmp_path), rows=1, set_aside=True) as table:
        expected = [cells(block.frame) for block in table.blocks()]
        found = []
        for one, two in zip(table.blocks(), table.blocks(), strict=True):
            assert cells(one.frame) == cells(two.frame)
            found.append(cells(one.frame))
            assert len(table[table.columns[0]]) == table.height
            assert len(table.sha256()) == 64
        assert found == expected


@pytest.mark.parametrize("name", EXPECTED)
def test_a_bad_table_is_refused_as_when_it_is_read_whole(name):
    place = Place.to_read(str(BAD / name))

    def problems(read):
        try:
            read()
        except CflError as error:
            return type(error), error.texts, error.more
        return None

    def stored():
        with tables.reading(place):
            pass

    assert problems(stored) == problems(lambda: tables.read(place))


def test_a_column_that_is_not_there_is_a_key_error(tmp_path):
    with tables.reading(written("csv", tmp_path), set_aside=True) as table:
        assert "id" in table
        assert "x" not in table
        with pytest.raises(KeyError, match="x"):
            table["x"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_without_rows_has_columns_and_an_empty_block(tmp_path, kind):
    place = Place.to_write(str(tmp_path / f"t.{kind}"))
    tables.write(pa.table({"a": ["x"], "b": ["y"]})[:0], place, report=None)
    with tables.reading(place) as table:
        assert (table.columns, table.height) == (["a", "b"], 0)
        assert table["b"].to_list() == []
        assert [len(block.frame) for block in table.blocks()] == [0]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_a_file_that_changes_meanwhile_is_refused(tmp_path, kind):
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
    for block in table.blocks():
        pass
    for name in table.columns[:2]:
        table[name]
print(round(peak - start))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
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
        [sys.executable, "-c", PEAK, *paths], capture_output=True, text=True, check=True
    )
    # In memory the whole table is 216 MB: 20 characters and 16 bytes a cell. A column and its copy
    # are 22 MB; what polars and pyarrow keep for blocks was 30 to 45 MB for any number of rows.
    assert int(done.stdout) < 100
