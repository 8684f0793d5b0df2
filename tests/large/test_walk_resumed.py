"""A walk that was kept some steps before it was killed goes on as if nothing had happened."""

import numpy as np
import pytest

from cfl_cli.large.run_directory import RunDirectory
from cfl_cli.large.stored import Stored, Threads
from cfl_cli.methods.graph import propagation as propagate
from cfl_cli.methods.graph.propagation import Graph

ROWS = 40
BLOCKS = np.array([0, 2])
STOPS = np.array([20, 39])
# Each row leans on the one before it, so that news travels a row a step. The first rows are certain
# of the first value, which row 30 rules out: there the news would end in a fallback at step 29,
# but the first CF stops before.
CELLS = np.ones((ROWS, 4), dtype=bool)
CELLS[:2] = [True, False, True, True]
CELLS[30] = [False, True, True, True]


class KilledError(Exception):
    """Ends a walk."""


def walk(engine, progress=lambda _: None):
    before = np.maximum(np.arange(ROWS) - 1, 0).astype(np.int32)[:, None]
    before[0] = 1
    graph = Graph.of(before, np.ones((ROWS, 1)), np.arange(ROWS), workers=engine.within("graph"))
    given = {"iterations": STOPS, "workers": engine, "progress": progress}
    return propagate.propagate(graph, CELLS, BLOCKS, **given)


def test_a_row_that_fell_back_after_the_last_keep_has_not_when_resumed(
    tmp_path, monkeypatch, workers
):
    def keep(walk, kept=propagate.Walk._keep):
        if walk.done == 10:
            kept(walk)

    def die(step):
        if step == 30:
            raise KilledError

    monkeypatch.setattr(propagate, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(propagate.Walk, "_keep", keep)
    with RunDirectory.begin(tmp_path / "run", {}, resume=False) as run, pytest.raises(KilledError):
        walk(Stored(run.folder, Threads(workers), workers, durable=True), die)
    steps = []
    with RunDirectory.begin(tmp_path / "run", {}, resume=True) as run:
        engine = Stored(run.folder, Threads(workers), workers, durable=True)
        found = walk(engine, steps.append)
        assert steps[0] == 11
        whole = walk(workers)
        for name in ("confidences", "fell_back", "mass", "steps"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert not whole.fell_back[:, 0].any()
