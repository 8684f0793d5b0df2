from dataclasses import replace

import numpy as np
import pytest
from builders.cells import skewed
from builders.known import run, table

from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.baselines import Ipal
from cfl_cli.methods.graph.neighbors import nearest_neighbors
from cfl_cli.methods.graph.weights import solve
from cfl_cli.methods.interface import Layout, TableSize
from cfl_cli.trust.heldout import HiddenCells, judge

STEPS = 15


def graph(known, workers, k=5):
    neighbors = nearest_neighbors(known.features, k=k, seed=0, workers=workers).rows
    return neighbors, solve(known.features, neighbors, ridge=0.3, workers=workers).values


def dense(neighbors, weights, start, steps=STEPS):
    """Q = 0.9 H Q + 0.1 Q0, one number at a time."""
    current = start.copy()
    for _ in range(steps):
        following = 0.1 * start
        for row in range(len(start)):
            for neighbor, weight in zip(neighbors[row], weights[row], strict=True):
                following[row] += 0.9 * weight * current[neighbor]
        current = following
    return current


def evenly(evidence, columns):
    """Q0: what each cell says, scaled to sum to 1."""
    parts = [evidence[:, block].astype(float) for block in columns]
    return np.hstack([part / part.sum(axis=1, keepdims=True) for part in parts])


ANY = pytest.mark.parametrize(
    "mechanisms", [[Mechanism(3), Mechanism(4)], [skewed(3), Mechanism(4)]], ids=["even", "skewed"]
)


@ANY
def test_confidences_and_answers_agree_with_a_dense_double_loop(mechanisms, workers):
    known, _ = table(0, 40, mechanisms=mechanisms, exclusions=(0, 1, 2, 3))
    found = run("ipal", known, folds=[], iterations=STEPS)
    start = evenly(known.evidence, known.columns)
    expected = dense(*graph(known, workers), start)
    np.testing.assert_allclose(found.confidences, expected, atol=1e-12)
    assert (expected[~known.candidates] > 0).any()  # cells are not applied
    for cf, block in enumerate(known.columns):
        for row in range(40):
            ranks = [
                expected[row, value] * start[:, value].sum() / expected[:, value].sum()
                for value in range(block.start, block.stop)
            ]
            cell = known.candidates[row, block]
            answer = np.argmax(cell) if cell.sum() == 1 else np.argmax(ranks)
            assert found.answers[row, cf] == answer


def test_hidden_rows_start_evenly(workers):
    known, _ = table(1, 40)
    dealt = folds(40, 3, seed=0)
    found = run("ipal", known, folds=dealt, iterations=STEPS)
    near = graph(known, workers)
    for fold in dealt:
        hidden = known.candidates.copy()
        hidden[fold] = True
        expected = dense(*near, evenly(hidden, known.columns))[fold]
        np.testing.assert_allclose(
            found.hidden.priors[np.isin(found.hidden.rows, fold)], expected, atol=1e-12
        )


@ANY
def test_the_rule_gives_the_answer_of_a_row_whose_cell_is_seen(mechanisms, workers):
    # What a hidden row would have said to others is left aside, so these are rows that nobody asks.
    known, _ = table(2, 60, mechanisms=mechanisms, exclusions=(0, 1, 2))
    neighbors, weights = graph(known, workers, k=2)
    unasked = np.setdiff1d(np.arange(60), neighbors[weights > 0])
    assert len(unasked) > 3
    found = run("ipal", known, folds=[unasked], iterations=STEPS, k=2)
    for cf, block in enumerate(known.columns):
        likelihood = known.mechanisms[cf].likelihood(known.candidates[unasked, block])
        rule = found.hidden.rules[cf]
        answers, chosen = rule(found.hidden.priors[:, block], likelihood)
        exact = known.candidates[unasked, block].sum(axis=1) == 1
        np.testing.assert_array_equal(answers[~exact], found.answers[unasked, cf][~exact])
        own = found.confidences[unasked, block]
        np.testing.assert_allclose(chosen, own[np.arange(len(own)), answers], atol=1e-12)
        # Many cells at once, as the judge asks, and whatever factor their likelihoods have.
        every, _ = rule(found.hidden.priors[:, None, block], 1e-3 * likelihood)
        np.testing.assert_array_equal(np.diagonal(every), answers)


