"""The baselines: what a method has to beat.

    Observed    the cells alone: all candidates are alike, Q0. The paper calls it comp.
    Commonest   how common each value is, estimated from the cells of all rows
    Ipal        the paper's rival, IPAL (Zhang & Yu 2015), as the paper describes and measures it

IPAL propagates along round one's weights, and corrects for common values only in the end:

    Q = α H Q + (1 − α) Q0                      α = 0.9
    answer = argmax_c of Q_c · ΣQ0_c / ΣQ_c     class-mass normalisation; the sums are over the rows

Cells are not applied: values that they rule out keep some confidence, and may even be answered.
That is how the paper's figures of IPAL come about, and what they are compared with.

For a row that comes later, the fitted rows say α H Q, and its own cell is its start. Its prior has
the start of an empty cell instead, and its answer the sums of the fitted rows.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np

from cfl_cli.core.arrays import LEAST_MASS, Floats, Ints, Mask, columns, start, totals
from cfl_cli.core.dataset import Known, Rule, all_but
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress, Work
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.graph import FittedRound, GraphMethod, Leaning, Rounds, expected, hide
from cfl_cli.methods.graph.propagation import Propagation
from cfl_cli.methods.interface import (
    Answer,
    Answered,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Method,
    Origin,
    TableSize,
    answer_by,
    apply_cells,
    check_distributions,
)

RESTART = 0.1  # 1 − α: of the confidences, what comes from the start in every step


class Observed(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        even = even_priors(known)
        applied = apply_cells(np.broadcast_to(even, known.candidates.shape), known)
        rows = np.concatenate(folds) if folds else None
        hidden = None if rows is None else Hidden(rows, np.tile(even, (len(rows), 1)))
        return Estimate(*applied, (Origin("observed"),) * len(known.blocks), hidden)

    def restore(self, state: State, layout: Layout) -> Fitted:
        raise StateError("method observed learns nothing that could be kept")


def even_priors(known: Known) -> Floats:
    """Return the prior of every row without its cells: all values alike, ΣK."""
    return np.concatenate([np.full(how.size, 1 / how.size) for how in known.mechanisms])


class Commonest(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        fitted = FittedShares(np.concatenate(known.shares()))
        said = fitted.answer(known, workers)
        hidden = None
        if folds:
            shares = (known.shares(all_but(fold, len(known))) for fold in folds)
            priors = [
                np.tile(np.concatenate(others), (len(fold), 1))
                for others, fold in zip(shares, folds, strict=True)
            ]
            hidden = Hidden(np.concatenate(folds), np.vstack(priors))
        origins = (Origin("commonest"),) * len(known.blocks)
        return Estimate(said.confidences, said.fell_back, said.mass, origins, hidden, fitted=fitted)

    def restore(self, state: State, layout: Layout) -> "FittedShares":
        shares = state.array("shares", np.float64, layout.width)
        check_distributions("shares", shares[None], layout)
        return FittedShares(shares)

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        return 8.0 * size.width


@dataclass(frozen=True, eq=False)
class FittedShares(Fitted):
    shares: Floats  # ΣK

    def answer(self, rows: Known, workers: Engine) -> Answer:
        return answer_by(np.tile(self.shares, (len(rows), 1)), rows)

    def state(self) -> State:
        return State({"shares": self.shares})


class Ipal(GraphMethod):
    """The paper's rival; it takes the graph's first round, and as much memory as the graph."""

    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        evidence, blocks = known.evidence, known.blocks
        rounds = Rounds(known.features, evidence, blocks, settings, workers, progress)

        stops = np.full(len(blocks), rounds.most_steps)

        def walk(name: str, cells: Floats | Mask) -> Propagation:
            return rounds.walk(name, rounds.first, cells, stops, restart=RESTART)

        hidden = [
            walk(f"fold {number + 1}", hide(evidence, fold)).confidences[fold]
            for number, fold in enumerate(folds)
        ]
        walked = walk("round 1", evidence)
        confidences = walked.confidences
        mass = start(evidence, blocks).sum(axis=0) / np.maximum(confidences.sum(axis=0), LEAST_MASS)
        fitted = FittedIpal(FittedRound.of(known.features, confidences, settings), mass, blocks)
        return Estimate(
            confidences,
            walked.fell_back,
            totals(confidences * evidence, blocks),
            (Origin("ipal", round=1, iterations=walked.steps),) * len(blocks),
            Hidden(np.concatenate(folds), np.vstack(hidden), fitted.rules) if folds else None,
            answers=answers_of(confidences, mass, known),
            rescued_rows=rounds.rescued,
            recall=rounds.recall,
            solver=rounds.solver,
            steps=(walked.steps,),
            fitted=fitted,
        )

    def restore(self, state: State, layout: Layout) -> "FittedIpal":  # type: ignore[override]  # another of the fitted
        leaning = Leaning.restored(state)
        fitted = FittedRound.restored(state, layout, leaning, features=layout.features)
        mass = state.array("mass", np.float64, layout.width)
        if (mass < 0).any():
            raise StateError("array 'mass' holds numbers below 0")
        return FittedIpal(fitted, mass, np.cumsum((0, *layout.domains[:-1])))

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        return super().model_bytes(size, settings.replaced({"gamma": 0.0})) + 8 * size.width

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        walks = [*(f"fold {number + 1}" for number in range(folds)), "round 1"]
        stages = expected((Work.NEIGHBORS, Work.WEIGHTS), "round 1", size, settings)
        for name in walks:
            stages += expected((Work.PROPAGATION,), name, size, settings)
        return stages


@dataclass(frozen=True, eq=False)
class FittedIpal(Fitted):
    """The points and confidences of the fitted rows, and how the sums weigh values in answers."""

    round: FittedRound
    mass: Floats  # ΣK: ΣQ0 / ΣQ
    blocks: Ints

    @property
    def rules(self) -> tuple[Rule, ...]:
        blocks = columns(self.blocks, len(self.mass))
        return tuple(partial(_answer, self.mass[block]) for block in blocks)

    def answer(self, rows: Known, workers: Engine) -> Answer:
        return self.given(self.round.priors(rows.features, rows.blocks, workers), rows)

    def given(self, said: Floats, rows: Known) -> Answer:
        """Return the predictions for some rows whose neighbors say so much, m × ΣK."""
        confidences = with_start(said, start(rows.evidence, rows.blocks))
        return Answer(
            prior_of(said, rows.blocks),
            confidences,
            np.zeros((len(rows), len(rows.blocks)), dtype=bool),
            totals(confidences * rows.evidence, rows.blocks),
            answers_of(confidences, self.mass, rows),
        )

    def answered(self, row: Known, cf: int) -> Answered:
        """Return what would be answered if a row's neighbors said something else of a CF."""
        block = row.columns[cf]
        begun = start(row.evidence[:, block], 1)
        candidates = row.mechanisms[cf].leaves(row.candidates[:, block])

        def answer(said: Floats) -> tuple[Ints, Floats]:
            confidences = with_start(said, begun)
            return first_of(confidences, self.mass[block], candidates), confidences

        return answer

    def without_points(self) -> Self:
        return replace(self, round=self.round.without_points())

    def state(self) -> State:
        kept = self.round.state()
        return State({**kept.arrays, "mass": self.mass}, vars(self.round.leaning))


