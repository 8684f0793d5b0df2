"""The graph with fewer or more steps, with other distances, and with another second round.

A distance is learned by scaling the OFs. Three ways: by the gain of boosting's trees, the same for
all CFs; by the same, but every CF with a distance of its own; and by a search, which doubles,
halves or drops one OF after the other wherever the held-out score rises. The search hides further
rows than those that judge it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.tried import boosts
from benchmarks.tried.lab import Answer, Lab, beside, quiet
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.methods import boost, graph
from cfl_cli.methods.boost import BoostObjective, StopBoosting, Target
from cfl_cli.methods.graph import STOPS, RoundChoice, Rounds, Trace, hide
from cfl_cli.methods.graph.propagation import Graph

FACTORS = (2.0, 0.5, 0.0)  # that a search tries on every OF
SEARCH_STEPS = 20
USUAL, MANY = 20, 50  # neighbors
BRIEF, LONG = 100, 400  # steps at most: as in `auto`'s first try; as in `--iterations auto`
LEAST_SHARE = 0.01  # of the importance, so that no OF vanishes from a distance


def run(lab: Lab) -> None:
    """Answer by every variant of the graph; boosting must have answered already."""
    rounds = _rounds(lab, lab.known.features)
    steps(lab, rounds)
    _fed_by_boosting(lab, rounds)
    _learned(lab)


def steps(lab: Lab, rounds: Rounds | None = None) -> None:
    """Answer after various numbers of steps, in one round and in two."""
    variants = {
        "graph": Settings(seed=lab.seed),
        "graph, steps chosen": Settings(seed=lab.seed, iterations=AUTO),
        "graph, both chosen": Settings(seed=lab.seed, iterations=AUTO, gamma=AUTO),
    }
    for name, settings in variants.items():
        lab.answers[name] = Answer.of(
            graph.GraphMethod().estimate(
                lab.known, settings, folds=lab.folds, workers=lab.workers, progress=quiet
            )
        )
    rounds = rounds or _rounds(lab, lab.known.features)
    for count in (20, 100, 400):
        lab.answers[f"one round, {count} steps"] = _walk(lab, rounds, count)
    first = rounds.first
    lab.answers["one round, steps chosen"] = _chosen(lab, rounds, first, first, BRIEF)
    more_neighbors(lab)


def more_neighbors(lab: Lab) -> None:
    """Answer with more neighbors, and nothing learned but when to stop."""
    rounds = _rounds(lab, lab.known.features, k=MANY)
    lab.answers["one round, k = 50"] = _chosen(lab, rounds, rounds.first, rounds.first, BRIEF)


def _fed_by_boosting(lab: Lab, rounds: Rounds) -> None:
    """Let the second round's features be what boosting says, before or after a row's own cells."""
    priors, confidences = boosts.hidden(lab)
    boosted = lab.answers["boost"]
    while_hidden, fed = rounds.second("", confidences), rounds.second("", boosted.confidences)
    steps = rounds.all_alike()
    blind = rounds.walk("", while_hidden, hide(rounds.evidence, lab.hidden), steps)
    last = rounds.walk("", fed, rounds.evidence, steps)
    lab.answers["fed by boosting"] = Answer(
        blind.confidences[lab.hidden], last.confidences, last.mass
    )
    lab.answers["fed by boosting, steps chosen"] = _chosen(lab, rounds, while_hidden, fed)
    if boosted.priors is not None:
        graphs = rounds.second("", priors), rounds.second("", boosted.priors)
        lab.answers["fed by priors, steps chosen"] = _chosen(lab, rounds, *graphs)


def _learned(lab: Lab) -> None:
    """Let distances be learned, round one alone."""
    features = lab.known.features
    spread = spreads(features)
    gains = importances(lab)
    shares = gains.mean(axis=0)
    scales = {
        "standardised": 1 / spread,
        "important": np.sqrt(shares),
        "standardised, important": np.sqrt(shares) / spread,
        "searched": search(lab),
    }
    for name, scale in scales.items():
        rounds = _rounds(lab, features * scale)
        lab.answers[f"distance {name}"] = _chosen(lab, rounds, rounds.first, rounds.first, BRIEF)
    own_distances(lab, gains, k=USUAL, limits={"own": BRIEF, "own, 400 steps": LONG})
    own_distances(lab, gains, k=MANY, limits={"own, k = 50": BRIEF})


def own_distances(lab: Lab, gains: Floats, *, k: int, limits: Mapping[str, int]) -> None:
    """Give every CF a graph of its own, and let propagation go on for so long at most."""
    features = lab.known.features
    scaled = [features * np.sqrt(own) / spreads(features) for own in gains]
    of_cfs = [_rounds(lab, points, k=k) for points in scaled]
    for name, longest in limits.items():
        answers = [_chosen(lab, rounds, rounds.first, rounds.first, longest) for rounds in of_cfs]
        lab.answers[f"distance {name}"] = beside(answers, lab.known.columns)


def spreads(features: Floats) -> Floats:
    """Return the standard deviation of every OF; of a constant one, next to nothing."""
    return np.asarray(np.maximum(features.std(axis=0), 1e-9))


def importances(lab: Lab) -> Floats:
    """Return each OF's share of the gain of every CF's shallow trees, CFs × d.

    Hidden cells have no say but for when to stop.
    """
    fitter = boost.Fitter(lab.known, lab.folds, lab.seed, lab.workers, quiet)
    data = fitter.trees.lightgbm.Dataset(lab.known.features, params={"verbose": -1}).construct()
    gains = np.array([_gains(fitter, target, data, lab.hidden) for target in fitter.targets])
    shares = gains / np.maximum(gains.sum(axis=1, keepdims=True), 1e-12)
    return np.asarray(np.maximum(shares, LEAST_SHARE))


def _gains(fitter: boost.Fitter, target: Target, data: Any, hidden: Ints) -> Floats:
    options = {
        "objective": "none",
        "num_class": len(target.cells),
        "num_leaves": boost.SHALLOW.leaves,
        "min_data_in_leaf": max(target.cells.shape[1] // 100, 1),
        "min_sum_hessian_in_leaf": 1e-4,
        "lambda_l2": boost.L2,
        "boost_from_average": False,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    booster = fitter.trees.lightgbm.Booster(options, data)
    objective = BoostObjective(target, 0, hidden)
    try:
        while not booster.update(fobj=objective):
            pass
    except StopBoosting:
        pass
    return np.asarray(booster.feature_importance("gain"), dtype=float)


def search(lab: Lab) -> Floats:
    """Return the scales of the OFs that predict the cells of other hidden rows best."""
    known = lab.known
    cells = hide(lab.blind.evidence, lab.others)

    def score(scales: Floats) -> float:
        rounds = _rounds(lab, known.features * scales)
        stops = np.full(len(known.blocks), SEARCH_STEPS)
        priors = rounds.walk("", rounds.first, cells, stops).confidences[lab.others]
        return float(Trace(known.evidence, known.blocks, [lab.others], [1]).score(priors).mean())

    scales = np.ones(known.features.shape[1])
    best = score(scales)
    for column in range(len(scales)):
        for factor in FACTORS:
            tried = scales.copy()
            tried[column] = factor
            value = score(tried)
            if value > best:
                best, scales = value, tried
    return scales


def _rounds(lab: Lab, features: Floats, *, k: int = USUAL) -> Rounds:
    known, settings = lab.known, Settings(seed=lab.seed, k=k)
    return Rounds(features, known.evidence, known.blocks, settings, lab.workers, quiet)


def _walk(lab: Lab, rounds: Rounds, steps: int) -> Answer:
    """Return what so many steps of round one make of it."""
    count = len(rounds.blocks)
    stops = np.full(count, steps)
    choice = RoundChoice(np.ones(count, dtype=int), (stops,))
    hidden_priors = rounds.predict_hidden("", lab.hidden, choice)
    last = rounds.walk("", rounds.first, rounds.evidence, stops)
    return Answer(hidden_priors, last.confidences, last.mass)


def _chosen(
    lab: Lab, rounds: Rounds, while_hidden: Graph, graph: Graph, longest: int = LONG
) -> Answer:
    """Return what propagation makes of graphs, stopped for each CF where hidden cells favor it."""
    steps = [stop for stop in STOPS if stop <= longest]
    trace = Trace(rounds.evidence, rounds.blocks, lab.folds, steps)
    cells, all_alike = hide(rounds.evidence, lab.hidden), np.full(len(rounds.blocks), longest)
    rounds.walk("", while_hidden, cells, all_alike, trace.watch(0, rounds.workers))
    stops = trace.best()
    last = rounds.walk("", graph, rounds.evidence, stops)
    return Answer(trace.at(stops), last.confidences, last.mass)