def test_the_estimated_accuracy_is_that_of_the_answers():
    known, values = table(3, 1500)
    found = run("ipal", known, folds=folds(1500, 5, seed=0))
    for cf, block in enumerate(known.columns):
        mechanism = known.mechanisms[cf]
        cells = known.candidates[:, block]
        priors = found.hidden.priors[:, block]
        judged = judge(
            HiddenCells(priors, cells[found.hidden.rows], mechanism, mutual=True),
            cells,
            shares=np.full(mechanism.size, 1 / mechanism.size),
            rule=found.hidden.rules[cf],
        )
        right = (found.answers[:, cf] == values[:, cf]).mean()
        assert judged.accuracy.low <= right <= judged.accuracy.high
        assert judged.accuracy.high - judged.accuracy.low < 0.2


def answer(fitted, rows):
    with Workers(2) as workers:
        return fitted.answer(rows, workers)


@ANY
def test_new_rows_agree_with_a_step_from_the_fitted_rows(mechanisms, workers):
    known, _ = table(5, 60, mechanisms=mechanisms, exclusions=(0, 1, 2, 3))
    new, _ = table(6, 15, mechanisms=mechanisms, exclusions=(0, 1, 2, 3))
    found = run("ipal", known, folds=[], iterations=STEPS)
    said = answer(found.fitted, new)
    begun = evenly(known.evidence, known.columns).sum(axis=0)
    mass = begun / found.confidences.sum(axis=0)
    start = evenly(new.evidence, new.columns)
    for row, point in enumerate(new.features):
        near = np.argsort(((known.features - point) ** 2).sum(axis=1))[:5]
        both = np.vstack([point, known.features[near]])
        weights = solve(both, np.arange(1, 6)[None], ridge=0.3, workers=workers).values[0]
        flown = 0.9 * weights @ found.confidences[near]
        expected = flown + 0.1 * start[row]
        np.testing.assert_allclose(said.confidences[row], expected, atol=1e-5)
        np.testing.assert_allclose(
            said.priors[row], flown + 0.1 * np.repeat([1 / 3, 1 / 4], [3, 4]), atol=1e-5
        )
        for cf, block in enumerate(new.columns):
            cell = new.candidates[row, block]
            ranked = np.argmax(expected[block] * mass[block])
            assert said.answers[row, cf] == (np.argmax(cell) if cell.sum() == 1 else ranked)
    assert not said.fell_back.any()


def test_a_prior_of_a_new_row_does_not_depend_on_its_cells():
    known, _ = table(7, 40)
    fitted = run("ipal", known, folds=[], iterations=STEPS).fitted
    emptied = replace(known, candidates=np.ones_like(known.candidates))
    one, two = answer(fitted, known), answer(fitted, emptied)
    np.testing.assert_array_equal(one.priors, two.priors)
    np.testing.assert_allclose(two.confidences, two.priors)


def test_what_is_kept_and_restored_answers_the_same_to_the_bit():
    known, _ = table(8, 40)
    fitted = run("ipal", known, folds=[], iterations=STEPS).fitted
    layout = Layout(3, known.mechanisms)
    again = Ipal().restore(fitted.state(), layout)
    one, two = answer(fitted, known), answer(again, known)
    np.testing.assert_array_equal(one.confidences, two.confidences)
    np.testing.assert_array_equal(one.answers, two.answers)
    for mine, its, block in zip(fitted.rules, again.rules, known.columns, strict=True):
        prior, cells = one.priors[:, block], known.evidence[:, block]
        np.testing.assert_array_equal(mine(prior, cells)[1], its(prior, cells)[1])
    kept = sum(array.nbytes for array in fitted.state().arrays.values())
    expected = Ipal().model_bytes(TableSize(40, 3, (3, 4)), Settings("ipal"))
    assert kept == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("mass", [np.full(7, -1.0), np.full(7, np.nan), np.ones(6)])
def test_sums_that_no_table_has_are_refused(mass):
    known, _ = table(8, 40)
    state = run("ipal", known, folds=[], iterations=STEPS).fitted.state()
    with pytest.raises(StateError, match="mass"):
        Ipal().restore(
            State({**state.arrays, "mass": mass}, state.facts), Layout(3, known.mechanisms)
        )
