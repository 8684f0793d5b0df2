from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from builders.known import run
from builders.known import table as known_table
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods import graph
from cfl_cli.methods import graph as module
from cfl_cli.methods.graph import GraphMethod, HiddenRuns, is_enough
from cfl_cli.methods.graph.neighbors import nearest_neighbors
from cfl_cli.methods.graph.propagation import Graph, propagate
from cfl_cli.methods.graph.weights import solve
from cfl_cli.methods.interface import Layout, TableSize

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
    mass = np.add.reduceat(hidden.priors * evidence[hidden.rows], BLOCKS, axis=1)
    return np.log(mass).mean(axis=0)


@pytest.mark.parametrize("gamma", [pytest.param(0.0, marks=pytest.mark.slow), 0.25])
def test_every_cf_stops_where_its_hidden_cells_are_predicted_best(gamma):
    features, candidates = table(7, n=400)
    candidates[:, 3:] = candidates[np.random.default_rng(1).permutation(400), 3:]  # noise
    dealt = folds(400, 5, seed=0)
    chosen = estimate(features, candidates, iterations="auto", gamma=gamma, folds=dealt)
    best = np.array([max(origin.tried[0].scores) for origin in chosen.origins])
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


@pytest.mark.parametrize("dealt", [folds(80, 4, 1), folds(80, 4, 1)[:1]], ids=["four", "one"])
def test_each_part_of_the_hidden_rows_takes_the_steps_that_the_others_favor(dealt):
    features, candidates = table(5)
    found = estimate(features, candidates, folds=dealt, iterations="auto", gamma=0.0)
    tried = found.origins[0].tried[0].steps
    fixed = [
        estimate(features, candidates, folds=dealt, iterations=steps, gamma=0.0).hidden.priors
        for steps in tried
    ]
    rows, choices = found.hidden.rows, set()
    own = np.arange(len(rows)) % 2 if len(dealt) == 1 else np.repeat(np.arange(4), 20)
    for block in (slice(0, 3), slice(3, 7)):
        logs = [
            np.log((priors[:, block] * candidates[rows, block]).sum(axis=1)) for priors in fixed
        ]
        for part in np.unique(own):
            best = int(np.argmax([one[own != part].sum() for one in logs]))
            choices.add(tried[best])
            ours, theirs = (
                priors[own == part][:, block] for priors in (found.hidden.priors, fixed[best])
            )
            np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert len(choices) > 1  # else the test would say little


SETTINGS = Settings(method="graph", k=5, iterations=20, gamma=0.0)
FOLDS = folds(60, 3, 0)


@pytest.fixture
def known():
    random = np.random.default_rng(0)
    cells = [np.arange(size) != random.integers(0, size, 60)[:, None] for size in (3, 4)]
    return Known(
        random.random((60, 3)), np.hstack(cells), np.array([0, 3]), (Mechanism(3), Mechanism(4))
    )


def test_it_says_of_hidden_rows_what_the_whole_method_says(known):
    with Workers(2) as workers:
        whole = graph.GraphMethod().estimate(
            known, SETTINGS, folds=FOLDS, workers=workers.within("a"), progress=lambda *_: None
        )
        runs = HiddenRuns.of(known, SETTINGS, folds=FOLDS, workers=workers.within("b"))
        hidden = runs.predict(known.evidence, name="all")
    assert np.array_equal(hidden.rows, whole.hidden.rows)
    assert np.array_equal(hidden.priors, whole.hidden.priors)


@pytest.mark.parametrize(
    "more", [{"gamma": 0.25}, {"gamma": None}, {"iterations": "auto"}, {"method": "boost"}]
)
def test_it_is_not_enough_where_there_is_more_than_one_fixed_round(more):
    assert is_enough(SETTINGS)
    assert not is_enough(SETTINGS.replaced(more))


K, RIDGE, GAMMA = 5, 0.3, 0.25
SIZES = np.array([3, 4])


def fitted(known, **given):
    return run("graph", known, folds=[], **{"k": K, "gamma": GAMMA, **given}).fitted


def answer(model, rows, jobs=2):
    with Workers(jobs) as workers:
        return model.answer(rows, workers)


def layout(known):
    return Layout(known.features.shape[1], known.mechanisms)


def on_a_grid(known, steps):
    return replace(known, features=(known.features * steps).round() / steps)


def by_loop(points, said, point):
    """What the k nearest points say of one, weighed by SciPy's NNLS."""
    far = ((points - point) ** 2).sum(axis=1)
    near = np.argsort(far)[:K]
    difference = points[near] - point
    scaled = difference / np.sqrt((difference**2).sum() / K)
    system = np.vstack([scaled.T, np.sqrt(RIDGE) * np.eye(K), np.ones(K)])
    weights, _ = scipy.optimize.nnls(system, np.append(np.zeros(len(system) - 1), 1.0))
    return weights / weights.sum() @ said[near]


def doubted(priors):
    """Priors of which one part in a thousand is even."""
    return 0.999 * priors + 0.001 * np.repeat(1 / np.array(SIZES), SIZES)


