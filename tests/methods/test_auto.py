from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from builders.known import follow, known_of, mean_log_scores, run, table
from builders.learned import (
    related,
)

from cfl_cli import Schema, impute
from cfl_cli.core.draws import folds
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.progress import Stage, Work
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.methods import auto, blend, boost, net
from cfl_cli.methods.auto import FittedAuto, Recipe
from cfl_cli.methods.baselines import FittedShares
from cfl_cli.methods.forest import ForestMethod
from cfl_cli.methods.graph.metric import MetricGraph
from cfl_cli.methods.interface import Estimate, Hidden, Null, Origin, TableSize, apply_cells

SIZES = (3, 4)


class Part:
    """A part that knows the values, and says so with some confidence; it keeps how it was run."""

    def __init__(self, sureness, *, clock=None, pace=0.0, fell_back=False):
        self.sureness, self.clock, self.pace = sureness, clock, pace
        self.fell_back = fell_back
        self.settings, self.rows = [], []

    def estimate(self, known, settings, *, folds, progress=lambda *_: None, **_):
        progress(Stage("part", Work.PROPAGATION), 0, 1)
        self.settings.append(settings)
        self.rows.append(len(known))
        if self.clock:
            self.clock.now += self.pace * len(known)
        values = follow(known.features, SIZES)
        true = np.hstack([np.eye(size)[own] for size, own in zip(SIZES, values.T, strict=True)])
        even = np.repeat(1 / np.array(SIZES), SIZES)
        priors = self.sureness * true + (1 - self.sureness) * even
        rows = np.concatenate(folds)
        confidences, fell_back, mass = apply_cells(priors, known)
        return Estimate(
            confidences,
            fell_back | self.fell_back,
            mass,
            (Origin("part"),) * 2,
            Hidden(rows, priors[rows]),
            Null(np.array([0.1, 0.2]), np.array([0.3, 0.4]), len(known)),
            rescued_rows=7,
            recall=0.9,
            steps=(len(self.settings),),
        )


@pytest.fixture
def clock(monkeypatch):
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(auto, "monotonic", lambda: found.now)
    return found


def parts(monkeypatch, **given):
    monkeypatch.setattr(auto, "PARTS", given)
    monkeypatch.setattr(auto, "IN_FULL", {name: given[name] for name in given if name == "graph"})
    monkeypatch.setattr(auto, "USUAL", dict.fromkeys(given, 1.0))
    monkeypatch.setattr(auto, "NET_FROM", 0)
    return given


def quick(monkeypatch):
    monkeypatch.setattr(net, "STEPS", 300)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 100)


def stripes(n, rng):
    """Narrow stripes of one OF among several: for trees."""
    features = rng.random((n, 4))
    return features, (features[:, 0] * 9).astype(int) % 3


def rings(n, rng):
    """Distance from the middle of two OFs: for neighbors."""
    features = rng.random((n, 2))
    far = np.hypot(*(features - 0.5).T)
    return features, np.digitize(far, [0.25, 0.4])


def noise(n, rng):
    return rng.random((n, 3)), rng.choice(3, size=n, p=[0.6, 0.3, 0.1])


LONG = [pytest.param(make, marks=pytest.mark.slow) for make in (stripes, noise)]


@pytest.mark.parametrize("make", [rings, *LONG], ids=lambda make: make.__name__)
def test_a_blend_is_not_worse_than_its_best_part_by_more_than_noise(make, monkeypatch):
    quick(monkeypatch)
    features, values = make(400, np.random.default_rng(0))
    known = known_of(features, values[:, None], [Mechanism(3)])
    dealt = folds(400, 5, seed=0)[:2]
    found = run("auto", known, folds=dealt, k=10)
    (origin,) = found.origins
    assert [part.name for part in origin.parts] == ["graph", "boost", "forest", "commonest"]
    best = max(origin.parts, key=lambda part: part.score)
    # Two weights cost half a unit of log-likelihood each, over 160 cells, and twice for halves.
    assert mean_log_scores(known, found.hidden)[0] > best.score - 0.02
    shares = run("commonest", known, folds=dealt).hidden.priors
    assert (
        mean_log_scores(known, found.hidden)[0]
        > mean_log_scores(known, Hidden(found.hidden.rows, shares))[0] - 0.02
    )
    assert sum(part.weight for part in origin.parts) == pytest.approx(1)


