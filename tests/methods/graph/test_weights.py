import threading
from itertools import combinations

import numpy as np
import osqp
import pytest
import scipy.optimize

from cfl_cli.core.parallel import Workers
from cfl_cli.errors import ResourceError
from cfl_cli.methods.graph import weights
from cfl_cli.methods.graph.neighbors import nearest_neighbors
from cfl_cli.methods.graph.weights import (
    Workspace,
    active_set,
    check_simplex,
    gram,
    sharpen,
    solve,
    solve_around,
)

RIDGE = 0.3


def differences(features, neighbors, rows=slice(None)):
    return features[neighbors[rows]] - features[rows, None]


def by_nnls(features, neighbors, row, ridge):
    """The same optimum from SciPy's NNLS on the stacked differences, with no matrix of ours."""
    difference = features[neighbors[row]] - features[row]
    k = len(difference)
    size = (difference**2).sum() / k
    scaled = difference / np.sqrt(size) if size > 0 else difference
    system = np.vstack([scaled.T, np.sqrt(ridge) * np.eye(k), np.ones(k)])
    answer, _ = scipy.optimize.nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    return answer / answer.sum()


def by_enumeration(matrix):
    """The optimum of wᵀGw over the simplex: the best over all supports."""
    best, lowest = None, np.inf
    k = len(matrix)
    for size in range(1, k + 1):
        for support in combinations(range(k), size):
            w = np.zeros(k)
            inverse = np.linalg.solve(matrix[np.ix_(support, support)], np.ones(size))
            w[list(support)] = inverse / inverse.sum()
            if (w >= 0).all() and w @ matrix @ w < lowest:
                best, lowest = w, w @ matrix @ w
    return best


def tables():
    rng = np.random.default_rng(3)
    plain = rng.random((400, 5))
    return {
        "more features than neighbors": (rng.random((300, 30)), 5),
        "more neighbors than features": (plain, 20),
        "duplicates": (np.repeat(rng.random((40, 3)), 8, axis=0), 10),
        "all rows equal": (np.zeros((50, 3)), 4),
        "constant columns": (np.hstack([plain, np.ones((400, 2))]), 12),
        "a grid": (rng.integers(0, 3, (300, 3)).astype(float), 9),
        "one neighbor": (plain, 1),
        "two rows": (np.array([[0.0, 1.0], [1.0, 0.0]]), 1),
        "tiny differences": (plain * 1e-170, 8),
        "far apart in scale": (np.hstack([plain, plain * 1e-8]), 15),
    }


@pytest.mark.parametrize("ridge", [1e-6, 1e-3, RIDGE, 100.0])
@pytest.mark.parametrize("name", tables())
def test_weights_agree_with_nnls(name, ridge, workers):
    features, k = tables()[name]
    neighbors = nearest_neighbors(features, k=k, workers=workers).rows
    solved = solve(features, neighbors, ridge=ridge, workers=workers)
    found = solved.values
    assert (found >= 0).all()
    assert np.abs(found.sum(axis=1) - 1).max() <= 1e-9
    assert ridge != RIDGE or solved.rescued_rows == 0
    for row in range(0, len(features), 3):
        expected = by_nnls(
            features * (1e170 if name == "tiny differences" else 1), neighbors, row, ridge
        )
        assert np.abs(found[row] - expected).sum() < 1e-4


def test_weights_are_the_best_over_all_supports(workers):
    features = np.random.default_rng(8).random((60, 3))
    neighbors = nearest_neighbors(features, k=6, workers=workers).rows
    found = solve(features, neighbors, ridge=RIDGE, workers=workers).values
    for row in range(60):
        matrix = gram(differences(features, neighbors, slice(row, row + 1)), ridge=RIDGE)[0]
        np.testing.assert_allclose(found[row], by_enumeration(matrix), atol=1e-9)


def test_units_of_the_features_cancel(workers):
    features = np.random.default_rng(1).random((200, 4))
    neighbors = nearest_neighbors(features, k=10, workers=workers).rows
    one = solve(features, neighbors, ridge=RIDGE, workers=workers).values
    other = solve(features * 1000, neighbors, ridge=RIDGE, workers=workers).values
    np.testing.assert_allclose(one, other, atol=1e-9)


def test_row_order_block_size_and_threads_do_not_change_the_answer(workers, monkeypatch):
    rng = np.random.default_rng(4)
    features = rng.random((500, 4))
    neighbors = nearest_neighbors(features, k=12, workers=workers).rows
    expected = solve(features, neighbors, ridge=RIDGE, workers=workers).values

    order = rng.permutation(500)
    place = np.argsort(order)
    shuffled = solve(features[order], place[neighbors[order]], ridge=RIDGE, workers=workers).values
    assert np.abs(shuffled - expected[order]).max() < 1e-9

    monkeypatch.setattr(weights, "CELLS_AT_ONCE", 7)
    monkeypatch.setattr(weights, "STACK", 7)
    with Workers(1) as alone:
        others = solve(features, neighbors, ridge=RIDGE, workers=alone).values
    assert np.abs(others - expected).max() < 1e-9


