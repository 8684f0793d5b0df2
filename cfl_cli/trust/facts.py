"""What one CF's cells, its estimate and its hidden cells show: what its verdict is made from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from cfl_cli import trust as basis
from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    best,
    entropies,
    independent,
    most_confident,
    posterior,
    start,
)
from cfl_cli.core.dataset import Rule, all_but
from cfl_cli.core.exclusions import LEVEL, Uniformity
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.methods.interface import Estimate, Power
from cfl_cli.trust.heldout import HeldOut, HiddenCells, judge, shares_of_others
from cfl_cli.trust.intervals import CLEARLY, NORMAL, Interval
from cfl_cli.trust.mechanism import ExactAudit, audit_exact_cells
from cfl_cli.trust.powers import UNRAISED, by_other_half, find_power, raised
from cfl_cli.trust.wrong_cells import (
    POWERS,
    Suspects,
    WeighedCells,
    guessed_wrong,
    information_lost,
    most_wrong,
    rank_suspects,
    surest,
)

# Entropy that is left counts as less than the shuffled cells' if it is less by this share, and by
# so much more in a small table, where chance matters more.
CLEARLY_LESS = 0.03
_CHANCE = 3.5  # over the square root of the rows: noise strays by a third of that, more or less
ROWS_AT_ONCE = 1 << 17  # so that memory hardly grows with rows
_ALONE = np.array([0])  # where the only block begins
# What the answers that are written know more than those that were judged; see `stretched`.
LEARNED = 0.45  # of the gain over the baseline, where the two differ
BETTER, WORSE = 0.2, 0.15  # of the answers that differ may be correct, or wrong, beyond that
STRETCH = 0.08  # to either side, at most


@dataclass(frozen=True)
class Entropy:
    """Mean entropies of one CF's rows, and which share of what cells leave is gone."""

    start: float  # of what cells alone say
    end: float  # of the confidences that are written
    end_raw: float  # of those before calibration
    reduction: float
    # The share that would be gone had the cells been shuffled over the rows; None: not known.
    #
    # It is measured in round one, whose graph does not depend on the cells, and is carried over
    # to the final answer in proportion. Where confidences are calibrated it is what the shares
    # alone explain: shuffled cells that were run and calibrated ended nearer to that (0.05 on
    # average, in 18 CFs of seven tables, against 0.06), whose power need not be the CF's own.
    reduction_null: float | None
    like_shuffled: bool  # is about as much left as had the cells been shuffled?


