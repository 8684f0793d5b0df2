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

from dataclasses import dataclass

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import LEAST_MASS, Floats, Ints, Mask
from cfl_cli.core.exclusions import divergence
from cfl_cli.trust.heldout import HiddenCells

SUREST = 0.1  # of the rows: fewer leave more to chance, more are less sure
_CONFIDENCE = 0.95  # of the limit, one-sided
NONE_WRONG = 0.25  # how likely no cell of a CF is wrong, before anything is known of it
_USUAL = 0.04  # of cells are wrong, on average, if any are
_GRID = 400  # shares
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
    most: float


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


def guessed_wrong(found: Surest, most: float) -> GuessedShares:
    """Return what the share of cells that rule out the true value may be, each as likely."""
    share = (np.arange(_GRID) + 0.5) / _GRID * found.limit
    others = found.limit / (1 - found.limit)  # π
    hits, misses = found.ruled_out + 1, found.rows - found.ruled_out + 1

    def seen(least: Floats) -> Floats:
        return np.asarray(
            scipy.special.betainc(hits, misses, others) - scipy.special.betainc(hits, misses, least)
        )

    none = NONE_WRONG * float(seen(np.zeros(1))[0])
    weights = (
        (1 - NONE_WRONG) * np.exp(-share / _USUAL) / _USUAL * (found.limit / _GRID) * seen(share)
    )
    total = weights.sum()
    if total == 0:  # the surest rows' cells are wrong more often than any share explains
        return GuessedShares(np.full(SLICES, _USUAL), 1 - NONE_WRONG, most)
    middles = (np.arange(SLICES) + 0.5) / SLICES
    at = np.minimum(np.searchsorted(weights.cumsum() / total, middles), _GRID - 1)
    return GuessedShares(share[at], float(total / (total + none)), most)


def upper_limit(count: float, n: float) -> float:
    """Return the share, at most, of which n draws at random had so many (Clopper and Pearson)."""
    return 1.0 if count == n else float(scipy.special.betaincinv(count + 1, n - count, _CONFIDENCE))


def information_lost(wrong: float, exclusions: Floats, size: int) -> float:
    """Return the share of what cells say that is lost if a share of them is wrong.

    `exclusions` are those of the cells, exact and empty ones left aside, of a domain of `size`.
    """
    chance = exclusions / size
    said = divergence(np.full_like(chance, wrong), chance).sum()
    return float(1 - said / divergence(np.zeros_like(chance), chance).sum())


# Cells that most likely rule out the true value, ranked, and how likely each is to do so.
#
# If a cell of s exclusions is wrong, it rules out the true value and s−1 others; if it is right, s
# others. With m the mass that the row's prior leaves to its candidates, such a cell is
#
#     times = (1 − m)/m · (K − s)/s        times as likely if it is wrong, and so
#
#     P(wrong) = ε times / (1 − ε + ε times)      if a share ε of the CF's cells is wrong.
#
# Priors are often surer than they should be, or less sure. So they are raised to a power, and what
# they leave is mixed with what the domain shares leave, λ and 1 − λ; power and λ are those that
# predict hidden cells best given ε, apart for the surer half of the rows, where most suspects are
# (of few hidden rows, λ alone).
# For an ε that is known, the sum of P(wrong) over the first cells is then about how many of them are
# wrong (`benchmarks/field/suspects.py`); but nobody knows ε. So P(wrong) is its mean over what ε may
# be, a guess (`wrong_cells`), and beside it stands that of the upper limit of ε, and of three shares
# that one may have in mind.
#
# Only the priors of hidden rows were made without the rows' own cells; what is left by others is too
# much. What is said of such a row is the mean of hidden rows that look as suspect in the estimate.

