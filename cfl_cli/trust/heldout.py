"""What hidden cells show: how good the answers are, without knowing the truth.

The cells of some rows are hidden, a prior is estimated for these rows, and then the hidden cells
are looked at. With keep(t) of `possible_cells`, how probably t is the final answer if it is true,

    P(right) = Σ_S P(S | a(S)) · P(true value is a(S)) = Σ_t keep(t) · P(true value is t)

keep(t) is known; 1[true value is t] has an unbiased estimate, f(hidden cell, t) of `exclusions`.
The same sum over those S whose answer has a certain confidence shows how often such answers are
right. Rows are pooled with their exclusions as weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import (
    LEAST_MASS,
    Floats,
    Ints,
    Mask,
    log_scores,
    most_confident,
    ranks,
    sums_by,
)
from cfl_cli.core.dataset import Rule
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import slices
from cfl_cli.trust.intervals import CLEARLY, NORMAL, Gain, Interval, PooledEstimate

# The hidden cells of one CF beside what was said of them: all figures without truth need both.


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """The hidden cells of m rows, and the priors that were made without them."""

    prior: Floats  # m × K
    cells: Mask  # m × K: what each cell leaves possible
    mechanism: Mechanism
    mutual: bool = False  # were rows hidden in turn, so that each helped to judge the others?
    groups: Ints | None = None  # m: rows with the same number belong together; None: none do

    @property
    def reach(self) -> float:
        """Return how many standard errors of independent cells an interval reaches.

        What chance makes of two folds' cells counts twice where each judges the other, and the
        variance of an estimate is up to twice that of as many independent cells.
        """
        return float(NORMAL * np.sqrt(2)) if self.mutual else NORMAL

    @cached_property
    def effective_share(self) -> float:
        """Return how many independent rows each row counts for: Σg/Σg² over groups of g rows."""
        if self.groups is None:
            return 1.0
        sizes = np.bincount(ranks(self.groups)).astype(float)
        return float(sizes.sum() / (sizes @ sizes))

    @cached_property
    def ranked(self) -> Ints:
        """Return the values of each row by their prior, m × K, the likeliest first."""
        return np.argsort(-self.prior, axis=1, kind="stable")


# The cells that a row may turn out to have, and the final answer to each of them.
#
# A row's final answer is the most confident candidate once its own cell, S, counts too: a(S) =
# argmax_v prior(v) P(S | v). How probably a value t is answered where it is the true one is then
#
#     keep(t) = Σ_S P(S | t) · 1[a(S) = t]
#
# summed over all cells that the row might have. The number of exclusions of a cell is taken to be
# independent of all else, and distributed as in the whole table. The possible cells of a row are
# listed while they are few, else drawn at random.

LISTED = 128  # possible cells of a row, at most, that are gone through one by one
DRAWN = 16  # cells, at least, that are drawn at random for each row otherwise …
NUMBERS_DRAWN = 1 << 20  # … and, with few rows, as many as this: rows × cells × values


@dataclass(frozen=True, eq=False)
class PossibleAnswers:
    values: Ints  # b × c
    confidences: Floats  # b × c
    if_true: Floats  # b × c: P(cell | the answer is the true value)
    probabilities: Floats  # b × c: P(cell), estimated without bias

    def keep(self, size: int, *, min_confidence: float = 0.0) -> Floats:
        return sums(self.if_true * (self.confidences >= min_confidence), self.values, size)


@dataclass(frozen=True, eq=False)
class PossibleCells:
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
        exact = 0.0
        if mechanism.exact < size:
            exact, drawn[-1] = float(drawn[-1]), 0
        listed = [np.zeros((0, size))]
        for exclusions in sorted(np.flatnonzero(drawn).tolist(), key=lambda s: (comb(size, s), s)):
            if sum(map(len, listed)) + comb(size, exclusions) > LISTED:
                break
            likelihood, factor = mechanism.scaled(all_cells(size, exclusions))
            listed.append(drawn[exclusions] * likelihood * np.exp(factor)[:, None])
            drawn[exclusions] = 0
        return cls(mechanism, exact, np.concatenate(listed), drawn)

    def plan(self, rows: int) -> tuple[int, Sequence[slice]]:
        """Return how many cells are drawn for each of some rows, and which rows go at once."""
        draws, size = 0, self.mechanism.size
        if self.drawn.any():
            draws = max(NUMBERS_DRAWN // (rows * size), DRAWN)
        of_row = (len(self.listed) + draws + 1) * size
        return draws, slices(rows, max(NUMBERS_AT_ONCE // of_row, 1))

    def keep(self, prior: Floats, rule: Rule) -> Floats:
        """Return how probably rows with these priors, b × K, are answered each value if true."""
        draws, parts = self.plan(len(prior))
        keep, random = np.empty_like(prior), np.random.default_rng(0)
        for part in parts:
            answers = self.answers(prior[part], prior[part], draws, random, rule)
            keep[part] = answers.keep(self.mechanism.size)
        return keep

    def answers(
        self, prior: Floats, is_true: Floats, draws: int, random: np.random.Generator, rule: Rule
    ) -> PossibleAnswers:
        """Return the final answers of rows with these priors, b × K.

        `is_true` estimates without bias, b × K, which value is true.
        """
        if self.mechanism.rates is None and rule is most_confident:
            # The candidate that ranks first in the prior. It is among the first s + 1, so that most
            # of a large domain need not be looked at.
            cells = self.listed > 0
            deepest = int((~cells).sum(axis=1).max(initial=0)) + 1
            order = np.argsort(-prior, axis=1, kind="stable")[:, :deepest]
            values = np.take_along_axis(order, cells.T[order].argmax(axis=1), axis=1)
            mass, left = prior @ cells.T, np.take_along_axis(prior, values, axis=1)
            some, evenly = mass > 0, 1 / np.maximum(cells.sum(axis=1), 1)
            sure = np.minimum(left / np.where(some, mass, 1), 1)
            confidences = np.where(some, sure, evenly)
        else:
            values, confidences = rule(prior[:, None, :], self.listed)
        if_true = self.listed[np.arange(len(self.listed)), values]
        listed = values, confidences, if_true, is_true @ self.listed.T
        if not draws:
            return PossibleAnswers(*listed)
        # Random cells, b × draws, of values that come half from the prior and half from anywhere,
        # so that neither likely cells nor those that would change the answer are rare.
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
        # The sum over all cells of a value is known: only how it divides is left to chance.
        drawn = likelihood.sum(axis=1, keepdims=True)
        likelihood *= (self.mechanism.possible @ self.drawn) / np.where(drawn > 0, drawn, 1)
        if_true = np.take_along_axis(likelihood, answers[:, :, None], axis=2)[:, :, 0]
        found: Any = answers, confidences, if_true, np.einsum("bdk,bk->bd", likelihood, is_true)
        return PossibleAnswers(*map(np.hstack, zip(listed, found, strict=True)))


def sums(numbers: Floats, places: Ints, size: int) -> Floats:
    """Return each row's sums of its numbers by place, b × size."""
    b = len(numbers)
    flat = (np.arange(b)[:, None] * size + places).reshape(-1)
    summed = np.bincount(flat, numbers.reshape(-1).astype(float), minlength=b * size)
    return np.asarray(summed, dtype=float).reshape(b, size)


