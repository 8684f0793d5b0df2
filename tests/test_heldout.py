from dataclasses import astuple
from itertools import combinations

import numpy as np
import pytest
from test_exclusions import cells, in_full, probability, skewed

from cfl_cli import heldout
from cfl_cli.exclusions import Mechanism
from cfl_cli.heldout import Finals, difference, judge, scores


def case(mechanism, m, seed=0, *, sizes=(1,), sharpness=3.0):
    """Rows whose values follow their priors: priors, values, cells, domain shares."""
    rng = np.random.default_rng(seed)
    shares = np.sort(rng.dirichlet(np.ones(mechanism.size)))[::-1]
    prior = rng.dirichlet(shares * sharpness + 0.05, size=m)
    chances = rng.random((m, 1))
    values = np.minimum((np.cumsum(prior, axis=1) < chances).sum(axis=1), mechanism.size - 1)
    exclusions = rng.choice(sizes, size=m)
    hidden = mechanism.draw(values, exclusions, rng.random((m, mechanism.size)))
    return prior, values, hidden, shares


def answer(prior, mechanism, excluded):
    """The final answer and its confidence, from the definition."""
    joint = [p * probability(mechanism, excluded, v) for v, p in enumerate(prior)]
    if not sum(joint):
        joint = [probability(mechanism, excluded, v) for v in range(len(prior))]
    return int(np.argmax(joint)), max(joint) / sum(joint)


def expected_keep(prior, mechanism, sizes, *, least=0.0):
    """keep(t) set by set; `sizes` holds the exclusions of all rows."""
    keep = np.zeros(mechanism.size)
    for exclusions in sizes:
        for excluded in combinations(range(mechanism.size), exclusions):
            value, confidence = answer(prior, mechanism, excluded)
            if confidence >= least:
                keep[value] += probability(mechanism, excluded, value) / len(sizes)
    return keep


def found_keep(prior, mechanism, sizes, **options):
    table = np.concatenate([cells(mechanism.size, exclusions)[0][:1] for exclusions in sizes])
    finals = Finals.of(table, mechanism)
    random = np.random.default_rng(0)
    answers = finals.answers(prior, finals.draws(len(prior)), random)
    return finals.exact + answers.keep(mechanism.size, **options)


ANY = pytest.mark.parametrize(
    ("mechanism", "sizes"),
    [
        (Mechanism(2), (0, 1)),
        (Mechanism(3), (1,)),
        (Mechanism(5), (0, 1, 2, 4)),
        (Mechanism(6), (3,)),
        (in_full(4), (0, 1, 2, 3)),
        (skewed(4), (1,)),
        (skewed(5), (0, 1, 2, 3, 4)),
    ],
)


@ANY
@pytest.mark.parametrize("least", [0.0, 0.6])
def test_keep_is_what_going_through_all_sets_gives(mechanism, sizes, least):
    prior, *_ = case(mechanism, 5)
    prior[0] = np.eye(mechanism.size)[1]  # some cells leave nothing of this one
    expected = [expected_keep(row, mechanism, sizes, least=least) for row in prior]
    found = found_keep(prior, mechanism, sizes, min_confidence=least)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@ANY
def test_cells_drawn_at_random_give_the_same_keep(mechanism, sizes, monkeypatch):
    monkeypatch.setattr(heldout, "LISTED", 0)
    prior, *_ = case(mechanism, 3)
    expected = [expected_keep(row, mechanism, sizes) for row in prior]
    np.testing.assert_allclose(found_keep(prior, mechanism, sizes), expected, atol=0.02)


def test_a_large_domain_keeps_values_by_their_rank():
    size, exclusions = 40, 3
    prior, *_ = case(Mechanism(size), 4)
    found = found_keep(prior, Mechanism(size), (exclusions,))
    chances = np.cumprod([1, *((exclusions - j) / (size - 1 - j) for j in range(exclusions))])
    for row, keep in zip(prior, found, strict=True):
        order = np.argsort(-row, kind="stable")
        np.testing.assert_allclose(keep[order[: exclusions + 1]], chances, atol=0.01)
        np.testing.assert_allclose(keep[order[exclusions + 1 :]], 0)


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
    found = judge(prior, hidden, hidden, mechanism, shares=shares)
    assert found.accuracy.value == pytest.approx(top + second / 4)
    first, then = np.argsort(-shares)[:2]
    estimated = mechanism.shares(hidden).values
    assert found.commonest.value == pytest.approx(estimated[first] + estimated[then] / 4)
    assert found.gain.value == pytest.approx(found.accuracy.value - found.commonest.value)
    assert found.cells == 400
    assert found.above is None


