import numpy as np
import pytest

from cfl_cli.core.settings import Settings
from cfl_cli.estimators import methods
from cfl_cli.estimators.methods import hidden_together, method


def test_settings_become_a_method():
    found = method(Settings(k=7, iterations=30, gamma=0.5, seed=3, ridge=0.1))
    assert (found.name, found.k, found.iterations, found.gamma) == ("graph", 7, 30, 0.5)
    assert (found.seed, found.ridge, found.budget) == (3, 0.1, None)
    assert not found.choose_round
    assert not found.exact
    assert found.correction


def test_auto_leaves_steps_and_rounds_to_hidden_cells():
    found = method(Settings(method="auto", iterations="auto", gamma="auto", budget=60))
    assert (found.name, found.iterations, found.budget) == ("auto", None, 60)
    assert found.gamma == methods.DEFAULT_GAMMA
    assert found.choose_round


def test_neighbors_may_have_to_be_exact_and_cells_left_out():
    found = method(Settings(neighbors="exact", correction=False))
    assert found.exact
    assert not found.correction


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
