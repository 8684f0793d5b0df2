"""The paper's rival, IPAL (Zhang & Yu 2015), as the paper describes and measures it.

    Q = α H Q + (1 − α) Q0                      along round one's weights; α = 0.9
    answer = argmax_c of Q_c · ΣQ0_c / ΣQ_c     class-mass normalisation; the sums are over the rows

Cells are not applied: values that they rule out keep some confidence, and may even be answered.
That is how the paper's figures of IPAL come about, and what they are compared with.
"""

from collections.abc import Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import start, totals
from cfl_cli.core.known import Known, Rule
from cfl_cli.core.log_score import LEAST_MASS
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Expected, Progress
from cfl_cli.estimators import graph
from cfl_cli.estimators.graph import Rounds, hide
from cfl_cli.estimators.graph_stages import RoundStages
from cfl_cli.estimators.interface import Estimate, Hidden, Origin, Size
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
    rules = tuple(_rule(mass[block]) for block in known.columns)
    answers = [
        _answers(confidences[:, block] * mass[block], known.candidates[:, block])
        for block in known.columns
    ]
    return Estimate(
        confidences,
        walked.fell_back,
        totals(confidences * evidence, blocks),
        (Origin("ipal", round=1, iterations=walked.steps),) * len(blocks),
        Hidden(np.concatenate(folds), np.vstack(hidden_priors), rules) if folds else None,
        answers=np.column_stack(answers),
        rescued_rows=rounds.rescued,
        recall=rounds.recall,
        steps=(walked.steps,),
    )


def stages(size: Size, settings: Settings, *, folds: int) -> list[Expected]:
    """Return what `estimate` is going to do, and about how long each stage takes."""
    rounds = RoundStages(size, settings)
    hidden = [rounds.walk(f"fold {number + 1}") for number in range(folds)]
    return [*rounds.graph("round 1"), *hidden, rounds.walk("round 1")]


def _answers(ranks: Floats, candidates: Mask) -> Ints:
    """Return the value of each row that ranks first; exact cells are known."""
    exact = candidates.sum(axis=1) == 1
    return np.asarray(np.where(exact, candidates.argmax(axis=1), ranks.argmax(axis=1)))


def _rule(mass: Floats) -> Rule:
    """Return how a CF is answered: what a hidden row's start was makes way for its cell's."""

    def answer(prior: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
        begun = likelihood / np.maximum(likelihood.sum(axis=-1, keepdims=True), LEAST_MASS)
        confidences = prior + RESTART * (begun - 1 / len(mass))
        answers = (confidences * mass).argmax(axis=-1)
        chosen = np.take_along_axis(confidences, answers[..., None], axis=-1)[..., 0]
        return np.asarray(answers), np.asarray(chosen)

    return answer
