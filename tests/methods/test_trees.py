from itertools import combinations
from math import factorial

import lightgbm
import numpy as np
import polars as pl
import pytest
from builders import real_tables

from cfl_cli.core.state import State, StateError
from cfl_cli.methods import boost
from cfl_cli.methods.trees import GrownTrees, contributions, grown, none_grown, restore_trees

KIND = {"objective": "none", "num_threads": 1, "verbose": -1, "min_data_in_leaf": 2}


def booster_of(features, values, *, rounds=6, leaves=31, seed=0):
    """Trees of LightGBM that follow gradients drawn at random, some of them noise alone."""
    rng = np.random.default_rng(seed)
    pulls = rng.normal(size=(rounds, len(features), values)) + np.sin(9 * features[:, :1])
    options = {**KIND, "num_class": values, "num_leaves": leaves, "lambda_l2": 1.0}
    booster = lightgbm.Booster(options, lightgbm.Dataset(features))
    for pull in pulls:
        booster.update(fobj=lambda *_, pull=pull: (pull, np.ones_like(pull)))
    return booster


def table(n=400, seed=0):
    """Numbers, few numbers, 0 and 1, and what is next to 0."""
    rng = np.random.default_rng(seed)
    tiny = rng.choice([0, 1e-36, -1e-36, 1e-34, -1e-34, 1, -1], size=n)
    binary = rng.random(n) < 0.1
    return np.column_stack([rng.normal(size=n), rng.integers(5, size=n), binary, tiny])


def walked(trees, features):
    scores = np.zeros((trees.values, len(features)))
    nodes = leaves = 0
    for tree, count in enumerate(trees.leaves.tolist()):
        for row, x in enumerate(features):
            at = 0 if count > 1 else -1
            while at >= 0:
                node = nodes + at
                goes_left = x[trees.feature[node]] <= trees.threshold[node]
                at = int((trees.left if goes_left else trees.right)[node])
            scores[tree % trees.values, row] += trees.value[leaves - 1 - at]
        nodes, leaves = nodes + count - 1, leaves + count
    return scores


@pytest.mark.parametrize(("values", "leaves"), [(3, 31), (12, 7), (2, 32)])
def test_scores_are_those_of_lightgbm_and_of_a_walk_to_the_bit(values, leaves):
    features = table()
    booster = booster_of(features, values, leaves=leaves)
    trees = boost.trees_of(booster, values)
    assert trees.leaves.max() > leaves // 2
    seen = np.unique(trees.threshold)[:, None].repeat(4, axis=1)  # rows at the very thresholds
    rows = np.vstack([features, table(100, seed=1), 1e6 * table(50, seed=2), seen])
    np.testing.assert_array_equal(trees.scores(rows).T, booster.predict(rows, raw_score=True))
    np.testing.assert_array_equal(trees.scores(rows[:20]), walked(trees, rows[:20]))
    for size in (1, 7):
        parts = [trees.scores(rows[low : low + size]) for low in range(0, 70, size)]
        np.testing.assert_array_equal(np.hstack(parts), trees.scores(rows)[:, :70])


@real_tables.needed
@pytest.mark.parametrize("name", ["bank", "adult"])
def test_scores_of_real_rows_are_those_of_lightgbm_to_the_bit(name):
    numbers = real_tables.read(name)[:3000].select(pl.col("*").cast(pl.Float64, strict=False))
    features = numbers.select(column for column in numbers if column.null_count() == 0).to_numpy()
    booster = booster_of(features[:2000], 5, rounds=20)
    found = boost.trees_of(booster, 5).scores(features)
    np.testing.assert_array_equal(found.T, booster.predict(features, raw_score=True))


def test_trees_of_a_single_leaf_and_no_trees_at_all_are_trees_too():
    features = np.repeat([[0.0], [1.0]], 20, axis=0)
    pull = np.array([[1.0, 0.0]] * 20 + [[-1.0, 0.0]] * 20)  # nothing to split for the second
    booster = lightgbm.Booster({**KIND, "num_class": 2}, lightgbm.Dataset(features))
    booster.update(fobj=lambda *_: (pull, np.ones_like(pull)))
    trees = boost.trees_of(booster, 2)
    assert trees.leaves.tolist() == [2, 1]
    assert trees.count.tolist() == [20, 20, 40]
    old = booster.model_to_string().replace("leaf_count=40", "leaf_count=0")
    assert grown(old, 2).count.tolist() == [20, 20, 40]
    np.testing.assert_array_equal(
        trees.scores(features).T, booster.predict(features, raw_score=True)
    )
    none = restore_trees(boost.trees_of(None, 3).state(), values=3, features=1)
    np.testing.assert_array_equal(none.scores(features), np.zeros((3, 40)))


@pytest.mark.parametrize(
    ("own", "other"),
    [("num_cat=0", "num_cat=1"), ("is_linear=0", "is_linear=1"), ("_type=2 ", "_type=10 ")],
)
def test_trees_with_categories_lines_or_missing_numbers_are_none_of_ours(own, other):
    text = booster_of(table(), 2).model_to_string()
    assert own in text
    with pytest.raises(ValueError, match="not asked for"):
        grown(text.replace(own, other, 1), 2)


