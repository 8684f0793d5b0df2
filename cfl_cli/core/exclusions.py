"""How exclusions arise: what a cell says about the value behind it.

A cell rules out a set S of s domain values, never the true one, v. By default exclusions are
uniform: every set of s wrong values is equally likely. A mechanism generalises this by rates
R[v, c], the probability that an exclusion is c when the value is v. Several exclusions are drawn
one by one and happen to be distinct:

    P(S | v, s) = Π_{c ∈ S} R[v, c] / e_s(R[v, ·])      e_s: the elementary symmetric polynomial

How many a cell rules out is taken to be independent of v. With Π_s[v, c] = P(c ∈ S | v, s),

    f(S, t) = Σ_{c ∈ S} (Π_s⁻¹)[c, t]      has the expectation 1[v = t], whatever v is

and so shows without bias, if noisily, where the true value is: on it stand the estimates that need
no truth. Under uniform exclusions f(S, t) = 1 − (K−1)/s · 1[t ∈ S]. An exact cell has s = K−1 and
says what its value is under any mechanism; an empty cell says nothing.

Rates with a diagonal are those of noisy values: a cell states one value c, which is wrong with a
known probability, and R[v, c] is how often c is stated where v is true. Such a cell is kept like one
that rules out c. All of the above holds with s = 1, but no value is impossible (`leaves`).
"""

from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import comb, lgamma, log
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask

_CONDITION = 1e8  # of Π_s, beyond which its inverse is taken to be noise
LEVEL = 0.001  # how often all honest cells of a CF together may look as if they were not


@dataclass(frozen=True, eq=False)
class Shares:
    """Estimated domain shares, and how far off each may be; they sum to 1, and may be negative."""

    values: Floats  # K
    errors: Floats  # K: standard errors

    @cached_property
    def prior(self) -> Floats:
        """Return the shares as a distribution: what is below 0 can only be 0."""
        above = np.clip(self.values, 0, None)
        return np.asarray(above / above.sum())

    @cached_property
    def clear(self) -> Floats:
        """Return a distribution that is as far from an even one as the cells can tell it from one.

        With z standard errors between a share and 1/K, 1 − 2 log K/z² of the way remains, or none:
        of K normal errors alone, hardly any z² is above 2 log K.
        """
        even = 1 / len(self.values)
        apart = self.values - even
        chance = self.errors**2 * 2 * np.log(len(apart))
        remains = np.zeros_like(apart)
        np.divide(apart**2 - chance, apart**2, out=remains, where=apart**2 > chance)
        above = np.clip(even + remains * apart, 0, None)
        return np.asarray(above / above.sum())


