"""Why one row is answered so, by whatever method: its parts, and how each CF blends them.

    graph, ipal        their neighbors; within a table the walk is repeated, see `graph_explained`
    boost, net         how far each feature moved the scores
    commonest          what it says
    auto               its parts, each by itself, and the blend

What was fitted answers rows of its own table as `impute` does, but for graph and ipal: there a row
is not among its own neighbors, and what neighbors say changes from step to step.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.blocks import best, normalise, start
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators import graph_explained, ipal, observed
from cfl_cli.estimators.auto_fitted import FittedAuto, Recipe
from cfl_cli.estimators.explained import Answered, PartExplained
from cfl_cli.estimators.graph_explained import Course
from cfl_cli.estimators.graph_fitted import FittedGraph, rounded
from cfl_cli.estimators.graph_settings import most_steps
from cfl_cli.estimators.interface import Fitted, Moving, Origin
from cfl_cli.estimators.ipal import RESTART, FittedIpal
from cfl_cli.estimators.mixture import FittedMixture


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
        even = observed.even_priors(row)
        return PartExplained(name, even, start(row.evidence, row.blocks)[0])
    if name == "graph" and asked.table is not None:
        return asked.table.graph or _walked(asked.table, origins, asked.workers)
    if isinstance(fitted, FittedGraph):
        return graph_explained.explain_fitted(fitted, row, asked.workers)
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
    return graph_explained.explain(
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
        near = graph_explained.around_fitted(fitted.round, points, passed_on, asked.workers)
        near = replace(near, confidences=said.confidences[0])
        prior, confidences, answers = said.priors[0], said.confidences[0], said.answers
    else:
        steps = (most_steps(asked.table.settings),)
        cfs = len(row.blocks)
        part = graph_explained.explain(
            asked.table.known,
            asked.table.settings,
            row=asked.table.row,
            course=Course((1,) * cfs, (steps,) * cfs),
            workers=asked.workers,
            progress=asked.table.progress,
            restart=RESTART,
        )
        (near,) = part.neighborhoods
        prior, confidences = ipal.prior_of(near.prior[None], row.blocks)[0], part.confidences
        answers = ipal.answers_of(confidences[None], fitted.mass, row)
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