LISTED = 0.01  # of a CF's cells, at most …
FEW = 10  # … but of small tables as many as this …
MAY_WELL = 0.5  # … and those that are wrong as likely as not, if as many are as can be, …
_MANY = 0.1  # … up to this share of the cells
POWERS = (1.0, 1.5, 2.0, 3.0, 5.0)  # of priors; less sure than they are, λ makes them
_ENOUGH = 200  # hidden rows, below which one λ is all that can be found
_FITTED = 20_000  # hidden rows, at most, by which power and λ are found
STEPS = 20  # of halving
SUPPOSED = (0.01, 0.03, 0.1)  # shares of wrong cells


@dataclass(frozen=True, eq=False)
class Suspects:
    """The suspect cells of one CF, the most suspect first, and how suspect all of them are."""

    rows: Ints  # from 0
    mass_of_all: Floats  # n: of a row's prior, left by the cell: by how likely it is under each
    times_of_all: Floats  # n: as likely if the cell is wrong as if it is right; 0: exact or empty
    wrong_of_all: Floats  # n: how likely the cell is wrong, a guess; NaN: not known
    most_of_all: Floats  # n: the same, if as many cells are wrong as can be; NaN: not known
    supposed_of_all: tuple[Floats, ...]  # n each: the same, if such a share is; NaN: not known