@dataclass(frozen=True, eq=False)
class Mechanism:
    """How exclusions arise in a domain of `size` values; without `rates`, uniformly.

    `rates` is K × K: in row v, the probabilities that an exclusion is c when the value is v, or
    that a noisy cell states c.
    """

    size: int
    rates: Floats | None = None
    # What `inclusion` and `inverse` have worked out, by the number of exclusions.
    _inclusions: dict[int, Floats] = field(default_factory=dict, init=False, repr=False)
    _inverses: dict[int, Floats | None] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ValueError("a domain has at least two values")
        if self.rates is None:
            return
        if self.rates.shape != (self.size, self.size):
            raise ValueError(f"rates must be {self.size} × {self.size}, one row for each value")
        if not np.isfinite(self.rates).all() or (self.rates < 0).any():
            raise ValueError("rates must be probabilities, 0 or more")
        if self.rates.diagonal().any() and not self.rates.diagonal().all():
            raise ValueError(
                "a value never rules itself out: the diagonal of the rates must be 0, or above 0 for "
                "noisy values"
            )
        if (np.abs(self.rates.sum(axis=1) - 1) > 1e-6).any():
            raise ValueError("the rates of each value must sum to 1")

    @classmethod
    def of(cls, size: int, rates: npt.ArrayLike | None) -> Self:
        """Return the mechanism with these rates, scaled to sum to 1; None: uniform exclusions.

        Rates that are uniform but for rounding are taken for uniform ones.
        """
        if rates is None:
            return cls(size)
        rates = np.asarray(rates, dtype=float)
        uniform = (1 - np.eye(size)) / max(size - 1, 1)
        if rates.shape == uniform.shape and np.allclose(rates, uniform, rtol=0, atol=1e-9):
            return cls(size)
        cls(size, rates)  # what is not even nearly a mechanism must not be scaled to look like one
        return cls(size, rates / rates.sum(axis=1, keepdims=True))

    @cached_property
    def noisy(self) -> bool:
        """Whether cells state values that may be wrong, and rule out none."""
        return self.rates is not None and bool(self.rates.diagonal().any())

    @property
    def exact(self) -> int:
        """How many exclusions an exact cell has; K, which no cell has, if none can be exact."""
        return self.size if self.noisy and self.size == 2 else self.size - 1

    def information(self, candidates: Mask) -> Floats:
        """Return how many exact cells each row's cell is worth, n, about."""
        sizes = (~candidates).sum(axis=1)
        if not self.noisy:
            return np.asarray(sizes / max(self.size - 1, 1))
        even = self.likelihood(candidates)
        even /= even.sum(axis=1, keepdims=True)
        spread = ((even - 1 / self.size) ** 2).sum(axis=1)
        return np.asarray(spread * self.size / (self.size - 1))

    def leaves(self, candidates: Mask) -> Mask:
        """Return which values the cells leave possible, n × K: a noisy one leaves all of them."""
        if not self.noisy:
            return candidates
        open_cells = (~candidates).sum(axis=1) != self.exact
        return np.asarray(candidates | open_cells[:, None])

    def likelihood(self, candidates: Mask) -> Floats:
        """Return how likely each row's cell is given each value, n × K, the largest of a row 1.

        Under uniform exclusions these are the candidates. A cell that is impossible under the
        mechanism, whatever the value, counts like a uniform one: its candidates are all alike.
        """
        return self.scaled(candidates)[0]

    def scaled(self, candidates: Mask) -> tuple[Floats, Floats]:
        """Return the likelihood, n × K, and the log of the factor, n, that makes it P(S | v, s).

        The factor of a cell that is impossible whatever the value is 0: its log is −inf.
        """
        first, places = distinct(candidates)
        candidates = candidates[first]
        excluded = ~candidates
        sizes = excluded.sum(axis=1)
        values = candidates.astype(float)
        if self.rates is None:
            n = self.size - 1
            chosen = [lgamma(n + 1) - lgamma(s + 1) - lgamma(n - s + 1) for s in range(n + 1)]
            return values[places], -np.array(chosen)[sizes][places]
        uses = excluded.astype(float)
        never = self.rates == 0
        # Row by row: a product of all has other last digits for other numbers of rows.
        logs = np.matmul(uses[:, None], np.log(np.where(never, 1, self.rates)).T)[:, 0]
        possible = (uses @ never.T.astype(float) == 0) & self.possible[:, sizes].T
        log_sums = np.log(np.where(self._sums > 0, self._sums, 1))
        log_sums = log_sums - np.arange(self.size) * log(self.size - 1)
        logs = np.where(possible, logs - log_sums[:, sizes].T, -np.inf)
        exact = sizes == self.exact
        logs[exact] = np.where(candidates[exact], 0.0, -np.inf)
        largest = logs.max(axis=1, keepdims=True)
        known = np.isfinite(largest)
        scaled = np.exp(np.where(known, logs, 0) - np.where(known, largest, 0))
        return np.where(known, scaled, values)[places], largest[places, 0]

    def inclusion(self, exclusions: int) -> Floats:
        """Return Π_s, K × K: how probable it is for a cell of value v to rule out c.

        The row of a value that cannot have so many exclusions is 0.
        """
        if self.rates is None:
            return np.asarray((1 - np.eye(self.size)) * exclusions / (self.size - 1))
        if exclusions not in self._inclusions:
            without_c = np.zeros((self.size, self.size, exclusions))
            without_c[:, :, 0] = 1  # e_0, and up to e_(s−1): none depends on later ones
            for c in range(self.size):
                others = np.arange(self.size) != c
                without_c = _with(without_c, self._relative[:, c, None] * others)
            with_c = self._relative * without_c[:, :, exclusions - 1]
            total = self._sums[:, exclusions, None]
            chances = np.divide(with_c, total, out=np.zeros_like(with_c), where=total > 0)
            self._inclusions[exclusions] = chances
        return self._inclusions[exclusions]

    def inverse(self, exclusions: int) -> Floats | None:
        """Return Π_s⁻¹, K × K, or None where there is none that is more than noise.

        Without Π_1⁻¹ cells of one exclusion do not determine the domain shares: if, say, a value is
        never ruled out, or two values are ruled out alike and rule out alike. Such a mechanism has
        likelihoods, but nothing unbiased can be said of it. The inverse of an exact cell is known under any mechanism: all other values are ruled out.
        """
        if exclusions not in self._inverses:
            exact = exclusions == self.exact
            inclusion = (Mechanism(self.size) if exact else self).inclusion(exclusions)
            sound = np.linalg.cond(inclusion) < _CONDITION
            self._inverses[exclusions] = np.asarray(np.linalg.inv(inclusion)) if sound else None
        return self._inverses[exclusions]

    def worth(self, measure: Floats, exclusions: int) -> Floats:
        """Return what each exclusion of a cell contributes to `measure`, both b × K.

        A row of `measure` says what each value would count. Summed over the cell's exclusions the
        contributions are, in expectation, what the true value counts.
        """
        if self.rates is None:
            total = measure.sum(axis=1, keepdims=True)
            return np.asarray((total - (self.size - 1) * measure) / exclusions)
        inverse = self.inverse(exclusions)
        if inverse is None:
            raise ValueError(f"cells of {exclusions:,} exclusions do not distinguish the values")
        return measure @ inverse.T

    def unbiased(self, candidates: Mask) -> Floats:
        """Return f(S, t) for every row and value, n × K; 0 for cells without weight."""
        first, places = distinct(candidates)
        cells = candidates[first]
        sizes = (~cells).sum(axis=1)
        estimates = np.zeros(cells.shape)
        if self.rates is None:
            estimates = 1 - (self.size - 1) / np.maximum(sizes, 1)[:, None] * ~cells
            estimates[sizes == 0] = 0
            return np.asarray(estimates[places])
        for size in np.unique(sizes[sizes > 0]):
            inverse = self.inverse(int(size))
            if inverse is not None:
                estimates[sizes == size] = (~cells[sizes == size]).astype(float) @ inverse
        return estimates[places]

    def weights(self, candidates: Mask) -> Floats:
        """Return how much each row's f counts when rows are pooled, n: its exclusions.

        Under uniform exclusions the variance of f is (1 − A)·((K−1)/s − (1 − A)), A being how
        often t is true. So s is nearly the best weight for a large A: the standard error is within
        6 % of the least from A = 0.5 on, and up to 70 % above it at A = 0.1 with some cells exact.
        Empty cells, and numbers of exclusions that do not distinguish the values, weigh 0.
        """
        sizes = (~candidates).sum(axis=1)
        weights: Floats = sizes.astype(float)
        if self.rates is not None:
            for size in np.unique(sizes[sizes > 0]):
                if self.inverse(int(size)) is None:
                    weights[sizes == size] = 0
        return weights

    def shares(self, candidates: Mask) -> Shares | None:
        """Return the estimated domain shares, or None if no cell says anything."""
        weights = self.weights(candidates)
        total = weights.sum()
        if total == 0:
            return None
        first, places = distinct(candidates)
        cells, counts = candidates[first], np.bincount(places)
        estimates, weights = self.unbiased(cells), weights[first]
        values = (counts * weights) @ estimates / total
        # A ratio of sums: what a row adds to the error is its weighted distance from the answer.
        distances = weights[:, None] * (estimates - values)
        rows = counts[weights > 0].sum()
        variance = counts @ distances**2 / total**2 * rows / max(rows - 1, 1)
        return Shares(values, np.sqrt(variance))

    def too_often(
        self, candidates: Mask, counts: Floats | None = None, *, level: float = LEVEL
    ) -> Ints:
        """Return the places of values that so many cells rule out that the mechanism cannot hold.

        Whatever the values behind the cells, a cell of s exclusions rules out c with probability
        max_v Π_s[v, c] at most; under uniform exclusions this is s/(K−1), reached when no row
        has the value c, and to be beyond it is to have a negative share. The number of such cells
        exceeds n·q with a probability of at most exp(−n·KL(q ‖ p)), p the mean of these bounds
        (Chernoff and Hoeffding). This holds for any n, so honest rows that are independent are
        accused with a probability below `level`, over all values of the domain together. `counts`
        are for how many independent rows each row counts, 1 if None.
        """
        sizes = (~candidates).sum(axis=1)
        partial = (sizes > 0) & (sizes < self.exact)
        worth = np.ones(partial.sum()) if counts is None else counts[partial]
        of_sizes = np.bincount(sizes[partial], worth, minlength=self.size)
        n = of_sizes.sum()
        seen = worth @ ~candidates[partial] / max(n, 1)
        possible = np.zeros(self.size)
        for size in np.flatnonzero(of_sizes):
            possible += of_sizes[size] / n * self.inclusion(int(size)).max(axis=0)
        possible = np.minimum(possible, 1)
        surprise = n * np.where(seen > possible, divergence(seen, possible), 0)
        return np.flatnonzero(surprise > log(self.size / level))

    def repeats(
        self, candidates: Mask, counts: Floats | None = None, *, level: float = LEVEL
    ) -> bool:
        """Return whether some sets come up so often that they cannot have been drawn.

        Whatever the values behind the cells, a cell of s exclusions is S with probability max_v
        P(S | v, s) at most. Blocks, of which a table has few, come up far more often. The bound is
        that of `too_often`, over all sets of at least two values and of as many exclusions.
        """
        sizes = (~candidates).sum(axis=1)
        some = np.flatnonzero((sizes > 1) & (sizes < self.exact))
        if len(some) == 0:
            return False
        cells, worth = candidates[some], np.ones(len(some)) if counts is None else counts[some]
        first, places = distinct(cells)
        of_size = np.bincount(sizes[some], worth)[sizes[some][first]]
        seen = np.minimum(np.bincount(places, worth) / of_size, 1)
        possible = np.minimum(np.exp(self.scaled(cells[first])[1]), 1)
        surprise = of_size * np.where(seen > possible, divergence(seen, possible), 0)
        tests = sum(comb(self.size, size) for size in np.unique(sizes[some]).tolist())
        return bool(surprise.max() > log(tests) - log(level))

    def draw(self, values: Ints, exclusions: Ints, chances: Floats) -> Mask:
        """Return the candidates of a random cell for each of `values`, n × K.

        `chances` holds a random number from [0, 1) for every row and domain value. One value after
        the other is ruled out or not, with the probability that it is in S given what went before.
        """
        need = exclusions.copy()
        candidates = np.ones(chances.shape, dtype=bool)
        for c in range(self.size):
            if self.rates is None:
                left = self.size - c - (values >= c)
                chance = np.where(values == c, 0.0, need / np.maximum(left, 1))
            else:
                total = self._tails[c][values, need]
                part = self._relative[values, c]
                part = part * self._tails[c + 1][values, np.maximum(need - 1, 0)]
                possible = (need > 0) & (total > 0)
                chance = np.where(possible, part / np.where(total > 0, total, 1), 0.0)
            chosen = chances[:, c] < chance
            candidates[chosen, c] = False
            need -= chosen
        return candidates

    @cached_property
    def possible(self) -> Mask:
        """Return which values can have cells of how many exclusions, K × K (0 to K−1)."""
        if self.rates is None:
            return np.ones((self.size, self.size), dtype=bool)
        return np.asarray(self._sums > 0)

    @cached_property
    def _relative(self) -> Floats:
        return np.asarray(self.rates) * (self.size - 1)

    @cached_property
    def _tails(self) -> list[Floats]:
        tails = [np.eye(1, self.size).repeat(self.size, axis=0)]
        for c in reversed(range(self.size)):
            tails.append(_with(tails[-1], self._relative[:, c]))
        return tails[::-1]

    @cached_property
    def _sums(self) -> Floats:
        none = np.eye(1, self.size).repeat(self.size, axis=0)
        return reduce(_with, self._relative.T[::-1], none)


