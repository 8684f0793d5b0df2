"""The measurement of calibration: what shares explain, and what is printed."""

from itertools import product

import numpy as np
import pytest

from benchmarks.field.calibration import Line, explained_by, noise, noise_report, report


@pytest.mark.parametrize("shares", [(0.6, 0.2, 0.2), (0.25, 0.25, 0.25, 0.25), (0.6, 0.3, 0.1)])
def test_what_shares_explain_is_what_an_enumeration_of_values_and_cells_gives(shares):
    size = len(shares)
    left = 0.0
    for value, excluded in product(range(size), repeat=2):
        if value != excluded:
            posterior = np.array([share for place, share in enumerate(shares) if place != excluded])
            posterior /= posterior.sum()
            left -= shares[value] / (size - 1) * (posterior * np.log(posterior)).sum()
    assert explained_by(np.array(shares)) == pytest.approx(1 - left / np.log(size - 1))


def test_noise_is_run_and_shown():
    found = noise(3, 1 / 3, rows=200, seed=0)
    assert found.reduction[1] < found.reduction[0]
    assert f"| 3 | 33% | {found.reduction[0]:.1%} → " in "\n".join(noise_report([found]))


def test_the_last_line_is_the_mean_and_the_largest_increase_is_named():
    one = Line("t", "a", 1000, 3, 0.5, (0.2, 0.1), (1.0, 0.5))
    other = Line("t", "b", 1000, 4, 0.9, (0.1, 0.0), (1.0, 1.25))
    *_, mean, largest = report([one, other])
    assert mean == "| mean | 2 CFs |  |  |  | 0.150 → 0.050 | 1.000 → 0.875 |"
    assert largest.strip() == "Largest increase of a cross entropy: 0.2500."
