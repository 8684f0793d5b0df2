from itertools import pairwise

import numpy as np
import pytest
from builders.known import run, table

from cfl_cli.core.draws import folds
from cfl_cli.methods import net
from cfl_cli.methods.net import NetInputs, Net, NetPerCf, Trainer, TrainingRun, softmax

BLOCKS = np.array([0, 2])


def inputs_of(known):
    return NetInputs.fit(known.features).of(known.features)


def layers(widths, seed=0):
    """Random weights and biases in double precision."""
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
        rate = 2e-3 * step / 100 * (1 + np.cos(np.pi * step / 200)) / 2
        for place, slope in enumerate(slopes):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.999 * second[place] + 0.001 * slope**2
            ahead = first[place] / (1 - 0.9**step)
            ahead = ahead / (np.sqrt(second[place] / (1 - 0.999**step)) + 1e-8)
            decay = 0.01 * weights[place] if weights[place].ndim == 2 else 0
            weights[place] = weights[place] - rate * (ahead + decay)
            means[place] = 0.995 * means[place] + 0.005 * weights[place]
    for found, expected in zip([*trainer.layers, *trainer.means], [*weights, *means], strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_softmax_by_hand():
    scores = np.log([[1, 3, 2, 2, 4], [5, 5, 1, 1, 2]]).astype(np.float32)
    expected = [[0.25, 0.75, 0.25, 0.25, 0.5], [0.5, 0.5, 0.25, 0.25, 0.5]]
    np.testing.assert_allclose(softmax(scores, BLOCKS), expected, rtol=1e-6)
    np.testing.assert_allclose(softmax(scores + np.float32(1000), BLOCKS), expected, rtol=1e-4)


def test_each_cf_has_the_priors_of_its_own_look():
    inputs = np.zeros((4, 1), dtype=np.float32)
    nets = []
    for biases in ([1, 3, 1, 1, 2], [1, 1, 2, 1, 1]):
        weights = [np.zeros_like(layer) for layer in layers([1, 3, 3, 5])]
        weights[-1] = np.log(biases)
        nets.append(Net(tuple(layer.astype(np.float32) for layer in weights)))
    priors = NetPerCf.at(nets, np.array([1, 0])).priors(inputs, BLOCKS)
    np.testing.assert_allclose(priors, [[0.5, 0.5, 0.25, 0.25, 0.5]] * 4, rtol=1e-6)


def test_each_cf_stops_where_its_hidden_cells_are_predicted_best(monkeypatch, workers):
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
    looks = np.log(mass).sum(axis=1).argmax(axis=0)
    for block, look in zip(known.columns, looks, strict=True):
        np.testing.assert_allclose(found.hidden.priors[:, block], hidden[look][:, block], atol=1e-6)


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
