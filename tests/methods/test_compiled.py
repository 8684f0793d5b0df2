import sys
from importlib.metadata import version

import numpy as np
import pytest

from cfl_cli.core import parallel as compiled
from cfl_cli.methods.graph import neighbors as module
from cfl_cli.methods.graph import weights
from cfl_cli.methods.graph.neighbors import Lists, Others, nearest_neighbors
from cfl_cli.methods.graph.weights import first_support

RNG = np.random.default_rng(5)
CLOUDS = RNG.normal(size=(2500, 6)) + 4 * RNG.integers(0, 3, size=(2500, 1))
TABLES = {
    "no two distances alike": CLOUDS,
    "a grid, where most distances are ties": np.round(CLOUDS),
    "many rows of each kind": np.repeat(CLOUDS[:2100], RNG.integers(1, 5, 2100), axis=0),
    "some coordinates without any difference": np.hstack([CLOUDS, np.ones((2500, 3))]),
    "far from zero": CLOUDS * 1e-3 + 1e3,
}


@pytest.fixture
def always(monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(compiled, "COMPILED_ROWS", 0)


def never(monkeypatch):
    monkeypatch.setattr(compiled, "COMPILED_ROWS", 1 << 62)


def scanned_by(lists, asked, size):
    own, home = lists.points[asked], lists.home[asked]
    return module._scan(lists, own, asked, home, size, room=0.0)


def distances(points):
    return np.linalg.norm(points[:, None] - points, axis=2)


@pytest.mark.parametrize("table", TABLES)
def test_neighbors_are_those_of_the_plain_search(always, table, workers, monkeypatch):
    features = TABLES[table]
    fast = nearest_neighbors(features, k=7, workers=workers)
    never(monkeypatch)
    plain = nearest_neighbors(features, k=7, workers=workers)
    np.testing.assert_array_equal(fast.rows, plain.rows)
    assert fast.recall == plain.recall == 1


def test_an_approximate_search_is_the_plain_one(always, workers, monkeypatch):
    monkeypatch.setattr(module, "EXACT_POINTS", 0)
    monkeypatch.setattr(module, "RECALL", 0.9)
    features = np.round(RNG.random((3000, 12)), 1)
    fast = nearest_neighbors(features, k=7, workers=workers)
    never(monkeypatch)
    plain = nearest_neighbors(features, k=7, workers=workers)
    np.testing.assert_array_equal(fast.rows, plain.rows)
    assert 0.9 <= fast.recall == plain.recall < 1


@pytest.mark.parametrize("table", TABLES)
def test_neighbors_of_others_are_those_of_the_plain_search(always, table, workers, monkeypatch):
    monkeypatch.setattr(module, "MANY_FITTED_POINTS", 1000)
    points, size = np.unique(TABLES[table].astype(np.float32), axis=0, return_counts=True)
    scale = np.abs(points).max()
    asked = np.vstack([points[::5] + scale * RNG.normal(size=points[::5].shape) * 0.01, points])
    asked = np.vstack([asked, points[:20] * 50, points[:5] * 1e12])  # far outside, too
    fast = Others(points, size, k=7).nearest(asked, seed=1, workers=workers)
    never(monkeypatch)
    plain = Others(points, size, k=7)
    np.testing.assert_array_equal(plain.nearest(asked, seed=1, workers=workers), fast)
    assert plain.lists is not None


@pytest.mark.parametrize("wanted", [3, 40])  # a list has some twenty points
def test_a_scan_finds_what_a_double_loop_finds(always, wanted, workers):
    points = CLOUDS[:400]
    lists = Lists.of(points, wanted=wanted, workers=workers)
    asked = lists.members[5:395]
    scanned = scanned_by(lists, asked, np.ones(400, dtype=np.int64))
    np.testing.assert_array_equal(scanned.sure, np.arange(390))
    order = np.argsort(distances(points), axis=1)
    np.testing.assert_array_equal(scanned.nearest, order[asked, :wanted])
    assert not len(scanned.near.row)


def grams(rows, k, dimensions):
    return weights.gram(RNG.normal(size=(rows, k, dimensions)) + 0.5, ridge=0.3)


@pytest.mark.parametrize(("k", "dimensions"), [(1, 3), (6, 2), (20, 11)])
def test_the_support_is_that_of_an_active_set_solver(always, k, dimensions, monkeypatch):
    problems = grams(150, k, dimensions)
    monkeypatch.setattr(weights.Workspace, "solve", pytest.fail)
    support = first_support(problems, 0.3, rows=150) > 0
    for problem, counts in zip(problems, support, strict=True):
        np.testing.assert_array_equal(counts, weights.active_set(problem) > 1e-9)


@pytest.mark.parametrize("table", TABLES)
def test_weights_are_those_of_the_plain_solver_to_the_last_bit(always, table, workers, monkeypatch):
    features = TABLES[table][:600]
    neighbors = nearest_neighbors(features, k=12, workers=workers).rows
    fast = weights.solve(features, neighbors, ridge=0.3, workers=workers)
    never(monkeypatch)
    plain = weights.solve(features, neighbors, ridge=0.3, workers=workers)
    np.testing.assert_array_equal(fast.values, plain.values)
    assert fast.rescued_rows == plain.rescued_rows == 0


@pytest.fixture
def afresh():
    """Whether there is compiled code is found out again."""
    compiled._load.cache_clear()
    yield
    compiled._load.cache_clear()


@pytest.mark.parametrize("broken", [None, object()])  # not there; there, and it lacks everything
def test_without_a_numba_that_works_there_is_no_compiled_code(afresh, monkeypatch, broken):
    monkeypatch.delitem(sys.modules, "cfl_cli.methods.graph.kernels", raising=False)
    monkeypatch.setitem(sys.modules, "numba", broken)
    monkeypatch.setattr(compiled, "find_spec", lambda _: broken)
    assert [compiled.kernel(name, rows=10**9) for name in ("scan_lists", "support")] == [None] * 2
    assert weights.solver_of(10**9, 20, 0.3) == f"osqp {version('osqp')}"


def test_the_solver_of_large_tables_is_named_with_what_it_leaves_to_osqp(always):
    osqp = f"osqp {version('osqp')}"
    assert weights.solver_of(10, 20, 0.3) == f"compiled, {osqp} where unsure"
    assert {weights.solver_of(10, 65, 0.3), weights.solver_of(10, 20, 1e-4)} == {osqp}
