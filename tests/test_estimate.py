import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.estimate import estimate, scale_by_domain
from cfl_cli.neighbors import nearest
from cfl_cli.propagate import Graph, propagate
from cfl_cli.weights import solve

DEFAULTS = {
    "k": 5,
    "iterations": 20,
    "gamma": 0.25,
    "ridge": 0.3,
    "seed": 0,
    "correction": True,
    "jobs": 2,
}
BLOCKS = np.array([0, 3])


def table(seed, n=80):
    """Features without ties, and two CFs of 3 and 4 values that follow from them."""
    rng = np.random.default_rng(seed)
    features = rng.random((n, 3))
    masks = []
    for size, column in ((3, 0), (4, 1)):
        truth = (features[:, column] * size).astype(int)
        excluded = (truth + rng.integers(1, size, n)) % size
        masks.append(np.arange(size) != excluded[:, None])
    return features, np.hstack(masks)


def test_gamma_zero_is_one_round(workers):
    features, candidates = table(0)
    found = estimate(features, candidates, BLOCKS, **{**DEFAULTS, "gamma": 0.0}).confidences
    neighbors = nearest(features, k=5, seed=0, workers=workers).rows
    weights = solve(features, neighbors, ridge=0.3, workers=workers).values
    once = propagate(Graph(neighbors, weights), candidates, BLOCKS, iterations=20, workers=workers)
    np.testing.assert_array_equal(found, once.confidences)


def test_round_two_starts_anew_with_round_ones_confidences_as_features():
    features, candidates = table(0)
    first = estimate(features, candidates, BLOCKS, **{**DEFAULTS, "gamma": 0.0}).confidences
    both = np.hstack([features, first[:, :3] * np.sqrt(0.25 / 3), first[:, 3:] * np.sqrt(0.25 / 4)])
    again = estimate(both, candidates, BLOCKS, **{**DEFAULTS, "gamma": 0.0}).confidences
    found = estimate(features, candidates, BLOCKS, **DEFAULTS).confidences
    np.testing.assert_allclose(found, again, atol=1e-9)


def test_scaling_makes_every_cf_weigh_alike():
    scaled = scale_by_domain(np.eye(7)[[0, 2, 3, 6]], BLOCKS, gamma=0.5)
    np.testing.assert_allclose(scaled.sum(axis=1) ** 2, [0.5 / 3, 0.5 / 3, 0.5 / 4, 0.5 / 4])


@given(seed=st.integers(0, 1000))
def test_permuting_the_rows_permutes_the_answer(seed):
    features, candidates = table(seed, n=40)
    order = np.random.default_rng(seed).permutation(40)
    found = estimate(features, candidates, BLOCKS, **DEFAULTS).confidences
    shuffled = estimate(features[order], candidates[order], BLOCKS, **DEFAULTS).confidences
    np.testing.assert_allclose(shuffled, found[order], atol=1e-6)


def test_threads_do_not_change_a_bit():
    features, candidates = table(3, n=700)
    one = estimate(features, candidates, BLOCKS, **{**DEFAULTS, "jobs": 1}).confidences
    many = estimate(features, candidates, BLOCKS, **{**DEFAULTS, "jobs": 5}).confidences
    np.testing.assert_array_equal(one, many)


def test_values_that_follow_from_the_ofs_are_found():
    features, candidates = table(1, n=1500)
    found = estimate(features, candidates, BLOCKS, **{**DEFAULTS, "k": 20}).confidences
    assert (found[:, :3].argmax(axis=1) == (features[:, 0] * 3).astype(int)).mean() > 0.9
    assert (found[:, 3:].argmax(axis=1) == (features[:, 1] * 4).astype(int)).mean() > 0.85


@pytest.mark.parametrize(("gamma", "rounds"), [(0.0, 1), (0.25, 2)])
def test_progress_tells_every_stage_from_nothing_to_all(gamma, rounds):
    features, candidates = table(0)
    news: dict[str, list[tuple[int, int]]] = {}
    estimate(
        features,
        candidates,
        BLOCKS,
        **{**DEFAULTS, "gamma": gamma},
        progress=lambda stage, done, total: news.setdefault(stage, []).append((done, total)),
    )
    assert len(news) == 3 * rounds
    for heard in news.values():
        (first, _), (last, total) = heard[0], heard[-1]
        assert (first, last) == (0, total)
