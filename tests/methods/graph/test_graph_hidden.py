"""One walk of all folds against the walks of `graph`, one for each fold."""

import numpy as np
import pytest

from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.methods import graph
from cfl_cli.methods.graph import HiddenRuns, is_enough

SETTINGS = Settings(method="graph", k=5, iterations=20, gamma=0.0)
FOLDS = folds(60, 3, 0)


@pytest.fixture
def known():
    random = np.random.default_rng(0)
    cells = [np.arange(size) != random.integers(0, size, 60)[:, None] for size in (3, 4)]
    return Known(
        random.random((60, 3)), np.hstack(cells), np.array([0, 3]), (Mechanism(3), Mechanism(4))
    )


def test_it_says_of_hidden_rows_what_the_whole_method_says(known):
    with Workers(2) as workers:
        whole = graph.GraphMethod().estimate(
            known, SETTINGS, folds=FOLDS, workers=workers.within("a"), progress=lambda *_: None
        )
        runs = HiddenRuns.of(known, SETTINGS, folds=FOLDS, workers=workers.within("b"))
        hidden = runs.predict(known.evidence, name="all")
    assert np.array_equal(hidden.rows, whole.hidden.rows)
    assert np.array_equal(hidden.priors, whole.hidden.priors)


@pytest.mark.parametrize(
    "more", [{"gamma": 0.25}, {"gamma": None}, {"iterations": "auto"}, {"method": "boost"}]
)
def test_it_is_not_enough_where_there_is_more_than_one_fixed_round(more):
    assert is_enough(SETTINGS)
    assert not is_enough(SETTINGS.replaced(more))
