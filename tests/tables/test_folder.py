"""A folder of Parquet files is one table: files in order, partitions as columns."""

import errno
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
from polars.testing import assert_series_equal

from cfl_cli.errors import CflError, DataError, ResourceError, UsageError
from cfl_cli.tables import folders, frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.formats import DATA_SET
from cfl_cli.tables.table import Place


def made(folder, **files):
    """Write files of a folder; `/` in a path is `__` here, and `=` is `_is_`."""
    for name, table in files.items():
        put(folder, f"{name.replace('__', '/').replace('_is_', '=')}.parquet", table)
    return Place.to_read(f"{folder}/")


def put(folder, name, table):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table if isinstance(table, pa.Table) else pa.table(table), path)


@pytest.fixture
def sales(tmp_path):
    folder = tmp_path / "sales"
    cells = {"a": pa.array([1, 2], pa.int32()), "b.c": ["x", None]}
    put(folder, "year=2024/shop=K%C3%B6ln%2F1/part-10.parquet", cells)
    put(folder, "year=2024/shop=K%C3%B6ln%2F1/part-9.parquet", {**cells, "b.c": ["y", "z"]})
    put(folder, "year=2023/shop=__HIVE_DEFAULT_PARTITION__/0.parquet", pa.table(cells)[:0])
    put(folder, "year=2023/shop=B/0.parquet", cells)
    for hidden in ("_SUCCESS", "._x.crc", "_delta/00.json", "year=2023/_metadata"):
        (folder / hidden).parent.mkdir(exist_ok=True)
        (folder / hidden).write_text("no table")
    return folder


ROWS = [  # by hand: code points order part-10 before part-9, and B before _
    *((1, "x", 2023, "B"), (2, None, 2023, "B"), (1, "x", 2024, "Köln/1")),
    *((2, None, 2024, "Köln/1"), (1, "y", 2024, "Köln/1"), (2, "z", 2024, "Köln/1")),
]


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_folder_is_its_files_in_order_with_partitions_as_last_columns(sales, rows):
    place = Place.to_read(str(sales))
    whole = tables.read(place, checksum=True)
    frame = frames.as_polars(whole.frame)
    assert frame.rows() == ROWS
    assert frame.schema == {"a": pl.Int32, "b.c": pl.String, "year": pl.Int64, "shop": pl.String}
    with tables.reading(place, rows=rows) as stored, tables.reading(place, rows=rows) as blocks:
        assert [len(one.frame) for one in blocks] == [len(one.frame) for one in stored.blocks()]
        assert frames.as_polars(pa.concat_tables(one.frame for one in blocks)).rows() == ROWS
        assert (stored.height, stored.source.sha256()) == (6, whole.sha256)
        for name in stored.columns:
            assert_series_equal(stored[name], frame[name])
            assert stored.dtype(name) == frame.schema[name]


def test_polars_and_pyarrow_read_the_same_rows(sales):
    ours = frames.as_polars(tables.read(Place.to_read(str(sales))).frame)
    theirs = pl.read_parquet(f"{sales}/year=*/**/*.parquet", hive_partitioning=True)
    assert theirs.select(ours.columns).rows() == ROWS


def test_the_checksum_is_that_of_what_sha256sum_prints(sales):
    command = "find year=* -name '*.parquet' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum"
    done = subprocess.run(
        command, shell=True, cwd=sales, capture_output=True, text=True, check=True
    )
    assert tables.sha256_of(sales) == done.stdout.split()[0]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "0"], pl.Int64),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pl.Int64),
        (["01", "2"], pl.String),  # the text would be lost
        (["1", "x"], pl.String),
        (["1.5"], pl.String),
        (["99999999999999999999"], pl.String),
        (["2024-01-01"], pl.String),
        ([""], pl.String),
        (["__HIVE_DEFAULT_PARTITION__"], pl.String),
    ],
)
def test_a_partition_is_of_whole_numbers_if_each_value_is_one_and_stays_as_it_is(
    tmp_path, values, kind
):
    for value in values:
        put(tmp_path, f"k={value}/p.parquet", {"a": [1]})
    found = frames.as_polars(tables.read(Place.to_read(str(tmp_path))).frame)["k"]
    assert found.dtype == kind
    texts = {None if value.startswith("__") else value for value in values}
    assert {None if cell is None else str(cell) for cell in found} == texts


