"""A row's own cell applied to its prior, by Bayes' rule.

    joint(v) = prior(v) · evidence(v)      mass = Σ_v joint(v)      posterior = joint / mass

`over` says where sums are taken (see `blocks`), and so decides their last digits.
"""

from enum import Enum

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.blocks import Numbers, Over, normalise, spread, start


class Fallback(Enum):
    """What the posterior is where no mass is left: the prior rules out all that the cell leaves."""

    CELL = "cell"  # for answers: the cell is a fact, the prior an estimate; all candidates alike
    PRIOR = "prior"  # for fitting: one contradiction must not pull at a model


def posterior(
    prior: Numbers,
    evidence: Floats | Singles | Mask,
    *,
    over: Over,
    fallback: Fallback,
    out: Numbers | None = None,
) -> tuple[Numbers, Numbers]:
    """Return the posterior, in `out` if given, and the mass, whose axis of one CF has length 1."""
    confidences: Numbers = np.multiply(prior, evidence, out=out)
    mass = normalise(confidences, over, out=confidences)
    empty = mass == 0
    if empty.any():
        instead = prior if fallback is Fallback.PRIOR else start(evidence, over)
        lost = spread(empty, over, confidences.shape[1])
        np.copyto(confidences, instead, where=lost, casting="same_kind")
    return confidences, mass


def most_confident(prior: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
    """Return the answers, the first of equals, and their confidence: the last axis is gone.

    Falls back on the cell. Values are ranked before they are scaled, because a division may make
    two of them equal, and of the K quotients only one is wanted.
    """
    joint = prior * likelihood
    mass = joint.sum(axis=-1, keepdims=True)
    if not mass.all():
        joint = np.where(mass > 0, joint, likelihood)
        mass = joint.sum(axis=-1, keepdims=True)
    answers = joint.argmax(axis=-1)
    best = np.take_along_axis(joint, answers[..., None], axis=-1)
    confidences = np.divide(best, mass, out=np.zeros_like(best), where=mass > 0)
    return np.asarray(answers), np.asarray(confidences[..., 0])