def flown(points, confidences, workers):
    """What is said at each point without its own cell: Σ over its neighbors of w · Q."""
    neighbors = nearest_neighbors(points, k=K, workers=workers).rows
    weights = solve(points, neighbors, ridge=RIDGE, workers=workers).values
    return np.einsum("nk,nkv->nv", weights, confidences[neighbors])


def test_both_rounds_agree_with_a_loop_over_all_fitted_rows(workers):
    known, _ = known_table(0, 90)
    new, _ = known_table(1, 12)
    once = run("graph", known, folds=[], gamma=0.0)
    twice = run("graph", known, folds=[], gamma=GAMMA)
    scale = np.repeat(np.sqrt(GAMMA / SIZES), SIZES)
    points = np.hstack([known.features, once.confidences * scale])
    first, second = (
        flown(at, one.confidences, workers) for at, one in ((known.features, once), (points, twice))
    )
    said = answer(twice.fitted, new)
    for row, x in enumerate(new.features):
        one = by_loop(known.features, first, x)
        np.testing.assert_allclose(answer(once.fitted, new).priors[row], doubted(one), atol=1e-5)
        two = doubted(by_loop(points, second, np.append(x, one * scale)))
        np.testing.assert_allclose(said.priors[row], two, atol=1e-5)
        for cf, block in enumerate(new.columns):
            left = two[block] * new.candidates[row, block]
            assert said.mass[row, cf] == pytest.approx(left.sum(), abs=1e-5)
            expected = left / left.sum()
            np.testing.assert_allclose(said.confidences[row, block], expected, atol=1e-4)
    assert not said.fell_back.any()
    assert said.answers is None


def test_each_cf_takes_the_round_that_it_took_at_fitting():
    known, _ = known_table(2, 80)
    new, _ = known_table(3, 9)
    model = fitted(known)
    mixed = replace(model, chosen=np.array([2, 1]))
    once, twice = answer(fitted(known, gamma=0.0), new), answer(model, new)
    np.testing.assert_array_equal(answer(mixed, new).priors[:, :3], twice.priors[:, :3])
    np.testing.assert_array_equal(answer(mixed, new).priors[:, 3:], once.priors[:, 3:])


@pytest.mark.parametrize("gamma", [0.0, GAMMA])
def test_no_prior_of_a_new_row_depends_on_any_of_its_cells(gamma):
    known, _ = known_table(4, 60)
    new, _ = known_table(5, 20, exclusions=(0, 1, 2))
    other = replace(new, candidates=np.roll(new.candidates, 7, axis=0) ^ ~new.candidates)
    other.candidates[:, [0, 3]] = True
    model = fitted(known, gamma=gamma)
    one, two = answer(model, new), answer(model, other)
    np.testing.assert_array_equal(one.priors, two.priors)
    assert (one.confidences != two.confidences).any()


@pytest.mark.parametrize("steps", [3, 1000])
def test_neither_blocks_nor_threads_nor_order_change_a_bit(steps, workers):
    known, new = (on_a_grid(known_table(seed, 120)[0], steps) for seed in (6, 7))
    model = fitted(known, k=12)
    whole = answer(model, new, jobs=1)
    for size in (1, 7, 120):
        parts = [new.some(np.arange(at, min(at + size, 120))) for at in range(0, 120, size)]
        said = [model.answer(part, workers) for part in parts]
        for field in ("priors", "confidences", "mass", "fell_back"):
            joined = np.concatenate([getattr(one, field) for one in said])
            np.testing.assert_array_equal(joined, getattr(whole, field))
    order = np.random.default_rng(0).permutation(120)
    shuffled = answer(model, new.some(order), jobs=4)
    np.testing.assert_array_equal(shuffled.confidences, whole.confidences[order])


def test_a_model_kept_and_restored_answers_the_same_to_the_bit():
    known, new = (on_a_grid(known_table(seed, 70)[0], 6) for seed in (8, 9))
    for model in (fitted(known), fitted(known, gamma=0.0), fitted(known, correction=False)):
        again = GraphMethod().restore(model.state(), layout(known))
        one, two = answer(model, new), answer(again, new)
        np.testing.assert_array_equal(one.priors, two.priors)
        np.testing.assert_array_equal(one.confidences, two.confidences)
        kinds = {array.dtype.str for part in state_and_parts(model) for array in part.values()}
        assert kinds == {"<f4", "<i8"}


def state_and_parts(model):
    state = model.state()
    return [state.arrays, *(part.arrays for part in state.parts.values())]


def test_new_rows_may_equal_fitted_ones_lie_far_outside_or_be_none():
    known, _ = known_table(11, 50)
    model = fitted(known)
    far = replace(known, features=known.features * np.array([1e300, -1e300, 1e20]))
    for rows in (known, far, known.some(np.arange(1)), known.some(np.arange(0))):
        said = answer(model, rows)
        assert said.priors.shape == rows.candidates.shape
        assert said.fell_back.shape == (len(rows), 2)
        np.testing.assert_allclose(np.add.reduceat(said.priors, [0, 3], axis=1), 1)
        assert (said.confidences[~rows.candidates] == 0).all()


