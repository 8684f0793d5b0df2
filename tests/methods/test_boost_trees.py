"""What LightGBM is asked for, and what trees come of it."""

import numpy as np
import pytest

from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods import boost
from cfl_cli.methods.boost import SHALLOW, BoostObjective, BoostTarget, Trees


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(boost, "MOST_ROUNDS", 30)


def objective_of(values):
    cells = np.eye(2, dtype=bool)[values]
    known = Known(np.zeros((len(cells), 1)), cells, np.array([0]), (Mechanism(2),))
    return BoostObjective(BoostTarget.of(known, 0, [np.full(2, 0.5)] * 2), 0, np.arange(0, 200, 5))


def options(monkeypatch, trees, n, features=3):
    """The options of the booster for a table of so many rows."""
    asked = []

    class Booster:
        def __init__(self, given, _):
            asked.append(given)

        def update(self, **_):
            return True

    data = trees.bins(np.random.default_rng(0).random((n, features)))
    monkeypatch.setattr(trees.lightgbm, "Booster", Booster)
    trees.grow(objective_of(np.arange(n) % 2), data, SHALLOW)
    (given,) = asked
    return given


def test_one_split_of_one_feature_is_learned(workers):
    values = np.random.default_rng(0).integers(2, size=200)
    objective = objective_of(values)
    trees = Trees(0, workers)
    trees.grow(objective, trees.bins(values[:, None].astype(float)), SHALLOW)
    np.testing.assert_array_equal(objective.priors.argmax(axis=0), values)


@pytest.mark.parametrize(
    ("n", "features", "bins", "rate"),
    [(1000, 64, 31, 0.2), (200, 80, 15, 0.2), (1000, 63, 255, 0.1), (8160, 64, 255, 0.1)],
)
def test_small_wide_tables_have_fewer_bins_and_longer_steps(
    n, features, bins, rate, monkeypatch, workers
):
    assert boost.bins_of(n, features) == bins
    assert options(monkeypatch, Trees(0, workers), n, features)["learning_rate"] == rate
    data = Trees(0, workers).bins(np.random.default_rng(0).random((n, features)))
    assert bins - 2 <= data.feature_num_bin(0) <= bins


def test_sums_by_rows_and_by_columns_grow_the_same_trees(monkeypatch, workers):
    rng = np.random.default_rng(0)
    features = np.hstack([rng.random((200, 3)), rng.random((200, 3)) < 0.05])
    values = (features[:, 0] + rng.random(200) > 1).astype(int)
    trees, priors = Trees(0, workers), []
    plain = trees.lightgbm.Booster
    for by in ("force_row_wise", "force_col_wise"):
        neither = {"force_row_wise": False, "force_col_wise": False}

        def booster(given, data, by=by, neither=neither):
            return plain({**given, **neither, by: True}, data)

        monkeypatch.setattr(trees.lightgbm, "Booster", booster)
        objective = objective_of(values)
        trees.grow(objective, trees.bins(features), SHALLOW)
        priors.append(objective.priors)
    assert np.ptp(priors[0]) > 0.1
    np.testing.assert_array_equal(*priors)


@pytest.mark.parametrize(("n", "rows"), [(200, 2), (1000, 10)])
def test_leaves_of_a_small_table_hold_fewer_rows_in_proportion(n, rows, monkeypatch, workers):
    # Of 20,000 rows a shallow tree's leaf holds 200: one in a hundred.
    assert options(monkeypatch, Trees(0, workers), n)["min_data_in_leaf"] == rows


def test_of_many_features_a_tree_sees_a_few(monkeypatch, workers):
    trees = Trees(0, workers)
    assert options(monkeypatch, trees, 200, features=64)["feature_fraction"] == 0.5


def test_a_seed_too_large_for_lightgbm_is_taken_modulo(monkeypatch, workers):
    assert options(monkeypatch, Trees(2**31 + 7, workers), 200)["seed"] == 7
