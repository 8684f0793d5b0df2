"""How wrong an estimated accuracy could be if some wrong values are ruled out more readily.

Let P(S | v) ∝ Π_{c ∈ S} w_c R[v, c], R the rates of the mechanism and the weights w, which may
differ from row to row and with v, within a ratio ρ of each other. Weights of ρ for c and 1 for all
others multiply the odds of c ∈ S by ρ, and nothing more extreme can be, so that under uniform
exclusions

    π_min = s/(s + ρ(K−1−s)) ≤ P(c ∈ S | v) ≤ π_max = ρs/(ρs + K−1−s)

With t_r the value at rank r of a row's prior, P_r how often it is the true one, and x_r = 1[t_r is
ruled out by the hidden cell], 1 − mean(x_r / π_min) ≤ P_r ≤ 1 − mean(x_r / π_max). The most
confident candidate is the first by rank that is not ruled out, so

    accuracy = Σ_r c_r P_r     Σ_r P_r = 1     c_r = P(t_1 … t_(r−1) ∈ S | v = t_r)

where c_r is least if those before have the weight 1 and the others ρ, and greatest the other way
round. As c_r falls with r, the least and the greatest accuracy follow by filling up ranks from
either end. For ρ = 1 both are the estimate itself. Exact cells are certain whatever ρ is: π = 1.

Under a mechanism, or where answers are not the most confident candidate, bounds are wider, see
`_of_any_rule`.
"""

from functools import cached_property

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import Floats, Mask, most_confident
from cfl_cli.core.dataset import Rule
from cfl_cli.core.exclusions import MOST_BIAS
from cfl_cli.trust.heldout import HiddenCells, PossibleCells
from cfl_cli.trust.intervals import Interval, PooledEstimate

_HALVINGS = 14  # of the range that holds the break-even
_FARTHEST = 200.0  # of a ratio's logarithm: that of its square is still a number


