"""The paper's rival, IPAL (Zhang & Yu 2015), as the paper describes and measures it.

    Q = α H Q + (1 − α) Q0                      along round one's weights; α = 0.9
    answer = argmax_c of Q_c · ΣQ0_c / ΣQ_c     class-mass normalisation; the sums are over the rows

Cells are not applied: values that they rule out keep some confidence, and may even be answered.
That is how the paper's figures of IPAL come about, and what they are compared with.

Of a row that comes later the fitted rows say α H Q, and its own cell is its start. Its prior has
the start of an empty cell instead, and its answer the sums of the fitted rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns, start, totals
from cfl_cli.core.known import Known, Rule
from cfl_cli.core.log_score import LEAST_MASS
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators import graph
from cfl_cli.estimators.graph import Rounds, hide
from cfl_cli.estimators.graph_fitted import FittedRound, Leaning
from cfl_cli.estimators.graph_stages import RoundStages
from cfl_cli.estimators.interface import Answer, Estimate, Hidden, Layout, Origin, Size
from cfl_cli.steps.propagate import Propagation

RESTART = 0.1  # 1 − α: of the confidences, what comes from the start in every step
memory = graph.memory


def estimate(
    known: Known,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    workers: Workers,
    progress: Progress,
) -> Estimate:
    """Propagate, and again with the rows of each of the `folds` hidden."""
    evidence, blocks = known.evidence, known.blocks
    rounds = Rounds(known.features, evidence, blocks, settings, workers, progress)

    def walk(name: str, cells: Floats | Mask) -> Propagation:
        return rounds.walk(name, rounds.first, cells, rounds.all_alike(), restart=RESTART)

    hidden_priors = [
        walk(f"fold {number + 1}", hide(evidence, fold)).confidences[fold]
        for number, fold in enumerate(folds)
    ]
    walked = walk("round 1", evidence)
    confidences = walked.confidences
    mass = start(evidence, blocks).sum(axis=0) / np.maximum(confidences.sum(axis=0), LEAST_MASS)
    leaning = Leaning.by(settings)
    fitted = FittedIpal(FittedRound.of(known.features, confidences, leaning), mass, known.blocks)
    return Estimate(
        confidences,
        walked.fell_back,
        totals(confidences * evidence, blocks),
        (Origin("ipal", round=1, iterations=walked.steps),) * len(blocks),
        Hidden(np.concatenate(folds), np.vstack(hidden_priors), fitted.rules) if folds else None,
        answers=answers_of(confidences, mass, known),
        rescued_rows=rounds.rescued,
        recall=rounds.recall,
        steps=(walked.steps,),
        fitted=fitted,
    )


@dataclass(frozen=True, eq=False)
class FittedIpal:
    """The points and confidences of the fitted rows, and how the sums weigh values in answers."""

    round: FittedRound
    mass: Floats  # ΣK: ΣQ0 / ΣQ
    blocks: Ints

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return how each CF's rows are answered."""
        return tuple(_rule(self.mass[block]) for block in columns(self.blocks, len(self.mass)))

    def answer(self, rows: Known, workers: Workers) -> Answer:
        """Return what is said of some rows."""
        flown = (1 - RESTART) * self.round.priors(rows.features, rows.blocks, workers)
        empty = start(np.ones((1, flown.shape[1]), dtype=bool), rows.blocks)
        confidences = flown + RESTART * start(rows.evidence, rows.blocks)
        return Answer(
            flown + RESTART * empty,
            confidences,
            np.zeros((len(rows), len(rows.blocks)), dtype=bool),
            totals(confidences * rows.evidence, rows.blocks),
            answers_of(confidences, self.mass, rows),
        )

    def state(self) -> State:
        """Return all that has to be kept."""
        kept = self.round.state()
        return State({**kept.arrays, "mass": self.mass}, self.round.leaning.facts())


def restore(state: State, layout: Layout) -> FittedIpal:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    leaning = Leaning.restored(state)
    fitted = FittedRound.restored(state, layout, leaning, features=layout.features)
    mass = state.array("mass", np.float64, layout.width)
    if (mass < 0).any():
        raise StateError("array 'mass' holds numbers below 0")
    return FittedIpal(fitted, mass, np.cumsum((0, *layout.domains[:-1])))


def model_bytes(size: Size, settings: Settings) -> float:
    """Return about how many bytes are kept of what is fitted."""
    return graph.model_bytes(size, settings.replaced({"gamma": 0.0})) + 8 * size.width


def stages(size: Size, settings: Settings, *, folds: int) -> list[Expected]:
    """Return what `estimate` is going to do, and about how long each stage takes."""
    rounds = RoundStages(size, settings)
    hidden = [rounds.walk(f"fold {number + 1}") for number in range(folds)]
    return [*rounds.graph("round 1"), *hidden, rounds.walk("round 1")]


def answers_of(confidences: Floats, mass: Floats, known: Known) -> Ints:
    """Return the value of each row that ranks first, n × CFs; exact cells are known."""
    answers = []
    for block in known.columns:
        candidates = known.candidates[:, block]
        ranked = (confidences[:, block] * mass[block]).argmax(axis=1)
        exact = candidates.sum(axis=1) == 1
        answers.append(np.where(exact, candidates.argmax(axis=1), ranked))
    return np.column_stack(answers)


def _rule(mass: Floats) -> Rule:
    """Return how a CF is answered: what a hidden row's start was makes way for its cell's."""

    def answer(prior: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
        begun = likelihood / np.maximum(likelihood.sum(axis=-1, keepdims=True), LEAST_MASS)
        confidences = prior + RESTART * (begun - 1 / len(mass))
        answers = (confidences * mass).argmax(axis=-1)
        chosen = np.take_along_axis(confidences, answers[..., None], axis=-1)[..., 0]
        return np.asarray(answers), np.asarray(chosen)

    return answer
