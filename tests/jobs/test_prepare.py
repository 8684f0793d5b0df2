"""Which rows a job hides to judge a method."""

import numpy as np
import pytest

from cfl_cli.core.settings import Settings
from cfl_cli.jobs.prepare import hidden_together


@pytest.mark.parametrize(
    ("folds", "n", "expected"),
    [
        ("auto", 20_000, [4000] * 5),
        ("auto", 20_001, [4001]),
        ("auto", 3, [1, 1, 1]),
        (0, 100, []),
        (2, 50_001, [25_001, 25_000]),
    ],
)
def test_five_parts_are_hidden_in_turn_or_one_of_five_of_a_large_table(folds, n, expected):
    dealt = hidden_together(n, Settings(folds=folds))
    assert [len(fold) for fold in dealt] == expected
    rows = np.concatenate([[], *dealt])
    assert len(set(rows)) == len(rows)


def test_which_rows_are_hidden_depends_on_the_seed_alone():
    one, again, other = (hidden_together(50, Settings(seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)