def test_a_table_whose_rows_are_all_alike_answers_what_it_says_everywhere():
    known, _ = known_table(12, 30)
    alike = Known(np.zeros((30, 3)), known.candidates, known.blocks, known.mechanisms)
    model = fitted(alike, gamma=0.0)
    said = answer(model, known)
    expected = doubted(np.tile(model.rounds[0].said, (30, 1)))
    np.testing.assert_allclose(said.priors, expected, atol=1e-7)


def test_without_correction_cells_of_new_rows_are_not_applied():
    known, _ = known_table(13, 40)
    said = answer(fitted(known, correction=False), known)
    assert said.confidences is said.priors


def test_new_rows_are_told_as_well_as_rows_that_were_hidden():
    known, values = known_table(14, 900)
    old, new = folds(900, 5, seed=0)[0], np.arange(900)
    new, old = old, np.setdiff1d(new, old)
    together = run("graph", known, folds=[], k=10).confidences[new]
    apart = answer(fitted(known.some(old), k=10), known.some(new)).confidences
    for cf, block in enumerate(known.columns):
        right = [
            (one[:, block].argmax(axis=1) == values[new, cf]).mean() for one in (together, apart)
        ]
        assert right[1] > right[0] - 0.03


def broken(state, name, change, part=None):
    if part:
        parts = {**state.parts, part: broken(state.parts[part], name, change)}
        return State(state.arrays, state.facts, parts)
    arrays, facts = dict(state.arrays), dict(state.facts)
    kept = arrays if name in arrays else facts
    kept[name] = change(kept[name])
    if kept[name] is None:
        del kept[name]
    return State(arrays, facts, state.parts)


def with_first(value):
    def change(array):
        other = array.copy()
        other.flat[0] = value
        return other

    return change


@pytest.mark.parametrize(
    ("name", "change", "part"),
    [
        ("k", lambda _: 0, None),
        ("k", lambda _: 10**6, None),
        ("k", lambda _: 60, None),  # as many as rows
        ("k", lambda _: True, None),
        ("ridge", lambda _: 0.0, None),
        ("ridge", lambda _: float("nan"), None),
        ("seed", lambda _: -1, None),
        ("seed", lambda _: 2**63, None),
        ("gamma", lambda _: -0.1, None),
        ("gamma", lambda _: float("inf"), None),
        ("correction", lambda _: 1, None),
        ("rounds", with_first(3), None),
        ("rounds", with_first(0), None),
        ("rounds", lambda array: array[:1], None),
        ("rounds", lambda _: None, None),
        ("points", with_first(np.nan), "first"),
        ("points", with_first(1e20), "second"),
        ("points", lambda array: array[:, 1:], "second"),
        ("points", lambda array: array.astype(float), "first"),
        ("points", lambda array: array[:-1], "first"),
        ("said", with_first(-0.1), "first"),
        ("said", with_first(np.inf), "second"),
        ("said", lambda array: array / 2, "second"),
        ("said", lambda array: array[:, :-1], "first"),
        ("size", with_first(0), "first"),
        ("size", with_first(2**62), "second"),
        ("size", lambda array: array[:-1], "second"),
        ("size", lambda _: None, "first"),
    ],
)
def test_a_state_that_nothing_fitted_can_have_had_is_refused(name, change, part):
    known, _ = known_table(15, 60)
    state = fitted(known).state()
    GraphMethod().restore(state, layout(known))
    with pytest.raises(StateError):
        GraphMethod().restore(broken(state, name, change, part), layout(known))


@pytest.mark.parametrize("missing", ["first", "second"])
def test_a_state_without_a_round_is_refused(missing):
    known, _ = known_table(15, 60)
    state = fitted(known).state()
    parts = {name: part for name, part in state.parts.items() if name != missing}
    with pytest.raises(StateError, match=missing):
        GraphMethod().restore(State(state.arrays, state.facts, parts), layout(known))


def test_a_state_without_points_is_refused():
    known, _ = known_table(15, 60)
    model = fitted(known, gamma=0.0)
    empty = {name: array[:0] for name, array in model.state().parts["first"].arrays.items()}
    state = State(model.state().arrays, model.state().facts, {"first": State(empty)})
    with pytest.raises(StateError, match="size"):
        GraphMethod().restore(state, layout(known))


@pytest.mark.parametrize("gamma", [0.0, GAMMA])
def test_the_size_of_a_model_is_known_beforehand(gamma):
    known, _ = known_table(16, 80)
    arrays = (
        array for part in state_and_parts(fitted(known, gamma=gamma)) for array in part.values()
    )
    size = TableSize(80, 3, (3, 4))
    expected = GraphMethod().model_bytes(size, Settings("graph", gamma=gamma))
    assert sum(array.nbytes for array in arrays) == pytest.approx(expected, rel=0.01)
    brief = GraphMethod(brief=True).model_bytes(size, Settings("auto", gamma=gamma))
    assert brief == GraphMethod().model_bytes(size, Settings("graph", gamma=0.0))
