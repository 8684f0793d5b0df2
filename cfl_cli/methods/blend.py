"""Blends several answers into one: weighted geometric means whose weights hidden cells choose.

    prior(v) ∝ Π_m prior_m(v)^w_m                                       w > 0, Σw = 1, for each CF
    w = argmax of Σ_rows log P(hidden cell | prior) + Σ_m log w_m

The last term keeps in parts that hidden cells cannot distinguish from the best one, as chance alone
would often drop a part that is as good. A part that is clearly worse is left with next to no
weight, and is dropped. The gradient of a row's log-likelihood in w_m is

    E[log prior_m | cell] − E[log prior_m]

The same weights blend confidences: a row's cell may be applied to the blend or to its parts.
Weights that were fitted to a hidden cell must not judge it: each half of the hidden rows is blended
by weights from the other half.

A blend has the best confidences, and may still be right less often than one of its parts. Where
that is clear from the hidden cells, the part answers alone.

All this takes cells to arise as the mechanism says. Where they are shown not to, the likelihood is
a wrong one, and parts are surer of themselves than they may be. A cautious blend then counts hidden
cells for a tenth, takes the mean of confidences instead of logarithms, as the latter is led by the
surest part, and takes the bare cell, whose candidates are all alike, for one more of M parts:

    confidence(v) = M/(M + 1) · Σ_m w_m confidence_m(v) + 1/(M + 1) · evidence(v)/Σ evidence
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfl_cli.core.arrays import (
    LEAST_MASS,
    Fallback,
    Floats,
    Ints,
    Mask,
    halves,
    log_scores,
    posterior,
    sums_by,
)
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.methods.interface import Part

FLOOR = 1e-6  # of a prior: what one part rules out, the others may still know
LEAST_WEIGHT = 0.02
_CLEARLY = 2.5  # standard errors
_FARTHEST = 15.0  # of a weight's logarithm from 0
_ROUNDING = 1e-9  # of a sum of weights
# How much a cell counts in a cautious blend; 0.01 to 1 did about as well on 119 CFs whose
# exclusions were not random, and weights that are all alike a little worse on some.
CAUTION = 0.1


@dataclass(frozen=True)
class Blend:
    """The weights of the parts for one CF, and what they make of the hidden rows."""

    weights: Floats  # per part
    scores: Floats  # per part: its mean log score on the hidden cells
    prior: Floats  # m × K, of hidden rows, by weights that their own cells had no say in
    cautious: bool = False  # a mean of confidences, as exclusions are not as the mechanism says

    def parts(self, names: Sequence[str]) -> tuple[Part, ...]:
        parts = zip(names, self.scores.tolist(), self.weights.tolist(), strict=True)
        return tuple(Part(*part) for part in parts)


def fit(
    priors: Sequence[Floats],
    evidence: Floats | Mask,
    *,
    groups: Ints | None = None,
    by: Mask | None = None,
    cautious: bool = False,
) -> Blend:
    """Return how to blend the parts' priors of hidden rows, each m × K, given the rows' cells.

    `groups` are the rows' numbers of those that belong together: no half may hold a part of one.
    Only the cells of the rows in `by`, m, choose the weights; None: all do. What is known of these
    is not in doubt, so that they count in full where the blend is `cautious`.
    """
    scores = np.array([log_scores(prior, evidence, over=1).mean() for prior in priors])
    if len(priors) == 1:
        return Blend(np.ones(1), scores, priors[0])
    parts = np.log(np.maximum(np.stack(priors), FLOOR))  # parts × m × K
    counting = CAUTION if cautious and by is None else 1.0
    one = halves(len(evidence), groups)
    choosing = np.ones(len(evidence), dtype=bool) if by is None else by
    prior = np.empty_like(priors[0])
    for half in (one, ~one):
        others = ~half & choosing
        weights = _weights(parts[:, others], evidence[others], counting)
        if cautious:
            even = np.full_like(prior[half], 1 / prior.shape[1])
            prior[half] = with_bare([part[half] for part in priors], weights, even)
        else:
            prior[half] = geometric_mean(parts[:, half], weights)
    weights = _weights(parts[:, choosing], evidence[choosing], counting)
    return Blend(weights, scores, prior, cautious=cautious)


def unless_less_accurate(
    fitted: Blend,
    priors: Sequence[Floats],
    hidden: Mask,
    mechanism: Mechanism,
    *,
    groups: Ints | None = None,
) -> Blend:
    """Return the blend, or else the part whose first value is right clearly more often.

    How often is estimated without bias from the hidden cells, m × K; see `exclusions`.
    """
    is_true, counts = mechanism.unbiased(hidden), mechanism.weights(hidden)
    if not counts.any():
        return fitted
    shares, rows = counts / counts.sum(), np.arange(len(hidden))
    right = [is_true[rows, prior.argmax(axis=1)] for prior in (fitted.prior, *priors)]
    margins = []
    for part in right[1:]:
        more = part - right[0]
        error = np.sqrt(np.sum(sums_by(groups, shares * (more - shares @ more)) ** 2))
        margins.append(float(shares @ more - _CLEARLY * error))
    best = int(np.argmax(margins))
    if margins[best] <= 0:
        return fitted
    return Blend(np.eye(len(priors))[best], fitted.scores, priors[best])


def blended(parts: Sequence[Floats], weights: Floats) -> Floats:
    """Return the blend of one CF's distributions, n × K each.

    A part alone says what it says; of several none rules out for good what others may know.
    """
    used = np.flatnonzero(weights).tolist()
    if len(used) == 1:
        return parts[used[0]]
    logarithms = np.log(np.maximum(np.stack([parts[part] for part in used]), FLOOR))
    return geometric_mean(logarithms, weights[used])


def geometric_mean(logarithms: Floats, weights: Floats) -> Floats:
    """Return the weighted geometric mean of distributions given by logarithms, parts × m × K."""
    mixed = _weighted_sum(logarithms, weights)
    mixed -= mixed.max(axis=1, keepdims=True)
    np.exp(mixed, out=mixed)
    mixed /= mixed.sum(axis=1, keepdims=True)
    return mixed


def with_bare(
    parts: Sequence[Floats], weights: Floats, bare: Floats, *, among: int | None = None
) -> Floats:
    """Return the weighted mean of distributions and a bare one, which counts as one more part.

    Parts without weight may be left out: `among` says how many there are with them.
    """
    mixed = _weighted_sum(parts, weights)
    return np.asarray(mixed + (bare - mixed) / ((among or len(parts)) + 1))


def _weighted_sum(parts: Sequence[Floats] | Floats, weights: Floats) -> Floats:
    """Return Σ weight · part, row by row in memory.

    So neither this sum nor one over a row's values depends, to the digit, on the number of rows.
    """
    total = weights[0] * parts[0]
    for part, weight in zip(parts[1:], weights[1:], strict=True):
        total += weight * part
    return np.ascontiguousarray(total)


def check_weights(name: str, weights: Floats) -> None:
    """Raise StateError unless weights are those of a blend."""
    if (weights < 0).any() or abs(float(weights.sum()) - 1) > _ROUNDING:
        raise StateError(f"array {name!r} holds weights that are negative or do not sum to 1")


def _weights(parts: Floats, evidence: Floats | Mask, counting: float) -> Floats:
    """Return the weights that predict the cells best; parts that hardly count are left out.

    Every cell's log-likelihood counts for so much.
    """
    from scipy.optimize import minimize
    from scipy.special import softmax

    def loss(scores: Any) -> tuple[float, Any]:
        weights = softmax(scores)
        prior = geometric_mean(parts, weights)
        posteriors, mass = posterior(prior, evidence, over=1, fallback=Fallback.PRIOR)
        slope = counting * np.einsum("pmk,mk->p", parts, posteriors - prior) + 1 / weights
        objective = float(
            counting * np.log(np.maximum(mass, LEAST_MASS)).sum() + np.log(weights).sum()
        )
        return -objective, -weights * (slope - weights @ slope)

    bounds = [(-_FARTHEST, _FARTHEST)] * len(parts)
    optimum = minimize(loss, np.zeros(len(parts)), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = softmax(optimum.x)
    weights[weights < LEAST_WEIGHT] = 0
    return np.asarray(weights / weights.sum())
