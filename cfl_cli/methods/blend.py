"""Blends several answers into one: weighted geometric means whose weights hidden cells choose.

    prior(v) ∝ Π_m prior_m(v)^w_m                                       w > 0, Σw = 1, for each CF
    w = argmax of Σ_rows log P(hidden cell | prior) + Σ_m c_m log w_m

The last term keeps in parts that hidden cells cannot distinguish from the best one, as chance alone
would often drop a part that is as good; c_m is 1, or says how much weight a part usually deserves.
A part that is clearly worse is left with next to no weight, and is dropped. The gradient of a row's log-likelihood in w_m is

    E[log prior_m | cell] − E[log prior_m]

The same weights blend confidences: a row's cell may be applied to the blend or to its parts.
What was fitted to a hidden cell must not judge it: each half of the hidden rows is blended as the
other half favors.

A blend has the best confidences, and may still be right less often than one of its parts, or than
the most common value. Where that is clear from the hidden cells, that part answers alone.

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
import scipy  # whose parts it loads when they are asked for

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


@dataclass(frozen=True)
class Right:
    """How often values are right, without bias from cells; see `exclusions`."""

    is_true: Floats  # m × K
    counts: Floats  # m
    groups: Ints | None = None  # m

    @classmethod
    def of(cls, candidates: Mask, mechanism: Mechanism, groups: Ints | None = None) -> "Right":
        return cls(mechanism.unbiased(candidates), mechanism.weights(candidates), groups)

    def clearly_more(
        self, priors: Sequence[Floats], than: Floats, rows: Mask, able: Mask | None = None
    ) -> int | None:
        """Return which part's first value is right clearly more often in some rows; None: none.

        Only those that are `able` to answer the CF are asked; None: all.
        """
        counts, groups = self.counts[rows], None if self.groups is None else self.groups[rows]
        if not counts.any():
            return None
        shares, is_true, at = counts / counts.sum(), self.is_true[rows], np.arange(len(counts))
        right = is_true[at, than.argmax(axis=1)]
        margins = []
        for prior in priors:
            more = is_true[at, prior[rows].argmax(axis=1)] - right
            error = np.sqrt(np.sum(sums_by(groups, shares * (more - shares @ more)) ** 2))
            margins.append(float(shares @ more - _CLEARLY * error))
        if able is not None:
            margins = [at if can else -np.inf for at, can in zip(margins, able, strict=True)]
        best = int(np.argmax(margins))
        return best if margins[best] > 0 else None


def fit(
    priors: Sequence[Floats],
    evidence: Floats | Mask,
    *,
    groups: Ints | None = None,
    by: Mask | None = None,
    cautious: bool = False,
    usual: Floats | None = None,
    right: Right | None = None,
    among: int | None = None,
    able: Mask | None = None,
) -> Blend:
    """Return how to blend the parts' priors of hidden rows, each m × K, given the rows' cells.

    `groups` are the rows' numbers of those that belong together: no half may hold a part of one.
    Only the cells of the rows in `by`, m, choose the weights; None: all do. What is known of these
    is not in doubt, so that they count in full where the blend is `cautious`. `usual` says how much
    weight each part is likely to deserve, in cells that would say so; a part of 0 has weight only
    where it answers alone. If it is known what is `right`, a part that is so more often than the
    blend does that, if it is `able` to answer the CF. A cautious blend counts as one of so many parts, `among`; None: all of these.
    """
    scores = np.array([log_scores(prior, evidence, over=1).mean() for prior in priors])
    if len(priors) == 1:
        return Blend(np.ones(1), scores, priors[0])
    usual = np.ones(len(priors)) if usual is None else usual
    used = usual > 0
    counting_in = [prior for prior, own in zip(priors, used, strict=True) if own]
    parts = np.log(np.maximum(np.stack(counting_in), FLOOR))  # parts × m × K
    even = np.full_like(priors[0], 1 / priors[0].shape[1])
    counting = CAUTION if cautious and by is None else 1.0
    choosing = np.ones(len(evidence), dtype=bool) if by is None else by

    def mixed(weights: Floats, rows: Mask) -> Floats:
        alone = np.flatnonzero(weights == 1)
        if cautious:
            own = [prior[rows] for prior in priors]
            return with_bare(own, weights, even[rows], among=among)
        if len(alone):
            return priors[int(alone[0])][rows]
        return geometric_mean(parts[:, rows], weights[used])

    def chosen(rows: Mask) -> Floats:
        weights = np.zeros(len(priors))
        weights[used] = _weights(parts[:, rows], evidence[rows], counting, usual[used])
        if right is not None and not cautious:
            best = right.clearly_more(priors, mixed(weights, rows), rows, able)
            if best is not None:
                weights = np.zeros(len(priors))
                weights[best] = 1
        return weights

    one = halves(len(evidence), groups)
    prior = np.empty_like(priors[0])
    for half in (one, ~one):
        prior[half] = mixed(chosen(~half & choosing), half)
    return Blend(chosen(choosing), scores, prior, cautious=cautious)


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


def _weights(parts: Floats, evidence: Floats | Mask, counting: float, usual: Floats) -> Floats:
    """Return the weights that predict the cells best; parts that hardly count are left out.

    Every cell's log-likelihood counts for so much, and each part's usual weight for so many cells.
    """

    def loss(scores: Any) -> tuple[float, Any]:
        weights = scipy.special.softmax(scores)
        prior = geometric_mean(parts, weights)
        posteriors, mass = posterior(prior, evidence, over=1, fallback=Fallback.PRIOR)
        slope = counting * np.einsum("pmk,mk->p", parts, posteriors - prior) + usual / weights
        value = float(
            counting * np.log(np.maximum(mass, LEAST_MASS)).sum() + usual @ np.log(weights)
        )
        return -value, -weights * (slope - weights @ slope)

    bounds = [(-_FARTHEST, _FARTHEST)] * len(parts)
    optimum = scipy.optimize.minimize(
        loss, np.log(usual / usual.max()), jac=True, method="L-BFGS-B", bounds=bounds
    )
    weights = scipy.special.softmax(optimum.x)
    weights[weights < LEAST_WEIGHT] = 0
    return np.asarray(weights / weights.sum())
