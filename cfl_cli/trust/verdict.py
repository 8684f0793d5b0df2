"""Which CFs can be trusted: the report of a run, from its estimate and its hidden cells."""

from functools import cached_property

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.blocks import best, entropies, start
from cfl_cli.core.exclusions import Shares
from cfl_cli.core.known import Rule, all_but
from cfl_cli.core.parallel import Workers
from cfl_cli.core.posterior import most_confident
from cfl_cli.core.uniformity import Uniformity
from cfl_cli.estimators.interface import Estimate
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.basis import basis
from cfl_cli.trust.better import shares_of_others
from cfl_cli.trust.bias import Biased, UnderBias
from cfl_cli.trust.doubts import doubts
from cfl_cli.trust.heldout import HeldOut, judge
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Confident, Report, SettingValue, is_flagged
from cfl_cli.trust.suspects import Suspects, suspects
from cfl_cli.trust.wrong_cells import information_lost, most_wrong

SMALL_REDUCTION = 0.25
# Entropy that is left counts as less than the shuffled cells' if it is less by this share, and by
# so much more in a small table, where chance matters more.
CLEARLY_LESS = 0.03
CHANCE = 3.5  # over the square root of the rows: noise strays by a third of that, more or less
ALONE = np.array([0])  # where the only block begins
STRETCH = 0.08  # of an interval, at most
BETTER = 0.7  # of the answers that differ from those that were judged, at most, or about
SUSPECT = 0.01  # of what the neighbors say, left to a cell's candidates


def build(
    encoded: Encoded,
    estimate: Estimate,
    *,
    cfl_version: str,
    settings: dict[str, SettingValue],
    k: int,
    always_second_round: bool,
    keep_flagged: bool = False,
    min_confidence: float = 0.0,
    bias: float = 1.0,
    jobs: int = 1,
) -> Report:
    """Return the report of one run, without its timings and memory.

    `settings` are recorded as they are; what decides anything here is passed by name. For `k` and
    `always_second_round` see `doubts`.
    """
    doubted = doubts(encoded, k=k, always_second_round=always_second_round)

    def column(number: int) -> ColumnReport:
        facts = ColumnFacts(encoded, estimate, number)
        return _column(facts, keep_flagged=keep_flagged, min_confidence=min_confidence, bias=bias)

    with Workers(jobs) as workers:
        columns = list(workers.map(column, range(len(encoded.blocks))))
    return Report(
        cfl_version,
        len(encoded.features),
        settings,
        tuple(columns),
        warnings=(*encoded.warnings, *estimate.warnings, *doubted),
        rescued_rows=estimate.rescued_rows,
        neighbor_recall=estimate.recall,
        steps=estimate.steps,
    )