def test_osqp_identifies_the_neighbors_that_count(workers):
    features = np.random.default_rng(5).random((300, 5))
    neighbors = nearest_neighbors(features, k=20, workers=workers).rows
    grams = gram(differences(features, neighbors), ridge=RIDGE)
    counts = Workspace(20, ridge=RIDGE).solve(grams) > 0
    truth = np.array([by_nnls(features, neighbors, row, RIDGE) > 0 for row in range(300)])
    assert (counts == truth).all(axis=1).mean() > 0.95  # the rest is what corrections are for


@pytest.mark.parametrize(("k", "ridge"), [(20, 0.001), (20, 0.03), (20, RIDGE), (50, 0.001)])
def test_osqp_is_asked_for_every_row_and_corrections_alone_lead_to_the_same_weights(
    k, ridge, workers, monkeypatch
):
    features = np.random.default_rng(5).random((300, 5))
    neighbors = nearest_neighbors(features, k=k, workers=workers).rows
    rows = []
    own = Workspace.solve
    monkeypatch.setattr(
        Workspace, "solve", lambda self, some: rows.append(len(some)) or own(self, some)
    )
    asked = solve(features, neighbors, ridge=ridge, workers=workers)
    assert sum(rows) == 300
    alone = gram(differences(features, neighbors), ridge=ridge)
    alone, _ = weights.sharpen(alone, np.ones_like(alone[:, 0]))
    np.testing.assert_allclose(alone, asked.values, atol=1e-9)


def test_rows_that_osqp_gives_up_on_are_solved_and_counted(workers, monkeypatch):
    features = np.random.default_rng(6).random((150, 4))
    neighbors = nearest_neighbors(features, k=10, workers=workers).rows
    expected = solve(features, neighbors, ridge=RIDGE, workers=workers).values

    class Impatient(osqp.OSQP):
        def setup(self, *args, **settings):
            return super().setup(*args, **{**settings, "max_iter": 1, "check_termination": 1})

    monkeypatch.setattr(osqp, "OSQP", Impatient)
    monkeypatch.setattr(weights, "OWN", threading.local())  # no thread has a workspace yet
    found = solve(features, neighbors, ridge=RIDGE, workers=workers)
    assert found.rescued_rows == 150
    assert np.abs(found.values - expected).max() < 1e-9


def test_a_hopeless_start_ends_at_the_optimum():
    rng = np.random.default_rng(9)
    half = rng.normal(size=(50, 12, 3))
    grams = half @ half.transpose(0, 2, 1) + 0.01 * np.eye(12)
    misleading = np.eye(12)[rng.integers(0, 12, 50)]
    found, _ = sharpen(grams, misleading)
    for matrix, w in zip(grams, found, strict=True):
        np.testing.assert_allclose(w, active_set(matrix), atol=1e-9)


@pytest.mark.parametrize(
    ("bad", "numbers"),
    [
        ([0.5, 0.4], "least 0.4, sum 0.9"),
        ([1.1, -0.1], "least -0.1, sum 1"),
        ([np.nan, 1.0], "least nan, sum nan"),
    ],
)
def test_weights_off_the_simplex_never_leave(bad, numbers):
    with pytest.raises(ResourceError) as error:
        check_simplex(np.array([[0.5, 0.5], bad, [2.0, 2.0]]), first=40)
    assert str(error.value) == (
        "row 42: the solvers gave its neighbors weights that are negative or do not sum to 1 "
        f"({numbers}): try a larger ridge"
    )


@pytest.mark.parametrize("name", tables())
def test_around_points_of_the_table_the_weights_are_the_tables(name, workers):
    features, k = tables()[name]
    neighbors = nearest_neighbors(features, k=k, workers=workers).rows
    inside = solve(features, neighbors, ridge=RIDGE, workers=workers).values
    around = solve_around(features, features, neighbors, ridge=RIDGE, workers=workers)
    assert np.abs(around - inside).max() < 1e-8


def test_weights_around_a_point_depend_on_it_alone(workers, monkeypatch):
    rng = np.random.default_rng(3)
    points = rng.integers(0, 3, (80, 4)).astype(np.float32)  # with many that hardly count
    asked, neighbors = rng.integers(0, 5, (60, 4)) / 2, rng.integers(0, 80, (60, 12))
    whole = solve_around(points, asked, neighbors, ridge=RIDGE, workers=workers)
    monkeypatch.setattr(weights, "CELLS_AT_ONCE", 7 * 12 * 12)
    parts = solve_around(points, asked, neighbors, ridge=RIDGE, workers=workers)
    np.testing.assert_array_equal(parts, whole)
    for row in range(60):
        alone = solve_around(points, asked[[row]], neighbors[[row]], ridge=RIDGE, workers=workers)
        np.testing.assert_array_equal(alone[0], whole[row])
