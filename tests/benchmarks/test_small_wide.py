import numpy as np
import pytest

from benchmarks import small_wide


@pytest.mark.parametrize("name", small_wide.EXCLUSIONS)
def test_a_cell_rules_out_as_many_values_as_it_says(name):
    known = small_wide.table(name, 30, 12, 16, seed=0)
    assert known.features.shape == (30, 12)
    assert ((~known.candidates).sum(axis=1) == small_wide.EXCLUSIONS[name]).all()


def test_the_true_value_is_never_ruled_out_and_all_others_are_as_often():
    truth = np.repeat(np.arange(4), 2000)
    cells = small_wide.excluded(truth, 4, 1, np.random.default_rng(0))
    assert cells[np.arange(8000), truth].all()
    ruled_out = [(~cells[truth == value]).mean(axis=0) for value in range(4)]
    np.testing.assert_allclose(ruled_out, (1 - np.eye(4)) / 3, atol=0.05)


def test_boosting_a_table_has_a_time_and_a_score():
    seconds, score = small_wide.boosted(small_wide.table("trees", 100, 6, 3 + 9, seed=0))
    assert seconds > 0
    assert -5 < score < 0
