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

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.exclusions import Mechanism
from cfl_cli.parallel import slices

NORMAL = 1.96  # standard errors to either side, for 95 %
LEAST = 1e-12  # mass that a prior is taken to leave a cell: one surprise must not decide a score
BINS = 10  # of confidence, equally wide
LISTED = 128  # possible cells of a row, at most, that are gone through one by one
DRAWN = 8  # cells, at least, that are drawn at random for each row otherwise …
NUMBERS_DRAWN = 1 << 21  # … and, with few rows, as many as this: rows × cells × values
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
    confidence: float  # their mean
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
    share: float  # of all cells
    accuracy: Interval


@dataclass(frozen=True)
class HeldOut:
    """What the hidden cells of one CF tell."""

    cells: int  # hidden ones that are not empty
    score: float
    accuracy: Interval  # of the final answer
    commonest: Interval  # of always answering the commonest candidate
    gain: Interval  # of the one over the other, on the same rows
    calibration: Calibration | None  # None: all cells are exact
    above: Above | None  # None: not asked for, or no answer is so confident


def scores(prior: Floats, hidden: Mask, mechanism: Mechanism) -> Floats:
    """Return log P(cell | prior) = log Σ_v prior(v) P(S | v, s) of every cell that is not empty.

    Higher is better, and the true distribution scores best in expectation. The mass Σ_v prior(v)
    P(S | v, s) / max_v P(S | v, s), under uniform exclusions that of the candidates, counts as
    1e-12 at least; a cell that is impossible whatever the value scores log 1e-12.
    """
    telling = ~hidden.all(axis=1)
    likelihood, factor = mechanism.scaled(hidden[telling])
    mass = np.einsum("ij,ij->i", prior[telling], likelihood)
    logs = np.log(np.maximum(mass, LEAST)) + factor
    return np.asarray(np.where(np.isneginf(factor), np.log(LEAST), logs))


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
    seed: int = 0,
) -> HeldOut | None:
    """Return what the hidden cells (m × K) tell of the priors (m × K) that were made without them.

    `candidates` are those of all rows, n × K, from which comes how many exclusions cells have.
    `shares` is the prior of a row of which nothing is known, K, from rows that are not hidden.
    None is returned if no hidden cell tells the values apart.
    """
    weights = mechanism.weights(hidden)
    if not weights.any():
        return None
    finals = Finals.of(candidates, mechanism)
    evidence = _look(prior, hidden, weights, finals, shares, min_confidence or 0.0, seed)
    kept = evidence.confidences >= (min_confidence or 0.0)
    above = None
    if min_confidence is not None and kept.any():
        accuracy = evidence.above.of_those(kept)
        above = Above(min_confidence, float(kept.mean()), accuracy)
    return HeldOut(
        cells=int((~hidden.all(axis=1)).sum()),
        score=float(scores(prior, hidden, mechanism).mean()),
        accuracy=evidence.accuracy.interval(),
        commonest=evidence.commonest.interval(),
        gain=evidence.gain.symmetric(),
        calibration=_calibrate(evidence, weights, open_cells=hidden.sum(axis=1) > 1),
        above=above,
    )


@dataclass(frozen=True)
class Answers:
    """The final answers of b rows to c cells that they might have."""

    values: Ints  # b × c
    confidences: Floats  # b × c
    chances: Floats  # b × c: P(cell | the answer is the true value), summing to keep

    def keep(self, size: int, *, min_confidence: float = 0.0) -> Floats:
        """Return how probably each value is answered, at least so confidently, if true, b × K."""
        chances = np.where(self.confidences >= min_confidence, self.chances, 0)
        return _sums(chances, self.values, size)


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

    def answers(self, prior: Floats, draws: int, random: np.random.Generator) -> Answers:
        """Return the final answers of rows with these priors, b × K."""
        values, confidences = _most_confident(prior[:, None, :] * self.listed, self.listed)
        answers = Answers(values, confidences, self.listed[np.arange(len(self.listed)), values])
        if not draws:
            return answers
        more = self._drawn(prior, draws, random)
        return Answers(
            np.hstack([answers.values, more.values]),
            np.hstack([answers.confidences, more.confidences]),
            np.hstack([answers.chances, more.chances]),
        )

    def _drawn(self, prior: Floats, draws: int, random: np.random.Generator) -> Answers:
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
        answers, confidences = _most_confident(prior[:, None, :] * likelihood, likelihood)
        given_answer = np.take_along_axis(likelihood, answers[:, :, None], axis=2)[:, :, 0]
        density = np.einsum("bdk,bdk->bd", source, likelihood)
        return Answers(answers, confidences, total / draws * given_answer / density)


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
            found[0, rows] = np.einsum("ij,ij->i", worth, ~hidden[rows])
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

    def interval(self) -> Interval:
        """Return the pooled estimate of a probability."""
        return self._interval(self.influence, 1.0)

    def of_those(self, kept: Mask) -> Interval:
        """Return the estimate, which must be of answers that are kept, relative to their share."""
        share = float(kept.mean())
        away = self.mean / share * (kept - share) / len(kept)
        return self._interval(self.influence - away, share)

    def _interval(self, influence: Floats, share: float) -> Interval:
        """Return Wilson's interval, for estimates that fall short of their top by rare large steps.

        With d the distance from the mean top, each row's squared distance from it is expected to
        be in proportion to d (as with counts), which gives the variance V(d) = ρ·d − σ·d², σ the
        sum of the squared relative weights. ρ is such that V is the observed variance at the
        observed distance, one step of the largest kind added to both: if none was seen, some may
        still be possible. The interval holds those d whose own standard error reaches the
        observed one.
        """
        weights = self.weights / self.weights.sum()
        variance = float(influence @ influence)
        squares = float(weights @ weights)
        observed = max(float(weights @ self.tops) - self.mean, 0.0)
        step = self.largest
        rho = variance + squares * observed**2 + step**2
        rho /= observed + step if observed + step > 0 else 1.0
        a, b = 1 + NORMAL**2 * squares, observed + NORMAL**2 * rho / 2
        root = np.sqrt(max(b**2 - a * observed**2, 0.0))
        top = self.mean + observed
        low, high = top - (b + root) / a, top - (b - root) / a
        value, low, high = np.clip(np.array([self.mean, low, high]) / share, 0, 1).tolist()
        return Interval(value, low, high, float(np.sqrt(variance)) / share)

    def symmetric(self) -> Interval:
        """Return the pooled estimate of a difference, one largest step added to its variance."""
        variance = self.influence @ self.influence + self.largest**2
        return _symmetric(self.mean, float(np.sqrt(variance)))


