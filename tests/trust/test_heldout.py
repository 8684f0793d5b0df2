from dataclasses import astuple, replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed
from builders.hidden_rows import WORLDS, World, case, stubborn

from cfl_cli.core.arrays import most_confident
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust import heldout
from cfl_cli.trust.heldout import (
    ConfidenceTally,
    HiddenCells,
    PossibleAnswers,
    PossibleCells,
    bins,
    difference,
    evidence,
    judge,
    mean_priors,
    scores,
    shares_of_others,
)
from cfl_cli.trust.intervals import NORMAL, Gain, Interval, PooledEstimate


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


# Hidden cells know how much their rows count for.


def test_the_effective_share_is_that_of_the_groups_sizes():
    cells = HiddenCells(np.full((6, 2), 0.5), np.ones((6, 2), dtype=bool), Mechanism(2))
    assert cells.effective_share == 1
    assert replace(cells, groups=np.arange(6)).effective_share == 1
    # Groups of 3, 2 and 1: 6 rows, 9 + 4 + 1 squares.
    assert replace(cells, groups=np.array([4, 4, 4, 2, 2, 7])).effective_share == pytest.approx(
        6 / 14
    )


def test_a_table_of_copies_is_judged_like_the_rows_themselves():
    rng = np.random.default_rng(0)
    prior = rng.dirichlet(np.ones(4), 300)
    cells = Mechanism(4).draw(prior.argmax(axis=1), np.ones(300, dtype=int), rng.random((300, 4)))
    alone = HiddenCells(prior, cells, Mechanism(4))
    groups = np.tile(np.arange(300), 3)
    thrice = HiddenCells(
        np.tile(prior, (3, 1)), np.tile(cells, (3, 1)), Mechanism(4), groups=groups
    )
    options = {"shares": np.full(4, 0.25), "min_confidences": [0.5]}
    one, three = (judge(it, it.cells, **options) for it in (alone, thrice))
    pairs = [
        *((getattr(three, name), getattr(one, name)) for name in ("accuracy", "commonest", "gain")),
        (three.confident_accuracies[0], one.confident_accuracies[0]),
    ]
    for found, expected in pairs:
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    found, expected = three.calibration, one.calibration
    assert found.overconfidence.high == pytest.approx(expected.overconfidence.high)
    for mine, theirs in zip(found.bins, expected.bins, strict=True):
        assert mine.accuracy.low == pytest.approx(theirs.accuracy.low)


# The test of answers against the commonest candidate agrees with rows whose values are known.


SHARES = np.array([0.5, 0.3, 0.2])


def drawn(rng, rows):
    return (np.cumsum(rows, axis=1) > rng.random((len(rows), 1))).argmax(axis=1)


def keep(mechanism, prior):
    """Return how probably each value is answered if true, by going through all cells of one."""
    kept = np.zeros_like(prior)
    for excluded in range(mechanism.size):
        cell = np.arange(mechanism.size) != excluded
        chances = mechanism.inclusion(1)[:, excluded]  # of the cell, given each value
        joint = prior * mechanism.likelihood(cell[None])
        answers = joint.argmax(axis=1)
        kept[np.arange(len(prior)), answers] += chances[answers]
    return kept


def footing(prior, shares, likelihood, more):
    pairs = ((one, other) for other in (likelihood, more) for one in (prior, shares))
    return np.stack([(one * other).sum(axis=1) for one, other in pairs])


def drawn_priors(mechanism, founded, *, n=4000, seed=0):
    """Return λ*, the evidence of priors of which a share is well founded, and the gain."""
    rng = np.random.default_rng(seed)
    prior, shares = rng.dirichlet(2 * SHARES, n), np.tile(SHARES, (n, 1))
    truth = drawn(rng, founded * prior + (1 - founded) * shares)
    cells = mechanism.draw(truth, np.ones(n, dtype=int), rng.random((n, 3)))
    likelihood = mechanism.likelihood(cells)
    more = keep(mechanism, prior) - keep(mechanism, shares)
    right = [(guess * likelihood).argmax(axis=1) == truth for guess in (prior, shares)]
    found = evidence(footing(prior, shares, likelihood, more))
    least, _, errors = found
    return least, errors, right[0].mean() - right[1].mean()


