import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph.neighbors import (
    Dense,
    Lists,
    nearest_neighbors,
)


def soft(rng, n, sizes=(3, 5, 12)):
    """Confidences beside a few OFs: what round two searches, near the corners of simplices."""
    blocks = []
    for size in sizes:
        odds = rng.gamma(0.2, size=(n, size)) + 1e-9
        blocks.append(odds / odds.sum(axis=1, keepdims=True) * np.sqrt(0.25 / size))
    return np.hstack([rng.random((n, 4)) ** 3, *blocks])


def cubes(rng, n):
    return rng.random((n, 9))


def near(points, row, wanted):
    """The points within the distance of the `wanted`-th nearest one, the plain way."""
    far = np.sqrt(((points - points[row]) ** 2).sum(axis=1))
    return set(np.flatnonzero(far <= np.sort(far)[wanted - 1] * (1 + 1e-9)).tolist())


def searchers(points, wanted, workers):
    return {
        "dense": Dense(points, wanted).search,
        "lists": Lists.of(points, wanted=wanted, workers=workers).search,
    }


@pytest.mark.parametrize("name", ["dense", "lists"])
@pytest.mark.parametrize("make", [soft, cubes])
def test_all_near_points_are_found_and_measured(name, make, workers):
    points = make(np.random.default_rng(1), 3000)
    asked = np.arange(0, 3000, 37)
    found = searchers(points, 21, workers)[name](asked)
    assert (np.diff(found.row) >= 0).all()
    assert set(found.row.tolist()) == set(range(len(asked)))
    for place, row in enumerate(asked):
        mine = found.row == place
        assert near(points, row, 21) <= set(found.point[mine].tolist())
    expected = np.linalg.norm(points[asked[found.row]] - points[found.point], axis=1)
    np.testing.assert_allclose(found.distance, expected, rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 10**6), wanted=st.integers(2, 30), scale=st.sampled_from([1e-6, 1, 1e6]))
def test_lists_pass_over_nothing_that_is_near(seed, wanted, scale):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(6, 5)) * 10
    points = (centers[rng.integers(0, 6, 400)] + rng.normal(size=(400, 5))) * scale + 3 * scale
    with Workers(1) as alone:
        found = Lists.of(points, wanted=wanted, workers=alone).search(np.arange(0, 400, 50))
    for place, row in enumerate(range(0, 400, 50)):
        mine = set(found.point[found.row == place].tolist())
        assert not mine or near(points, row, wanted) <= mine


@pytest.mark.parametrize("chunk", [5, 64, 1000])
def test_points_are_found_with_all_their_ties_however_many_are_compared_at_once(chunk, monkeypatch):
    monkeypatch.setattr(neighbors, "CHUNK", chunk)
    points = np.unique(np.random.default_rng(4).integers(0, 4, size=(400, 5)), axis=0).astype(float)
    found = Dense(points, 8).search(np.arange(len(points)))
    for row in range(len(points)):
        mine = found.point[found.row == row].tolist()
        assert len(mine) == len({*mine})
        assert {*mine} == near(points, row, 8)


def recall(points, found, rows, k):
    shares = []
    for row in rows:
        far = np.sqrt(((points - points[row]) ** 2).sum(axis=1))
        far[row] = np.inf
        shares.append((far[found[row]] <= np.sort(far)[k - 1] * (1 + 1e-9)).mean())
    return np.mean(shares)


def test_an_approximate_search_has_the_recall_that_it_reports(workers, monkeypatch):
    monkeypatch.setattr(neighbors, "EXACT_POINTS", 0)
    points = cubes(np.random.default_rng(3), 12_000)
    found = nearest_neighbors(points, k=20, workers=workers)
    assert 0.999 <= found.recall < 1
    rows = np.random.default_rng(4).integers(0, 12_000, 400)
    assert recall(points, found.rows, rows, 20) >= 0.999


def test_exactness_can_be_asked_for(workers, monkeypatch):
    monkeypatch.setattr(neighbors, "EXACT_POINTS", 0)
    points = cubes(np.random.default_rng(3), 6000)
    found = nearest_neighbors(points, k=20, exact=True, workers=workers)
    assert found.recall == 1.0
    assert recall(points, found.rows, range(0, 6000, 20), 20) == 1.0


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_threads_do_not_change_an_approximate_search(jobs, workers, monkeypatch):
    monkeypatch.setattr(neighbors, "EXACT_POINTS", 0)
    points = cubes(np.random.default_rng(5), 4000)
    expected = nearest_neighbors(points, k=20, workers=workers)
    with Workers(jobs) as others:
        found = nearest_neighbors(points, k=20, workers=others)
    np.testing.assert_array_equal(found.rows, expected.rows)
    assert found.recall == expected.recall


def test_an_approximate_search_sees_ties_whole(workers, monkeypatch):
    # Corners of a cube: 10 at distance 1, 45 at √2; k = 20 draws 10 of the 45.
    monkeypatch.setattr(neighbors, "EXACT_POINTS", 0)
    monkeypatch.setattr(neighbors, "DENSE_POINTS", 0)
    corners = (np.arange(1024)[:, None] >> np.arange(10) & 1).astype(float)
    draws = [
        nearest_neighbors(corners, k=20, seed=seed, workers=workers).rows[0] for seed in range(6)
    ]
    assert (corners[np.concatenate(draws)].sum(axis=1) <= 2).all()
    assert len(np.unique(draws)) > 38, "6 draws see about 45 of these 55"


def test_many_points_are_dealt_to_more_lists_and_no_answer_changes(workers, monkeypatch):
    points = np.random.default_rng(3).normal(size=(2500, 6))
    few = nearest_neighbors(points, k=5, workers=workers).rows
    monkeypatch.setattr(neighbors, "MANY_POINTS", 100)
    assert len(Lists.of(points, wanted=6, workers=workers).centers) > 2 * 50
    np.testing.assert_array_equal(nearest_neighbors(points, k=5, workers=workers).rows, few)
