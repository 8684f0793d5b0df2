"""Boosting's parts one by one, other starts, and a third round: the trap.

The second round tells a CF from what is said of the row's *other* CFs, each of which rests on the
OFs and its own cells. A third round, fed by the second, breaks that: what the second says of B has
seen the row's cell of A, and gives it back when A is told.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.tried.lab import Answer, Lab, quiet
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.dataset import Known
from cfl_cli.methods.boost import FROM_OFS, HEAD_START, Fit, Fitter, blended_priors
from cfl_cli.methods.interface import apply_cells

Fits = Sequence[Sequence[Fit]]  # of every CF


def run(lab: Lab) -> None:
    """Answer by every variant of boosting."""
    fitter, fits = parts(lab)
    third = fitter.from_others(lab.answers["boost"].confidences, fits)
    lab.answers["third"] = _answer(
        lab, fitter, [more or found for found, more in zip(fits, third, strict=True)]
    )
    lab.answers["boost, third"] = _answer(lab, fitter, _added(fits, third))
    begun = _fitter(lab, lab.known, lab.folds, start=1.0)
    lab.answers["shallow, start 1"] = _answer(lab, begun, begun.from_ofs(FROM_OFS, ["shallow"]))
    other = _fitter(lab, lab.known, lab.folds, seed=lab.seed + 1).from_ofs(FROM_OFS, ["deep"])
    lab.answers["boost, deep twice"] = _answer(lab, fitter, _added(fits, other))


def parts(lab: Lab) -> tuple[Fitter, Fits]:
    """Answer by boosting and by its parts, also from nothing; return what its blend is made of."""
    answers = lab.answers
    fitter = _fitter(lab, lab.known, lab.folds)
    fits: Fits = fitter.from_ofs(FROM_OFS, ["shallow", "deep"])
    for place, name in enumerate(["shallow", "deep"]):
        answers[name] = _answer(lab, fitter, [found[place : place + 1] for found in fits])
    answers["shallow, deep"] = both = _answer(lab, fitter, fits)
    further = fitter.from_others(both.confidences, fits)
    answers["related"] = _answer(
        lab, fitter, [more or found for found, more in zip(fits, further, strict=True)]
    )
    fits = _added(fits, further)
    answers["boost"] = _answer(lab, fitter, fits)
    begun = _fitter(lab, lab.known, lab.folds, start=0.0)
    from_nothing = begun.from_ofs(FROM_OFS, ["shallow"])
    answers["shallow, start 0"] = _answer(lab, begun, from_nothing)
    answers["boost, both starts"] = _answer(lab, fitter, _added(fits, from_nothing))
    return fitter, fits


def _added(fits: Fits, more: Fits) -> Fits:
    """Return the fits of every CF, and more of them."""
    return [[*found, *others] for found, others in zip(fits, more, strict=True)]


def hidden(lab: Lab) -> tuple[Floats, Floats]:
    """Return boosting's priors and confidences, n × ΣK, while the rows' cells are hidden.

    When to stop, and how to blend, is then judged by other rows.
    """
    fitter = _fitter(lab, lab.blind, [lab.others])
    fits: Fits = fitter.from_ofs(FROM_OFS, ["shallow", "deep"])
    confidences, _, _ = apply_cells(blended_priors(fits, fitter.blends(fits)), lab.blind)
    further = fitter.from_others(confidences, fits)
    fits = _added(fits, further)
    priors = blended_priors(fits, fitter.blends(fits))
    return priors, apply_cells(priors, lab.blind)[0]


def _fitter(
    lab: Lab,
    known: Known,
    folds: Sequence[Ints],
    *,
    start: float = HEAD_START,
    seed: int | None = None,
) -> Fitter:
    fitter = Fitter(known, folds, lab.seed if seed is None else seed, lab.workers, quiet)
    scale = np.float32(start / HEAD_START)
    fitter.targets = [
        replace(target, starts=tuple(scale * each for each in target.starts))
        for target in fitter.targets
    ]
    return fitter


def _answer(lab: Lab, fitter: Fitter, fits: Fits) -> Answer:
    blends = fitter.blends(fits)
    hidden_priors = np.hstack([of_cf.prior for of_cf in blends])
    return Answer.from_priors(hidden_priors, blended_priors(fits, blends), lab.known)
