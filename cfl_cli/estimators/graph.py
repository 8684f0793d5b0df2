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
from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import entropies, sizes
from cfl_cli.core.draws import SAMPLE, order, shuffled
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Work
from cfl_cli.estimators import graph_fitted, graph_stages
from cfl_cli.estimators.graph_fitted import (
    FittedGraph,
    FittedRound,
    Leaning,
    pick,
    scale_by_domain,
)
from cfl_cli.estimators.graph_settings import (
    LONGEST,
    chooses_round,
    chooses_steps,
    gamma,
    most_steps,
)
from cfl_cli.estimators.graph_trace import Trace
from cfl_cli.estimators.interface import Estimate, Hidden, Null, Origin, Tried
from cfl_cli.steps.neighbors import nearest
from cfl_cli.steps.propagate import Graph, Propagation, Watch, propagate
from cfl_cli.steps.weights import solve

# The numbers of steps to choose from.
STOPS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 50, 70, 100, 140, 200, 280, 400)

stages, memory = graph_stages.stages, graph_stages.memory
restore, model_bytes = graph_fitted.restore, graph_fitted.model_bytes


@dataclass(frozen=True)
class RoundChoice:
    """The round whose answer each CF takes, and after how many steps it stops in each round."""

    rounds: Ints  # per CF: 1 or 2
    stops: tuple[Ints, ...]  # per round, per CF
    tried: tuple[tuple[Tried, ...], ...] = ()  # per CF, what was chosen from; empty: nothing was

    def origin(self, cf: int, rounds: int) -> Origin:
        """Return how one CF's answer comes about, if so many rounds are run."""
        favored = int(self.rounds[cf])
        return Origin(
            "graph",
            round=favored,
            iterations=int(self.stops[favored - 1][cf]),
            stops=tuple(int(stops[cf]) for stops in self.stops[:rounds]),
            tried=self.tried[cf] if self.tried else (),
        )

    def origins(self, rounds: int) -> tuple[Origin, ...]:
        """Return the same of every CF."""
        return tuple(self.origin(cf, rounds) for cf in range(len(self.rounds)))


def unjudged(settings: Settings, cfs: int, longest: int = LONGEST) -> RoundChoice:
    """Return what is done for so many CFs when there is nothing to choose by."""
    count, steps = 2 if gamma(settings) > 0 else 1, most_steps(settings, longest)
    return RoundChoice(np.full(cfs, count), (np.full(cfs, steps),) * count)