@pytest.mark.parametrize("sureness", [0.9, 0.0])
def test_the_graph_goes_on_to_its_second_round_where_that_is_worth_it(sureness, monkeypatch):
    own, other = Part(sureness), Part(0.6)
    assert (auto.PARTS["graph"].brief, auto.IN_FULL["graph"].brief) == (True, False)
    parts(monkeypatch, graph=own, net=other)
    known, _ = table(0, 300)
    found = run("auto", known, folds=folds(300, 3, seed=0), gamma=0.5, seed=4)
    first, *more = own.settings
    assert (first.iterations, first.seed) == (AUTO, 4)
    assert len(more) == (sureness > 0.6)
    for second in more:
        assert (second.iterations, second.gamma) == (AUTO, 0.5)
        assert (second.method, second.seed) == (AUTO, 4)
    assert [part.name for part in found.origins[0].parts] == ["graph", "net", "commonest"]
    assert len(other.settings) == 1
    # What the report says of the graph is that of its last run.
    assert (found.steps, found.rescued_rows, found.recall) == ((1 + len(more),), 7, 0.9)


def test_parts_are_blended_as_the_origins_say(monkeypatch):
    parts(monkeypatch, graph=Part(0.5), net=Part(0.9))
    known, _ = table(0, 200, exclusions=(0, 1, 2))
    dealt = folds(200, 3, seed=0)
    found = run("auto", known, folds=dealt)
    both = [run_part(part, known, dealt) for part in auto.PARTS.values()]
    for cf, block in enumerate(known.columns):
        weights = [part.weight for part in found.origins[cf].parts[:-1]]
        floored = [np.maximum(part.confidences[:, block], 1e-6) for part in both]
        expected = np.prod([of**by for of, by in zip(floored, weights, strict=True)], axis=0)
        expected *= known.candidates[:, block]
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found.confidences[:, block], expected)
        mass = sum(by * part.mass[:, cf] for part, by in zip(both, weights, strict=True))
        np.testing.assert_allclose(found.mass[:, cf], mass)
    np.testing.assert_allclose(found.null.entropy, [0.1, 0.2])
    np.testing.assert_allclose(found.null.shuffled, [0.3, 0.4])


def run_part(part, known, dealt):
    return part.estimate(known, Settings(), folds=dealt)


@pytest.mark.parametrize("seed", range(8))
def test_a_row_falls_back_where_it_does_in_every_part_that_counts(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(3), size=1)[0]
    monkeypatch.setattr(blend, "_weights", lambda *_: weights)
    lost = [Part(0.5, fell_back=True) for _ in range(3)]
    known, _ = table(0, 20)
    parts(monkeypatch, graph=lost[0], boost=lost[1], net=lost[2])
    assert run("auto", known, folds=folds(20, 2, seed=0)).fell_back.all()
    parts(monkeypatch, graph=lost[0], boost=lost[1], net=Part(0.5))
    assert not run("auto", known, folds=folds(20, 2, seed=0)).fell_back.any()
    weights = np.array([0.4, 0.6, 0])
    assert run("auto", known, folds=folds(20, 2, seed=0)).fell_back.all()


def forecast(monkeypatch, **given):
    """Let the forecast be so many seconds for each part."""
    monkeypatch.setattr(auto, "seconds", lambda name, *_, **__: given[name])
    monkeypatch.setattr(auto, "run_seconds", lambda *_, **__: 1.0)


def test_a_budget_leaves_out_what_would_take_longer(monkeypatch, clock):
    graph, slow, fast = (Part(0.5, clock=clock, pace=pace) for pace in (0.01, 1.0, 0.03))
    parts(monkeypatch, boost=slow, net=fast, graph=graph)
    forecast(monkeypatch, graph=5.0, boost=30.0, net=10.0)
    known, _ = table(0, 1000)
    found = run("auto", known, folds=folds(1000, 5, seed=0)[:1], budget=60.0)
    # The graph takes twice as long as forecast, so everything will: the fast part 20 s, not 10.
    assert (graph.rows, fast.rows, slow.rows) == ([1000], [1000], [])
    assert [part.name for part in found.origins[0].parts] == ["graph", "net", "commonest"]
    skipped = "auto skips boost: it would take about 60 s, and 12 s are left"
    assert skipped in found.warnings


def test_a_budget_never_leaves_out_the_graph(monkeypatch, clock):
    walk, other = Part(0.9, clock=clock, pace=0.05), Part(0.9)
    parts(monkeypatch, net=other, graph=walk)
    forecast(monkeypatch, graph=20.0, net=1.0)
    known, _ = table(0, 1000)
    found = run("auto", known, folds=folds(1000, 5, seed=0)[:1], budget=10.0)
    assert (walk.rows, other.rows) == ([1000], [])
    assert found.warnings == ("auto skips net: it would take about 2 s, and 0 s are left",)
    assert found.steps == (1,)
    assert walk.settings[0].iterations == 20  # as the schema says, and not auto


