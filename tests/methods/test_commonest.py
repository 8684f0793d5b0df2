import numpy as np
from builders.known import run

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods.baselines import hidden_priors

EXACT = np.eye(2, dtype=bool)


def known_of(values):
    return Known(np.zeros((len(values), 1)), EXACT[values], np.array([0]), (Mechanism(2),))


def test_an_empty_cell_gets_the_shares_of_the_others():
    known = known_of([0, 0, 0, 1, 1])
    known.candidates[4] = True
    estimate = run("commonest", known, folds=[], k=1)
    np.testing.assert_allclose(estimate.confidences[[0, 3, 4]], [[1, 0], [0, 1], [0.75, 0.25]])
    np.testing.assert_allclose(estimate.mass[:, 0], [0.75, 0.75, 0.75, 0.25, 1])


def test_hidden_rows_have_no_say_in_their_own_prior():
    known = known_of([0, 0, 0, 1, 1, 1])
    folds = [np.array([0, 1]), np.array([4, 5])]
    expected = [[0.25, 0.75]] * 2 + [[0.75, 0.25]] * 2
    np.testing.assert_allclose(hidden_priors(known, folds), expected)


def test_a_value_that_no_other_row_has_has_no_share():
    known = known_of([0, 0, 0, 1])
    priors = run("commonest", known, folds=[np.array([3])], k=1).hidden.priors
    np.testing.assert_allclose(priors, [[1, 0]])
