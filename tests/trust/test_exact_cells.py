from itertools import combinations

import numpy as np
import pytest

from cfl_cli.core.arrays import most_confident
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.heldout import HiddenCells, judge
from cfl_cli.trust.intervals import wilson
from cfl_cli.trust.mechanism import (
    ExactAudit,
    audit_exact_cells,
    fit_weights,
    headline,
    log_weights,
    rates,
)

PRIOR = np.array([0.5, 0.3, 0.15, 0.05])


def rows_of(exact, others):
    """Return hidden cells by how many are exact, by value, and how many leave what: m × K."""
    size = len(exact)
    cells = [np.eye(size, dtype=bool)[[value] * many] for value, many in enumerate(exact)]
    cells += [np.tile(np.array(list(cell), dtype=bool), (many, 1)) for cell, many in others.items()]
    return np.concatenate(cells), np.arange(sum(exact) + sum(others.values())) < sum(exact)


def audited(exact, others, *, mechanism=None, prior=PRIOR):
    cells, is_exact = rows_of(exact, others)
    priors = np.tile(prior[: cells.shape[1]], (len(cells), 1))
    hidden = HiddenCells(priors, cells, mechanism or Mechanism(cells.shape[1]))
    return audit_exact_cells(hidden, is_exact, most_confident)


def test_of_two_values_left_by_a_cell_the_likelier_one_is_the_answer_worked_by_hand():
    # J(r, c) = a_r b_c for c ≠ r. With a = (2, 1, 1) and b = (1, 2, 1), in 11ths of the rows:
    # the first value 2·2 + 2·1, the second 1·1 + 1·1, the third 1·1 + 1·2.
    found = audited([600, 200, 300], {(0, 1, 1): 200, (1, 0, 1): 600, (1, 1, 0): 300})
    # Right: the first value, and the second where the first is ruled out.
    assert found.accuracy.value == pytest.approx((6 + 1) / 11, abs=1e-6)


@pytest.mark.parametrize("exclusions", [1, 2])
def test_cells_tilted_by_rank_are_seen_through_by_enumeration(exclusions):
    values = range(4)
    cells = list(combinations(values, exclusions))
    tilt = {cell: np.prod([[5.0, 1.0, 3.0, 2.0][c] for c in cell]) for cell in cells}
    joint = np.array(
        [[(v not in cell) * [4, 3, 2, 1][v] * tilt[cell] for cell in cells] for v in values]
    )
    joint *= 100_000 / joint.sum()
    others = {
        tuple(int(v not in cell) for v in values): round(many)
        for cell, many in zip(cells, joint.sum(axis=0), strict=True)
    }
    first = [min(v for v in values if v not in cell) for cell in cells]
    right = sum(joint[value, place] for place, value in enumerate(first)) / joint.sum()
    found = audited(np.rint(joint.sum(axis=1)).astype(int).tolist(), others)
    assert found.accuracy.value == pytest.approx(right, abs=1e-4)


def test_what_an_exact_cell_adds_is_what_the_accuracy_changes_by_if_it_is_left_out():
    counts, others = [400, 300, 200, 100], {(0, 1, 1, 1): 500, (1, 0, 1, 1): 900, (1, 1, 0, 1): 400}
    found = audited(counts, others)
    for value in range(4):
        fewer = [many - (value == place) for place, many in enumerate(counts)]
        moved = found.right.mean() - audited(fewer, others).right.mean()
        row = sum(counts[:value])
        assert (found.right[row] - found.right.mean()) / 999 == pytest.approx(moved, abs=2e-6)


