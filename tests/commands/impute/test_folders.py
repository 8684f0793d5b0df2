"""DATA and OUT may be folders of Parquet files, for every command."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from builders.command_line import SCHEMA, cfl, done, impute

from cfl_cli.tables import folders

ROWS = 60
HEIGHTS = [25, 0, 20, 15]  # of the parts


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pl.DataFrame(
        {
            "id": [f"r{n}" for n in range(ROWS)],
            "x": [n * 7 % 11 for n in range(ROWS)],
            "cf": ["abc"[n * n % 3] for n in range(ROWS)],
            "y": [int(n >= 25) for n in range(ROWS)],
        }
    )
    table.write_parquet("one.parquet")
    start = 0
    for number, rows in enumerate(HEIGHTS):
        part = Path(f"data/y={int(start >= 25)}")
        part.mkdir(parents=True, exist_ok=True)
        table[start : start + rows].drop("y").write_parquet(part / f"{number}.parquet")
        start += rows
    Path("data/_SUCCESS").touch()
    Path("schema.yml").write_text(SCHEMA)
    return tmp_path


def names(path="."):
    return sorted(one.name for one in Path(path).iterdir())


@pytest.mark.parametrize("mode", ["hard", pytest.param("both", marks=pytest.mark.slow)])
def test_a_folder_is_imputed_as_the_same_rows_in_one_file_are(folder, mode):
    done(impute("--mode", mode, data="one.parquet", out="one-out.parquet"))
    done(impute("--mode", mode, data="data", out="out/"))
    done(impute("--mode", mode, "--digits", "full", data="data/", out="single.csv"))
    one = pl.read_parquet("one-out.parquet")
    many = pl.read_parquet("out/y=*/*.parquet", hive_partitioning=True)
    assert many.select(one.columns).equals(one)
    assert many.columns[-1] == "y"
    assert pl.read_csv("single.csv").select(one.columns).rows() == one.rows()
    parts = [pl.read_parquet(path).height for path in sorted(Path("out").glob("y=*/*"))]
    assert parts == HEIGHTS
    assert names(folder) == [
        *("data", "one-out.parquet", "one.parquet", "out", "schema.yml"),
        *("single.csv", "single.csv.report.json"),
    ]


def test_a_folder_has_its_report_inside_and_can_be_verified(folder):
    done(impute(data="data", out="out/"))
    assert json.loads(done(cfl("report", "out/", "--format", "json")).output)["rows"] == ROWS
    shown = done(cfl("report", "out", "--verify", "data", "--schema", "schema.yml")).output
    assert shown.splitlines()[0].startswith("data: is the table that out was made from (SHA-256 ")
    assert shown.splitlines()[2:] == [
        "out: its other columns are the same as in data",
        "out: its new columns are as they were written",
        "out: all columns are as they were written",
    ]
    Path("data/y=0/0.parquet").rename("data/y=0/5.parquet")
    found = cfl("report", "out", "--verify", "data")
    assert found.exit_code == 1
    assert "data: is not the table that out was made from" in found.output


def test_a_folder_may_be_the_one_that_one_is_in(folder, monkeypatch):
    done(impute(data="data", out="out/"))
    monkeypatch.chdir("data")
    done(impute(data=".", schema="../schema.yml", out="../other/"))
    report = json.loads(Path("../other/_cfl_report.json").read_text())
    assert report["sources"]["table"] == "data"
    monkeypatch.chdir("y=0")
    assert cfl("report", "../../out", "--verify", "..").exit_code == 0
    monkeypatch.chdir("../../out")
    for name in (".", "./", "y=0/.."):
        assert cfl("report", name, "--verify", "../data").exit_code == 0
    for name in ("/", "y=0"):
        found = cfl("report", name)
        assert found.exit_code in (1, 2)
        assert "Traceback" not in found.output


def test_a_run_is_the_same_to_the_byte_whatever_the_threads(folder):
    for jobs in (1, 2):
        done(impute("--jobs", jobs, data="data", out=f"out{jobs}/"))
    for path in sorted(Path("out1").rglob("*.parquet")):
        assert path.read_bytes() == (Path("out2") / path.relative_to("out1")).read_bytes()
    manifests = [json.loads(Path(f"out{n}/_cfl_manifest.json").read_text()) for n in (1, 2)]
    assert manifests[0] == manifests[1]


def test_a_model_fills_in_a_folder_block_by_block(folder):
    done(cfl("fit", "data", "--schema", "schema.yml", "--model", "m.cfl"))
    done(cfl("apply", "one.parquet", "--model", "m.cfl", "--out", "a.parquet"))
    done(cfl("apply", "data", "--model", "m.cfl", "--out", "a/"))
    done(cfl("apply", "one.parquet", "--model", "m.cfl", "--out", "b/"))
    one = pl.read_parquet("a.parquet")
    many = pl.read_parquet("a/y=*/*.parquet", hive_partitioning=True)
    assert many.select(one.columns).equals(one)
    assert names("b") == ["_cfl_manifest.json", "_cfl_report.json", "part-00000.parquet"]
    assert pl.read_parquet("b/*.parquet").equals(one)
    assert cfl("report", "a", "--verify", "data").exit_code == 0


def test_every_command_reads_a_folder_as_it_reads_the_file(folder):
    pairs = {}
    for name in ("data", "one.parquet"):
        for command in (
            ("check", name, "--schema", "schema.yml"),
            ("init", name, "--cf", "cf"),
            ("explain", name, "--schema", "schema.yml", "--row", "3"),
        ):
            pairs.setdefault(command[0], []).append(done(cfl(*command)).output)
        done(cfl("mask", name, "--schema", "schema.yml", "--out", f"masked-{name}/"))
    for command, (one, two) in pairs.items():
        if command != "check":  # which says how long it would take
            assert sorted(one.splitlines()) == sorted(two.splitlines())
    assert pairs["check"][0].splitlines()[0] == pairs["check"][1].splitlines()[0]
    masked = pl.read_parquet("masked-data/y=*/*.parquet", hive_partitioning=True)
    assert masked.rows() == pl.read_parquet("masked-one.parquet/*.parquet").rows()
    done(impute("--mode", "hard", data="masked-data", out="out/"))
    shown = done(cfl("evaluate", "out", "--truth", "data", "--schema", "schema.yml")).output
    assert shown.startswith("60 rows, 1 CF")
    assert cfl("audit", "out", "--draw", "5", "--out", "draw.csv").exit_code == 0
    checked = pl.read_csv("draw.csv", infer_schema=False)
    answers = [name for name in checked.columns if checked[name].null_count() == 5]
    checked.with_columns(pl.lit("a").alias(answers[0])).write_csv("checked.csv")
    done(cfl("audit", "out", "--checked", "checked.csv"))
    report = json.loads(Path("out/_cfl_report.json").read_text())
    assert report["columns"][0]["accuracy_basis"] == "audit"
    assert done(cfl("report", "out", "--verify", "masked-data")).output


@pytest.mark.parametrize(
    ("data", "out", "words"),
    [
        ("data", "data/", "data: this is an input file"),
        ("data", "data/o.parquet", "is inside the input folder data: choose another name"),
        ("data", "data/y=0/o/", "is inside the input folder data: choose another name"),
        ("one.parquet", "./", "the folder contains the input one.parquet: choose another name"),
        ("one.parquet", "data/", "data: cfl did not write this folder: choose another name"),
        ("one.parquet", "data", "data: a directory: name a file in it, or add a / at its end"),
        ("one.parquet", "schema.yml/", "schema.yml: this is an input file"),
        ("one.parquet", "none/out/", "none does not exist"),
        ("empty", "o/", "empty: no Parquet file in this folder"),
        ("none/", "o/", "none: cannot be read: No such file or directory"),
        ("one.parquet/", "o/", "one.parquet: cannot be read: Not a directory"),
    ],
)
def test_nobodys_files_are_harmed(folder, data, out, words):
    Path("empty").mkdir()
    before = sorted(path for path in folder.rglob("*"))
    found = impute("--overwrite", data=data, out=out)
    assert found.exit_code in (1, 2)
    assert words in found.stderr
    assert sorted(path for path in folder.rglob("*")) == before


def test_a_report_of_its_own_cannot_be_in_the_folder(folder):
    done(impute("--report", "r.json", data="data", out="out/"))
    found = impute("--report", "out/r.json", "--overwrite", data="data", out="out/")
    assert found.exit_code == 2
    assert "out/r.json: is in out, which is written as a whole: choose another name" in found.stderr


def test_an_existing_folder_needs_overwrite_and_a_slash_no_more(folder):
    done(impute(data="data", out="out/"))
    assert "already exists: add --overwrite" in impute(data="data", out="out").stderr
    done(impute("--overwrite", "--model", "m.cfl", data="one.parquet", out="out"))
    assert names("out") == ["_cfl_manifest.json", "_cfl_report.json", "part-00000.parquet"]
    found = impute("--output-format", "csv", data="data", out="new/")
    assert found.exit_code == 2
    assert "new/: a folder holds Parquet files: leave --output-format out" in found.stderr


def command(out):
    data = ["impute", "data", "--schema", "schema.yml", "--folds", "0", "--overwrite", "-q"]
    return [sys.executable, "-m", "cfl_cli", *data, "--out", out]


@pytest.mark.slow
def test_after_a_kill_at_any_moment_the_folder_is_the_old_one_or_the_new_one(folder):
    began = time.monotonic()
    subprocess.run(command("new/"), check=True)
    lasting = time.monotonic() - began
    new = Path("new/_cfl_manifest.json").read_bytes()
    rng = random.Random(7)
    for _ in range(25):
        shutil.rmtree("out", ignore_errors=True)
        done(impute("--mode", "soft", "-q", data="data", out="out/"))
        old = Path("out/_cfl_manifest.json").read_bytes()
        with subprocess.Popen(command("out/")) as run:
            time.sleep(lasting * rng.uniform(0.6, 1.1))
            run.send_signal(signal.SIGKILL)
        assert Path("out/_cfl_manifest.json").read_bytes() in (old, new)
        assert cfl("report", "out", "--verify", "data").exit_code == 0
    done(impute("-q", data="data", out="last/"))
    assert not [name for name in names() if name.startswith(".cfl")]


@pytest.mark.parametrize("call", ["rename", "fsync"])
def test_a_disk_that_fails_leaves_nothing(folder, monkeypatch, call):
    def fail(*_):
        raise OSError(28, "No space left on device")

    if call == "rename":
        monkeypatch.setattr(Path, "replace", fail)
    else:
        monkeypatch.setattr(folders.os, "fsync", fail)
    found = impute(data="data", out="out/")
    assert found.exit_code == 4
    assert "cannot be written: No space left on device" in found.stderr
    assert [name for name in names() if name.startswith((".cfl", "out"))] == []


def test_a_name_without_an_ending_is_refused_with_how_a_folder_is_named(folder):
    found = impute(data="data", out="filled")
    assert found.exit_code == 2
    assert "filled: unknown format: end the name in " in found.stderr
    assert "; filled/ is a folder of Parquet files" in found.stderr


def test_markers_of_other_tools_do_not_keep_a_folder_from_being_replaced(folder):
    done(impute("--folds", "0", data="data", out="out/"))
    for name in ("_SUCCESS", "_metadata", "_common_metadata", "._SUCCESS.crc"):
        (folder / "out" / name).touch()
    done(impute("--folds", "0", "--overwrite", data="data", out="out/"))
    assert names("out") == ["_cfl_manifest.json", "_cfl_report.json", "y=0", "y=1"]
    (folder / "out" / "_notes").touch()
    found = impute("--folds", "0", "--overwrite", data="data", out="out/")
    assert found.exit_code == 2
    assert "holds _notes, which cfl did not write" in found.stderr


def test_the_report_of_a_folder_that_lost_a_part_is_refused(folder):
    done(impute("--folds", "0", data="data", out="out/"))
    done(cfl("report", "out"))
    lost = min(Path("out").rglob("*.parquet"))
    lost.unlink()
    found = cfl("report", "out")
    assert found.exit_code == 1
    relative = lost.relative_to("out").as_posix()
    assert f"out: {relative} is in the manifest but not in the folder" in found.stderr