class ColumnFacts:
    """What one CF's cells, its estimate and its hidden cells show."""

    def __init__(self, encoded: Encoded, estimate: Estimate, number: int) -> None:
        self.number, self.estimate = number, estimate
        self.block = encoded.blocks[number]
        self.candidates = encoded.candidates[:, self.block.columns]
        self.confidences = estimate.confidences[:, self.block.columns]
        self.answers = (
            best(self.confidences, self.candidates)
            if estimate.answers is None
            else estimate.answers[:, number]
        )
        self.evidence = encoded.evidence[:, self.block.columns]
        beginning = start(self.evidence, ALONE)
        self.entropy_start = float(entropies(beginning, ALONE).mean())
        self.entropy_end = float(entropies(self.confidences, ALONE).mean())

    @property
    def reduction(self) -> float:
        """Return the share of the entropy that is gone."""
        return self._reduction(self.entropy_end)

    @property
    def reduction_null(self) -> float | None:
        """Return the share that would be gone had the cells been shuffled over the rows.

        It is measured in round one, whose graph does not depend on the cells, and is carried over
        to the final answer in proportion.
        """
        null = self.estimate.null
        if null is None:
            return None
        own, shuffled = null.entropy[self.number], null.shuffled[self.number]
        return self._reduction(shuffled * (self.entropy_end / own if own > 0 else 1))

    @property
    def like_shuffled(self) -> bool:
        """Return whether about as much entropy is left as had the cells been shuffled."""
        null = self.estimate.null
        if null is None or self.entropy_start == 0:
            return False
        least = 1 - CLEARLY_LESS - CHANCE / np.sqrt(null.rows)
        return bool(null.entropy[self.number] > least * null.shuffled[self.number])

    @property
    def answer_confidences(self) -> Floats:
        """Return how confident the answers are."""
        return self.confidences[np.arange(len(self.answers)), self.answers]

    @property
    def rule(self) -> Rule:
        """Return how rows are answered."""
        hidden = self.estimate.hidden
        return most_confident if hidden is None or not hidden.rules else hidden.rules[self.number]

    @cached_property
    def hidden_cells(self) -> HiddenCells | None:
        """Return the CF's hidden cells beside what was said of them; None: none were hidden."""
        hidden = self.estimate.hidden
        if hidden is None:
            return None
        return HiddenCells(
            hidden.priors[:, self.block.columns],
            self.candidates[hidden.rows],
            self.block.mechanism,
            mutual=len(hidden.rows) == len(self.candidates),
        )

    @cached_property
    def uniformity(self) -> Uniformity | None:
        """Return what hidden cells say about how cells came about; None: none were hidden."""
        hidden = self.hidden_cells
        if hidden is None:
            return None
        return Uniformity(hidden.prior, hidden.cells, hidden.mechanism, mutual=hidden.mutual)

    def under_bias(
        self, accuracy: Interval | None, known: HeldOut | None, bias: float
    ) -> UnderBias:
        """Return what the accuracy is worth if some wrong values are ruled out more readily."""
        hidden, uniformity = self.hidden_cells, self.uniformity
        if hidden is None or uniformity is None or known is None or accuracy is None:
            return UnderBias()
        biased = Biased(hidden, self.candidates, rule=self.rule)
        least, noticed = known.commonest.value, uniformity.noticed_bias
        return UnderBias.of(biased, accuracy, least=least, noticed=noticed, bias=bias)

    def judged(self, min_confidence: float) -> HeldOut | None:
        """Return what the hidden cells show; None: nothing."""
        hidden, hidden_cells = self.estimate.hidden, self.hidden_cells
        if hidden is None or hidden_cells is None:
            return None
        others: tuple[Floats, Ints | None] | None
        if hidden_cells.mutual:
            others = shares_of_others(hidden_cells.cells, hidden_cells.mechanism)
        else:
            seen = self.candidates[all_but(hidden.rows, len(self.candidates))]
            shares = hidden_cells.mechanism.shares(seen)
            others = None if shares is None else (shares.prior, None)
        if others is None:
            return None
        return judge(
            hidden_cells,
            self.candidates,
            shares=others[0],
            part=others[1],
            min_confidence=min_confidence or None,
            rule=self.rule,
        )

    def information_lost(self, wrong: float) -> float:
        """Return the share of what cells say that is lost if such a share of them is wrong."""
        exclusions = (~self.candidates).sum(axis=1)
        partial = (exclusions > 0) & (exclusions < self.candidates.shape[1] - 1)
        return information_lost(wrong, exclusions[partial], self.candidates.shape[1])

    @property
    def suspects(self) -> Suspects:
        """Return which cells most likely rule out the true value."""
        hidden, mass = self.estimate.hidden, self.estimate.mass[:, self.number].copy()
        rows = np.array([], dtype=int)
        if hidden is not None and self.hidden_cells is not None:
            rows = hidden.rows
            mass[rows] = (self.hidden_cells.prior * self.hidden_cells.cells).sum(axis=1)
        shares = self.block.mechanism.shares(self.candidates)
        size = self.candidates.shape[1]
        chances = np.full(size, 1 / size) if shares is None else shares.prior
        return suspects(mass, self.candidates @ chances, rows, self.candidates)

    def stretched(self, judged: HeldOut) -> Interval:
        """Return the accuracy of the answers, from that of the answers to hidden cells.

        The answers that were judged come from fewer cells than those that are given. The latter
        may be better where the two differ, and better or worse where they are more or less
        confident. The interval is extended by so much; how much was measured on tables whose
        truth is known.
        """
        hidden, accuracy = self.estimate.hidden, judged.accuracy
        if hidden is None:
            return accuracy
        rows = hidden.rows
        judged_answers, _ = self.rule(
            hidden.priors[:, self.block.columns], self.evidence[rows].astype(float)
        )
        differ = float((judged_answers != self.answers[rows]).mean())
        more = float(self.answer_confidences[rows].mean()) - judged.confidence
        low = accuracy.low - min(max(-more, 0.0), STRETCH)
        high = accuracy.high + min(max(more, BETTER * differ), STRETCH)
        return Interval(accuracy.value, max(low, 0.0), min(high, 1.0))

    def _reduction(self, left: float) -> float:
        if self.entropy_start == 0:
            return 1.0
        return float(min(max(1 - left / self.entropy_start, 0.0), 1.0))


