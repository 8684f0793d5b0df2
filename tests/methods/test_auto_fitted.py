from dataclasses import replace

import numpy as np
import pytest
from builders.known import known_of, run
from builders.learned import (
    related,
)

from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.settings import Settings
from cfl_cli.methods import auto, blend, boost, net
from cfl_cli.methods.auto import FittedAuto, Recipe
from cfl_cli.methods.baselines import Commonest, FittedShares
from cfl_cli.methods.interface import TableSize


def fitted_by_hand(*, cautious):
    """Two parts that say the same of every row, and a third without weight that is not kept."""
    parts = {
        "boost": FittedShares(np.array([0.5, 0.25, 0.25])),
        "net": FittedShares(np.array([0.1, 0.1, 0.8])),
    }
    recipe = Recipe(np.array([[0.75], [0.25]]), np.array([cautious]), 3)
    return FittedAuto(parts, recipe)


ROW = known_of(np.zeros((1, 1)), np.array([[0]]), [Mechanism(3)], exclusions=(0,))


def without_the_last(known):
    return replace(known, candidates=np.array([[True, True, False]]))


def test_priors_and_confidences_are_blended_by_hand(workers):
    fitted = fitted_by_hand(cautious=False)
    odds = np.array([0.5, 0.25, 0.25]) ** 0.75 * np.array([0.1, 0.1, 0.8]) ** 0.25
    answer = fitted.answer(without_the_last(ROW), workers)
    np.testing.assert_allclose(answer.priors, [odds / odds.sum()])
    # Either part applies the cell first, and what it rules out is not brought back.
    odds = np.array([2 / 3, 1 / 3, 0]) ** 0.75 * np.array([1 / 2, 1 / 2, 0]) ** 0.25
    np.testing.assert_allclose(answer.confidences, [odds / odds.sum()])
    np.testing.assert_allclose(answer.mass, [[0.75 * 0.75 + 0.25 * 0.2]])


def test_a_cautious_blend_has_one_more_part_by_hand(workers):
    answer = fitted_by_hand(cautious=True).answer(without_the_last(ROW), workers)
    own = 0.75 * np.array([0.5, 0.25, 0.25]) + 0.25 * np.array([0.1, 0.1, 0.8])
    np.testing.assert_allclose(answer.priors, [3 / 4 * own + 1 / 4 * 1 / 3])  # of three parts
    own = 0.75 * np.array([2 / 3, 1 / 3, 0]) + 0.25 * np.array([1 / 2, 1 / 2, 0])
    bare = np.array([1 / 2, 1 / 2, 0])
    np.testing.assert_allclose(answer.confidences, [3 / 4 * own + 1 / 4 * bare])


def test_new_rows_have_the_priors_that_hidden_rows_have_by_the_same_weights(workers):
    rng = np.random.default_rng(0)
    priors = [rng.dirichlet(np.ones(4), size=30) for _ in range(3)]
    cells = rng.random((30, 4)) < 0.7
    cells[:, 0] = True
    rows = known_of(np.zeros((30, 1)), np.zeros((30, 1), int), [Mechanism(4)], exclusions=(0,))
    for cautious in (False, True):
        hidden = blend.fit(priors, cells, cautious=cautious)
        by = Recipe(hidden.weights[:, None], np.array([cautious]), 3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blend, "_weights", lambda *_, own=hidden.weights: own)
            same = blend.fit(priors, cells, cautious=cautious).prior
        np.testing.assert_allclose(by.priors(priors, rows), same)


def test_parts_without_weight_are_not_kept(monkeypatch, workers):
    table = related()
    monkeypatch.setattr(auto, "PARTS", {"net": net.NetMethod(), "commonest": Commonest()})
    monkeypatch.setattr(auto, "IN_FULL", {})
    monkeypatch.setattr(net, "STEPS", 24)
    monkeypatch.setattr(blend, "_weights", lambda *_: np.array([0.0, 1.0]))
    found = run("auto", table, folds=folds(len(table), 3, seed=0)[:1])
    assert [*found.fitted.parts] == ["commonest"]
    alone = run("commonest", table, folds=[])
    answer = found.fitted.answer(table, workers)
    np.testing.assert_allclose(answer.confidences, alone.confidences, rtol=1e-12)


def test_it_keeps_what_its_parts_keep(monkeypatch):
    monkeypatch.setattr(auto, "PARTS", {"boost": boost.BoostMethod(), "net": net.NetMethod()})
    monkeypatch.setattr(auto, "IN_FULL", {"net": net.NetMethod()})
    size, settings = TableSize(1000, 10, (3, 4)), Settings("auto")
    expected = sum(part.model_bytes(size, settings) for part in auto.PARTS.values())
    assert auto.AutoMethod().model_bytes(size, settings) == expected
