"""Why one row got its imputed values: the parts of the method, and how each CF blends them.

    graph, ipal        the row's neighbors in each round, and what they passed on:
      of a table       the rounds run once more, stopped as they were, while the row and its
                       neighbors are watched: prior = Σ_j w_j Q_j, where Q_j are the neighbors'
                       confidences one step before the CF stopped
      of a model       the fitted points that a new row leans on, and what is said at each
    boost, net         how far each feature moved the scores
    forest             the same; of a table's own row, by the trees that did not see it
    commonest          its prior
    auto               its parts, each by itself, and the blend

What was fitted answers rows of its own table as `impute` does, but for graph and ipal: there a row
is not among its own neighbors, and what neighbors say changes from step to step.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
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
from cfl_cli.core.settings import AUTO, Settings
from cfl_cli.methods import baselines
from cfl_cli.methods.auto import FittedAuto, Recipe
from cfl_cli.methods.baselines import RESTART, FittedIpal
from cfl_cli.methods.forest import FittedForest
from cfl_cli.methods.graph import (
    LONGEST,
    FittedGraph,
    FittedRound,
    Rounds,
    doubted,
    metric,
    pick,
    to_single,
)
from cfl_cli.methods.graph.metric import FittedMetric, name_of, with_others
from cfl_cli.methods.graph.propagation import Graph, Propagation, Watch
from cfl_cli.methods.graph.weights import solve_around
from cfl_cli.methods.interface import (
    Answered,
    Fitted,
    FittedMixture,
    Moving,
    Neighborhood,
    Origin,
    PartExplained,
)


class RoundsAround(Rounds):
    """The rounds of a table in which one row and its neighbors are watched."""

    def __init__(self, *known: Any, row: int, **more: Any) -> None:
        self.row, self.found = row, list[Neighborhood]()
        self.near: tuple[Ints, Floats, Floats, Floats]  # of the graph made last
        super().__init__(*known, **more)

    def _note(self, points: Floats, neighbors: Places, weights: Floats) -> None:
        own, usual = neighbors[self.row], np.zeros(points.shape[1])
        for column, at in enumerate(points[self.row]):  # one by one: points may fill the memory
            usual[column] = np.mean((points[:, column] - at) ** 2)
        self.near = own, weights[self.row], points[own] - points[self.row], usual

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
        neighbors, weights, differences, usual = self.near
        watched = np.append(self.row, neighbors)
        begun = start(evidence[watched], self.blocks)
        before, held = begun, begun.copy()  # one step before each CF stopped
        cfs = [*zip(columns(self.blocks, evidence.shape[1]), stops.tolist(), strict=True)]

        def see(step: int, confidences: Floats) -> bool:
            nonlocal before
            if step == 1:  # a walk that begins again in double precision does so here
                before = begun
            for block, stop in cfs:
                if step <= stop:
                    held[:, block] = before[:, block]
            before = confidences
            return False

        watch = Watch(watched, range(1, int(stops.max()) + 1), see)
        walked = super().walk(name, graph, evidence, stops, watch, restart=restart)
        said = held[1:]
        self.found.append(
            Neighborhood(
                round=len(self.found) + 1,
                rows=neighbors,
                shared=np.ones(len(said), dtype=np.int64),
                differences=differences,
                usual=usual,
                weights=weights,
                ridge=self.settings.ridge,
                said=said,
                prior=weights @ said,
                confidences=walked.confidences[self.row],
            )
        )
        return walked


@dataclass(frozen=True, eq=False)
class InTable:
    """A row of the table that was learned from, and how the run went."""

    known: Known  # all rows
    settings: Settings
    row: int  # from 0
    origins: tuple[tuple[Origin, ...], ...]  # of each run, per CF
    progress: Progress


@dataclass(frozen=True, eq=False)
class Question:
    """What is needed whichever part explains itself."""

    ofs: tuple[slice, ...]  # the features of each OF
    blank: Floats  # d: features of a row of which nothing is known
    workers: Engine
    table: InTable | None = None  # None: a new row, answered by a model
    cfs: Collection[int] | None = None  # what moved others need not be known; None: of all


def explain_graph(
    table: InTable,
    rounds: Sequence[int],
    stops: Sequence[Sequence[int]],
    workers: Engine,
    *,
    restart: float | None = None,
    metrics: Mapping[int, float] | None = None,
    fitted: Fitted | None = None,
) -> PartExplained:
    """Return why a row of the table has its imputed value.

    Given are the round whose answer each CF took, and after how many steps each round stopped, per
    CF. With `restart`, that share of the confidences comes from the start in every step, and cells
    are not applied; see `ipal`. `metrics` are the grades of CFs that have a metric of their own,
    and `fitted` is what the graph has kept, if it has.
    """
    known, settings = table.known, table.settings
    evidence, blocks = known.evidence, known.blocks
    around = RoundsAround(
        known.features, evidence, blocks, settings, workers, table.progress, row=table.row
    )
    metrics = metrics or {}
    one, last = (np.array([of_cf[at] for of_cf in stops]) for at in (0, -1))
    walked = around.walk("round 1", around.first, evidence, one, restart=restart)
    if any(len(of_cf) > 1 for cf, of_cf in enumerate(stops) if cf not in metrics):
        second = around.graph("round 2", walked.confidences)
        around.walk("round 2", second, evidence, last)
    by = partial(graph_answered, correction=settings.correction)
    favored = np.array([1 if cf in metrics else own for cf, own in enumerate(rounds)])
    part = _graph_part(around.found, favored, blocks, by)
    own = {}
    for cf, grade in metrics.items():
        points, scales = with_others(known, walked.confidences, settings), None
        if isinstance(fitted, FittedMetric):
            scales = fitted.scaled[cf].scales
            points = points if len(scales) == points.shape[1] else known.features
        alone = metric.of_cf(known, points, cf, settings, int(last[cf]))
        if scales is None:
            scales = alone.scales(grade)
        given = alone.given(scales, workers.within(name_of(cf, grade)), table.progress)
        again = RoundsAround(*given, name="whole", row=table.row)
        again.walk("whole", again.first, again.evidence, last[cf : cf + 1])
        own[cf] = again.found[0]
    return _with_metrics(part, known, own)


def _with_metrics(
    part: PartExplained, known: Known, own: Mapping[int, Neighborhood]
) -> PartExplained:
    """Return a part in which some CFs have a neighborhood of their own, which says that CF alone."""
    if not own:
        return part
    nothing = np.zeros_like(part.prior)
    wide = []
    for cf, near in own.items():
        block = known.columns[cf]
        said = np.zeros((len(near.said), len(nothing)))
        said[:, block] = near.said
        prior, confidences = nothing.copy(), nothing.copy()
        prior[block], confidences[block] = near.prior, near.confidences
        wide.append(replace(near, round=2, said=said, prior=prior, confidences=confidences, cf=cf))
    priors = {cf: near.prior[None] for cf, near in own.items()}
    posteriors = {cf: near.confidences[None] for cf, near in own.items()}
    return replace(
        part,
        prior=metric.of_values(part.prior[None], known, priors)[0],
        confidences=metric.of_values(part.confidences[None], known, posteriors)[0],
        neighborhoods=(*part.neighborhoods, *wide),
        rounds=tuple(2 if cf in own else number for cf, number in enumerate(part.rounds)),
    )


def explain_metric(fitted: FittedMetric, row: Known, workers: Engine) -> PartExplained:
    """Return why a new row has its imputed value where CFs have metrics of their own."""
    part, points = explain_fitted(fitted.plain, row, workers), fitted.points(row, workers)
    own = {}
    for cf, scaled in fitted.scaled.items():
        alone = explain_fitted(scaled.graph, fitted.alone(row, points, cf), workers)
        (near,) = alone.neighborhoods
        own[cf] = replace(near, prior=alone.prior, confidences=alone.confidences)
    return _with_metrics(part, row, own)


def explain_fitted(fitted: FittedGraph, row: Known, workers: Engine) -> PartExplained:
    """Return why a new row has its imputed value, by fitted points."""
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
    evidence = row.evidence[:, block].astype(float)
    candidates = row.mechanisms[cf].leaves(row.candidates[:, block])

    def answer(said: Floats) -> tuple[Ints, Floats]:
        confidences = doubted(said, 1 / said.shape[1]) if doubting else said
        if correction:
            cells = np.repeat(evidence, len(said), axis=0)
            confidences, _ = posterior(confidences, cells, over=1, fallback=Fallback.CELL)
        return best(confidences, candidates), confidences

    return answer


def _graph_part(
    found: Sequence[Neighborhood], rounds: Ints, blocks: Ints, by: Callable[[Known, int], Answered]
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
class RunExplained:
    row: Known  # that row alone, with the mechanisms of the run
    parts: tuple[PartExplained, ...]
    recipe: Recipe | None  # None: there is one part
    prior: Floats  # ΣK
    confidences: Floats  # ΣK, before calibration
    answers: tuple[int, ...] | None  # per CF; None: the most confident candidate


def explain(
    method: str, fitted: Fitted | None, row: Known, question: Question
) -> tuple[tuple[RunExplained, ...], Ints]:
    """Return what the one run or two say of one row, and which of them each CF takes."""
    if not isinstance(fitted, FittedMixture):
        return (_run(method, fitted, row, question, 0),), np.zeros(len(row.blocks), dtype=np.int64)
    runs = []
    for number, run in enumerate((fitted.one, fitted.other)):
        of_run = question
        if question.table is not None:
            known = replace(question.table.known, mechanisms=run.mechanisms)
            of_run = replace(question, table=replace(question.table, known=known))
        own = replace(row, mechanisms=run.mechanisms)
        runs.append(_run(method, run.fitted, own, of_run, number))
    return tuple(runs), fitted.taken.astype(np.int64)


def _run(how: str, fitted: Fitted | None, row: Known, question: Question, at: int) -> RunExplained:
    origins = question.table.origins[at] if question.table else ()
    if not isinstance(fitted, FittedAuto):
        part = _part(how, fitted, row, question, origins)
        return RunExplained(row, (part,), None, part.prior, part.confidences, part.answers)
    parts = []
    for name, own in fitted.parts.items():
        of_part: tuple[Origin, ...] = ()
        if name == "graph":
            of_graph = (
                next(one for one in origin.parts if one.name == "graph") for origin in origins
            )
            of_part = tuple(
                Origin("graph", round=one.round, stops=one.stops, metric=one.metric)
                for one in of_graph
            )
        parts.append(_part(name, own, row, question, of_part))
    return RunExplained(
        row,
        tuple(parts),
        fitted.recipe,
        fitted.recipe.priors([part.prior[None] for part in parts], row)[0],
        fitted.recipe.confidences([part.confidences[None] for part in parts], row)[0],
        None,
    )


def _part(
    name: str, fitted: Fitted | None, row: Known, question: Question, origins: Sequence[Origin]
) -> PartExplained:
    if name == "observed":
        even = baselines.even_priors(row)
        return PartExplained(name, even, start(row.evidence, row.blocks)[0])
    if name == "graph" and question.table is not None:
        rounds, stops = zip(*((own.round or 1, own.stops) for own in origins), strict=True)
        metrics = {cf: own.metric for cf, own in enumerate(origins) if own.metric is not None}
        given = question.table, rounds, stops, question.workers
        return explain_graph(*given, metrics=metrics, fitted=fitted)
    if isinstance(fitted, FittedMetric):
        return explain_metric(fitted, row, question.workers)
    if isinstance(fitted, FittedGraph):
        return explain_fitted(fitted, row, question.workers)
    if isinstance(fitted, FittedIpal):
        return _of_ipal(fitted, row, question)
    if fitted is None:
        raise TypeError(f"{name} has fitted nothing")
    if isinstance(fitted, FittedForest) and question.table is not None:
        fitted = fitted.of_row(question.table.row)
    said = fitted.answer(row, question.workers)
    part = PartExplained(
        name,
        said.priors[0],
        said.confidences[0],
        answers=None if said.answers is None else tuple(said.answers[0].tolist()),
    )
    if not isinstance(fitted, Moving):
        return part
    moves = fitted.moves(row, blank=question.blank, ofs=question.ofs, cfs=question.cfs)
    return replace(part, moves=moves)


def _of_ipal(fitted: FittedIpal, row: Known, question: Question) -> PartExplained:
    if question.table is None:
        points = to_single(row.features)
        passed_on = fitted.round.priors(points, row.blocks, question.workers)
        said = fitted.given(passed_on, row)
        near = around_fitted(fitted.round, points, passed_on, question.workers)
        near = replace(near, confidences=said.confidences[0])
        prior, confidences, answers = said.priors[0], said.confidences[0], said.answers
    else:
        given = question.table.settings.iterations
        cfs, steps = len(row.blocks), (LONGEST if given == AUTO else given,)
        part = explain_graph(
            question.table, (1,) * cfs, (steps,) * cfs, question.workers, restart=RESTART
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
    place, by_part = next(
        (at, part.answered(run.row, cf))
        for at, part in enumerate(run.parts)
        if part.answered is not None
    )
    recipe, block = run.recipe, run.row.columns[cf]
    if recipe is None:
        return by_part
    evidence = run.row.evidence[:, block].astype(float)
    candidates = run.row.mechanisms[cf].leaves(run.row.candidates[:, block])

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

_MOST = 3  # neighbors of a set
AMONG = 40  # neighbors, those of most weight: there are 9,880 sets of three
SOLVED = 256  # sets, at most, of each size


def decisive_set(
    near: Neighborhood, block: slice, answer: int, answered: Answered, workers: Engine
) -> tuple[tuple[int, ...], int, float] | None:
    """Return a smallest decisive set of at most three neighbors for one CF; None: there is none.

    It is the neighbors' places, the other answer's place in the domain, and the confidence that
    this has then.
    """
    said, m = near.said[:, block], len(near.weights)
    by_weight = np.argsort(-near.weights, kind="stable")
    counting = by_weight[near.weights[by_weight] > 0][:AMONG]
    for size in range(1, min(_MOST, m - 1) + 1):
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
            return members, place, float(confidences[one, place])
    return None
