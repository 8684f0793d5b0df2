from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from builders.known import run, table
from builders.learned import (
    broken,
    copied,
    related,
)
from scipy.stats import norm

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.methods import net
from cfl_cli.methods.net import (
    FittedNet,
    NetInputs,
    Trainer,
    TrainingRun,
    by_orders,
    by_sets,
    softmax,
)

BLOCKS = np.array([0, 2])


def inputs_of(known):
    return NetInputs.fit(known.features).of(known.features)


def layers(widths, seed=0):
    rng = np.random.default_rng(seed)
    shapes = [shape for above, below in pairwise(widths) for shape in ((above, below), (below,))]
    return [rng.normal(size=shape) for shape in shapes]


def loss(weights, inputs, cells, keeps):
    """The mean over the rows of −Σ_CF log Σ_v p_v e_v, row by row and CF by CF."""
    one, one_bias, two, two_bias, last, last_bias = weights
    total = 0.0
    for row, cell, *kept in zip(inputs, cells, *keeps, strict=True):
        first = np.maximum(row @ one + one_bias, 0) * kept[0]
        second = np.maximum(first @ two + two_bias, 0) * kept[1]
        scores = second @ last + last_bias
        for block in (slice(0, 2), slice(2, 5)):
            odds = np.exp(scores[block])
            total -= np.log(odds @ cell[block] / odds.sum())
    return total / len(inputs)