@pytest.mark.parametrize("mechanism", [Mechanism(3), skewed(3)])
def test_priors_founded_as_far_as_needed_neither_gain_nor_show_evidence(mechanism):
    least, _, _ = drawn_priors(mechanism, 0.5)
    assert 0.1 < least < 0.9
    found = [drawn_priors(mechanism, least, n=1000, seed=seed) for seed in range(200)]
    _, errors, gains = np.transpose(found)
    assert gains.mean() == pytest.approx(0, abs=0.004)
    assert errors.mean() == pytest.approx(0, abs=4 / 200**0.5)
    assert errors.std() == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize(("founded", "better"), [(0.0, False), (1.0, True)])
def test_priors_founded_in_full_gain_and_show_it_and_those_not_at_all_lose(founded, better):
    _, errors, gain = drawn_priors(Mechanism(3), founded)
    assert (gain > 0.03, gain < -0.03) == (better, not better)
    assert (errors > 3, errors < -3) == (better, not better)


def test_priors_that_are_the_shares_show_nothing():
    shares = np.tile(SHARES, (5, 1))
    assert evidence(footing(shares, shares, np.ones((5, 3)), np.zeros((5, 3)))) == (1, 0, 0)


def test_priors_of_noise_are_smoother_than_shares_of_many_values_and_show_nothing_by_their_mean():
    mechanism, n, errors = Mechanism(32), 340, []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        cells = mechanism.draw(rng.integers(32, size=n), np.full(n, 10), rng.random((n, 32)))
        prior, likelihood = rng.dirichlet(np.full(32, 50.0), n), mechanism.likelihood(cells)
        (shares, part), none = shares_of_others(cells, mechanism), np.zeros((n, 32))
        others = mean_priors(prior, part)[part], shares[part]
        errors.append([evidence(footing(prior, one, likelihood, none))[1] for one in others])
    by_mean, by_shares = np.transpose(errors)
    assert by_mean.mean() == pytest.approx(0, abs=4 / 100**0.5)
    assert by_mean.std() == pytest.approx(1, abs=0.25)
    assert by_shares.mean() > 1.9


def test_the_mean_prior_of_each_part_is_that_of_its_rows():
    prior = np.array([[0.1, 0.9], [0.3, 0.7], [0.8, 0.2]])
    np.testing.assert_allclose(
        mean_priors(prior, np.array([0, 0, 2]))[[0, 2]], [[0.2, 0.8], prior[2]]
    )


def test_the_shares_of_a_row_come_from_the_rows_of_other_parts():
    rng = np.random.default_rng(0)
    cells = Mechanism(3).draw(
        drawn(rng, np.tile(SHARES, (23, 1))), np.ones(23, int), rng.random((23, 3))
    )
    shares, part = shares_of_others(cells, Mechanism(3))
    assert np.bincount(part).tolist() == [5, 5, 4, 5, 4]
    for row in range(23):
        others = [not excluded.all() for excluded in cells]
        seen = np.array(
            [c for c, p, some in zip(cells, part, others, strict=True) if p != part[row] and some]
        )
        estimated = np.clip(1 - 2 * (~seen).mean(axis=0), 0, None)
        np.testing.assert_allclose(shares[part[row]], estimated / estimated.sum())


def test_rows_without_any_exclusion_have_no_shares():
    cells = np.ones((10, 3), dtype=bool)
    cells[0, 1] = False  # the other parts' rows know it, its own part's do not
    assert shares_of_others(cells, Mechanism(3)) is None
    assert shares_of_others(cells[:0], Mechanism(3)) is None


def test_the_commonest_of_many_values_in_few_rows_is_not_judged_by_the_cells_that_chose_it():
    rng, size, n = np.random.default_rng(0), 20, 3000
    mechanism, crossed, chosen = Mechanism(size), [], []
    for _ in range(20):
        cells = mechanism.draw(rng.integers(size, size=n), np.ones(n, int), rng.random((n, size)))
        hidden = HiddenCells(np.full((n, size), 1 / size), cells, mechanism, mutual=True)
        shares, part = shares_of_others(cells, mechanism)
        crossed.append(judge(hidden, cells, shares=shares, part=part).commonest)
        chosen.append(judge(hidden, cells, shares=mechanism.shares(cells).prior).commonest)
    true = 1 / size + 1 / size / (size - 1)  # of any first, and any second value
    assert sum(found.low <= true <= found.high for found in crossed) >= 18
    assert np.mean([found.value for found in crossed]) < 0.1  # what is below 0 counts as 0
    assert np.mean([found.value for found in chosen]) > 0.15


