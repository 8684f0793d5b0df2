"""What the OFs add to the cells: the likelihood of the cells, under held-out priors that are tilted.

Of each row i are known p_i, the prior of its CF without its own cell, e_ib = P(cell | b) and its
group c (0 if there are none). The chances of its value are taken to be

    π_i(b) ∝ p_i(b)^τ · exp(α_b + α_bc + β_b z_i + γ_b g_i)

z the first principal component of the centered log priors, g the number whose mean is asked for, if
any, in standard deviations, and fitted by Σ log Σ_b π_i(b) e_ib, with normal priors of standard
deviation 3. τ mends priors that are too sure or not sure enough, α their shares, in all and in each
group, β and γ what else they get wrong. Without γ, half of the intervals of means held. An average of
π_i(b) g_i is the estimate, and what each row moves it by is its own distance and its score:

    (π_i(b) g_i − θ) + score_i H⁻¹ ∂θ        H: minus the second derivatives of the likelihood

An interval is that of the estimate or of its logit, whichever end is farther.

Proper draws take the parameters from a normal distribution around the fitted ones, with the sandwich

    H⁻¹ (Σ score score' + 1/9) H⁻¹        summed over rows, or over rows that belong together

and then each value from π_i(b) e_ib under these parameters.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import Floats, Ints, Mask, sums_by
from cfl_cli.trust.intervals import NORMAL
from cfl_cli.trust.shares import CellEstimate

SPREAD = 3.0  # of the normal prior of each parameter
_LEAST = 1e-4  # of a prior
_ROWS = 4096  # at once
MOST_VALUES, ROWS_PER_VALUE = 4, 250  # where this was found to hold: see `holds`
NARROWER = 0.8  # of the cells' standard error, at most: otherwise the cells are enough


def holds(size: int, rows: float, share: float) -> bool:
    """Return whether an estimate of a value with this share, among so many rows, may be taken."""
    if size > MOST_VALUES or rows < ROWS_PER_VALUE * (size - 2):
        return False
    return bool(share >= np.sqrt(max(size - 2, 0) / rows))


@dataclass(frozen=True, eq=False)
class TiltedModel:
    """The fitted chances of n rows, and what their parameters would change."""

    chances: Floats  # n × K
    influence: Floats  # n × p: score_i H⁻¹
    logs: Floats  # n × K: centered log priors
    tilts: Floats  # n × q: z, and the columns of g
    group: Ints  # n
    groups: int
    units: Ints | None  # rows that belong together
    theta: Floats  # p, as fitted
    spread: Floats  # p × p, of the parameters: the sandwich

    @classmethod
    def fit(
        cls,
        priors: Floats,
        evidence: Floats,
        group: Ints,
        units: Ints | None = None,
        *,
        numbers: Floats | None = None,  # g: n, or n × q
    ) -> "TiltedModel":

        logs = np.log(np.maximum(priors, _LEAST))
        logs -= logs.mean(axis=1, keepdims=True)
        spread = logs - logs.mean(axis=0)
        _, _, axes = np.linalg.svd(spread.T @ spread)
        tilts = _standard((spread @ axes[0])[:, None])
        if numbers is not None:
            tilts = np.hstack([tilts, _standard(numbers.reshape(len(numbers), -1))])
        groups, size = int(group.max(initial=0)) + 1, priors.shape[1]
        blank = np.zeros((len(priors), 0))
        model = cls(priors, blank, logs, tilts, group, groups, units, np.zeros(0), blank)
        start = np.zeros(1 + (size - 1) * (groups + tilts.shape[1]))
        start[0] = 1.0

        def loss(theta: Floats) -> tuple[float, Floats]:
            chances = model.of(theta)
            mass = np.maximum((chances * evidence).sum(axis=1), 1e-300)
            slopes = chances * evidence / mass[:, None] - chances
            apart = (theta - start) / SPREAD**2
            value = -np.log(mass).sum() + (apart @ (theta - start)) / 2
            return float(value), apart - model.project(slopes).sum(axis=0)

        theta = scipy.optimize.minimize(
            loss, start, jac=True, method="BFGS", options={"maxiter": 200}
        ).x
        chances = model.of(theta)
        posterior = chances * evidence
        posterior /= np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        curvature = np.eye(len(theta)) / SPREAD**2
        for first in range(0, len(priors), _ROWS):
            part = slice(first, first + _ROWS)
            x = model.design(part)
            for weight, sign in ((chances[part], 1.0), (posterior[part], -1.0)):
                mean = np.einsum("ib,ibp->ip", weight, x)
                curvature += sign * (
                    np.einsum("ibp,ib,ibq->pq", x, weight, x, optimize=True) - mean.T @ mean
                )
        scores = model.project(posterior - chances)
        inverse = np.linalg.pinv(curvature, hermitian=True)
        influence = scores @ inverse
        sums = sums_by(units, influence)
        spread = sums.T @ sums + inverse @ inverse / SPREAD**2
        return cls(chances, influence, logs, tilts, group, groups, units, theta, spread)

    def drawn(self, evidence: Floats, normal: Floats, chance: Floats) -> Ints:
        """Return a value for each row, under parameters that are drawn, too.

        `normal` are p standard normal numbers, `chance` n that are uniform below 1.
        """
        weights, axes = np.linalg.eigh(self.spread)
        theta = self.theta + (axes * np.sqrt(np.maximum(weights, 0))) @ (axes.T @ normal)
        reach = np.cumsum(self.of(theta) * evidence, axis=1)
        return np.asarray((reach <= chance[:, None] * reach[:, -1:]).sum(axis=1))

    def of(self, theta: Floats) -> Floats:
        """Return the chances of all rows under these parameters."""
        size = self.logs.shape[1]
        eta = theta[0] * self.logs
        tables = theta[1:].reshape(-1, size - 1)
        eta[:, :-1] += tables[self.group] + self.tilts @ tables[self.groups :]
        eta -= eta.max(axis=1, keepdims=True)
        chances = np.exp(eta)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def project(self, slopes: Floats) -> Floats:
        """Return what slopes by η, n × K, are by the parameters, n × p."""
        size = slopes.shape[1] - 1
        found = np.zeros((len(slopes), 1 + size * (self.groups + self.tilts.shape[1])))
        found[:, 0] = (slopes * self.logs).sum(axis=1)
        columns = 1 + self.group[:, None] * size + np.arange(size)
        np.put_along_axis(found, columns, slopes[:, :-1], axis=1)
        tilted = self.tilts[:, :, None] * slopes[:, None, :-1]
        found[:, 1 + self.groups * size :] = tilted.reshape(len(slopes), -1)
        return found

    def design(self, part: slice) -> Floats:
        """Return the derivatives of η of some rows by the parameters, n × K × p."""
        logs, group = self.logs[part], self.group[part]
        n, size = logs.shape
        found = np.zeros((n, size, 1 + (size - 1) * (self.groups + self.tilts.shape[1])))
        found[:, :, 0] = logs
        values = np.arange(size - 1)
        rows = np.arange(n)[:, None]
        found[rows, values, 1 + group[:, None] * (size - 1) + values] = 1
        for place, tilt in enumerate(self.tilts[part].T):
            found[rows, values, 1 + (self.groups + place) * (size - 1) + values] = tilt[:, None]
        return found

    def mean(self, value: int, above: Floats, below: Floats) -> tuple[float, float]:
        """Return Σ π_b g / Σ h and its standard error, h a row's part in the denominator.

        `above` is g, n; `below` is h, n, or NaN where it is π_b itself (a mean among rows of b).
        """
        chance = self.chances[:, value]
        of_value = np.isnan(below)
        whole = np.where(of_value, chance * ~np.isnan(above), below)
        g = np.nan_to_num(above)
        total = float(whole.sum())
        theta = float((chance * g).sum()) / total
        apart = chance * g - theta * whole
        # Only what is made of π moves with the parameters.
        factor = g - theta * (of_value & ~np.isnan(above))
        slopes = -self.chances * chance[:, None]
        slopes[:, value] += chance
        moved = self.project(slopes * factor[:, None]).sum(axis=0)
        influence = (apart + self.influence @ moved) / total
        sums = sums_by(self.units, influence)
        return theta, float(np.sqrt((sums**2).sum()))

    def share(self, value: int, inside: Mask) -> CellEstimate:
        """Return P(x = b) among the rows inside."""
        here = inside.astype(float)
        return _bounded(*self.mean(value, here, here))

    def of_value(self, value: int, inside: Mask, known: Mask) -> CellEstimate:
        """Return the share of rows inside among those known that have the value."""
        above = np.where(known, inside.astype(float), np.nan)
        return _bounded(*self.mean(value, above, np.full(len(above), np.nan)))

    def average(self, value: int, numbers: Floats) -> CellEstimate:
        """Return the mean of numbers, NaN where they are not known, among rows of the value."""
        found, error = self.mean(value, numbers, np.full(len(numbers), np.nan))
        return CellEstimate(found, error, found - NORMAL * error, found + NORMAL * error)


def _standard(numbers: Floats) -> Floats:
    """Return columns in standard deviations around their means, 0 where they are NaN."""
    apart = numbers - np.nanmean(numbers, axis=0)
    spread = np.maximum(np.nanstd(numbers, axis=0), 1e-300)
    return np.asarray(np.nan_to_num(apart / spread))


def _bounded(value: float, error: float) -> CellEstimate:
    share = min(max(value, 1e-9), 1 - 1e-9)
    logit, reach = np.log(share / (1 - share)), NORMAL * error / (share * (1 - share))
    low = min(share - NORMAL * error, 1 / (1 + np.exp(reach - logit)))
    high = max(share + NORMAL * error, 1 / (1 + np.exp(-reach - logit)))
    rows = value * (1 - value) / error**2 if error > 0 else None
    return CellEstimate(value, error, float(max(low, 0.0)), float(min(high, 1.0)), rows)
