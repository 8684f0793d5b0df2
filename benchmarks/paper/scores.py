"""How good confidences are, by the paper's four scores, given the truth.

cross entropy   −mean log q(truth), with q at least 1e-10, as in the authors' code
entropy         −mean Σ q log q
accuracy, F1    of the single answer; F1 is the mean of that of every value
"""

from dataclasses import dataclass

import numpy as np

from cfl_cli.arrays import Floats, Ints

SMALLEST = 1e-10


@dataclass(frozen=True)
class Scores:
    """The scores of one CF."""

    accuracy: float
    f1: float
    cross_entropy: float
    entropy: float


def score(confidences: Floats, answers: Ints, truth: Ints) -> Scores:
    """Return the scores of n × K confidences and n answers; values are given by their places."""
    logs = np.log(np.maximum(confidences, SMALLEST))
    return Scores(
        accuracy=float((answers == truth).mean()),
        f1=macro_f1(answers, truth, size=confidences.shape[1]),
        cross_entropy=float(-logs[np.arange(len(truth)), truth].mean()),
        entropy=float(-(confidences * logs).sum(axis=1).mean()),
    )


def any_candidate(confidences: Floats, *, seed: int) -> Ints:
    """Return for each row the place of a value with some confidence, drawn by lot.

    That is how the paper answers for `observed`, where all candidates are equal.
    """
    lots = np.random.default_rng(seed).random(confidences.shape)
    return np.asarray(np.where(confidences > 0, lots, -1).argmax(axis=1))


def macro_f1(answers: Ints, truth: Ints, *, size: int) -> float:
    """Return the mean F1 of the values that occur among answers or truth."""
    right = np.bincount(truth[answers == truth], minlength=size)
    either = np.bincount(answers, minlength=size) + np.bincount(truth, minlength=size)
    occurs = either > 0
    return float((2 * right[occurs] / either[occurs]).mean())
