"""New rows are answered alike whoever does it: threads here, or an engine's workers."""

from contextlib import contextmanager

import pytest
from builders.tables import SCHEMA, table
from polars.testing import assert_frame_equal

from cfl_cli import Model, UsageError, fit
from cfl_cli.commands.apply import batch
from cfl_cli.core.parallel import Workers
from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored, Threads
from cfl_cli.methods import boost, net
from cfl_cli.run import result

NEW = table(60, seed=5)


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net, "STEPS", 24)
        patch.setattr(boost, "MOST_ROUNDS", 6)
        yield


@contextmanager
def stored_engine(limits, **_):
    """An engine whose arrays are files, and whose kernels are run by threads."""
    with RunDirectory.make_temporary(None) as made, Workers(2) as threads:
        yield Stored(made.folder, Threads(threads), threads, durable=False)


@pytest.mark.parametrize(
    "method",
    [
        "graph",
        pytest.param("ipal", marks=pytest.mark.slow),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("boost", "net", "auto")),
    ],
)
def test_an_engine_says_what_threads_say_in_blocks_of_any_size(method, monkeypatch):
    model = fit(table(), SCHEMA, method=method)
    here = model.apply(NEW, mode="both")
    monkeypatch.setattr(batch, "open_engine", stored_engine)
    for rows in (3, 8192):  # more blocks than are answered together, and one
        monkeypatch.setattr(result, "ROWS_AT_ONCE", rows)
        there = model.apply(NEW, mode="both")
        assert_frame_equal(there.frame, here.frame)
        assert there.report.columns == here.report.columns
        assert there.report.answers_sha256 == here.report.answers_sha256
    assert model.apply(NEW[:0]).frame.height == 0


def test_dask_says_the_same():
    pytest.importorskip("distributed")
    model = fit(table(), SCHEMA, method="commonest")
    here, there = model.apply(NEW), model.apply(NEW, engine="dask", workers=1)
    assert_frame_equal(there.frame, here.frame)
    assert there.report.columns == here.report.columns


@pytest.mark.slow
@pytest.mark.parametrize("method", ["graph", "auto"])
def test_dask_says_the_same_by_any_number_of_workers(method, monkeypatch, tmp_path):
    pytest.importorskip("distributed")
    fit(table(), SCHEMA, method=method).save(tmp_path / "m.cfl")
    model = Model.load(tmp_path / "m.cfl")
    here = model.apply(NEW, mode="both")
    monkeypatch.setattr(result, "ROWS_AT_ONCE", 7)
    for workers in (1, 2):
        there = model.apply(NEW, mode="both", engine="dask", workers=workers)
        assert_frame_equal(there.frame, here.frame)


def test_where_the_work_is_done_is_checked():
    model = fit(table(), SCHEMA, method="commonest")
    with pytest.raises(UsageError, match="workers: goes with engine='dask'"):
        model.apply(NEW, workers=2)
