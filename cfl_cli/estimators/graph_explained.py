"""Why the graph says what it says of one row: its neighbors in each round, and what they passed on.

within a table   the rounds run once more, stopped as they were, while the row and its neighbors
                 are watched: prior = Σ_j w_j Q_j, where Q_j are the neighbors' confidences one
                 step before the CF stopped
of a model       the fitted points that a new row leans on, and what is said at each
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Places
from cfl_cli.core.blocks import best, columns, sizes, start
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators import graph
from cfl_cli.estimators.explained import Answered, Neighborhood, PartExplained
from cfl_cli.estimators.graph_fitted import (
    FittedGraph,
    FittedRound,
    doubted,
    pick,
)
from cfl_cli.estimators.graph_rounds import Rounds
from cfl_cli.estimators.interface import Estimate
from cfl_cli.steps.flow import Graph
from cfl_cli.steps.propagate import Propagation, Watch

NAMES = ("round 1", "round 2")  # of the rounds in which no row is hidden


@dataclass(frozen=True)
class Course:
    """The round whose answer each CF took, and after how many steps each round stopped."""

    rounds: tuple[int, ...]  # per CF: 1 or 2
    stops: tuple[tuple[int, ...], ...]  # per CF, per round that was run


@dataclass(frozen=True, eq=False)
class Around:
    """One row's neighbors in one graph."""

    neighbors: Ints  # k
    weights: Floats  # k
    differences: Floats  # k × d
    usual: Floats  # d: mean squared differences to all rows


class LastSteps:
    """What watched rows held one step before each CF stopped."""

    def __init__(self, evidence: Floats | Mask, blocks: Ints, stops: Ints) -> None:
        self.begun = start(evidence, blocks)
        self.before, self.said = self.begun, self.begun.copy()
        self.cfs = [*zip(columns(blocks, evidence.shape[1]), stops.tolist(), strict=True)]

    def see(self, step: int, confidences: Floats) -> bool:
        """Take note of a step; a walk that begins again in double precision does so at 1."""
        before = self.begun if step == 1 else self.before
        for block, stop in self.cfs:
            if step <= stop:
                self.said[:, block] = before[:, block]
        self.before = confidences
        return False


class RoundsAround(Rounds):
    """The rounds of a table in which one row and its neighbors are watched."""

    def __init__(self, *known: Any, row: int, **more: Any) -> None:
        """Take what `Rounds` takes, and the row."""
        self.row, self.around = row, dict[str, Around]()
        self.found: list[Neighborhood] = []
        super().__init__(*known, **more)

    def _note(self, name: str, points: Floats, neighbors: Places, weights: Floats) -> None:
        if name not in NAMES:  # with hidden rows
            return
        own, usual = neighbors[self.row], np.zeros(points.shape[1])
        for column, at in enumerate(points[self.row]):  # one by one: points may fill the memory
            usual[column] = np.mean((points[:, column] - at) ** 2)
        differences = points[own] - points[self.row]
        self.around[name] = Around(own, weights[self.row], differences, usual)

    def walk(
        self,
        name: str,
        graph: Graph,  # as `Rounds` has it
        evidence: Floats | Mask,
        stops: Ints,
        watch: Watch | None = None,
        *,
        restart: float | None = None,
    ) -> Propagation:
        """Propagate along a graph, and take note of what the row's neighbors pass on."""
        if name not in NAMES:
            return super().walk(name, graph, evidence, stops, watch, restart=restart)
        around = self.around[name]
        watched = np.append(self.row, around.neighbors)
        last = LastSteps(evidence[watched], self.blocks, stops)
        watch = Watch(watched, range(1, int(stops.max()) + 1), last.see)
        walked = super().walk(name, graph, evidence, stops, watch, restart=restart)
        said = last.said[1:]
        self.found.append(
            Neighborhood(
                round=len(self.found) + 1,
                rows=around.neighbors,
                shared=np.ones(len(said), dtype=np.int64),
                differences=around.differences,
                usual=around.usual,
                weights=around.weights,
                ridge=self.settings.ridge,
                said=said,
                prior=around.weights @ said,
                confidences=walked.confidences[self.row],
            )
        )
        return walked


