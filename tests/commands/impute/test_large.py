"""Tables whose cells and arrays are on disk, and runs that are killed and go on."""

import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from builders.killed import Killed, dying

import cfl_cli
from cfl_cli.commands.impute import work as imputes
from cfl_cli.errors import UsageError
from cfl_cli.large import stored
from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph import propagation as propagate
from cfl_cli.methods.graph.propagation import WalkStep
from tests.builders.command_line import impute

SCHEMA = """\
version: 1
columns:
  size: {role: ordinary, type: numeric}
  age: {role: ordinary, type: numeric}
  town: {role: ordinary, type: categorical}
  a: {role: ordinary, type: numeric}
  b: {role: ordinary, type: numeric}
  c: {role: ordinary, type: numeric}
  color: {role: complementary, values: [red, green, blue]}
  shape: {role: complementary, values: [round, square, long, flat]}
settings: {k: 5, iterations: 12}
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table of three groups, in CSV and Parquet; even so few rows are searched by lists."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(neighbors, "DENSE_POINTS", 50)
    monkeypatch.setattr(propagate, "SMALL", 100)
    rng = np.random.default_rng(0)
    n = 400
    group = rng.integers(0, 3, n)
    numbers = {name: (group + rng.normal(0, 0.4, n)).round(6) for name in ("a", "b", "c")}
    colors, shapes = np.array(["red", "green", "blue"]), np.array(["round", "square", "long"])
    frame = pl.DataFrame(
        {
            "size": group * 10 + rng.integers(0, 9, n),
            "age": rng.integers(20, 60, n),
            "town": np.array(["Ulm", "Bonn", "Kiel", "Hof"])[rng.integers(0, 4, n)],
            **numbers,
            "color": colors[(group + rng.integers(1, 3, n)) % 3],
            "shape": shapes[(group + rng.integers(1, 3, n)) % 3],
            "note": [f"row {row}" for row in range(n)],
        }
    )
    frame.write_csv("data.csv")
    frame.write_parquet("data.parquet")
    (tmp_path / "schema.yml").write_text(SCHEMA)
    return frame


def run(out, *options, data="data.parquet"):
    result = impute("--method", "graph", *options, data=data, out=out)
    assert result.exit_code == 0, result.output
    return Path(out).read_bytes()


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        ("data.csv", ("--folds", "0", "--mode", "both")),
        pytest.param("data.parquet", (), marks=pytest.mark.slow),
        pytest.param("data.csv", ("--gamma", "0"), marks=pytest.mark.slow),
    ],
)
def test_rows_that_go_through_in_blocks_give_the_same_bytes(table, monkeypatch, data, settings):
    whole = run("whole.parquet", *settings, data=data)
    monkeypatch.setattr(imputes, "LARGE", 1)
    assert run("blocks.parquet", *settings, data=data) == whole
    assert run("files.parquet", *settings, "--run-dir", "run", data=data) == whole
    assert not Path("run").exists()


def test_small_blocks_and_slices_change_no_byte(table, monkeypatch):
    whole = run("whole.parquet", "--folds", "0")
    monkeypatch.setattr("cfl_cli.run.impute.ROWS_AT_ONCE", 7)
    monkeypatch.setattr(neighbors, "AT_ONCE", 9)
    monkeypatch.setattr(propagate, "CELLS_AT_ONCE", 70)
    monkeypatch.setattr(stored, "TASK_ROWS", 130)
    assert run("blocks.parquet", "--folds", "0", "--run-dir", "run") == whole


@pytest.mark.parametrize(
    ("settings", "tasks"),
    [
        (("--folds", "0"), 8),
        pytest.param(("--folds", "0"), 5, marks=pytest.mark.slow),
        pytest.param(("--iterations", "auto"), 300, marks=pytest.mark.slow),
        pytest.param(("--method", "auto"), 400, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_again_and_again_ends_in_the_same_bytes(
    table, monkeypatch, tasks, settings
):
    whole = run("whole.parquet", *settings)
    monkeypatch.setattr(propagate, "KEPT_SECONDS", 0.0)
    left = {"tasks": tasks}
    work = stored.run_task

    def mortal(*arguments, **named):
        if left["tasks"] == 0:
            raise Killed
        left["tasks"] -= 1
        return work(*arguments, **named)

    monkeypatch.setattr(stored, "run_task", mortal)
    for attempt in range(60):
        left["tasks"] = tasks * (attempt + 1)  # a walk over hidden rows begins anew
        given = (*settings, "--run-dir", "run", "--resume", "--jobs", 1 + attempt % 2)
        with suppress(Killed):
            assert run("out.parquet", *given) == whole
            break
        assert not Path("out.parquet").exists()
    assert attempt >= 2
    assert not Path("run").exists()


def test_a_resumed_run_must_be_of_the_same_table_and_settings(table, monkeypatch):
    with dying(monkeypatch):
        impute("--run-dir", "run", "--method", "graph")
    again = impute("--run-dir", "run", "--method", "graph")
    assert again.exit_code == 2
    assert "--resume goes on with it" in again.stderr
    other = impute("--run-dir", "run", "--resume", "--method", "graph", "--k", "7")
    assert other.exit_code == 2
    assert "the settings differ: k: 5 → 7" in other.stderr
    table.reverse().write_csv("data.csv")
    others = impute("--run-dir", "run", "--resume", "--method", "graph")
    assert others.exit_code == 2
    assert "the data have changed" in others.stderr


def test_dask_gives_the_same_bytes(table):
    pytest.importorskip("distributed")
    whole = run("whole.parquet", "--folds", "0")
    assert run("dask.parquet", "--folds", "0", "--engine", "dask", "--workers", "1") == whole


def test_folds_and_steps_that_hidden_cells_choose_by_files(table):
    given = ("--folds", "2", "--iterations", "auto", "--gamma", "0")
    assert run("files.parquet", *given, "--run-dir", "run") == run("whole.parquet", *given)


@pytest.mark.parametrize(
    ("settings", "walks"),
    [
        (("--gamma", "0"), 3 + 2),  # three folds; the answers, and shuffled cells
        pytest.param((), 2 * 3 + 3, marks=pytest.mark.slow),
        pytest.param(("--gamma", "0", "--iterations", "auto"), 2 * 3 + 2, marks=pytest.mark.slow),
    ],
)
def test_a_fold_that_is_done_is_not_done_again(table, monkeypatch, settings, walks):
    given = ("--folds", "3", *settings)
    whole = run("whole.parquet", *given)
    walked, go = [], propagate.Walk.go

    def die_in_the_third(walk, progress):
        if len(walked) == 2:
            raise Killed
        walked.append(walk)
        go(walk, progress)

    def count(walk, progress):
        walked.append(walk)
        go(walk, progress)

    given = (*given, "--run-dir", "run", "--resume")
    monkeypatch.setattr(propagate.Walk, "go", die_in_the_third)
    with pytest.raises(Killed):
        run("out.parquet", *given)
    monkeypatch.setattr(propagate.Walk, "go", count)
    assert run("out.parquet", *given) == whole
    assert len(walked) == walks


def test_another_sheet_or_sign_is_another_run(table, monkeypatch):
    with dying(monkeypatch):
        impute("--run-dir", "run", "--method", "graph")
    other = impute("--run-dir", "run", "--resume", "--method", "graph", "--encoding", "latin-1")
    assert other.exit_code == 2
    assert "the reading differ: encoding" in other.stderr


def test_python_resumes_the_same_table_only_and_leaves_no_folder(table, monkeypatch):
    given = {"method": "graph", "folds": 0, "run_dir": "run"}
    with dying(monkeypatch):
        cfl_cli.impute(table, "schema.yml", **given)
    with pytest.raises(UsageError, match="the data have changed"):
        cfl_cli.impute(table.reverse(), "schema.yml", resume=True, **given)
    found = cfl_cli.impute(table, "schema.yml", resume=True, **given)
    assert not Path("run").exists()
    whole = cfl_cli.impute(table, "schema.yml", method="graph", folds=0)
    assert found.frame.equals(whole.frame)


def zero_the_end(path):
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("near", Path.unlink),
        ("ends", zero_the_end),
        pytest.param("ends", Path.unlink, marks=pytest.mark.slow),
        pytest.param("near", zero_the_end, marks=pytest.mark.slow),
    ],
)
def test_what_was_damaged_in_a_run_directory_is_done_again(table, monkeypatch, name, harm):
    whole = run("whole.parquet", "--folds", "0")
    work = stored.run_task

    def die_in_the_walk(kernel, *arguments, **named):
        if isinstance(kernel, WalkStep):
            raise Killed
        return work(kernel, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(stored, "run_task", die_in_the_walk)
        with pytest.raises(Killed):
            run("out.parquet", "--folds", "0", "--run-dir", "run")
    (damaged,) = Path("run").glob(f"**/{name}.npy")
    harm(damaged)
    assert run("out.parquet", "--folds", "0", "--run-dir", "run", "--resume") == whole


@pytest.mark.parametrize("name", ["neighbors", "weights", "offsets"])
def test_a_damaged_byte_of_a_stage_that_is_marked_as_done_is_noticed(table, monkeypatch, name):
    whole = run("whole.parquet", "--folds", "0", "--gamma", "0")
    work, done = stored.run_task, []

    def die_in(kind, kernel, *arguments, **named):
        done.append(type(kernel).__name__)
        if isinstance(kernel, kind):
            raise Killed
        return work(kernel, *arguments, **named)

    given = ("--folds", "0", "--gamma", "0", "--run-dir", "run", "--resume")
    with monkeypatch.context() as patch:
        patch.setattr(stored, "run_task", partial(die_in, propagate.LayOut))
        with pytest.raises(Killed):
            run("out.parquet", *given)
        (damaged,) = Path("run").glob(f"**/{name}.npy")
        content = bytearray(damaged.read_bytes())
        content[-1001] ^= 1
        damaged.write_bytes(content)
        done.clear()
        patch.setattr(stored, "run_task", partial(die_in, ()))
        assert run("out.parquet", *given) == whole
    again = {"neighbors": "Settle", "weights": "Weigh", "offsets": "Survey"}
    assert done.count(again[name]) == 1
    assert {*done} & {*again.values()} == {again[name]}


def test_the_command_reads_partitions_though_it_does_without_pandas(table):
    Path("set/year=2024").mkdir(parents=True)
    Path("data.parquet").rename("set/year=2024/part.parquet")
    given = ["set", "--schema", "schema.yml", "--out", "out/", "--method", "graph", "--folds", "0"]
    subprocess.run([sys.executable, "-m", "cfl_cli", "impute", *given], check=True)
    assert Path("out/year=2024/part.parquet").exists()
