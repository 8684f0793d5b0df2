"""The whole method: the paper's Algorithm 1, and what its hidden cells say of it.

round one   neighbors and weights from the OFs; confidences propagated along them
round two   the same, with round one's confidences as further features, weighted by γ

To judge the answer without the truth, the rounds run again with the cells of some rows hidden, all
CFs at once: every value becomes a candidate. What they say of a hidden row is then a prediction
that none of its cells has touched, neither in the features nor in the weights, and the cells are
its test. By the same test every CF can choose after how many steps it stops, and in which round.

Cells shuffled over the rows show what the rounds make of a CF that nothing can be known of. That is
a fair comparison in round one only, whose graph depends on the OFs alone. It is found once and
shared by all runs; of a large table, a part of the rows is enough for this comparison.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import entropies, sizes
from cfl_cli.core.draws import SAMPLE, order, shuffled
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators import graph_fitted, graph_stages
from cfl_cli.estimators.graph_fitted import (
    pick,
)
from cfl_cli.estimators.graph_rounds import RoundChoice, Rounds
from cfl_cli.estimators.graph_settings import (
    LONGEST,
    chooses_round,
    chooses_steps,
    most_steps,
)
from cfl_cli.estimators.graph_trace import Trace
from cfl_cli.estimators.interface import Estimate, Hidden, Null
from cfl_cli.steps.flow import Graph
from cfl_cli.steps.propagate import Propagation

# The numbers of steps to choose from.
STOPS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 50, 70, 100, 140, 200, 280, 400)



def estimate(
    known: Known,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,
    fit: bool = True,
    longest: int = LONGEST,
    rounds_of: Callable[..., "Rounds"] | None = None,
) -> Estimate:
    """Run both rounds, and again with the rows of each of the `folds` hidden.

    Unless it is to `fit` something, nothing for later rows comes of it. Where hidden cells choose
    how many steps are made, they are no more than `longest`. Whoever wants to look on makes the
    rounds, by `rounds_of`; see `graph_explained`.
    """
    evidence, blocks, made = known.evidence, known.blocks, rounds_of or Rounds
    rounds = made(known.features, evidence, blocks, settings, workers, progress, longest=longest)
    choice, hidden = judge(rounds, folds) if folds else (rounds.unjudged(), None)
    first = rounds.walk("round 1", rounds.first, evidence, choice.stops[0])
    walks, graphs = [first], [rounds.first]
    null = _null(rounds, first, choice.stops[0]) if folds else None
    if (choice.rounds == 2).any():
        graphs.append(rounds.second("round 2", first.confidences))
        walks.append(rounds.walk("round 2", graphs[1], evidence, choice.stops[1]))
    favored = choice.rounds - 1
    return Estimate(
        pick([walk.confidences for walk in walks], favored, sizes(blocks, evidence.shape[1])),
        pick([walk.fell_back for walk in walks], favored),
        pick([walk.mass for walk in walks], favored),
        choice.origins(len(walks)),
        hidden,
        null,
        rescued_rows=rounds.rescued,
        recall=rounds.recall,
        steps=tuple(walk.steps for walk in walks),
        fitted=rounds.fitted(choice.rounds, graphs, [walk.confidences for walk in walks])
        if fit
        else None,
    )


estimate_only = partial(estimate, fit=False)


def judge(rounds: Rounds, folds: Sequence[Ints]) -> tuple[RoundChoice, Hidden]:
    """Hide the rows of each fold in turn, and choose by them what is left open."""
    settings, evidence, blocks = rounds.settings, rounds.evidence, rounds.blocks
    choosing = chooses_steps(settings)
    stops = [*rounds.unjudged().stops]
    most = most_steps(settings, rounds.longest)
    steps = tuple(stop for stop in STOPS if stop <= most) if choosing else (most,)
    traces = [Trace(evidence, blocks, folds, steps) for _ in stops]
    if choosing:  # round two needs to know what round one has come to
        for number, fold in enumerate(folds):
            name, cells = f"fold {number + 1}, round 1", rounds.hide(f"fold {number + 1}", fold)
            _watched(rounds, name, rounds.first, cells, stops[0], traces[0], number)
        stops[0] = traces[0].best()
    for number, fold in enumerate(folds):
        name = f"fold {number + 1}"
        cells = rounds.hide(name, fold)
        given = f"{name}, round 1", rounds.first, cells, stops[0]
        first = rounds.walk(*given) if choosing else _watched(rounds, *given, traces[0], number)
        if len(traces) > 1:
            graph = rounds.second(f"{name}, round 2", first.confidences)
            _watched(rounds, f"{name}, round 2", graph, cells, stops[1], traces[1], number)
    if choosing and len(traces) > 1:
        stops[1] = traces[1].best()
    priors = [trace.at(stop) for trace, stop in zip(traces, stops, strict=True)]
    favored = np.full(len(blocks), len(traces))
    if chooses_round(settings):
        favored = 1 + np.argmax(
            [trace.score(prior) for trace, prior in zip(traces, priors, strict=True)], axis=0
        )
    chosen = pick(priors, favored - 1, sizes(blocks, evidence.shape[1]))
    tried = tuple(
        tuple(trace.tried(number, cf) for number, trace in enumerate(traces, start=1))
        for cf in range(len(blocks))
        if choosing or chooses_round(settings)
    )
    return RoundChoice(favored, tuple(stops), tried), Hidden(np.concatenate(folds), chosen)


def _watched(
    rounds: Rounds,
    name: str,
    graph: Graph,
    cells: Floats | Mask,
    stops: Ints,
    trace: Trace,
    fold: int,
) -> Propagation:
    """Walk with a fold hidden, and trace its priors; a resumed run does not walk again."""
    engine = rounds.workers.within(f"{name}, seen")
    walk = rounds.walk(name, graph, cells, stops, trace.watch(fold, engine))
    trace.keep(fold, engine)
    return walk


def _null(rounds: Rounds, first: Propagation, stops: Ints) -> Null:
    """Compare round one with what it makes of shuffled cells."""
    n, seed = len(rounds.features), rounds.settings.seed
    if n > graph_stages.SAMPLED_ABOVE:
        rounds = rounds.of("sample", np.sort(order(n, SAMPLE, seed)[: graph_stages.SAMPLE_ROWS]))
        first = rounds.walk("sample", rounds.first, rounds.evidence, stops)
    mixed = shuffled(rounds.evidence, rounds.blocks, seed)
    walk = rounds.walk("shuffled", rounds.first, mixed, stops)
    own, other = (entropies(at.confidences, rounds.blocks).mean(axis=0) for at in (first, walk))
    return Null(own, other, len(rounds.features))
