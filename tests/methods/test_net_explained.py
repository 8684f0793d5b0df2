"""Moves of the network are Shapley values: by the mean over all orders, and they add up."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods import net
from cfl_cli.methods.net import FittedNet, by_orders, by_sets


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


def test_values_over_some_orders_add_up_and_are_near():
    base, values = by_orders(4, logs)
    _, exact = by_sets(4, logs)
    np.testing.assert_allclose(base + values.sum(axis=0), logs(np.ones((1, 4), dtype=bool))[0])
    np.testing.assert_allclose(values, exact, atol=0.1)


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
