from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.arrays import start
from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import propagation as module
from cfl_cli.methods.graph.propagation import Graph


def case(seed, n=30, k=4, sizes=(3, 4), exact=0.1, empty=0.1):
    rng = np.random.default_rng(seed)
    neighbors = np.array(
        [rng.choice([j for j in range(n) if j != i], k, replace=False) for i in range(n)]
    )
    weights = rng.dirichlet(np.ones(k), size=n)
    masks = []
    for size in sizes:
        mask = np.ones((n, size), dtype=bool)
        for row, kind in zip(mask, rng.random(n), strict=True):
            if kind < exact:
                row[:] = np.arange(size) == rng.integers(size)
            elif kind > empty + exact:
                row[rng.integers(size)] = False
        masks.append(mask)
    blocks = np.cumsum([0, *sizes[:-1]])
    return neighbors, weights, np.hstack(masks), blocks


def propagate(neighbors, weights, *arguments, workers, **settings):
    graph = Graph.of(neighbors, weights, np.arange(len(weights))[::-1], workers=workers)
    return module.propagate(graph, *arguments, workers=workers, **settings)


def dense(neighbors, weights, candidates, blocks, *, iterations, correction=True, restart=0.0):
    """The method page's step 4, one number at a time."""
    n = len(neighbors)
    ends = [*blocks[1:], candidates.shape[1]]
    first = np.zeros(candidates.shape)
    for i in range(n):
        for low, high in zip(blocks, ends, strict=True):
            first[i, low:high] = candidates[i, low:high] / candidates[i, low:high].sum()
    current = first.copy()
    fell_back = np.zeros((n, len(blocks)), dtype=bool)
    for _ in range(iterations):
        following = np.zeros_like(current)
        for i in range(n):
            for neighbor, weight in zip(neighbors[i], weights[i], strict=True):
                following[i] += weight * current[neighbor]
            if not correction:
                following[i] = (1 - restart) * following[i] + restart * first[i]
                continue
            for cf, (low, high) in enumerate(zip(blocks, ends, strict=True)):
                masked = following[i, low:high] * candidates[i, low:high]
                if masked.sum() == 0:
                    following[i, low:high] = first[i, low:high]
                    fell_back[i, cf] = True
                else:
                    following[i, low:high] = masked / masked.sum()
        current = following
    return current, fell_back


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_propagation_agrees_with_a_dense_double_loop(seed, correction, workers):
    arguments = case(seed)
    found = propagate(*arguments, iterations=7, correction=correction, workers=workers)
    expected, fell_back = dense(*arguments, iterations=7, correction=correction)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)
    np.testing.assert_array_equal(found.fell_back, fell_back)


def test_marginal_propagation_equals_joint_propagation(workers):
    """The paper's theorem: the marginals of joint confidences are the marginal confidences."""
    neighbors, weights, candidates, blocks = case(11, n=12, k=3, sizes=(3, 2), empty=0.2)
    pairs = list(product(range(3), range(3, 5)))
    both = np.column_stack([candidates[:, a] & candidates[:, b] for a, b in pairs])
    settings = {"iterations": 6, "correction": False, "workers": workers}
    joint = propagate(neighbors, weights, both, np.array([0]), **settings).confidences
    marginal = propagate(neighbors, weights, candidates, blocks, **settings).confidences
    for column in range(5):
        summed = sum(joint[:, number] for number, pair in enumerate(pairs) if column in pair)
        np.testing.assert_allclose(summed, marginal[:, column], atol=1e-12)


@given(seed=st.integers(0, 10_000), iterations=st.integers(1, 30))
def test_confidences_sum_to_one_and_excluded_values_stay_at_zero(seed, iterations):
    neighbors, weights, candidates, blocks = case(seed, n=12, k=3, exact=0.5)
    with Workers(1) as workers:
        found = propagate(
            neighbors, weights, candidates, blocks, iterations=iterations, workers=workers
        ).confidences
    assert np.isfinite(found).all()
    assert (found[~candidates] == 0).all()
    np.testing.assert_allclose(np.add.reduceat(found, blocks, axis=1), 1, atol=1e-9)


def test_a_block_without_mass_falls_back_to_its_start_and_is_counted(workers):
    # Rows 0 and 1 are each other's only neighbors; each rules out all that the other allows.
    candidates = np.array([[True, False, False], [False, True, True]])
    found = propagate(
        np.array([[1], [0]]),
        np.ones((2, 1)),
        candidates,
        np.array([0]),
        iterations=3,
        workers=workers,
    )
    np.testing.assert_allclose(found.confidences, [[1, 0, 0], [0, 0.5, 0.5]])
    assert found.fell_back.all()


