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


def test_one_split_of_one_feature_is_learned(workers):
    values = np.random.default_rng(0).integers(2, size=200)
    objective = objective_of(values)
    trees = Trees(0, workers)
    trees.grow(objective, trees.bins(values[:, None].astype(float)), SHALLOW)
    np.testing.assert_array_equal(objective.priors.argmax(axis=0), values)


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
