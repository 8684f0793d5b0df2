"""Why one row is answered so, by whatever method: its parts, and how each CF blends them.

    graph, ipal        their neighbors; within a table the walk is repeated, see `graph_explained`
    boost, net         how far each feature moved the scores
    commonest          what it says
    auto               its parts, each by itself, and the blend

What was fitted answers rows of its own table as `impute` does, but for graph and ipal: there a row
is not among its own neighbors, and what neighbors say changes from step to step.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    Places,
    best,
    columns,
    normalise,
    posterior,
    sizes,
    start,
)
from cfl_cli.core.dataset import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Progress
from cfl_cli.core.settings import Settings
from cfl_cli.methods import baselines
from cfl_cli.methods.auto import FittedAuto, Recipe
from cfl_cli.methods.baselines import RESTART, FittedIpal
from cfl_cli.methods.graph import (
    FittedGraph,
    FittedRound,
    GraphMethod,
    Rounds,
    doubted,
    most_steps,
    pick,
    rounded,
)
from cfl_cli.methods.graph.propagation import Graph, Propagation, Watch
from cfl_cli.methods.graph.weights import solve_around
from cfl_cli.methods.interface import (
    Answered,
    Estimate,
    Fitted,
    FittedMixture,
    Moving,
    Neighborhood,
    Origin,
    PartExplained,
)

# Why the graph says what it says of one row: its neighbors in each round, and what they passed on.
#
# within a table   the rounds run once more, stopped as they were, while the row and its neighbors
#                  are watched: prior = Σ_j w_j Q_j, where Q_j are the neighbors' confidences one
#                  step before the CF stopped
# of a model       the fitted points that a new row leans on, and what is said at each

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
    """Run the graph as `impute` does, and return also why a row is answered so."""
    made: list[RoundsAround] = []

    def rounds_of(*known: Any, **more: Any) -> RoundsAround:
        made.append(RoundsAround(*known, row=row, **more))
        return made[0]

    found = GraphMethod(rounds_of=rounds_of).estimate(
        known, settings, folds=folds, workers=workers, progress=progress
    )
    rounds = np.array([origin.round for origin in found.origins])
    by = partial(graph_answered, correction=settings.correction)
    return found, _graph_part(made[0].found, rounds, known.blocks, by)


def explain_graph(
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
    by = partial(graph_answered, correction=settings.correction)
    return _graph_part(rounds.found, np.array(course.rounds), blocks, by)


def explain_fitted(fitted: FittedGraph, row: Known, workers: Engine) -> PartExplained:
    """Return why one new row is answered so by fitted points."""
    points, priors = zip(*fitted.by_round(row, workers), strict=True)
    said = fitted.given(priors, row)
    found = []
    for number, one in enumerate(fitted.rounds):
        near = around_fitted(one, points[number], priors[number], workers, number=number + 1)
        confidences = fitted.applied(priors[number], row).confidences[0]
        found.append(replace(near, confidences=confidences))
    by = partial(graph_answered, correction=fitted.correction, doubting=True)
    part = _graph_part(found, fitted.chosen, row.blocks, by)
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


def graph_answered(row: Known, cf: int, *, correction: bool, doubting: bool = False) -> Answered:
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


def _graph_part(
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


@dataclass(frozen=True, eq=False)
class InTable:
    """A row of the table that was learned from, and how the run went."""

    known: Known  # all rows
    settings: Settings
    row: int  # from 0
    origins: tuple[tuple[Origin, ...], ...]  # of each run, per CF
    progress: Progress
    graph: PartExplained | None = None  # if it was found on the way


@dataclass(frozen=True, eq=False)
class Features:
    """Which features belong to an OF, and what they are where nothing is known of it."""

    ofs: tuple[slice, ...]
    blank: Floats  # d


@dataclass(frozen=True, eq=False)
class RunExplained:
    """What one run says of one row, and why."""

    row: Known  # that row alone, with the mechanisms of the run
    parts: tuple[PartExplained, ...]
    recipe: Recipe | None  # None: there is one part
    prior: Floats  # ΣK
    confidences: Floats  # ΣK, before calibration
    answers: tuple[int, ...] | None  # per CF; None: the most confident candidate


@dataclass(frozen=True, eq=False)
class Asked:
    """What is needed whichever part explains itself."""

    features: Features
    workers: Engine
    table: InTable | None = None  # None: a new row, answered by a model
    cfs: Collection[int] | None = None  # what moved others need not be known; None: of all


def explain(
    method: str, fitted: Fitted | None, row: Known, asked: Asked
) -> tuple[tuple[RunExplained, ...], Ints]:
    """Return what the one run or two say of one row, and which of them each CF takes."""
    if not isinstance(fitted, FittedMixture):
        return (_run(method, fitted, row, asked, 0),), np.zeros(len(row.blocks), dtype=np.int64)
    runs = []
    for number, run in enumerate((fitted.one, fitted.other)):
        of_run = asked
        if asked.table is not None:
            known = replace(asked.table.known, mechanisms=run.mechanisms)
            of_run = replace(asked, table=replace(asked.table, known=known))
        own = replace(row, mechanisms=run.mechanisms)
        runs.append(_run(method, run.fitted, own, of_run, number))
    return tuple(runs), fitted.taken.astype(np.int64)


def _run(method: str, fitted: Fitted | None, row: Known, asked: Asked, number: int) -> RunExplained:
    origins = asked.table.origins[number] if asked.table else ()
    if not isinstance(fitted, FittedAuto):
        part = _part(method, fitted, row, asked, origins)
        return RunExplained(row, (part,), None, part.prior, part.confidences, part.answers)
    parts = [
        _part(name, own, row, asked, _of_graph(origins) if name == "graph" else ())
        for name, own in fitted.parts.items()
    ]
    return RunExplained(
        row,
        tuple(parts),
        fitted.recipe,
        fitted.recipe.priors([part.prior[None] for part in parts], row)[0],
        fitted.recipe.confidences([part.confidences[None] for part in parts], row)[0],
        None,
    )


def _of_graph(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    """Return the origins of the graph that is a part of blends."""
    parts = [next(part for part in own.parts if part.name == "graph") for own in origins]
    return tuple(Origin("graph", round=part.round, stops=part.stops) for part in parts)


def _part(
    name: str, fitted: Fitted | None, row: Known, asked: Asked, origins: Sequence[Origin]
) -> PartExplained:
    if name == "observed":
        even = baselines.even_priors(row)
        return PartExplained(name, even, start(row.evidence, row.blocks)[0])
    if name == "graph" and asked.table is not None:
        return asked.table.graph or _walked(asked.table, origins, asked.workers)
    if isinstance(fitted, FittedGraph):
        return explain_fitted(fitted, row, asked.workers)
    if isinstance(fitted, FittedIpal):
        return _of_ipal(fitted, row, asked)
    if fitted is None:
        raise TypeError(f"{name} has fitted nothing")
    said, features = fitted.answer(row, asked.workers), asked.features
    part = PartExplained(
        name,
        said.priors[0],
        said.confidences[0],
        answers=None if said.answers is None else tuple(said.answers[0].tolist()),
    )
    if not isinstance(fitted, Moving):
        return part
    moves = fitted.moves(row, blank=features.blank, ofs=features.ofs, cfs=asked.cfs)
    return replace(part, moves=moves)


def _walked(table: InTable, origins: Sequence[Origin], workers: Engine) -> PartExplained:
    rounds, stops = zip(*((own.round or 1, own.stops) for own in origins), strict=True)
    return explain_graph(
        table.known,
        table.settings,
        row=table.row,
        course=Course(rounds, stops),
        workers=workers,
        progress=table.progress,
    )


def _of_ipal(fitted: FittedIpal, row: Known, asked: Asked) -> PartExplained:
    if asked.table is None:
        points = rounded(row.features)
        passed_on = fitted.round.priors(points, row.blocks, asked.workers)
        said = fitted.given(passed_on, row)
        near = around_fitted(fitted.round, points, passed_on, asked.workers)
        near = replace(near, confidences=said.confidences[0])
        prior, confidences, answers = said.priors[0], said.confidences[0], said.answers
    else:
        steps = (most_steps(asked.table.settings),)
        cfs = len(row.blocks)
        part = explain_graph(
            asked.table.known,
            asked.table.settings,
            row=asked.table.row,
            course=Course((1,) * cfs, (steps,) * cfs),
            workers=asked.workers,
            progress=asked.table.progress,
            restart=RESTART,
        )
        (near,) = part.neighborhoods
        prior, confidences = baselines.prior_of(near.prior[None], row.blocks)[0], part.confidences
        answers = baselines.answers_of(confidences[None], fitted.mass, row)
    own = None if answers is None else tuple(answers[0].tolist())
    return PartExplained(
        "ipal",
        prior,
        confidences,
        (near,),
        rounds=(1,) * len(row.blocks),
        answers=own,
        answered=fitted.answered,
    )


def answered(run: RunExplained, cf: int) -> Answered:
    """Return what would be answered if the row's neighbors said something else of a CF."""
    place, by_part = next(
        (at, part.answered(run.row, cf))
        for at, part in enumerate(run.parts)
        if part.answered is not None
    )
    recipe, block = run.recipe, run.row.columns[cf]
    if recipe is None:
        return by_part
    evidence, candidates = run.row.evidence[:, block].astype(float), run.row.candidates[:, block]

    def blended(said: Floats) -> tuple[Ints, Floats]:
        parts = [np.repeat(part.confidences[None, block], len(said), axis=0) for part in run.parts]
        _, parts[place] = by_part(said)
        cells = np.repeat(evidence, len(said), axis=0)
        confidences = recipe.of_cf(cf, parts, cells)
        normalise(confidences, 1, out=confidences)
        return best(confidences, candidates), confidences

    return blended


