"""Honest cells are not accused, others are, and it is known what would be noticed."""

from math import log

import numpy as np
import pytest
from scipy.stats import spearmanr

from cfl_cli.core import exclusions as uniformity
from cfl_cli.core.exclusions import Mechanism, Uniformity


def favoring(size, value, times):
    """Exclusions of a certain value so many times as readily as of others."""
    rates = np.where(np.eye(size, dtype=bool), 0, np.where(np.arange(size) == value, times, 1.0))
    return Mechanism.of(size, rates / rates.sum(axis=1, keepdims=True))


def rows(rng, n, size, *, sharpness=1.0):
    """Priors, and values that follow them."""
    prior = rng.dirichlet(np.broadcast_to(sharpness, size), size=n)
    values = (prior.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return prior, values


def cells(rng, mechanism, values, exclusions=1):
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
        assert not Uniformity(prior, cells(rng, mechanism, values, sizes), mechanism).refuted


def test_honest_rows_that_judge_each_other_are_not_accused():
    rng = np.random.default_rng(1)
    mechanism = Mechanism(4)
    for _ in range(100):
        hidden = cells(rng, mechanism, np.zeros(400, dtype=int))
        # Each row of a pair finds improbable what the other's cell rules out.
        prior = np.roll(hidden.reshape(200, 2, 4), 1, axis=1).reshape(400, 4) / 3.0
        assert not Uniformity(prior, hidden, mechanism, mutual=True).refuted


def test_a_bias_that_shares_hide_shows_where_the_value_is_improbable():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 1500, 4, sharpness=[0.5, 0.2, 0.2, 0.2])  # the first is common
    hidden = cells(rng, favoring(4, 0, 2.5), values)
    assert not len(Mechanism(4).too_often(hidden))
    assert Uniformity(prior, hidden, Mechanism(4), mutual=True).refuted


@pytest.mark.parametrize("first", [True, False], ids=["likeliest", "least likely"])
def test_cells_that_follow_what_looks_plausible_are_noticed_by_rank(first):
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 600, 4)
    looks = np.where(np.arange(4) == values[:, None], np.nan, prior)
    excluded = np.nanargmax(looks, axis=1) if first else np.nanargmin(looks, axis=1)
    hidden = np.arange(4) != excluded[:, None]
    assert not len(Mechanism(4).too_often(hidden))
    assert Uniformity(prior, hidden, Mechanism(4)).refuted


def test_cells_of_a_mechanism_are_refuted_by_another_one_only():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 1000, 5)
    mechanism = favoring(5, 1, 4.0)
    hidden = cells(rng, mechanism, values, 2)
    assert not Uniformity(prior, hidden, mechanism).refuted
    assert Uniformity(prior, hidden, Mechanism(5)).refuted


def test_copies_that_share_one_count_say_what_one_of_them_says():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 80, 3)
    hidden = cells(rng, Mechanism(3), values)
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
    found = Uniformity(prior, cells(rng, Mechanism(size), values, sizes), Mechanism(size))
    assert not found.refuted

    def noticed(bias):
        """Return how often cells that are drawn anew show each value's bias, K."""
        return [
            np.mean(
                [
                    Uniformity(
                        prior,
                        cells(rng, favoring(size, value, bias), values, sizes),
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
    hidden = cells(rng, Mechanism(3), rng.integers(0, 3, 3000))
    found = Uniformity(rng.dirichlet(np.ones(3), size=3000), hidden, Mechanism(3))
    # A third of the rows have the value: however readily, it is ruled out by two thirds at most …
    assert found.noticed_bias > 3  # … and by half of them, which may be, at three times as readily
    common = cells(rng, Mechanism(3), rng.choice(3, 3000, p=[0.6, 0.2, 0.2]))
    uninformed = Uniformity(rng.dirichlet(np.ones(3), size=3000), common, Mechanism(3))
    assert uninformed.noticed_bias is None


def test_cells_that_rule_out_more_where_priors_are_surer_are_refuted():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 600, 5)
    sure = prior.max(axis=1) > np.median(prior.max(axis=1))
    uneven = cells(rng, Mechanism(5), values, np.where(sure, 3, 1))
    even = cells(rng, Mechanism(5), values, np.where(rng.permutation(sure), 3, 1))
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
    table = cells(rng, Mechanism(4), values, exclusions)
    expected = abs(spearmanr(exclusions, prior.max(axis=1)).statistic)
    for limit, so in ((expected - 1e-9, True), (expected + 1e-9, False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(uniformity, "UNEVEN", limit)
            assert Uniformity(prior, table, Mechanism(4), level=1.0).uneven == so


def test_a_smaller_level_takes_more_to_refute():
    rng = np.random.default_rng(0)
    prior, values = rows(rng, 60, 5)
    sure = prior.max(axis=1) > np.median(prior.max(axis=1))
    table = cells(rng, Mechanism(5), values, np.where(sure, 3, 1))
    # Spearman's correlation of halves is 0.87, or 6.7 standard errors: 2e-11 by chance.
    strict, stricter = (Uniformity(prior, table, Mechanism(5), level=by) for by in (1e-9, 1e-12))
    assert (strict.uneven, stricter.uneven) == (True, False)
    assert strict.threshold == pytest.approx(log(8 * 5 / 1e-9))
    never = np.ones((200, 4), dtype=bool)
    never[:150, 3] = False  # three in four, where a third is possible: 200·KL = 72.6
    never[150:, 0] = False
    assert Mechanism(4).too_often(never, level=1e-30).tolist() == [3]
    assert Mechanism(4).too_often(never, level=1e-31).tolist() == []
