"""The cells that rows may have, and the answers to them, are those of going through all sets."""

from itertools import combinations

import numpy as np
import pytest
from builders.cells import cells, in_full, probability, skewed
from builders.hidden_rows import case, stubborn

from cfl_cli.core.arrays import most_confident
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust import heldout
from cfl_cli.trust.heldout import PossibleCells


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
    answers = possible.answers(prior, prior, possible.draws(len(prior)), random, rule)
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


def test_the_cells_of_a_table_are_listed_by_the_exclusions_that_its_rows_have():
    table = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1]], dtype=bool)
    possible = PossibleCells.of(table, Mechanism(3))
    assert possible.exact == 0.25
    assert possible.draws(5) == 0
    # The empty cell of one row in four, then one exclusion of two in four: half of 1/2 each.
    expected = [[0.25, 0.25, 0.25], [0, 0.25, 0.25], [0.25, 0, 0.25], [0.25, 0.25, 0]]
    np.testing.assert_allclose(possible.listed, expected)
    np.testing.assert_allclose(possible.listed.sum(axis=0) + possible.exact, 1)


def test_cells_too_many_to_list_are_drawn_and_few_rows_get_more_draws():
    table = np.ones((1, 40), dtype=bool)
    table[0, :3] = False
    possible = PossibleCells.of(table, Mechanism(40))  # 9,880 cells of three exclusions
    assert len(possible.listed) == 0
    assert possible.drawn[3] == 1
    assert possible.draws(10**6) == heldout.DRAWN
    assert possible.draws(1) == heldout.NUMBERS_DRAWN // 40


@ANY
def test_the_probabilities_of_all_cells_sum_to_1_whether_listed_or_drawn(
    mechanism, sizes, monkeypatch
):
    prior, *_ = case(mechanism, 4)
    table = np.concatenate([cells(mechanism.size, exclusions)[0][:1] for exclusions in sizes])
    for listed in (128, 0):
        monkeypatch.setattr(heldout, "LISTED", listed)
        possible = PossibleCells.of(table, mechanism)
        draws, random = possible.draws(len(prior)), np.random.default_rng(0)
        answers = possible.answers(prior, prior, draws, random, most_confident)
        np.testing.assert_allclose(answers.probabilities.sum(axis=1) + possible.exact, 1)


def test_the_most_confident_candidate_answers_the_first_of_equals():
    prior = np.array([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [1.0, 0.0, 0.0]])
    likelihood = np.array([[1.0, 1, 1], [0, 1, 1], [1, 1, 0], [0, 0.5, 1]])
    answers, confidences = most_confident(prior, likelihood)
    assert answers.tolist() == [0, 1, 0, 2]  # in the last row nothing is left of the prior
    np.testing.assert_allclose(confidences, [0.5, 0.6, 0.5, 1 / 1.5])