A = {"a": [1], "b": ["x"]}


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"a": [1]}, "column 'b' is in 0.parquet and not in 1.parquet"),
        ({**A, "c": [1]}, "column 'c' is in 1.parquet and not in 0.parquet"),
        ({"b": ["x"], "a": [1]}, "in different orders, 'a' where the other has 'b'"),
        (
            {"a": pa.array([1], pa.int32()), "b": ["x"]},
            "column 'a' is int64 in 0.parquet and int32 in 1.parquet",
        ),
    ],
)
def test_files_with_other_columns_are_refused_by_name(tmp_path, other, words):
    place = made(tmp_path, **{"0": A, "1": other})
    with pytest.raises(DataError) as error:
        tables.read(place)
    assert words in str(error.value)
    assert "write all files with the same columns and types" in str(error.value)


def refusal(folder):
    with pytest.raises(CflError) as error:
        tables.read(Place.to_read(str(folder)))
    return str(error.value)


def test_a_folder_that_is_no_table_is_refused_with_the_way_out(tmp_path):
    assert "no Parquet file in this folder" in refusal(tmp_path)
    put(tmp_path, "0.parquet", A)
    (tmp_path / "notes.txt").write_text("secret cells\n")
    assert (
        "a folder may hold only Parquet files, and notes.txt is not one: move it away"
        in refusal(tmp_path)
    )
    (tmp_path / "notes.txt").rename(tmp_path / "_notes.txt")
    put(tmp_path, "more/1.parquet", A)
    assert "its folder 'more' is not a partition (NAME=VALUE)" in refusal(tmp_path)
    (tmp_path / "more").rename(tmp_path / "k=1")
    assert "0.parquet and k=1/1.parquet are in different kinds of partitions" in refusal(tmp_path)
    (tmp_path / "0.parquet").rename(tmp_path / "k=1" / "0.parquet")
    assert len(tables.read(Place.to_read(str(tmp_path))).frame) == 2
    (tmp_path / "k=1" / "2.parquet").write_bytes(b"")
    assert "k=1/2.parquet: the file is empty" in refusal(tmp_path)
    (tmp_path / "k=1" / "2.parquet").write_bytes(b"PAR1 and then nothing")
    assert "k=1/2.parquet: not a well-formed Parquet file" in refusal(tmp_path)
    (tmp_path / "k=1" / "2.parquet").unlink()
    (tmp_path / "k=1" / "2.parquet").symlink_to("nowhere")
    assert "k=1/2.parquet: cannot be read: No such file" in refusal(tmp_path)
    (tmp_path / "k=1" / "2.parquet").unlink()
    (tmp_path / "k=1" / "k=2").symlink_to(tmp_path)
    assert "k=1/k=2 is a link to a folder that contains it: remove the link" in refusal(tmp_path)


def test_a_column_that_is_also_a_partition_is_refused(tmp_path):
    put(tmp_path, "a=1/0.parquet", A)
    words = "column 'a' is both in the files and in the folder names: rename one of them"
    assert words in refusal(tmp_path)


def test_cells_that_are_not_valid_name_their_file(tmp_path):
    bad = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xe9")]
    )
    place = made(tmp_path, **{"0": {"a": ["x"]}, "1": {"a": bad}})
    with pytest.raises(DataError, match=r"1\.parquet: column 'a' has cells that are not valid"):
        tables.read(place)


def test_a_file_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    place = made(tmp_path, **{"0": A})
    if getattr(os, "geteuid", int)() == 0:  # whom nothing is forbidden
        monkeypatch.setattr("pathlib.Path.open", _forbidden)
    else:
        (tmp_path / "0.parquet").chmod(0)
    with pytest.raises(DataError, match=r"0\.parquet: cannot be read: Permission denied"):
        tables.read(place)


def _forbidden(*_):
    raise PermissionError(13, "Permission denied")


def test_a_file_that_changes_between_passes_is_refused(tmp_path):
    with tables.reading(made(tmp_path, **{"0": A, "1": A})) as blocks:
        put(tmp_path, "1.parquet", {"a": [1, 2], "b": ["x", "y"]})
        with pytest.raises(DataError, match=r"1\.parquet: changed while it was read"):
            list(blocks)


def test_files_may_differ_in_metadata_in_nulls_and_in_categories(tmp_path):
    one = pa.table(A, metadata={"owner": "clinic", "part": "1", "cfl.report": "{}"})
    two = one.replace_schema_metadata({"owner": "clinic", "part": "2", "cfl.report": "{}"})
    place = made(tmp_path, **{"0": one, "1": two})
    assert tables.read(place).frame.schema.metadata == {b"owner": b"clinic"}
    required = pa.table(
        A, schema=pa.schema([pa.field("a", "int64", nullable=False), ("b", "string")])
    )
    place = made(tmp_path, **{"0": required, "1": {"a": [None, 2], "b": ["x", "y"]}})
    assert tables.read(place).frame.schema.field("a").nullable
    with tables.reading(place) as stored:
        assert stored["a"].to_list() == [1, None, 2]
    one, two = (pa.array(cells).dictionary_encode() for cells in (["x", "y"], ["z", "y", None]))
    place = made(tmp_path, **{"0": {"a": one}, "1": {"a": two}})
    expected = ["x", "y", "z", "y", None]
    assert frames.as_polars(tables.read(place).frame)["a"].to_list() == expected
    with tables.reading(place, rows=2) as stored:
        assert stored["a"].to_list() == expected
        assert stored["a"].dtype == stored.dtype("a") == pl.Categorical
        blocks = [frames.as_polars(block.frame)["a"] for block in stored.blocks()]
    assert [cell for block in blocks for cell in block] == expected