class Biased:
    """The accuracy of a CF's answers if exclusions favor some wrong values."""

    def __init__(
        self, hidden_cells: HiddenCells, candidates: Mask, rule: Rule = most_confident
    ) -> None:
        """Take the hidden cells, and the cells of all rows, n × K: how many exclusions they have."""
        self.hidden_cells, self.candidates, self.rule = hidden_cells, candidates, rule
        cells, mechanism = hidden_cells.cells, hidden_cells.mechanism
        size = self._size = mechanism.size
        self._exclusions = np.bincount((~candidates).sum(axis=1), minlength=size) / len(candidates)
        self._weights, self._sizes = mechanism.weights(cells), (~cells).sum(axis=1)
        self._kept: tuple[float, Floats] | None = None  # once it is needed
        self._hits = np.take_along_axis(~cells, hidden_cells.ranked, axis=1).astype(float)

    def interval(self, accuracy: Interval, bias: float) -> Interval:
        """Return where the accuracy may lie if weights are within the ratio `bias`.

        `accuracy` is its interval without bias. What the bias adds to either side is the distance
        between the bounds, and what their sampling error is larger.
        """
        low = accuracy.low - self._further(bias, least=True)
        high = accuracy.high + self._further(bias, least=False)
        return Interval(accuracy.value, low, high).as_share

    def break_even(self, accuracy: Interval, least: float) -> float | None:
        """Return the bias at which the low end of the accuracy meets `least`.

        None: it is not above it without any bias. MOST_BIAS: it never meets it up to there.
        """
        if accuracy.low <= least:
            return None
        room = accuracy.low - max(least, 0.0)
        if self._further(MOST_BIAS, least=True) < room:
            return MOST_BIAS
        low, high = 1.0, MOST_BIAS
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(low * high))
            above = self._further(middle, least=True) < room
            low, high = (middle, high) if above else (low, middle)
        return low

    def _further(self, bias: float, *, least: bool) -> float:
        if bias <= 1:
            return 0.0
        plain, far = self._plain, self.bound(bias, least=least)
        more = max(plain.mean - far.mean if least else far.mean - plain.mean, 0.0)
        error, unbiased = (float(np.sqrt(it.influence @ it.influence)) for it in (far, plain))
        return more + self.hidden_cells.reach * max(error - unbiased, 0.0)

    @cached_property
    def _plain(self) -> PooledEstimate:
        return self.bound(1.0, least=True)

    def bound(self, bias: float, *, least: bool) -> PooledEstimate:
        """Return the least or the greatest accuracy, pooled from rows."""
        if self.hidden_cells.mechanism.rates is not None or self.rule is not most_confident:
            return self._of_any_rule(bias, least=least)
        inclusion = np.array([inclusions(self._size, s, bias) for s in range(self._size)])
        inclusion[0] = 1.0  # empty cells rule out nothing
        rates = np.zeros((self._size, self._size))
        for size in np.unique(self._sizes[self._weights > 0]):
            rows = self._sizes == size
            rates[size] = self._weights[rows] @ self._hits[rows]
        rates /= self._weights.sum()
        ends = 1 - (rates[:, None] / inclusion[:, :, None]).sum(axis=0)  # 2 × K
        high = np.minimum(ends[1], 1)
        low = np.minimum(np.maximum(ends[0], 0), high)
        kept = kept_first(self._size, self._exclusions, bias)[0 if least else 1]
        order = np.arange(self._size)[:: -1 if least else 1]
        room = np.cumsum((high - low)[order])
        free = max(1 - low.sum(), 0.0)
        place = min(int((room < free).sum()), self._size - 1)
        filled = np.isin(np.arange(self._size), order[:place])
        last = order[place]
        # Σ_r c_r P_r with P of the rank that is filled last as what the others leave.
        factors = kept - kept[last]
        factors[last] = 0.0
        values = np.full(len(self._hits), kept[last])
        for rank in np.flatnonzero(factors):
            end = 1 if filled[rank] else 0
            bound = (high if filled[rank] else low)[rank]
            if bound == ends[end, rank]:
                found = 1 - self._hits[:, rank] / inclusion[self._sizes, end]
            else:
                found = np.full(len(values), bound)
            values += factors[rank] * found
        capped = 1 - self._hits[:, 0] / inclusion[self._sizes, 1] + self._hits[:, 0]
        estimate, cap = self._pooled(values), self._pooled(capped)
        return cap if not least and cap.mean < estimate.mean else estimate

    def _of_any_rule(self, bias: float, *, least: bool) -> PooledEstimate:
        """Return an end of the accuracy for any mechanism and any rule.

        With g(v) how probably v is answered if true, and f(S) = Σ_{c ∈ S} h_c with h = Π⁻¹ g,
        f(S) has the expectation g(v) without bias, and with a bias one that is off by Σ_c (M −
        Π)[v, c] h_c, M the probabilities of being ruled out, whose odds are within ρ of those
        of Π. Rows of M and Π have the same sum, so any constant may be taken from h. How far off
        this is depends on v: as much as for the prior's first value, and more, up to what it is
        for the worst value, only where the first is not true, of which x_1 / π_min is an
        overestimate. P(S | v) itself, and so g, changes by ρ to the power of min(s, K−1−s) at most.
        """
        hidden, sign = self.hidden_cells, 1.0 if least else -1.0
        answered = self._answered(bias)[0 if least else 1]
        values, first, worst, wrong = np.zeros((4, len(answered)))
        for size in np.unique(self._sizes[self._weights > 0]):
            rows = np.flatnonzero((self._sizes == size) & (self._weights > 0))
            exact = size == self._size - 1
            inclusion = 1.0 - np.eye(self._size) if exact else hidden.mechanism.inclusion(int(size))
            fewer, more = tilted(inclusion, 1 / bias), tilted(inclusion, bias)
            worth = hidden.mechanism.worth(answered[rows], int(size))
            values[rows] = np.where(hidden.cells[rows], 0, worth).sum(axis=1)
            spread = sign * (worth - np.median(worth, axis=1, keepdims=True))
            off = np.maximum(spread, 0) @ (more - inclusion).T
            off += np.maximum(-spread, 0) @ (inclusion - fewer).T
            top = hidden.ranked[rows, 0]
            first[rows] = off[np.arange(len(rows)), top]
            worst[rows] = np.maximum(off.max(axis=1) - first[rows], 0)
            others = np.where(np.eye(self._size, dtype=bool), np.inf, fewer).min(axis=0)[top]
            wrong[rows] = np.divide(
                self._hits[rows, 0], others, out=np.full(len(rows), np.inf), where=others > 0
            )
        ends = [self._pooled(values - sign * (first + worst))]
        if np.isfinite(wrong).all():
            ends.append(self._pooled(values - sign * (first + worst * wrong)))
        return (max if least else min)(ends, key=lambda end: end.mean)

    def _answered(self, bias: float) -> Floats:
        if self._kept is None:
            possible = PossibleCells.of(self.candidates, self.hidden_cells.mechanism)
            self._kept = possible.exact, possible.keep(self.hidden_cells.prior, self.rule)
        exact, keep = self._kept
        share = 1 - exact
        partial = np.flatnonzero(self._exclusions[:-1])
        furthest = np.minimum(partial, self._size - 1 - partial).max(initial=0)
        ratio = float(np.exp(min(furthest * np.log(bias), _FARTHEST)))
        least = np.maximum(keep / ratio, share - (share - keep) * ratio)
        most = np.minimum(keep * ratio, share - (share - keep) / ratio)
        return exact + np.stack([least, most])

    def _pooled(self, values: Floats) -> PooledEstimate:
        return PooledEstimate(values, values, values, self._weights, self.hidden_cells.groups)


def inclusions(size: int, exclusions: int, bias: float) -> tuple[float, float]:
    """Return π_min and π_max of a cell of so many exclusions, of `size` values."""
    others = size - 1 - exclusions
    low = exclusions / (exclusions + bias * others)
    return low, bias * exclusions / (bias * exclusions + others)


def kept_first(size: int, shares: Floats, bias: float) -> Floats:
    """Return the least and the greatest c_r by rank, 2 × K; `shares` are of 0 to K−1 exclusions.

    The probability that a cell holds all of r−1 values among K−1, by elementary symmetric
    polynomials: weights of 1 for those and `bias` for the others, and the other way round.
    """
    gammaln, logsumexp = scipy.special.gammaln, scipy.special.logsumexp
    kept = np.zeros((2, size))
    for s in np.flatnonzero(shares):
        before = np.arange(s + 1)[:, None]
        held = before.T  # of those before, by a cell
        chosen = ((before, held), (size - 1 - before, s - held))
        one, other = (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) for n, k in chosen)
        ways = np.asarray(one + other)
        for end, power in ((0, -1), (1, 1)):
            # Relative to all of them being held, in logs, so that nothing is too large.
            relative = ways - ways.diagonal()[:, None] + power * (held - before) * np.log(bias)
            kept[end, : s + 1] += shares[s] * np.exp(-logsumexp(relative, axis=1))
    return kept


def tilted(probabilities: Floats, bias: float) -> Floats:
    """Return the probabilities whose odds are `bias` times as large."""
    return np.asarray(bias * probabilities / (1 + (bias - 1) * probabilities))