def test_one_share_for_all_rows_is_the_same_as_many_that_are_alike():
    mechanism, rng = skewed(3), np.random.default_rng(0)
    prior = rng.dirichlet(SHARES, 50)
    cells = mechanism.draw(drawn(rng, prior), np.ones(50, int), rng.random((50, 3)))
    hidden, part = HiddenCells(prior, cells, mechanism), np.arange(50) % 2
    one = judge(hidden, cells, shares=SHARES)
    assert judge(hidden, cells, shares=np.array([SHARES, SHARES]), part=part) == one


# Bins of confidence are right as often as rows whose values are known.


@pytest.mark.parametrize("name", WORLDS)
def test_each_bin_of_confidence_is_right_as_often_as_estimated(name):
    world = World(*WORLDS[name])
    prior, _, hidden = world.draw(60_000)
    found = judge(
        HiddenCells(prior, hidden, world.mechanism), world.table, shares=world.shares
    ).calibration
    assert sum(part.cells for part in found.bins) == (hidden.sum(axis=1) > 1).sum()
    gaps = []
    for part in found.bins:
        edges = (world.confidences >= part.low) & (world.confidences < part.high + (part.high == 1))
        inside = edges & world.open
        count, accuracy = inside.sum(), world.right[inside].mean()
        chance = np.sqrt(accuracy * (1 - accuracy) / count)
        value, low, high = astuple(part.accuracy)
        error = max(value - low, high - value) / NORMAL
        assert abs(value - accuracy) < 4 * np.hypot(error, chance) + 1e-9
        gaps.append(count * (accuracy - world.confidences[inside].mean()) ** 2)
    assert found.error == pytest.approx(np.sqrt(sum(gaps) / world.open.sum()), abs=0.06)


def tallied(weights):
    """Three rows of two possible cells each, over a domain of two values."""
    answers = PossibleAnswers(
        values=np.array([[0, 1], [0, 0], [1, 1]]),
        confidences=np.array([[0.95, 0.62], [0.91, 0.68], [1.0, 0.9]]),
        if_true=np.array([[0.5, 0.3], [0.6, 0.2], [0.4, 0.6]]),
        probabilities=np.array([[0.6, 0.4], [0.7, 0.3], [0.5, 0.5]]),
    )
    is_true = np.array([[1.0, 0.0], [0.0, 1.0], [-0.5, 1.5]])
    tally = ConfidenceTally()
    tally.add(answers, is_true, weights)
    return tally


def test_a_bin_is_the_weighted_sum_of_its_cells_by_hand():
    tally = tallied(np.array([0.5, 0.25, 0.25]))
    found = tally.calibration(
        np.array([0.95, 0.68, 1.0, 1.0]), np.zeros(4, dtype=bool), largest_step=0.0, reach=NORMAL
    )
    # Cells of 0.9 and more: the first of row 1 and of row 2, both of row 3.
    given = 0.5 * 0.6 + 0.25 * 0.7 + 0.25 * (0.5 + 0.5)
    right = 0.5 * 0.5 * 1.0 + 0.0 + 0.25 * (0.4 * 1.5 + 0.6 * 1.5)
    expected = 0.5 * 0.6 * 0.95 + 0.25 * 0.7 * 0.91 + 0.25 * (0.5 * 1.0 + 0.5 * 0.9)
    low, high = found.bins
    assert (low.low, low.high, low.cells) == (0.6, 0.7, 1)
    assert (high.low, high.high, high.cells) == (0.9, 1.0, 3)
    assert high.accuracy.value == pytest.approx(right / given)
    assert high.confidence == pytest.approx(expected / given)
    # Cells of 0.6 to 0.7: the second ones of rows 1 and 2, whose answers are not the true value.
    assert low.accuracy.value == 0
    assert low.confidence == pytest.approx((0.5 * 0.4 * 0.62 + 0.25 * 0.3 * 0.68) / 0.275)
    everything = right - expected - (0.5 * 0.4 * 0.62 + 0.25 * 0.3 * 0.68)
    assert found.overconfidence.value == pytest.approx(-everything / (given + 0.275))