def all_cells(size: int, exclusions: int) -> Mask:
    excluded = np.array(list(combinations(range(size), exclusions)), dtype=int)
    cells = np.ones((len(excluded), size), dtype=bool)
    np.put_along_axis(cells, excluded, values=False, axis=1)
    return cells


# Whether answers are clearly better than the commonest candidate: a test by all that priors say.
#
# The unbiased `gain` looks at what a cell says of the two answers alone, and is noisy where rows are
# few or values many. So hidden cells are asked how much of the prior p is well founded, the rest
# being no better than its mean m over the rows that were hidden together:
#
#     q_λ = λ p + (1−λ) m        gain(λ) = λ G_p + (1−λ) G_m        G_q = mean Σ_v q(v) D(v)
#
# D(v) is how much more probably the answer is v than the commonest candidate is, where v is true.
# Answers gain anything once λ exceeds λ* = −G_m / (G_p − G_m). Cells show that λ is more than any
# λ' if their likelihood still rises there. With L(v) the likelihood of a row's cell,
#
#     u = Σ_v (p(v) − m(v)) L(v) / Σ_v q_λ'(v) L(v)         evidence = Σ u / √(Σ u²)
#
# which is about normal with deviation 1 if λ = λ'. For λ' = 0 that asks whether rows differ as their
# priors say. Were the OFs noise, any row's prior would suit another row's cell as well, so that Σ u is
# 0 in expectation, whatever the shares of the values are taken to be: a mean from the same cells in
# the place of m made noise pass, as priors are smoother than shares of many values. Both are asked:
# more than 0 by `reach`, as a gain in accuracy means little if it may come of no difference at all;
# and more than λ* by a standard error. The gain itself must be above 0, too.
# `benchmarks/field/flags.py` and `benchmarks.best --noise` measure it.

