"""Whatever happens to a run, its files hold the old bytes or the complete new ones."""

import base64
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cfl_cli.tables.files import PLACING

BUILDERS = Path(__file__).parents[1] / "builders"
SCHEMA = """\
version: 1
columns:
  age: {role: ordinary, type: numeric}
  job: {role: complementary, values: [a, b, c]}
settings: {k: 2, iterations: 3, folds: 0, jobs: 1, overwrite: true, quiet: true}
"""
ROWS = "".join(f"{age},{'abc'[age % 3]}\n" for age in range(40))
FORMATS = ["csv", "parquet", "jsonl.gz"]
MOSTLY_LATER = [FORMATS[0], *(pytest.param(form, marks=pytest.mark.slow) for form in FORMATS[1:])]
UNHARMED = 99
OLD = b"what was here before"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "data.csv").write_text(f"age,job\n{ROWS}")
    (tmp_path / "in" / "schema.yml").write_text(SCHEMA)
    return tmp_path


def arguments(folder, form, *options):
    data, schema, out = (
        str(folder / name) for name in ("in/data.csv", "in/schema.yml", f"out/o.{form}")
    )
    report = str(folder / "out" / "report.json")
    return ["impute", data, "--schema", schema, "--out", out, "--report", report, *options]


def contents(folder):
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


def settings_of(report):
    return json.loads(report)["settings"]


def prepared(folder, form, forked):
    """Return what a run writes, having put old files in its way."""
    assert forked.run(*arguments(folder, form)).returncode == 0
    new = contents(folder)[f"o.{form}"]
    for name in (f"o.{form}", "report.json"):
        (folder / "out" / name).write_bytes(OLD)
    return new


def check_whole(found, form, new):
    """Return the names of rubbish, having checked that each file is the old or the new one."""
    assert found[f"o.{form}"] in {OLD, new}
    assert found["report.json"] == OLD or settings_of(found["report.json"])["k"] == 2
    return set(found) - {f"o.{form}", "report.json"}


@pytest.mark.unix
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_a_call_that_fails_or_kills_leaves_old_or_new(folder, form, forked):
    new = prepared(folder, form, forked)
    given = [sys.executable, BUILDERS / "faulty.py", folder / "out", "--", *arguments(folder, form)]
    output = subprocess.run(given, check=True, capture_output=True)
    runs = [json.loads(line) for line in output.stdout.splitlines()]
    for run in runs:
        found = {name: base64.b64decode(data) for name, data in run["files"].items()}
        rubbish = check_whole(found, form, new)
        # Without a link to the old file there is no way back, which nothing needs this time.
        if run["code"] == UNHARMED or (run["call"] == "link" and run["code"] == 0):
            assert found[f"o.{form}"] == new
            assert not rubbish
        elif run["fault"] == "kill":
            assert run["code"] == -signal.SIGKILL
            # A file that has a name of its own cannot take it along, nor can the old one that has
            # a second name; the next run removes both.
            assert run["way"] == "named" or len(rubbish) <= 2
            assert all(name.startswith(".cfl-") for name in rubbish)
        elif run["code"] == 0:  # the folder, which is synced when all is in its place
            assert run["call"] == "fsync", run["stderr"]
            assert "everything was written, but a power cut could still undo it" in run["stderr"]
            assert found[f"o.{form}"] == new
            assert not rubbish
        else:
            assert run["code"] == 4, run["stderr"]
            assert run["stderr"].count("\n") == 1
            assert "cannot be written: No space left on device" in run["stderr"]
            assert not rubbish
    harmed = {(run["call"], run["way"]) for run in runs if run["code"] != UNHARMED}
    assert len(harmed) == 10  # five calls, two ways


@pytest.mark.parametrize("form", MOSTLY_LATER)
def test_a_limit_on_file_sizes_leaves_the_old_files(folder, form, forked):
    new = prepared(folder, form, forked)
    run = forked.run(*arguments(folder, form), file_size=len(new) - 1)
    assert run.returncode == 4
    assert b"File too large" in run.stderr
    assert contents(folder) == {f"o.{form}": OLD, "report.json": OLD}