@dataclass(frozen=True)
class _Evidence:
    """What is looked up for each of the m hidden rows."""

    accuracy: Pooled
    commonest: Pooled
    gain: Pooled
    above: Pooled
    right: Floats  # m × BINS: unbiased estimates of being right, with a confidence in the bin
    confidences: Floats  # m: of the final answer to the row's own cell


def _look(
    prior: Floats,
    hidden: Mask,
    weights: Floats,
    finals: Finals,
    shares: Floats,
    min_confidence: float,
    seed: int,
) -> _Evidence:
    """Go through the hidden rows, some at a time; how many at a time does not matter."""
    mechanism, random = finals.mechanism, np.random.default_rng(seed)
    size, draws = mechanism.size, finals.draws(len(prior))
    common = finals.exact + finals.answers(shares[None], finals.draws(1), random).keep(size)
    pooled: dict[str, list[Pooled]] = {"accuracy": [], "commonest": [], "gain": [], "above": []}
    right, confidences = np.empty((len(prior), BINS)), np.empty(len(prior))
    at_once = max(NUMBERS_AT_ONCE // ((len(finals.listed) + draws + 1) * size), 1)
    for part in slices(len(prior), at_once):
        answers = finals.answers(prior[part], draws, random)
        keep = finals.exact + answers.keep(size)
        baseline = np.broadcast_to(common, keep.shape)
        measures = {
            "accuracy": keep,
            "commonest": baseline,
            "gain": keep - baseline,
            "above": finals.exact + answers.keep(size, min_confidence=min_confidence),
        }
        for name, measure in measures.items():
            pooled[name].append(Pooled.of(measure, hidden[part], weights[part], mechanism))
        is_true = np.take_along_axis(mechanism.unbiased(hidden[part]), answers.values, axis=1)
        right[part] = _sums(answers.chances * is_true, _bin(answers.confidences), BINS)
        likelihood = mechanism.likelihood(hidden[part])
        confidences[part] = _most_confident(prior[part] * likelihood, likelihood)[1]
    return _Evidence(
        **{name: Pooled.together(parts) for name, parts in pooled.items()},
        right=right,
        confidences=confidences,
    )


def _calibrate(evidence: _Evidence, weights: Floats, *, open_cells: Mask) -> Calibration | None:
    """Return how often answers are right, by the confidence that hidden rows end up with.

    A row's own cell says how many answers there are in a bin and how confident they are; how many
    are right comes from all cells that it might have, because its own cannot tell both.
    """
    if not open_cells.any():
        return None
    inside = (_bin(evidence.confidences)[:, None] == np.arange(BINS)) & open_cells[:, None]
    bins, squares = [], 0.0
    for place in np.flatnonzero(inside.any(axis=0)):
        own = inside[:, place]
        gap, error = _gap(evidence.right[:, place], weights, evidence.confidences, own)
        confidence = float(evidence.confidences[own].mean())
        edges = float(place / BINS), float((place + 1) / BINS)
        bins.append(Bin(*edges, int(own.sum()), confidence, confidence + gap, error))
        squares += own.sum() / open_cells.sum() * (gap**2 - error**2)
    gap, error = _gap(evidence.right.sum(axis=1), weights, evidence.confidences, open_cells)
    return Calibration(tuple(bins), float(np.sqrt(max(squares, 0))), _symmetric(-gap, error))


def _gap(right: Floats, weights: Floats, confidences: Floats, own: Mask) -> tuple[float, float]:
    """Return accuracy − confidence of the answers in `own`, and its standard error."""
    m, share = len(own), own.mean()
    pooled = Pooled(right, right, right, weights)
    claimed = np.where(own, confidences, 0)
    gap = (pooled.mean - claimed.mean()) / share
    away = (claimed - claimed.mean() + gap * (own - share)) / m
    return float(gap), float(np.linalg.norm(pooled.influence - away) / share)


def _most_confident(joint: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
    """Return the answers, the first of equals, and their confidence: the last axis is gone.

    `joint` is prior times likelihood; where nothing is left of it, the likelihood decides alone.
    """
    total = joint.sum(axis=-1, keepdims=True)
    if not total.all():
        joint = np.where(total > 0, joint, likelihood)
        total = joint.sum(axis=-1, keepdims=True)
    answers = joint.argmax(axis=-1)
    best = np.take_along_axis(joint, answers[..., None], axis=-1)
    confidences = np.divide(best, total, out=np.zeros_like(best), where=total > 0)
    return np.asarray(answers), np.asarray(confidences[..., 0])


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


def _symmetric(value: float, error: float) -> Interval:
    return Interval(value, value - NORMAL * error, value + NORMAL * error, error)