def _column(
    facts: ColumnFacts, *, keep_flagged: bool, min_confidence: float, bias: float
) -> ColumnReport:
    block, number, estimate = facts.block, facts.number, facts.estimate
    judged = facts.judged(min_confidence)
    impossible = block.mechanism.too_often(facts.candidates)
    refuted = len(impossible) > 0 or (facts.uniformity is not None and facts.uniformity.refuted)
    rests_on = basis(
        block.mechanism, judged, hidden=facts.hidden_cells is not None, refuted=refuted
    )
    # What rests on a refuted assumption is left out; the score only compares answers.
    known = judged if rests_on.known else None
    accuracy = facts.stretched(known) if known else None
    under_bias = facts.under_bias(accuracy, known, bias)
    shares = None if rests_on.refuted else block.mechanism.shares(facts.candidates)
    wrong = most_wrong(facts.hidden_cells) if facts.hidden_cells and known else None
    fallback_rows = int(estimate.fell_back[:, number].sum())
    fired = {
        "small-entropy-reduction": facts.reduction < SMALL_REDUCTION or facts.like_shuffled,
        # Where every cell is exact there is nothing to be better at.
        "no-better-than-commonest": known is not None
        and facts.entropy_start > 0
        and not known.clearly_better,
        "exclusions-not-uniform": rests_on.refuted,
        "fallback-rows": fallback_rows > 0,
    }
    flags = tuple(flag for flag, so in fired.items() if so)
    flagged = is_flagged(flags, clearly_better=known is not None and known.clearly_better)
    origin = estimate.origins[number]
    return ColumnReport(
        name=block.name,
        domain_size=len(block.values),
        exclusions_per_cell=block.exclusions_per_cell,
        exact_cells=block.exact_cells,
        empty_cells=block.empty_cells,
        entropy_start=facts.entropy_start,
        entropy_end=facts.entropy_end,
        entropy_reduction=facts.reduction,
        entropy_reduction_null=facts.reduction_null,
        mean_confidence=float(facts.answer_confidences.mean()),
        commonest_share=None if shares is None else float(np.clip(shares.values.max(), 0, 1)),
        heldout_score=judged.score if judged else None,
        estimated_accuracy=accuracy,
        flags=flags,
        flagged=flagged,
        action="kept" if flagged and keep_flagged else "imputed",
        fallback_rows=fallback_rows,
        low_confidence_cells=int((facts.answer_confidences < min_confidence).sum()),
        hidden_cells=judged.cells if judged else 0,
        commonest_share_interval=_commonest_share(shares) if shares else None,
        commonest_accuracy=known.commonest if known else None,
        gain=known.gain if known else None,
        confident=_confident(facts, known, min_confidence) if min_confidence else None,
        calibration=known.calibration if known else None,
        suspect_cells=int((estimate.mass[:, number] < SUSPECT).sum()),
        impossible_values=tuple(int(place) + 1 for place in impossible),
        method=origin.method,
        parts=origin.parts,
        round=origin.round,
        iterations=origin.iterations,
        accuracy_basis=rests_on.name,
        accuracy_reason=rests_on.reason,
        break_even_bias=under_bias.break_even,
        unnoticed_bias=under_bias.unnoticed,
        accuracy_under_bias=under_bias.accuracy,
        clearly_better=known.clearly_better if known else None,
        wrong_cells_most=wrong,
        wrong_cells_cost=None if wrong is None else facts.information_lost(wrong),
    )


def _confident(facts: ColumnFacts, judged: HeldOut | None, min_confidence: float) -> Confident:
    share = float((facts.answer_confidences >= min_confidence).mean())
    return Confident(share, judged.confident_accuracy if judged else None)


def _commonest_share(shares: Shares) -> Interval:
    place = int(shares.values.argmax())
    return Interval.around(float(shares.values[place]), float(shares.errors[place])).as_share
