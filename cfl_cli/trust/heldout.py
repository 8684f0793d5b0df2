"""What hidden cells show: how good the answers are, without knowing the truth.

The cells of some rows are hidden, a prior is estimated for these rows, and then the hidden cells
are looked at. With keep(t) of `possible_cells`, how probably t is the final answer if it is true,

    P(right) = Σ_S P(S | a(S)) · P(true value is a(S)) = Σ_t keep(t) · P(true value is t)

keep(t) is known; 1[true value is t] has an unbiased estimate, f(hidden cell, t) of `exclusions`.
The same sum over those S whose answer has a certain confidence shows how often such answers are
right. Rows are pooled with their exclusions as weights.
"""

from collections.abc import Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.known import Rule
from cfl_cli.core.log_score import LEAST_MASS, log_scores
from cfl_cli.core.parallel import slices
from cfl_cli.core.posterior import most_confident
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.better import ONE_SIDED, Footing
from cfl_cli.trust.calibration import LEAST_CELLS, Calibration, Tally
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import CLEARLY, NORMAL, Gain, Interval, PooledEstimate
from cfl_cli.trust.possible_cells import PossibleCells

NUMBERS_AT_ONCE = 1 << 20  # rows × cells × values


@dataclass(frozen=True)
class HeldOut:
    """What the hidden cells of one CF show."""

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
    clearly_better: bool  # are the final answers, than the commonest candidates? See `better`
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
    """Return by how much the first of two priors scores better on the same cells."""
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
    prior, hidden, mechanism = hidden_cells.prior, hidden_cells.cells, hidden_cells.mechanism
    reach = hidden_cells.reach
    weights = mechanism.weights(hidden)
    if not weights.any():
        return None
    possible = PossibleCells.of(candidates, mechanism)
    common = _Common(np.atleast_2d(shares), np.zeros(len(prior), int) if part is None else part)
    pooled = _pool(hidden_cells, weights, possible, common, min_confidences, rule or most_confident)
    exact = hidden.sum(axis=1) == 1
    return HeldOut(
        cells=int((~hidden.all(axis=1)).sum()),
        confidence=float(pooled.confidences.mean()),
        score=float(scores(prior, hidden, mechanism).mean()),
        accuracy=pooled.accuracy.interval(reach * (pooled.stretch_for_own if own else 1)),
        commonest=pooled.commonest.interval(reach),
        gain=pooled.gain.symmetric(reach),
        calibration=None
        if exact.all()
        else pooled.tally.calibration(
            pooled.confidences, exact, largest_step=pooled.accuracy.largest_step, reach=reach
        ),
        confident_accuracies=tuple(
            _confident_accuracy(pooled, least, *counted, reach)
            for least, counted in zip(min_confidences, pooled.confident, strict=True)
        ),
        clearly_better=pooled.gain.mean > 0
        and pooled.footing.evidence * hidden_cells.effective_share**0.5
        > reach * ONE_SIDED / NORMAL,
        impossible=pooled.accuracy.beyond_a_share(reach, clearly=clearly),
    )


@dataclass(frozen=True, eq=False)
class _Common:
    """What is thought of hidden rows of which nothing is known."""

    shares: Floats  # d × K
    part: Ints  # m: which of them is for which row

    def keep(self, possible: PossibleCells, random: np.random.Generator) -> Floats:
        """Return how probably the commonest candidate is each value if true, d × K."""
        draws = possible.draws(len(self.shares))
        answers = possible.answers(self.shares, self.shares, draws, random, most_confident)
        return answers.keep(possible.mechanism.size)