def _with(sums: Floats, rates: Floats) -> Floats:
    more = sums.copy()
    more[..., 1:] += rates[..., None] * sums[..., :-1]
    return more


def distinct(candidates: Mask) -> tuple[Ints, Ints]:
    """Return a row for each distinct cell, and for every row the place of its cell among them."""
    bits = np.packbits(candidates, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)  # sorted as whole words, much faster than bit by bit
    keys = numbers[:, 0] if numbers.shape[1] == 1 else numbers
    _, first, places = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, places.reshape(-1)


def divergence(seen: Floats, expected: Floats) -> Floats:
    """Return the Kullback-Leibler divergence of probabilities; infinite for the impossible."""
    parts = []
    for one, other in ((seen, expected), (1 - seen, 1 - expected)):
        ratio = np.divide(one, other, out=np.full_like(one, np.inf), where=other > 0)
        parts.append(one * np.log(ratio, out=np.zeros_like(one), where=one > 0))
    return parts[0] + parts[1]


# Whether cells are as their mechanism says, by what is known of each row without its own cell.
#
# Whatever is known of a row without its cell, and whatever its value, a cell of s exclusions rules
# out b with probability u = max_v Π_s[v, b] at most (s/(K−1) under uniform exclusions). So cells must
# not rule out more often what hidden priors select: a value b in the rows that find it improbable, or
# the value at rank r of each row's prior. With x = 1[it is ruled out] and w how much a row counts,
#
#     W · KL(Σ w x / W ‖ Σ w u / W) ≤ log(tests / level)      W = Σ w
#
# with probability 1 − level for all tests together (Chernoff and Hoeffding; any w from 0 to 1).
#
# Where values stand in an order, people confuse neighbors, or rule out first what lies next to the
# truth. With N the neighbors of a row's first value, or all that are neither, and y = |S ∩ N| /
# min(s, |N|), which is 0 to 1 and at most min(Σ_{b ∈ N} u_b / min(s, |N|), 1) in expectation,
# whatever the value, the same bound holds of Σ w y: in all rows, and in those whose priors find N the
# least probable.
#
# How many values a cell rules out must not depend on how sure its row's prior is, either.
#
# If b were ruled out ρ times as often as other values, the odds of x would be ρ times as large, and
# Σ w x at least Σ w x·ρ/(1 + (ρ−1)·u). This tells which ρ the tests would have noticed.

