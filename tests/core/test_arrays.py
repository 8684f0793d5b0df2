"""Blocks, groups, posteriors and scores are those of a plain loop, and those worked by hand."""

from math import log

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cfl_cli.core.arrays import (
    Fallback,
    columns,
    components,
    entropies,
    halves,
    linked,
    log_scores,
    most_confident,
    normalise,
    posterior,
    ranks,
    sizes,
    start,
    sums_by,
    totals,
)
from cfl_cli.core.draws import (
    NAMED,
    PER_NAME,
    chances,
    draw,
    folds,
    order,
    shuffled,
    some,
    stream_of,
)

BLOCKS = np.array([0, 3])


def test_blocks_are_summed_and_scaled_one_by_one():
    mass = np.array([[1.0, 1, 2, 0, 0, 0, 0], [0, 0, 0, 1, 2, 3, 4]])
    assert list(sizes(BLOCKS, 7)) == [3, 4]
    assert columns(BLOCKS, 7) == [slice(0, 3), slice(3, 7)]
    np.testing.assert_array_equal(totals(mass, BLOCKS), [[4, 0], [0, 10]])
    np.testing.assert_array_equal(normalise(mass, BLOCKS, out=mass), [[4, 0], [0, 10]])
    np.testing.assert_allclose(mass, [[0.25, 0.25, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.1, 0.2, 0.3, 0.4]])


