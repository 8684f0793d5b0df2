from dataclasses import replace

import numpy as np
import pytest
from builders.known import run
from builders.learned import copied, layout_of, related

from cfl_cli.core.draws import folds
from cfl_cli.methods import blend, boost
from cfl_cli.methods.boost import FittedBoost

ALL_PARTS = np.array([0.5, 0.2, 0.3])
ROWS = range(0, 300, 30)


@pytest.fixture(scope="module")
def table():
    return related(300, sizes=(4, 3))


@pytest.fixture(scope="module")
def fitted(table):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boost, "MOST_ROUNDS", 6)
        patch.setattr(boost, "CLEAR", 0.0)  # or nothing would seem related in so few rows
        found = run("boost", table, folds=folds(len(table), 3, seed=0)[:2]).fitted
    for of_cf in found.cfs:
        for trees in (of_cf.shallow, of_cf.deep, of_cf.related.trees):
            assert len(trees.feature)
    return weighted(found, ALL_PARTS)


def weighted(fitted, weights):
    return FittedBoost(tuple(replace(of_cf, weights=weights) for of_cf in fitted.cfs))


def enlarged(fitted, by):
    def larger(trees):
        return replace(trees, value=by * trees.value)

    return FittedBoost(
        tuple(
            replace(
                of_cf,
                shallow=larger(of_cf.shallow),
                deep=larger(of_cf.deep),
                related=replace(of_cf.related, trees=larger(of_cf.related.trees)),
            )
            for of_cf in fitted.cfs
        )
    )


def some(table, row):
    return table.some(np.array([row]))


def softmax(scores):
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


def scores_of(moves):
    return moves.base + moves.of_features.sum(axis=0) + moves.of_others.sum(axis=0)


@pytest.mark.parametrize(
    "weights", [ALL_PARTS, [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.5, 0.5, 0], [0, 0.5, 0.5]]
)
def test_the_softmax_of_the_scores_is_the_prior(table, fitted, weights, workers):
    own = weighted(fitted, np.array(weights))
    for row in ROWS:
        priors = own.answer(some(table, row), workers).priors[0]
        assert priors.min() > blend.FLOOR
        for moves, block in zip(own.moves(some(table, row)), table.columns, strict=True):
            expected = priors[block] / priors[block].sum()  # a part alone: 1 in single precision
            np.testing.assert_allclose(softmax(scores_of(moves)), expected, rtol=1e-12)


@pytest.mark.parametrize("weights", [ALL_PARTS, [1.0, 0, 0], [0, 0, 1.0]])
@pytest.mark.parametrize("by", [30, 3000])
def test_it_is_so_where_parts_rule_values_out(table, fitted, by, weights, workers):
    own = weighted(enlarged(fitted, by), np.array(weights))
    least = 1.0
    for row in ROWS:
        priors = own.answer(some(table, row), workers).priors[0]
        least = min(least, priors.min())
        for moves, block in zip(own.moves(some(table, row)), table.columns, strict=True):
            expected = priors[block] / priors[block].sum()
            found = softmax(scores_of(moves))
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-30)
    assert least < blend.FLOOR


@pytest.mark.parametrize("weights", [ALL_PARTS, [1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
def test_the_base_is_the_same_for_all_rows_where_no_floor_binds(table, fitted, weights):
    # So moves leave nothing unexplained: what they did not say would be in the base.
    own = weighted(fitted, np.array(weights))
    bases = [np.concatenate([moves.base for moves in own.moves(some(table, row))]) for row in ROWS]
    np.testing.assert_allclose(bases, [bases[0]] * len(bases), rtol=0, atol=2e-6)  # singles


def test_moves_are_those_of_a_blend_of_what_each_part_says_alone(table, fitted):
    # but for `related`, which counts what shallow says for a quarter
    row = some(table, 7)
    parts = [weighted(fitted, part).moves(row) for part in np.eye(3)]
    for cf, moves in enumerate(fitted.moves(row)):
        for name in ("of_features", "of_others"):
            expected = sum(
                weight * getattr(part[cf], name)
                for weight, part in zip(ALL_PARTS, parts, strict=True)
            )
            np.testing.assert_allclose(getattr(moves, name), expected, rtol=0, atol=1e-12)


def test_moves_of_every_feature_sum_to_0_and_a_cf_does_not_move_itself(table, fitted):
    for moves, block in zip(fitted.moves(some(table, 0)), table.columns, strict=True):
        size = block.stop - block.start
        assert moves.of_features.shape == (table.features.shape[1], size)
        assert moves.of_others.shape == (table.candidates.shape[1], size)
        assert not moves.of_others[block].any()
        assert moves.of_others.any()
        for each in (moves.base[None], moves.of_features, moves.of_others):
            np.testing.assert_allclose(each.sum(axis=1), 0, atol=1e-12)


def test_other_cells_of_a_cf_move_others_but_not_itself(table, fitted):
    row = some(table, 5)
    own = row.columns[0]
    candidates = row.candidates.copy()
    candidates[:, own] = np.eye(own.stop, dtype=bool)[own.stop - 1]
    before, after = fitted.moves(row), fitted.moves(replace(row, candidates=candidates))
    np.testing.assert_array_equal(scores_of(before[0]), scores_of(after[0]))
    assert (before[1].of_others[own] != after[1].of_others[own]).any()


def test_what_was_kept_moves_alike_to_the_bit(table, fitted):
    restored = boost.BoostMethod().restore(copied(fitted.state()), layout_of(table))
    for one, other in zip(
        fitted.moves(some(table, 1)), restored.moves(some(table, 1)), strict=True
    ):
        for name in ("base", "of_features", "of_others"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
