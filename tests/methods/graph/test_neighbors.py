import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfl_cli.core.parallel import Workers
from cfl_cli.methods.graph import neighbors as module
from cfl_cli.methods.graph.neighbors import Groups, nearest_neighbors, sample


def distances(features, row):
    """Every other row's distance from `row`, the plain way; its own is infinite."""
    far = np.sqrt(((features - features[row]) ** 2).sum(axis=1))
    far[row] = np.inf
    return far


def assert_nearest(features, neighbors):
    k = neighbors.shape[1]
    for row, chosen in enumerate(neighbors):
        far = distances(features, row)
        assert row not in chosen
        assert len(set(chosen.tolist())) == k
        np.testing.assert_allclose(far[chosen], np.sort(far)[:k], rtol=1e-9, atol=1e-12)


def tables():
    rng = np.random.default_rng(5)
    return {
        "no ties": rng.random((300, 3)),
        "many dimensions": rng.random((300, 40)),
        "a grid": rng.integers(0, 4, (400, 3)).astype(float),
        "a grid in many dimensions": rng.integers(0, 2, (1000, 20)).astype(float),
        "few distinct rows": rng.integers(0, 2, (500, 2)).astype(float),
        "all equally far": np.eye(60),
        "two rows": np.array([[0.0], [1.0]]),
        "clusters": np.repeat(rng.random((30, 4)), 10, axis=0),
    }


@pytest.mark.parametrize("name", tables())
@pytest.mark.parametrize("k", [1, 5, 20])
def test_neighbors_are_the_nearest_other_rows(name, k, workers):
    features = tables()[name]
    k = min(k, len(features) - 1)
    assert_nearest(features, nearest_neighbors(features, k=k, workers=workers).rows)


@given(
    features=hnp.arrays(
        float,
        st.tuples(st.integers(2, 40), st.integers(1, 4)),
        elements=st.integers(0, 3).map(float),
    ),
    k=st.integers(1, 39),
    seed=st.integers(0, 2**63 - 1),
)
def test_neighbors_are_exact_on_any_small_grid(features, k, seed):
    with Workers(1) as workers:
        chosen = nearest_neighbors(
            features, k=min(k, len(features) - 1), seed=seed, workers=workers
        ).rows
    assert_nearest(features, chosen)


def ways(monkeypatch):
    """Settle for one searcher after the other, whatever suits the table."""
    for name, dense, dimensions, points in (
        ("dense", 10**9, 0, 0),
        ("lists", 0, 1000, 0),
        ("approximate lists", 0, 0, 0),
    ):
        monkeypatch.setattr(module, "DENSE_POINTS", dense)
        monkeypatch.setattr(module, "EXACT_DIMENSIONS", dimensions)
        monkeypatch.setattr(module, "EXACT_POINTS", points)
        yield name


@pytest.mark.parametrize("name", tables())
def test_all_searchers_give_the_same_answer(name, workers, monkeypatch):
    features = tables()[name]
    k = min(7, len(features) - 1)
    monkeypatch.setattr(module, "RECALL", 1.0)
    dense, *others = (
        nearest_neighbors(features, k=k, workers=workers).rows for _ in ways(monkeypatch)
    )
    for answer in others:
        np.testing.assert_array_equal(answer, dense)


@pytest.mark.parametrize("name", tables())
def test_block_size_and_threads_do_not_change_the_answer(name, workers, monkeypatch):
    features = tables()[name]
    k = min(7, len(features) - 1)
    for _ in ways(monkeypatch):
        expected = nearest_neighbors(features, k=k, workers=workers).rows
        with monkeypatch.context() as small, Workers(1) as alone:
            small.setattr(module, "AT_ONCE", 50)
            small.setattr(module, "CELLS_AT_ONCE", 5000)
            small.setattr(module, "ROWS_AT_ONCE", 50)
            np.testing.assert_array_equal(
                nearest_neighbors(features, k=k, workers=alone).rows, expected
            )


def test_rows_of_a_tied_group_draw_different_neighbors(workers):
    features = np.repeat([[0.0], [1.0]], 500, axis=0)
    chosen = nearest_neighbors(features, k=20, workers=workers).rows
    drawn = np.bincount(chosen[:500].reshape(-1), minlength=1000)
    assert drawn[500:].sum() == 0, "no row of the other group is as near"
    assert drawn[:500].max() < 50, "a fair draw picks each about 20 times"
    assert len({tuple(sorted(row)) for row in chosen[:500]}) == 500


def test_ties_across_groups_are_drawn_from_all_of_them(workers):
    # One row in the middle, 50 on each side at the same distance.
    features = np.array([[0.5]] + [[0.0]] * 50 + [[1.0]] * 50)
    draws = [
        nearest_neighbors(features, k=10, seed=seed, workers=workers).rows[0] for seed in range(40)
    ]
    left = sum((row <= 50).sum() for row in draws)
    assert 140 < left < 260, "about half of 400 come from each side"


def test_seed_changes_the_draw_and_nothing_else(workers):
    tied = np.zeros((200, 1))
    assert (
        nearest_neighbors(tied, k=5, seed=1, workers=workers).rows
        != nearest_neighbors(tied, k=5, seed=2, workers=workers).rows
    ).any()
    free = np.random.default_rng(0).random((200, 2))
    np.testing.assert_array_equal(
        nearest_neighbors(free, k=5, seed=1, workers=workers).rows,
        nearest_neighbors(free, k=5, seed=2, workers=workers).rows,
    )


def test_distances_equal_but_for_rounding_count_as_equal(workers):
    # 0.3 − 0.2 and 0.2 − 0.1 differ in the last digit.
    features = np.array([[0.2], [0.1], [0.3]] + [[0.1], [0.3]] * 30)
    chosen = np.concatenate(
        [nearest_neighbors(features, k=1, seed=seed, workers=workers).rows[0] for seed in range(60)]
    )
    left = (features[chosen, 0] < 0.2).sum()
    assert 10 < left < 50


def test_thousands_of_ties_in_many_dimensions_need_little_memory(workers):
    # All rows with other values are equally far. The differences of all pairs of distinct rows
    # would be 1,000 × 1,000 × 500 numbers, 4 GB.
    features = np.repeat(np.eye(500), 2, axis=0)
    features[::2, 0] += 0.25
    tracemalloc.start()
    neighbors = nearest_neighbors(features, k=20, workers=workers).rows
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 400e6
    assert_nearest(features[::10], nearest_neighbors(features[::10], k=20, workers=workers).rows)
    assert neighbors.shape == (1000, 20)


def test_minus_zero_is_zero():
    assert len(Groups.here(np.array([[0.0], [-0.0], [1.0]])).points) == 2


@given(pool=st.integers(1, 30), wanted=st.integers(0, 30), seed=st.integers(0, 99))
def test_a_sample_holds_different_numbers_below_the_pool(pool, wanted, seed):
    wanted = min(wanted, pool)
    rows = np.arange(10)
    drawn = sample(rows, pool=np.full(10, pool), wanted=np.full(10, wanted), k=30, seed=seed)
    for row in drawn[:, :wanted].tolist():
        assert len(set(row)) == wanted
        assert all(0 <= number < pool for number in row)


def test_samples_are_uniform():
    rows = np.arange(20_000)
    drawn = sample(rows, pool=np.full(20_000, 8), wanted=np.full(20_000, 3), k=3, seed=0)
    counts = np.bincount(drawn.reshape(-1), minlength=8)
    np.testing.assert_allclose(counts, 7500, rtol=0.05)