PARTS = 5  # of the hidden rows, each with shares from the cells of the others


def evidence(found: Floats) -> tuple[float, float, float]:
    """Return λ*, and by how many standard errors cells show λ to be more than 0, and than λ*.

    `found`, 4 × m, are Σ p L, Σ m L, Σ p D and Σ m D of each row.
    """
    mass, mean_mass, of_prior, of_mean = found
    gain, loss = float(of_prior.mean()), -float(of_mean.mean())
    least = min(max(loss / (gain + loss), 0.0), 1.0) if gain + loss > 0 else 1.0
    errors = []
    for share in (0.0, least):
        slopes = (mass - mean_mass) / np.maximum(share * mass + (1 - share) * mean_mass, LEAST_MASS)
        squares = float(slopes @ slopes)
        errors.append(float(slopes.sum() / np.sqrt(squares)) if squares > 0 else 0.0)
    return least, errors[0], errors[1]


def mean_priors(prior: Floats, part: Ints) -> Floats:
    """Return the mean prior of each of d parts of the rows, d × K."""
    counts = np.bincount(part)
    sums = np.stack([np.bincount(part, column, len(counts)) for column in prior.T], axis=1)
    return np.asarray(sums / np.maximum(counts, 1)[:, None])


def shares_of_others(cells: Mask, mechanism: Mechanism) -> tuple[Floats, Ints] | None:
    """Return shares, d × K, and for each of m hidden rows which of them comes from other rows.

    Hidden rows stand fold by fold, so that the rows of a part were mostly hidden together. None is
    returned if the cells of a part's others say nothing.
    """
    part = np.arange(len(cells)) * PARTS // max(len(cells), 1)
    shares = [mechanism.shares(cells[part != number]) for number in range(PARTS)]
    priors = [others.prior for others in shares if others is not None]
    return (np.array(priors), part) if len(priors) == PARTS else None


# Whether answers are right as often as their confidence says.
#
# Over the cells that rows might have, their own being one: a row's own cell alone cannot show both
# how confident its answer is and whether it is right. In a bin of confidence,
#
#     accuracy = Σ P(cell) · 1[answer is true] / Σ P(cell)     confidence = Σ P(cell) · c / Σ P(cell)
#
# Exact cells are left aside.

BINS = 10  # of confidence, equally wide
LEAST_CELLS = 1  # fewer answers than this, by their estimated share, are too few to judge
HEIGHTS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Bin:
    low: float  # lowest confidence
    high: float  # highest confidence
    cells: int
    confidence: float  # mean confidence
    accuracy: Interval


