"""What hidden cells tell: how good the answers are, without knowing the truth.

The cells of some rows are hidden, a prior is estimated for these rows, and then the hidden cells
are looked at. A row's final answer is the most confident candidate once its own cell, S, counts
too: a(S) = argmax_v prior(v) P(S | v). It is right if a(S) is the true value, and so, summed over
all cells that the row might have,

    P(right) = Σ_S P(S | a(S)) · P(true value is a(S)) = Σ_t keep(t) · P(true value is t)
    keep(t)  = Σ_S P(S | t) · 1[a(S) = t]

keep(t) is known; 1[true value is t] has an unbiased estimate, f(hidden cell, t) of `exclusions`.
The same sum over those S whose answer has a certain confidence tells how often such answers are
right. Rows are pooled with their exclusions as weights. Which number of exclusions a row ends up
with is taken to be independent of all else, and distributed as in the whole table.

The possible cells of a row are listed while they are few, else drawn at random.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.known import Rule
from cfl_cli.core.log_score import LEAST_MASS, log_scores
from cfl_cli.core.parallel import slices
from cfl_cli.core.posterior import most_confident

NORMAL = 1.96  # standard errors to either side, for 95 %
LEAST_CELLS = 1  # a share of the answers that is estimated at less than this tells nothing
BINS = 10  # of confidence, equally wide
LISTED = 128  # possible cells of a row, at most, that are gone through one by one
DRAWN = 16  # cells, at least, that are drawn at random for each row otherwise …
NUMBERS_DRAWN = 1 << 20  # … and, with few rows, as many as this: rows × cells × values
NUMBERS_AT_ONCE = 1 << 20  # rows × cells × values


@dataclass(frozen=True)
class Interval:
    """An estimate, where it may lie with 95 % confidence, and its standard error."""

    value: float
    low: float
    high: float
    error: float


@dataclass(frozen=True)
class Bin:
    """Answers of similar confidence."""

    low: float
    high: float
    cells: int  # hidden cells whose final answer falls here
    confidence: float  # the mean of such answers
    accuracy: float  # estimated; unbiased, so that chance may carry it out of 0 to 1
    error: float  # standard error of accuracy − confidence


@dataclass(frozen=True)
class Calibration:
    """Whether answers are right as often as their confidence says; exact cells left aside."""

    bins: tuple[Bin, ...]  # those that hold any cells
    error: float  # root mean square of accuracy − confidence over the cells, noise subtracted
    overconfidence: Interval  # mean confidence − accuracy


@dataclass(frozen=True)
class Above:
    """The final answers that are at least so confident, exact cells among them."""

    confidence: float
    cells: int  # hidden ones with such an answer
    share: float  # of all rows, estimated from these
    accuracy: Interval


@dataclass(frozen=True)
class HeldOut:
    """What the hidden cells of one CF tell."""

    cells: int  # hidden ones that are not empty
    confidence: float  # mean, of the final answers to the hidden cells
    score: float
    accuracy: Interval  # of the final answer
    commonest: Interval  # of always answering the commonest candidate
    gain: Interval  # of the one over the other, on the same rows
    calibration: Calibration | None  # None: all hidden cells are exact
    above: Above | None  # None: not asked for, or no answer is so confident


def scores(prior: Floats, hidden: Mask, mechanism: Mechanism) -> Floats:
    """Return log P(cell | prior) = log Σ_v prior(v) P(S | v, s) of every cell that is not empty.

    Higher is better, and the true distribution scores best in expectation. The mass Σ_v prior(v)
    P(S | v, s) / max_v P(S | v, s), under uniform exclusions that of the candidates, counts as
    1e-12 at least; a cell that is impossible whatever the value scores log 1e-12.
    """
    telling = ~hidden.all(axis=1)
    likelihood, factor = mechanism.scaled(hidden[telling])
    logs = log_scores(prior[telling], likelihood, over=1) + factor
    return np.asarray(np.where(np.isneginf(factor), np.log(LEAST_MASS), logs))


def difference(one: Floats, other: Floats) -> Interval:
    """Return by how much the first of two priors scores better on the same cells."""
    better = one - other
    return _symmetric(float(better.mean()), float(np.sqrt(better.var() / max(len(better) - 1, 1))))


def judge(
    prior: Floats,
    hidden: Mask,
    candidates: Mask,
    mechanism: Mechanism,
    *,
    shares: Floats,
    min_confidence: float | None = None,
    mutual: bool = False,
    rule: Rule | None = None,
    seed: int = 0,
) -> HeldOut | None:
    """Return what the hidden cells (m × K) tell of the priors (m × K) that were made without them.

    `candidates` are those of all rows, n × K, from which comes how many exclusions cells have.
    `shares` is the prior of a row of which nothing is known, K, from rows that are not hidden.
    `mutual` says that rows were hidden in turn, so that each helped to judge the others. What
    chance makes of two folds' cells then counts twice, once in each one's judgement of the other,
    and the variance of an estimate is up to twice that of as many independent cells: so much is
    allowed for. `rule` answers otherwise than by the most confident candidate. None is returned if
    no hidden cell tells the values apart.
    """
    reach = NORMAL * np.sqrt(2) if mutual else NORMAL
    weights = mechanism.weights(hidden)
    if not weights.any():
        return None
    finals = Finals.of(candidates, mechanism)
    least = min_confidence or 0.0
    evidence = _look(prior, hidden, weights, finals, shares, least, rule or most_confident, seed)
    return HeldOut(
        cells=int((~hidden.all(axis=1)).sum()),
        confidence=float(evidence.confidences.mean()),
        score=float(scores(prior, hidden, mechanism).mean()),
        accuracy=evidence.accuracy.interval(reach),
        commonest=evidence.commonest.interval(NORMAL),
        gain=evidence.gain.symmetric(reach),
        calibration=None if evidence.exact.all() else _calibrate(evidence, reach),
        above=None if min_confidence is None else _above(evidence, min_confidence, reach),
    )


@dataclass(frozen=True)
class Answers:
    """The final answers of b rows to c cells that they might have."""

    values: Ints  # b × c
    confidences: Floats  # b × c
    if_true: Floats  # b × c: P(cell | the answer is the true value)
    seen: Floats  # b × c: P(cell), estimated without bias

    def keep(self, size: int, *, min_confidence: float = 0.0) -> Floats:
        """Return how probably each value is answered, at least so confidently, if true, b × K."""
        return _sums(self.if_true * (self.confidences >= min_confidence), self.values, size)


@dataclass(frozen=True, eq=False)
class Finals:
    """The cells that a row may turn out to have, by how many exclusions the rows of a table have.

    Exact cells are not among them: their answer is right whatever the prior.
    """

    mechanism: Mechanism
    exact: float  # share of the rows
    listed: Floats  # c × K: P(cell | value), times the share of rows with so many exclusions
    drawn: Floats  # K: share of the rows with 0 to K−1 exclusions, where these are not listed

    @classmethod
    def of(cls, candidates: Mask, mechanism: Mechanism) -> Self:
        """Return the cells by the exclusions of all rows, n × K."""
        size = mechanism.size
        drawn = np.bincount((~candidates).sum(axis=1), minlength=size) / len(candidates)
        exact, drawn[-1] = float(drawn[-1]), 0
        listed = [np.zeros((0, size))]
        for exclusions in sorted(np.flatnonzero(drawn).tolist(), key=lambda s: (comb(size, s), s)):
            if sum(map(len, listed)) + comb(size, exclusions) > LISTED:
                break
            likelihood, factor = mechanism.scaled(_cells(size, exclusions))
            listed.append(drawn[exclusions] * likelihood * np.exp(factor)[:, None])
            drawn[exclusions] = 0
        return cls(mechanism, exact, np.concatenate(listed), drawn)

    def draws(self, rows: int) -> int:
        """Return how many cells to draw for each of so many rows."""
        if not self.drawn.any():
            return 0
        return max(NUMBERS_DRAWN // (rows * self.mechanism.size), DRAWN)

    def answers(
        self,
        prior: Floats,
        is_true: Floats,
        draws: int,
        random: np.random.Generator,
        rule: Rule,
    ) -> Answers:
        """Return the final answers of rows with these priors, b × K.

        `is_true` estimates without bias, b × K, which value is true.
        """
        if self.mechanism.rates is None and rule is most_confident:
            values, confidences = _highest_ranked(prior, self.listed > 0)
        else:
            values, confidences = rule(prior[:, None, :], self.listed)
        if_true = self.listed[np.arange(len(self.listed)), values]
        listed = Answers(values, confidences, if_true, is_true @ self.listed.T)
        if not draws:
            return listed
        drawn = self._drawn(prior, is_true, draws, random, rule)
        return Answers(
            np.hstack([listed.values, drawn.values]),
            np.hstack([listed.confidences, drawn.confidences]),
            np.hstack([listed.if_true, drawn.if_true]),
            np.hstack([listed.seen, drawn.seen]),
        )

    def _drawn(
        self,
        prior: Floats,
        is_true: Floats,
        draws: int,
        random: np.random.Generator,
        rule: Rule,
    ) -> Answers:
        """Return the answers to random cells, b × draws.

        They are drawn for values that come half from the prior and half from anywhere, so that
        neither likely cells nor those that would change the answer are rare.
        """
        b, size = prior.shape
        chances = random.random((b, draws, size + 2))
        total = self.drawn.sum()
        exclusions = np.searchsorted(np.cumsum(self.drawn / total), chances[:, :, 0], side="right")
        exclusions = np.minimum(exclusions, np.flatnonzero(self.drawn)[-1])
        source = (prior[:, None, :] + 1 / size) * self.mechanism.possible.T[exclusions]
        source /= source.sum(axis=2, keepdims=True)
        values = (np.cumsum(source, axis=2) > chances[:, :, 1, None]).argmax(axis=2)
        cells = self.mechanism.draw(
            values.reshape(-1), exclusions.reshape(-1), chances[:, :, 2:].reshape(-1, size)
        )
        likelihood = self.mechanism.likelihood(cells).reshape(b, draws, size)
        answers, confidences = rule(prior[:, None, :], likelihood)
        likelihood /= np.einsum("bdk,bdk->bd", source, likelihood)[:, :, None]
        # What the cells of a value amount to is known: only how they divide is left to chance.
        found = likelihood.sum(axis=1, keepdims=True)
        likelihood *= (self.mechanism.possible @ self.drawn) / np.where(found > 0, found, 1)
        if_true = np.take_along_axis(likelihood, answers[:, :, None], axis=2)[:, :, 0]
        return Answers(answers, confidences, if_true, np.einsum("bdk,bk->bd", likelihood, is_true))


@dataclass(frozen=True)
class Pooled:
    """An unbiased estimate from each of m rows, what it might have been, and its weight."""

    values: Floats
    tops: Floats  # the largest that a cell of so many exclusions could have given
    bottoms: Floats
    weights: Floats

    @classmethod
    def of(cls, measure: Floats, hidden: Mask, weights: Floats, mechanism: Mechanism) -> Self:
        """Return the estimates of `measure`, b × K, which says what each true value counts."""
        found = np.zeros((3, len(hidden)))
        sizes = (~hidden).sum(axis=1)
        for size in np.unique(sizes[weights > 0]):
            rows = np.flatnonzero((sizes == size) & (weights > 0))
            worth = mechanism.worth(measure[rows], int(size))
            found[0, rows] = np.where(hidden[rows], 0, worth).sum(axis=1)
            worth.sort(axis=1)
            found[1, rows] = worth[:, -size:].sum(axis=1)
            found[2, rows] = worth[:, :size].sum(axis=1)
        return cls(found[0], found[1], found[2], weights)

    @classmethod
    def together(cls, parts: list[Self]) -> Self:
        """Return the estimates of all parts' rows."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("values", "tops", "bottoms", "weights")
            )
        )

    @property
    def mean(self) -> float:
        """Return the pooled estimate."""
        return float(np.average(self.values, weights=self.weights))

    @property
    def influence(self) -> Floats:
        """Return how far each row moves the pooled estimate; the squares sum to its variance."""
        rows = (self.weights > 0).sum()
        moved = self.weights * (self.values - self.mean) / self.weights.sum()
        return np.asarray(moved * np.sqrt(rows / max(rows - 1, 1)))

    @property
    def largest(self) -> float:
        """Return how far one row could move the pooled estimate at most."""
        return float((self.weights * (self.tops - self.bottoms)).max() / self.weights.sum())

    def interval(self, reach: float) -> Interval:
        """Return the pooled estimate of a probability, `reach` standard errors to either side."""
        return self._interval(self.influence, 1.0, reach)

    def relative_to(self, whole: Self, reach: float) -> Interval:
        """Return the estimate as a share of another one, of which it is a part."""
        ratio = self.mean / whole.mean
        return self._interval(self.influence - ratio * whole.influence, whole.mean, reach)

    def _interval(self, influence: Floats, share: float, reach: float) -> Interval:
        """Return Wilson's interval, for estimates that fall short of their top by rare large steps.

        With d the distance from the mean top, each row's squared distance from it is expected to
        be in proportion to d (as with counts), which gives the variance V(d) = ρ·d − σ·d² + δ²/4,
        σ the sum of the squared relative weights and δ the largest step. ρ is such that the first
        two make up the observed variance at the observed distance, one step of the largest kind
        added to both: if none was seen, some may still be possible. The quarter of a squared step
        makes up for steps being whole. The interval holds those d whose own standard error
        reaches the observed distance.
        """
        weights = self.weights / self.weights.sum()
        variance = float(influence @ influence)
        squares = float(weights @ weights)
        observed = max(float(weights @ self.tops) - self.mean, 0.0)
        step = self.largest
        rho = variance + squares * observed**2 + step**2
        rho /= observed + step if observed + step > 0 else 1.0
        a, b = 1 + reach**2 * squares, observed + reach**2 * rho / 2
        root = np.sqrt(max(b**2 - a * (observed**2 - reach**2 * step**2 / 4), 0.0))
        top = self.mean + observed
        low, high = top - (b + root) / a, top - (b - root) / a
        value, low, high = np.clip(np.array([self.mean, low, high]) / share, 0, 1).tolist()
        return Interval(value, low, high, float(np.sqrt(variance)) / share)

    def symmetric(self, reach: float) -> Interval:
        """Return the pooled estimate of a difference, one largest step added to its variance."""
        variance = self.influence @ self.influence + self.largest**2
        return _symmetric(self.mean, float(np.sqrt(variance)), reach)