def estimate(
    known: Known,
    settings: Settings,
    *,
    row: int,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,
) -> tuple[Estimate, PartExplained]:
    """Run the graph as `graph.estimate` does, and return also why a row is answered so."""
    made: list[RoundsAround] = []

    def rounds_of(*known: Any, **more: Any) -> RoundsAround:
        made.append(RoundsAround(*known, row=row, **more))
        return made[0]

    found = graph.estimate(
        known, settings, folds=folds, workers=workers, progress=progress, rounds_of=rounds_of
    )
    rounds = np.array([origin.round for origin in found.origins])
    by = partial(answered, correction=settings.correction)
    return found, _part(made[0].found, rounds, known.blocks, by)


def explain(
    known: Known,
    settings: Settings,
    *,
    row: int,
    course: Course,
    workers: Engine,
    progress: Progress,
    restart: float | None = None,
) -> PartExplained:
    """Return why a row of the table is answered so, for a run that took this course.

    With `restart`, that share of the confidences comes from the start in every step, and cells are
    not applied; see `ipal`.
    """
    evidence, blocks = known.evidence, known.blocks
    rounds = RoundsAround(known.features, evidence, blocks, settings, workers, progress, row=row)
    one, *two = map(np.array, zip(*course.stops, strict=True))
    walked = rounds.walk("round 1", rounds.first, evidence, one, restart=restart)
    for stops in two:
        second = rounds.second("round 2", walked.confidences)
        rounds.walk("round 2", second, evidence, stops)
    by = partial(answered, correction=settings.correction)
    return _part(rounds.found, np.array(course.rounds), blocks, by)


def explain_fitted(fitted: FittedGraph, row: Known, workers: Engine) -> PartExplained:
    """Return why one new row is answered so by fitted points."""
    points, priors = zip(*fitted.by_round(row, workers), strict=True)
    said = fitted.given(priors, row)
    found = []
    for number, one in enumerate(fitted.rounds):
        near = around_fitted(one, points[number], priors[number], workers, number=number + 1)
        confidences = fitted.applied(priors[number], row).confidences[0]
        found.append(replace(near, confidences=confidences))
    by = partial(answered, correction=fitted.correction, doubting=True)
    part = _part(found, fitted.chosen, row.blocks, by)
    return replace(part, prior=said.priors[0], confidences=said.confidences[0])


def around_fitted(
    fitted: FittedRound, point: Floats, prior: Floats, workers: Engine, *, number: int = 1
) -> Neighborhood:
    """Return the neighborhood of one rounded point among fitted ones; no cell is applied.

    Given are the point, 1 × d, its prior in the round, 1 × ΣK, and the round's number.
    """
    (neighbors,), (weights,) = fitted.lean(point, workers)
    return Neighborhood(
        round=number,
        rows=None,
        shared=fitted.size[neighbors],
        differences=fitted.points[neighbors].astype(float) - point,
        usual=np.array(
            [
                np.average((column.astype(float) - at) ** 2, weights=fitted.size)
                for column, at in zip(fitted.points.T, point[0], strict=True)
            ]
        ),
        weights=weights,
        ridge=fitted.leaning.ridge,
        said=fitted.said[neighbors].astype(float),
        prior=prior[0],
        confidences=prior[0],
    )


def answered(row: Known, cf: int, *, correction: bool, doubting: bool = False) -> Answered:
    """Return what would be answered if a row's neighbors said something else of a CF.

    Models doubt what neighbors say; see `graph_fitted`.
    """
    block = row.columns[cf]
    evidence, candidates = row.evidence[:, block].astype(float), row.candidates[:, block]

    def answer(said: Floats) -> tuple[Ints, Floats]:
        confidences = doubted(said, 1 / said.shape[1]) if doubting else said
        if correction:
            cells = np.repeat(evidence, len(said), axis=0)
            confidences, _ = posterior(confidences, cells, over=1, fallback=Fallback.CELL)
        return best(confidences, candidates), confidences

    return answer


def _part(
    found: Sequence[Neighborhood],
    rounds: Ints,
    blocks: Ints,
    by: Callable[[Known, int], Answered],
) -> PartExplained:
    widths, favored = sizes(blocks, len(found[0].prior)), rounds - 1
    return PartExplained(
        "graph",
        pick([one.prior for one in found], favored, widths),
        pick([one.confidences for one in found], favored, widths),
        tuple(found),
        rounds=tuple(rounds.tolist()),
        answered=by,
    )
