import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import neighbors
from cfl_cli.methods.graph.neighbors import Dense, Lists, Others, measure, nearest_neighbors


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
    far = np.sqrt(((points - points[row]) ** 2).sum(axis=1))
    return set(np.flatnonzero(far <= np.sort(far)[wanted - 1] * (1 + 1e-9)).tolist())


def searchers(points, wanted, workers):
    return {
        "dense": Dense(points, wanted, points.mean(axis=0)).search,
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
    found = Dense(points, 8, points.mean(axis=0)).search(np.arange(len(points)))
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


def test_nothing_asked_is_nothing_found_and_points_without_features_are_all_alike(workers):
    found = others(np.eye(3), 2).nearest(np.empty((0, 3)), seed=0, workers=workers)
    assert found.shape == (0, 2)
    found = others(np.empty((1, 0)), 3, np.array([7])).nearest(
        np.empty((2, 0)), seed=0, workers=workers
    )
    np.testing.assert_array_equal(found, np.zeros((2, 3)))


EIGHTY = np.random.default_rng(0).normal(size=(80, 3)) + 20 * np.repeat(np.eye(4, 3), 20, axis=0)


@pytest.fixture
def lists(workers):
    return Lists.of(EIGHTY, wanted=4, workers=workers)


@pytest.mark.parametrize("scale", [1, 1e6])
def test_points_outside_of_the_table_find_what_a_double_loop_finds(lists, workers, scale):
    asked = np.random.default_rng(2).normal(size=(30, 3)) * 10 * scale
    home = neighbors._deal(asked, lists.centers, workers)
    slack = np.linalg.norm(asked - lists.centers[home], axis=1) * lists.rounding
    pairs = lists.search_around(asked, home, slack=slack)
    far = np.linalg.norm(asked[:, None] - EIGHTY, axis=2)
    for row in range(30):
        near = np.flatnonzero(far[row] <= np.sort(far[row])[3])
        found = {*pairs.point[pairs.row == row].tolist()}
        assert not found or {*near.tolist()} <= found
    assert len(np.unique(pairs.row)) > (25 if scale == 1 else -1)  # far off all are a crowd


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_how_many_are_measured_at_once_does_not_change_a_digit(at_once, monkeypatch):
    rng = np.random.default_rng(0)
    points, one, other = rng.random((20, 6)), rng.integers(20, size=50), rng.integers(20, size=50)
    expected = [np.sqrt(sum((points[i] - points[j]) ** 2)) for i, j in zip(one, other, strict=True)]
    whole = measure(points, one, other)
    monkeypatch.setattr(neighbors, "CELLS_AT_ONCE", at_once)
    np.testing.assert_array_equal(measure(points, one, other), whole)
    np.testing.assert_allclose(whole, expected, rtol=1e-12)
