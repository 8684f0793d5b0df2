"""How many cells may rule out the true value at most, and what that would cost.

Let a share ε of the cells be wrong, as often where the prior is sure as elsewhere. The prior's
first value t is then ruled out by its row's hidden cell with a probability of

    e ≥ A ε + (1−A)(1−ε) π      A: how often t is true      π = min_{v ≠ t} Π_s[v, t]

of `exclusions`; under uniform exclusions π = s/(K−1). While ε ≤ π/(1+π), which with one exclusion
is 1/K, where cells say nothing any more, this is no less than ε. So the upper limit of e in the
surest tenth of the rows, where A is largest, is one of ε.

There is no lower limit: with one uniform exclusion, cells of which a share ε is wrong are
distributed as right ones are whose values are harder to predict, (1 − Kε) q + ε instead of q.

With values alike, a cell of s exclusions says I(ε) = KL(ε ‖ s/K) about its value, the divergence
of two Bernoulli distributions, instead of I(0) = −log(1 − s/K).
"""

import numpy as np
from scipy.special import betaincinv

from cfl_cli.core.arrays import Floats
from cfl_cli.core.exclusions import divergence
from cfl_cli.trust.hidden_cells import HiddenCells

SUREST = 0.1  # of the rows: fewer leave more to chance, more are less sure
CONFIDENCE = 0.95  # of the limit, one-sided


def most_wrong(hidden_cells: HiddenCells) -> float | None:
    """Return the share of cells that rule out the true value, at most; None: nothing is known.

    Exact and empty cells are left aside, and so are those that the mechanism allows not to rule
    out the first value whatever else is true.
    """
    mechanism, cells = hidden_cells.mechanism, hidden_cells.cells
    sizes = (~cells).sum(axis=1)
    first = hidden_cells.prior.argmax(axis=1)
    limits = np.zeros(len(cells))
    for size in np.unique(sizes[(sizes > 0) & (sizes < mechanism.size - 1)]):
        other = mechanism.inclusion(int(size)) + 2 * np.eye(mechanism.size)
        least = other.min(axis=0)
        limits[sizes == size] = (least / (1 + least))[first[sizes == size]]
    judged = np.flatnonzero(limits > 0)
    if len(judged) == 0:
        return None
    sureness = hidden_cells.prior[judged].max(axis=1)
    surest = judged[np.argsort(-sureness, kind="stable")[: max(int(SUREST * len(judged)), 1)]]
    ruled_out = float((~cells[surest, first[surest]]).sum())
    worth = hidden_cells.effective_share
    most = upper_limit(worth * ruled_out, worth * len(surest))
    return most if most < limits[surest].mean() else None


def upper_limit(count: float, n: float) -> float:
    """Return the share, at most, of which n draws at random had so many (Clopper and Pearson)."""
    return 1.0 if count == n else float(betaincinv(count + 1, n - count, CONFIDENCE))


def information_lost(wrong: float, exclusions: Floats, size: int) -> float:
    """Return the share of what cells say that is lost if a share of them is wrong.

    `exclusions` are those of the cells, exact and empty ones left aside, of a domain of `size`.
    """
    chance = exclusions / size
    said = divergence(np.full_like(chance, wrong), chance).sum()
    return float(1 - said / divergence(np.zeros_like(chance), chance).sum())