@dataclass(frozen=True)
class _Evidence:
    """What the hidden rows tell, put together."""

    accuracy: Pooled
    commonest: Pooled
    gain: Pooled
    above: Pooled  # being right and confident enough
    kept: Pooled  # being confident enough
    bins: Floats  # 3 × BINS: pooled shares of answers that are right, claimed to be, and there
    squares: Floats  # 3·BINS × 3·BINS: the rows' sums of squares and products behind them
    confidences: Floats  # m: of the final answers to the rows' own cells
    exact: Mask  # m


def _look(
    prior: Floats,
    hidden: Mask,
    weights: Floats,
    finals: Finals,
    shares: Floats,
    min_confidence: float,
    rule: Rule,
    seed: int,
) -> _Evidence:
    """Go through the hidden rows, some at a time; how many at a time does not matter."""
    mechanism, random = finals.mechanism, np.random.default_rng(seed)
    size, draws = mechanism.size, finals.draws(len(prior))
    alone, drawn = shares[None], finals.draws(1)
    common = finals.answers(alone, alone, drawn, random, most_confident).keep(size)
    relative = weights / weights.sum()
    pooled: dict[str, list[Pooled]] = {}
    bins, squares = np.zeros(3 * BINS), np.zeros((3 * BINS, 3 * BINS))
    confidences = np.empty(len(prior))
    at_once = max(NUMBERS_AT_ONCE // ((len(finals.listed) + draws + 1) * size), 1)
    for part in slices(len(prior), at_once):
        is_true = mechanism.unbiased(hidden[part])
        answers = finals.answers(prior[part], is_true, draws, random, rule)
        keep = answers.keep(size)
        baseline = np.broadcast_to(common, keep.shape)
        measures = {
            "accuracy": finals.exact + keep,
            "commonest": finals.exact + baseline,
            "gain": keep - baseline,
            "above": finals.exact + answers.keep(size, min_confidence=min_confidence),
        }
        for name, measure in measures.items():
            found = Pooled.of(measure, hidden[part], weights[part], mechanism)
            pooled.setdefault(name, []).append(found)
        kept = finals.exact + (answers.seen * (answers.confidences >= min_confidence)).sum(axis=1)
        pooled.setdefault("kept", []).append(Pooled(kept, kept, kept, weights[part]))
        rows = relative[part, None] * _by_confidence(answers, is_true)
        bins += rows.sum(axis=0)
        squares += rows.T @ rows
        likelihood = mechanism.likelihood(hidden[part])
        _, confidences[part] = rule(prior[part], likelihood)
    return _Evidence(
        **{name: Pooled.together(parts) for name, parts in pooled.items()},
        bins=bins.reshape(3, BINS),
        squares=squares,
        confidences=confidences,
        exact=hidden.sum(axis=1) == 1,
    )


def _by_confidence(answers: Answers, is_true: Floats) -> Floats:
    """Return each row's shares of answers right, claimed to be right, and there, b × 3·BINS."""
    places = _bin(answers.confidences)
    right = answers.if_true * np.take_along_axis(is_true, answers.values, axis=1)
    claimed = answers.seen * answers.confidences
    return np.hstack([_sums(numbers, places, BINS) for numbers in (right, claimed, answers.seen)])


def _above(evidence: _Evidence, min_confidence: float, reach: float) -> Above | None:
    """Return how often the answers that are confident enough are right."""
    cells = int((evidence.confidences >= min_confidence).sum())
    share = evidence.kept.mean
    if not cells or share * len(evidence.confidences) < LEAST_CELLS:
        return None
    accuracy = evidence.above.relative_to(evidence.kept, reach)
    return Above(min_confidence, cells, min(share, 1.0), accuracy)


def _calibrate(evidence: _Evidence, reach: float) -> Calibration:
    """Return how often answers are right, by their confidence.

    Shares are over the cells that rows might have, their own being one: a row's own cell alone
    cannot tell both how confident its answer is and whether it is right.
    """
    there = evidence.bins[2]
    counts = np.bincount(_bin(evidence.confidences[~evidence.exact]), minlength=BINS)
    found = np.flatnonzero((counts > 0) & (there * len(evidence.exact) >= LEAST_CELLS))
    bins, squares = [], 0.0
    for place in found:
        right, claimed, share = evidence.bins[:, place]
        gap, error = _gap(evidence, np.arange(BINS) == place)
        edges = float(place / BINS), float((place + 1) / BINS)
        bins.append(Bin(*edges, int(counts[place]), claimed / share, right / share, error))
        squares += counts[place] / counts[found].sum() * (gap**2 - error**2)
    gap, error = _gap(evidence, np.ones(BINS, dtype=bool))
    error = float(np.hypot(error, evidence.accuracy.largest / there.sum()))
    return Calibration(tuple(bins), float(np.sqrt(max(squares, 0))), _symmetric(-gap, error, reach))


def _gap(evidence: _Evidence, bins: Mask) -> tuple[float, float]:
    """Return accuracy − confidence of the answers in some bins, and its standard error."""
    right, claimed, share = evidence.bins[:, bins].sum(axis=1)
    gap = (right - claimed) / share
    turn = np.concatenate([1.0 * bins, -1.0 * bins, -gap * bins])
    return float(gap), float(np.sqrt(max(turn @ evidence.squares @ turn, 0)) / share)


def _highest_ranked(prior: Floats, cells: Mask) -> tuple[Ints, Floats]:
    """Return the same under uniform exclusions, b × c: the candidate that ranks first in the prior.

    It is among the first s + 1, so that most of a large domain need not be looked at.
    """
    deepest = int((~cells).sum(axis=1).max(initial=0)) + 1
    order = np.argsort(-prior, axis=1, kind="stable")[:, :deepest]
    ranks = cells.T[order].argmax(axis=1)
    answers = np.take_along_axis(order, ranks, axis=1)
    mass = prior @ cells.T
    left = np.take_along_axis(prior, answers, axis=1)
    some = mass > 0
    evenly = 1 / np.maximum(cells.sum(axis=1), 1)
    return answers, np.where(some, np.minimum(left / np.where(some, mass, 1), 1), evenly)


def _cells(size: int, exclusions: int) -> Mask:
    """Return the candidates of all cells with so many exclusions, one a row."""
    excluded = np.array(list(combinations(range(size), exclusions)), dtype=int)
    cells = np.ones((len(excluded), size), dtype=bool)
    np.put_along_axis(cells, excluded, values=False, axis=1)
    return cells


def _sums(numbers: Floats, places: Ints, size: int) -> Floats:
    """Return each row's sums of its numbers by place, b × size."""
    b = len(numbers)
    flat = (np.arange(b)[:, None] * size + places).reshape(-1)
    sums = np.bincount(flat, numbers.reshape(-1).astype(float), minlength=b * size)
    return np.asarray(sums, dtype=float).reshape(b, size)


def _bin(confidences: Floats) -> Ints:
    """Return the bins of confidences; 1 belongs to the last."""
    return np.asarray(np.minimum((confidences * BINS).astype(int), BINS - 1))


def _symmetric(value: float, error: float, reach: float = NORMAL) -> Interval:
    return Interval(value, value - reach * error, value + reach * error, error)
