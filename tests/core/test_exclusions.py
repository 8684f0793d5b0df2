from math import log

import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed
from builders.known import table
from scipy.stats import spearmanr

from cfl_cli.core import exclusions as uniformity
from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.exclusions import Mechanism, Uniformity, distinct


def simulate(mechanism, shares, n, rng, sizes=(1,)):
    values = rng.choice(mechanism.size, size=n, p=shares)
    exclusions = rng.choice(sizes, size=n)
    return values, mechanism.draw(values, exclusions, rng.random((n, mechanism.size)))


MECHANISMS = [Mechanism(2), Mechanism(3), Mechanism(5), in_full(4), skewed(4), skewed(6, seed=3)]
ANY = pytest.mark.parametrize("mechanism", MECHANISMS)


@ANY
def test_likelihoods_are_those_of_the_model_set_by_set(mechanism):
    for exclusions in range(mechanism.size):
        masks, sets = cells(mechanism.size, exclusions)
        found, factor = mechanism.scaled(masks)
        expected = [
            [probability(mechanism, s, value) for value in range(mechanism.size)] for s in sets
        ]
        np.testing.assert_allclose(found * np.exp(factor)[:, None], expected, atol=1e-12)
        np.testing.assert_array_equal(found.max(axis=1), 1)


def test_uniform_likelihoods_are_the_candidates_exactly():
    masks = np.random.default_rng(0).random((200, 70)) < 0.7
    masks[:, 0] = True
    np.testing.assert_array_equal(Mechanism(70).likelihood(masks), masks.astype(float))


@ANY
def test_inclusion_sums_over_the_sets_that_hold_the_value(mechanism):
    size = mechanism.size
    for exclusions in range(1, size):
        _, sets = cells(size, exclusions)
        expected = [
            [sum(probability(mechanism, s, v) for s in sets if c in s) for c in range(size)]
            for v in range(size)
        ]
        np.testing.assert_allclose(mechanism.inclusion(exclusions), expected, atol=1e-12)


@ANY
def test_f_is_on_average_one_for_the_true_value_and_zero_for_others(mechanism):
    size = mechanism.size
    for exclusions in range(1, size):
        masks, sets = cells(size, exclusions)
        estimates = mechanism.unbiased(masks)
        chances = np.array([[probability(mechanism, s, v) for s in sets] for v in range(size)])
        np.testing.assert_allclose(chances @ estimates, np.eye(size), atol=1e-9)
        np.testing.assert_allclose(estimates.sum(axis=1), 1, atol=1e-9)


@ANY
def test_the_worth_of_exclusions_adds_up_to_what_f_says(mechanism):
    size = mechanism.size
    measure = np.random.default_rng(1).random((1, size))
    for exclusions in range(1, size):
        masks, _ = cells(size, exclusions)
        worth = mechanism.worth(measure, exclusions)
        np.testing.assert_allclose(
            (worth * ~masks).sum(axis=1), mechanism.unbiased(masks) @ measure[0]
        )


def test_f_of_an_exact_cell_is_its_value_and_an_empty_cell_has_no_weight():
    masks = np.array([[False, True, False, False], [True, True, True, True]])
    for mechanism in (Mechanism(4), skewed(4)):
        np.testing.assert_allclose(
            mechanism.unbiased(masks), [[0, 1, 0, 0], [0, 0, 0, 0]], atol=1e-12
        )
        np.testing.assert_array_equal(mechanism.weights(masks), [3, 0])


@ANY
def test_drawn_cells_come_as_often_as_the_model_says(mechanism):
    size, n = mechanism.size, 20_000
    rng = np.random.default_rng(5)
    for exclusions in range(size):
        masks, sets = cells(size, exclusions)
        value = exclusions % size
        drawn = mechanism.draw(np.full(n, value), np.full(n, exclusions), rng.random((n, size)))
        seen = [(drawn == mask).all(axis=1).mean() for mask in masks]
        expected = [probability(mechanism, s, value) for s in sets]
        np.testing.assert_allclose(seen, expected, atol=0.02)
        assert sum(seen) == pytest.approx(1)