def test_no_option_speaks_of_the_text_of_a_folder(tmp_path):
    place = made(tmp_path, **{"0": A})
    assert tables.read_sniffed(place)[1] is None
    with pytest.raises(UsageError, match="--delimiter does not apply"):
        tables.read(place, delimiter=";")
    with pytest.raises(UsageError, match="a folder holds Parquet files: leave --input-format out"):
        Place.to_read(str(tmp_path), "csv")
    assert Place.to_read(str(tmp_path), "parquet").format == DATA_SET


# A folder is written file by file, and appears whole or not at all.

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
        expected = {"a": [*range(start, start + rows)], "new": NEW[start : start + rows].to_list()}
        assert part.to_pydict() == expected
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


def test_a_table_without_rows_has_one_file_and_older_reports_do_not_get_into_parts(tmp_path):
    tables.write(pl.DataFrame({"a": ["x"]})[:0], Place.to_write(f"{tmp_path}/o/"), report=None)
    assert pq.read_table(tmp_path / "o" / "part-00000.parquet").num_rows == 0
    assert frames.names(tables.read(Place.to_read(f"{tmp_path}/o")).frame) == ["a"]
    table = pa.table({"a": [1]}, metadata={"cfl.report": "old", "owner": "clinic"})
    tables.write(table, Place.to_write(f"{tmp_path}/o/"), report="{}")
    metadata = pq.read_schema(tmp_path / "o" / "part-00000.parquet").metadata
    assert metadata == {b"owner": b"clinic"}


def test_fewer_rows_than_there_were_are_written_as_parts(tmp_path, data):
    table = tables.read(data)
    tables.write(table.frame[:2], Place.to_write(f"{tmp_path}/o/"), report=None, source=table)
    expected = {"a": [0, 1], "k": [1, 1]}
    assert tables.read(Place.to_read(f"{tmp_path}/o")).frame.to_pydict() == expected


def test_other_cells_of_a_partition_are_refused(tmp_path, data):
    table = tables.read(data)
    other = table.frame.set_column(1, "k", pa.array([9] * 5))
    with pytest.raises(
        DataError, match="the cells of column 'k' changed, but its values name the folders"
    ):
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
    with pytest.raises(
        UsageError, match="data: cfl did not write this folder: choose another folder"
    ):
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


def test_links_in_the_places_of_hidden_folders_lead_nowhere(tmp_path, data):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter").touch()
    for name in (".cfl-old-out", ".cfl-set-0123456789abcdef"):
        (tmp_path / name).symlink_to("theirs")
    write(data, Place.to_write(f"{tmp_path}/out/"))
    assert names(tmp_path / "theirs") == ["letter"]
    assert not (tmp_path / "out").is_symlink()
    assert not (tmp_path / "out" / "letter").exists()


def test_a_hidden_folder_that_cannot_be_opened_goes(tmp_path, data, monkeypatch):
    system = os.open

    def open_file(path, *how, **more):
        if ".cfl-set-" in str(path):
            raise OSError(errno.EMFILE, "Too many open files")
        return system(path, *how, **more)

    monkeypatch.setattr(os, "open", open_file)
    with pytest.raises(ResourceError, match="out: cannot be written: Too many open files"):
        write(data, Place.to_write(f"{tmp_path}/out/"))
    assert names(tmp_path) == ["data"]


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
    with pytest.raises(DataError, match=r"k=2/a\.parquet is in the manifest but not in the folder"):
        tables.read(Place.to_read(str(out)))
    (out / "k=2" / "b.parquet").rename(out / "k=2" / "a.parquet")
    pq.write_table(pa.table({"a": [1]}), out / "k=2" / "c.parquet")
    with pytest.raises(DataError, match=r"k=2/c\.parquet is in the folder but not in the manifest"):
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


@pytest.mark.unix
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


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files_is_an_error(tmp_path, data):
    (tmp_path / "no").mkdir(mode=0o500)
    with pytest.raises(ResourceError, match="cannot be written: Permission denied"):
        write(data, Place.to_write(f"{tmp_path}/no/out/"))