def mutated(state, random):
    arrays = {name: array.copy() for name, array in state.arrays.items()}
    kind = random.integers(10)
    child = arrays[random.choice(["left", "right"])]
    node = random.integers(len(child))
    if kind == 0:  # a cycle: itself or an earlier node, if only of the tree before
        child[node] = random.integers(max(node, 1))
    elif kind == 1:  # a child or leaf that another node has, or none
        child[node] = child[node] + random.choice([-2, -1, 1, 2])
    elif kind == 2:
        child[node] = random.choice([-(2**31), 2**31 - 1, 31, -33, 1000, -1000])
    elif kind == 3:
        arrays["feature"][node] = random.choice([-1, 4, 2**31 - 1, -(2**31)])
    elif kind == 4:
        name = random.choice(["threshold", "value"])
        arrays[name][node] = random.choice([np.nan, np.inf, -np.inf])
    elif kind == 5:
        tree = random.integers(len(arrays["leaves"]))
        arrays["leaves"][tree] += random.choice([-40, -1, 1, 2**30])
    elif kind == 6:
        name = random.choice(list(arrays))
        arrays[name] = arrays[name][: random.integers(len(arrays[name]))]
    elif kind == 7:
        arrays["value"][random.integers(len(arrays["value"]))] = 1e300
    elif kind == 8:  # rows that no leaf has, or more than came to the other trees
        arrays["count"][random.integers(len(arrays["count"]))] = random.choice([0, -1, 2**31 - 1])
    else:  # two trees trade leaves: the sums are still right
        one, two = random.choice(len(arrays["leaves"]), size=2, replace=False)
        by = 33 - arrays["leaves"][one]
        arrays["leaves"][one] += by
        arrays["leaves"][two] -= by
    return State(arrays)


def test_two_hundred_mutated_trees_are_refused_before_they_say_anything():
    state = boost.trees_of(booster_of(table(), 3, leaves=12), 3).state()
    assert restore_trees(state, values=3, features=4).scores(table()).any()
    random = np.random.default_rng(0)
    for _ in range(200):
        with pytest.raises(StateError):
            restore_trees(mutated(state, random), values=3, features=4)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, -1, -3], [2, -2, -1]),  # a leaf twice, another never
        ([1, 1, -3], [2, -2, -4]),  # a node twice: it is its own child
        ([1, -1, 1], [2, -2, -4]),  # back to an earlier node
        ([1, -1, -3], [3, -2, -4]),  # a node too many
        ([1, -1, -3], [2, -5, -4]),  # a leaf too many
    ],
)
def test_children_by_hand(left, right):
    whole = {
        "leaves": np.array([4], dtype=np.int32),
        "feature": np.zeros(3, dtype=np.int32),
        "threshold": np.arange(3.0),
        "left": np.array([1, -1, -3], dtype=np.int32),
        "right": np.array([2, -2, -4], dtype=np.int32),
        "value": np.array([1.0, 2, 4, 8]),
        "count": np.array([5, 1, 2, 1], dtype=np.int32),
    }
    # x ≤ 0: node 1, which sends all such on to its left; else node 2, which splits at 2
    rows = np.array([[-1.0], [0.5], [2], [3]])
    found = restore_trees(State(whole), values=1, features=1).scores(rows)
    np.testing.assert_array_equal(found, [[1, 4, 4, 8]])
    children = {"left": np.array(left, np.int32), "right": np.array(right, np.int32)}
    with pytest.raises(StateError, match="left"):
        restore_trees(State(whole | children), values=1, features=1)


def test_counts_say_how_many_of_the_rows_came_to_each_leaf():
    features = table()
    booster = booster_of(features, 2, leaves=9)
    trees = boost.trees_of(booster, 2)
    came = [np.bincount(leaves) for leaves in booster.predict(features, pred_leaf=True).T]
    np.testing.assert_array_equal(trees.count, np.concatenate(came))


def test_counts_as_large_as_they_can_be_are_still_counted_right():
    largest = np.full(2, 2**31 - 1, dtype=np.int32)
    one = np.array([0], dtype=np.int32)
    whole = {"leaves": one + 2, "feature": one, "left": one - 1, "right": one - 2, "count": largest}
    state = State(whole | {"threshold": np.zeros(1), "value": np.ones(2)})
    np.testing.assert_array_equal(
        restore_trees(state, values=1, features=1).count.astype(int), [2**31 - 1] * 2
    )


# Columns: numbers, few different ones, one-hot of three, what is next to 0, and what is nowhere.
COLUMNS = 7


def wide_table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    tiny = rng.choice([0, 1e-36, -1e-36, 1e-34, -1e-34, 1, -1], size=n)
    one_hot = np.eye(3)[rng.integers(3, size=n)] / np.sqrt(3)
    return np.column_stack([rng.normal(size=n), rng.integers(4, size=n), one_hot, tiny, np.ones(n)])


def shaped_booster(features, values, shape, *, rounds=5, seed=0):
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
    features = wide_table()
    booster = shaped_booster(features, values, shape)
    trees = boost.trees_of(booster, values)
    seen = np.repeat(trees.threshold[:10, None], COLUMNS, axis=1)  # rows at the very thresholds
    rows = np.vstack([features[:15], 3 * wide_table(10, seed=1), seen])
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
    return GrownTrees(
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
    base, moves = contributions(none_grown(3), np.zeros(0))
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
