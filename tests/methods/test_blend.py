import numpy as np
import pytest
from scipy.optimize import minimize

from cfl_cli.core.arrays import halves
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.methods import blend
from cfl_cli.methods.blend import Right, blended, fit, geometric_mean


def case(m=400, size=4, sharpness=(2.0, 1.0), seed=0):
    """Priors of several parts, parts × m × K, each the truth seen through noise, and the cells."""
    rng = np.random.default_rng(seed)
    values = rng.integers(size, size=m)
    truth = np.eye(size)[values]
    scores = [sharp * truth + rng.normal(size=(m, size)) for sharp in sharpness]
    priors = [np.exp(at) / np.exp(at).sum(axis=1, keepdims=True) for at in scores]
    cells = Mechanism(size).draw(values, np.ones(m, dtype=int), rng.random((m, size)))
    return priors, cells


def objective(weights, priors, cells):
    """How well a blend predicts the cells, as the module says it, row by row."""
    total = sum(np.log(weights))
    for row, cell in enumerate(cells):
        blended = np.prod(
            [part[row] ** by for part, by in zip(priors, weights, strict=True)], axis=0
        )
        total += np.log(blended[cell].sum() / blended.sum())
    return total


def test_two_weights_are_those_that_a_grid_search_finds():
    priors, cells = case(m=150)
    grid = np.linspace(0.005, 0.995, 199)
    best = grid[np.argmax([objective([one, 1 - one], priors, cells) for one in grid])]
    assert 0.1 < best < 0.95  # a blend that is one
    assert fit(priors, cells).weights[0] == pytest.approx(best, abs=0.005)


def test_three_weights_are_those_that_a_search_without_slopes_finds():
    priors, cells = case(m=120, sharpness=(1.5, 1.0, 1.2), seed=1)

    def loss(scores):
        weights = np.exp([*scores, 0])
        return -objective(weights / weights.sum(), priors, cells)

    found = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-4})
    expected = np.exp([*found.x, 0])
    np.testing.assert_allclose(fit(priors, cells).weights, expected / expected.sum(), atol=2e-3)


def test_a_mechanisms_likelihoods_count_as_they_are():
    priors, cells = case(m=100)
    evidence = np.where(cells, 0.7, 0.2)
    found = fit(priors, evidence).weights

    def at(one):
        blended = priors[0] ** one * priors[1] ** (1 - one)
        mass = (blended * evidence).sum(axis=1) / blended.sum(axis=1)
        return np.log(mass).sum() + np.log(one) + np.log(1 - one)

    grid = np.linspace(0.005, 0.995, 199)
    assert found[0] == pytest.approx(grid[np.argmax([at(one) for one in grid])], abs=0.005)


def test_a_part_that_is_clearly_worse_is_dropped():
    priors, cells = case(m=1000, sharpness=(3.0, -3.0))
    np.testing.assert_array_equal(fit(priors, cells).weights, [1, 0])


def test_equal_parts_share_alike():
    (priors, _), cells = case()
    np.testing.assert_allclose(fit([priors, priors, priors], cells).weights, [1 / 3] * 3, atol=1e-4)


def test_parts_that_hidden_cells_cannot_distinguish_stay_in():
    priors, _ = case(m=50)
    nothing = np.ones((50, 4), dtype=bool)
    np.testing.assert_allclose(fit(priors, nothing).weights, [0.5, 0.5], atol=1e-4)


def test_a_blend_of_parts_that_err_apart_predicts_cells_better_than_either():
    priors, cells = case(m=2000, sharpness=(1.5, 1.5))
    found = fit(priors, cells)
    score = np.log((found.prior * cells).sum(axis=1)).mean()
    assert score > found.scores.max() + 0.01
    for part, score in zip(priors, found.scores, strict=True):
        assert score == pytest.approx(np.log((part * cells).sum(axis=1)).mean())


def test_the_geometric_mean_by_hand():
    parts = np.log([[[0.8, 0.2]], [[0.5, 0.5]]])
    np.testing.assert_allclose(geometric_mean(parts, np.array([0.5, 0.5])), [[2 / 3, 1 / 3]])
    np.testing.assert_allclose(geometric_mean(parts, np.array([1.0, 0.0])), [[0.8, 0.2]])


