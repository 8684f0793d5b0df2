"""What an attacker would get right if cells, or OFs, were blurred otherwise than they are.

The rows that were hidden have priors p that were made without their own cells. With keep(t) of
`possible_cells`, how probably t is answered where it is true, under any number of exclusions,

    share right = Σ_t keep(t) · P(true value is t)          change = share right − share right now

P(true value is t) has an unbiased estimate, from the hidden cell, whose chance is large where the
domain is: e, with standard error s. Where both confidences are calibrated, the change is also that
of the mean confidence: c, which chance hardly moves, but which is as wrong as the two confidences
are wrong by different amounts, some d (see DIFFERENT). What is said weighs the two by that,
and has a standard error of d s / √(d² + s²):

    change = c + (e − c) · d² / (d² + s²)
"""

from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.known import Rule
from cfl_cli.core.parallel import slices
from cfl_cli.core.posterior import most_confident
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import NORMAL, Interval, PooledEstimate
from cfl_cli.trust.possible_cells import PossibleCells

SURE = 0.9  # the confidence from which on an attacker counts as sure
# By how much the calibration of two estimates of the same cells differs: so much, or this share of
# the change. Measured on tables whose truth is known (benchmarks/risk.py).
DIFFERENT, OF_CHANGE = 0.03, 0.5
NUMBERS_AT_ONCE = 1 << 20  # rows × cells × values


@dataclass(frozen=True, eq=False)
class Prospect:
    """What would be answered to m hidden rows, over the cells that they might have."""

    right: Floats  # m × K: how probably the answer is right if a value is the true one
    confidence: Floats  # m: mean
    sure: Floats  # m: how probably the answer is a sure one


def prospect(hidden: HiddenCells, exclusions: Ints, *, rule: Rule | None = None) -> Prospect:
    """Return what would be answered if cells had exclusions like these, whose numbers are given.

    `rule` answers otherwise than by the most confident candidate.
    """
    mechanism, prior = hidden.mechanism, hidden.prior
    size, random = mechanism.size, np.random.default_rng(0)
    possible = PossibleCells.of(np.arange(size) >= exclusions[:, None], mechanism)
    draws = possible.draws(len(prior))
    right, confidence, sure = np.empty(prior.shape), np.empty(len(prior)), np.empty(len(prior))
    at_once = max(NUMBERS_AT_ONCE // ((len(possible.listed) + draws + 1) * size), 1)
    for part in slices(len(prior), at_once):
        # What cells are likely is left to the prior, so that chance has no part in it.
        answers = possible.answers(prior[part], prior[part], draws, random, rule or most_confident)
        right[part] = possible.exact + answers.keep(size)
        chances = answers.probabilities
        confidence[part] = possible.exact + (chances * answers.confidences).sum(axis=1)
        sure[part] = possible.exact + (chances * (answers.confidences > SURE)).sum(axis=1)
    return Prospect(right, confidence, sure)


def more(exclusions: Ints, size: int) -> Ints:
    """Return the numbers of exclusions with one more in each cell that has any, n."""
    return np.where((exclusions > 0) & (exclusions < size - 1), exclusions + 1, exclusions)


def fewer(exclusions: Ints, size: int) -> Ints:
    """Return them with one fewer in each cell that has several and is not exact, n."""
    return np.where((exclusions > 1) & (exclusions < size - 1), exclusions - 1, exclusions)


def change(hidden: HiddenCells, now: Prospect, then: Prospect) -> Interval:
    """Return by how much the share of right answers would change, on the same hidden cells."""
    told = _unbiased(hidden, then.right - now.right)
    by_confidence = float((then.confidence - now.confidence).mean())
    differs = max(DIFFERENT, OF_CHANGE * abs(by_confidence))
    if told is None:
        return Interval.around(by_confidence, differs)
    value, error = told
    weight = differs**2 / (differs**2 + error**2)
    return Interval.around(by_confidence + weight * (value - by_confidence), error * weight**0.5)


def with_learning(own: Interval, simulated: float, *, share: float = 1.0) -> Interval:
    """Return the change under other exclusions, from that of the rows' own cells alone.

    The attacker learns from all cells, and so more where each says more. `simulated` is the whole
    change on a table whose values were drawn from the confidences, whose rows are this `share` of
    all: with more rows there is less to learn. Real values were measured to lie between the change
    of the own cells and three times as far beyond it.
    """
    learned = simulated - own.value
    value = own.value + learned * share**0.5
    ends = own.low, own.high, own.value + 3 * learned
    return Interval(value, min(*ends), max(*ends))


def _unbiased(hidden: HiddenCells, measure: Floats) -> tuple[float, float] | None:
    """Return the mean of a measure, m × K, at the true values, and its standard error."""
    weights = hidden.mechanism.weights(hidden.cells)
    if not weights.any():
        return None
    of_rows = PooledEstimate.of(measure, hidden.cells, weights, hidden.mechanism)
    pooled = PooledEstimate.joined([of_rows], hidden.groups)
    interval = pooled.symmetric(hidden.reach)
    return interval.value, (interval.high - interval.value) / NORMAL
