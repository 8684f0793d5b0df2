from dataclasses import astuple
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed

from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.posterior import most_confident
from cfl_cli.trust import heldout
from cfl_cli.trust.heldout import Finals, Interval, difference, judge, scores


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
    finals = Finals.of(table, mechanism)
    random = np.random.default_rng(0)
    answers = finals.answers(prior, prior, finals.draws(len(prior)), random, rule)
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


def stubborn(prior, likelihood):
    """A rule that answers by the prior alone, whatever the cell."""
    shape = np.broadcast_shapes(prior.shape, likelihood.shape)
    answers = np.broadcast_to(prior.argmax(axis=-1), shape[:-1])
    return answers, np.broadcast_to(prior.max(axis=-1), shape[:-1])


def flattened(prior, likelihood):
    """A rule that trusts its prior by half."""
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


@ANY
def test_cells_drawn_at_random_give_the_same_keep_by_another_rule(mechanism, sizes, monkeypatch):
    prior, *_ = case(mechanism, 3)
    expected = found_keep(prior, mechanism, sizes, rule=flattened)
    monkeypatch.setattr(heldout, "LISTED", 0)
    found = found_keep(prior, mechanism, sizes, rule=flattened)
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_uniform_exclusions_by_rank_and_by_the_general_rule_agree():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 60, sizes=(0, 1, 2, 4))
    prior[0] = np.eye(5)[1]
    found, same = (
        judge(prior, hidden, hidden, mechanism, shares=shares, rule=rule, min_confidence=0.5)
        for rule in (None, partial(most_confident))
    )
    np.testing.assert_allclose(numbers(found), numbers(same), rtol=1e-9)


def test_the_accuracy_of_the_priors_top_value_is_the_formula_of_the_method():
    mechanism = Mechanism(5)
    prior, _, hidden, shares = case(mechanism, 400)
    found = judge(prior, hidden, hidden, mechanism, shares=shares, rule=stubborn)
    ruled_out = ~hidden[np.arange(400), prior.argmax(axis=1)]
    assert found.accuracy.value == pytest.approx(1 - 4 * ruled_out.mean())
    assert found.confidence == pytest.approx(prior.max(axis=1).mean())
    # What always answering the commonest candidate would score has nothing to do with the rule.
    usual = judge(prior, hidden, hidden, mechanism, shares=shares)
    assert found.commonest == usual.commonest
    assert found.score == usual.score
    assert found.accuracy.value < usual.accuracy.value


class World:
    """Rows with priors that are surer than they should be, and what the final answers are worth.

    The worth is counted on many rows whose values are known, with no formula of the module.
    """

    def __init__(self, mechanism, sizes, *, sharpness=3.0, surer=1.5, seed=0, rows=100_000):
        self.mechanism, self.sizes = mechanism, sizes
        self.random = np.random.default_rng(seed)
        self.shares = np.sort(self.random.dirichlet(np.ones(mechanism.size)))[::-1]
        self.true = self.random.dirichlet(self.shares * sharpness + 0.02, size=2000)
        self.prior = self.true**surer / (self.true**surer).sum(axis=1, keepdims=True)
        prior, values, self.table = self.draw(rows)
        likelihood = mechanism.likelihood(self.table)
        joint = prior * likelihood
        self.confidences = joint.max(axis=1) / joint.sum(axis=1)
        self.right = joint.argmax(axis=1) == values
        self.open = self.table.sum(axis=1) > 1
        commonest = (self.shares * likelihood).argmax(axis=1) == values
        kept = self.confidences >= 0.7
        self.truth = {
            "accuracy": self.right.mean(),
            "commonest": commonest.mean(),
            "gain": self.right.mean() - commonest.mean(),
            "above": self.right[kept].mean(),
            "overconfidence": (self.confidences - self.right)[self.open].mean(),
        }

    def draw(self, m):
        """Priors, values and cells of m rows, each number of exclusions equally often."""
        rows = self.random.integers(0, len(self.true), m)
        chances = self.random.random((m, 1))
        values = (np.cumsum(self.true[rows], axis=1) < chances).sum(axis=1)
        values = np.minimum(values, self.mechanism.size - 1)
        exclusions = np.resize(self.sizes, m)
        chances = self.random.random((m, self.mechanism.size))
        return self.prior[rows], values, self.mechanism.draw(values, exclusions, chances)

    def judge(self, m):
        prior, _, hidden = self.draw(m)
        return judge(
            prior, hidden, self.table, self.mechanism, shares=self.shares, min_confidence=0.7
        )

    def study(self, m, times):
        """Judge again and again; return the intervals' numbers, times × 4, of each estimate."""
        found = {name: [] for name in self.truth}
        for _ in range(times):
            judged = self.judge(m)
            for name in ("accuracy", "commonest", "gain"):
                found[name].append(astuple(getattr(judged, name)))
            above = judged.above.accuracy if judged.above else Interval(np.nan, 0, 1, np.nan)
            found["above"].append(astuple(above))
            found["overconfidence"].append(astuple(judged.calibration.overconfidence))
        return {name: np.array(numbers) for name, numbers in found.items()}


# Far enough from uniform to matter, and not so far that only crowds of rows tell anything.
LEANING = Mechanism.of(0.6 * in_full(5).rates + 0.4 * skewed(5).rates)
WORLDS = {
    "one exclusion": (Mechanism(4), (1,)),
    "mixed": (Mechanism(5), (0, 1, 1, 1, 2, 4)),
    "large domain": (Mechanism(12), (1, 1, 1, 11)),
    "mechanism": (LEANING, (1,)),
    "mechanism, mixed": (LEANING, (0, 1, 2, 2, 4)),
}


@pytest.mark.parametrize("name", WORLDS)
def test_estimates_are_unbiased_and_their_intervals_cover_the_truth(name):
    world = World(*WORLDS[name])
    times = 120
    for estimate, numbers in world.study(1000, times).items():
        value, low, high, _ = numbers.T
        truth = world.truth[estimate]
        assert abs(value.mean() - truth) < 4 * value.std() / np.sqrt(times) + 0.004, estimate
        assert ((low <= truth + 0.003) & (truth - 0.003 <= high)).mean() > 0.9, estimate


@pytest.mark.parametrize("name", WORLDS)
def test_each_bin_of_confidence_is_right_as_often_as_estimated(name):
    world = World(*WORLDS[name])
    prior, _, hidden = world.draw(60_000)
    found = judge(prior, hidden, world.table, world.mechanism, shares=world.shares).calibration
    assert sum(bin_.cells for bin_ in found.bins) == (hidden.sum(axis=1) > 1).sum()
    gaps = []
    for bin_ in found.bins:
        edges = (world.confidences >= bin_.low) & (world.confidences < bin_.high + (bin_.high == 1))
        inside = edges & world.open
        count, accuracy = inside.sum(), world.right[inside].mean()
        chance = np.sqrt(accuracy * (1 - accuracy) / count)
        assert abs(bin_.accuracy - accuracy) < 4 * np.hypot(bin_.error, chance) + 1e-9
        gaps.append(count * (accuracy - world.confidences[inside].mean()) ** 2)
    assert found.error == pytest.approx(np.sqrt(sum(gaps) / world.open.sum()), abs=0.06)


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
        for estimate in ("accuracy", "commonest", "above"):
            _, low, high, _ = found[estimate].T
            truth = world.truth[estimate]
            slack = 3 * np.sqrt(truth * (1 - truth) / 400_000)
            covered = ((low <= truth + slack) & (truth - slack <= high)).mean()
            assert covered > 0.86, (sizes, estimate, covered)