@pytest.mark.parametrize("half", [0, 1])
def test_a_half_of_the_hidden_rows_is_blended_by_what_the_other_half_favors(half):
    priors, cells = case(m=200)
    own, other = slice(half, None, 2), slice(1 - half, None, 2)
    changed = cells.copy()
    changed[own] = np.roll(cells[own], 1, axis=1)
    before, after = fit(priors, cells), fit(priors, changed)
    np.testing.assert_array_equal(before.prior[own], after.prior[own])
    assert (before.prior[other] != after.prior[other]).any()
    alone = fit([part[other] for part in priors], cells[other]).weights
    expected = priors[0][own] ** alone[0] * priors[1][own] ** alone[1]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(before.prior[own], expected)


def test_one_part_alone_stays_as_it_is():
    (priors, _), cells = case(m=5)
    found = fit([priors], cells)
    np.testing.assert_array_equal(found.weights, [1])
    assert found.prior is priors


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_a_handful_of_hidden_rows_is_enough(rows):
    priors, cells = case(m=rows)
    found = fit(priors, cells)
    assert found.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.prior.sum(axis=1), 1)


def test_what_one_part_rules_out_another_may_still_know():
    sure, other = np.array([[1.0, 0.0, 0.0]] * 4), np.array([[0.2, 0.4, 0.4]] * 4)
    cells = np.array([[False, True, True]] * 4)  # the first part is wrong in every row
    found = fit([sure, other], cells)
    assert np.isfinite(found.scores).all()
    assert found.weights[1] > found.weights[0]
    assert np.isfinite(found.prior).all()


def test_parts_are_blended_by_weights_and_what_one_rules_out_is_not_lost():
    one, two = np.array([[0.8, 0.2], [0.0, 1.0]]), np.array([[0.5, 0.5]] * 2)
    found = blended([one, two], np.array([0.5, 0.5]))
    np.testing.assert_allclose(found[0], [2 / 3, 1 / 3])
    np.testing.assert_allclose(found[1], [1 / 1001, 1000 / 1001])  # 10⁻⁶ is left of 0


def test_a_part_alone_is_what_it_is_and_the_rest_are_not_asked():
    alone = np.array([[0.9, 0.1], [0.0, 1.0]])
    np.testing.assert_array_equal(blended([None, alone], np.array([0.0, 1.0])), alone)


def test_the_slope_that_weights_are_found_by_is_that_of_the_objective(monkeypatch):
    priors, cells = case(m=60, sharpness=(2.0, 1.0, 0.5))
    seen = []

    def listen(loss, start, **options):
        seen.append(loss)
        return minimize(loss, start, **options)

    monkeypatch.setattr("scipy.optimize.minimize", listen)
    fit(priors, cells)
    at = np.array([0.3, -0.2, 0.1])
    _, slope = seen[-1](at)
    for place, step in enumerate(1e-5 * np.eye(3)):
        ends = []
        for end in (at + step, at - step):
            weights = np.exp(end) / np.exp(end).sum()
            ends.append(-objective(weights, priors, cells))
        assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-4)


@pytest.mark.parametrize(("often", "expected"), [(0.95, [0, 1]), (0.5, [0.5, 0.5])])
def test_a_part_that_is_right_clearly_more_often_answers_alone(often, expected):
    rng = np.random.default_rng(0)
    m, size = 3000, 4
    values = rng.integers(size, size=m)
    cells = Mechanism(size).draw(values, np.ones(m, dtype=int), rng.random((m, size)))

    def right(share):  # the first value is right so often; how sure the prior is stays the same
        first = np.where(rng.random(m) < share, values, (values + 1) % size)
        return 0.1 + 0.6 * np.eye(size)[first]

    priors = [right(0.5), right(often)]
    right = Right.of(cells, Mechanism(size))
    clearly = right.clearly_more(priors, priors[0], np.ones(m, dtype=bool))
    assert (
        np.eye(2)[clearly].tolist() == expected if clearly is not None else expected == [0.5, 0.5]
    )


def test_empty_cells_decide_nothing():
    priors, empty = [np.eye(2)[[0, 0, 0]]] * 2, np.ones((3, 2), dtype=bool)
    right = Right.of(empty, Mechanism(2))
    assert right.clearly_more(priors, priors[1], np.ones(3, dtype=bool)) is None


