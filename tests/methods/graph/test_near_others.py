"""Neighbors among points that stay: a double loop finds the same, whichever way they are found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph.neighbors import Others


def others(points, k, size=None):
    size = np.ones(len(points), dtype=np.int64) if size is None else size
    return Others(points.astype(np.float32), size, k=k)


def distances(points, asked):
    return np.linalg.norm(asked[:, None] - points.astype(np.float32).astype(float), axis=2)


@given(
    seed=st.integers(0, 10**6), k=st.integers(1, 12), scale=st.sampled_from([1e-20, 1e-3, 1, 1e15])
)
def test_neighbors_are_the_nearest_by_a_double_loop(seed, k, scale):
    rng = np.random.default_rng(seed)
    points, asked = rng.random((40, 3)), rng.random((9, 3)) * rng.choice([1, 1000])
    points, asked = points * scale, np.minimum(asked * scale, 1e15)
    with Workers(1) as alone:
        found = others(points, k).nearest(asked, seed=0, workers=alone)
    far = distances(points, asked)
    np.testing.assert_array_equal(found, np.argsort(far, axis=1)[:, :k])


def test_many_points_in_bins_are_found_too(workers):
    rng = np.random.default_rng(0)
    points, asked = rng.normal(size=(5000, 6)), rng.normal(size=(50, 6)) * 3
    found = others(points, 20).nearest(asked, seed=0, workers=workers)
    np.testing.assert_array_equal(found, np.argsort(distances(points, asked), axis=1)[:, :20])


def test_lists_and_products_find_the_same_to_the_bit(workers, monkeypatch):
    rng = np.random.default_rng(1)
    points = np.vstack([rng.normal(size=(3000, 4)), rng.integers(0, 3, (200, 4))])
    points = np.unique(points.astype(np.float32), axis=0)
    asked = np.vstack([rng.normal(size=(200, 4)) * 5, points[::20], [[1e15, 0, 0, 0]]])
    asked = np.vstack([asked, rng.integers(0, 3, (40, 4))])  # with ties
    size = rng.integers(1, 4, len(points))
    by_products = others(points, 20, size).nearest(asked, seed=3, workers=workers)
    monkeypatch.setattr(neighbors, "MANY_FITTED_POINTS", 1000)
    monkeypatch.setattr(neighbors, "MANY_ASKED", 2)
    lists = others(points, 20, size)
    np.testing.assert_array_equal(lists.nearest(asked, seed=3, workers=workers), by_products)
    assert lists.lists is not None


def test_a_point_of_several_rows_is_a_neighbor_several_times(workers):
    points = np.array([[0.0], [1.0], [3.0]])
    found = others(points, 4, np.array([2, 1, 5])).nearest(
        np.array([[0.1], [2.9]]), seed=0, workers=workers
    )
    np.testing.assert_array_equal(found, [[0, 0, 1, 2], [2, 2, 2, 2]])


def test_a_point_that_equals_the_asked_one_is_its_neighbor(workers):
    points = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 0.0]])
    found = others(points, 2).nearest(points, seed=0, workers=workers)
    np.testing.assert_array_equal(found, [[0, 1], [1, 0], [2, 1]])


def corners(count):
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(float)


def test_ties_are_drawn_by_the_seed_and_the_asked_point_alone(workers):
    points = corners(8)  # from the middle, all 256 are equally far
    middle = np.full((1, 8), 0.5)
    many = np.vstack([points + 0.25, middle])
    some = others(points, 10)
    alone = some.nearest(middle, seed=1, workers=workers)[0]
    np.testing.assert_array_equal(some.nearest(many, seed=1, workers=workers)[-1], alone)
    draws = [some.nearest(middle, seed=seed, workers=workers)[0] for seed in range(60)]
    assert all(len(np.unique(drawn)) == 10 for drawn in draws)
    assert len(np.unique(draws)) > 220, "60 draws see about 232 of 256"


def test_a_chain_of_near_ties_ends_where_the_distance_of_the_last_neighbor_does(workers):
    step = np.sqrt(2 * 0.9e-9 * np.arange(100))  # distances from 0: 1 + 0.9e-9 · place
    found = others(np.column_stack([np.ones(100), step]), 3).nearest(
        np.zeros((1, 2)), seed=0, workers=workers
    )
    assert {*found[0].tolist()} <= {0, 1, 2, 3}


@pytest.mark.parametrize("jobs", [1, 3])
def test_blocks_and_threads_do_not_change_a_bit(jobs, workers, monkeypatch):
    rng = np.random.default_rng(4)
    points = np.unique(rng.integers(0, 5, (900, 4)), axis=0) / 4
    asked = rng.integers(0, 9, (120, 4)) / 8
    whole = others(points, 20).nearest(asked, seed=0, workers=workers)
    monkeypatch.setattr(neighbors, "NEW_PRODUCTS_AT_ONCE", 3 * len(points))
    with Workers(jobs) as team:
        np.testing.assert_array_equal(
            others(points, 20).nearest(asked, seed=0, workers=team), whole
        )


def test_points_so_far_off_that_all_are_equally_near_are_held_a_few_at_a_time(workers, monkeypatch):
    monkeypatch.setattr(neighbors, "PAIRS_AT_ONCE", 1000)
    monkeypatch.setattr(neighbors, "NEW_PRODUCTS_AT_ONCE", 5 * 600)
    points = np.random.default_rng(5).random((600, 3))
    far = np.random.default_rng(6).random((40, 3)) * 1e15
    some = others(points, 4)
    held = [len(near.row) for _, near in some.batches(far)]
    assert max(held) == 5 * 600
    found = some.nearest(far, seed=0, workers=workers)
    for row in range(40):
        alone = some.nearest(far[[row]], seed=0, workers=workers)
        np.testing.assert_array_equal(alone[0], found[row])
    assert len(np.unique(found)) > 100  # each draws its own


def test_nothing_asked_is_nothing_found(workers):
    found = others(np.eye(3), 2).nearest(np.empty((0, 3)), seed=0, workers=workers)
    assert found.shape == (0, 2)


def test_points_without_features_are_all_alike(workers):
    found = others(np.empty((1, 0)), 3, np.array([7])).nearest(
        np.empty((2, 0)), seed=0, workers=workers
    )
    np.testing.assert_array_equal(found, np.zeros((2, 3)))