@dataclass(frozen=True, eq=False)
class _Pooled:
    """What the hidden rows say, pooled."""

    accuracy: PooledEstimate
    commonest: PooledEstimate
    gain: PooledEstimate
    # By each confidence that was asked for: the answers that are so confident and right, and those
    # that are so confident.
    confident: tuple[tuple[PooledEstimate, PooledEstimate], ...]
    tally: Tally
    footing: Footing
    confidences: Floats  # m: of the final answers to the rows' own cells

    @property
    def stretch_for_own(self) -> float:
        """Return how many times as far the accuracy may be from the share of these right answers.

        A cell that rules out a wrong first value helps its answer, and lowers its estimate e. With
        c the confidence of the answer, E[(e − 1[it is right])²] = E[e² − 2ec + c].
        """
        weights = self.accuracy.weights / self.accuracy.weights.sum()
        e, c = self.accuracy.values, self.confidences
        apart = float(weights**2 @ np.maximum(e**2 - 2 * e * c + c, 0))
        alone = float(weights**2 @ (e - self.accuracy.mean) ** 2)
        step = self.accuracy.largest_step**2
        if apart <= alone or alone + step == 0:  # exact cells alone leave nothing to doubt
            return 1.0
        return float(np.sqrt((apart + step) / (alone + step)))


def _pool(
    hidden_cells: HiddenCells,
    weights: Floats,
    possible: PossibleCells,
    common: _Common,
    min_confidences: Sequence[float],
    rule: Rule,
) -> _Pooled:
    """Go through the hidden rows, some at a time; how many at a time does not matter."""
    prior, hidden, groups = hidden_cells.prior, hidden_cells.cells, hidden_cells.groups
    mechanism, random = possible.mechanism, np.random.default_rng(0)
    size, draws = mechanism.size, possible.draws(len(prior))
    common_keep = common.keep(possible, random)
    relative = weights / weights.sum()
    estimates: dict[str, list[PooledEstimate]] = {}
    confident: list[list[tuple[PooledEstimate, PooledEstimate]]] = [[] for _ in min_confidences]
    tally, footing, confidences = Tally(groups), [], np.empty(len(prior))
    at_once = max(NUMBERS_AT_ONCE // ((len(possible.listed) + draws + 1) * size), 1)
    for part in slices(len(prior), at_once):
        is_true = mechanism.unbiased(hidden[part])
        answers = possible.answers(prior[part], is_true, draws, random, rule)
        keep = answers.keep(size)
        baseline = common_keep[common.part[part]]
        measures = {
            "accuracy": possible.exact + keep,
            "commonest": possible.exact + baseline,
            "gain": keep - baseline,
        }
        for name, measure in measures.items():
            estimate = PooledEstimate.of(measure, hidden[part], weights[part], mechanism)
            estimates.setdefault(name, []).append(estimate)
        for least, counted in zip(min_confidences, confident, strict=True):
            right = possible.exact + answers.keep(size, min_confidence=least)
            chances = answers.probabilities * (answers.confidences >= least)
            share = possible.exact + chances.sum(axis=1)
            counted.append(
                (
                    PooledEstimate.of(right, hidden[part], weights[part], mechanism),
                    PooledEstimate(share, share, share, weights[part]),
                )
            )
        tally.add(answers, is_true, relative[part])
        likelihood = mechanism.likelihood(hidden[part])
        shares = common.shares[common.part[part]]
        footing.append(Footing.of(prior[part], shares, likelihood, keep - baseline))
        _, confidences[part] = rule(prior[part], likelihood)
    return _Pooled(
        **{name: PooledEstimate.joined(parts, groups) for name, parts in estimates.items()},
        confident=tuple(
            (
                PooledEstimate.joined([right for right, _ in counted], groups),
                PooledEstimate.joined([given for _, given in counted], groups),
            )
            for counted in confident
        ),
        tally=tally,
        footing=Footing.joined(footing),
        confidences=confidences,
    )


def _confident_accuracy(
    pooled: _Pooled,
    min_confidence: float,
    right: PooledEstimate,
    given: PooledEstimate,
    reach: float,
) -> Interval | None:
    """Return how often the answers that are confident enough are right."""
    cells = len(pooled.confidences)
    if not (pooled.confidences >= min_confidence).any():
        return None
    if given.mean * cells < LEAST_CELLS:
        return None
    return right.relative_to(given, reach)
