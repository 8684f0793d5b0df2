from dataclasses import replace

import numpy as np
import pytest
from builders.cells import skewed
from builders.known import run, table
from builders.learned import assert_alike, assert_rows_are_answered_by_themselves, broken, copied

from cfl_cli import methods
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.methods import boost
from cfl_cli.methods.interface import FittedMixture, Layout, Run

UNIFORM = (Mechanism(3), Mechanism(4))
FITTED = (skewed(3), skewed(4))
TAKEN = np.array([False, True])


@pytest.fixture(scope="module")
def known():
    found, _ = table(0, 60, mechanisms=FITTED)
    return replace(found, mechanisms=(UNIFORM[0], FITTED[1]))


@pytest.fixture(scope="module")
def runs(known):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boost, "MOST_ROUNDS", 4)
        patch.setattr(boost, "CLEAR", 0.0)
        dealt = folds(60, 3, seed=0)[:1]
        return [
            run("boost", replace(known, mechanisms=how), folds=dealt) for how in (UNIFORM, FITTED)
        ]


@pytest.fixture(scope="module")
def mixture(runs):
    one, other = (
        Run(found.fitted, how) for found, how in zip(runs, (UNIFORM, FITTED), strict=True)
    )
    return FittedMixture(one, other, TAKEN)


def test_each_cf_is_answered_by_its_run_with_the_mechanisms_of_that_run(
    known, runs, mixture, workers
):
    answer = mixture.answer(known, workers)
    for cf, block in enumerate(known.columns):
        own = runs[cf]  # the first CF by the first run, and so on
        np.testing.assert_array_equal(answer.confidences[:, block], own.confidences[:, block])
        np.testing.assert_array_equal(answer.mass[:, cf], own.mass[:, cf])
        np.testing.assert_array_equal(answer.fell_back[:, cf], own.fell_back[:, cf])
    assert (answer.confidences != runs[0].confidences).any()


def test_a_row_is_answered_by_itself(known, mixture, workers):
    assert_rows_are_answered_by_themselves(mixture, known, workers)


def test_what_was_kept_answers_to_the_bit(known, mixture, workers):
    layout = Layout(3, known.mechanisms)
    restored = methods.restore("boost", copied(mixture.state()), layout)
    assert_alike(restored.answer(known, workers), mixture.answer(known, workers))
    of_one_run = methods.restore("boost", copied(mixture.one.fitted.state()), layout)
    assert_alike(of_one_run.answer(known, workers), mixture.one.fitted.answer(known, workers))


def test_states_that_no_two_runs_can_have_left_are_refused(known, mixture):
    state, layout = mixture.state(), Layout(3, known.mechanisms)
    shallow = replace(state, parts={})
    for word, other in broken(shallow):
        if not word.startswith("mixture"):
            with pytest.raises(StateError):
                methods.restore("boost", replace(other, parts=state.parts), layout)
    for part in ("one", "other"):
        rest = {key: own for key, own in state.parts.items() if key != part}
        with pytest.raises(StateError):
            methods.restore("boost", replace(state, parts=rest), layout)
    other = copied(state)
    for rates in (np.eye(4), np.full((4, 4), np.nan), np.ones((3, 3))):
        other.parts["other"].arrays["1"] = rates
        with pytest.raises(StateError):
            methods.restore("boost", other, layout)


def test_the_cells_alone_leave_nothing_to_restore(mixture, known):
    with pytest.raises(StateError, match="learns nothing"):
        methods.restore("observed", mixture.one.fitted.state(), Layout(3, known.mechanisms))
