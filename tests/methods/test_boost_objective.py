from itertools import combinations

import numpy as np
import pytest
from builders.cells import skewed

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods import boost
from cfl_cli.methods.boost import BoostObjective, BoostTarget, StopBoosting


def target(known, start=0.0):
    """The first CF of a table, as boosting sees it; all scores begin at `start`."""
    size = known.mechanisms[0].size
    begun = np.full((size, 1), start, dtype=np.float32) * np.arange(size)[:, None]
    return BoostTarget.of(known, 0, [np.exp(begun[:, 0] / boost.HEAD_START)] * 2)


def objective_of(cells, mechanism, fold=None):
    known = Known(np.zeros((len(cells), 1)), cells, np.array([0]), (mechanism,))
    return BoostObjective(target(known, start=0.3), 0, fold)


def probabilities(scores):
    odds = np.exp(scores)
    return odds / odds.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("mechanism", [Mechanism(2), Mechanism(5), skewed(5)])
def test_the_gradient_is_the_slope_of_minus_log_the_mass_that_a_cell_allows(mechanism):
    size = mechanism.size
    rng = np.random.default_rng(0)
    many = np.arange(20) % size  # empty and exact cells among them
    cells = mechanism.draw(rng.integers(size, size=20), many, rng.random((20, size)))
    objective = objective_of(cells, mechanism)
    scores = rng.normal(size=(20, size))
    evidence = mechanism.likelihood(cells)
    begun = 0.3 * np.arange(size)

    def loss(at):
        return -np.log((probabilities(at + begun) * evidence).sum(axis=1))

    found, _ = objective(scores, None)
    for value, step in enumerate(1e-5 * np.eye(size)):
        slope = (loss(scores + step) - loss(scores - step)) / 2e-5
        np.testing.assert_allclose(found[:, value], slope, atol=1e-6)


def expected_squares(p, exclusions):
    """The mean squared gradient over all values and the cells of so many uniform exclusions."""
    size = len(p)
    found = np.zeros(size)
    for value in range(size):
        others = [c for c in range(size) if c != value]
        sets = list(combinations(others, exclusions))
        for excluded in sets:
            left = np.where(np.isin(np.arange(size), excluded), 0, p)
            found += p[value] / len(sets) * (p - left / left.sum()) ** 2
    return found


def curvature(p, exclusions):
    """What boosting takes for the curvature of a cell with so many exclusions."""
    size = len(p)
    cells = np.arange(size)[None] >= exclusions
    objective = objective_of(cells, Mechanism(size))
    _, found = objective(np.log(p)[None] - 0.3 * np.arange(size), None)
    return found[0]


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("kind", ["one exclusion", "exact", "even"])
def test_the_curvature_is_the_expected_squared_gradient(size, kind):
    p = np.random.default_rng(size).dirichlet(np.ones(size))
    if kind == "even":
        for exclusions in range(1, size):
            even = np.full(size, 1 / size)
            found = curvature(even, exclusions)
            np.testing.assert_allclose(found, expected_squares(even, exclusions), rtol=1e-5)
        return
    exclusions = 1 if kind == "one exclusion" else size - 1
    expected = expected_squares(p, exclusions)
    np.testing.assert_allclose(curvature(p, exclusions), expected, rtol=1e-5, atol=1e-6)
    if kind == "exact":
        np.testing.assert_allclose(expected, p * (1 - p))


def test_an_empty_cell_has_no_slope_and_next_to_no_curvature():
    objective = objective_of(np.ones((1, 4), dtype=bool), Mechanism(4))
    gradient, found = objective(np.array([[1.0, 0.0, -1.0, 2.0]]), None)
    np.testing.assert_allclose(gradient, 0, atol=2e-7)  # single precision
    np.testing.assert_array_equal(found, boost.FLATTEST)


def test_hidden_rows_pull_at_nothing_and_are_what_is_scored():
    cells = ~np.eye(3, dtype=bool)[[0, 1, 2, 0]]
    objective = objective_of(cells, Mechanism(3), np.array([1, 3]))
    gradient, found = objective(np.zeros((4, 3)), None)
    np.testing.assert_array_equal(gradient[[1, 3]], 0)
    np.testing.assert_array_equal(found[[1, 3]], 0)
    assert (gradient[[0, 2]] != 0).all()
    p = probabilities(0.3 * np.arange(3))
    expected = (np.log(1 - p[1]) + np.log(1 - p[0])) / 2
    assert objective.scores == [pytest.approx(expected, abs=1e-6)]
    assert objective.rounds == 0
    np.testing.assert_allclose(objective.priors.T, [p] * 4, rtol=1e-6)


def test_probabilities_of_0_leave_no_nan():
    cells = ~np.eye(3, dtype=bool)[[0, 1]]
    objective = objective_of(cells, Mechanism(3))
    gradient, found = objective(np.array([[500.0, 0, 0], [-500.0, 0, -500.0]]), None)
    assert np.isfinite(gradient).all()
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_boosting_ends_when_its_score_no_longer_gains_and_keeps_the_best(monkeypatch):
    monkeypatch.setattr(boost, "PATIENCE", 3)
    cells = ~np.eye(2, dtype=bool)[[0, 0, 0]]  # the second value, in every row
    objective = objective_of(cells, Mechanism(2), np.array([2]))
    for height in (0, 1, 2, 3, 2.5, 2):
        objective(np.array([[0, height]] * 3), None)
    with pytest.raises(StopBoosting):
        objective(np.array([[0, 1]] * 3), None)
    assert objective.rounds == 3
    np.testing.assert_allclose(objective.priors[1], 1 / (1 + np.exp(-3.3)), rtol=1e-5)


def test_residuals_are_what_cells_that_are_not_hidden_pull_priors_by():
    cells = np.array([[False, True, True], [True, False, True], [True, True, True]])
    known = Known(np.zeros((3, 1)), cells, np.array([0]), (Mechanism(3),))
    prior = np.array([[0.5, 0.3, 0.2]] * 3, dtype=np.float32).T
    found = target(known).residuals(prior, np.array([1]))
    np.testing.assert_allclose(found.T, [[-0.5, 0.3, 0.2], [0, 0, 0], [0, 0, 0]], atol=1e-6)
    found = target(known).residuals(prior, None)
    np.testing.assert_allclose(found[:, 1], [3 / 14, -0.3, 3 / 35], atol=1e-6)


def test_a_targets_factors_say_how_informative_its_cells_are():
    cells = np.arange(4)[None] >= np.array([[0], [1], [2], [3]])
    known = Known(np.zeros((4, 1)), cells, np.array([0]), (Mechanism(4),))
    found: BoostTarget = target(known)
    # s (K−1)/(K−s); an exact cell's is beyond all bounds
    np.testing.assert_allclose(found.factors, [0, 1, 3, boost.CERTAIN])
    assert found.information == pytest.approx((0 + 1 + 2 + 3) / 4 / 3)