def test_a_part_that_answers_alone_is_chosen_by_the_other_half():
    rng = np.random.default_rng(3)
    m, size = 4000, 3
    values = rng.integers(size, size=m)
    cells = Mechanism(size).draw(values, np.ones(m, dtype=int), rng.random((m, size)))
    sure = 0.02 + 0.94 * np.eye(size)[(values + (rng.random(m) < 0.5)) % size]  # right in half
    calm = 0.3 + 0.1 * np.eye(size)[(values + (rng.random(m) < 0.1)) % size]
    usual = np.array([1.0, 0.0])  # the second has no weight unless it answers alone
    found = blend.fit([sure, calm], cells, usual=usual, right=Right.of(cells, Mechanism(size)))
    assert found.weights.tolist() == [0, 1]
    np.testing.assert_array_equal(found.prior, calm)
    one = halves(m)
    other = cells.copy()
    other[one] = True  # one half says nothing: it is blended all the same, the other is not
    right = Right.of(other, Mechanism(size))
    found = blend.fit([sure, calm], other, usual=usual, right=right)
    np.testing.assert_array_equal(found.prior[one], calm[one])
    np.testing.assert_allclose(found.prior[~one], sure[~one])


def test_usual_weights_count_like_so_many_cells():
    priors, cells = case(m=40)
    near = blend.fit(priors[:2], cells, usual=np.array([300.0, 900.0])).weights
    np.testing.assert_allclose(near, [0.25, 0.75], atol=0.03)


def test_rows_that_belong_together_are_blended_by_what_other_rows_favor():
    priors, cells = case(m=200)
    groups = np.repeat(np.arange(100), 2)
    own = halves(200, groups)
    changed = cells.copy()
    changed[own] = np.roll(cells[own], 1, axis=1)
    before, after = (fit(priors, it, groups=groups).prior for it in (cells, changed))
    np.testing.assert_array_equal(before[own], after[own])
    assert (before[~own] != after[~own]).any()
    # The test could have failed: without groups each half holds one row of every pair.
    split = fit(priors, cells).prior, fit(priors, changed).prior
    assert (split[0][own] != split[1][own]).any()


def test_a_cautious_blend_counts_hidden_cells_for_a_tenth():
    priors, cells = case(m=150)
    grid = np.linspace(0.25, 0.75, 101)

    def at(one):
        own = np.log([one, 1 - one]).sum()
        return 0.1 * (objective([one, 1 - one], priors, cells) - own) + own

    found = fit(priors, cells, cautious=True)
    assert found.cautious
    assert found.weights[0] == pytest.approx(grid[np.argmax([at(one) for one in grid])], abs=0.005)
    assert 0.5 < found.weights[0] < fit(priors, cells).weights[0]


def test_a_cautious_blend_is_a_mean_to_which_the_even_distribution_adds_as_one_more_part():
    priors, cells = case(m=200)
    found = fit(priors, cells, cautious=True)
    for own, other in ((0, 1), (1, 0)):
        weights = fit([part[other::2] for part in priors], cells[other::2], cautious=True).weights
        both = weights[0] * priors[0][own::2] + weights[1] * priors[1][own::2]
        np.testing.assert_allclose(found.prior[own::2], 2 / 3 * both + 1 / 3 * 0.25)


def test_the_mean_with_a_bare_cell_by_hand():
    parts = [np.array([[0.8, 0.2, 0.0]]), np.array([[0.2, 0.2, 0.6]])]
    found = blend.with_bare(parts, np.array([0.75, 0.25]), np.array([[0.5, 0.5, 0.0]]))
    np.testing.assert_allclose(found, [[(1.3 + 0.5) / 3, (0.4 + 0.5) / 3, 0.1]])


def test_rows_that_may_choose_do_so_alone():
    priors, cells = case(m=300)
    by = np.arange(300) % 3 == 0
    found = fit(priors, cells, by=by)
    some = [part[by] for part in priors]
    np.testing.assert_allclose(found.weights, fit(some, cells[by]).weights)
    changed = cells.copy()
    changed[~by] = np.roll(cells[~by], 1, axis=1)
    np.testing.assert_array_equal(found.prior, fit(priors, changed, by=by).prior)
    assert (fit(priors, cells).weights != found.weights).any()  # the others would have had a say
