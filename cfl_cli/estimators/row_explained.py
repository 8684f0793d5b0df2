"""Why one row is answered so, by whatever method: its parts, and how each CF blends them.

    graph, ipal        their neighbors; within a table the walk is repeated, see `graph_explained`
    boost, net         how far each feature moved the scores
    commonest          what it says
    auto               its parts, each by itself, and the blend

What was fitted answers rows of its own table as `impute` does, but for graph and ipal: there a row
is not among its own neighbors, and what neighbors say changes from step to step.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.blocks import best, normalise, start
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators import blend, graph_explained, ipal
from cfl_cli.estimators.auto_fitted import FittedAuto, Recipe
from cfl_cli.estimators.decisive import Answered
from cfl_cli.estimators.explained import Moves, PartExplained
from cfl_cli.estimators.graph_explained import Course
from cfl_cli.estimators.graph_fitted import DOUBT, FittedGraph, rounded
from cfl_cli.estimators.graph_settings import most_steps
from cfl_cli.estimators.interface import Fitted, Origin
from cfl_cli.estimators.ipal import RESTART, FittedIpal
from cfl_cli.estimators.mixture import FittedMixture
from cfl_cli.estimators.net_fitted import FittedNet


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
    correction: bool = True
    in_table: bool = True
    ipal_mass: Floats | None = None  # ΣK: how ipal's answers weigh values


@dataclass(frozen=True, eq=False)
class Asked:
    """What is needed whichever part explains itself."""

    features: Features
    workers: Workers
    table: InTable | None = None  # None: a new row, answered by a model


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
    correction = asked.table.settings.correction if asked.table else True
    if isinstance(fitted, FittedGraph):
        correction = fitted.correction
    mass = fitted.mass if isinstance(fitted, FittedIpal) else None
    if not isinstance(fitted, FittedAuto):
        part = _part(method, fitted, row, asked, origins)
        return RunExplained(
            row,
            (part,),
            None,
            part.prior,
            part.confidences,
            part.answers,
            correction,
            asked.table is not None,
            mass,
        )
    parts = [
        _part(name, own, row, asked, _of_graph(origins) if name == "graph" else ())
        for name, own in fitted.parts.items()
    ]
    graphs = [own for own in fitted.parts.values() if isinstance(own, FittedGraph)]
    return RunExplained(
        row,
        tuple(parts),
        fitted.recipe,
        fitted.recipe.priors([part.prior[None] for part in parts], row)[0],
        fitted.recipe.confidences([part.confidences[None] for part in parts], row)[0],
        None,
        all(own.correction for own in graphs),
        asked.table is not None,
    )


def _of_graph(origins: Sequence[Origin]) -> tuple[Origin, ...]:
    """Return the origins of the graph that is a part of blends."""
    parts = [next(part for part in own.parts if part.name == "graph") for own in origins]
    return tuple(Origin("graph", round=part.round, stops=part.stops) for part in parts)


def _part(
    name: str, fitted: Fitted | None, row: Known, asked: Asked, origins: Sequence[Origin]
) -> PartExplained:
    if name == "observed":
        even = np.hstack([np.full(how.size, 1 / how.size) for how in row.mechanisms])
        return PartExplained(name, even, start(row.evidence, row.blocks)[0])
    if name == "graph":
        if asked.table is None:
            assert isinstance(fitted, FittedGraph)  # noqa: S101 — or nothing was loaded
            return graph_explained.explain_fitted(fitted, row, asked.workers)
        if asked.table.graph is not None:
            return asked.table.graph
        course = Course(
            tuple(own.round or 1 for own in origins), tuple(own.stops for own in origins)
        )
        return _walked(asked.table, course, asked.workers)
    if fitted is None:
        raise TypeError(f"{name} has fitted nothing")
    if name == "ipal":
        assert isinstance(fitted, FittedIpal)  # noqa: S101 — as it was fitted by ipal
        return _of_ipal(fitted, row, asked)
    said = fitted.answer(row, asked.workers)
    return PartExplained(
        name,
        said.priors[0],
        said.confidences[0],
        moves=_moves(fitted, row, asked.features),
        answers=None if said.answers is None else tuple(said.answers[0].tolist()),
    )


def _moves(fitted: Fitted, row: Known, features: Features) -> tuple[Moves | None, ...]:
    if isinstance(fitted, FittedNet):
        from cfl_cli.estimators.net_explained import moves  # noqa: PLC0415 — one of two needs it

        return moves(fitted, row.features[0], features.blank, features.ofs, row.blocks)
    asked = getattr(fitted, "moves", None)
    return () if asked is None else tuple(asked(row))


def _walked(table: InTable, course: Course, workers: Workers) -> PartExplained:
    return graph_explained.explain(
        table.known,
        table.settings,
        row=table.row,
        course=course,
        workers=workers,
        progress=table.progress,
    )


def _of_ipal(fitted: FittedIpal, row: Known, asked: Asked) -> PartExplained:
    said = fitted.answer(row, asked.workers)
    if asked.table is None:
        points = rounded(row.features)
        near = graph_explained.around_fitted(fitted.round, 1, points, row.blocks, asked.workers)
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
        empty = start(np.ones((1, len(part.prior)), dtype=bool), row.blocks)[0]
        prior = (1 - RESTART) * near.prior + RESTART * empty
        confidences = part.confidences
        answers = ipal.answers_of(confidences[None], fitted.mass, row)
    own = None if answers is None else tuple(answers[0].tolist())
    return PartExplained(
        "ipal", prior, confidences, (near,), rounds=(1,) * len(row.blocks), answers=own
    )


def answered(run: RunExplained, cf: int) -> Answered:
    """Return what would be answered if the row's neighbors said something else of a CF."""
    block = run.row.columns[cf]
    evidence = run.row.evidence[0, block].astype(float)
    candidates = run.row.candidates[0, block]
    place = next(at for at, part in enumerate(run.parts) if part.neighborhoods)

    def by_ipal(said: Floats, mass: Floats) -> tuple[Ints, Floats]:
        begun = start(evidence[None], 1)
        confidences = (1 - RESTART) * said + RESTART * begun
        if candidates.sum() == 1:
            return np.full(len(said), candidates.argmax()), confidences
        return np.asarray((confidences * mass).argmax(axis=1)), confidences

    def by_graph(said: Floats) -> Floats:
        if not run.in_table:
            said = said + DOUBT * (1 / said.shape[1] - said)
        if not run.correction:
            return said
        cells = np.repeat(evidence[None], len(said), axis=0)
        return posterior(said, cells, over=1, fallback=Fallback.CELL)[0]

    def answer(said: Floats) -> tuple[Ints, Floats]:
        if run.ipal_mass is not None:
            return by_ipal(said, run.ipal_mass[block])
        confidences = by_graph(said)
        if run.recipe is not None:
            parts = [
                np.repeat(part.confidences[None, block], len(said), axis=0) for part in run.parts
            ]
            parts[place] = confidences
            confidences = _blended(run.recipe, cf, parts, evidence)
        allowed = np.repeat(candidates[None], len(said), axis=0)
        return best(confidences, allowed), confidences

    return answer


def _blended(recipe: Recipe, cf: int, parts: Sequence[Floats], evidence: Floats) -> Floats:
    """Return the blend of one CF's confidences, s × K, as `Recipe.confidences` makes it."""
    weights = recipe.weights[:, cf]
    if recipe.cautious[cf]:
        bare = np.repeat(start(evidence[None], 1), len(parts[0]), axis=0)
        mixed = blend.with_bare(parts, weights, bare, among=recipe.among)
    else:
        mixed = blend.blended(parts, weights)
    mixed = np.where(evidence == 0, 0.0, mixed)
    normalise(mixed, 1, out=mixed)
    return mixed