def test_a_part_that_takes_longer_than_the_budget_is_given_up(monkeypatch, clock):
    class Slow(Part):
        def estimate(self, known, settings, *, progress, **more):
            found = super().estimate(known, settings, progress=progress, **more)
            progress(Stage("part", Work.PROPAGATION), 1, 1)
            return found

    walk, slow = Part(0.3, clock=clock, pace=0.01), Slow(0.9, clock=clock, pace=0.2)
    parts(monkeypatch, graph=walk, net=slow)
    forecast(monkeypatch, graph=10.0, net=1.0)
    known, _ = table(0, 1000)
    found = run("auto", known, folds=folds(1000, 5, seed=0)[:1], budget=100.0)
    assert found.warnings[0] == "auto stops net, because the budget is spent"
    assert [part.name for part in found.origins[0].parts] == ["graph", "commonest"]
    alone = walk.estimate(known, Settings(), folds=folds(1000, 5, seed=0)[:1])
    np.testing.assert_allclose(found.confidences, alone.confidences)


def test_a_part_answers_the_cfs_whose_cells_it_can_learn_from():
    few, _ = table(0, 300, exclusions=(1,))  # of 3 and of 4 values: 150 and 100 exact cells
    many, _ = table(0, 1200, exclusions=(1,))  # 600 and 400
    assert auto.answered_by("net", few).tolist() == [False, False]
    assert auto.answered_by("net", many).tolist() == [True, True]
    assert auto.answered_by("forest", few).tolist() == [True, True]
    assert auto.answered_by("forest", many).tolist() == [False, True]
    assert auto.answered_by("boost", few).all()


def test_a_cf_that_the_forest_leaves_out_is_blended_of_the_others():
    known, _ = table(0, 1200, exclusions=(1,))
    with pytest.MonkeyPatch.context() as patch:
        quick(patch)
        one, two = run("auto", known, folds=folds(1200, 5, seed=0)[:1]).origins
    assert "forest" not in [part.name for part in one.parts]
    assert "forest" in [part.name for part in two.parts]
    assert sum(part.weight for part in one.parts) == pytest.approx(1)


def test_a_cf_whose_cells_say_little_may_have_a_metric_of_its_own(monkeypatch):
    parts(monkeypatch, graph=MetricGraph(brief=True))
    rng = np.random.default_rng(0)
    features = rng.random((700, 10))  # of which the last eight say nothing
    values = follow(features[:, :2], (2, 4))  # 700 and 233 exact cells
    known = known_of(features, values, [Mechanism(2), Mechanism(4)])
    one, two = run("auto", known, folds=folds(700, 3, seed=0)).origins
    (of_one,), (of_two,) = (
        [part for part in origin.parts if part.name == "graph"] for origin in (one, two)
    )
    assert of_one.metric is None
    assert of_two.metric is not None


def test_a_part_answers_no_cf_that_it_has_not_learned(monkeypatch):
    monkeypatch.setattr(blend, "_CLEARLY", -100.0)  # something always answers alone
    known, _ = table(0, 1200, exclusions=(1,))
    with pytest.MonkeyPatch.context() as patch:
        quick(patch)
        origins = run("auto", known, folds=folds(1200, 5, seed=0)[:1]).origins
    for origin in origins:
        assert max(part.weight for part in origin.parts) == 1
        assert sum(part.weight for part in origin.parts) == 1


def test_where_no_part_can_run_the_most_common_value_answers(monkeypatch):
    parts(monkeypatch, graph=Part(0.9))
    known, _ = table(0, 9)
    dealt = folds(9, 3, seed=0)
    found, alone = (run(name, known, folds=dealt, k=20) for name in ("auto", "commonest"))
    assert [(part.name, part.weight) for part in found.origins[0].parts] == [("commonest", 1.0)]
    np.testing.assert_allclose(found.confidences, alone.confidences)
    np.testing.assert_allclose(found.hidden.priors, alone.hidden.priors)


def test_without_lightgbm_it_skips_boosting_with_a_warning(monkeypatch):
    def fail(name):
        raise ImportError(name)

    quick(monkeypatch)
    monkeypatch.setattr(net, "STEPS", 36)
    monkeypatch.setattr(boost, "import_module", fail)
    known, _ = table(0, 40)
    found = run("auto", known, folds=folds(40, 3, seed=0))
    (warning,) = found.warnings
    assert warning.startswith(
        "auto skips boost: method boost needs LightGBM, which is not installed"
    )
    for origin in found.origins:
        assert [part.name for part in origin.parts] == ["graph", "forest", "commonest"]
    np.testing.assert_allclose(np.add.reduceat(found.confidences, known.blocks, axis=1), 1)


def test_the_weights_of_parts_hold_for_each_cf_by_itself(monkeypatch):
    class Half(Part):
        """Knows nothing of one of the CFs."""

        def __init__(self, ignorant_of):
            super().__init__(0.95)
            self.ignorant_of = ignorant_of

        def estimate(self, known, settings, **rest):
            found = super().estimate(known, settings, **rest)
            found.hidden.priors[:, known.columns[self.ignorant_of]] = 1 / SIZES[self.ignorant_of]
            return found

    parts(monkeypatch, boost=Half(0), net=Half(1))
    known, _ = table(0, 400)
    one, two = run("auto", known, folds=folds(400, 2, seed=0)).origins
    assert [round(part.weight) for part in one.parts] == [0, 1, 0]
    assert [round(part.weight) for part in two.parts] == [1, 0, 0]


