"""How hidden cells were predicted at fitting: what later cells must not be predicted worse than.

Losses depend on how many values s a cell rules out, so there is a limit for every s:

    u = m + d        d² = z² · q · V + e · q · b·d/n        b = (Σ x² + 1) / (Σ x + 1)

m is the mean loss x of n reference cells, V the variance of that mean, with rows that belong
together counted together; z leaves LEVEL to one side, for all limits of all CFs together; q is 2
where folds judge each other, else 1. The last term is that of Wilson's interval: were the true mean
larger by d, the variance would be too, in steps of the size b; without it, cells that were all
predicted without loss would have a limit of 0. There e is z², or −log LEVEL where that is more: none
of n steps is seen with a probability of exp(−d·n/b). A number of exclusions that fewer than `LEAST` cells
have has no limit, and is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import comb, fsum, isfinite, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, ranks, sums_by
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.state import StateError
from cfl_cli.trust.heldout import LISTED, HiddenCells, all_cells, scores
from cfl_cli.trust.powers import SHARPEST, raised, sharpening

# How much likelier a cell is by the shares of the values alone than by a prior: from 0 to 1.
#
# With the prior and the shares of a row's CF, both without the row's own cell, and P(S | v),
#
#     p = Σ_v prior(v) P(S | v)      q = Σ_v share(v) P(S | v)      T = log(1 − w + w · min(q/p, R))
#
# T is the log likelihood ratio of "a part w of the cells does not follow the priors any more" to "all
# do" (Neyman and Pearson), w = PART and R = MOST. It is 0 for a row of which the model knows nothing,
# so such rows bring no noise, and bounded, so that few cells cannot decide alone. The loss is T on a
# scale that cells at fitting give, whose lowest T is `low`, and log(1 − w + w R) the highest:
#
#     loss = (T − low) / (highest − low), and what is below 0 is 0
#
# What a model expects of a row whose cell has s exclusions is the same for the cells that it might
# have had:
#
#     Σ_S P(S) · loss(S)           P(S) = Σ_v prior(v) P(S | v)
#
# Priors that are less sure than they should be, as those of graph often are, show a change late. So
# they are raised to the power above 1 that predicts the cells at fitting best, if there is one.

PART = 0.1  # of the cells that may not follow the priors
_MOST = 20.0  # times likelier by the shares: cells beyond are all alike
_LOWEST, HIGHEST = log(1 - PART), log(1 - PART + PART * _MOST)  # T
_DRAWN = 20_000  # cells, at least, that are drawn where those that a row might have are too many


def ratios(prior: Floats, cells: Mask, mechanism: Mechanism, shares: Floats) -> Floats:
    """Return T of every cell, n; that of an empty one is 0, or about."""
    likely = mechanism.likelihood(cells)
    return _of_masses(np.einsum("ij,ij->i", prior, likely), np.einsum("ij,j->i", likely, shares))


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
        own, low = prior[rows], float(lows[rows[0]])
        if comb(mechanism.size, size) <= LISTED:
            likelihood, factor = mechanism.scaled(all_cells(mechanism.size, size))
            mass = own @ likelihood.T
            chances = mass * np.exp(factor)
            total = chances.sum(axis=1)  # below 1 where some values cannot have so many exclusions
            found = losses(_of_masses(mass, np.broadcast_to(likelihood @ shares, mass.shape)), low)
            sums = np.einsum("ij,ij->i", chances, found)
            expected[rows] = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
            continue
        random, draws = np.random.default_rng(0), -(-_DRAWN // len(rows))
        ends = np.cumsum(own * mechanism.possible[:, size], axis=1)
        found, sizes = np.zeros(len(rows)), np.full(len(rows), size)
        for _ in range(draws):
            points = random.random((len(rows), 1)) * ends[:, -1:]
            values = (ends > points).argmax(axis=1)
            cells = mechanism.draw(values, sizes, random.random(own.shape))
            found += losses(ratios(own, cells, mechanism, shares), low)
        expected[rows] = found / draws
    return expected


def _of_masses(of_prior: Floats, of_shares: Floats) -> Floats:
    likelier = np.full(of_prior.shape, _MOST)
    np.divide(of_shares, of_prior, out=likelier, where=of_prior * _MOST > of_shares)
    return np.asarray(np.log(1 - PART + PART * likelier))


LEAST = 200  # reference cells for a limit
# Models, at most, of which some limit is below the true mean. Where one is, by a little, alarms
# take long. With references of 1,000, 3,000 and 15,000 cells of 3 CFs that know as much as the final
# model, `benchmarks/models/drift.py --simulated` expects 0.51, 0.36 and 0.03 false alarms in 1,000
# batches of 500 rows, over models too. Folds know less, so that there are fewer. With 0.03, changes
# are seen later; with 0.3, there were alarms in stable batches.
LEVEL = 0.1
MOST_POWER = float(np.exp(SHARPEST)) * (1 + 1e-9)
MOST_CELLS = 2**53  # more than any table has
_ROUNDING = 1 + 1e-9
_SUMS_TO_ONE = 1e-9
NO_FOLDS = "no cells were hidden at fitting (--folds 0)"
TOO_FEW = f"fewer than {LEAST} cells alike were hidden at fitting"


@dataclass(frozen=True)
class AlikeReference:
    """How cells of one CF with so many exclusions were predicted at fitting."""

    exclusions: int
    cells: int
    low: float  # of the scale of their losses: their lowest T, at most 0
    independent: float  # n² / Σ g² over groups of g cells
    loss: float  # mean
    loss_variance: float  # of the mean, groups counted together
    loss_squares: float  # mean square of a cell's loss
    expected: float  # mean loss that the priors expect
    score: float  # mean log-likelihood, as `heldout_score`
    score_variance: float  # of the mean

    @classmethod
    def of(cls, cells: "JudgedCells", exclusions: int, low: float) -> "AlikeReference":
        sizes = sums_by(cells.groups, np.ones(len(cells.losses)))
        return cls(
            exclusions,
            len(cells.losses),
            low,
            float(len(cells.losses) ** 2 / (sizes @ sizes)),
            exact_mean(cells.losses),
            variance_of_mean(cells.losses, cells.groups) or 0.0,
            exact_mean(cells.losses**2),
            exact_mean(cells.expected),
            min(exact_mean(cells.scores), 0.0),  # priors may sum to a hair more than 1
            variance_of_mean(cells.scores, cells.groups) or 0.0,
        )

    def limit(self, level: float, *, mutual: bool) -> float:
        """Return u: the mean loss is above it with a probability of `level`, at most, or about."""
        times, square = 2 if mutual else 1, NormalDist().inv_cdf(1 - level) ** 2
        step = (self.loss_squares * self.cells + 1) / (self.loss * self.cells + 1)
        half = max(square, -log(level)) * times * step / self.independent / 2
        square *= times
        return self.loss + half + sqrt(half**2 + square * self.loss_variance)

    def fault(self, size: int) -> str | None:
        """Return what no reference of a domain of `size` values can be; None: nothing."""
        numbers = [getattr(self, field.name) for field in fields(self)]
        if not all(abs(number) < MOST_CELLS and isfinite(number) for number in numbers):
            return "numbers that are not finite"
        sound = (
            1 <= self.exclusions < size
            and self.cells >= LEAST
            and _LOWEST * _ROUNDING <= self.low <= 0
            and 1 <= self.independent * _ROUNDING <= self.cells * _ROUNDING**2
            and 0 <= self.loss <= 1
            and self.loss**2 <= self.loss_squares * _ROUNDING <= self.loss * _ROUNDING**2
            and 0 <= self.expected <= 1
            and 0 <= self.loss_variance <= 1
            and self.score <= 0 <= self.score_variance
        )
        return None if sound else "numbers out of range"


@dataclass(frozen=True)
class ColumnReference:
    """The references of one CF, by exclusions; none: why there is no test of drift."""

    shares: tuple[float, ...]  # of its values, by the fitted rows' cells
    sizes: tuple[AlikeReference, ...] = ()
    mutual: bool = False
    reason: str | None = None
    power: float = 1.0  # to which priors are raised

    @classmethod
    def of(cls, hidden: HiddenCells | None, shares: Floats) -> "ColumnReference":
        if hidden is None:
            return cls(tuple(shares.tolist()), reason=NO_FOLDS)
        power = sharpening(hidden)
        exclusions = (~hidden.cells).sum(axis=1)
        counts = np.bincount(exclusions, minlength=hidden.mechanism.size)
        prior = raised(hidden.prior, power)
        found = ratios(prior, hidden.cells, hidden.mechanism, shares)
        lows = {
            s: min(float(found[exclusions == s].min()), 0.0)
            for s in range(1, hidden.mechanism.size)
            if counts[s] >= LEAST
        }
        cells = JudgedCells.of(hidden, shares, lows, power=power)
        sizes = tuple(
            AlikeReference.of(cells.some(cells.exclusions == s), s, low) for s, low in lows.items()
        )
        reason = None if sizes else TOO_FEW
        return cls(tuple(shares.tolist()), sizes, hidden.mutual, reason, power)

    @property
    def lows(self) -> dict[int, float]:
        return {of.exclusions: of.low for of in self.sizes}


@dataclass(frozen=True)
class Reference:
    columns: tuple[ColumnReference, ...]

    @classmethod
    def of(cls, hidden: Sequence[HiddenCells | None], shares: Sequence[Floats]) -> "Reference":
        return cls(tuple(map(ColumnReference.of, hidden, shares)))

    @property
    def shares(self) -> tuple[Floats, ...]:
        """Return how common each CF's values are by the fitted rows' cells, K each."""
        return tuple(np.array(column.shares) for column in self.columns)

    def limits(self, number: int) -> dict[int, float]:
        column = self.columns[number]
        level = LEVEL / (len(self.columns) * max(len(column.sizes), 1))
        return {of.exclusions: of.limit(level, mutual=column.mutual) for of in column.sizes}

    def facts(self) -> dict[str, Any]:
        return {"columns": [asdict(column) for column in self.columns]}

    @classmethod
    def from_facts(cls, facts: Any, domains: Sequence[int]) -> "Reference":
        """Return what `facts` gave, for CFs of so many values each, or raise StateError."""
        columns = _of_kind(facts, {"columns": list}, "drift")["columns"]
        if len(columns) != len(domains):
            raise StateError(f"drift has {len(columns)} CFs, and there are {len(domains)}")
        return cls(tuple(map(_column_from, columns, domains)))


def _column_from(facts: Any, domain: int) -> ColumnReference:
    lists = dict.fromkeys(("shares", "sizes"), (list, tuple))
    kinds = {**lists, "mutual": bool, "reason": (str, type(None)), "power": (int, float)}
    if isinstance(facts, dict):  # an older model's priors are taken as they are
        facts = {"power": 1.0} | facts
    column = _of_kind(facts, kinds, "drift of a CF")
    if not 1 <= column["power"] <= MOST_POWER:
        raise StateError("drift of a CF raises priors to a power out of range")
    shares = tuple(column["shares"])
    if (
        len(shares) != domain
        or not all(isinstance(share, float) and 0 <= share <= 1 for share in shares)
        or abs(fsum(shares) - 1) > _SUMS_TO_ONE
    ):
        raise StateError("drift of a CF: shares are one for each value, from 0 to 1, 1 together")
    wanted = {of.name: (int if of.type is int else (int, float)) for of in fields(AlikeReference)}
    sizes = tuple(AlikeReference(**_of_kind(of, wanted, "a reference")) for of in column["sizes"])
    faults = [fault for of in sizes if (fault := of.fault(domain))]
    if faults:
        raise StateError(f"a reference of drift has {faults[0]}")
    order = [of.exclusions for of in sizes]
    if order != sorted(set(order)):
        raise StateError("references of drift are not in the order of their exclusions")
    reason = column["reason"]
    if (reason is None) != bool(sizes) or reason not in (None, NO_FOLDS, TOO_FEW):
        raise StateError("drift of a CF has a reason that does not fit its references")
    return ColumnReference(shares, sizes, column["mutual"], reason, float(column["power"]))


def _of_kind(facts: Any, kinds: Mapping[str, Any], what: str) -> dict[str, Any]:
    if not isinstance(facts, dict) or facts.keys() != kinds.keys():
        raise StateError(f"{what} must have {', '.join(kinds)}, and nothing else")
    for name, kind in kinds.items():
        if not isinstance(facts[name], kind) or (kind is not bool and facts[name] is True):
            raise StateError(f"{what}: {name!r} is of another type")
    return facts


@dataclass(frozen=True, eq=False)
class JudgedCells:
    """Cells that are judged, n: those with certain numbers of exclusions."""

    exclusions: Ints
    losses: Floats
    expected: Floats
    scores: Floats
    groups: Ints | None

    @classmethod
    def of(
        cls, hidden: HiddenCells, shares: Floats, lows: Mapping[int, float], *, power: float = 1.0
    ) -> "JudgedCells":
        """Return those of the hidden cells whose number of exclusions has a scale of losses."""
        rows, sizes = judged_rows(hidden.cells, list(lows)), (~hidden.cells).sum(axis=1)
        prior, cells, mechanism = hidden.prior[rows], hidden.cells[rows], hidden.mechanism
        sharp = raised(prior, power)
        low = of_sizes(lows, sizes[rows])
        groups = None if hidden.groups is None else ranks(hidden.groups[rows])
        return cls(
            sizes[rows],
            losses(ratios(sharp, cells, mechanism, shares), low),
            expected_losses(sharp, sizes[rows], mechanism, shares, low),
            scores(prior, cells, mechanism),
            groups,
        )

    def some(self, chosen: Mask) -> "JudgedCells":
        parts: dict[str, Any] = {
            name: None if own is None else own[chosen] for name, own in vars(self).items()
        }
        return JudgedCells(**parts)


def judged_rows(cells: Mask, exclusions: Sequence[int]) -> Ints:
    """Return the rows whose cells, n × K, have one of these numbers of exclusions."""
    return np.flatnonzero(np.isin((~cells).sum(axis=1), exclusions))


def of_sizes(facts: Mapping[int, float], exclusions: Ints) -> Floats:
    """Return what is known of the number of exclusions of every cell, n."""
    return np.array([facts[size] for size in exclusions.tolist()], dtype=float)


def exact_mean(numbers: Floats) -> float:
    """Return the mean, whose last digit does not depend on the order."""
    return fsum(numbers.tolist()) / len(numbers)


def variance_of_mean(numbers: Floats, groups: Ints | None) -> float | None:
    """Return the variance of the mean, groups counted together; None: of one row or group alone."""
    sums = sums_by(groups, numbers - exact_mean(numbers))
    if len(sums) < 2:
        return None
    return fsum((sums**2).tolist()) / len(numbers) ** 2 * len(sums) / (len(sums) - 1)
