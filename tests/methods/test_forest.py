from dataclasses import replace

import numpy as np
from builders.known import run, table

from cfl_cli.core.draws import folds
from cfl_cli.core.settings import Settings
from cfl_cli.methods import forest
from cfl_cli.methods.forest import Binned, Cells, ForestMethod, _Run, grow, learn, side_by_side

RNG = np.random.default_rng(0)


def test_the_first_split_is_the_best_of_all_where_all_are_tried(monkeypatch):
    monkeypatch.setattr(forest, "TRIED", 400)
    features, targets = RNG.random((60, 3)), RNG.random((60, 2))
    targets[:, 0] += features[:, 1] > 0.4
    binned, sees = Binned.of(features), np.ones((60, 1), dtype=bool)
    trees = grow(binned.codes, targets, sees, 0, 0)
    spread = {}
    for feature, cuts in enumerate(binned.cuts):
        for place, cut in enumerate(cuts):
            sides = [targets[features[:, feature] > cut], targets[features[:, feature] <= cut]]
            if min(map(len, sides)) >= forest.LEAST_ROWS:
                spread[feature, place] = sum(((side - side.mean(0)) ** 2).sum() for side in sides)
    assert (trees.feature[0], trees.cut[0]) == min(spread, key=spread.__getitem__)


def test_leaves_hold_enough_of_the_rows_that_their_tree_sees():
    features = np.round(RNG.random((200, 4)), 1)
    sees = RNG.random((200, 7)) < 0.6
    binned = Binned.of(features)
    trees = grow(binned.codes, RNG.random((200, 3)), sees, 5, 1)
    leaves = trees.leaves_of(binned.codes)
    for row, tree in [(0, 0), (17, 3), (199, 6)]:
        node = tree
        while trees.feature[node] >= 0:
            right = binned.codes[row, trees.feature[node]] > trees.cut[node]
            node = trees.child[node] + right
        assert leaves[row, tree] == trees.child[node]
    counts = np.bincount(leaves[sees], minlength=np.count_nonzero(trees.feature < 0))
    assert counts.min() >= forest.LEAST_ROWS
    assert len(counts) > 7 * 5


def test_trees_of_several_runs_stand_side_by_side():
    known, _ = table(0, 90, sizes=(4,))
    binned, fold = Binned.of(known.features), np.arange(30)
    grown = []
    for number in range(3):
        of_run = _Run.of(known, fold, number, 0)
        cells = Cells.of(known.some(of_run.rows), 0)
        codes = binned.codes[of_run.rows], binned.codes[fold]
        given = {"growths": 2, "stream": number, "seed": 0}
        grown.append(learn(codes[0], cells, of_run.sees, codes[1], **given)[-1])
    shares = np.full(4, 0.25)
    beside = side_by_side(grown, binned.cuts, shares)
    every, low = beside.trees.leaves_of(known.features), 0
    for number, of_run in enumerate(grown):
        own = every[:, number * forest.TREES : (number + 1) * forest.TREES]
        np.testing.assert_array_equal(own - low, of_run.trees.leaves_of(binned.codes))
        low += len(of_run.values)
    assert beside.trees.roots == 3 * forest.TREES


def test_without_ofs_that_vary_a_forest_says_what_cells_make_likeliest(monkeypatch):
    """EM in one leaf is that of a multinomial: a plain loop of it ends where the leaf does."""
    monkeypatch.setattr(forest, "REFITS", 300)
    monkeypatch.setattr(forest, "BESIDE", 1e-9)
    monkeypatch.setattr(forest, "SEEN", 0.5)
    monkeypatch.setattr(forest, "TREES", 60)
    known, _ = table(1, 2000, sizes=(3,))
    known.features[:] = 0
    cells, shares = known.evidence.astype(float), np.full(3, 1 / 3)
    for _ in range(2000):
        joint = shares * cells
        shares = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    fitted = run("forest", known, folds=folds(2000, 5, 0)).fitted
    np.testing.assert_allclose(fitted.priors(known.features[:1])[0], shares, atol=0.02)


def grouped(n, groups):
    known, _ = table(2, n, sizes=(3,))
    return replace(known, groups=groups)


def test_rows_that_belong_together_are_seen_together(monkeypatch):
    monkeypatch.setattr(forest, "MOST_ROWS", 30)
    groups = np.arange(120) // 4
    of_run = _Run.of(grouped(120, groups), np.arange(40), 0, 0)
    assert len(of_run.rows) == 30
    for group in np.unique(groups[of_run.rows]):
        own = of_run.known_to[groups[of_run.near] == group]
        assert len(own) == 4  # also those that were not drawn
        assert (own == own[0]).all()


def test_a_few_large_groups_are_all_drawn_from(monkeypatch):
    monkeypatch.setattr(forest, "MOST_ROWS", 50)
    groups = np.arange(400) % 4
    fold = np.flatnonzero(groups == 0)
    of_run = _Run.of(grouped(400, groups), fold, 0, 0)
    assert {*groups[of_run.rows]} == {1, 2, 3}
    assert of_run.sees.any(axis=0).all()


def test_shares_of_cfs_that_are_not_learned_come_without_the_hidden_cells(workers):
    known, _ = table(0, 200)
    dealt = folds(200, 4, seed=0)
    other = known.candidates.copy()
    other[dealt[0], 3:] = np.eye(4, dtype=bool)[0]  # the second CF of the first fold
    found = [
        ForestMethod(cfs=(0,)).estimate(
            cells, Settings(), folds=dealt, workers=workers, progress=lambda *_: None
        )
        for cells in (known, replace(known, candidates=other))
    ]
    rows = np.isin(found[0].hidden.rows, dealt[0])
    one, two = (each.hidden.priors[:, 3:] for each in found)
    np.testing.assert_array_equal(one[rows], two[rows])
    assert (one[~rows] != two[~rows]).any()