# The few neighbors without which a row's answer would be another.
#
#     rough    the others' weights, scaled to sum to 1
#     solved   the weights that the quadratic programme gives the others
#
# A set of neighbors is decisive if the answer is another one in both ways. Sets are tried in the
# order of their size, and of one size those first that leave the answer least by the rough weights.

MOST = 3  # neighbors of a set
AMONG = 40  # neighbors, those of most weight: there are 9,880 sets of three
SOLVED = 256  # sets, at most, of each size


@dataclass(frozen=True)
class Decisive:
    """A smallest set of neighbors without which the answer is another."""

    neighbors: tuple[int, ...]  # their places in the neighborhood
    answer: int  # the other one, a place in the domain
    confidence: float  # that it has then


def find(
    near: Neighborhood, block: slice, answer: int, answered: Answered, workers: Engine
) -> Decisive | None:
    """Return a smallest decisive set of at most three neighbors for one CF; None: there is none."""
    said, m = near.said[:, block], len(near.weights)
    by_weight = np.argsort(-near.weights, kind="stable")
    counting = by_weight[near.weights[by_weight] > 0][:AMONG]
    for size in range(1, min(MOST, m - 1) + 1):
        sets = np.array([*combinations(counting.tolist(), size)], dtype=np.int64)
        if not len(sets):
            break
        left_out = np.zeros((len(sets), m), dtype=bool)
        left_out[np.arange(len(sets))[:, None], sets] = True
        weights = np.where(left_out, 0.0, near.weights)
        total = weights.sum(axis=1)
        rest = total > 0  # or nobody is left whose weights could be scaled
        answers, confidences = answered(weights[rest] / total[rest, None] @ said)
        other = np.flatnonzero(answers != answer)
        ranked = other[np.argsort(confidences[other, answer], kind="stable")][:SOLVED]
        if not len(ranked):
            continue
        chosen = np.flatnonzero(rest)[ranked]
        others = np.nonzero(~left_out[chosen])[1].reshape(len(chosen), m - size)
        solved = solve_around(
            near.differences,
            np.zeros((len(chosen), near.differences.shape[1])),
            others,
            ridge=near.ridge,
            workers=workers,
        )
        answers, confidences = answered(np.einsum("sm,smk->sk", solved, said[others]))
        found = np.flatnonzero(answers != answer)
        if len(found):
            one = int(found[0])
            place = int(answers[one])
            members = tuple(sets[chosen[one]].tolist())
            return Decisive(members, place, float(confidences[one, place]))
    return None