def test_uniform_rates_give_what_uniform_exclusions_give():
    rng = np.random.default_rng(2)
    _, candidates = simulate(Mechanism(6), np.full(6, 1 / 6), 300, rng, sizes=(0, 1, 2, 3, 5))
    one, other = Mechanism(6), in_full(6)
    np.testing.assert_allclose(other.likelihood(candidates), one.likelihood(candidates))
    np.testing.assert_allclose(other.unbiased(candidates), one.unbiased(candidates), atol=1e-9)
    np.testing.assert_allclose(other.shares(candidates).values, one.shares(candidates).values)
    assert Mechanism.of(6, in_full(6).rates).rates is None
    assert Mechanism.of(6, None).rates is None


def test_shares_by_hand_and_none_without_a_cell_that_tells_anything():
    candidates = np.array(
        [[False, True, True], [False, True, True], [True, False, True], [True, True, True]]
    )
    shares = Mechanism(3).shares(candidates)
    np.testing.assert_allclose(shares.values, [1 - 2 * 2 / 3, 1 - 2 / 3, 1])
    np.testing.assert_allclose(shares.prior, [0, 1 / 4, 3 / 4])
    # 1 − 2x with x of variance 2/9 over 3 rows, one of them for the mean.
    np.testing.assert_allclose(shares.errors, [2 / 3, 2 / 3, 0], atol=1e-12)
    assert Mechanism(3).shares(np.ones((5, 3), dtype=bool)) is None


@pytest.mark.parametrize("mechanism", [Mechanism(6), skewed(6)], ids=["uniform", "skewed"])
def test_shares_are_unbiased_and_their_errors_right(mechanism):
    rng = np.random.default_rng(7)
    truth = np.array([0.5, 0.2, 0.15, 0.1, 0.05, 0])
    found = [
        mechanism.shares(simulate(mechanism, truth, 400, rng, sizes=(0, 1, 1, 2, 5))[1])
        for _ in range(400)
    ]
    values = np.array([shares.values for shares in found])
    np.testing.assert_allclose(values.mean(axis=0), truth, atol=4 * values.std(axis=0).max() / 20)
    errors = np.sqrt(np.mean([shares.errors**2 for shares in found], axis=0))
    np.testing.assert_allclose(errors, values.std(axis=0), rtol=0.15)


@pytest.mark.parametrize("n", [20, 200, 5000])
@pytest.mark.parametrize("size", [3, 10, 50])
@pytest.mark.parametrize("sizes", [(1,), (1, 2), (0, 1, 2, 49)], ids=str)
def test_honest_cells_are_not_accused_even_where_values_never_occur(n, size, sizes):
    rng = np.random.default_rng([n, size])
    mechanism = Mechanism(size)
    shares = np.zeros(size)
    shares[0] = 1  # all other values are ruled out as often as is possible at all
    sizes = [min(exclusions, size - 1) for exclusions in sizes]
    for _ in range(20):
        _, candidates = simulate(mechanism, shares, n, rng, sizes=sizes)
        assert not len(mechanism.too_often(candidates))


def test_a_value_that_is_ruled_out_first_is_found():
    rng = np.random.default_rng(0)
    rates = (1 - np.eye(5)) * [4, 1, 1, 1, 1]
    _, candidates = simulate(
        Mechanism.of(5, rates / rates.sum(axis=1, keepdims=True)),
        [0.1, 0.3, 0.3, 0.2, 0.1],
        500,
        rng,
    )
    assert Mechanism(5).too_often(candidates).tolist() == [0]
    shares = Mechanism(5).shares(candidates)
    assert shares.values[0] < -0.5
    assert shares.values[0] < -4 * shares.errors[0]


def test_an_exclusion_that_a_mechanism_does_not_know_contradicts_it():
    rates = np.array([[0, 0.5, 0.5, 0], [0.5, 0, 0.5, 0], [0.5, 0.5, 0, 0], [0.4, 0.3, 0.3, 0]])
    candidates = np.array([[True, True, True, False], [True, False, True, True]])
    mechanism = Mechanism(4, rates)
    assert mechanism.too_often(candidates).tolist() == [3]
    # Nothing can be said by the mechanism, so the candidates count alike.
    np.testing.assert_array_equal(mechanism.likelihood(candidates)[0], [1, 1, 1, 0])
    assert np.isneginf(mechanism.scaled(candidates)[1]).tolist() == [True, False]


