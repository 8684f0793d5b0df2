"""However the rows of a table come, its bytes are the same; and they come whole or not at all."""

import io
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfl_cli.errors import CflError
from cfl_cli.tables import columnar, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place, Table

FORMS = ["csv", "tsv", "csv.gz", "tsv.zst", "jsonl", "jsonl.gz", "parquet", "arrow"]
FRAME = pl.DataFrame(
    {
        "text": ['a,"b"', None, "", "é\n", "=x"] * 5,
        "number": [0.1, None, 1e300, -0.0, 3.0] * 5,
        "whole": range(25),
        "truth": [True, None, False, True, False] * 5,
    }
)


def written(frame, path, rows, *, report="{}", beside=None):
    """Return the bytes of a table that is written some rows at a time."""
    with tables.writing(Place.to_write(str(path))) as writer:
        for start in range(0, max(len(frame), 1), rows):
            writer.add(frame.slice(start, rows))
        writer.finish(report=report, beside=beside)
    return path.read_bytes()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("group", [100, 10, 1])
def test_the_bytes_do_not_depend_on_the_blocks(tmp_path, monkeypatch, form, group):
    monkeypatch.setattr(columnar, "GROUP", group)
    place = Place.to_write(str(tmp_path / f"whole.{form}"))
    tables.write(FRAME, place, report="{}")
    whole = place.path.read_bytes()
    assert {written(FRAME, tmp_path / f"t.{form}", rows) for rows in (1, 2, 7, 99)} == {whole}
    if form in ("parquet", "arrow"):
        assert tables.read_report(str(place.path)) == b"{}"
        found = tables.read(place).frame
        assert pl.DataFrame(found).equals(FRAME)


def test_text_is_what_polars_writes(tmp_path):
    assert written(FRAME, tmp_path / "t.csv", 3).decode() == FRAME.write_csv()
    assert written(FRAME, tmp_path / "t.jsonl", 3).decode() == FRAME.write_ndjson()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_categories_keep_their_order_and_types_whatever_the_blocks(tmp_path, monkeypatch, form):
    monkeypatch.setattr(columnar, "GROUP", 4)
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    order = pa.array(["low", "mid", "high", "never"])
    codes = pa.array([2, 0, None, 1, 1, 2, 0], pa.int8())
    table = pa.table(
        {
            "o": pa.DictionaryArray.from_arrays(codes, order, ordered=True),
            "l": pa.array([[b"x"], None, [], [b"y", None], [], [], []]),
            "u": pa.array([bytes(range(16))] * 7, pa.uuid()),
        },
        metadata={"owner": "clinic", "cfl.report": "old"},
    )
    contents = {written(table, tmp_path / f"t.{form}", rows, report="new") for rows in (1, 3, 7)}
    assert len(contents) == 1
    found = tables.read(Place.to_read(str(tmp_path / f"t.{form}"))).frame
    assert found.schema.field("o").type == kind
    assert found.column("o").chunk(0).dictionary.to_pylist() == order.to_pylist()
    assert found.to_pylist() == table.to_pylist()
    assert found.schema.metadata == {b"owner": b"clinic", b"cfl.report": b"new"}


def test_dictionaries_that_differ_from_block_to_block_become_one(tmp_path, monkeypatch):
    monkeypatch.setattr(columnar, "GROUP", 2)
    parts = [pa.table({"d": pa.array(one).dictionary_encode()}) for one in (["b", "a"], ["c", "a"])]
    place = Place.to_write(str(tmp_path / "t.arrow"))
    with tables.writing(place) as writer:
        for part in parts:
            writer.add(part)
        writer.finish()
    column = tables.read(place).frame.column("d")
    assert column.to_pylist() == ["b", "a", "c", "a"]
    assert [chunk.dictionary.to_pylist() for chunk in column.chunks] == [["b", "a", "c"]] * 2


def test_a_small_arrow_file_is_what_pyarrow_writes_at_once(tmp_path):
    table = frames.as_arrow(FRAME)
    expected = io.BytesIO()
    schema = table.schema.with_metadata({"cfl.report": "{}"})
    with pa.ipc.new_file(expected, schema) as writer:
        writer.write_table(table)
    assert written(FRAME, tmp_path / "t.arrow", 7) == expected.getvalue()


def test_a_small_parquet_file_is_what_pyarrow_writes_at_once(tmp_path):
    table, expected = frames.as_arrow(FRAME), io.BytesIO()
    pq.write_table(table, expected, compression="zstd", write_page_checksum=True)
    assert written(FRAME, tmp_path / "t.parquet", 7, report=None) == expected.getvalue()


