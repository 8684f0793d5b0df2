"""Estimates from hidden cells agree with formulas, with rows of known values, and by hand."""

from dataclasses import astuple
from functools import partial

import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed
from builders.hidden_rows import WORLDS, World, case, stubborn

from cfl_cli.core.arrays import most_confident
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust import heldout
from cfl_cli.trust.heldout import HiddenCells, difference, judge, scores


def test_the_score_of_one_and_of_several_exclusions_by_hand():
    prior = np.array([[0.5, 0.3, 0.2, 0], [0.5, 0.3, 0.2, 0], [1, 0, 0, 0], [0.25] * 4])
    hidden = np.array(
        [
            [True, False, True, True],
            [False, False, True, True],
            [False, True, True, True],
            [True] * 4,
        ]
    )
    expected = [np.log(0.7 / 3), np.log(0.2 / 3), np.log(1e-12 / 3)]  # the last one is empty
    np.testing.assert_allclose(scores(prior, hidden, Mechanism(4)), expected)
    np.testing.assert_allclose(scores(prior, hidden, in_full(4)), expected)


def test_the_score_is_the_probability_of_the_cell_under_a_mechanism():
    mechanism = skewed(4)
    prior, *_ = case(mechanism, 1)
    for exclusions in (1, 2, 3):
        masks, sets = cells(4, exclusions)
        found = scores(prior.repeat(len(sets), axis=0), masks, mechanism)
        chances = [[probability(mechanism, s, v) for v in range(4)] for s in sets]
        np.testing.assert_allclose(found, np.log(chances @ prior[0]))


def test_the_better_prior_scores_better():
    mechanism = Mechanism(4)
    prior, _, hidden, _ = case(mechanism, 3000)
    worse = (prior + 0.25) / 2
    gap = difference(scores(prior, hidden, mechanism), scores(worse, hidden, mechanism))
    assert gap.low > 0
    assert gap.value == pytest.approx((gap.low + gap.high) / 2)


def test_one_exclusion_gives_the_formula_of_the_method():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 400)
    order = np.argsort(-prior, axis=1)
    top, second = (
        1 - 4 * (~np.take_along_axis(hidden, order[:, [j]], axis=1)).mean() for j in (0, 1)
    )
    found = judge(HiddenCells(prior, hidden, mechanism), hidden, shares=shares)
    assert found.accuracy.value == pytest.approx(top + second / 4)
    first, then = np.argsort(-shares)[:2]
    estimated = mechanism.shares(hidden).values
    assert found.commonest.value == pytest.approx(estimated[first] + estimated[then] / 4)
    assert found.gain.value == pytest.approx(found.accuracy.value - found.commonest.value)
    assert found.cells == 400
    assert found.confident_accuracies == ()


def test_exact_cells_alone_are_all_right():
    hidden = np.eye(3, dtype=bool)
    found = judge(
        HiddenCells(np.full((3, 3), 1 / 3), hidden, Mechanism(3)), hidden, shares=np.full(3, 1 / 3)
    )
    assert (found.accuracy.value, found.accuracy.low, found.accuracy.high) == pytest.approx(
        (1, 1, 1)
    )
    assert found.calibration is None


def test_two_values_give_the_interval_of_wilson():
    # 15 of 20 hidden cells show the top value, and all other rows are empty.
    hidden = np.array([[True, False]] * 15 + [[False, True]] * 5)
    table = np.ones((10**6, 2), dtype=bool)
    found = judge(
        HiddenCells(np.full((20, 2), [0.9, 0.1]), hidden, Mechanism(2)),
        table,
        shares=np.ones(2) / 2,
    )
    assert found.accuracy.value == pytest.approx(0.75)
    # Wilson's interval for 15 of 20; one more large step makes it a little wider.
    assert found.accuracy.low == pytest.approx(0.531, abs=0.03)
    assert found.accuracy.high == pytest.approx(0.888, abs=0.03)


def test_a_top_value_that_is_never_ruled_out_may_still_be_wrong_sometimes():
    hidden = np.ones((300, 4), dtype=bool)
    hidden[:, 3] = False
    prior = np.full((300, 4), [0.7, 0.1, 0.1, 0.1])
    found = judge(HiddenCells(prior, hidden, Mechanism(4)), hidden, shares=np.full(4, 0.25))
    assert found.accuracy.value == 1
    assert found.accuracy.high == 1
    assert 1 - 5 * 3 / 300 < found.accuracy.low < 1 - 3 * 3 / 300 + 1 / 3


def test_empty_cells_or_a_mechanism_that_does_not_distinguish_the_values_show_nothing():
    prior = np.full((2, 4), 0.25)
    empty = np.ones((2, 4), dtype=bool)
    shares = np.full(4, 0.25)
    assert judge(HiddenCells(prior, empty, Mechanism(4)), empty, shares=shares) is None
    rates = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    hidden = np.array([[True, True, True, False]] * 2)
    assert judge(HiddenCells(prior, hidden, Mechanism.of(4, rates)), hidden, shares=shares) is None