@dataclass(frozen=True)
class Calibration:
    # Root mean square of accuracy − confidence over the cells, with the noise subtracted.
    error: float
    overconfidence: Interval  # mean confidence − accuracy
    bins: tuple[Bin, ...]  # tenths of confidence that hold any cells
    # One sign for each tenth of confidence, as high as its accuracy; a blank if it has no cells.
    plot: str
    # Power to which confidences were raised before; None if they were not.
    power: float | None = None


@dataclass(eq=False)
class ConfidenceTally:
    """The answers of rows added up by their confidence, each row by its weight."""

    groups: Ints | None = None  # m: rows with the same number belong together; None: none do
    # 3 × BINS: shares of the answers that are right, expected to be right, and given …
    shares: Floats = field(default_factory=lambda: np.zeros((3, BINS)))
    # … and 3·BINS × 3·BINS: the sums of squares and products behind them. Those of groups are
    # known in the end only, when all their rows are.
    squares: Floats = field(default_factory=lambda: np.zeros((3 * BINS, 3 * BINS)))
    rows: list[Floats] = field(default_factory=list)

    def add(self, answers: PossibleAnswers, is_true: Floats, weights: Floats) -> None:
        """Add b rows; `is_true` estimates without bias, b × K, which value is true."""
        places = bins(answers.confidences)
        right = answers.if_true * np.take_along_axis(is_true, answers.values, axis=1)
        expected = answers.probabilities * answers.confidences
        parts = (right, expected, answers.probabilities)
        rows = weights[:, None] * np.hstack([sums(numbers, places, BINS) for numbers in parts])
        self.shares += rows.sum(axis=0).reshape(3, BINS)
        if self.groups is None:
            self.squares += rows.T @ rows
        else:
            self.rows.append(rows)

    def calibration(
        self, confidences: Floats, exact: Mask, *, largest_step: float, reach: float
    ) -> Calibration:
        """Return how often answers are right, by their confidence.

        `confidences` are those of the m rows' own answers, and `exact` says which of their cells
        are exact. `largest_step` is how far one row could move the accuracy at most.
        """
        given, behind = self.shares[2], self.squares
        if self.groups is not None:
            of_groups = sums_by(self.groups, np.vstack(self.rows))
            behind = of_groups.T @ of_groups
        counts = np.bincount(bins(confidences[~exact]), minlength=BINS)
        places = np.flatnonzero((counts > 0) & (given * len(exact) >= LEAST_CELLS)).tolist()
        found: list[tuple[float, float, float, float]] = []  # bin by bin, and then of all of them
        for chosen in (*np.eye(BINS, dtype=bool)[places], np.ones(BINS, dtype=bool)):
            right, expected, share = self.shares[:, chosen].sum(axis=1)
            gap = float((right - expected) / share)
            turn = np.concatenate([1.0 * chosen, -1.0 * chosen, -gap * chosen])
            error = float(np.sqrt(max(turn @ behind @ turn, 0)) / share)
            found.append((gap, error, float(right / share), float(expected / share)))
        *of_bins, (over, uncertain, _, _) = found
        parts, heights, squares = [], [" "] * BINS, 0.0
        for place, (gap, error, right, confidence) in zip(places, of_bins, strict=True):
            # Unbiased, so that chance may carry it out of 0 to 1.
            accuracy = Interval.around(right, error).as_share
            low, high, cells = place / BINS, (place + 1) / BINS, int(counts[place])
            parts.append(Bin(low, high, cells, confidence, accuracy))
            heights[place] = HEIGHTS[round(accuracy.value * (len(HEIGHTS) - 1))]
            squares += counts[place] / counts[places].sum() * (gap**2 - error**2)
        error = float(np.hypot(uncertain, largest_step / given.sum()))
        return Calibration(
            error=float(np.sqrt(max(squares, 0))),
            overconfidence=Interval.around(-over, error, reach=reach),
            bins=tuple(parts),
            plot="".join(heights),
        )


