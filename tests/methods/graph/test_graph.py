import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.methods import graph as module
from cfl_cli.methods.graph.neighbors import nearest_neighbors
from cfl_cli.methods.graph.propagation import Graph, propagate
from cfl_cli.methods.graph.weights import solve

DEFAULTS = {"k": 5, "iterations": 20, "gamma": 0.25, "ridge": 0.3, "seed": 0}
BLOCKS = np.array([0, 3])


def estimate(features, evidence, *, jobs=2, folds=(), progress=lambda *_: None, **given):
    settings = Settings(**{**DEFAULTS, **given})
    known = Known(features, evidence, BLOCKS, (Mechanism(3), Mechanism(4)))
    with Workers(jobs) as workers:
        return module.GraphMethod().estimate(
            known, settings, folds=folds, workers=workers, progress=progress
        )


def favored(found):
    return [origin.round for origin in found.origins]


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
    found = estimate(features, candidates, gamma=0.0).confidences
    near = nearest_neighbors(features, k=5, seed=0, workers=workers)
    weights = solve(features, near.rows, ridge=0.3, workers=workers).values
    graph = Graph.of(near.rows, weights, near.order, workers=workers)
    once = propagate(graph, candidates, BLOCKS, iterations=20, workers=workers)
    np.testing.assert_array_equal(found, once.confidences)


def test_round_two_starts_anew_with_round_ones_confidences_as_features():
    features, candidates = table(0)
    first = estimate(features, candidates, gamma=0.0).confidences
    both = np.hstack([features, first[:, :3] * np.sqrt(0.25 / 3), first[:, 3:] * np.sqrt(0.25 / 4)])
    again = estimate(both, candidates, gamma=0.0).confidences
    found = estimate(features, candidates).confidences
    np.testing.assert_allclose(found, again, atol=1e-9)


@given(seed=st.integers(0, 1000))
def test_permuting_the_rows_permutes_the_answer(seed):
    features, candidates = table(seed, n=40)
    order = np.random.default_rng(seed).permutation(40)
    found = estimate(features, candidates).confidences
    shuffled = estimate(features[order], candidates[order]).confidences
    np.testing.assert_allclose(shuffled, found[order], atol=1e-6)


def test_values_that_follow_from_the_ofs_are_found():
    features, candidates = table(1, n=1500)
    found = estimate(features, candidates, k=20).confidences
    assert (found[:, :3].argmax(axis=1) == (features[:, 0] * 3).astype(int)).mean() > 0.9
    assert (found[:, 3:].argmax(axis=1) == (features[:, 1] * 4).astype(int)).mean() > 0.85


def test_hidden_rows_are_predicted_as_if_their_cells_were_empty():
    features, candidates = table(4)
    dealt = folds(80, 4, seed=1)
    found = estimate(features, candidates, folds=dealt).hidden
    np.testing.assert_array_equal(found.rows, np.concatenate(dealt))
    for fold in dealt:
        emptied = candidates.copy()
        emptied[fold] = True
        alone = estimate(features, emptied).confidences
        np.testing.assert_allclose(found.priors[np.isin(found.rows, fold)], alone[fold], atol=1e-12)


def test_shuffled_cells_keep_more_entropy_than_cells_that_follow_from_the_ofs():
    features, candidates = table(6, n=800)
    null = estimate(features, candidates, folds=folds(800, 5, seed=0)).null
    assert (null.entropy < 0.7 * null.shuffled).all()
    rng = np.random.default_rng(0)
    noise = candidates[rng.permutation(800)]
    null = estimate(features, noise, folds=folds(800, 5, seed=0)).null
    np.testing.assert_allclose(null.entropy, null.shuffled, rtol=0.1)


def log_scores(features, evidence, hidden):
    """How well hidden cells are predicted, per CF."""
    mass = np.add.reduceat(hidden.priors * evidence[hidden.rows], BLOCKS, axis=1)
    return np.log(mass).mean(axis=0)


