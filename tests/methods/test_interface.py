import numpy as np

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods.interface import TableSize, apply_cells


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


def test_the_width_is_that_of_all_domains():
    assert TableSize(5, 2, (3, 4)).width == 7
