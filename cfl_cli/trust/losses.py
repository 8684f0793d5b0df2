"""How much likelier a cell is by the shares of the values alone than by a prior: from 0 to 1.

With the prior and the shares of a row's CF, both without the row's own cell, and P(S | v),

    p = Σ_v prior(v) P(S | v)      q = Σ_v share(v) P(S | v)      T = log(1 − w + w · min(q/p, R))

T is the log likelihood ratio of "a part w of the cells does not follow the priors any more" to "all
do" (Neyman and Pearson), w = PART and R = MOST. It is 0 for a row of which the model knows nothing,
so such rows bring no noise, and bounded, so that few cells cannot decide alone. The loss is T on a
scale that cells at fitting give, whose lowest T is `low`, and log(1 − w + w R) the highest:

    loss = (T − low) / (highest − low), and what is below 0 is 0

What a model expects of a row whose cell has s exclusions is the same for the cells that it might
have had:

    Σ_S P(S) · loss(S)           P(S) = Σ_v prior(v) P(S | v)
"""

from math import comb, log

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.trust.possible_cells import LISTED, all_cells

PART = 0.1  # of the cells that may not follow the priors
MOST = 20.0  # times likelier by the shares: cells beyond are all alike
LOWEST, HIGHEST = log(1 - PART), log(1 - PART + PART * MOST)  # T
DRAWN = 20_000  # cells, at least, that are drawn where those that a row might have are too many


def ratios(prior: Floats, cells: Mask, mechanism: Mechanism, shares: Floats) -> Floats:
    """Return T of every cell, n; that of an empty one is 0, or about."""
    likelihood = mechanism.likelihood(cells)
    return _of_masses(
        np.einsum("ij,ij->i", prior, likelihood), np.einsum("ij,j->i", likelihood, shares)
    )


def losses(found: Floats, lows: Floats | float) -> Floats:
    """Return the losses of cells with these T, of the same shape."""
    return np.asarray(np.clip((found - lows) / (HIGHEST - lows), 0.0, 1.0))


def expected_losses(
    prior: Floats, exclusions: Ints, mechanism: Mechanism, shares: Floats, lows: Floats
) -> Floats:
    """Return what loss the priors, n × K, expect of cells with so many exclusions, n.

    `lows`, n, are those of the scales; cells with as many exclusions have the same.
    """
    expected = np.zeros(len(prior))
    for size in np.unique(exclusions[exclusions > 0]).tolist():
        rows = np.flatnonzero(exclusions == size)
        over = _over_all if comb(mechanism.size, size) <= LISTED else _over_some
        expected[rows] = over(prior[rows], size, mechanism, shares, float(lows[rows[0]]))
    return expected


def _over_all(prior: Floats, size: int, mechanism: Mechanism, shares: Floats, low: float) -> Floats:
    likelihood, factor = mechanism.scaled(all_cells(mechanism.size, size))
    mass = prior @ likelihood.T
    chances = mass * np.exp(factor)
    total = chances.sum(axis=1)  # below 1 where some values cannot have so many exclusions
    found = losses(_of_masses(mass, np.broadcast_to(likelihood @ shares, mass.shape)), low)
    sums = np.einsum("ij,ij->i", chances, found)
    return np.asarray(np.divide(sums, total, out=np.zeros_like(sums), where=total > 0))


def _over_some(
    prior: Floats, size: int, mechanism: Mechanism, shares: Floats, low: float
) -> Floats:
    """Return an estimate without bias, from cells drawn at random."""
    random = np.random.default_rng(0)
    possible = prior * mechanism.possible[:, size]
    ends = np.cumsum(possible, axis=1)
    draws = -(-DRAWN // len(prior))
    found = np.zeros(len(prior))
    for _ in range(draws):
        points = random.random((len(prior), 1)) * ends[:, -1:]
        values = (ends > points).argmax(axis=1)
        sizes = np.full(len(prior), size)
        cells = mechanism.draw(values, sizes, random.random(prior.shape))
        found += losses(ratios(prior, cells, mechanism, shares), low)
    return found / draws


def _of_masses(of_prior: Floats, of_shares: Floats) -> Floats:
    """Return T of cells that leave so much of the prior and of the shares."""
    likelier = np.full(of_prior.shape, MOST)
    np.divide(of_shares, of_prior, out=likelier, where=of_prior * MOST > of_shares)
    return np.asarray(np.log(1 - PART + PART * likelier))