def bins(confidences: Floats) -> Ints:
    return np.asarray(np.minimum((confidences * BINS).astype(int), BINS - 1))


NUMBERS_AT_ONCE = 1 << 20  # rows × cells × values


@dataclass(frozen=True)
class HeldOut:
    cells: int  # hidden ones that are not empty
    confidence: float  # mean, of the final answers to the hidden cells
    score: float
    accuracy: Interval  # of the final answer
    commonest: Interval  # accuracy of always answering the commonest candidate
    gain: Interval  # of the one over the other, on the same rows
    calibration: Calibration | None  # None: all hidden cells are exact
    # By each confidence that was asked for, the accuracy of the answers that are so confident,
    # exact cells among them; None: hardly any is.
    confident_accuracies: tuple[Interval | None, ...]
    clearly_better: bool  # are the final answers, than the commonest candidates? See `evidence`
    unclipped: Interval  # the accuracy, which chance may carry out of 0 to 1 …
    error: float  # … and its standard error
    impossible: bool = False  # is the accuracy, before it is clipped, clearly beyond 0 to 1?


def scores(prior: Floats, hidden: Mask, mechanism: Mechanism) -> Floats:
    """Return log P(cell | prior) = log Σ_v prior(v) P(S | v, s) of every cell that is not empty.

    Higher is better, and the true distribution scores best in expectation. The mass Σ_v prior(v)
    P(S | v, s) / max_v P(S | v, s), under uniform exclusions that of the candidates, counts as
    1e-12 at least; a cell that is impossible whatever the value scores log 1e-12.
    """
    informative = ~hidden.all(axis=1)
    likelihood, factor = mechanism.scaled(hidden[informative])
    logs = log_scores(prior[informative], likelihood, over=1) + factor
    return np.asarray(np.where(np.isneginf(factor), np.log(LEAST_MASS), logs))


def difference(one: Floats, other: Floats) -> Gain:
    better = one - other
    return Gain.of(float(better.mean()), float(np.sqrt(better.var() / max(len(better) - 1, 1))))