def with_start(said: Floats, begun: Floats) -> Floats:
    """Return α of what neighbors say, and the rest from the start, which is shaped alike."""
    return (1 - RESTART) * said + RESTART * begun


def prior_of(said: Floats, blocks: Ints) -> Floats:
    """Return the same with the start of an empty cell, m × ΣK."""
    return with_start(said, start(np.ones((1, said.shape[1]), dtype=bool), blocks))


def answers_of(confidences: Floats, mass: Floats, known: Known) -> Ints:
    """Return the value of each row that ranks first, n × CFs; exact cells are known."""
    return np.column_stack(
        [
            first_of(confidences[:, block], mass[block], how.leaves(known.candidates[:, block]))
            for block, how in zip(known.columns, known.mechanisms, strict=True)
        ]
    )


def first_of(confidences: Floats, mass: Floats, candidates: Mask) -> Ints:
    """Return the value of one CF that ranks first, n; all may have the same cell, 1 × K."""
    ranked = (confidences * mass).argmax(axis=1)
    exact = candidates.sum(axis=1) == 1
    return np.asarray(np.where(exact, candidates.argmax(axis=1), ranked))


def _answer(mass: Floats, prior: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
    begun = likelihood / np.maximum(likelihood.sum(axis=-1, keepdims=True), LEAST_MASS)
    confidences = prior + RESTART * (begun - 1 / len(mass))
    answers = (confidences * mass).argmax(axis=-1)
    chosen = np.take_along_axis(confidences, answers[..., None], axis=-1)[..., 0]
    return np.asarray(answers), np.asarray(chosen)