@pytest.mark.parametrize("form", MOSTLY_LATER)
def test_a_full_disk_leaves_the_old_files(folder, form, forked):
    mount = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(folder / "out")]
    if (
        getattr(os, "geteuid", int)() != 0
        or subprocess.run(mount, check=False, capture_output=True).returncode
    ):
        pytest.skip("only root can mount a small disk")
    try:
        (folder / "out" / f"o.{form}").write_bytes(OLD)
        run = forked.run(*arguments(folder, form))
        assert run.returncode == 4
        assert b"No space left on device" in run.stderr
        assert contents(folder) == {f"o.{form}": OLD}
    finally:
        subprocess.run(["umount", str(folder / "out")], check=True)


def kill_at_random(folder, form, times, forked, *, seed):
    """Kill runs at random moments and return how many of them had placed the table by then."""
    new = prepared(folder, form, forked)
    began = time.monotonic()
    forked.run(*arguments(folder, form))
    lasting = time.monotonic() - began
    rng = random.Random(seed)
    placed = 0
    for _ in range(times):
        for name in (f"o.{form}", "report.json"):
            (folder / "out" / name).write_bytes(OLD)
        with Path(os.devnull).open("r+b") as nothing:
            run = forked.start(*arguments(folder, form), streams=[nothing.fileno()] * 3)
        time.sleep(rng.uniform(0.1, 1.1) * lasting)
        run.send_signal(rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        run.wait()
        # Two files trade places in two steps: a kill between them leaves a second name of the old
        # file and one of the new, and the next run that gets so far removes what the last one left.
        rubbish = check_whole(contents(folder), form, new)
        assert len(rubbish) <= 2
        assert all(name.startswith(PLACING) for name in rubbish)
        placed += contents(folder)[f"o.{form}"] == new
    assert forked.run(*arguments(folder, form)).returncode == 0
    assert not check_whole(contents(folder), form, new)
    return placed


@pytest.mark.unix
def test_a_kill_at_any_moment_leaves_old_or_new(folder, forked):
    kill_at_random(folder, "csv", 10, forked, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_hundreds_of_kills_leave_old_or_new(folder, form, forked):
    assert 0 < kill_at_random(folder, form, 200, forked, seed=1) < 200


@pytest.fixture
def side_by_side(forked):
    def start(*runs):
        with Path(os.devnull).open("r+b") as nothing:
            begun = [forked.start(*run, streams=[nothing.fileno()] * 3) for run in runs]
            return [run.wait() for run in begun]

    return start


@pytest.mark.parametrize("form", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_runs_to_the_same_table_never_mix(folder, form, side_by_side):
    runs = {k: arguments(folder, form, "--k", str(k)) for k in (2, 3, 4)}
    expected = {}
    for k, run in runs.items():
        assert side_by_side(run) == [0]
        expected[k] = contents(folder)[f"o.{form}"]
    assert len(set(expected.values())) == 3
    for _ in range(3):
        assert side_by_side(*runs.values()) == [0, 0, 0]
        found = contents(folder)
        k = settings_of(found.pop("report.json"))["k"]
        assert found == {f"o.{form}": expected[k]}


def test_of_two_runs_that_may_not_overwrite_one_is_refused(folder, forked):
    given = arguments(folder, "csv", "--no-overwrite")
    with Path(os.devnull).open("r+b") as nothing:
        runs = [forked.start(*given, streams=[nothing.fileno()] * 3) for _ in range(2)]
        assert sorted(run.wait() for run in runs) == [0, 2]
    assert set(contents(folder)) == {"o.csv", "report.json"}


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "arrow", "csv.zst"])
def test_a_reader_that_goes_away_ends_the_run_quietly(folder, form, forked):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as nobody_reads:
        given = arguments(folder, "csv", "--out", "-", "--output-format", form)
        run = forked.run(*given, stdout=nobody_reads)
    assert (run.stderr, run.returncode) == (b"", 0)
    assert not contents(folder)
