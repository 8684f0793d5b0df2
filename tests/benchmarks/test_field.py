"""The field: how its cells come about, what is kept of its cases, and that the docs show these."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.field.holds import calibration_gap
from benchmarks.field.mechanisms import MECHANISMS, with_exact

ROOT = Path(__file__).parents[2]


def looks(n, size, seed=0):
    rng = np.random.default_rng(seed)
    plausible = rng.dirichlet(np.ones(size), n)
    return rng.integers(size, size=n), plausible, rng


@pytest.mark.parametrize("name", [name for name in MECHANISMS if "wrong" not in name])
def test_no_mechanism_rules_out_the_true_value(name):
    truth, plausible, rng = looks(400, 5)
    assert MECHANISMS[name](truth, plausible, rng)[np.arange(400), truth].all()


@pytest.mark.parametrize(("name", "share"), [("3 % wrong", 0.03), ("10 % wrong", 0.1)])
def test_wrong_cells_are_as_many_as_their_name_says(name, share):
    truth, plausible, rng = looks(20_000, 5)
    wrong = ~MECHANISMS[name](truth, plausible, rng)[np.arange(20_000), truth]
    assert wrong.mean() == pytest.approx(share, abs=0.01)


def test_the_likeliest_wrong_value_goes_first_and_exact_cells_leave_the_true_one():
    truth, plausible, rng = looks(300, 4)
    cells = MECHANISMS["likeliest first"](truth, plausible, rng)
    wrong = np.where(np.arange(4) == truth[:, None], -1, plausible)
    assert (cells.argmin(axis=1) == wrong.argmax(axis=1)).all()
    exact = with_exact(cells, truth, 0.2, rng)
    alone = exact.sum(axis=1) == 1
    assert 0.1 < alone.mean() < 0.3
    assert (exact[alone].argmax(axis=1) == truth[alone]).all()


def test_the_calibration_gap_by_hand():
    confidences = np.array([[0.95, 0.05], [0.91, 0.09], [0.55, 0.45], [0.55, 0.45]])
    assert calibration_gap(confidences, np.array([0, 1, 0, 0])) == pytest.approx(
        (abs(1 - 1.86) + abs(2 - 1.1)) / 4
    )
