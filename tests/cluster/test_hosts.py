"""Whole commands by two workers on another host, which see none of the run's files."""

from pathlib import Path

import pytest
from builders.command_line import cfl
from builders.hosts import hosts_elsewhere
from builders.tables import SCHEMA, table

from cfl_cli.methods import graph
from cfl_cli.methods.graph import neighbors, propagate

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow  # processes start, and every step takes messages


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    with hosts_elsewhere(tmp_path_factory.mktemp("hosts"), "one", "two") as made:
        yield made


@pytest.fixture
def address(started, monkeypatch):
    """Go where the workers see nothing; even few rows are searched and laid out as many are."""
    monkeypatch.setattr(neighbors, "DENSE_POINTS", 50)
    monkeypatch.setattr(propagate, "SMALL", 100)
    for module in (graph, graph):  # steps that hidden cells choose are else up to 400
        monkeypatch.setattr(module, "most_steps", lambda *_: 12)
    monkeypatch.chdir(started.hidden)
    table(300).write_csv("data.csv")
    table(90, seed=7).write_csv("new.csv")
    Path("schema.yml").write_text(SCHEMA.text)
    yield started.address
    for path in Path().iterdir():
        path.unlink()


def written(address, out, *arguments):
    """Return what a command writes, here and by the workers elsewhere."""
    here, there = f"here-{out}", f"there-{out}"
    elsewhere = ("--engine", "dask", "--scheduler", address)
    for name, where in ((here, ()), (there, elsewhere)):
        done = cfl(*arguments, "--out", name, *where)
        assert done.exit_code == 0, done.output
    return Path(here).read_bytes(), Path(there).read_bytes()


@pytest.mark.parametrize(
    "settings",
    [(), ("--iterations", "auto", "--folds", "2", "--gamma", "0", "--mode", "both")],
    ids=["two rounds", "steps that hidden cells choose"],
)
def test_a_run_with_folds_ends_in_the_bytes_of_a_local_one(address, settings):
    given = ("impute", "data.csv", "--schema", "schema.yml", "--method", "graph", *settings)
    here, there = written(address, "out.parquet", *given)
    assert here == there


def test_a_model_is_applied_to_the_same_bytes(address):
    done = cfl("fit", "data.csv", "--schema", "schema.yml", "--method", "graph", "--model", "m.cfl")
    assert done.exit_code == 0, done.output
    here, there = written(address, "out.csv", "apply", "new.csv", "--model", "m.cfl")
    assert here == there
