import numpy as np
from builders.known import run

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism


def test_all_candidates_are_alike_whatever_the_other_rows_say():
    cells = np.array([[c == "1" for c in row] for row in ("110", "110", "100", "111")])
    known = Known(np.zeros((4, 1)), cells, np.array([0]), (Mechanism(3),))
    estimate = run("observed", known, folds=[np.array([1])], k=1)
    expected = [[0.5, 0.5, 0], [0.5, 0.5, 0], [1, 0, 0], [1 / 3] * 3]
    np.testing.assert_allclose(estimate.confidences, expected)
    np.testing.assert_allclose(estimate.mass[:, 0], [2 / 3, 2 / 3, 1 / 3, 1])
    np.testing.assert_allclose(estimate.hidden.priors, [[1 / 3] * 3])
    assert not estimate.fell_back.any()


def test_a_likelier_candidate_is_likelier_under_a_mechanism():
    # Of a cell that rules out c: a rules it out in 3 of 4 cases, b in 1 of 4.
    rates = np.array([[0, 0.25, 0.75], [0.75, 0, 0.25], [0.5, 0.5, 0]])
    cells = np.array([[True, True, False]])
    known = Known(np.zeros((1, 1)), cells, np.array([0]), (Mechanism(3, rates),))
    estimate = run("observed", known, folds=[], k=1)
    np.testing.assert_allclose(estimate.confidences, [[0.75, 0.25, 0]])
    assert estimate.hidden is None
