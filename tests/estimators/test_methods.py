from cfl_cli.core.settings import Settings
from cfl_cli.estimators import methods
from cfl_cli.estimators.methods import method


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