def test_a_table_of_fewer_rows_than_neighbors_skips_the_graph(monkeypatch):
    quick(monkeypatch)
    frame = pl.DataFrame({"x": [str(row) for row in range(10)], "c": ["a", "b"] * 5})
    columns = "x: {role: ordinary, type: numeric}, c: {role: complementary, values: [a, b, d]}"
    found = impute(frame, Schema.parse(f"version: 1\ncolumns: {{{columns}}}"), method="auto")
    assert any("skips graph" in warning for warning in found.report.warnings)
    names = [part.name for part in found.report.columns[0].parts]
    assert names == ["boost", "forest", "commonest"]


def least_likely_first(known):
    """The same rows, whose cells of the second CF rule out what is farthest from the value."""
    candidates, block = known.candidates.copy(), known.columns[1]
    values = follow(known.features, SIZES)[:, 1]
    candidates[:, block] = np.arange(4) != np.where(values < 2, 3, 0)[:, None]
    return replace(known, candidates=candidates)


def test_where_exclusions_are_not_uniform_the_blend_is_a_cautious_one(monkeypatch):
    parts(monkeypatch, boost=Part(0.5), net=Part(0.9))
    known, _ = table(0, 400)
    known = least_likely_first(known)
    dealt = folds(400, 4, seed=0)
    found = run("auto", known, folds=dealt)
    assert [origin.cautious for origin in found.origins] == [False, True]
    block = known.columns[1]
    both = [run_part(part, known, dealt) for part in auto.PARTS.values()]
    rows = np.concatenate(dealt)
    cells = known.candidates[rows][:, block]
    alone = blend.fit([part.hidden.priors[:, block] for part in both], cells, cautious=True)
    weights = [part.weight for part in found.origins[1].parts[:-1]]
    np.testing.assert_allclose(weights, alone.weights)
    own = sum(by * part.confidences[:, block] for by, part in zip(weights, both, strict=True))
    bare = known.candidates[:, block] / known.candidates[:, block].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.confidences[:, block], 2 / 3 * own + bare / 3)
    np.testing.assert_allclose(found.hidden.priors[:, block], alone.prior)


@pytest.mark.parametrize("exact", [60, 40])
def test_where_exclusions_are_not_uniform_a_random_sample_of_50_exact_cells_chooses(
    exact, monkeypatch
):
    known, values = table(n=400)
    candidates = least_likely_first(known).candidates.copy()
    sampled = np.arange(400) < exact
    candidates[sampled, 3:] = np.eye(4, dtype=bool)[values[sampled, 1]]
    known = replace(known, candidates=candidates, sampled=(None, sampled))
    parts(monkeypatch, graph=Part(0.3), boost=Part(0.9))
    dealt = folds(400, 5, seed=0)
    found = run("auto", known, folds=dealt).origins[1]
    rows, block = np.concatenate(dealt), known.columns[1]
    both = [run_part(part, known, dealt) for part in (Part(0.3), Part(0.9))]
    alone = blend.fit(
        [part.hidden.priors[:, block] for part in both],
        known.evidence[rows][:, block],
        by=sampled[rows] if exact >= 50 else None,
        cautious=True,
    )
    assert found.cautious
    assert [part.weight for part in found.parts[:-1]] == pytest.approx(alone.weights)


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
    parts(monkeypatch, net=net.NetMethod(), forest=ForestMethod())
    monkeypatch.setattr(net, "STEPS", 24)
    dealt = folds(len(table), 3, seed=0)[:1]
    alone = run("forest", table, folds=dealt)
    monkeypatch.setattr(blend, "_weights", lambda *_: np.array([0.0, 1.0]))
    found = run("auto", table, folds=dealt)
    assert [*found.fitted.parts] == ["forest"]
    one, other = (fitted.answer(table, workers) for fitted in (alone.fitted, found.fitted))
    np.testing.assert_allclose(one.confidences, other.confidences, rtol=1e-12)


def test_it_keeps_what_its_parts_keep(monkeypatch):
    monkeypatch.setattr(auto, "PARTS", {"boost": boost.BoostMethod(), "net": net.NetMethod()})
    monkeypatch.setattr(auto, "IN_FULL", {"net": net.NetMethod()})
    size, settings = TableSize(1000, 10, (3, 4)), Settings("auto")
    expected = sum(part.model_bytes(size, settings) for part in auto.PARTS.values())
    assert auto.AutoMethod().model_bytes(size, settings) == expected