@pytest.mark.parametrize("gamma", [pytest.param(0.0, marks=pytest.mark.slow), 0.25])
def test_every_cf_stops_where_its_hidden_cells_are_predicted_best(gamma):
    features, candidates = table(7, n=400)
    candidates[:, 3:] = candidates[np.random.default_rng(1).permutation(400), 3:]  # noise
    dealt = folds(400, 5, seed=0)
    chosen = estimate(features, candidates, iterations="auto", gamma=gamma, folds=dealt)
    best = log_scores(features, candidates, chosen.hidden)
    useful, noisy = (origin.iterations for origin in chosen.origins)
    assert noisy < useful
    if gamma == 0:  # with two rounds, the first one's choice changes the second
        for steps in module.STOPS:
            fixed = estimate(features, candidates, iterations=steps, gamma=gamma, folds=dealt)
            # It stops looking when nothing got better for as long as it took to get there.
            assert (log_scores(features, candidates, fixed.hidden) <= best + 1e-3).all()
    alone = estimate(features, candidates, iterations=int(useful), gamma=0.0).confidences
    if gamma == 0:
        np.testing.assert_allclose(chosen.confidences[:, :3], alone[:, :3], atol=1e-9)


def test_a_cf_takes_the_second_round_only_where_its_hidden_cells_favor_it():
    features, candidates = table(8, n=400)
    dealt = folds(400, 5, seed=0)
    chosen = estimate(features, candidates, gamma="auto", folds=dealt)
    once = estimate(features, candidates, gamma=0.0, folds=dealt)
    twice = estimate(features, candidates, folds=dealt)
    better = log_scores(features, candidates, twice.hidden) > log_scores(
        features, candidates, once.hidden
    )
    np.testing.assert_array_equal(favored(chosen), np.where(better, 2, 1))
    for block, second in zip((slice(0, 3), slice(3, 7)), better, strict=True):
        expected = (twice if second else once).confidences[:, block]
        np.testing.assert_allclose(chosen.confidences[:, block], expected, atol=1e-12)


def test_of_a_large_table_a_part_is_compared_with_its_shuffled_cells(monkeypatch):
    features, candidates = table(6, n=1500)
    monkeypatch.setattr(module, "SAMPLED_ABOVE", 1400)
    monkeypatch.setattr(module, "SAMPLE_ROWS", 350)
    judged = estimate(features, candidates, folds=folds(1500, 5, seed=0)[:1])
    assert judged.null.rows == 350
    assert (judged.null.entropy < 0.8 * judged.null.shuffled).all()
    whole = estimate(features, candidates)
    np.testing.assert_array_equal(judged.confidences, whole.confidences)
    assert (judged.rescued_rows, judged.recall) == (whole.rescued_rows, whole.recall)


def test_what_hidden_cells_chose_from_is_kept_with_the_scores_that_fixed_steps_have():
    features, candidates = table(1)
    hidden = folds(len(features), 2, 0)
    found = estimate(features, candidates, folds=hidden, iterations="auto", gamma=0.0)
    for cf, origin in enumerate(found.origins):
        [tried] = origin.tried
        assert tried.steps[np.argmax(tried.scores)] == origin.iterations
        for steps in tried.steps[:3]:
            fixed = estimate(features, candidates, folds=hidden, iterations=steps, gamma=0.0)
            block = slice(0, 3) if cf == 0 else slice(3, 7)
            cells = candidates[fixed.hidden.rows, block]
            masses = np.where(cells, fixed.hidden.priors[:, block], 0).sum(axis=1)
            score = tried.scores[tried.steps.index(steps)]
            assert score == pytest.approx(np.log(masses).mean(), abs=1e-6)


def test_rounds_are_compared_where_they_are_chosen_and_nothing_is_kept_where_nothing_is():
    features, candidates = table(1)
    hidden = folds(len(features), 2, 0)
    found = estimate(features, candidates, folds=hidden, gamma="auto")
    for origin in found.origins:
        one, two = origin.tried
        assert (one.round, two.round, one.steps, two.steps) == (1, 2, (20,), (20,))
        assert origin.round == (1 if one.scores[0] >= two.scores[0] else 2)
    assert [origin.tried for origin in estimate(features, candidates, folds=hidden).origins] == [
        (),
        (),
    ]
