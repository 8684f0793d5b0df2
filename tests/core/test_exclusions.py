import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed

from cfl_cli.core.exclusions import Mechanism, distinct


def simulate(mechanism, shares, n, rng, sizes=(1,)):
    """Draw n rows with values and cells."""
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


def test_shares_by_hand():
    # Two cells rule out the first value, one the second, none the third; one is empty.
    candidates = np.array(
        [[False, True, True], [False, True, True], [True, False, True], [True, True, True]]
    )
    shares = Mechanism(3).shares(candidates)
    np.testing.assert_allclose(shares.values, [1 - 2 * 2 / 3, 1 - 2 / 3, 1])
    np.testing.assert_allclose(shares.prior, [0, 1 / 4, 3 / 4])
    # 1 − 2x with x of variance 2/9 over 3 rows, one of them for the mean.
    np.testing.assert_allclose(shares.errors, [2 / 3, 2 / 3, 0], atol=1e-12)


def test_without_a_cell_that_tells_anything_there_are_no_shares():
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
    assert not mechanism.distinguishes_values
    assert skewed(4).distinguishes_values
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