def test_the_error_of_a_bin_is_that_of_a_ratio_of_sums():
    weights = np.array([0.5, 0.25, 0.25])
    found = tallied(weights).calibration(
        np.array([0.95, 0.95, 1.0]), np.zeros(3, dtype=bool), largest_step=0.0, reach=NORMAL
    )
    [top] = found.bins
    right = weights * [0.5, 0.0, 1.5]
    expected = weights * [0.6 * 0.95, 0.7 * 0.91, 0.95]
    given = weights * [0.6, 0.7, 1.0]
    gap = (right - expected).sum() / given.sum()
    error = np.sqrt(((right - expected - gap * given) ** 2).sum()) / given.sum()
    assert top.accuracy.value - top.accuracy.low == pytest.approx(NORMAL * error)
    assert found.error == pytest.approx(np.sqrt(max(gap**2 - error**2, 0)))


def test_a_confidence_of_1_belongs_to_the_last_bin():
    assert bins(np.array([0.0, 0.0999, 0.1, 0.55, 0.9999, 1.0])).tolist() == [0, 0, 1, 5, 9, 9]


def test_exact_cells_are_in_no_bin():
    hidden = np.array([[True, False, False], [True, True, False], [True, True, False]])
    prior = np.full((3, 3), [0.8, 0.1, 0.1])
    found = judge(HiddenCells(prior, hidden, Mechanism(3)), hidden, shares=np.full(3, 1 / 3))
    assert sum(part.cells for part in found.calibration.bins) == 2


# The cells that rows may have, and the answers to them, are those of going through all sets.


def answer(prior, mechanism, excluded):
    """The final answer and its confidence, from the definition."""
    joint = [p * probability(mechanism, excluded, v) for v, p in enumerate(prior)]
    if not sum(joint):
        joint = [probability(mechanism, excluded, v) for v in range(len(prior))]
    return int(np.argmax(joint)), max(joint) / sum(joint)


def expected_keep(prior, mechanism, sizes, *, least=0.0, answer=answer):
    """keep(t) set by set; `sizes` holds the exclusions of all rows."""
    keep = np.zeros(mechanism.size)
    for exclusions in sizes:
        for excluded in combinations(range(mechanism.size), exclusions):
            value, confidence = answer(prior, mechanism, excluded)
            if confidence >= least:
                keep[value] += probability(mechanism, excluded, value) / len(sizes)
    return keep


def found_keep(prior, mechanism, sizes, *, rule=most_confident, **options):
    table = np.concatenate([cells(mechanism.size, exclusions)[0][:1] for exclusions in sizes])
    possible = PossibleCells.of(table, mechanism)
    random = np.random.default_rng(0)
    answers = possible.answers(prior, prior, possible.plan(len(prior))[0], random, rule)
    return possible.exact + answers.keep(mechanism.size, **options)


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


def flattened(prior, likelihood):
    return most_confident((prior + 1 / prior.shape[-1]) / 2, likelihood)


@ANY
@pytest.mark.parametrize("least", [0.0, 0.6])
def test_another_rule_keeps_what_it_answers_set_by_set(mechanism, sizes, least):
    if mechanism.size - 1 in sizes:
        sizes = [size for size in sizes if size < mechanism.size - 1]  # exact cells need no rule
    prior, *_ = case(mechanism, 5)

    def by_prior(row, _, excluded):
        return int(row.argmax()), row.max()

    def by_half(row, *cell):
        return answer((row + 1 / mechanism.size) / 2, *cell)

    for rule, by in ((stubborn, by_prior), (flattened, by_half)):
        expected = [expected_keep(row, mechanism, sizes, least=least, answer=by) for row in prior]
        found = found_keep(prior, mechanism, sizes, rule=rule, min_confidence=least)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_the_most_confident_candidate_answers_the_first_of_equals():
    prior = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [1.0, 0.0, 0.0]])
    likelihood = np.array([[1.0, 1, 1], [0, 1, 1], [1, 1, 0], [0, 0.5, 1]])
    answers, confidences = most_confident(prior, likelihood)
    assert answers.tolist() == [0, 1, 0, 2]  # in the last row nothing is left of the prior
    np.testing.assert_allclose(confidences, [0.5, 0.6, 0.5, 1 / 1.5])


def pooled(values, weights=None, *, highest=1.0, lowest=0.0):
    values = np.array(values, dtype=float)
    weights = np.ones(len(values)) if weights is None else np.array(weights, dtype=float)
    return PooledEstimate(
        values, np.full(len(values), highest), np.full(len(values), lowest), weights
    )