def test_a_mechanism_that_does_not_distinguish_values_says_so():
    # The first two values rule out either of the last two, and the other way round.
    rates = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]])
    mechanism = Mechanism.of(4, rates)
    assert mechanism.inverse(1) is None
    assert skewed(4).inverse(1) is not None
    candidates = np.array([[True, True, True, False], [False, True, False, False]])
    np.testing.assert_array_equal(mechanism.weights(candidates), [0, 3])
    expected = [[0, 0, 0, 0], [0, 1, 0, 0]]
    np.testing.assert_allclose(mechanism.unbiased(candidates), expected, atol=1e-12)
    np.testing.assert_array_equal(mechanism.likelihood(candidates), [[1, 1, 0, 0], [0, 1, 0, 0]])
    with pytest.raises(ValueError, match="cells of 1 exclusions do not distinguish the values"):
        mechanism.worth(np.ones((1, 4)), 1)


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([[0, 1, 0], [1, 0, 0]], "2 × 2"),
        ([[0.5, 0.5], [1, 0]], "diagonal"),
        ([[0, 0.5], [1, 0]], "sum to 1"),
        ([[0, 2, -1], [1, 0, 0], [1, 0, 0]], "0 or more"),
        ([[0, np.nan], [1, 0]], "0 or more"),
        ([[0]], "at least two"),
    ],
)
def test_what_is_no_mechanism_is_refused(rates, message):
    with pytest.raises(ValueError, match=message):
        Mechanism.of(len(rates), np.array(rates))


@pytest.mark.parametrize("size", [3, 64, 65, 130])
def test_distinct_cells_give_back_all_rows(size):
    rng = np.random.default_rng(size)
    candidates = (rng.random((5, size)) < 0.8)[rng.integers(0, 5, 100)]
    first, places = distinct(candidates)
    np.testing.assert_array_equal(candidates[first][places], candidates)
    assert len(first) == len(np.unique(candidates, axis=0))


def small():
    """Four rows, two CFs of 2 and 3 values; the last row's cells are empty."""
    cells = ["01 110", "10 011", "11 101", "11 111"]
    candidates = np.array([[c == "1" for c in row.replace(" ", "")] for row in cells])
    mechanisms = (Mechanism(2), Mechanism(3))
    return Known(np.arange(8.0).reshape(4, 2), candidates, np.array([0, 2]), mechanisms)


def test_under_a_mechanism_the_evidence_is_how_likely_each_cell_is():
    mechanism = skewed(4)
    known, _ = table(0, 30, mechanisms=[Mechanism(3), mechanism], exclusions=(0, 1, 2, 3))
    np.testing.assert_array_equal(known.evidence[:, :3], known.candidates[:, :3])
    for cell, found in zip(known.candidates[:, 3:], known.evidence[:, 3:], strict=True):
        excluded = np.flatnonzero(~cell)
        likely = np.array([probability(mechanism, excluded, value) for value in range(4)])
        np.testing.assert_allclose(found, likely / likely.max())


def test_some_rows_are_known_as_they_were_among_all():
    known, _ = table(1, 20, mechanisms=[skewed(3), Mechanism(4)])
    assert known.evidence.shape == (20, 7)  # and is kept
    rows = np.array([3, 5, 11])
    some = known.some(rows)
    np.testing.assert_array_equal(some.features, known.features[rows])
    np.testing.assert_array_equal(some.evidence, known.evidence[rows])
    assert some.mechanisms == known.mechanisms


def test_shuffled_cells_are_the_same_cells_with_evidence_of_their_own():
    known, _ = table(3, 50, mechanisms=[skewed(3), Mechanism(4)])
    before, mixed = known.evidence, known.shuffled(seed=0)
    np.testing.assert_array_equal(mixed.features, known.features)
    np.testing.assert_array_equal(
        np.sort(mixed.candidates, axis=0), np.sort(known.candidates, axis=0)
    )
    assert known.evidence is before
    assert (mixed.evidence != before).any()