def test_all_answers_are_above_no_confidence():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 500, sizes=(0, 1, 1, 2, 4))
    asked = {"shares": shares, "min_confidences": [0.0]}
    found = judge(HiddenCells(prior, hidden, mechanism), hidden, **asked)
    expected = pytest.approx(astuple(found.accuracy))  # and so their share is 1
    assert astuple(found.confident_accuracies[0]) == expected
    assert (
        judge(HiddenCells(prior[:1], hidden[:1] | True, mechanism), hidden, shares=shares) is None
    )


def test_no_answer_is_above_a_confidence_that_none_reaches():
    hidden = np.array([[True, True, True, False]] * 2)
    prior = np.full((2, 4), 0.25)
    found = judge(
        HiddenCells(prior, hidden, Mechanism(4)), hidden, shares=prior[0], min_confidences=[0.9]
    )
    assert found.confident_accuracies == (None,)


def test_several_confidences_are_judged_as_each_by_itself():
    mechanism = Mechanism(4)
    prior, _, hidden, shares = case(mechanism, 300)
    cells = HiddenCells(prior, hidden, mechanism)
    together = judge(cells, hidden, shares=shares, min_confidences=[0.4, 0.6, 0.8])
    alone = [judge(cells, hidden, shares=shares, min_confidences=[x]) for x in (0.4, 0.6, 0.8)]
    assert together.confident_accuracies == tuple(one.confident_accuracies[0] for one in alone)


def numbers(found):
    """All numbers of nested dataclasses, in order."""
    if found is None:
        return []
    if isinstance(found, int | float):
        return [found]
    if isinstance(found, str):
        return [ord(sign) for sign in found]
    parts = found if isinstance(found, tuple) else astuple(found)
    return [number for part in parts for number in numbers(part)]


@pytest.mark.parametrize("sizes", [(1,), (0, 1, 4, 7)])
def test_how_many_rows_go_at_once_does_not_change_the_answer(sizes, monkeypatch):
    mechanism = skewed(9)
    prior, _, hidden, shares = case(mechanism, 100, sizes=sizes)
    options = {"shares": shares, "min_confidences": [0.5]}
    expected = judge(HiddenCells(prior, hidden, mechanism), hidden, **options)
    monkeypatch.setattr(heldout, "NUMBERS_AT_ONCE", 1)
    found = judge(HiddenCells(prior, hidden, mechanism), hidden, **options)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-9, atol=1e-9)


def test_uniform_exclusions_by_rank_and_by_the_general_rule_agree():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 60, sizes=(0, 1, 2, 4))
    prior[0] = np.eye(5)[1]
    found, same = (
        judge(
            HiddenCells(prior, hidden, mechanism),
            hidden,
            shares=shares,
            rule=rule,
            min_confidences=[0.5],
        )
        for rule in (None, partial(most_confident))
    )
    np.testing.assert_allclose(numbers(found), numbers(same), rtol=1e-9)


def test_the_accuracy_of_the_priors_top_value_is_the_formula_of_the_method():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 400)
    found = judge(HiddenCells(prior, hidden, mechanism), hidden, shares=shares, rule=stubborn)
    ruled_out = ~hidden[np.arange(400), prior.argmax(axis=1)]
    assert found.accuracy.value == pytest.approx(1 - 4 * ruled_out.mean())
    assert found.confidence == pytest.approx(prior.max(axis=1).mean())
    # What always answering the commonest candidate would score has nothing to do with the rule.
    usual = judge(HiddenCells(prior, hidden, mechanism), hidden, shares=shares)
    assert found.commonest == usual.commonest
    assert found.score == usual.score
    assert found.accuracy.value < usual.accuracy.value


LONG = {"large domain", "mechanism, mixed"}  # each has a shorter one that is like it


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in WORLDS],
)
def test_estimates_are_unbiased_and_their_intervals_cover_the_truth(name):
    world = World(*WORLDS[name])
    times = 120
    for estimate, numbers in world.study(1000, times).items():
        value, low, high = numbers.T
        truth = world.truth[estimate]
        assert abs(value.mean() - truth) < 4 * value.std() / np.sqrt(times) + 0.004, estimate
        assert ((low <= truth + 0.003) & (truth - 0.003 <= high)).mean() > 0.9, estimate


@pytest.mark.slow
@pytest.mark.parametrize("m", [50, 300, 3000])
@pytest.mark.parametrize("sharpness", [0.05, 1.0, 20.0], ids=["easy", "middling", "hard"])
@pytest.mark.parametrize("size", [2, 3, 5, 12, 40])
def test_intervals_cover_the_truth(size, sharpness, m):
    for sizes in ((1,), (0, 1, 1, 1, size - 1), (*range(min(size, 5)), size - 1)):
        if set(sizes) == {size - 1}:
            continue  # all cells exact
        world = World(Mechanism(size), sizes, sharpness=sharpness, rows=400_000)
        found = world.study(m, 100)
        for estimate in ("accuracy", "commonest", "confident"):
            _, low, high = found[estimate].T
            truth = world.truth[estimate]
            slack = 3 * np.sqrt(truth * (1 - truth) / 400_000)
            covered = ((low <= truth + slack) & (truth - slack <= high)).mean()
            assert covered > 0.86, (sizes, estimate, covered)