class ColumnFacts:
    """What one CF's cells, its estimate and its hidden cells show.

    With `calibrated`, hidden rows' priors are raised to the CF's power, as its confidences are:
    each half of them takes the power that the other half has found.
    """

    def __init__(
        self,
        encoded: Encoded,
        estimate: Estimate,
        number: int,
        *,
        level: float | None = None,  # of each test of the mechanism; None: as strict as of a table
        refuted: bool = False,  # is it known already that the mechanism does not hold?
        calibrated: bool = False,
    ) -> None:
        self.level, self.refuted, self.calibrated = level, refuted, calibrated
        self.number, self.encoded, self.estimate = number, encoded, estimate
        self.block = encoded.blocks[number]
        self.candidates = encoded.candidates[:, self.block.columns]
        self.judged_rows = _judged_rows(self.block, self.candidates)
        self.confidences = estimate.confidences[:, self.block.columns]
        before = estimate.confidences if estimate.raw is None else estimate.raw
        self.raw_confidences = before[:, self.block.columns]  # before calibration
        power = self.power = None if estimate.powers is None else estimate.powers[number]
        self.evidence = encoded.known.evidence[:, self.block.columns]
        hidden = estimate.hidden
        rules = None if hidden is None else hidden.rules
        self.rule: Rule = most_confident if not rules else rules[number]
        if calibrated and power is not None and self.block.mechanism.rates is not None:
            self.rule = lambda prior, likelihood: most_confident(prior, likelihood**power.value)

    @cached_property
    def answers(self) -> Ints:
        if self.estimate.answers is None:
            answers = np.empty(len(self.candidates), dtype=np.int64)
            for part in slices(len(answers), ROWS_AT_ONCE):
                given = self.block.mechanism.leaves(self.candidates[part])
                answers[part] = best(self.confidences[part], given)
            return answers
        return self.estimate.answers[:, self.number]

    @cached_property
    def drawn(self) -> Mask:
        """Return the candidates, n × K, with cells that figures cannot rest on as empty ones."""
        if self.judged_rows is None:
            return self.candidates
        return np.asarray(self.candidates | ~self.judged_rows[:, None])

    @cached_property
    def entropy(self) -> Entropy:
        begin, end = _entropy(self.evidence, whole=False), _entropy(self.confidences)
        raw = end if self.estimate.raw is None else _entropy(self.raw_confidences)
        null, reduction = self.estimate.null, _reduction(begin, end)
        if null is None:
            return Entropy(begin, end, raw, reduction, None, like_shuffled=False)
        left, shuffled = null.entropy[self.number], null.shuffled[self.number]
        shares = self.block.mechanism.shares(self.drawn)
        if self.power is not None and shares is not None:
            prior = np.broadcast_to(shares.prior, self.candidates.shape)
            alike, _ = posterior(prior, self.evidence, over=1, fallback=Fallback.CELL)
            reduction_null = _reduction(begin, _entropy(alike))
        else:
            reduction_null = _reduction(begin, shuffled * (end / left if left > 0 else 1))
        if self.power is not None:
            left, shuffled = 1 - reduction, 1 - reduction_null
        least = 1 - CLEARLY_LESS - _CHANCE / np.sqrt(null.rows)
        alike_left = begin != 0 and bool(left > least * shuffled)
        return Entropy(begin, end, raw, reduction, reduction_null, like_shuffled=alike_left)

    @property
    def answer_confidences(self) -> Floats:
        return self.confidences[np.arange(len(self.answers)), self.answers]

    @cached_property
    def hidden_cells(self) -> HiddenCells | None:
        """Return the CF's hidden cells beside what was said of them; None: none were hidden."""
        hidden = self.estimate.hidden
        if hidden is None:
            return None
        groups, prior = self.encoded.known.groups_of(hidden.rows), hidden.priors
        prior = prior[:, self.block.columns]
        if self.calibrated and self.power is not None:
            prior = by_other_half(prior, self.power, groups)
        mutual = hidden.shares is None and len(hidden.rows) == len(self.candidates)
        cells = self.drawn[hidden.rows]
        return HiddenCells(prior, cells, self.block.mechanism, mutual=mutual, groups=groups)

    @cached_property
    def uniformity(self) -> Uniformity | None:
        """Return what hidden cells say about how cells came about; None: none were hidden."""
        hidden = self.hidden_cells
        if hidden is None or (self.judged_rows is not None and not self.judged_rows.any()):
            return None
        return Uniformity(
            hidden.prior,
            hidden.cells,
            hidden.mechanism,
            mutual=hidden.mutual,
            counts=independent(hidden.groups),
            level=self.level or LEVEL,
            ordered=self.block.ordered,
        )

    def judged(self, min_confidences: Sequence[float] = ()) -> HeldOut | None:
        """Return what the hidden cells show, also of answers so confident; None: nothing."""
        hidden, hidden_cells = self.estimate.hidden, self.hidden_cells
        some = self.candidates
        if self.judged_rows is not None:
            some = some[self.judged_rows]
            sizes = (~some).sum(axis=1)
            if not ((sizes > 0) & (sizes < self.block.mechanism.exact)).any():
                return None  # nothing was drawn
        if hidden is None or hidden_cells is None:
            return None
        others: tuple[Floats, Ints | None] | None
        reach = CLEARLY if self.level is None else NormalDist().inv_cdf(1 - self.level) / NORMAL
        if hidden.shares is not None:
            others = (hidden.shares[self.number], None)
        elif hidden_cells.mutual:
            others = shares_of_others(hidden_cells.cells, hidden_cells.mechanism)
        else:
            seen = self.drawn[all_but(hidden.rows, len(self.candidates))]
            shares = hidden_cells.mechanism.shares(seen)
            others = None if shares is None else (shares.prior, None)
        if others is None:
            return None
        return judge(
            hidden_cells,
            some,
            shares=others[0],
            part=others[1],
            min_confidences=min_confidences,
            rule=self.rule,
            clearly=reach,
            own=hidden.shares is not None,
        )

    def wrong_cells(self) -> tuple[float | None, float | None]:
        """Return the share of cells that rule out the true value, at most, and what it costs."""
        ruled_out = self.hidden_cells and not self.block.mechanism.noisy
        wrong = most_wrong(self.hidden_cells) if ruled_out and self.hidden_cells else None
        if wrong is None:
            return None, None
        exclusions, size = (~self.candidates).sum(axis=1), self.candidates.shape[1]
        partial = (exclusions > 0) & (exclusions < size - 1)
        return wrong, information_lost(wrong, exclusions[partial], size)

    @property
    def weighed_cells(self) -> WeighedCells:
        """Return what is left to the cells' candidates: by priors, the estimate and the shares."""
        hidden, hidden_cells = self.estimate.hidden, self.hidden_cells
        rows, left = np.array([], dtype=int), np.zeros((0, len(POWERS)))
        surer = np.zeros(0, dtype=bool)
        if hidden is not None and hidden_cells is not None and len(hidden.rows):
            rows, prior, evidence = hidden.rows, hidden_cells.prior, self.evidence[hidden.rows]
            left = np.column_stack([(raised(prior, one) * evidence).sum(axis=1) for one in POWERS])
            sureness = prior.max(axis=1)
            surer = sureness >= np.median(sureness)
        shares = self.block.mechanism.shares(self.drawn)
        size = self.candidates.shape[1]
        chances = np.full(size, 1 / size) if shares is None else shares.prior
        mass = self.estimate.mass[:, self.number]
        # A noisy cell may state any value, and is not wrong if it does.
        cells = self.block.mechanism.leaves(self.candidates)
        return WeighedCells(mass, left, surer, self.evidence @ chances, rows, cells)

    def suspects(self, most_wrong: float | None) -> Suspects:
        """Return which cells most likely rule out the true value.

        `most_wrong` is the share that may do so at most; None: not known.
        """
        known = self.hidden_cells if most_wrong is not None else None
        found = surest(known) if known else None
        share = guessed_wrong(found, most_wrong) if found and most_wrong else None
        return rank_suspects(self.weighed_cells, share)

    @cached_property
    def exact_audit(self) -> ExactAudit | None:
        """Return what hidden cells with the exact mark show; None: they are too few."""
        hidden, marked = self.estimate.hidden, self.block.marked
        if (
            self.encoded.copies_missed
            or hidden is None
            or self.hidden_cells is None
            or marked is None
        ):
            return None
        cells = replace(self.hidden_cells, cells=self.candidates[hidden.rows])
        return audit_exact_cells(cells, marked[hidden.rows], self.rule)

    def stretched(self, judged: HeldOut) -> Interval:
        """Return the accuracy of the written answers, from that of the answers to held-out cells.

        The answers that were judged come from fewer cells than those that are written. Let d be the
        share of rows in which the two differ, and g the gain over the majority value, 0 unless it is
        clear. On tables whose truth is known the written answers are better by about 0.45 d g, so the
        interval is moved by so much. They may differ from that by a share of d, or where they are
        more or less confident: it is extended by so much. Answers are no worse than the majority
        value, so that its high end is no lower.
        """
        hidden, found = self.estimate.hidden, judged.unclipped
        baseline = judged.commonest.value
        shift = below = above = 0.0
        if hidden is not None:
            rows, block = hidden.rows, self.block.columns
            answers, _ = self.rule(hidden.priors[:, block], self.evidence[rows].astype(float))
            differ = float((answers != self.answers[rows]).mean())
            given = self.raw_confidences[np.arange(len(self.answers)), self.answers]
            more = float(given[rows].mean()) - judged.confidence
            gain = max(min(found.value, 1.0) - baseline, 0.0) if judged.clearly_better else 0.0
            shift = min(LEARNED * differ * gain, STRETCH)
            below = min(max(WORSE * differ, -more), STRETCH)
            above = min(max(BETTER * differ, more - shift), STRETCH)
        moved = Interval(found.value + shift, found.low + shift - below, found.high + shift + above)
        if self.block.mechanism.noisy:
            moved = _with_own_cells(moved, len(self.answers))
        return moved.cut_to_share(judged.error, least_high=baseline)

    @cached_property
    def impossible(self) -> Ints:
        """Return the places of values that are ruled out more often than any shares explain."""
        counts = independent(self.encoded.groups)
        return self.block.mechanism.too_often(self.drawn, counts, level=self.level or LEVEL)

    @cached_property
    def repeats(self) -> bool:
        """Whether the same sets of values come up more often than chance allows."""
        counts = independent(self.encoded.groups)
        return self.block.mechanism.repeats(self.drawn, counts, level=self.level or LEVEL)

    @property
    def mechanism_refuted(self) -> bool:
        """Whether cells, or priors of held-out cells, show that the mechanism does not hold."""
        refuted = self.refuted or self.estimate.origins[self.number].cautious
        by_priors = self.uniformity is not None and self.uniformity.refuted
        return refuted or by_priors or len(self.impossible) > 0 or self.repeats

    def rests_on(self, judged: HeldOut | None) -> tuple[str, str | None]:
        """Return what the accuracy rests on; with `NONE`, why it is not known.

        A blend is a cautious one where its parts' priors refuted the mechanism; what comes of it
        does not always show that again.
        """
        if self.mechanism_refuted or (judged is not None and judged.impossible):
            return basis.NONE, basis.NOT_RANDOM
        if self.hidden_cells is None:
            return basis.NONE, basis.NOT_HIDDEN
        if self.encoded.copies_missed:
            return basis.NONE, basis.COPIES_MISSED
        uniform = self.block.mechanism.rates is None
        if not uniform and self.block.mechanism.inverse(1) is None:
            return basis.NONE, basis.NOT_DISTINGUISHED
        if judged is None and self.block.blocks is not None:
            return basis.NONE, basis.ALL_IN_BLOCKS
        if judged is None:
            return basis.NONE, basis.NOTHING_SAID
        return basis.UNIFORM if uniform else basis.MECHANISM, None

    @property
    def accuracy(self) -> Interval | None:
        """Return the accuracy of the answers that were judged; None: it is not known."""
        judged = self.judged()
        known = judged is not None and self.rests_on(judged)[0] != basis.NONE
        return judged.accuracy if known and judged else None