def test_shares_of_rows_by_hand_and_alike_where_no_cell_tells_anything():
    known = small()
    first, second = known.shares()
    np.testing.assert_allclose(first, [0.5, 0.5])
    np.testing.assert_allclose(second, [1 / 3] * 3)  # each is ruled out by one of three cells
    first, second = known.shares(np.array([True, False, True, False]))
    np.testing.assert_allclose(first, [0, 1])
    np.testing.assert_allclose(second, [1, 0, 0])  # 1 − 2 · 0, and 1 − 2 · 1/2 of the others
    first, second = small().shares(np.array([False, False, False, True]))
    np.testing.assert_allclose(first, [0.5, 0.5])
    np.testing.assert_allclose(second, [1 / 3] * 3)
    nobody = np.zeros(4, dtype=bool)
    np.testing.assert_allclose(small().shares(nobody)[1], [1 / 3] * 3)
    np.testing.assert_array_equal(all_but(np.array([0, 2]), 4), [False, True, False, True])
    np.testing.assert_array_equal(all_but(np.array([], dtype=int), 2), [True, True])


# Honest cells are not accused, others are, and it is known what would be noticed.


def favoring(size, value, times):
    rates = np.where(np.eye(size, dtype=bool), 0, np.where(np.arange(size) == value, times, 1.0))
    return Mechanism.of(size, rates / rates.sum(axis=1, keepdims=True))


def rows(rng, n, size, *, sharpness=1.0):
    prior = rng.dirichlet(np.broadcast_to(sharpness, size), size=n)
    values = (prior.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return prior, values


def cells_of_priors(rng, mechanism, values, exclusions=1):
    sizes = np.broadcast_to(exclusions, len(values)).copy()
    return mechanism.draw(values, sizes, rng.random((len(values), mechanism.size)))


def test_surprises_are_those_worked_by_hand():
    # Of eight rows, the two that find the third value the least probable rule it out both, though
    # half of such cells may; of the four next to nothing, three do.
    prior = np.array([[0.5, 0.5 - p, p] for p in np.arange(8) / 20])
    excluded = [2, 2, 2, 0, 1, 0, 1, 0]
    found = Uniformity(prior, np.arange(3) != np.array(excluded)[:, None], Mechanism(3))
    quarter, half = found.surprises[0, 1:3, 2]
    assert quarter == pytest.approx(2 * log(2))
    assert half == pytest.approx(4 * (0.75 * log(1.5) + 0.25 * log(0.5)))
    assert found.surprises[0, 3, 2] == 0  # of all rows, three in eight
    assert found.threshold == pytest.approx(log(2 * 4 * 3 / 0.001))
    assert not found.refuted


@pytest.mark.parametrize(("size", "exclusions"), [(3, 1), (5, 1), (5, (1, 2, 3))])
def test_honest_cells_are_not_accused_even_where_bounds_are_reached(size, exclusions):
    rng = np.random.default_rng(size)
    mechanism = Mechanism(size)
    for _ in range(100):
        prior, _ = rows(rng, 200, size)
        values = prior.argmax(axis=1)  # all other ranks are ruled out as often as possible
        sizes = rng.choice(np.atleast_1d(exclusions), 200)
        assert not Uniformity(
            prior, cells_of_priors(rng, mechanism, values, sizes), mechanism
        ).refuted


def test_honest_rows_that_judge_each_other_are_not_accused():
    rng = np.random.default_rng(1)
    mechanism = Mechanism(4)
    for _ in range(100):
        hidden = cells_of_priors(rng, mechanism, np.zeros(400, dtype=int))
        # Each row of a pair finds improbable what the other's cell rules out.
        prior = np.roll(hidden.reshape(200, 2, 4), 1, axis=1).reshape(400, 4) / 3.0
        assert not Uniformity(prior, hidden, mechanism, mutual=True).refuted


def near_the_truth(rng, values, size, times):
    """Return cells that rule out one value, neighbors of the true one so many times as often."""
    apart = np.abs(np.arange(size) - values[:, None])
    weights = np.where(apart == 1, times, 1.0) * (apart > 0)
    chosen = weights.cumsum(axis=1) > rng.random((len(values), 1)) * weights.sum(axis=1)[:, None]
    return np.arange(size) != chosen.argmax(axis=1)[:, None]


def test_surprises_of_neighbors_are_those_worked_by_hand():
    # Of eight rows, each sure of the middle one of five values, six rule out a neighbor of it, though
    # half of them may; of the others, of which half of the rows may rule one out, the first two do.
    prior = np.array([[0.1, 0.1 - p, 0.6 + 2 * p, 0.1 - p, 0.1] for p in np.arange(8) / 100])
    excluded = [0, 4, 1, 3, 1, 3, 1, 3]
    cells = np.arange(5) != np.array(excluded)[:, None]
    found = Uniformity(prior, cells, Mechanism(5), ordered=True)
    near, far = found.neighbors
    assert near[3] == pytest.approx(8 * (0.75 * log(1.5) + 0.25 * log(0.5)))
    assert near[1:3] == pytest.approx([2 * log(2), 4 * log(2)])  # the surest two, and four
    assert far == pytest.approx([log(2), 2 * log(2), 0, 0])
    assert found.threshold == pytest.approx(log(2 * 4 * 6 / 0.001))
    assert (Uniformity(prior, cells, Mechanism(5)).neighbors == 0).all()


@pytest.mark.parametrize(("size", "exclusions"), [(3, 1), (5, 1), (7, (1, 2, 4))])
def test_honest_cells_of_values_in_order_are_not_accused(size, exclusions):
    rng = np.random.default_rng(size)
    mechanism = Mechanism(size)
    for _ in range(100):
        prior, _ = rows(rng, 200, size, sharpness=0.3)
        values = prior.argmax(axis=1)  # so that neighbors are ruled out as often as possible
        sizes = rng.choice(np.atleast_1d(exclusions), 200)
        hidden = cells_of_priors(rng, mechanism, values, sizes)
        assert not Uniformity(prior, hidden, mechanism, ordered=True).refuted


def test_neighbors_that_are_ruled_out_more_often_show_only_where_an_order_is_known():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 600, 6, sharpness=0.1)
    hidden = near_the_truth(rng, values, 6, 4.0)
    assert Uniformity(prior, hidden, Mechanism(6), ordered=True).refuted
    assert not Uniformity(prior, hidden, Mechanism(6)).refuted
    far = near_the_truth(rng, values, 6, 0.1)  # as people do who confuse neighbors
    assert Uniformity(prior, far, Mechanism(6), ordered=True).refuted