def test_lines_of_json_keep_their_spelling_block_by_block(tmp_path):
    text = '{ "a":1.50, "b":"x"}\n{"a":2}\n{"b":null , "a":3}\n'
    (tmp_path / "t.jsonl").write_text(text)
    out = tmp_path / "o.jsonl"
    with (
        tables.reading(Place.to_read(str(tmp_path / "t.jsonl")), rows=2) as blocks,
        tables.writing(Place.to_write(str(out))) as writer,
    ):
        for block in blocks:
            new = pl.Series("new", range(block.first, block.first + len(block.frame)))
            writer.add(frames.append(block.frame, [new]), block)
        writer.finish()
    assert out.read_text() == (
        '{ "a":1.50, "b":"x","new":0}\n{"a":2,"new":1}\n{"b":null , "a":3,"new":2}\n'
    )


def test_table_report_and_rejects_appear_together(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,2\n3\n4,5\n6,"x" y\n7,8\n')
    rejects, report = tmp_path / "rejects.csv", tmp_path / "report.json"
    place, source = Place.to_write(str(tmp_path / "o.csv")), Place.to_read(str(tmp_path / "t.csv"))
    with (
        tables.reading(source, rows=1, set_aside=True) as blocks,
        tables.writing(place, rejects=rejects) as writer,
    ):
        for block in blocks:
            writer.add(block.frame, block)
        assert sorted(os.listdir(tmp_path)) == ["t.csv"]  # noqa: PTH208 — names are all we want
        writer.finish(beside={report: "{}\n"})
    assert (tmp_path / "o.csv").read_text() == "a,b\n1,2\n4,5\n7,8\n"
    assert report.read_text() == "{}\n"
    assert rejects.read_text() == tables.rejects_text(tables.read(source, set_aside=True).rejects)
    assert writer.rejected == 2


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("error", [None, ValueError, OSError(28, "No space left on device")])
def test_what_is_not_finished_leaves_nothing(tmp_path, form, error):
    def half():
        place = Place.to_write(str(tmp_path / f"o.{form}"))
        with tables.writing(place, rejects=tmp_path / "rejects.csv") as writer:
            writer.add(FRAME, Table(FRAME, [(2, "cause", "text")]))
            if error:
                raise error

    if error:
        with pytest.raises(error if isinstance(error, type) else OSError):
            half()
    else:
        half()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", ["csv", "jsonl.gz", "parquet", "arrow"])
def test_standard_output_gets_everything_at_the_end_or_nothing(tmp_path, form):
    def streamed(stream, *, fails):
        place = Place.to_write("-", form)
        with tables.writing(place, stream=stream) as writer:
            writer.add(FRAME)
            assert stream.getvalue() == b""
            writer.finish(report="{}")
            if fails:
                raise CflError("too late")

    stream = io.BytesIO()
    streamed(stream, fails=False)
    assert stream.getvalue() == written(FRAME, tmp_path / f"t.{form}", 99)
    stream = io.BytesIO()
    with pytest.raises(CflError):
        streamed(stream, fails=True)
    assert stream.getvalue() == b""


def test_blocks_with_other_columns_are_refused(tmp_path):
    def mixed():
        with tables.writing(Place.to_write(str(tmp_path / "o.csv"))) as writer:
            writer.add(pl.DataFrame({"a": [1]}))
            writer.add(pl.DataFrame({"b": [1]}))

    with pytest.raises(ValueError, match="other columns than before"):
        mixed()
    assert list(tmp_path.iterdir()) == []


COPY = """
import sys
from pathlib import Path
from cfl_cli.tables import table as tables
source, target = (tables.Place.to_read(name) for name in sys.argv[1:])
with tables.reading(source, rows=1000) as blocks, tables.writing(target) as writer:
    for block in blocks:
        writer.add(block.frame, block)
    writer.finish()
facts = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in facts if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure")
def test_memory_does_not_grow_with_the_table(tmp_path):
    peaks = []
    for rows in (3_000, 60_000):
        source, target = tmp_path / f"{rows}.csv", tmp_path / f"{rows}-out.csv"
        source.write_text("a,b\n" + "a text that is not a short one,another one of them\n" * rows)
        command = [sys.executable, "-c", COPY, str(source), str(target)]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True).stdout))
        assert target.read_bytes() == source.read_bytes()
    assert peaks[1] < 1.1 * peaks[0]
