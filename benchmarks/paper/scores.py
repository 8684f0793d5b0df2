"""How good confidences are, by the paper's four scores; they are those of `cfl evaluate`."""

from dataclasses import dataclass

import numpy as np

from cfl_cli.commands.evaluate import job
from cfl_cli.core.arrays import Floats, Ints, entropies

ONE_BLOCK = np.array([0])


@dataclass(frozen=True)
class Scores:
    """The scores of one CF."""

    accuracy: float
    f1: float
    cross_entropy: float
    entropy: float


def score(confidences: Floats, answers: Ints, truth: Ints) -> Scores:
    """Return the scores of n × K confidences and n answers; values are given by their places."""
    return Scores(
        accuracy=job.accuracy(truth, answers),
        f1=job.macro_f1(truth, answers),
        cross_entropy=job.cross_entropy(job.share_in_truth(truth, confidences)),
        entropy=float(entropies(confidences, ONE_BLOCK).mean()),
    )


def any_candidate(confidences: Floats, *, seed: int) -> Ints:
    """Return for each row the place of a value with some confidence, drawn at random.

    That is how the paper answers for `observed`, where all candidates are equal.
    """
    lots = np.random.default_rng(seed).random(confidences.shape)
    return np.asarray(np.where(confidences > 0, lots, -1).argmax(axis=1))