def test_a_bias_that_shares_hide_shows_where_the_value_is_improbable():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 1500, 4, sharpness=[0.5, 0.2, 0.2, 0.2])  # the first is common
    hidden = cells_of_priors(rng, favoring(4, 0, 2.5), values)
    assert not len(Mechanism(4).too_often(hidden))
    assert Uniformity(prior, hidden, Mechanism(4), mutual=True).refuted


@pytest.mark.parametrize("first", [True, False], ids=["likeliest", "least likely"])
def test_cells_that_follow_what_looks_plausible_are_noticed_by_rank(first):
    prior, values = rows(np.random.default_rng(0), 600, 4)
    looks = np.where(np.arange(4) == values[:, None], np.nan, prior)
    excluded = np.nanargmax(looks, axis=1) if first else np.nanargmin(looks, axis=1)
    hidden = np.arange(4) != excluded[:, None]
    assert not len(Mechanism(4).too_often(hidden))
    assert Uniformity(prior, hidden, Mechanism(4)).refuted


def test_cells_of_a_mechanism_are_refuted_by_another_one_only():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 1000, 5)
    mechanism = favoring(5, 1, 4.0)
    hidden = cells_of_priors(rng, mechanism, values, 2)
    assert not Uniformity(prior, hidden, mechanism).refuted
    assert Uniformity(prior, hidden, Mechanism(5)).refuted


def test_copies_that_share_one_count_say_what_one_of_them_says():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 80, 3)
    hidden = cells_of_priors(rng, Mechanism(3), values)
    once = Uniformity(prior, hidden, Mechanism(3))
    thrice = Uniformity(
        prior.repeat(3, axis=0), hidden.repeat(3, axis=0), Mechanism(3), counts=np.full(240, 1 / 3)
    )
    np.testing.assert_allclose(thrice.surprises, once.surprises, atol=1e-12)


def test_empty_and_exact_cells_neither_accuse_nor_notice():
    exact, empty = np.eye(3, dtype=bool)[[0] * 50], np.ones((50, 3), dtype=bool)
    found = Uniformity(np.full((100, 3), 1 / 3), np.vstack([exact, empty]), Mechanism(3))
    assert (found.refuted, found.noticed_bias) == (False, None)


