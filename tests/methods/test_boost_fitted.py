import subprocess
import sys

import numpy as np
import pytest
from builders.known import run
from builders.learned import (
    assert_alike,
    assert_no_prior_sees_its_own_cell,
    assert_rows_are_answered_by_themselves,
    broken,
    copied,
    layout_of,
    related,
)

from cfl_cli.core.draws import folds
from cfl_cli.core.parallel import Workers
from cfl_cli.core.state import StateError
from cfl_cli.methods import boost
from cfl_cli.methods.interface import Layout


@pytest.fixture(scope="module")
def table():
    return related()


@pytest.fixture(scope="module")
def estimate(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boost, "MOST_ROUNDS", 6)
        patch.setattr(boost, "CLEAR", 0.0)  # or nothing would seem related in so few rows
        return run("boost", table, folds=folds(len(table), 3, seed=0)[:2])


def test_the_rows_that_were_fitted_are_answered_as_they_were_estimated(table, estimate, workers):
    answer = estimate.fitted.answer(table, workers)
    for field in ("confidences", "fell_back", "mass"):
        np.testing.assert_array_equal(getattr(answer, field), getattr(estimate, field))
    parts = [(cf.shallow, cf.deep, cf.related.trees) for cf in estimate.fitted.cfs]
    for part in range(3):
        assert any(len(of_cf[part].leaves) for of_cf in parts)


def test_a_row_is_answered_by_itself(table, estimate, workers):
    assert_rows_are_answered_by_themselves(estimate.fitted, table, workers)


def test_new_rows_are_answered_alike_by_any_number_of_threads(estimate):
    new = related(600, seed=1)
    with Workers(1) as one, Workers(3) as three:
        assert_alike(estimate.fitted.answer(new, one), estimate.fitted.answer(new, three))


def test_no_prior_of_a_new_row_sees_its_own_cell_but_related_cfs_do(estimate, workers):
    assert assert_no_prior_sees_its_own_cell(estimate.fitted, related(40, seed=1), workers)


def test_what_was_kept_answers_to_the_bit(table, estimate, workers):
    restored = boost.BoostMethod().restore(copied(estimate.fitted.state()), layout_of(table))
    new = related(50, seed=2)
    assert_alike(restored.answer(new, workers), estimate.fitted.answer(new, workers))


def test_states_that_no_boosting_can_have_left_are_refused(table, estimate):
    # Columns that are left out may be those that no tree uses.
    states = [*broken(estimate.fitted.state(), free=("columns",))]
    assert len(states) > 150
    for word, state in states:
        if word.endswith("related: missing"):
            continue  # then there are weights for two parts, which is another check
        with pytest.raises(StateError):
            boost.BoostMethod().restore(state, layout_of(table))


def test_a_forest_may_not_see_the_cells_of_its_own_cf(table, estimate):
    state = copied(estimate.fitted.state())
    columns = state.parts["0"].arrays["columns"].copy()
    columns[0] = 3
    state.parts["0"].arrays["columns"] = columns
    with pytest.raises(StateError, match="of the CF that is predicted"):
        boost.BoostMethod().restore(state, layout_of(table))


def test_a_state_is_that_of_its_own_table_alone(table, estimate):
    state, own = estimate.fitted.state(), layout_of(table)
    for other in (Layout(1, own.mechanisms), Layout(own.features, own.mechanisms[::-1])):
        with pytest.raises(StateError):
            boost.BoostMethod().restore(state, other)


def test_features_that_do_not_vary_leave_no_trees_and_the_start(workers):
    known = related(20)
    known.features[:] = 1
    found = run("boost", known, folds=folds(20, 2, seed=0))
    answer = found.fitted.answer(known, workers)
    np.testing.assert_array_equal(answer.confidences, found.confidences)


def test_answering_loads_neither_lightgbm_nor_optimisation():
    slow = "{'lightgbm', 'scipy.optimize', 'scipy.special', 'pandas'}"
    code = (
        "import sys; from cfl_cli.methods import baselines, boost, net; "
        f"print({slow} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
