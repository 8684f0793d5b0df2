"""What LightGBM is asked for, and what trees come of it."""

import numpy as np
import pytest

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.known import Known
from cfl_cli.estimators import boost_objective, boost_trees
from cfl_cli.estimators.boost_objective import BoostObjective, Target
from cfl_cli.estimators.boost_trees import SHALLOW, Trees


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(boost_objective, "MOST_ROUNDS", 30)


def objective_of(values):
    cells = np.eye(2, dtype=bool)[values]
    known = Known(np.zeros((len(cells), 1)), cells, np.array([0]), (Mechanism(2),))
    return BoostObjective(Target.of(known, 0, [np.full(2, 0.5)] * 2), 0, np.arange(0, 200, 5))


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


def test_where_no_feature_varies_the_start_stays(workers):
    objective = objective_of(np.arange(200) % 2)
    trees = Trees(0, workers)
    trees.grow(objective, trees.bins(np.ones((200, 2))), SHALLOW)
    np.testing.assert_allclose(objective.priors, 0.5)


@pytest.mark.parametrize(("n", "rows"), [(200, 2), (1000, 10)])
def test_leaves_of_a_small_table_hold_fewer_rows_in_proportion(n, rows, monkeypatch, workers):
    # Of 20,000 rows a shallow tree's leaf holds 200: one in a hundred.
    assert options(monkeypatch, Trees(0, workers), n)["min_data_in_leaf"] == rows


def test_of_many_features_a_tree_sees_a_few(monkeypatch, workers):
    trees = Trees(0, workers)
    assert options(monkeypatch, trees, 200, features=64)["feature_fraction"] == 0.5


def test_a_seed_too_large_for_lightgbm_is_taken_modulo(monkeypatch, workers):
    assert options(monkeypatch, Trees(2**31 + 7, workers), 200)["seed"] == 7


def test_stopped_workers_stop_the_trees(workers, monkeypatch):
    features = np.random.default_rng(0).random((200, 1))
    trees = Trees(0, workers)
    data = trees.bins(features)
    monkeypatch.setattr(workers, "stopped", True)
    objective = objective_of(np.arange(200) % 2)
    trees.grow(objective, data, boost_trees.DEEP)
    assert objective.scores == []