@pytest.mark.parametrize(
    ("size", "exclusions"), [(3, 1), pytest.param(5, (1, 2), marks=pytest.mark.slow)]
)
def test_a_bias_beyond_the_one_reported_is_noticed_whichever_value_it_favors(size, exclusions):
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 2000, size, sharpness=0.3)
    sizes = rng.choice(np.atleast_1d(exclusions), len(values))
    found = Uniformity(prior, cells_of_priors(rng, Mechanism(size), values, sizes), Mechanism(size))
    assert not found.refuted

    def noticed(bias):
        return [
            np.mean(
                [
                    Uniformity(
                        prior,
                        cells_of_priors(rng, favoring(size, value, bias), values, sizes),
                        Mechanism(size),
                    ).refuted
                    for _ in range(20)
                ]
            )
            for value in range(size)
        ]

    assert min(noticed(1.02 * found.noticed_bias)) >= 0.95
    assert min(noticed(found.noticed_bias**0.6)) < 0.95  # so that the bound is worth something


def test_where_the_ofs_say_nothing_no_bias_is_noticed_among_three_values():
    rng = np.random.default_rng(0)
    hidden = cells_of_priors(rng, Mechanism(3), rng.integers(0, 3, 3000))
    found = Uniformity(rng.dirichlet(np.ones(3), size=3000), hidden, Mechanism(3))
    # A third of the rows have the value: however readily, it is ruled out by two thirds at most …
    assert found.noticed_bias > 3  # … and by half of them, which may be, at three times as readily
    common = cells_of_priors(rng, Mechanism(3), rng.choice(3, 3000, p=[0.6, 0.2, 0.2]))
    uninformed = Uniformity(rng.dirichlet(np.ones(3), size=3000), common, Mechanism(3))
    assert uninformed.noticed_bias is None


def test_cells_that_rule_out_more_where_priors_are_surer_are_refuted():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 600, 5)
    sure = prior.max(axis=1) > np.median(prior.max(axis=1))
    uneven = cells_of_priors(rng, Mechanism(5), values, np.where(sure, 3, 1))
    even = cells_of_priors(rng, Mechanism(5), values, np.where(rng.permutation(sure), 3, 1))
    found = Uniformity(prior, uneven, Mechanism(5), mutual=True)
    assert found.uneven
    assert found.refuted
    assert (found.surprises < found.threshold).all()  # each cell by itself is an honest one
    assert not Uniformity(prior, even, Mechanism(5)).refuted
    few = slice(11)  # which may be chance
    assert not Uniformity(prior[few], uneven[few], Mechanism(5)).uneven


def test_the_correlation_is_spearmans():
    rng = np.random.default_rng(1)
    prior, values = rows(rng, 300, 4)
    exclusions = 1 + np.arange(300) % 2  # halves, of which a correlation can be largest
    table = cells_of_priors(rng, Mechanism(4), values, exclusions)
    expected = abs(spearmanr(exclusions, prior.max(axis=1)).statistic)
    for limit, so in ((expected - 1e-9, True), (expected + 1e-9, False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(uniformity, "UNEVEN", limit)
            assert Uniformity(prior, table, Mechanism(4), level=1.0).uneven == so


def test_a_smaller_level_takes_more_to_refute():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 60, 5)
    sure = prior.max(axis=1) > np.median(prior.max(axis=1))
    table = cells_of_priors(rng, Mechanism(5), values, np.where(sure, 3, 1))
    # Spearman's correlation of halves is 0.87, or 6.7 standard errors: 2e-11 by chance.
    strict, stricter = (Uniformity(prior, table, Mechanism(5), level=by) for by in (1e-9, 1e-12))
    assert (strict.uneven, stricter.uneven) == (True, False)
    assert strict.threshold == pytest.approx(log(8 * 5 / 1e-9))
    # Rows that were hidden in turn count half: 4.7 standard errors, 3e-6 by chance.
    in_turn = [Uniformity(prior, table, Mechanism(5), level=by, mutual=True) for by in (1e-5, 1e-6)]
    assert [found.uneven for found in in_turn] == [True, False]
    never = np.ones((200, 4), dtype=bool)
    never[:150, 3] = False  # three in four, where a third is possible: 200·KL = 72.6
    never[150:, 0] = False
    assert Mechanism(4).too_often(never, level=1e-30).tolist() == [3]
    assert Mechanism(4).too_often(never, level=1e-31).tolist() == []