def drawn(rng, *, n=1500, size=4, exact=0.1):
    """Return priors and cells of which the likeliest wrong value is ruled out first, and truth."""
    prior = rng.dirichlet(np.ones(size), n)
    truth = (np.cumsum(prior, axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = prior.copy()
    wrong[np.arange(n), truth] = -1
    cells = np.ones((n, size), dtype=bool)
    cells[np.arange(n), wrong.argmax(axis=1)] = False
    is_exact = rng.random(n) < exact
    cells[is_exact] = np.eye(size, dtype=bool)[truth[is_exact]]
    return HiddenCells(prior, cells, Mechanism(size)), is_exact, truth


def test_the_interval_holds_where_exclusions_are_far_from_uniform_and_pooling_them_does_not():
    rng = np.random.default_rng(3)
    held, pooled = [], []
    for _ in range(60):
        hidden, exact, truth = drawn(rng)
        answers, _ = most_confident(hidden.prior, hidden.cells.astype(float))
        right = (answers == truth)[~exact].mean()
        found = audit_exact_cells(hidden, exact, most_confident).accuracy
        held.append(found.low <= right <= found.high)
        uniform = judge(hidden, hidden.cells, shares=np.full(4, 0.25)).accuracy
        pooled.append(uniform.low <= (answers == truth).mean() <= uniform.high)
    assert np.mean(held) >= 0.9
    assert np.mean(pooled) <= 0.1


def test_cells_of_a_mechanism_are_judged_by_its_answers():
    rng, size, n = np.random.default_rng(5), 3, 20_000
    rates = np.array([[0, 0.9, 0.1], [0.5, 0, 0.5], [0.2, 0.8, 0]])
    mechanism = Mechanism.of(size, rates)
    prior = np.array([0.45, 0.35, 0.2])
    truth = rng.choice(size, n, p=prior)
    cells = mechanism.draw(truth, np.ones(n, dtype=int), rng.random((n, size)))
    exact = rng.random(n) < 0.5
    cells[exact] = np.eye(size, dtype=bool)[truth[exact]]
    hidden = HiddenCells(np.tile(prior, (n, 1)), cells, mechanism)
    # The most probable value behind each cell, by hand: P(v) P(c | v).
    right = np.max(prior[:, None] * rates, axis=0).sum()
    found = audit_exact_cells(hidden, exact, most_confident).accuracy
    assert found.value == pytest.approx(right, abs=0.01)


def test_rows_that_were_hidden_in_turn_leave_more_to_chance():
    alone = ExactAudit(np.tile([0.0, 1.0], 40), 1000, reach=1.96).accuracy
    mutual = ExactAudit(np.tile([0.0, 1.0], 40), 1000, reach=2.77).accuracy
    assert mutual.low < alone.low < alone.value == mutual.value < alone.high < mutual.high


@pytest.mark.parametrize(("exact", "others"), [([20, 29, 0], 100), ([50, 50, 0], 0)])
def test_too_few_exact_cells_or_nothing_else_say_nothing(exact, others):
    assert audited(exact, {(0, 1, 1): others}) is None


def test_ranks_that_no_exact_cell_has_do_no_harm():
    found = audited([0, 60, 0], {(1, 0, 1): 30, (0, 1, 1): 10, (1, 1, 0): 10}).accuracy
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_one_audit_is_clearly_better_only_beyond_its_error():
    right = np.tile([0.0, 1.0], 50)
    before = ExactAudit(right, 900, reach=2.77)
    assert not before.clearly_better_than(before)
    assert ExactAudit(right + 0.01, 900, reach=2.77).clearly_better_than(before)
    one_more = np.where(np.arange(100) == 0, 1.0, right)
    assert not ExactAudit(one_more, 900, reach=2.77).clearly_better_than(before)


def test_the_interval_is_the_one_that_wilson_gave():
    found = wilson(1.0, 10)  # 10 of 10: n / (n + z²)
    assert (found.value, found.high) == (1, pytest.approx(1))
    assert found.low == pytest.approx(10 / (10 + 1.96**2))


def test_marked_cells_are_right_and_count_with_the_others_in_the_whole():
    found = headline(wilson(0.6, 100), 0.25)
    assert found.value == pytest.approx(0.25 + 0.75 * 0.6)
    assert found.low < found.value < found.high


# Weights of a mechanism are found again from exact cells and exclusions, within their error.


def drawn_cells(rng, weights, shares, *, exact, others, exclusions=1):
    """Return exact cells, then cells drawn with these weights, and which of them are exact."""
    size = len(weights)
    values = rng.choice(size, exact + others, p=shares)
    how = Mechanism.of(size, rates(np.array(weights, dtype=float)))
    cells = how.draw(values, np.full(len(values), exclusions), rng.random((len(values), size)))
    is_exact = np.arange(len(values)) < exact
    cells[is_exact] = np.eye(size, dtype=bool)[values[is_exact]]
    return cells, is_exact


def test_weights_meet_the_shares_worked_by_hand():
    # Values 0, 1, 2 in shares 2, 1, 1 of 4, ruled out with weights 2, 1, 1. Value 0 rules out the
    # others alike; 1 rules out 0 twice as often as 2, and 2 rules out 0 twice as often as 1.
    exact = np.repeat(np.eye(3, dtype=bool), [60_000, 30_000, 30_000], axis=0)
    often = np.array([2 * 2 / 3, 2 / 2 + 1 / 3, 2 / 2 + 1 / 3]) / 4
    others = np.repeat(~np.eye(3, dtype=bool), np.rint(120_000 * often).astype(int), axis=0)
    cells = np.concatenate([exact, others])
    found = fit_weights(cells, np.arange(len(cells)) < len(exact))
    assert found / found[1] == pytest.approx([2, 1, 1], rel=0.01)


@pytest.mark.parametrize("exclusions", [1, 2, 3])
def test_weights_are_found_again_however_many_exclusions_cells_have(exclusions):
    weights, shares = [3, 1, 1, 2, 0.5], [0.4, 0.1, 0.2, 0.1, 0.2]
    rng = np.random.default_rng(exclusions)
    cells, exact = drawn_cells(
        rng, weights, shares, exact=20_000, others=60_000, exclusions=exclusions
    )
    found = fit_weights(cells, exact)
    assert found / found[1] == pytest.approx(weights, rel=0.12)
    assert np.log(found).sum() == pytest.approx(0, abs=1e-9)


def test_their_covariance_is_that_of_repeated_draws():
    rng, size = np.random.default_rng(1), 3
    shares = np.arange(1, size + 1) / sum(range(1, size + 1))
    logs, variances = [], []
    for _ in range(80):
        found, covariance = log_weights(
            *drawn_cells(rng, np.ones(size), shares, exact=150, others=1500)
        )
        logs.append(found)
        variances.append(np.diag(covariance))
    assert np.mean(variances, axis=0) == pytest.approx(np.var(logs, axis=0), rel=0.4)


def test_few_exact_cells_shrink_weights_towards_uniform_ones():
    weights, shares = [3, 1, 1, 1], [0.25] * 4
    far = []
    for exact in (60, 600, 6000):
        rng = np.random.default_rng(2)
        fits = [
            fit_weights(*drawn_cells(rng, weights, shares, exact=exact, others=3000))
            for _ in range(8)
        ]
        far.append(
            np.mean([np.log(found[0] / found[1]) if found is not None else 0 for found in fits])
        )
    assert far == sorted(far)
    assert far[-1] == pytest.approx(np.log(3), rel=0.1)


def test_uniform_exclusions_and_two_values_have_no_weights():
    even = np.concatenate([np.eye(4, dtype=bool), ~np.eye(4, dtype=bool)]).repeat(50, axis=0)
    assert fit_weights(even, np.arange(400) < 200) is None
    assert fit_weights(np.eye(2, dtype=bool).repeat(90, axis=0), np.arange(180) < 60) is None


def test_weights_stay_within_bounds_where_no_mechanism_of_this_kind_fits():
    cells = np.ones((1000, 4), dtype=bool)
    cells[200:, 0] = False  # ruled out always, though half of the exact cells have it
    cells[:200] = np.eye(4, dtype=bool)[np.arange(200) % 2]
    found = fit_weights(cells, np.arange(1000) < 200)
    assert np.all((found >= 0.1) & (found <= 10))