def judge(
    hidden_cells: HiddenCells,
    candidates: Mask,
    *,
    shares: Floats,
    part: Ints | None = None,
    min_confidences: Sequence[float] = (),
    rule: Rule | None = None,
    clearly: float = CLEARLY,
    own: bool = False,
) -> HeldOut | None:
    """Return what the hidden cells say of the priors that were made without them.

    `candidates` are those of all rows, n × K, from which comes how many exclusions cells have.
    `shares` is the prior of a row of which nothing is known, K, from cells of other rows; or
    d × K, and `part` says which of them is for which hidden row.
    `min_confidences` are those for which the accuracy of the answers that they leave is wanted.
    `rule` answers otherwise than by the most confident candidate. An accuracy is impossible if it
    is beyond 0 to 1 by `clearly` times the reach of its interval. With `own`, its interval is to
    hold the share of right answers among these very rows, not among all rows like them. None is
    returned if no hidden cell distinguishes the values.
    """
    prior, hidden, groups = hidden_cells.prior, hidden_cells.cells, hidden_cells.groups
    mechanism, reach = hidden_cells.mechanism, hidden_cells.reach
    size, weights = mechanism.size, mechanism.weights(hidden)
    if not weights.any():
        return None
    rule, shares = rule or most_confident, np.atleast_2d(shares)
    part = np.zeros(len(prior), dtype=int) if part is None else part
    possible, random = PossibleCells.of(candidates, mechanism), np.random.default_rng(0)
    (draws, together), (few_draws, _) = possible.plan(len(prior)), possible.plan(len(shares))

    # Estimates of each row: of the answer's accuracy, of the commonest candidate's and of the gain,
    # and by each confidence, how many answers are so confident and right, and how many so confident.
    means = mean_priors(prior, part)
    by_shares = possible.answers(shares, shares, few_draws, random, most_confident).keep(size)
    estimates: list[list[PooledEstimate]] = [[] for _ in range(3 + 2 * len(min_confidences))]
    tally, footings, confidences = ConfidenceTally(groups), [], np.empty(len(prior))
    for some in together:
        cells, weight, is_true = hidden[some], weights[some], mechanism.unbiased(hidden[some])
        answers = possible.answers(prior[some], is_true, draws, random, rule)
        keep, baseline = answers.keep(size), by_shares[part[some]]
        measures = [possible.exact + keep, possible.exact + baseline, keep - baseline]
        measures += [possible.exact + answers.keep(size, min_confidence=x) for x in min_confidences]
        found = [PooledEstimate.of(one, cells, weight, mechanism) for one in measures]
        for least in min_confidences:
            chances = answers.probabilities * (answers.confidences >= least)
            share = possible.exact + chances.sum(axis=1)
            found.append(PooledEstimate(share, share, share, weight))
        for parts, one in zip(estimates, found, strict=True):
            parts.append(one)
        tally.add(answers, is_true, weight / weights.sum())
        likelihood = mechanism.likelihood(cells)
        guesses, by = (prior[some], means[part[some]]), (likelihood, keep - baseline)
        pairs = ((guess, other) for other in by for guess in guesses)
        footings.append(np.stack([np.einsum("ij,ij->i", *pair) for pair in pairs]))
        _, confidences[some] = rule(prior[some], likelihood)
    joined = [PooledEstimate.joined(parts, groups) for parts in estimates]
    (accuracy, commonest, gain), confident = joined[:3], joined[3:]

    confident_accuracies: list[Interval | None] = []
    for place, least in enumerate(min_confidences):
        right, given = confident[place], confident[place + len(min_confidences)]
        few = not (confidences >= least).any() or given.mean * len(confidences) < LEAST_CELLS
        confident_accuracies.append(None if few else right.interval(reach, given))
    exact = (~hidden).sum(axis=1) == hidden_cells.mechanism.exact
    step = accuracy.largest_step
    stretch = _stretch_for_own(accuracy, confidences) if own else 1.0
    _, *shown = evidence(np.hstack(footings))
    errors = reach / NORMAL / hidden_cells.effective_share**0.5
    differ, better = (one / errors for one in shown)
    return HeldOut(
        cells=int((~hidden.all(axis=1)).sum()),
        confidence=float(confidences.mean()),
        score=float(scores(prior, hidden, mechanism).mean()),
        accuracy=accuracy.interval(reach * stretch),
        commonest=commonest.interval(reach),
        gain=gain.symmetric(reach),
        calibration=None
        if exact.all()
        else tally.calibration(confidences, exact, largest_step=step, reach=reach),
        confident_accuracies=tuple(confident_accuracies),
        # Answers that are those of the baseline gain nothing, however well their priors fit.
        clearly_better=gain.mean > 0 and differ > NORMAL and better > 1,
        unclipped=accuracy.unclipped(reach * stretch),
        error=accuracy.error(reach * stretch),
        impossible=accuracy.beyond_a_share(reach, clearly=clearly),
    )


def _stretch_for_own(accuracy: PooledEstimate, confidences: Floats) -> float:
    """Return how many times as far the accuracy may be from the share of these right answers.

    A cell that rules out a wrong first value helps its answer, and lowers its estimate e. With
    c the confidence of the answer, E[(e − 1[it is right])²] = E[e² − 2ec + c].
    """
    weights = accuracy.weights / accuracy.weights.sum()
    e, c = accuracy.values, confidences
    apart = float(weights**2 @ np.maximum(e**2 - 2 * e * c + c, 0))
    alone = float(weights**2 @ (e - accuracy.mean) ** 2)
    step = accuracy.largest_step**2
    if apart <= alone or alone + step == 0:  # exact cells alone leave nothing to doubt
        return 1.0
    return float(np.sqrt((apart + step) / (alone + step)))
