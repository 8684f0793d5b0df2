import numpy as np
from builders.known import run

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods.interface import apply_cells

EXACT = np.eye(2, dtype=bool)


def exact(values):
    return Known(np.zeros((len(values), 1)), EXACT[values], np.array([0]), (Mechanism(2),))


def test_a_value_that_no_other_row_has_has_no_share():
    known = exact([0, 0, 0, 1])
    priors = run("commonest", known, folds=[np.array([3])], k=1).hidden.priors
    np.testing.assert_allclose(priors, [[1, 0]])


def test_a_likelier_candidate_is_likelier_under_a_mechanism():
    # Of a cell that rules out c: a rules it out in 3 of 4 cases, b in 1 of 4.
    rates = np.array([[0, 0.25, 0.75], [0.75, 0, 0.25], [0.5, 0.5, 0]])
    cells = np.array([[True, True, False]])
    known = Known(np.zeros((1, 1)), cells, np.array([0]), (Mechanism(3, rates),))
    estimate = run("observed", known, folds=[], k=1)
    np.testing.assert_allclose(estimate.confidences, [[0.75, 0.25, 0]])
    assert estimate.hidden is None


def test_cells_are_applied_by_hand():
    cells = ["01 110", "10 011", "11 101", "11 111"]
    candidates = np.array([[c == "1" for c in row.replace(" ", "")] for row in cells])
    mechanisms = (Mechanism(2), Mechanism(3))
    known = Known(np.arange(8.0).reshape(4, 2), candidates, np.array([0, 2]), mechanisms)
    priors = np.array([[0.3, 0.7, 0.5, 0.3, 0.2]] * 4)
    priors[1, 2:] = [1, 0, 0]  # the second row's cell rules it out
    confidences, fell_back, mass = apply_cells(priors, known)
    expected = [
        [0, 1, 0.625, 0.375, 0],
        [1, 0, 0, 0.5, 0.5],
        [0.3, 0.7, 5 / 7, 0, 2 / 7],
        [0.3, 0.7, 0.5, 0.3, 0.2],
    ]
    np.testing.assert_allclose(confidences, expected)
    np.testing.assert_array_equal(fell_back, [[False, False], [False, True], *[[False] * 2] * 2])
    np.testing.assert_allclose(mass, [[0.7, 0.8], [0.3, 0], [1, 0.7], [1, 1]])
