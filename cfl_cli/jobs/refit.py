"""A second run with mechanisms fitted from exact cells, of which a CF takes what is clearly better.

The first run takes exclusions for uniform. A mechanism is fitted for each CF whose schema asks for
it, and all are run once more. A CF takes the second run's answers if its exact cells, hidden in
both, audit them as clearly better than the first run's; otherwise nothing of it changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.known import LEAST_EXACT
from cfl_cli.core.messages import count, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators.interface import Estimate, Origin
from cfl_cli.estimators.mixture import FittedMixture, Run
from cfl_cli.jobs.prepare import run
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.exact_cells import ExactAudit
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.fitted_mechanism import fit, rates
from cfl_cli.trust.report import FittedMechanism


@dataclass(frozen=True)
class Refitted:
    """The table with the mechanisms that were taken, its estimate, and what was fitted, by CF."""

    encoded: Encoded
    estimate: Estimate
    fitted: Mapping[int, FittedMechanism]
    origins: tuple[tuple[Origin, ...], ...]  # of each run whose answers any CF takes


def refit(
    encoded: Encoded,
    estimate: Estimate,
    settings: Settings,
    *,
    folds: Sequence[Ints],
    progress: Progress,
    **how: Any,
) -> Refitted:
    """Return the first run, with what a second one does clearly better.

    `how` it is run is what `prepare.run` takes.
    """
    asked = [number for number, block in enumerate(encoded.blocks) if block.to_be_fitted]
    uniform = _audits(encoded, estimate, asked)
    lacking = tuple(_lacking(encoded, estimate, [cf for cf in asked if cf not in uniform]))
    estimate = replace(estimate, warnings=(*estimate.warnings, *lacking))
    weights = {}
    for cf in uniform:
        found = fit(encoded.candidates[:, encoded.blocks[cf].columns], _marked(encoded, cf))
        if found is not None:
            weights[cf] = found
    changed, second = with_weights(encoded, weights), estimate
    if weights:
        second = run(changed, settings, folds=folds, progress=progress, **how)
    fitted = _audits(changed, second, weights)
    taken = {cf for cf, audit in fitted.items() if audit.clearly_better_than(uniform[cf])}
    reports = {}
    for cf, audit in uniform.items():
        even = np.ones(len(encoded.blocks[cf].values))
        reports[cf] = FittedMechanism(
            weights=tuple(np.round(weights.get(cf, even), 4).tolist()),
            taken=cf in taken,
            uniform=audit.accuracy,
            fitted=fitted[cf].accuracy if cf in fitted else None,
        )
    return Refitted(
        with_weights(encoded, {cf: weights[cf] for cf in taken}),
        mixed(estimate, second, encoded, changed, taken),
        reports,
        (estimate.origins, second.origins) if taken else (estimate.origins,),
    )


def with_weights(encoded: Encoded, weights: Mapping[int, Floats]) -> Encoded:
    """Return the table with a mechanism of these weights for some of its CFs."""
    blocks = [
        replace(block, rates=rates(weights[cf])) if cf in weights else block
        for cf, block in enumerate(encoded.blocks)
    ]
    return replace(encoded, blocks=tuple(blocks))


def mixed(
    one: Estimate, other: Estimate, encoded: Encoded, changed: Encoded, taken: set[int]
) -> Estimate:
    """Return an estimate with some CFs taken from another one of the same rows and folds.

    `encoded` and `changed` are the table with the mechanisms of the first run and of the other one.
    """
    if not taken:
        return one
    cfs = [cf in taken for cf in range(len(encoded.blocks))]
    values = np.repeat(cfs, [len(block.values) for block in encoded.blocks])
    sources = [other if from_other else one for from_other in cfs]
    hidden, null, answers = one.hidden, one.null, one.answers
    if hidden is not None and other.hidden is not None:
        rules = None
        if hidden.rules is not None and other.hidden.rules is not None:
            rules = tuple(
                (other.hidden.rules if from_other else hidden.rules)[cf]
                for cf, from_other in enumerate(cfs)
            )
        priors = np.where(values, other.hidden.priors, hidden.priors)
        hidden = replace(hidden, priors=priors, rules=rules)
    if null is not None and other.null is not None:
        null = replace(
            null,
            entropy=np.where(cfs, other.null.entropy, null.entropy),
            shuffled=np.where(cfs, other.null.shuffled, null.shuffled),
        )
    if answers is not None and other.answers is not None:
        answers = np.where(cfs, other.answers, answers)
    fitted = None
    if one.fitted is not None and other.fitted is not None:
        fitted = FittedMixture(
            Run(one.fitted, encoded.known.mechanisms),
            Run(other.fitted, changed.known.mechanisms),
            np.array(cfs),
        )
    return replace(
        one,
        confidences=np.where(values, other.confidences, one.confidences),
        fell_back=np.where(cfs, other.fell_back, one.fell_back),
        mass=np.where(cfs, other.mass, one.mass),
        origins=tuple(source.origins[cf] for cf, source in enumerate(sources)),
        hidden=hidden,
        null=null,
        answers=answers,
        rescued_rows=one.rescued_rows + other.rescued_rows,
        recall=min(one.recall, other.recall),
        warnings=tuple(dict.fromkeys((*one.warnings, *other.warnings))),
        fitted=fitted,
    )


def _audits(
    encoded: Encoded, estimate: Estimate, cfs: Sequence[int] | Mapping[int, Floats]
) -> dict[int, ExactAudit]:
    """Return what exact cells say of each of some CFs, where they are not too few."""
    audits = {cf: ColumnFacts(encoded, estimate, cf).exact_audit for cf in cfs}
    return {cf: audit for cf, audit in audits.items() if audit is not None}


def _marked(encoded: Encoded, cf: int) -> Mask:
    marked = encoded.blocks[cf].marked
    return np.zeros(len(encoded.features), dtype=bool) if marked is None else marked


def _lacking(encoded: Encoded, estimate: Estimate, cfs: Sequence[int]) -> Iterator[str]:
    """Yield why a mechanism could not be fitted, for each of some CFs."""
    for cf in cfs:
        rows = estimate.hidden.rows if estimate.hidden else np.empty(0, dtype=int)
        hidden = int(_marked(encoded, cf)[rows].sum())
        yield (
            f"column {quote(encoded.blocks[cf].name)}: fitting a mechanism takes {LEAST_EXACT} "
            f"exact cells that are hidden and some that are not exact, and "
            f"{count(hidden, 'exact cell')} of it were hidden: its exclusions count as uniform"
        )