# Shares of the rows, those that find a value the least probable first. An eighth noticed biases
# that a quarter did not, at K = 3; a sixteenth, and sets of ranks, noticed no more.
PARTS = (0.125, 0.25, 0.5, 1.0)
MUTUAL = 0.5  # how much rows count that were hidden in turn: the variance is up to twice as large
UNEVEN = 0.1  # correlation below which estimates are hardly led astray, however many the rows
_SURE = 1.645  # standard errors that leave 5 % to one side
MOST_BIAS = 100.0  # stronger ones are not told apart
_HALVINGS = 40  # of the range that holds the least bias that would be noticed


@dataclass(eq=False)
class Uniformity:
    """What hidden cells of m rows say about their mechanism, beside priors made without them."""

    prior: Floats  # m × K
    cells: Mask  # m × K: what each cell leaves possible
    mechanism: Mechanism
    mutual: bool = False  # were rows hidden in turn, so that each helped to judge the others?
    counts: Floats | None = None  # m, 0 to 1: how much each row counts; None: 1, all independent
    level: float = LEVEL  # how often honest cells may be refuted by either kind of test
    ordered: bool = False  # do the values stand in an order?

    def __post_init__(self) -> None:
        size = self.mechanism.size
        self.threshold = log(2 * len(PARTS) * (size + self.ordered) / self.level)
        self._sizes = (~self.cells).sum(axis=1)
        self._bounds = np.zeros((size, size))  # u, by the number of exclusions
        for s in np.unique(self._sizes[(self._sizes > 0) & (self._sizes < self.mechanism.exact)]):
            self._bounds[s] = self.mechanism.inclusion(int(s)).max(axis=0)
        self._tests = self._tested()
        # W · KL of every test, 2 × parts × K: of each value, and of each rank.
        self.surprises: Floats = np.stack(
            [
                weight * np.where(rates > possible, divergence(rates, possible), 0)
                for weight, _, rates, possible in self._tests
            ]
        )
        # The same of neighbors and of all others, 2 × parts.
        self.neighbors: Floats = self._of_neighbors() if self.ordered else np.zeros((2, len(PARTS)))
        beyond = (self.surprises.max() > self.threshold) or self.neighbors.max() > self.threshold
        self.refuted = self.uneven or bool(beyond)

    @cached_property
    def uneven(self) -> bool:
        """Return whether cells rule out more where priors are surer, or less.

        How many values a cell rules out is taken to be independent of all else. People rule out
        more where they are sure; then cells that say much are no sample of the others. What is
        looked at is the rank correlation of the exclusions with the prior's largest value.
        """
        ranks = []
        for numbers in (self._sizes, self.prior.max(axis=1)):
            _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
            ranks.append((np.cumsum(counts) - counts / 2)[places.reshape(-1)])
        exclusions, sureness = ranks
        if np.ptp(exclusions) == 0 or np.ptp(sureness) == 0:
            return False
        rows = float(len(exclusions) if self.counts is None else self.counts.sum())
        rows *= MUTUAL if self.mutual else 1.0
        # Of few cells that are unlike the rest no correlation can be large: 2 √(p(1−p)) at most
        # of what it is for halves.
        rest = 1 - np.bincount(self._sizes).max() / len(self._sizes)
        least = UNEVEN * min(2 * (rest * (1 - rest)) ** 0.5, 1.0)
        related = abs(float(np.corrcoef(exclusions, sureness)[0, 1]))
        beyond_chance = NormalDist().inv_cdf(1 - self.level / 2)  # standard errors
        return bool(related > max(least, beyond_chance / max(rows - 1, 1) ** 0.5))

    def _of_neighbors(self) -> Floats:
        """Return W · KL of the neighbors of each row's first value, and of all that are neither."""
        size = self.mechanism.size
        rows = np.flatnonzero((self._sizes > 0) & (self._sizes < self.mechanism.exact))
        sizes, prior, excluded = self._sizes[rows], self.prior[rows], ~self.cells[rows]
        counts = np.ones(len(rows)) if self.counts is None else self.counts[rows]
        apart = np.abs(np.arange(size) - prior.argmax(axis=1)[:, None])
        surprises = np.zeros((2, len(PARTS)))
        for place, of in enumerate((apart == 1, apart > 1)):
            most = np.minimum(sizes, of.sum(axis=1))
            some = np.flatnonzero(most)
            if len(some) == 0:
                continue
            own, order = of[some], np.argsort((prior * of).sum(axis=1)[some], kind="stable")
            hits = ((own & excluded[some]).sum(axis=1) / most[some])[order]
            may = (own * self._bounds[sizes[some]]).sum(axis=1) / most[some]
            may = np.minimum(may, 1)[order]
            worth = counts[some][order] * (MUTUAL if self.mutual else 1.0)
            for part, share in enumerate(PARTS):
                first = slice(int(np.ceil(share * len(some))))
                weight = worth[first].sum()
                seen, possible = (np.array([worth[first] @ x[first] / weight]) for x in (hits, may))
                beyond = np.minimum(seen, 1), np.minimum(possible, 1)
                if seen > possible:
                    surprises[place, part] = weight * divergence(*beyond)[0]
        return surprises

    @property
    def noticed_bias(self) -> float | None:
        """Return how many times as often as others a value must be ruled out to be noticed.

        Suppose that one value is ruled out so many times as often as each other wrong value, and
        that cells are drawn anew for the same rows with the same held-out priors. Then the test of
        this value passes its threshold with a probability of 95 % or more, whichever value it is.
        None: no bias up to MOST_BIAS would be noticed for every value.
        """
        weight, seen, rates, possible = self._tests[0]
        some = np.maximum(weight, 1e-9)
        # The rate without bias is known from cells alone, and may be lower than it was seen.
        surely = rates - _SURE * np.sqrt(rates * (1 - rates) / some)
        kept = np.divide(surely, rates, out=np.zeros_like(surely), where=rates > 0)
        low, high = np.ones(self.mechanism.size), np.full(self.mechanism.size, MOST_BIAS)
        for halving in range(_HALVINGS + 1):
            bias = np.sqrt(low * high) if halving else high
            tilted = bias[:, None] / (1 + (bias[:, None] - 1) * self._bounds.T)  # K × s
            rates = np.minimum((seen * tilted).sum(axis=2) / some * np.maximum(kept, 0), 1)
            rates -= _SURE * np.sqrt(rates * (1 - rates) / some)
            rates = np.maximum(rates, 0)
            surprise = weight * np.where(rates > possible, divergence(rates, possible), 0)
            noticed = np.asarray((surprise > self.threshold).any(axis=0))
            if not halving and not noticed.all():
                return None
            low, high = np.where(noticed, low, bias), np.where(noticed, bias, high)
        return float(high.max())

    def _tested(self) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """Return what was tested in nested parts of the rows, of each value, and of each rank.

        The weight of each part, parts × K, that of its cells of s exclusions that rule the value
        out, parts × K × s, how often they do, parts × K, and how often they may, parts × K.
        """
        size, values = self.mechanism.size, np.arange(self.mechanism.size)
        ranked = np.argsort(-self.prior, axis=1, kind="stable")
        # Over all rows a value is chosen without a prior: no row judges another.
        whole = np.array([MUTUAL if self.mutual and part < 1 else 1.0 for part in PARTS])
        mutual = np.full(len(PARTS), MUTUAL if self.mutual else 1.0)
        rows = np.flatnonzero((self._sizes > 0) & (self._sizes < self.mechanism.exact))
        counts = np.ones(len(rows)) if self.counts is None else self.counts[rows]
        found = []
        for chosen, scale in ((np.broadcast_to(values, self.cells.shape), whole), (ranked, mutual)):
            weight, possible = np.zeros((2, len(PARTS), size))
            seen = np.zeros((len(PARTS), size, size))
            for j in range(size):
                tested = chosen[rows, j]
                order = np.argsort(self.prior[rows, tested], kind="stable")
                sizes = self._sizes[rows][order]
                bounds = counts[order] * self._bounds[sizes, tested[order]]
                hits = counts[order] * ~self.cells[rows[order], tested[order]]
                for part, share in enumerate(PARTS):
                    first = slice(int(np.ceil(share * len(rows))))
                    weight[part, j] = counts[order][first].sum()
                    possible[part, j] = bounds[first].sum()
                    seen[part, j] = np.bincount(sizes[first], hits[first], minlength=size)
            may = np.minimum(possible / np.maximum(weight, 1e-9), 1)
            weight, seen = weight * scale[:, None], seen * scale[:, None, None]
            rates = np.minimum(seen.sum(axis=2) / np.maximum(weight, 1e-9), 1)
            found.append((weight, seen, rates, may))
        return found
