from dataclasses import replace

import numpy as np
import pytest
from builders.cells import skewed
from builders.known import run, table
from builders.learned import (
    assert_alike,
    assert_no_prior_sees_its_own_cell,
    assert_rows_are_answered_by_themselves,
    broken,
    copied,
    layout_of,
    related,
)

from cfl_cli import methods
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.state import State, StateError
from cfl_cli.methods import auto, boost, load, net
from cfl_cli.methods.interface import Answer, FittedMixture, Layout, Run

PARTS = {"boost": boost.BoostMethod(), "net": net.NetMethod()}  # not forest: it answers others
TABLE = related(200)


@pytest.fixture(scope="module", params=["boost", "net", "forest", "auto"])
def name(request):
    return request.param


@pytest.fixture(scope="module")
def estimate(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(net, "STEPS", 40)
        patch.setattr(boost, "MOST_ROUNDS", 6)
        patch.setattr(boost, "CLEAR", 0.0)  # or nothing would seem related in so few rows
        patch.setattr(auto, "PARTS", PARTS)
        patch.setattr(auto, "IN_FULL", {})
        patch.setattr(auto, "NET_FROM", 0)
        return run(name, TABLE, folds=folds(len(TABLE), 3, seed=0)[: 2 if name == "boost" else 1])


def test_the_rows_that_were_fitted_are_answered_as_they_were_estimated(name, estimate, workers):
    fitted = estimate.fitted
    answer = fitted.answer(TABLE, workers)
    if name == "forest":
        single = [
            fitted.of_row(row).answer(TABLE.some(np.array([row])), workers)
            for row in range(len(TABLE))
        ]
        answer = Answer(
            *(
                np.vstack([getattr(one, of) for one in single])
                for of in ("priors", "confidences", "fell_back", "mass")
            )
        )
    for field in ("confidences", "fell_back", "mass"):
        np.testing.assert_array_equal(getattr(answer, field), getattr(estimate, field))
    if name == "auto":
        assert [*estimate.fitted.parts] == [*PARTS]
    if name == "boost":  # the test could have failed
        parts = [(cf.shallow, cf.deep, cf.related.trees) for cf in estimate.fitted.cfs]
        assert all(any(len(of_cf[part].leaves) for of_cf in parts) for part in range(3))


def test_a_row_is_answered_by_itself(estimate, workers):
    assert_rows_are_answered_by_themselves(estimate.fitted, TABLE, workers)


def test_new_rows_are_answered_alike_by_any_number_of_threads(estimate):
    new = related(600, seed=1)
    with Workers(1) as one, Workers(3) as three:
        assert_alike(estimate.fitted.answer(new, one), estimate.fitted.answer(new, three))


def test_no_prior_of_a_new_row_sees_its_own_cell(name, estimate, workers):
    new = related(40, seed=1)
    reached = assert_no_prior_sees_its_own_cell(estimate.fitted, new, workers)
    assert reached or name != "boost"  # which sees those of other CFs
    assert not reached or name not in ("net", "forest")


def test_what_was_kept_answers_to_the_bit(name, estimate, workers):
    restored = load(name).restore(copied(estimate.fitted.state()), layout_of(TABLE))
    new = related(50, seed=2)
    assert_alike(restored.answer(new, workers), estimate.fitted.answer(new, workers))


def refuse(name, state, layout=None):
    with pytest.raises(StateError):
        load(name).restore(state, layout or layout_of(TABLE))


def test_states_that_nothing_fitted_can_have_left_are_refused(name, estimate):
    state, own = estimate.fitted.state(), layout_of(TABLE)
    # Columns that are left out may be those that no tree uses. Of auto, its parts are tried alone.
    alone = replace(state, parts={}) if name == "auto" else state
    states = [*broken(alone, free=("columns",))]
    assert len(states) > (150 if name == "boost" else 15)
    for word, other in states:
        if not word.endswith("related: missing"):  # whose weights are then for two parts
            refuse(name, replace(other, parts=state.parts) if name == "auto" else other)
    for part in state.parts:
        rest = {key: one for key, one in state.parts.items() if key != part}
        refuse(name, replace(state, parts=rest))
    refuse(name, state, Layout(1, own.mechanisms))
    if name in ("boost", "forest"):
        refuse(name, state, Layout(own.features, own.mechanisms[::-1]))
    refuse(name, State(), own)


@pytest.mark.parametrize("names", [["auto"], ["net", "net"], ["boost", 1], [["net"], "boost"], []])
def test_parts_that_auto_cannot_have_are_refused(name, estimate, names):
    if name == "auto":
        state = estimate.fitted.state()
        refuse(name, replace(state, facts={**state.facts, "parts": names}))


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


def test_two_runs_answer_a_row_by_itself(known, mixture, workers):
    assert_rows_are_answered_by_themselves(mixture, known, workers)


def test_two_runs_that_were_kept_answer_to_the_bit(known, mixture, workers):
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
    for rates in (np.eye(4)[[0, 1, 2, 2]], np.full((4, 4), np.nan), np.ones((3, 3))):
        other.parts["other"].arrays["1"] = rates
        with pytest.raises(StateError):
            methods.restore("boost", other, layout)


def test_the_cells_alone_leave_nothing_to_restore(mixture, known):
    with pytest.raises(StateError, match="learns nothing"):
        methods.restore("observed", mixture.one.fitted.state(), Layout(3, known.mechanisms))
