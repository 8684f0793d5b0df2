from math import log

import numpy as np
import pytest

from cfl_cli.core.arrays import LEAST_MASS, log_of_mass, log_scores

BLOCKS = np.array([0, 3])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_log_score_by_hand(kind):
    priors = np.array([[0.5, 0.3, 0.2], [1, 0, 0]], dtype=kind)
    cells = np.array([[True, False, True], [False, True, True]])
    expected = [log(0.7), log(1e-12)]  # the second cell rules out all that its prior allows
    np.testing.assert_allclose(log_scores(priors, cells, over=1), expected, rtol=1e-6)
    turned = log_scores(priors.T, cells.T.astype(kind), over=0)
    np.testing.assert_allclose(turned, expected, rtol=1e-6)
    assert turned.dtype == kind


def test_every_cf_has_a_score_of_its_own():
    rng = np.random.default_rng(0)
    priors = np.hstack([rng.dirichlet(np.ones(size), size=20) for size in (3, 4)])
    likelihoods = rng.random((20, 7))
    found = log_scores(priors, likelihoods, over=BLOCKS)
    for row in range(20):
        for cf, values in enumerate((range(3), range(3, 7))):
            mass = sum(priors[row, value] * likelihoods[row, value] for value in values)
            assert found[row, cf] == pytest.approx(log(mass))


def test_one_cell_that_a_prior_rules_out_costs_no_more_than_the_least_mass():
    np.testing.assert_allclose(
        log_of_mass(np.array([0, 1e-300, 0.25])), [log(LEAST_MASS)] * 2 + [log(0.25)]
    )


def test_the_true_distribution_has_the_highest_score_in_expectation():
    truth = np.array([0.6, 0.3, 0.1])
    cells = np.eye(3)  # exact ones, as often as their value is true
    others = np.random.default_rng(1).dirichlet(np.ones(3), size=200)
    best = truth @ log_scores(np.tile(truth, (3, 1)), cells, over=1)
    for other in others:
        assert truth @ log_scores(np.tile(other, (3, 1)), cells, over=1) < best