def _with_own_cells(found: Interval, rows: int) -> Interval:
    """Return an accuracy of all cells that rows might state, as one of those that they do state.

    Which rows state a wrong value is chance: √(a (1−a)/n), beside the error of the estimate.
    """
    share = min(max(found.value, 0.0), 1.0)
    chance = NORMAL * (share * (1 - share) / rows) ** 0.5
    below, above = (
        float(np.hypot(one, chance)) for one in (found.value - found.low, found.high - found.value)
    )
    return Interval(found.value, found.value - below, found.value + above)


def _judged_rows(block: Block, candidates: Mask) -> Mask | None:
    """Return which cells, n, figures may rest on; None: all of them.

    How blocks came about is not known, and beside blocks exact cells need not be a random sample.
    """
    if block.blocks is None:
        return None
    exact = np.zeros(len(candidates), dtype=bool)
    if not block.marked_at_random:
        exact = candidates.sum(axis=1) == 1
    return np.asarray(~block.blocks & ~exact)


def _entropy(cells: Any, *, whole: bool = True) -> float:
    of_rows = np.empty((len(cells), 1))
    for part in slices(len(cells), ROWS_AT_ONCE):
        confidences = cells[part] if whole else start(cells[part], _ALONE)
        of_rows[part] = entropies(confidences, _ALONE)
    return float(of_rows.mean())


