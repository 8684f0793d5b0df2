"""The mechanism that exact cells and exclusions suggest together: a weight for each value.

If exact cells are a random sample they show how common each value is, P_v; the other cells show how
often each is ruled out, e_c. Both are met by the weights w of a mechanism R[v, c] ∝ w_c for c ≠ v
with, Π[v, c] being how probably a cell of v rules out c,

    Σ_v P_v Π[v, c] = e_c        found by w ← w · e / (P Π)

Chance gives log w a covariance C, from those of P and e through the slopes of P Π. It is shrunk
towards uniform exclusions: τ² (τ² + C)⁻¹ log w, with τ² = (|log w|² − tr C) / (K − 1).
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Mask
from cfl_cli.core.exclusions import Mechanism

MOST = 10.0  # that a weight is above or below their geometric mean: more is another mechanism
STEPS = 200  # of finding w, at most
SETTLED = 1e-6  # a step that changes no log w by more is the last
CONDITION = 1e-6  # of the slopes, below which a direction is taken to be none
SLOPE_STEP = 1e-4  # of log w, either way, over which slopes are measured


def fit(candidates: Mask, exact: Mask) -> Floats | None:
    """Return the weights, K, their geometric mean 1, or None where exclusions look uniform.

    `exact` says which of the n cells are exact; the others may be so by ruling out all but one.
    """
    size = candidates.shape[1]
    if size < 3 or not exact.any() or (~candidates[~exact]).any(axis=1).sum() < 2:
        return None
    logs, covariance = log_weights(candidates, exact)
    spread = (logs @ logs - np.trace(covariance)) / (size - 1)
    if spread <= 0:
        return None
    shrunk = spread * np.linalg.solve(spread * np.eye(size) + covariance, logs)
    return np.asarray(np.exp(_bounded(shrunk)))


def log_weights(candidates: Mask, exact: Mask) -> tuple[Floats, Floats]:
    """Return log w, K, not shrunk, and its covariance, K × K."""
    size = candidates.shape[1]
    excluded = ~candidates[~exact]
    sizes = excluded.sum(axis=1)
    excluded, sizes = excluded[sizes > 0], sizes[sizes > 0]
    counts = np.bincount(sizes, minlength=size) / len(sizes)
    shares, often = candidates[exact].mean(axis=0), excluded.mean(axis=0)
    logs = _solved(shares, often, counts)
    change = _chance(logs, shares, counts, cells=int(exact.sum()))
    change += np.cov(excluded.T) / len(excluded)
    slopes = np.linalg.pinv(_slopes(logs, shares, counts), rcond=CONDITION)
    return logs, np.asarray(slopes @ change @ slopes.T)


def rates(weights: Floats) -> Floats:
    """Return R, K × K, of a weight for each value."""
    table = np.where(np.eye(len(weights), dtype=bool), 0, weights)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _solved(shares: Floats, often: Floats, counts: Floats) -> Floats:
    """Return log w, as far as it is within its bounds."""
    logs, wanted = np.zeros(len(shares)), np.log(np.maximum(often, 1e-9))
    for _ in range(STEPS):
        expected = shares @ _inclusion(logs, counts)
        before, logs = logs, _bounded(logs + wanted - np.log(np.maximum(expected, 1e-9)))
        if np.abs(logs - before).max() < SETTLED:
            break
    return logs


def _bounded(logs: Floats) -> Floats:
    return np.asarray(np.clip(logs - logs.mean(), -np.log(MOST), np.log(MOST)))


def _inclusion(logs: Floats, counts: Floats) -> Floats:
    """Return Π, K × K, for cells of which a share `counts` has 0 to K−1 exclusions."""
    mechanism = Mechanism(len(logs), rates(np.exp(logs)))
    numbers = np.flatnonzero(counts)
    return np.asarray(sum(counts[s] * mechanism.inclusion(int(s)) for s in numbers))


def _chance(logs: Floats, shares: Floats, counts: Floats, *, cells: int) -> Floats:
    """Return the covariance of P Π that comes from P being of so many exact cells."""
    inclusion = _inclusion(logs, counts)
    covariance = (np.diag(shares) - np.outer(shares, shares)) / cells
    return np.asarray(inclusion.T @ covariance @ inclusion)


def _slopes(logs: Floats, shares: Floats, counts: Floats) -> Floats:
    """Return d(P Π)_c / d log w_d, K × K."""
    steps = SLOPE_STEP * np.eye(len(logs))
    return np.column_stack(
        [
            shares @ (_inclusion(logs + step, counts) - _inclusion(logs - step, counts))
            for step in steps
        ]
    ) / (2 * SLOPE_STEP)