def test_entropy_is_shannons_with_the_natural_log():
    rows = np.array([[1, 0, 0, 0.25, 0.25, 0.25, 0.25], [0.7, 0.2, 0.1, 0.5, 0.5, 0, 0]])
    # −0.7 ln 0.7 − 0.2 ln 0.2 − 0.1 ln 0.1 = 0.249672 + 0.321888 + 0.230259
    expected = [[0, np.log(4)], [0.801819, np.log(2)]]
    np.testing.assert_allclose(entropies(rows, BLOCKS), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_blocks_are_scaled_as_a_loop_over_rows_and_values_scales_them(kind):
    mass = np.random.default_rng(0).random((30, 7)).astype(kind)
    mass[::4, :3] = 0
    out = np.empty_like(mass)
    total = normalise(mass, BLOCKS, out=out)
    assert total.dtype == kind
    for row in range(30):
        for cf, block in enumerate((range(3), range(3, 7))):
            whole = sum(float(mass[row, value]) for value in block)
            assert total[row, cf] == pytest.approx(whole, rel=1e-6)
            for value in block:
                assert out[row, value] == pytest.approx(mass[row, value] / (whole or 1), rel=1e-6)


def test_at_the_start_all_candidates_are_alike_or_as_likely_as_the_evidence_has_it():
    candidates = np.array([[1, 0, 1, 1, 1, 1, 1], [0, 0, 1, 0, 1, 1, 0]], dtype=bool)
    expected = [[0.5, 0, 0.5, 0.25, 0.25, 0.25, 0.25], [0, 0, 1, 0, 0.5, 0.5, 0]]
    np.testing.assert_array_equal(start(candidates, BLOCKS), expected)
    likelihood = np.array([[1, 0.5, 0.5, 1, 0, 0, 0.25]])
    np.testing.assert_allclose(start(likelihood, BLOCKS), [[0.5, 0.25, 0.25, 0.8, 0, 0, 0.2]])


def test_groups_are_counted_summed_and_halved():
    np.testing.assert_array_equal(ranks(np.array([7, 3, 7, 9, 3])), [0, 1, 0, 2, 1])
    numbers = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(sums_by(np.array([5, 2, 5, 5]), numbers), [13, 2])
    np.testing.assert_array_equal(
        sums_by(np.array([0, 1, 0, 1]), np.outer(numbers, [1, 10])), [[5, 50], [10, 100]]
    )
    assert sums_by(None, numbers) is numbers
    np.testing.assert_array_equal(halves(5), [True, False, True, False, True])
    groups = np.array([4, 4, 1, 8, 1, 8, 4])
    np.testing.assert_array_equal(halves(7, groups), [True, True, False, True, False, True, True])
    np.testing.assert_array_equal(halves(5, np.arange(5)), halves(5))


def test_links_join_rows_and_groups_as_scipy_says():
    alone = linked(5, np.array([3, 4]), np.array([1, 3]))
    np.testing.assert_array_equal(ranks(alone), [0, 1, 2, 1, 1])
    both = linked(6, np.array([3]), np.array([1]), np.array([0, 0, 1, 2, 2, 3]))
    np.testing.assert_array_equal(ranks(both), [0, 0, 1, 0, 0, 2])
    rng = np.random.default_rng(0)
    for n, links in [(1, 0), (2, 1), (30, 12), (30, 25), (300, 290), (300, 2000)]:
        one, other = rng.integers(n, size=(2, links))
        table = coo_array((np.ones(links), (one, other)), shape=(n, n))
        expected = connected_components(table, directed=False)[1]
        np.testing.assert_array_equal(components(n, one, other), expected)
    chain = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(components(500, chain[:-1], chain[1:]), 0)


PAIR = np.array([0, 2])
COLUMNS = (slice(0, 2), slice(2, 5))


def by_bayes(prior, evidence, fallback):
    """The posterior of one row's one CF, value by value, and the mass."""
    joint = [p * e for p, e in zip(prior, evidence, strict=True)]
    mass = sum(joint)
    if mass > 0:
        return [each / mass for each in joint], mass
    if fallback is Fallback.PRIOR:
        return list(prior), mass
    return [e / sum(evidence) for e in evidence], mass


def case(kind, seed=0, n=50):
    """Priors and cells of two CFs; some priors rule out what the cell leaves."""
    rng = np.random.default_rng(seed)
    priors = np.hstack([rng.dirichlet(np.ones(size), size=n) for size in (2, 3)]).astype(kind)
    cells = rng.random((n, 5))
    cells[:, 0], cells[:, 2] = 1, 1
    cells[::2] = np.ceil(cells[::2] - 0.5)
    priors[::7, :2], cells[::7, :2] = [1, 0], [0, 1]
    priors[3::7, 2:], cells[3::7, 2:] = [0, 0, 1], [0.25, 1, 0]
    return priors, cells.astype(kind)


@pytest.mark.parametrize("fallback", Fallback)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_cells_are_applied_as_a_loop_over_rows_and_values_applies_them(fallback, kind):
    priors, cells = case(kind)
    close = {"rtol": 1e-5 if kind is np.float32 else 1e-12}
    found, mass = posterior(priors, cells, over=PAIR, fallback=fallback)
    assert found.dtype == mass.dtype == kind
    assert (mass == 0).sum() > 10
    for cf, block in enumerate(COLUMNS):
        rows = zip(priors[:, block], cells[:, block], strict=True)
        expected, left = zip(*(by_bayes(*row, fallback) for row in rows), strict=True)
        np.testing.assert_allclose(found[:, block], expected, **close)
        np.testing.assert_allclose(mass[:, cf], left, **close)
        one, own = posterior(priors[:, block], cells[:, block], over=1, fallback=fallback)
        np.testing.assert_allclose(one, expected, **close)
        np.testing.assert_allclose(own[:, 0], left, **close)
        turned, own = posterior(priors[:, block].T, cells[:, block].T, over=0, fallback=fallback)
        np.testing.assert_allclose(turned.T, expected, **close)
        np.testing.assert_allclose(own[0], left, **close)


def test_a_cell_that_leaves_nothing_at_all_gives_no_confidence_to_fall_back_on():
    found, mass = posterior(
        np.array([[0.5, 0.5]]), np.zeros((1, 2)), over=1, fallback=Fallback.CELL
    )
    np.testing.assert_array_equal(found, [[0, 0]])
    np.testing.assert_array_equal(mass, [[0]])


@pytest.mark.parametrize("shape", [(40,), (40, 6)])
def test_the_most_confident_value_is_the_posteriors_first(shape):
    rng = np.random.default_rng(1)
    prior = rng.dirichlet(np.ones(4), size=shape)
    likelihood = rng.integers(0, 3, size=(*shape, 4)) / 2
    likelihood[..., 3] = 0.5
    prior[::3] = [1, 0, 0, 0]
    likelihood[::3, ..., 0] = 0  # and nothing is left
    answers, confidences = most_confident(prior, likelihood)
    for place in np.ndindex(shape):
        expected, _ = by_bayes(prior[place], likelihood[place], Fallback.CELL)
        assert answers[place] == int(np.argmax(expected))
        assert confidences[place] == pytest.approx(max(expected))


def test_equal_values_go_by_their_order_and_nothing_at_all_has_no_confidence():
    prior = np.array([[0.2, 0.4, 0.4], [0.5, 0.5, 0.0]])
    answers, confidences = most_confident(prior, np.array([[1.0, 1, 1], [0, 0, 0]]))
    assert answers.tolist() == [1, 0]
    np.testing.assert_allclose(confidences, [0.4, 0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_log_score_by_hand(kind):
    priors = np.array([[0.5, 0.3, 0.2], [1, 0, 0]], dtype=kind)
    cells = np.array([[True, False, True], [False, True, True]])
    expected = [log(0.7), log(1e-12)]  # the second cell rules out all that its prior allows
    np.testing.assert_allclose(log_scores(priors, cells, over=1), expected, rtol=1e-6)
    turned = log_scores(priors.T, cells.T.astype(kind), over=0)
    np.testing.assert_allclose(turned, expected, rtol=1e-6)
    assert turned.dtype == kind


def test_every_cf_has_a_score_of_its_own():
    rng = np.random.default_rng(0)
    priors = np.hstack([rng.dirichlet(np.ones(size), size=20) for size in (3, 4)])
    likelihoods = rng.random((20, 7))
    found = log_scores(priors, likelihoods, over=BLOCKS)
    for row in range(20):
        for cf, values in enumerate((range(3), range(3, 7))):
            mass = sum(priors[row, value] * likelihoods[row, value] for value in values)
            assert found[row, cf] == pytest.approx(log(mass))


def test_the_true_distribution_has_the_highest_score_in_expectation():
    truth = np.array([0.6, 0.3, 0.1])
    cells = np.eye(3)  # exact ones, as often as their value is true
    others = np.random.default_rng(1).dirichlet(np.ones(3), size=200)
    best = truth @ log_scores(np.tile(truth, (3, 1)), cells, over=1)
    for other in others:
        assert truth @ log_scores(np.tile(other, (3, 1)), cells, over=1) < best


BLOCKS_of_draws = np.array([0, 3])


@pytest.mark.parametrize(("n", "parts"), [(10, 5), (11, 5), (3, 5), (1, 2), (1000, 7)])
def test_folds_hold_every_row_once_and_are_of_equal_size_or_nearly(n, parts):
    dealt = folds(n, parts, seed=0)
    assert sorted(np.concatenate(dealt)) == list(range(n))
    lengths = {len(fold) for fold in dealt}
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) >= 1
    assert len(dealt) == min(n, parts)
    assert all((np.diff(fold) > 0).all() for fold in dealt)


def test_without_parts_groups_of_several_rows_or_enough_groups_folds_are_what_they_can_be():
    assert folds(10, 0, seed=0) == []
    for n, parts in ((103, 5), (3, 5), (40, 0)):
        plain, grouped = folds(n, parts, 7), folds(n, parts, 7, np.arange(n)[::-1])
        assert len(plain) == len(grouped)
        for one, other in zip(plain, grouped, strict=True):
            np.testing.assert_array_equal(one, other)
    assert [len(fold) for fold in folds(6, 5, 0, np.array([0, 0, 0, 1, 1, 1]))] == [3, 3]


def test_draws_are_those_of_any_version():
    # splitmix64's finaliser, worked with Python's whole numbers
    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    golden = 0x9E3779B97F4A7C15
    seed, stream = mix((5 + golden) % 2**64), mix((7 + golden) % 2**64)
    expected = [mix(mix((row + seed) % 2**64) ^ stream) for row in range(4)]
    assert draw(np.arange(4), 7, 5).tolist() == expected


def test_shuffling_keeps_every_cfs_cells_and_moves_them_apart():
    cells = np.arange(700).reshape(100, 7)
    mixed = shuffled(cells, BLOCKS_of_draws, seed=0)
    for block in (slice(0, 3), slice(3, 7)):
        assert sorted(map(tuple, mixed[:, block])) == sorted(map(tuple, cells[:, block]))
    assert (mixed[:, 0] // 7 != mixed[:, 3] // 7).mean() > 0.9  # each CF by itself
    assert (mixed[:, 0] != cells[:, 0]).mean() > 0.9


def test_names_have_streams_that_never_change_and_a_seed_its_draws():
    digest = 0xAE5ED715762BCF24  # printf job | b2sum --length 64
    assert stream_of("job") == NAMED | digest - digest % PER_NAME
    streams = {stream_of(f"cf{number}") for number in range(1000)}
    assert len(streams) == 1000
    assert all(NAMED <= stream <= 2**64 - PER_NAME for stream in streams)
    assert list(order(50, 1, seed=3)) == list(order(50, 1, seed=3))
    assert list(order(50, 1, seed=3)) != list(order(50, 1, seed=4))
    assert list(order(50, 1, seed=3)) != list(order(50, 2, seed=3))
    one, other = folds(100, 5, seed=0)[0], folds(100, 5, seed=1)[0]
    assert set(one) != set(other)


def test_chances_are_spread_evenly_below_one():
    found = chances(np.arange(100_000), stream_of("job"), seed=0)
    assert 0 <= found.min() < 1e-3
    assert 1 - 1e-3 < found.max() < 1
    counts = np.histogram(found, bins=20, range=(0, 1))[0]
    assert ((counts - 5000) ** 2 / 5000).sum() < 45.3  # chi-squared, 19 degrees: 1 in 1,500
    other = chances(np.arange(100_000), stream_of("job") + 1, seed=0)
    assert abs(np.corrcoef(found, other)[0, 1]) < 0.01


def test_groups_are_dealt_whole_into_folds_of_nearly_equal_size():
    groups = np.repeat(np.arange(60), np.arange(60) % 4 + 1)[
        np.random.default_rng(0).permutation(150)
    ]
    dealt = folds(150, 5, 0, groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(dealt)), np.arange(150))
    for one in range(5):
        for other in range(one):
            assert not np.intersect1d(groups[dealt[one]], groups[dealt[other]]).size
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


@pytest.mark.parametrize("at_once", [1, 7, 1000])
def test_some_rows_are_those_with_the_smallest_random_numbers_in_their_order(at_once):
    numbers = draw(np.arange(50), 9, 3)
    expected = sorted(sorted(range(50), key=lambda row: numbers[row])[:12])
    assert some(50, 12, 9, 3, at_once=at_once).tolist() == expected
    assert some(50, 50, 9, 3, at_once=at_once).tolist() == [*range(50)]