def test_confidences_that_vanish_over_many_steps_leave_no_nan(workers):
    # Each step moves mass from row 1's second value to the first until nothing can be told apart.
    neighbors = np.array([[1, 2], [0, 2], [0, 1]])
    candidates = np.array([[True, False, True], [True, True, False], [True, True, True]])
    found = propagate(
        neighbors,
        np.full((3, 2), 0.5),
        candidates,
        np.array([0]),
        iterations=20_000,
        workers=workers,
    ).confidences
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.parametrize("small", [0, 4000], ids=["single precision", "double precision"])
def test_block_size_and_threads_do_not_change_a_bit(workers, monkeypatch, small):
    monkeypatch.setattr(module, "SMALL", small)
    arguments = case(1, n=80)
    expected = propagate(*arguments, iterations=20, workers=workers).confidences
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 50)
    with Workers(1) as alone:
        found = propagate(*arguments, iterations=20, workers=alone).confidences
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_neighbors_without_weight_do_not_matter_and_the_graph_stays_as_it_was(kind, workers):
    neighbors, weights, candidates, blocks = case(2, n=40, k=6)
    weights[weights < 0.15] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    given = neighbors.astype(kind), weights.copy()
    found = propagate(*given, candidates, blocks, iterations=9, workers=workers)
    expected, _ = dense(neighbors, weights, candidates, blocks, iterations=9)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)
    np.testing.assert_array_equal(given[0], neighbors)
    np.testing.assert_array_equal(given[1], weights)


@pytest.mark.parametrize("small", [0, 4000], ids=["laid out, single precision", "small"])
def test_the_order_of_the_rows_does_not_change_a_bit(workers, monkeypatch, small):
    monkeypatch.setattr(module, "SMALL", small)
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 50)
    neighbors, weights, candidates, blocks = case(5, n=200, k=5)
    order = np.random.default_rng(0).permutation(200)
    place = np.argsort(order)
    one = propagate(neighbors, weights, candidates, blocks, iterations=15, workers=workers)
    other = propagate(
        place[neighbors[order]],
        weights[order],
        candidates[order],
        blocks,
        iterations=15,
        workers=workers,
    )
    np.testing.assert_array_equal(other.confidences, one.confidences[order])
    np.testing.assert_array_equal(other.fell_back, one.fell_back[order])


@pytest.mark.parametrize("small", [0, 4000])
def test_the_order_in_which_rows_lie_changes_no_bit(small, workers, monkeypatch):
    monkeypatch.setattr(module, "SMALL", small)
    neighbors, weights, candidates, blocks = case(6, n=300, k=3)
    weights[::3, 0], weights[::3, 1:] = 0, 0.5
    walks = [
        module.propagate(
            Graph.of(neighbors, weights, order, workers=workers),
            candidates,
            blocks,
            iterations=np.array([4, 9]),
            workers=workers,
        )
        for order in (np.arange(300), np.random.default_rng(1).permutation(300))
    ]
    for name in ("confidences", "fell_back", "mass", "steps"):
        np.testing.assert_array_equal(getattr(walks[0], name), getattr(walks[1], name))


def test_propagation_stops_when_nothing_moves_any_more(workers):
    graph = case(0, exact=0.5)
    found = propagate(*graph, iterations=100_000, workers=workers)
    assert found.steps < 5000
    assert found.steps % module.WATCH == 0
    expected, _ = dense(*graph, iterations=found.steps)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)
    further = propagate(*graph, iterations=found.steps + 7, workers=workers)
    np.testing.assert_allclose(further.confidences, found.confidences, atol=1e-8)


def test_as_many_steps_are_taken_as_were_asked_for_while_something_moves(workers):
    assert propagate(*case(1), iterations=37, workers=workers).steps == 37


