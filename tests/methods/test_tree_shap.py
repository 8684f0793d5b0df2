from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import pytest

from cfl_cli.methods import boost, forest
from cfl_cli.methods.forest import contributions

# Columns: numbers, few different ones, one-hot of three, what is next to 0, and what is nowhere.
COLUMNS = 7


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    tiny = rng.choice([0, 1e-36, -1e-36, 1e-34, -1e-34, 1, -1], size=n)
    one_hot = np.eye(3)[rng.integers(3, size=n)] / np.sqrt(3)
    return np.column_stack([rng.normal(size=n), rng.integers(4, size=n), one_hot, tiny, np.ones(n)])


def booster_of(features, values, shape, *, rounds=5, seed=0):
    """Trees that follow gradients drawn at random, and the first two columns again and again."""
    rng = np.random.default_rng(seed)
    pulls = rng.normal(size=(rounds, len(features), values))
    pulls += np.sin(5 * features[:, :1]) * (features[:, 1:2] - 1)
    options = {"objective": "none", "num_threads": 1, "verbose": -1, "min_data_in_leaf": 3}
    options |= {"num_class": values, "num_leaves": shape.leaves, "feature_fraction": shape.columns}
    booster = lightgbm.Booster(options, lightgbm.Dataset(features))
    for pull in pulls:
        booster.update(fobj=lambda *_, pull=pull: (pull, np.ones_like(pull)))
    return booster


@pytest.mark.parametrize("values", [2, 3, 6])
@pytest.mark.parametrize("shape", [boost.SHALLOW, boost.DEEP])
def test_moves_are_those_of_lightgbm_and_sum_to_the_scores(values, shape):
    features = table()
    booster = booster_of(features, values, shape)
    trees = boost.forest_of(booster, values)
    seen = np.repeat(trees.threshold[:10, None], COLUMNS, axis=1)  # rows at the very thresholds
    rows = np.vstack([features[:15], 3 * table(10, seed=1), seen])
    expected = booster.predict(rows, pred_contrib=True).reshape(len(rows), values, COLUMNS + 1)
    scores = trees.scores(rows)
    for number, row in enumerate(rows):
        base, moves = contributions(trees, row)
        np.testing.assert_allclose(base, expected[number, :, -1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(moves.T, expected[number, :, :-1], rtol=0, atol=1e-10)
        np.testing.assert_allclose(base + moves.sum(axis=0), scores[:, number], rtol=0, atol=1e-10)
        assert not moves[-1].any()  # nothing can depend on a column that does not vary


def expected_score(trees, row, known):
    """What the first tree says where some features are known: the others send a row both ways."""

    def rows_below(at):
        return (
            trees.count[~at] if at < 0 else rows_below(trees.left[at]) + rows_below(trees.right[at])
        )

    def below(at):
        if at < 0:
            return trees.value[~at]
        left, right = trees.left[at], trees.right[at]
        if trees.feature[at] in known:
            return below(left if row[trees.feature[at]] <= trees.threshold[at] else right)
        many, few = rows_below(left), rows_below(right)
        return (many * below(left) + few * below(right)) / (many + few)

    return below(0 if len(trees.feature) else -1)


def shapley(trees, row):
    """Its values by their definition, over all subsets of the features."""
    d = len(row)
    moves = np.zeros(d)
    for feature in range(d):
        others = [other for other in range(d) if other != feature]
        for size in range(d):
            factor = factorial(size) * factorial(d - size - 1) / factorial(d)
            for known in combinations(others, size):
                with_it = expected_score(trees, row, {*known, feature})
                moves[feature] += factor * (with_it - expected_score(trees, row, {*known}))
    return moves


def tree(feature, threshold, left, right, value, count):
    whole = [np.array(each, dtype=np.int32) for each in (feature, left, right, count)]
    return forest.Forest(
        1,
        np.array([len(value)], dtype=np.int32),
        whole[0],
        np.array(threshold, dtype=float),
        *whole[1:3],
        np.array(value, dtype=float),
        whole[3],
    )


def chain():
    """Every right child splits again: by 0, 1, 2, 3 and once more by 0 and 1."""
    feature, threshold = [0, 1, 2, 3, 0, 1], [-1, -1, 0, 0, 1, 1]
    left, right = [-1, -2, -3, -4, -5, -6], [1, 2, 3, 4, 5, -7]
    return tree(feature, threshold, left, right, [3, -1, 4, 1, -5, 9, 2], [7, 1, 20, 3, 4, 1, 90])


def bushy():
    """Two features, asked for on both sides, one of them twice on a way."""
    feature, threshold = [0, 1, 1, 0], [0, -1, 1, -2]
    return tree(
        feature, threshold, [1, 3, -3, -1], [2, -2, -4, -5], [1, 2, -4, 8, 16], [5, 9, 2, 6, 1]
    )


@pytest.mark.parametrize("trees", [chain(), bushy()])
def test_moves_are_shapley_values_by_their_definition(trees):
    for row in np.random.default_rng(0).normal(size=(12, 4)) * 2:
        base, moves = contributions(trees, row)
        np.testing.assert_allclose(base, [expected_score(trees, row, {*()})], rtol=1e-12)
        np.testing.assert_allclose(moves[:, 0], shapley(trees, row), rtol=0, atol=1e-12)


def test_a_tree_of_one_split_by_hand():
    # 30 rows say 1, 10 say 5: nothing known 2, so that a row on the right is moved by 3
    trees = tree([1], [0.5], [-1], [-2], [1, 5], [30, 10])
    base, moves = contributions(trees, np.array([0.0, 1.0, 0.0]))
    assert base.tolist() == [2]
    assert moves[:, 0].tolist() == [0, 3, 0]


def test_a_single_leaf_moves_nothing_and_no_trees_say_nothing():
    base, moves = contributions(tree([], [], [], [], [0.5], [40]), np.zeros(2))
    assert base.tolist() == [0.5]
    assert moves.tolist() == [[0], [0]]
    base, moves = contributions(forest.none_grown(3), np.zeros(0))
    assert base.tolist() == [0, 0, 0]
    assert moves.shape == (0, 3)


def test_leaves_that_few_of_many_rows_came_to_lose_no_digits():
    """All of thirty features are asked for, and nearly every row turned off at each."""
    d, many = 30, 2**31 - 1
    trees = tree(
        range(d),
        [0] * d,
        [~leaf for leaf in range(d)],
        [*range(1, d), ~d],
        np.arange(d + 1),
        [many] * d + [1],
    )
    base, moves = contributions(trees, np.ones(d))
    assert np.isfinite(moves).all()
    np.testing.assert_allclose(base + moves.sum(axis=0), [d], rtol=1e-12)
