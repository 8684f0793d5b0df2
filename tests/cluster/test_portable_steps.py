"""The steps from parcels, as other hosts compute them: the bytes of the kernels themselves."""

import numpy as np
import pytest
from builders.elsewhere import Elsewhere

from cfl_cli.core.parallel import Workers
from cfl_cli.methods import compiled
from cfl_cli.methods.graph.neighbors import nearest
from cfl_cli.methods.graph.propagation import Graph, propagate
from cfl_cli.methods.graph.weights import solve

BLOCKS = np.array([0, 3])


@pytest.fixture
def elsewhere(tmp_path):
    with Elsewhere(str(tmp_path)) as workers:
        yield workers


def rows_of(kind):
    draws = np.random.default_rng(0)
    if kind == "few":
        return draws.normal(size=(300, 4))
    if kind == "flat":
        return draws.normal(size=(3000, 3))
    if kind == "alike":
        return draws.integers(0, 4, size=(4000, 6)).astype(float)
    return draws.normal(size=(3000, 8)) * (np.arange(8) < 3) + 0.01 * draws.normal(size=(3000, 8))


def graph_of(points, workers):
    near = nearest(points, k=5, workers=workers)
    weights = solve(points, near.rows, ridge=0.3, workers=workers)
    graph = Graph.of(near.rows, weights.values, near.order, workers=workers)
    return graph, (near.rows, near.order, weights.values, weights.rescued_rows, near.recall)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("few", 20_000), ("flat", 20_000), ("alike", 0), ("many", 0), ("many", 20_000)],
)
def test_neighbors_and_weights_have_the_same_bytes(kind, rows, elsewhere, monkeypatch):
    monkeypatch.setattr(compiled, "ROWS", rows)  # from which on code is compiled, if it can be
    with Workers(1) as workers:
        _, expected = graph_of(rows_of(kind), workers)
    _, found = graph_of(rows_of(kind), elsewhere)
    assert all(np.array_equal(*both) for both in zip(found, expected, strict=True))
    lists = {"Deal", "Survey"} if kind in ("alike", "many") else set()
    assert set(elsewhere.travelled) == {"Settle", "Weigh"} | lists


@pytest.mark.parametrize("settings", [{}, {"correction": False, "restart": 0.2}])
@pytest.mark.parametrize("size", [300, 4100])
@pytest.mark.parametrize("kind", [bool, float])
def test_a_walk_has_the_same_bytes(size, kind, settings, elsewhere):
    draws = np.random.default_rng(size)
    weights = draws.random((size, 6)) * (draws.random((size, 6)) < 0.5)
    weights[:, 0] += 0.1
    weights /= weights.sum(axis=1, keepdims=True)
    evidence = (draws.random((size, 7)) < 0.5).astype(kind)
    evidence[:, [0, 3]] = 1
    evidence[size // 2 :, 0] = 0
    evidence[:, 1] += evidence[:, 0] == 0
    near = (np.arange(size)[:, None] + [1, -1, 2, 9, -40, size // 2]) % size

    def walked(workers):
        graph = Graph.of(near, weights, np.arange(size)[::-1].copy(), workers=workers)
        found = propagate(graph, evidence, BLOCKS, iterations=13, workers=workers, **settings)
        return found.confidences, found.mass, found.fell_back, np.array(found.steps)

    with Workers(1) as workers:
        expected = walked(workers)
    for own, others in zip(walked(elsewhere), expected, strict=True):
        assert own.tobytes() == others.tobytes()
    assert elsewhere.travelled["Step"] >= 13
    assert len(elsewhere.worker.contents) == 2 * elsewhere.travelled["Step"] // 13


def test_only_the_confidences_of_rows_that_are_leaned_on_travel(elsewhere):
    near = (np.arange(1000)[:, None] + [1, 2]) % 1000
    graph = Graph.of(near, np.full((1000, 2), 0.5), np.arange(1000), workers=elsewhere)
    assert graph.beyond(slice(100, 200)).tolist() == [200, 201]
    assert graph.beyond(slice(900, 1000)).tolist() == [0, 1]
    piece = graph.piece(slice(900, 1000), np.float64)
    assert piece.part(slice(98, 100), np.float64).toarray()[:, 98:].tolist() == [
        [0, 0.5, 0.5, 0],
        [0, 0, 0.5, 0.5],
    ]