@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_single_precision_agrees_with_the_double_loop(seed, correction, workers, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    arguments = case(seed)
    found = propagate(*arguments, iterations=50, correction=correction, workers=workers)
    expected, fell_back = dense(*arguments, iterations=50, correction=correction)
    np.testing.assert_allclose(found.confidences, expected, atol=5e-6)
    assert np.abs(found.confidences - expected).max() > 1e-12  # it was single precision
    np.testing.assert_allclose(
        np.add.reduceat(found.confidences, arguments[3], axis=1), 1, atol=1e-15
    )
    np.testing.assert_array_equal(found.fell_back, fell_back)


def vanishing():
    """Row 1 rules out all that rows 0 and 2 end up with, and hardly anyone says anything else."""
    neighbors = np.array([[2, 3], [0, 2], [0, 3], [0, 2]])
    weights = np.array([[1 - 1e-6, 1e-6], [0.5, 0.5], [1 - 1e-6, 1e-6], [0.5, 0.5]])
    candidates = np.array([[True, True], [False, True], [True, True], [True, False]])
    return neighbors, weights, candidates, np.array([0])


def test_mass_too_faint_for_single_precision_is_followed_in_double(workers, monkeypatch):
    neighbors, weights, candidates, blocks = vanishing()
    # Every step leaves less of the second value; only in single precision does it come to nothing.
    weights[0] = weights[2] = [0.5, 0.5]
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "WATCH", 1000)  # it would stop early: these are small steps
    found = propagate(neighbors, weights, candidates, blocks, iterations=300, workers=workers)
    expected, fell_back = dense(neighbors, weights, candidates, blocks, iterations=300)
    assert 0 < expected[0, 1] < 1e-50
    np.testing.assert_array_equal(found.fell_back, fell_back)
    assert not fell_back.any()
    np.testing.assert_allclose(found.confidences, expected, rtol=1e-9)


def test_many_steps_are_taken_in_double_precision(workers, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    graph = case(3)
    found = propagate(*graph, iterations=module.SINGLE_STEPS + 1, workers=workers)
    expected, _ = dense(*graph, iterations=found.steps)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)


def test_a_weight_too_faint_for_single_precision_is_not_lost(workers, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 0)
    neighbors, weights, candidates, blocks = vanishing()
    weights[1] = [1 - 1e-16, 1e-16]
    found = propagate(neighbors, weights, candidates, blocks, iterations=3, workers=workers)
    expected, _ = dense(neighbors, weights, candidates, blocks, iterations=3)
    np.testing.assert_allclose(found.confidences, expected, rtol=1e-12)


@pytest.mark.parametrize("small", [0, 4000], ids=["single precision", "double precision"])
@pytest.mark.parametrize("restart", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_a_walk_that_restarts_agrees_with_the_double_loop(
    seed, restart, small, workers, monkeypatch
):
    monkeypatch.setattr(module, "SMALL", small)
    monkeypatch.setattr(module, "CELLS_AT_ONCE", 50)
    arguments = case(seed)
    walk = {"iterations": 9, "correction": False, "restart": restart}
    found = propagate(*arguments, **walk, workers=workers)
    expected, _ = dense(*arguments, **walk)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12 if small else 1e-6)
    assert not found.fell_back.any()
    np.testing.assert_allclose(np.add.reduceat(found.confidences, arguments[3], axis=1), 1)


def test_a_walk_that_restarts_ends_where_a_linear_system_says(workers):
    # Q = α H Q + (1 − α) Q0 has the solution (1 − α) (I − α H)⁻¹ Q0.
    neighbors, weights, candidates, blocks = case(1)
    walk = {"iterations": 1000, "correction": False, "restart": 0.1, "workers": workers}
    found = propagate(neighbors, weights, candidates, blocks, **walk)
    matrix = np.eye(30)
    for row in range(30):
        matrix[row, neighbors[row]] -= 0.9 * weights[row]
    expected = 0.1 * np.linalg.solve(matrix, start(candidates, blocks))
    np.testing.assert_allclose(found.confidences, expected, atol=1e-8)
    assert found.steps < 1000


def test_evidence_that_is_no_mask_is_what_a_walk_restarts_from(workers):
    neighbors, weights, candidates, blocks = case(2)
    evidence = candidates * np.random.default_rng(0).uniform(0.1, 1, candidates.shape)
    walk = {"iterations": 6, "correction": False, "restart": 0.2}
    found = propagate(neighbors, weights, evidence, blocks, **walk, workers=workers)
    expected, _ = dense(neighbors, weights, evidence, blocks, **walk)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)


@pytest.mark.parametrize("small", [0, 4000])
def test_a_flow_is_what_each_rows_neighbors_say(small, workers, monkeypatch):
    monkeypatch.setattr(module, "SMALL", small)
    rng = np.random.default_rng(0)
    neighbors = np.array([rng.permutation(50)[:4] for _ in range(50)])
    weights = rng.dirichlet(np.ones(4), 50)
    confidences = rng.random((50, 5))
    found = Graph.of(neighbors, weights, np.arange(50), workers=workers).flow(confidences, workers)
    for row in range(50):
        expected = sum(
            weight * confidences[near]
            for near, weight in zip(neighbors[row], weights[row], strict=True)
        )
        np.testing.assert_allclose(found[row], expected, atol=1e-15)
