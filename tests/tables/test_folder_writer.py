"""A folder is written file by file, and appears whole or not at all."""

import hashlib
import json
import os
import signal
import subprocess
import sys

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfl_cli.errors import DataError, ResourceError, UsageError
from cfl_cli.tables import folders, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import Place

PARTS = {"k=1/b.parquet": 3, "k=1/c.parquet": 0, "k=2/a.parquet": 2, "k=3/z.parquet": 0}
NEW = pl.Series("new", [0.5, 0.25, 0.125, 0.0, 1.0])


@pytest.fixture
def data(tmp_path):
    start = 0
    for name, rows in PARTS.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": pa.array(range(start, start + rows), pa.int8())}), path)
        start += rows
    return Place.to_read(str(tmp_path / "data"))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(data, target, *, rows=100, overwrite=False, report="{}"):
    """Add a column to a table, block by block."""
    with (
        tables.reading(data, rows=rows) as blocks,
        tables.writing(target, overwrite=overwrite) as writer,
    ):
        for block in blocks:
            new = NEW[block.first : block.first + len(block.frame)]
            writer.add(frames.append(block.frame, [new]), block)
        writer.finish(report=report)


def bytes_of(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_rows_of_a_folder_go_to_files_of_the_same_names_without_partitions(tmp_path, data):
    out = tmp_path / "out"
    write(data, Place.to_write(f"{out}/"))
    files = bytes_of(out)
    assert [*files] == ["_cfl_manifest.json", "_cfl_report.json", *PARTS]
    start = 0
    for name, rows in PARTS.items():
        part = pq.ParquetFile(out / name).read()
        assert part.to_pydict() == {
            "a": [*range(start, start + rows)],
            "new": NEW[start : start + rows].to_list(),
        }
        assert part.schema.field("a").type == pa.int8()
        start += rows
    manifest = json.loads(files["_cfl_manifest.json"])
    assert (manifest["rows"], manifest["partitions"]) == (5, ["k"])
    assert manifest["files"] == [
        {
            "path": name,
            "rows": rows,
            "bytes": len(files[name]),
            "sha256": hashlib.sha256(files[name]).hexdigest(),
        }
        for name, rows in PARTS.items()
    ]
    assert tables.read_report(str(out)) == b"{}\n"
    assert names(tmp_path) == ["data", "out"]
    again = frames.as_polars(tables.read(Place.to_read(str(out))).frame)
    assert again.rows() == [
        (n, new, k) for n, new, k in zip(range(5), NEW, [1, 1, 1, 2, 2], strict=True)
    ]


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_the_bytes_do_not_depend_on_the_blocks(tmp_path, data, rows):
    write(data, Place.to_write(f"{tmp_path}/whole/"))
    write(data, Place.to_write(f"{tmp_path}/blocks/"), rows=rows)
    assert bytes_of(tmp_path / "blocks") == bytes_of(tmp_path / "whole")


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_other_tables_are_cut_into_equal_parts(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(folders, "ROWS", 2)
    source = Place.to_write(str(tmp_path / "t.csv"))
    tables.write(pl.DataFrame({"a": [0, 1, 2, 3, 4]}), source, report=None)
    write(source, Place.to_write(f"{tmp_path}/out/"), rows=rows, report=None)
    parts = [pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*.parquet"))]
    assert [part["a"].to_pylist() for part in parts] == [["0", "1"], ["2", "3"], ["4"]]
    assert names(tmp_path / "out")[1:] == [f"part-0000{n}.parquet" for n in range(3)]
    with pytest.raises(DataError, match="no report inside: `cfl impute` did not write this folder"):
        tables.read_report(str(tmp_path / "out"))


def test_a_table_without_rows_has_one_file(tmp_path):
    tables.write(pl.DataFrame({"a": ["x"]})[:0], Place.to_write(f"{tmp_path}/o/"), report=None)
    assert pq.read_table(tmp_path / "o" / "part-00000.parquet").num_rows == 0
    assert frames.names(tables.read(Place.to_read(f"{tmp_path}/o")).frame) == ["a"]


def test_an_older_report_in_a_file_does_not_get_into_the_parts(tmp_path):
    table = pa.table({"a": [1]}, metadata={"cfl.report": "old", "owner": "clinic"})
    tables.write(table, Place.to_write(f"{tmp_path}/o/"), report="{}")
    metadata = pq.read_schema(tmp_path / "o" / "part-00000.parquet").metadata
    assert metadata == {b"owner": b"clinic"}


def test_fewer_rows_than_there_were_are_written_as_parts(tmp_path, data):
    table = tables.read(data)
    tables.write(table.frame[:2], Place.to_write(f"{tmp_path}/o/"), report=None, source=table)
    assert tables.read(Place.to_read(f"{tmp_path}/o")).frame.to_pydict() == {
        "a": [0, 1],
        "k": [1, 1],
    }


def test_other_cells_of_a_partition_are_refused(tmp_path, data):
    table = tables.read(data)
    other = table.frame.set_column(1, "k", pa.array([9] * 5))
    with pytest.raises(DataError, match="column 'k' has new cells, but names the folders"):
        tables.write(other, Place.to_write(f"{tmp_path}/o/"), report=None, source=table)
    assert names(tmp_path) == ["data"]


def test_an_older_folder_is_replaced_as_a_whole_and_only_if_all_in_it_is_ours(tmp_path, data):
    out, target = tmp_path / "out", Place.to_write(f"{tmp_path}/out/")
    out.mkdir()  # an empty one is in nobody's way
    write(data, target)
    with pytest.raises(UsageError, match="out: already exists: add overwrite=True"):
        write(data, target)
    one = Place.to_write(str(tmp_path / "t.csv"))
    tables.write(pl.DataFrame({"a": ["x"] * 5}), one, report=None)
    write(one, target, overwrite=True)
    assert names(out) == ["_cfl_manifest.json", "_cfl_report.json", "part-00000.parquet"]
    before = bytes_of(out)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"out: holds notes\.txt, which cfl did not write"):
        write(data, target, overwrite=True)
    assert bytes_of(out) == {**before, "notes.txt": b"mine"}
    with pytest.raises(UsageError, match="data: a folder that cfl did not write: name another"):
        write(one, Place.to_write(f"{tmp_path}/data/"), overwrite=True)
    assert names(tmp_path) == ["data", "out", "t.csv"]


def test_a_system_that_cannot_exchange_names_renames_twice(tmp_path, data, monkeypatch):
    monkeypatch.setattr(folders, "_exchanged", lambda *_: False)
    target = Place.to_write(f"{tmp_path}/out/")
    write(data, target)
    write(data, target, overwrite=True, report='{"new": 1}')
    assert tables.read_report(str(tmp_path / "out")) == b'{"new": 1}\n'
    assert names(tmp_path) == ["data", "out"]
    # Killed between the two: the old one is whole, and comes back.
    (tmp_path / "out").rename(tmp_path / ".cfl-old-out")
    with pytest.raises(UsageError, match="already exists"):
        write(data, target)
    assert names(tmp_path) == ["data", "out"]


def test_a_folder_that_is_given_up_leaves_nothing(tmp_path, data):
    def give_up():
        with tables.writing(Place.to_write(f"{tmp_path}/out/")) as writer:
            writer.add(tables.read(data).frame)

    give_up()
    assert names(tmp_path) == ["data"]
    with pytest.raises(ResourceError, match="cannot be written"):
        write(data, Place.to_write(f"{tmp_path}/none/out/"))


def test_a_folder_with_a_lost_or_an_added_file_is_refused(tmp_path, data):
    out = tmp_path / "out"
    write(data, Place.to_write(f"{out}/"))
    (out / "k=2" / "a.parquet").rename(out / "k=2" / "b.parquet")
    with pytest.raises(DataError, match=r"k=2/a\.parquet is in its manifest, but not there"):
        tables.read(Place.to_read(str(out)))
    (out / "k=2" / "b.parquet").rename(out / "k=2" / "a.parquet")
    pq.write_table(pa.table({"a": [1]}), out / "k=2" / "c.parquet")
    with pytest.raises(DataError, match=r"k=2/c\.parquet is there, but not in its manifest"):
        tables.read(Place.to_read(str(out)))


KILLED = """
import os, signal, sys
import pyarrow as pa
from cfl_cli.tables import folders, table as tables
folders.ROWS = 2
with tables.writing(tables.Place.to_write(sys.argv[1])) as writer:
    writer.add(pa.table({"a": [1, 2, 3, 4, 5]}))
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("ready", flush=True)
    sys.stdin.readline()
    writer.finish()
"""


def test_what_a_killed_run_left_is_removed_by_the_next_but_nothing_of_one_that_lives(
    tmp_path, data
):
    def run(name, how):
        command = [sys.executable, "-c", KILLED, f"{tmp_path}/{name}/", how]
        return subprocess.Popen(command, stdin=-1, stdout=-1, text=True)

    with run("dead", "kill") as dead:
        assert dead.wait() == -signal.SIGKILL
    (left,) = (name for name in names(tmp_path) if name != "data")
    assert left.startswith(".cfl-set-")  # which nobody takes for a result
    with run("slow", "wait") as living:
        assert living.stdout.readline() == "ready\n"
        write(data, Place.to_write(f"{tmp_path}/out/"))
        assert len([name for name in names(tmp_path) if name.startswith(".cfl")]) == 1
        living.communicate("go on\n")
    assert living.returncode == 0
    assert names(tmp_path) == ["data", "out", "slow"]
    assert len(tables.read(Place.to_read(f"{tmp_path}/slow")).frame) == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files_is_an_error(tmp_path, data):
    (tmp_path / "no").mkdir(mode=0o500)
    with pytest.raises(ResourceError, match="cannot be written: Permission denied"):
        write(data, Place.to_write(f"{tmp_path}/no/out/"))