def wilson(right, n, reach):
    """Wilson's score interval of a share of n, from its textbook formula."""
    share = right / n
    middle = (share + reach**2 / (2 * n)) / (1 + reach**2 / n)
    side = reach / (1 + reach**2 / n) * np.sqrt(share * (1 - share) / n + (reach / (2 * n)) ** 2)
    return middle - side, middle + side


def test_an_interval_reaches_to_either_side_and_that_of_a_share_ends_at_0_and_1():
    assert astuple(Interval.around(0.5, 0.1)) == pytest.approx((0.5, 0.304, 0.696))
    assert astuple(Interval.around(0.5, 0.1, reach=1.0)) == pytest.approx((0.5, 0.4, 0.6))
    assert Interval.around(0.9, 0.1).as_share == Interval(0.9, 0.9 - NORMAL * 0.1, 1.0)
    assert Interval.around(-0.2, 0.05).as_share == Interval(0.0, 0.0, 0.0)


def test_a_gain_is_an_interval_that_knows_its_standard_error():
    gain = Gain.of(0.2, 0.05)
    assert isinstance(gain, Interval)
    assert astuple(gain) == pytest.approx((0.2, 0.102, 0.298, 0.05))


def test_the_pooled_estimate_is_the_weighted_mean_and_its_variance_that_of_a_mean():
    one = pooled([1, 0, 1, 1])
    assert one.mean == 0.75
    # The variance of a mean of four: the sample variance, 0.25, over 4.
    assert one.influence @ one.influence == pytest.approx(0.25 / 4)
    weighted = pooled([1, 0, 5], [3, 1, 0])
    assert weighted.mean == 0.75
    assert weighted.influence @ weighted.influence == pytest.approx(
        2 * ((3 / 4 * 0.25) ** 2 + (1 / 4 * 0.75) ** 2)
    )
    assert weighted.largest_step == pytest.approx(3 / 4)


def test_with_many_rows_the_interval_is_that_of_wilson():
    n = 40_000
    for right in (20_000, 36_000, 39_600):
        found = pooled(np.arange(n) < right).interval(NORMAL)
        low, high = wilson(right, n, NORMAL)
        assert found.value == pytest.approx(right / n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=4 / n)


@pytest.mark.parametrize("right", [10, 15, 19])
def test_with_few_rows_it_is_a_little_wider(right):
    found = pooled(np.arange(20) < right).interval(NORMAL)
    low, high = wilson(right, 20, NORMAL)
    assert low - 0.05 < found.low < low
    assert high - 0.001 < found.high < high + 0.05


def test_where_every_row_is_right_some_may_still_be_wrong():
    found = pooled(np.ones(50)).interval(NORMAL)
    assert (found.value, found.high) == (1, 1)
    assert 1 - 8 / 50 < found.low < 1 - 3 / 50  # 3/n: the rule of three


def test_with_many_rows_a_part_of_them_is_judged_as_if_it_were_alone():
    inside = np.arange(3000) < 1000
    right = inside & (np.arange(3000) % 4 > 0)
    found = pooled(right).interval(NORMAL, pooled(inside))
    alone = pooled(right[inside]).interval(NORMAL)
    assert found.value == pytest.approx(0.75)
    assert astuple(found) == pytest.approx(astuple(alone), abs=0.004)


def test_a_difference_has_one_largest_step_added_to_its_variance():
    found = pooled([0.5, -0.5, 0.5, 0.5], highest=1.0, lowest=-1.0).symmetric(2.0)
    side = 2 * np.sqrt(0.25 / 4 + (2 / 4) ** 2)
    assert astuple(found) == pytest.approx((0.25, 0.25 - side, 0.25 + side))


@pytest.mark.parametrize("mechanism", [Mechanism(4), skewed(4)])
@pytest.mark.parametrize("exclusions", [1, 2])
def test_over_all_cells_of_a_value_the_estimate_is_what_the_value_counts(mechanism, exclusions):
    measure = np.array([0.9, 0.1, 0.4, 0.7])
    masks, sets = cells(4, exclusions)
    found = PooledEstimate.of(
        np.tile(measure, (len(sets), 1)), masks, mechanism.weights(masks), mechanism
    )
    for value in range(4):
        chances = np.array([probability(mechanism, excluded, value) for excluded in sets])
        assert chances @ found.values == pytest.approx(measure[value])
    assert found.highest == pytest.approx(np.full(len(sets), found.values.max()))
    assert found.lowest == pytest.approx(np.full(len(sets), found.values.min()))