def estimate(
    known: Known,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    workers: Workers,
    progress: Progress,
    longest: int = LONGEST,
    rounds_of: Callable[..., "Rounds"] | None = None,
) -> Estimate:
    """Run both rounds, and again with the rows of each of the `folds` hidden.

    Where hidden cells choose how many steps are made, they are no more than `longest`. Whoever
    wants to look on makes the rounds, by `rounds_of`; see `graph_explained`.
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
        fitted=rounds.fitted(choice.rounds, graphs, [walk.confidences for walk in walks]),
    )


class Rounds:
    """The rounds of one table, whatever cells they are given."""

    def __init__(
        self,
        features: Floats,
        evidence: Floats | Mask,
        blocks: Ints,
        settings: Settings,
        workers: Workers,
        progress: Progress,
        *,
        name: str = "round 1",
        longest: int = LONGEST,
        first: Graph | None = None,
    ) -> None:
        self.features, self.evidence, self.blocks = features, evidence, blocks
        self.settings, self.workers, self.progress = settings, workers, progress
        self.longest = longest
        self.rescued, self.recall = 0, 1.0
        self.first = self._graph(name, features) if first is None else first

    def of(self, name: str, rows: Ints) -> "Rounds":
        """Return the rounds of some of the rows."""
        return Rounds(
            self.features[rows],
            self.evidence[rows],
            self.blocks,
            self.settings,
            self.workers,
            self.progress,
            name=name,
            longest=self.longest,
        )

    def second(self, name: str, confidences: Floats) -> Graph:
        """Return round two's graph, given round one's confidences."""
        return self._graph(name, self.points(confidences))

    def points(self, confidences: Floats) -> Floats:
        """Return round two's points, given round one's confidences."""
        estimated = scale_by_domain(confidences, self.blocks, gamma=gamma(self.settings))
        return np.hstack([self.features, estimated])

    def walk(
        self,
        name: str,
        graph: Graph,
        evidence: Floats | Mask,
        stops: Ints,
        watch: Watch | None = None,
        *,
        restart: float | None = None,
    ) -> Propagation:
        """Propagate along a graph; `name` is what the progress calls it.

        With `restart`, that share comes from the start in every step, and cells are not applied.
        """
        return propagate(
            graph,
            evidence,
            self.blocks,
            iterations=stops,
            correction=self.settings.correction and restart is None,
            restart=restart or 0.0,
            workers=self.workers,
            watch=watch,
            progress=self._stage(name, Work.PROPAGATION, int(stops.max())),
        )

    def predict_hidden(self, name: str, rows: Ints, choice: RoundChoice) -> Floats:
        """Return the priors of some rows while their cells are hidden, m × ΣK."""
        cells = hide(self.evidence, rows)
        walks = [self.walk(f"{name}, round 1", self.first, cells, choice.stops[0])]
        if (choice.rounds == 2).any():
            graph = self.second(f"{name}, round 2", walks[0].confidences)
            walks.append(self.walk(f"{name}, round 2", graph, cells, choice.stops[1]))
        priors = [walk.confidences[rows] for walk in walks]
        chosen: Floats = pick(priors, choice.rounds - 1, sizes(self.blocks, cells.shape[1]))
        return chosen

    def fitted(
        self, favored: Ints, graphs: Sequence[Graph], confidences: Sequence[Floats]
    ) -> FittedGraph:
        """Return what later rows need: each round's points, and what is said at them."""
        points = [self.features, *(self.points(first) for first in confidences[:-1])]
        said = (
            graph.flow(own, self.workers) for graph, own in zip(graphs, confidences, strict=True)
        )
        leaning = Leaning.by(self.settings)
        fitted = tuple(FittedRound.of(*of, leaning) for of in zip(points, said, strict=True))
        return FittedGraph(fitted, favored, gamma(self.settings), self.settings.correction)

    def unjudged(self) -> RoundChoice:
        """Return what is done when there is nothing to choose by."""
        return unjudged(self.settings, len(self.blocks), self.longest)

    def all_alike(self) -> Ints:
        """Return the number of steps that was asked for, for every CF."""
        return np.full(len(self.blocks), most_steps(self.settings, self.longest))

    def _graph(self, name: str, points: Floats) -> Graph:
        neighbors = nearest(
            points,
            k=self.settings.k,
            seed=self.settings.seed,
            exact=self.settings.neighbors == "exact",
            workers=self.workers,
            progress=self._stage(name, Work.NEIGHBORS, len(points)),
        )
        weights = solve(
            points,
            neighbors.rows,
            ridge=self.settings.ridge,
            workers=self.workers,
            progress=self._stage(name, Work.WEIGHTS, len(points)),
        )
        self.rescued += weights.rescued_rows
        self.recall = min(self.recall, neighbors.recall)
        self._note(name, points, neighbors.rows, weights.values)
        return Graph(neighbors.rows, weights.values)

    def _note(self, name: str, points: Floats, neighbors: Ints, weights: Floats) -> None:
        """Look at a graph before it is laid out; see `graph_explained`."""

    def _stage(self, name: str, work: Work, total: int) -> Callable[[int], None]:
        stage = graph_stages.stage_of(name, work)
        self.progress(stage, 0, total)
        return lambda done: self.progress(stage, done, total)


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
            name, cells = f"fold {number + 1}, round 1", hide(evidence, fold)
            rounds.walk(name, rounds.first, cells, stops[0], traces[0].watch(number))
        stops[0] = traces[0].best()
    for number, fold in enumerate(folds):
        name, cells = f"fold {number + 1}", hide(evidence, fold)
        watch = None if choosing else traces[0].watch(number)
        first = rounds.walk(f"{name}, round 1", rounds.first, cells, stops[0], watch)
        if len(traces) > 1:
            graph = rounds.second(f"{name}, round 2", first.confidences)
            rounds.walk(f"{name}, round 2", graph, cells, stops[1], traces[1].watch(number))
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


def hide(evidence: Floats | Mask, rows: Ints) -> Floats | Mask:
    """Return the cells with those of some rows hidden: any value may be theirs."""
    hidden = evidence.copy()
    hidden[rows] = 1
    return hidden