class WeighedCells:
    """What is left to the candidates of n cells, and how much likelier exclusions would be."""

    def __init__(
        self,
        estimate_mass: Floats,  # n: left by the estimate of the finished run
        hidden_masses: Floats,  # m × powers: left by hidden rows' priors, made without their cells
        surer: Mask,  # m: the surer half of the hidden rows
        shares_mass: Floats,  # n: left by the domain shares
        hidden: Ints,  # m: which rows were hidden
        candidates: Mask,  # n × K
    ) -> None:
        self.estimate_mass, self.hidden_masses, self.surer = estimate_mass, hidden_masses, surer
        self.shares_mass, self.hidden = shares_mass, hidden
        # What is left, by the prior that was made without the cell if there is one.
        self.mass = estimate_mass.copy()
        self.mass[hidden] = hidden_masses[:, 0]
        self.size = candidates.shape[1]
        self.exclusions = (~candidates).sum(axis=1)
        # Neither exact nor empty: of these nothing is said, which is a ratio (K − s)/s of 0.
        self.partial = (self.exclusions > 0) & (self.exclusions < self.size - 1)
        ratio = (self.size - self.exclusions) / np.maximum(self.exclusions, 1)
        self.ratio = np.where(self.partial, ratio, 0.0)

    @property
    def telling(self) -> float:
        """Return the share of wrong cells from which on cells say nothing, s/K; 0: they never do.

        Without hidden cells it is not known either what priors are worth.
        """
        partial = self.exclusions[self.partial]
        known = len(partial) > 0 and len(self.hidden) > 0
        return float(partial.min() / self.size) if known else 0.0

    def times(self, share: float) -> Floats:
        """Return how many times as likely cells are if they are wrong, given the share that is."""
        alike = self._alike(*map(np.log, self._times(share)))
        return np.where(self.partial, np.exp(alike), 0.0)

    def wrong(self, share: float) -> Floats:
        """Return how likely cells are wrong, given the share that is; NaN: exact or empty."""
        found = [share * times / (1 - share + share * times) for times in self._times(share)]
        return np.where(self.partial, self._alike(*found), np.nan)

    def _times(self, share: float) -> tuple[Floats, Floats]:
        left = self.estimate_mass
        if len(self.hidden) == 0:
            return self._odds(left), self._odds(left)
        every = np.ones(len(self.hidden), dtype=bool)
        founded, _ = self._fitted(every, 0, share)
        left = founded * left + (1 - founded) * self.shares_mass
        by_priors = left.copy()
        enough = len(self.hidden) >= _ENOUGH
        powers = range(len(POWERS) if enough else 1)
        for part in (self.surer, ~self.surer) if enough else (every,):
            if part.any():
                fits = [(self._fitted(part, place, share), place) for place in powers]
                (founded, _), place = max(fits, key=lambda fit: fit[0][1])
                rows = self.hidden[part]
                own = founded * self.hidden_masses[part, place]
                by_priors[rows] = own + (1 - founded) * self.shares_mass[rows]
        return self._odds(by_priors), self._odds(left)

    def _odds(self, left: Floats) -> Floats:
        left = np.clip(left, LEAST_MASS, 1 - LEAST_MASS)
        return np.asarray((1 - left) / left * np.where(self.partial, self.ratio, 1.0))

    def _fitted(self, part: Mask, place: int, share: float) -> tuple[float, float]:
        some = np.flatnonzero(part)
        some = some[:: -(-len(some) // _FITTED)]
        rows, mass = self.hidden[some], self.hidden_masses[some, place]
        ratio, shares_mass = self.ratio[rows], self.shares_mass[rows]
        founded = well_founded(mass, shares_mass, ratio=ratio, wrong=share)
        mixed = founded * mass + (1 - founded) * shares_mass
        wrong = np.where(ratio > 0, share, 0.0)
        chances = (1 - wrong) * mixed + wrong * (1 - mixed) * ratio
        return founded, float(np.log(np.maximum(chances, LEAST_MASS)).sum())

    def _alike(self, known: Floats, seen: Floats) -> Floats:
        """Return what is `known`, of rows that were not hidden the mean of those `seen` alike.

        It is no less where what is seen is more.
        """
        judged = self.hidden[self.partial[self.hidden]]
        if len(self.hidden) == len(known) or len(judged) == 0:
            return known
        places, where, counts = np.unique(seen[judged], return_inverse=True, return_counts=True)
        means = np.bincount(where, known[judged]) / counts
        rising = scipy.optimize.isotonic_regression(means, weights=counts.astype(float)).x
        steps = np.diff(rising, prepend=-np.inf, append=np.inf) != 0
        ends = steps[:-1] | steps[1:]  # of what is level: far fewer places, and the same line
        alike = np.asarray(np.interp(seen, places[ends], rising[ends]))
        alike[self.hidden] = known[self.hidden]
        return alike


def rank_suspects(cells: WeighedCells, wrong: GuessedShares | None) -> Suspects:
    """Return which of n cells are suspect; without a share of wrong ones, not how likely."""
    n = len(cells.exclusions)
    usual = min(_USUAL, cells.telling / 2)
    times = cells.times(float(wrong.shares.mean()) if wrong else usual)
    unknown = np.full(n, np.nan)
    guess, most = unknown, unknown
    if wrong:
        of_shares = [cells.wrong(float(share)) for share in wrong.shares]
        guess = wrong.chance * np.mean(of_shares, axis=0)
        most = np.maximum(guess, cells.wrong(wrong.most))
    ranked = np.lexsort((cells.estimate_mass, -times))
    may_well = min(int((most >= MAY_WELL).sum()), int(_MANY * n))
    ranked = ranked[: max(int(LISTED * n), FEW, may_well)]
    # No more than the upper limit can be supposed, nor as many as leave cells without a meaning.
    below = min(cells.telling, wrong.most if wrong else 1.0)
    supposed = (cells.wrong(one) if one < below else unknown for one in SUPPOSED)
    return Suspects(ranked[times[ranked] > 1], cells.mass, times, guess, most, tuple(supposed))


def well_founded(
    mass: Floats, shares_mass: Floats, *, ratio: Floats | float = 1.0, wrong: float = 0.0
) -> float:
    """Return λ, 0 to 1, that makes cells likeliest of which a share is wrong.

    With x = λ mass + (1−λ) shares mass, Σ log((1−ε) x + ε (1−x) ratio) is largest.
    """
    share = np.where(np.asarray(ratio) > 0, wrong, 0.0)
    slope = 1 - share - share * ratio
    low, high = 0.0, 1.0
    for _ in range(STEPS):  # the sum is concave: where it still rises, λ is larger
        middle = (low + high) / 2
        mixed = middle * mass + (1 - middle) * shares_mass
        chances = np.maximum(share * ratio + slope * mixed, LEAST_MASS)
        rises = (slope * (mass - shares_mass) / chances).sum() > 0
        low, high = (middle, high) if rises else (low, middle)
    return (low + high) / 2