def test_an_empty_cell_counts_nothing_and_parts_join_in_their_order():
    mechanism = Mechanism(3)
    masks = np.array([[True, True, True], [True, False, True]])
    measure = np.array([[0.5, 0.2, 0.1]] * 2)
    found = PooledEstimate.of(measure, masks, mechanism.weights(masks), mechanism)
    assert found.values.tolist() == pytest.approx([0, 0.8 - 2 * 0.2])
    both = PooledEstimate.joined([found, pooled([7.0])])
    assert both.values.tolist() == pytest.approx([0, 0.4, 7])
    assert both.weights.tolist() == [0, 1, 1]


def test_only_an_estimate_that_is_clearly_beyond_0_and_1_is_no_share():
    steps = {"highest": 1.4, "lowest": -2.6}  # each of 100 rows may move the mean by 0.04
    assert not pooled([1.1] * 100, **steps).beyond_a_share(NORMAL)  # less than 3.09 such steps
    assert pooled([1.2] * 100, **steps).beyond_a_share(NORMAL)  # more
    assert not pooled([1.2] * 100, **steps).beyond_a_share(2 * NORMAL)
    assert pooled([-0.2] * 100, **steps).beyond_a_share(NORMAL)
    # Standard error of half rows at 1.4 and half at 0.8: 0.03, so that 1.1 is 2 of 0.05 above 1.
    assert not pooled([1.4, 0.8] * 50, **steps).beyond_a_share(NORMAL)


def test_rows_that_belong_together_count_as_one():
    """Each of 50 rows twice: the figures of the 50 rows."""
    values = np.random.default_rng(0).random(50)
    alone = pooled(values)
    twice = replace(pooled(np.repeat(values, 2)), groups=np.repeat(np.arange(50), 2))
    for found, expected in (
        (twice.interval(NORMAL), alone.interval(NORMAL)),
        (twice.symmetric(NORMAL), alone.symmetric(NORMAL)),
    ):
        assert astuple(found) == pytest.approx(astuple(expected))
    assert twice.largest_step == pytest.approx(alone.largest_step)
    whole = replace(twice, values=np.full(100, 0.8))
    assert astuple(twice.interval(NORMAL, whole)) == pytest.approx(
        astuple(alone.interval(NORMAL, pooled(np.full(50, 0.8))))
    )


def test_groups_of_one_row_each_change_nothing():
    one = pooled(np.random.default_rng(1).random(30))
    each = replace(one, groups=np.arange(30)[::-1])
    assert astuple(each.interval(NORMAL)) == pytest.approx(astuple(one.interval(NORMAL)))


def test_an_interval_is_wider_by_the_root_of_the_mean_group_of_a_row():
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 6, 4000)
    groups = np.repeat(np.arange(4000), sizes)
    values = np.repeat(rng.integers(2, size=4000), sizes).astype(float)
    plain, grouped = pooled(values), replace(pooled(values), groups=groups)
    wider = np.sqrt((sizes**2).sum() / sizes.sum())
    ratio = np.linalg.norm(grouped.influence) / np.linalg.norm(plain.influence)
    assert ratio == pytest.approx(wider, rel=0.03)


@ANY
def test_cells_drawn_at_random_give_the_same_keep_by_another_rule(mechanism, sizes, monkeypatch):
    prior, *_ = case(mechanism, 3)
    expected = found_keep(prior, mechanism, sizes, rule=flattened)
    monkeypatch.setattr(heldout, "LISTED", 0)
    found = found_keep(prior, mechanism, sizes, rule=flattened)
    np.testing.assert_allclose(found, expected, atol=0.02)


@ANY
def test_the_probabilities_of_all_cells_sum_to_1_whether_listed_or_drawn(
    mechanism, sizes, monkeypatch
):
    prior, *_ = case(mechanism, 4)
    table = np.concatenate([cells(mechanism.size, exclusions)[0][:1] for exclusions in sizes])
    for listed in (128, 0):
        monkeypatch.setattr(heldout, "LISTED", listed)
        possible = PossibleCells.of(table, mechanism)
        draws, random = possible.plan(len(prior))[0], np.random.default_rng(0)
        answers = possible.answers(prior, prior, draws, random, most_confident)
        np.testing.assert_allclose(answers.probabilities.sum(axis=1) + possible.exact, 1)
