"""Hidden cells know how much their rows count for."""

from dataclasses import replace

import numpy as np
import pytest

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells, judge


def test_the_effective_share_is_that_of_the_groups_sizes():
    cells = HiddenCells(np.full((6, 2), 0.5), np.ones((6, 2), dtype=bool), Mechanism(2))
    assert cells.effective_share == 1
    assert replace(cells, groups=np.arange(6)).effective_share == 1
    # Groups of 3, 2 and 1: 6 rows, 9 + 4 + 1 squares.
    assert replace(cells, groups=np.array([4, 4, 4, 2, 2, 7])).effective_share == pytest.approx(
        6 / 14
    )


def test_a_table_of_copies_is_judged_like_the_rows_themselves():
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(4), 300)
    cells = Mechanism(4).draw(prior.argmax(axis=1), np.ones(300, dtype=int), rng.random((300, 4)))
    alone = HiddenCells(prior, cells, Mechanism(4))
    groups = np.tile(np.arange(300), 3)
    thrice = HiddenCells(
        np.tile(prior, (3, 1)), np.tile(cells, (3, 1)), Mechanism(4), groups=groups
    )
    options = {"shares": np.full(4, 0.25), "min_confidences": [0.5]}
    one, three = (judge(it, it.cells, **options) for it in (alone, thrice))
    pairs = [
        *((getattr(three, name), getattr(one, name)) for name in ("accuracy", "commonest", "gain")),
        (three.confident_accuracies[0], one.confident_accuracies[0]),
    ]
    for found, expected in pairs:
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    found, expected = three.calibration, one.calibration
    assert found.overconfidence.high == pytest.approx(expected.overconfidence.high)
    for mine, theirs in zip(found.bins, expected.bins, strict=True):
        assert mine.accuracy.low == pytest.approx(theirs.accuracy.low)