def _reduction(begin: float, left: float) -> float:
    return 1.0 if begin == 0 else float(min(max(1 - left / begin, 0.0), 1.0))


# The confidences that are written: those of an estimate, each CF's raised to a power of its own.
#
# Answers, priors and all that is judged by them stay the estimate's; see `powers`.


def calibrate(encoded: Encoded, estimate: Estimate, *, jobs: int = 1) -> Estimate:
    """Return the estimate with calibrated confidences, and its answers as they were.

    Where no cells were hidden it comes back as it is.
    """
    if estimate.hidden is None:
        return estimate
    columns = [ColumnFacts(encoded, estimate, number) for number in range(len(encoded.blocks))]
    with Workers(jobs) as workers:

        def power(facts: ColumnFacts) -> Power | None:
            # A cautious blend is one whose hidden cells are no measure, as exclusions are not random.
            if facts.hidden_cells is None or estimate.origins[facts.number].cautious:
                return None
            said = facts.confidences, facts.answers
            found = find_power(facts.hidden_cells, *said, accuracy=lambda: facts.accuracy)
            return UNRAISED if found and _does_harm(facts, found) else found

        return raised_to([*workers.map(power, columns)], encoded, estimate)


def _does_harm(facts: ColumnFacts, power: Power) -> bool:
    """Return whether confidences raised to the other half's power are further from being right."""
    if power.value == 1:
        return False
    powers = [power if cf == facts.number else None for cf in range(len(facts.encoded.blocks))]
    estimate = replace(facts.estimate, powers=tuple(powers))
    after = ColumnFacts(facts.encoded, estimate, facts.number, calibrated=True)
    errors = [
        judged.calibration.error
        for judged in (facts.judged(), after.judged())
        if judged and judged.calibration
    ]
    return len(errors) == 2 and errors[1] > errors[0]


def raised_to(powers: Sequence[Power | None], encoded: Encoded, estimate: Estimate) -> Estimate:
    confidences, answers = np.empty_like(estimate.confidences), []
    for number, power in enumerate(powers):
        column = ColumnFacts(encoded, estimate, number)
        own = raised(column.confidences, power.value) if power else column.confidences
        confidences[:, column.block.columns] = own
        answers.append(column.answers)
    return replace(
        estimate,
        confidences=confidences,
        answers=np.column_stack(answers),
        powers=tuple(powers),
        raw=estimate.confidences,
    )
