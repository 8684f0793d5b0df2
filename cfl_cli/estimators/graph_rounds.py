"""The rounds of one table, whatever cells they are given, and which of them each CF takes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Places
from cfl_cli.core.blocks import sizes
from cfl_cli.core.parallel import Engine, filled
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Work
from cfl_cli.estimators import graph_stages
from cfl_cli.estimators.graph_fitted import (
    FittedGraph,
    FittedRound,
    Leaning,
    Stack,
    pick,
)
from cfl_cli.estimators.graph_settings import (
    LONGEST,
    gamma,
    most_steps,
)
from cfl_cli.estimators.interface import Origin, Tried
from cfl_cli.steps.flow import CELLS_AT_ONCE, Graph
from cfl_cli.steps.neighbors import nearest
from cfl_cli.steps.propagate import Propagation, Watch, propagate
from cfl_cli.steps.weights import solve


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


class Rounds:
    """The rounds of one table, whatever cells they are given."""

    def __init__(
        self,
        features: Floats,
        evidence: Floats | Mask,
        blocks: Ints,
        settings: Settings,
        workers: Engine,
        progress: Progress,
        *,
        name: str = "round 1",
        longest: int = LONGEST,
        first: Graph | None = None,
    ) -> None:
        self.features = workers.share("features", features)
        self.evidence, self.blocks = workers.share("evidence", evidence), blocks
        self.settings, self.workers, self.progress = settings, workers, progress
        self.longest = longest
        self.rescued, self.recall = 0, 1.0
        self._hidden: tuple[Ints, Floats | Mask] | None = None  # rows, and the cells without theirs
        self.first = first or self._kept(name) or self._made(name, self.features)

    def of(self, name: str, rows: Ints) -> "Rounds":
        """Return the rounds of some of the rows."""
        return Rounds(
            self.features[rows],
            self.evidence[rows],
            self.blocks,
            self.settings,
            self.workers.within(name),
            self.progress,
            name=name,
            longest=self.longest,
        )

    def second(self, name: str, confidences: Floats) -> Graph:
        """Return round two's graph, given round one's confidences."""
        ready = self._kept(name)
        if ready is not None:
            return ready
        points = self.points(name, confidences)
        graph = self._made(name, points)
        self.workers.drop(points)
        return graph

    def points(self, name: str, confidences: Floats) -> Floats:
        """Return round two's points, given round one's confidences."""
        n, d = self.features.shape
        engine, width = self.workers.within(name), confidences.shape[1]
        points = engine.empty("points", (n, d + width), np.float64)
        stack = Stack(self.features, confidences, self.blocks, gamma(self.settings), points)
        filled(engine.rows("points", stack, n, at_once=max(1, CELLS_AT_ONCE // (d + width))))
        return points

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
            workers=self.workers.within(f"{name}, {'watched' if watch else 'walk'}"),
            watch=watch,
            progress=self._stage(name, Work.PROPAGATION, int(stops.max())),
        )

    def predict_hidden(self, name: str, rows: Ints, choice: RoundChoice) -> Floats:
        """Return the priors of some rows while their cells are hidden, m × ΣK."""
        cells = self.hide(name, rows)
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
        points = [self.features, *(self.points("fitted", first) for first in confidences[:-1])]
        said = (
            graph.flow(own, self.workers.within(f"said {number}"))
            for number, (graph, own) in enumerate(zip(graphs, confidences, strict=True))
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

    def hide(self, name: str, rows: Ints) -> Floats | Mask:
        """Return the cells with those of some rows hidden: any value may be theirs."""
        if self._hidden is None or self._hidden[0] is not rows:
            if self._hidden is not None:
                self.workers.drop(self._hidden[1])
            cells = self.workers.within(name).share("cells", hide(self.evidence, rows))
            self._hidden = rows, cells
        return self._hidden[1]

    def _kept(self, name: str) -> Graph | None:
        """Return a graph that a run before has made, if this one is resumed."""
        ready = Graph.kept(len(self.features), self.workers.within(name))
        if ready is None:
            return None
        graph, facts = ready
        self._count(**facts)
        return graph

    def _count(self, *, rescued: int, recall: float) -> None:
        self.rescued += rescued
        self.recall = min(self.recall, recall)

    def _made(self, name: str, points: Floats) -> Graph:
        engine = self.workers.within(name)
        neighbors = nearest(
            points,
            k=self.settings.k,
            seed=self.settings.seed,
            exact=self.settings.neighbors == "exact",
            workers=engine,
            progress=self._stage(name, Work.NEIGHBORS, len(points)),
        )
        weights = solve(
            points,
            neighbors.rows,
            ridge=self.settings.ridge,
            workers=engine,
            progress=self._stage(name, Work.WEIGHTS, len(points)),
        )
        self._note(name, points, neighbors.rows, weights.values)
        graph = Graph.of(neighbors.rows, weights.values, neighbors.order, workers=engine)
        facts: dict[str, Any] = {"rescued": weights.rescued_rows, "recall": neighbors.recall}
        graph.keep(engine, facts)
        engine.drop(neighbors.rows, weights.values)
        self._count(**facts)
        return graph

    def _note(self, name: str, points: Floats, neighbors: Places, weights: Floats) -> None:
        """Look at a graph before it is laid out; see `graph_explained`."""

    def _stage(self, name: str, work: Work, total: int) -> Callable[[int], None]:
        stage = graph_stages.stage_of(name, work)
        self.progress(stage, 0, total)
        return lambda done: self.progress(stage, done, total)


def hide(evidence: Floats | Mask, rows: Ints) -> Floats | Mask:
    """Return the cells with those of some rows hidden: any value may be theirs."""
    hidden = evidence.copy()
    hidden[rows] = 1
    return hidden
