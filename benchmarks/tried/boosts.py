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
from cfl_cli.core.known import Known
from cfl_cli.estimators.boost import HEAD_START, Bench, Fitted
from cfl_cli.estimators.interface import apply_cells

Fits = Sequence[Sequence[Fitted]]  # of every CF


def run(lab: Lab) -> None:
    """Answer by every variant of boosting."""
    bench, fits = parts(lab)
    third = bench.from_others(lab.answers["boost"].confidences, fits)
    lab.answers["third"] = _answer(
        lab, bench, [more or found for found, more in zip(fits, third, strict=True)]
    )
    lab.answers["boost, third"] = _answer(lab, bench, _added(fits, third))
    begun = _bench(lab, lab.known, lab.folds, start=1.0)
    lab.answers["shallow, start 1"] = _answer(lab, begun, begun.from_ofs("", ["shallow"]))
    other = _bench(lab, lab.known, lab.folds, seed=lab.seed + 1).from_ofs("", ["deep"])
    lab.answers["boost, deep twice"] = _answer(lab, bench, _added(fits, other))


def parts(lab: Lab) -> tuple[Bench, Fits]:
    """Answer by boosting and by its parts, also from nothing; return what its blend is made of."""
    answers = lab.answers
    bench = _bench(lab, lab.known, lab.folds)
    fits: Fits = bench.from_ofs("", ["shallow", "deep"])
    for place, name in enumerate(["shallow", "deep"]):
        answers[name] = _answer(lab, bench, [found[place : place + 1] for found in fits])
    answers["shallow, deep"] = both = _answer(lab, bench, fits)
    further = bench.from_others(both.confidences, fits)
    answers["related"] = _answer(
        lab, bench, [more or found for found, more in zip(fits, further, strict=True)]
    )
    fits = _added(fits, further)
    answers["boost"] = _answer(lab, bench, fits)
    begun = _bench(lab, lab.known, lab.folds, start=0.0)
    from_nothing = begun.from_ofs("", ["shallow"])
    answers["shallow, start 0"] = _answer(lab, begun, from_nothing)
    answers["boost, both starts"] = _answer(lab, bench, _added(fits, from_nothing))
    return bench, fits


def _added(fits: Fits, more: Fits) -> Fits:
    """Return the fits of every CF, and more of them."""
    return [[*found, *others] for found, others in zip(fits, more, strict=True)]


def hidden(lab: Lab) -> tuple[Floats, Floats]:
    """Return boosting's priors and confidences, n × ΣK, while the rows' cells are hidden.

    When to stop, and how to blend, is then judged by other rows.
    """
    bench = _bench(lab, lab.blind, [lab.others])
    fits: Fits = bench.from_ofs("", ["shallow", "deep"])
    confidences, _, _ = apply_cells(bench.priors(fits, bench.blends(fits)), lab.blind)
    further = bench.from_others(confidences, fits)
    fits = _added(fits, further)
    priors = bench.priors(fits, bench.blends(fits))
    return priors, apply_cells(priors, lab.blind)[0]


def _bench(
    lab: Lab,
    known: Known,
    folds: Sequence[Ints],
    *,
    start: float = HEAD_START,
    seed: int | None = None,
) -> Bench:
    bench = Bench(known, folds, lab.seed if seed is None else seed, lab.workers, quiet)
    scale = np.float32(start / HEAD_START)
    bench.targets = [
        replace(target, starts=tuple(scale * each for each in target.starts))
        for target in bench.targets
    ]
    return bench


def _answer(lab: Lab, bench: Bench, fits: Fits) -> Answer:
    blends = bench.blends(fits)
    told = np.hstack([found.prior for found in blends])
    return Answer.from_priors(told, bench.priors(fits, blends), lab.known)