def test_exact_cells_alone_are_all_right():
    hidden = np.eye(3, dtype=bool)
    found = judge(np.full((3, 3), 1 / 3), hidden, hidden, Mechanism(3), shares=np.full(3, 1 / 3))
    assert (found.accuracy.value, found.accuracy.low, found.accuracy.high) == pytest.approx(
        (1, 1, 1)
    )
    assert found.calibration is None


def test_two_values_give_the_interval_of_wilson():
    # 15 of 20 hidden cells show the top value, and all other rows are empty.
    hidden = np.array([[True, False]] * 15 + [[False, True]] * 5)
    table = np.ones((10**6, 2), dtype=bool)
    found = judge(np.full((20, 2), [0.9, 0.1]), hidden, table, Mechanism(2), shares=np.ones(2) / 2)
    assert found.accuracy.value == pytest.approx(0.75)
    # Wilson's interval for 15 of 20; one more large step makes it a little wider.
    assert found.accuracy.low == pytest.approx(0.531, abs=0.03)
    assert found.accuracy.high == pytest.approx(0.888, abs=0.03)


def test_a_top_value_that_is_never_ruled_out_may_still_be_wrong_sometimes():
    hidden = np.ones((300, 4), dtype=bool)
    hidden[:, 3] = False
    prior = np.full((300, 4), [0.7, 0.1, 0.1, 0.1])
    found = judge(prior, hidden, hidden, Mechanism(4), shares=np.full(4, 0.25))
    assert found.accuracy.value == 1
    assert found.accuracy.high == 1
    assert 1 - 5 * 3 / 300 < found.accuracy.low < 1 - 3 * 3 / 300 + 1 / 3


def test_nothing_is_told_by_empty_cells_or_by_a_mechanism_that_tells_nothing():
    prior = np.full((2, 4), 0.25)
    empty = np.ones((2, 4), dtype=bool)
    shares = np.full(4, 0.25)
    assert judge(prior, empty, empty, Mechanism(4), shares=shares) is None
    rates = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    hidden = np.array([[True, True, True, False]] * 2)
    assert judge(prior, hidden, hidden, Mechanism.of(rates), shares=shares) is None


def test_all_answers_are_above_no_confidence():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 500, sizes=(0, 1, 1, 2, 4))
    found = judge(prior, hidden, hidden, mechanism, shares=shares, min_confidence=0.0)
    assert found.above.share == 1
    assert found.above.accuracy.value == pytest.approx(found.accuracy.value)
    assert found.above.accuracy.low == pytest.approx(found.accuracy.low)
    assert judge(prior[:1], hidden[:1] | True, hidden, mechanism, shares=shares) is None


def test_no_answer_is_above_a_confidence_that_none_reaches():
    hidden = np.array([[True, True, True, False]] * 2)
    prior = np.full((2, 4), 0.25)
    found = judge(prior, hidden, hidden, Mechanism(4), shares=prior[0], min_confidence=0.9)
    assert found.above is None


def numbers(found):
    """All numbers of nested dataclasses, in order."""
    if isinstance(found, int | float):
        return [found]
    parts = found if isinstance(found, tuple) else astuple(found)
    return [number for part in parts for number in numbers(part)]


@pytest.mark.parametrize("sizes", [(1,), (0, 1, 4, 7)])
def test_how_many_rows_go_at_once_does_not_change_the_answer(sizes, monkeypatch):
    mechanism = skewed(9)
    prior, _, hidden, shares = case(mechanism, 100, sizes=sizes)
    options = {"shares": shares, "min_confidence": 0.5}
    expected = judge(prior, hidden, hidden, mechanism, **options)
    monkeypatch.setattr(heldout, "NUMBERS_AT_ONCE", 1)
    found = judge(prior, hidden, hidden, mechanism, **options)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-9, atol=1e-9)
