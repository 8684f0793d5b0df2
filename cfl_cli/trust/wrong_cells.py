"""How many cells may rule out the true value at most, a guess, and what that would cost.

Let a share ε of the cells be wrong, as often where the prior is sure as elsewhere. The prior's
first value t is then ruled out by its row's hidden cell with a probability of

    e ≥ A ε + (1−A)(1−ε) π      A: how often t is true      π = min_{v ≠ t} Π_s[v, t]

of `exclusions`; under uniform exclusions π = s/(K−1). While ε ≤ π/(1+π), which with one exclusion
is 1/K, where cells say nothing any more, this is no less than ε. So the upper limit of e in the
surest tenth of the rows, where A is largest, is one of ε.

There is no lower limit: with one uniform exclusion, cells of which a share ε is wrong are
distributed as right ones are whose values are harder to predict, (1 − Kε) q + ε instead of q. So
what lies below the limit is a guess, and rests on how often cells are wrong elsewhere: in one CF of
four none is, in the others 4 % on average, exponentially distributed (the tables by which methods
are compared have 3.3 % wrong labels: Northcutt, Athalye and Mueller, 2021). What the surest rows
show is weighed by Bayes' rule: e is no less than ε, and else as likely to be anything up to π.

With values alike, a cell of s exclusions says I(ε) = KL(ε ‖ s/K) about its value, the divergence
of two Bernoulli distributions, instead of I(0) = −log(1 − s/K).
"""

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.exclusions import divergence
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.hidden_cells import HiddenCells

SUREST = 0.1  # of the rows: fewer leave more to chance, more are less sure
CONFIDENCE = 0.95  # of the limit, one-sided
NONE_WRONG = 0.25  # how likely no cell of a CF is wrong, before anything is known of it
USUAL = 0.04  # of cells are wrong, on average, if any are
GRID = 400  # shares
SLICES = 6  # that stand for these, as likely each


@dataclass(frozen=True)
class Surest:
    """How often the cells of the surest rows rule out the value that the prior has first."""

    ruled_out: float  # cells, for how many independent ones they count
    rows: float  # of how many
    limit: float  # the largest ε of which anything can be said, π/(1+π)


@dataclass(frozen=True, eq=False)
class GuessedShares:
    """What the share of wrong cells may be if there are any."""

    shares: Floats  # above 0, each as likely as the others
    chance: float  # that there are any

    @property
    def mean(self) -> float:
        """Return the share to be expected if there are any."""
        return float(self.shares.mean())


def surest(hidden_cells: HiddenCells) -> Surest | None:
    """Return what the surest rows show; None: there are none.

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
    chosen = judged[np.argsort(-sureness, kind="stable")[: max(int(SUREST * len(judged)), 1)]]
    ruled_out = float((~cells[chosen, first[chosen]]).sum())
    worth = hidden_cells.effective_share
    return Surest(worth * ruled_out, worth * len(chosen), float(limits[chosen].mean()))


def most_wrong(hidden_cells: HiddenCells) -> float | None:
    """Return the share of cells that rule out the true value, at most; None: nothing is known."""
    found = surest(hidden_cells)
    if found is None:
        return None
    most = upper_limit(found.ruled_out, found.rows)
    return most if most < found.limit else None


def guessed_wrong(found: Surest) -> GuessedShares:
    """Return what the share of cells that rule out the true value may be, each as likely."""
    from scipy.special import betainc  # noqa: PLC0415 — loads slowly, and new rows need none

    share = (np.arange(GRID) + 0.5) / GRID * found.limit
    others = found.limit / (1 - found.limit)  # π
    hits, misses = found.ruled_out + 1, found.rows - found.ruled_out + 1

    def seen(least: Floats) -> Floats:
        """Return how likely it is that e is at least this, and at most π."""
        return np.asarray(betainc(hits, misses, others) - betainc(hits, misses, least))

    none = NONE_WRONG * float(seen(np.zeros(1))[0])
    weights = (1 - NONE_WRONG) * np.exp(-share / USUAL) / USUAL * (found.limit / GRID) * seen(share)
    total = weights.sum()
    if total == 0:  # the surest rows' cells are wrong more often than any share explains
        return GuessedShares(np.full(SLICES, USUAL), 1 - NONE_WRONG)
    middles = (np.arange(SLICES) + 0.5) / SLICES
    at = np.minimum(np.searchsorted(weights.cumsum() / total, middles), GRID - 1)
    return GuessedShares(share[at], float(total / (total + none)))


def upper_limit(count: float, n: float) -> float:
    """Return the share, at most, of which n draws at random had so many (Clopper and Pearson)."""
    from scipy.special import betaincinv  # noqa: PLC0415 — loads slowly, and new rows need none

    return 1.0 if count == n else float(betaincinv(count + 1, n - count, CONFIDENCE))


def information_lost(wrong: float, exclusions: Floats, size: int) -> float:
    """Return the share of what cells say that is lost if a share of them is wrong.

    `exclusions` are those of the cells, exact and empty ones left aside, of a domain of `size`.
    """
    chance = exclusions / size
    said = divergence(np.full_like(chance, wrong), chance).sum()
    return float(1 - said / divergence(np.zeros_like(chance), chance).sum())