def test_the_gradient_is_the_slope_of_the_loss(monkeypatch):
    rng = np.random.default_rng(1)
    keeps = [(rng.random((7, 4)) > 0.2) / 0.8 for _ in range(2)]
    inputs = rng.normal(size=(7, 3))
    cells = rng.random((7, 5))
    cells[0, 0] = cells[1, 3] = cells[1, 4] = 0
    weights = layers([3, 4, 4, 5])
    found = []
    left = iter(keeps)
    monkeypatch.setattr(Trainer, "_keep", lambda *_: next(left))
    monkeypatch.setattr(Trainer, "_move", lambda _, slopes: found.extend(slopes))
    Trainer(weights, 10, rng).step(inputs, cells, BLOCKS)
    for layer, slopes in zip(weights, found, strict=True):
        assert slopes.shape == layer.shape
        for place in np.ndindex(layer.shape):
            middle, ends = layer[place], []
            for step in (1e-5, -1e-5):
                layer[place] = middle + step
                ends.append(loss(weights, inputs, cells, keeps))
            layer[place] = middle
            assert slopes[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_steps_are_adams_with_decay_of_the_weights_alone():
    rng = np.random.default_rng(2)
    weights = layers([2, 3])
    trainer = Trainer([layer.copy() for layer in weights], 200, rng)
    first, second = ([np.zeros_like(layer) for layer in weights] for _ in range(2))
    means = [layer.copy() for layer in weights]
    for step in range(1, 4):
        slopes = [rng.normal(size=layer.shape) for layer in weights]
        trainer._move(slopes)
        rate = 3e-3 * step / 50 * (1 + np.cos(np.pi * step / 200)) / 2
        for place, slope in enumerate(slopes):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.999 * second[place] + 0.001 * slope**2
            ahead = first[place] / (1 - 0.9**step)
            ahead = ahead / (np.sqrt(second[place] / (1 - 0.999**step)) + 1e-8)
            decay = 0.01 * weights[place] if weights[place].ndim == 2 else 0
            weights[place] = weights[place] - rate * (ahead + decay)
            means[place] = 0.99 * means[place] + 0.01 * weights[place]
    for found, expected in zip([*trainer.layers, *trainer.means], [*weights, *means], strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def test_softmax_by_hand():
    scores = np.log([[1, 3, 2, 2, 4], [5, 5, 1, 1, 2]]).astype(np.float32)
    expected = [[0.25, 0.75, 0.25, 0.25, 0.5], [0.5, 0.5, 0.25, 0.25, 0.5]]
    np.testing.assert_allclose(softmax(scores, BLOCKS), expected, rtol=1e-6)
    np.testing.assert_allclose(softmax(scores + np.float32(1000), BLOCKS), expected, rtol=1e-4)


def test_each_cf_stops_where_the_other_hidden_cells_are_predicted_best(monkeypatch, workers):
    monkeypatch.setattr(net, "STEPS", 120)
    known, _ = table(0, 60)
    rng = np.random.default_rng(0)
    known.candidates[:, 3:] = known.candidates[rng.permutation(60), 3:]  # noise
    (fold, *_) = folds(60, 5, seed=0)
    found = run("net", known, folds=[fold])
    inputs = inputs_of(known)
    nets = TrainingRun(known, inputs, 0, fold, workers).learn()
    assert len(nets) == net.LOOKS
    hidden = np.array([at.priors(inputs[fold], known.blocks) for at in nets])
    mass = np.add.reduceat(hidden * known.evidence[fold], known.blocks, axis=2)
    taken = set()
    for own in (slice(0, None, 2), slice(1, None, 2)):  # each half by the cells of the other
        others = slice(1 - own.start, None, 2)
        looks = np.log(mass[:, others]).sum(axis=1).argmax(axis=0).tolist()
        for block, look in zip(known.columns, looks, strict=True):
            expected = hidden[look][own, block]
            np.testing.assert_allclose(found.hidden.priors[own, block], expected, atol=1e-6)
        taken.update(looks)
    assert len(taken) > 1


def test_learning_depends_on_neither_hidden_cells_nor_hidden_rows(monkeypatch, workers):
    monkeypatch.setattr(net, "STEPS", 36)
    known, _ = table(1, 50)
    (fold, *_) = folds(50, 5, seed=0)
    inputs = inputs_of(known)
    one = TrainingRun(known, inputs, 0, fold, workers).learn()
    known.candidates[fold] = True
    changed = inputs.copy()
    changed[fold] = 9
    two = TrainingRun(known, changed, 0, fold, workers).learn()
    for before, after in zip(one, two, strict=True):
        for layer, other in zip(before.layers, after.layers, strict=True):
            np.testing.assert_array_equal(layer, other)


def test_a_cf_that_follows_from_the_ofs_is_learned(monkeypatch):
    monkeypatch.setattr(net, "STEPS", 400)
    known, values = table(0, 500, sizes=(4,))
    found = run("net", known, folds=folds(500, 5, seed=0)[:1])
    assert (found.confidences.argmax(axis=1) == values[:, 0]).mean() > 0.8
    hidden = found.hidden.priors.argmax(axis=1)
    assert (hidden == values[found.hidden.rows, 0]).mean() > 0.65


def test_learning_ends_when_the_workers_have_been_stopped(workers):
    known, _ = table(0, 50)
    workers.stopped = True
    assert TrainingRun(known, inputs_of(known), 0, None, workers).learn() == []


@pytest.fixture(scope="module")
def related_rows():
    return related()


@pytest.fixture(scope="module")
def estimate(related_rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net, "STEPS", 60)
        return run("net", related_rows, folds=folds(len(related_rows), 3, seed=0)[:1])


def dense(layers, inputs):
    """The scores of one row, in double precision."""
    one, one_bias, two, two_bias, last, last_bias = (layer.astype(float) for layer in layers)
    first = np.maximum(inputs @ one + one_bias, 0)
    return np.maximum(first @ two + two_bias, 0) @ last + last_bias


def test_priors_are_those_of_the_layers_in_double_precision(related_rows, estimate, workers):
    answer = estimate.fitted.answer(related_rows, workers)
    fitted = estimate.fitted
    for row in range(3):
        inputs = fitted.inputs.of(related_rows.features[[row]])[0].astype(float)
        for look, block in zip(fitted.net.looks, related_rows.columns, strict=True):
            odds = np.exp(dense(fitted.net.nets[look].layers, inputs)[block])
            np.testing.assert_allclose(answer.priors[row, block], odds / odds.sum(), rtol=1e-4)


def logs(known):
    """What is said, 2 values, of sets of 4 things of which the first two matter only together."""
    own = known.astype(float)
    return np.column_stack([own @ [1, 0, 2, 0] + own[:, 0] * own[:, 1], own @ [0, 3, 0, 1]])


def test_exact_values_are_the_mean_gain_over_all_orders():
    gains = np.zeros((4, 2))
    for order in permutations(range(4)):
        known = np.zeros((1, 4), dtype=bool)
        for of in order:
            before = logs(known)[0]
            known[0, of] = True
            gains[of] += (logs(known)[0] - before) / 24
    base, values = by_sets(4, logs)
    np.testing.assert_allclose(values, gains, atol=1e-12)
    np.testing.assert_array_equal(base, [0, 0])


@pytest.mark.parametrize("most", [10, 0])
def test_an_of_of_several_features_is_known_as_a_whole(monkeypatch, most):
    def priors(inputs, blocks):
        assert blocks.tolist() == [0, 2]
        whole = inputs[:, 1] == inputs[:, 2]
        assert whole.all()  # features of one OF
        score = np.column_stack([inputs[:, 0], 0 * inputs[:, 0], inputs[:, 1], -inputs[:, 2]])
        p = np.exp(score)
        p[:, :2] /= p[:, :2].sum(axis=1, keepdims=True)
        p[:, 2:] /= p[:, 2:].sum(axis=1, keepdims=True)
        return p

    monkeypatch.setattr(net, "ALL_SETS", most)
    fitted = FittedNet(SimpleNamespace(of=lambda points: points), SimpleNamespace(priors=priors))
    own, blank = np.array([1.0, 2, 2, 7]), np.array([0.0, 1, 1, 7])
    ofs, blocks = [slice(0, 1), slice(1, 3), slice(3, 4)], np.array([0, 2])
    row = Known(own[None], np.ones((1, 4), dtype=bool), blocks, (Mechanism(2), Mechanism(2)))
    one, two = fitted.moves(row, blank=blank, ofs=ofs)
    before, after = np.log(priors(np.stack([blank, own]), blocks))
    np.testing.assert_allclose(one.of_features[0], (after - before)[:2])
    np.testing.assert_allclose(two.of_features[1], (after - before)[2:])
    assert not two.of_features[[0, 2, 3]].any()
    np.testing.assert_allclose(two.base, before[2:])


def test_numbers_become_normal_scores_of_their_ranks():
    columns = np.array([[0.0, 0, 0, 7], [0.1, 0, 0, 7], [0.9, 1, 0, 7], [0.9, 0, 1, 7]])
    found = NetInputs.fit(columns).of(columns)
    assert found.shape == (4, 3)  # a constant column says nothing
    scores = norm.ppf([1 / 8, 3 / 8, 3 / 4, 3 / 4])  # the middle of each value's ranks
    np.testing.assert_allclose(found[:, 0], scores / scores.std(), rtol=1e-6)
    np.testing.assert_allclose(found[:, 1], (columns[:, 1] - 0.25) / np.sqrt(3 / 16), rtol=1e-6)


def test_a_rare_value_of_two_is_no_further_out_than_ten_deviations():
    column = np.zeros((10_000, 1))
    column[0] = 1
    assert NetInputs.fit(column).of(column).max() == pytest.approx(10, abs=0.01)


def test_constant_features_become_one_column_of_zeros():
    for features in (np.ones((3, 2)), np.ones((3, 0))):
        np.testing.assert_array_equal(NetInputs.fit(features).of(features), np.zeros((3, 1)))


def test_new_numbers_lie_on_lines_between_knots_and_stay_within_them():
    fitted = NetInputs.fit(np.array([[0.0], [1], [3]]))
    low, middle, high = norm.ppf([1 / 6, 1 / 2, 5 / 6]) / norm.ppf([1 / 6, 1 / 2, 5 / 6]).std()
    rows = np.array([[-9.0], [0.25], [2], [1e9]])
    expected = [low, low + (middle - low) / 4, (middle + high) / 2, high]
    np.testing.assert_allclose(fitted.of(rows)[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("make", ["even", "skewed", "many ties"])
def test_of_many_numbers_few_become_knots_and_no_score_is_far_off(make):
    rng = np.random.default_rng(0)
    column = rng.random(5000) if make == "even" else rng.lognormal(sigma=3, size=5000)
    if make == "many ties":
        column[:4000] = np.round(column[:4000], 1)
    fitted = NetInputs.fit(column[:, None])
    assert 100 < fitted.counts[0] <= net.MOST_KNOTS
    ranks = (np.searchsorted(np.sort(column), column) + 0.5) / 5000
    if make == "many ties":
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks = ((np.cumsum(counts) - counts / 2) / 5000)[places]
    scores = norm.ppf(ranks)
    found = fitted.of(column[:, None])[:, 0]
    step = np.ptp(scores) / (net.MOST_KNOTS // 2 - 1)
    np.testing.assert_allclose(found, scores / scores.std(), atol=step + 0.01)


def test_inputs_that_cannot_be_are_refused_and_others_are_made_again():
    features = np.random.default_rng(0).random((40, 3)).round(1)
    fitted = NetInputs.fit(features)
    again = net.restore_inputs(copied(fitted.state()), features=3)
    np.testing.assert_array_equal(again.of(features), fitted.of(features))
    for _, state in broken(fitted.state()):
        with pytest.raises(StateError):
            net.restore_inputs(state, features=3)
    for name in ("knots", "scores"):
        state = copied(fitted.state())
        backwards = state.arrays[name].copy()
        backwards[[1, 2]] = backwards[[2, 1]]
        state.arrays[name] = backwards
        with pytest.raises(StateError, match="ascend"):
            net.restore_inputs(state, features=3)


def test_values_over_some_orders_add_up_and_are_near():
    base, values = by_orders(4, logs)
    _, exact = by_sets(4, logs)
    np.testing.assert_allclose(base + values.sum(axis=0), logs(np.ones((1, 4), dtype=bool))[0])
    np.testing.assert_allclose(values, exact, atol=0.1)
