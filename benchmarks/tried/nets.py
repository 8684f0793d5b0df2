"""Networks: of two seeds, and one for every CF that is given the other CFs."""

from dataclasses import replace

import numpy as np

from benchmarks.tried.blends import evenly
from benchmarks.tried.lab import Answer, Lab, quiet
from cfl_cli.core.dataset import Known
from cfl_cli.core.settings import Settings
from cfl_cli.methods import net


def run(lab: Lab) -> None:
    """Answer by every variant of the network; boosting must have answered already."""
    answers = lab.answers
    answers["net"] = _net(lab, lab.known, lab.seed)
    answers["net, other seed"] = _net(lab, lab.known, lab.seed + 1)
    answers["two nets"] = evenly(lab, [answers["net"], answers["net, other seed"]])
    answers["net, given the others"] = _given_the_others(lab)


def _net(lab: Lab, known: Known, seed: int) -> Answer:
    settings = Settings("net", seed=seed)
    return Answer.of(
        net.NetMethod().estimate(known, settings, folds=lab.folds, workers=lab.workers, progress=quiet)
    )


def _given_the_others(lab: Lab) -> Answer:
    """Return what a network for each CF makes of the OFs and of what boosting says of other CFs.

    Boosting from the OFs alone: its second round would bring a row's own cell back to it.
    """
    known, said = lab.known, lab.answers["shallow, deep"].confidences
    own_answers = []
    for cf, block in enumerate(known.columns):
        others = np.delete(said, np.arange(block.start, block.stop), axis=1)
        own = replace(
            known,
            features=np.hstack([known.features, others]),
            candidates=known.candidates[:, block],
            blocks=np.zeros(1, dtype=int),
            mechanisms=known.mechanisms[cf : cf + 1],
        )
        own_answers.append(_net(lab, own, lab.seed))
    return Answer(
        np.hstack([answer.hidden_priors for answer in own_answers]),
        np.hstack([answer.confidences for answer in own_answers]),
        np.hstack([answer.mass for answer in own_answers]),
    )
