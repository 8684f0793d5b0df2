import numpy as np
import pytest
from builders.learned import broken, copied
from scipy.stats import norm

from cfl_cli.core.state import StateError
from cfl_cli.methods import net
from cfl_cli.methods.net import NetInputs


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
