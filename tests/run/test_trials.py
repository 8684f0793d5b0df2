"""Rows that belong together are tried and tested together."""

import numpy as np
import pytest

from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.run.search import Folds, row_scores


def test_no_group_is_both_searched_on_and_tested_by():
    groups = np.arange(100) // 3
    dealt = np.random.default_rng(0).permutation(100)
    folds = Folds.of(dealt, groups)
    parts = [folds.searching, *folds.confirming]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(100))
    assert sum(len(set(groups[part])) for part in parts) == len(set(groups))
    plain, alone = Folds.of(dealt), Folds.of(dealt, np.arange(100)[::-1])
    np.testing.assert_array_equal(plain.searching, alone.searching)


def test_a_group_has_one_score_and_the_mean_stays():
    rng = np.random.default_rng(1)
    cells = np.arange(3) != rng.integers(3, size=(12, 1))
    encoded = Encoded(rng.random((12, 1)), cells, (Block("cf", tuple("abc"), 0, 1.0, 0, 0),), ())
    grouped = Encoded(encoded.features, cells, encoded.blocks, (), np.arange(12) // 2)
    priors = rng.dirichlet(np.ones(3), 12)
    rows = np.arange(12)
    plain, summed = (row_scores(it, rows, priors) for it in (encoded, grouped))
    assert summed.shape == (6, 1)
    assert summed.mean() == pytest.approx(plain.mean())
    np.testing.assert_allclose(summed, (plain[::2] + plain[1::2]) / 2)
