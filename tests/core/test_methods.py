import numpy as np
import pytest
from builders.known import run, table

from cfl_cli.core.draws import folds
from cfl_cli.core.settings import METHODS
from cfl_cli.methods import boost, net

ANY = pytest.mark.parametrize("name", METHODS)


@ANY
def test_methods_that_need_neighbors_fail_on_a_table_of_k_rows_and_others_do_not(name, monkeypatch):
    monkeypatch.setattr(net, "STEPS", 24)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 4)
    known, _ = table(0, 6)
    dealt = folds(6, 2, seed=0)
    if METHODS[name].needs_neighbors:
        with pytest.raises((ValueError, IndexError)):
            run(name, known, folds=dealt, k=6)
    else:
        assert np.isfinite(run(name, known, folds=dealt, k=6).confidences).all()


@ANY
def test_methods_that_need_hidden_rows_fail_without_and_others_do_not(name):
    known, _ = table(0, 20)
    if METHODS[name].needs_hidden_rows:
        with pytest.raises((ValueError, IndexError, ZeroDivisionError)):
            run(name, known, folds=[])
    else:
        assert run(name, known, folds=[]).hidden is None


@ANY
def test_a_second_round_is_taken_where_the_traits_say_so(name, monkeypatch):
    monkeypatch.setattr(net, "STEPS", 24)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 4)
    known, _ = table(0, 30)
    steps = run(name, known, folds=folds(30, 2, seed=0), gamma=0.25).steps
    assert not METHODS[name].second_round or len(steps) == 2
    if not METHODS[name].second_round and name != "auto":  # which may choose one
        assert len(steps) < 2
