"""Which CFs can be trusted: the report of a run, from its estimate and its hidden cells."""

from collections.abc import Iterator

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.blocks import best, entropies, start
from cfl_cli.core.draws import hash_rows
from cfl_cli.core.exclusions import Shares
from cfl_cli.core.known import Rule
from cfl_cli.core.messages import quote
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Workers
from cfl_cli.core.posterior import most_confident
from cfl_cli.estimators.interface import Estimate
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.heldout import BINS, NORMAL, HeldOut, Interval, judge
from cfl_cli.trust.report import (
    FLAGGING,
    Bin,
    Calibration,
    ColumnReport,
    Confident,
    Estimated,
    Part,
    Report,
    Setting,
)

SMALL_REDUCTION = 0.25
# Entropy that is left counts as less than the shuffled cells' if it is less by this share, and by
# so much more in a small table, where chance has its say.
CLEARLY_LESS = 0.03
CHANCE = 3.5  # over the square root of the rows: noise strays by a third of that, more or less
REPEATS = 10  # rows, at least, that are like another one in all that matters …
REPEATED = 0.8  # … and that share, at least, of the rows whose OFs are like another one's
ALONE = np.array([0])  # where the only block begins
STRETCH = 0.08  # of an interval, at most
BETTER = 0.7  # of the answers that differ from those that were judged, at most, or about
HEIGHTS = "▁▂▃▄▅▆▇█"
SUSPECT = 0.01  # of what the neighbors say, left to a cell's candidates


def build(
    encoded: Encoded,
    estimate: Estimate,
    *,
    cfl_version: str,
    settings: dict[str, Setting],
    keep_flagged: bool = False,
    min_confidence: float = 0.0,
    jobs: int = 1,
) -> Report:
    """Return the report of one run, without its timings and memory."""

    def column(number: int) -> ColumnReport:
        cells = Cells(encoded, estimate, number)
        return _column(cells, keep_flagged=keep_flagged, min_confidence=min_confidence)

    with Workers(jobs) as workers:
        columns = list(workers.map(column, range(len(encoded.blocks))))
    return Report(
        cfl_version,
        len(encoded.features),
        settings,
        tuple(columns),
        warnings=(*encoded.warnings, *estimate.warnings, *_doubts(encoded, settings)),
        rescued_rows=estimate.rescued_rows,
        neighbor_recall=estimate.recall,
        steps=estimate.steps,
    )


def _doubts(encoded: Encoded, settings: dict[str, Setting]) -> Iterator[str]:
    """Yield what makes hidden cells tell less than they seem to, or nothing."""
    for block in encoded.blocks:
        if block.rates is not None and not block.mechanism.tells_values_apart:
            yield (
                f"column {quote(block.name)}: cells of its mechanism do not tell the values apart, "
                "so that its accuracy cannot be estimated"
            )
    ofs = hash_rows(encoded.features)
    order = np.argsort(ofs, kind="stable")
    twins = order[1:][ofs[order[1:]] == ofs[order[:-1]]]  # rows whose OFs another has too
    before = order[:-1][ofs[order[1:]] == ofs[order[:-1]]]
    same = (encoded.candidates[twins] == encoded.candidates[before]).all(axis=1)
    undecided = any(len(block.values) > 2 for block in encoded.blocks)
    if undecided and same.sum() >= REPEATS and same.mean() > REPEATED:
        yield (
            f"{int(same.sum()):,} rows repeat another row, OFs, CFs and all: a hidden cell then "
            "has a twin that tells it, and estimated accuracies are too high; remove the repeats"
        )
    n, k, gamma = len(ofs), settings.get("k"), settings.get("gamma")
    distinct = n - len(twins)
    traits = METHODS[str(settings.get("method", "graph"))]
    twice = traits.second_round and isinstance(gamma, float) and gamma > 0
    if twice and isinstance(k, int) and n > k * distinct:
        yield (
            f"only {distinct:,} rows are distinct by their OFs, and then a second round often does "
            "harm that hidden cells do not show: try --gamma auto, or --gamma 0"
        )


class Cells:
    """All that is known of one CF's cells."""

    def __init__(self, encoded: Encoded, estimate: Estimate, number: int) -> None:
        self.number, self.estimate = number, estimate
        self.block = encoded.blocks[number]
        self.candidates = encoded.candidates[:, self.block.columns]
        self.confidences = estimate.confidences[:, self.block.columns]
        found = estimate.answers
        self.answers = (
            best(self.confidences, self.candidates) if found is None else found[:, number]
        )
        self.evidence = encoded.evidence[:, self.block.columns]
        beginning = start(self.evidence, ALONE)
        self.entropy_start = float(entropies(beginning, ALONE).mean())
        self.entropy_end = float(entropies(self.confidences, ALONE).mean())

    @property
    def reduction(self) -> float:
        """Return the share of the entropy that went."""
        return self._reduction(self.entropy_end)

    @property
    def reduction_null(self) -> float | None:
        """Return the share that would have gone had the cells been shuffled over the rows.

        It is measured in round one, whose graph knows nothing of the cells, and is carried over
        to the final answer in proportion.
        """
        null = self.estimate.null
        if null is None:
            return None
        own, shuffled = null.entropy[self.number], null.shuffled[self.number]
        return self._reduction(shuffled * (self.entropy_end / own if own > 0 else 1))

    @property
    def like_shuffled(self) -> bool:
        """Return whether no less entropy is left, clearly, than had the cells been shuffled."""
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

    def judged(self, min_confidence: float) -> HeldOut | None:
        """Return what the hidden cells tell, None if nothing."""
        hidden = self.estimate.hidden
        if hidden is None:
            return None
        seen = np.ones(len(self.candidates), dtype=bool)
        seen[hidden.rows] = False
        in_turn = not seen.any()  # then the shares can only be of all rows
        mechanism = self.block.mechanism
        shares = mechanism.shares(self.candidates[seen | in_turn])
        if shares is None:
            return None
        return judge(
            hidden.priors[:, self.block.columns],
            self.candidates[hidden.rows],
            self.candidates,
            mechanism,
            shares=shares.prior,
            min_confidence=min_confidence or None,
            mutual=in_turn,
            rule=self.rule,
        )

    def stretched(self, accuracy: Interval, confidence: float) -> Estimated:
        """Return the estimate of the answers, from that of the answers to hidden cells.

        What was judged has seen fewer cells, and of its own row only what the prior does not
        hold, than the answers that are given. These may be better for it, where they differ, and
        better or worse where they are more or less confident. So far the interval reaches further;
        how far was settled on tables whose truth is known.
        """
        hidden = self.estimate.hidden
        if hidden is None:
            return _estimated(accuracy)
        rows = hidden.rows
        judged, _ = self.rule(
            hidden.priors[:, self.block.columns], self.evidence[rows].astype(float)
        )
        differ = float((judged != self.answers[rows]).mean())
        more = float(self.answer_confidences[rows].mean()) - confidence
        low = accuracy.low - min(max(-more, 0.0), STRETCH)
        high = accuracy.high + min(max(more, BETTER * differ), STRETCH)
        return Estimated(float(accuracy.value), float(max(low, 0.0)), float(min(high, 1.0)))

    def _reduction(self, left: float) -> float:
        if self.entropy_start == 0:
            return 1.0
        return float(min(max(1 - left / self.entropy_start, 0.0), 1.0))


def _column(cells: Cells, *, keep_flagged: bool, min_confidence: float) -> ColumnReport:
    block, number, estimate = cells.block, cells.number, cells.estimate
    judged = cells.judged(min_confidence)
    accuracy = cells.stretched(judged.accuracy, judged.confidence) if judged else None
    shares = block.mechanism.shares(cells.candidates)
    impossible = block.mechanism.too_often(cells.candidates).values
    fallback_rows = int(estimate.fell_back[:, number].sum())
    fired = {
        "small-entropy-reduction": cells.reduction < SMALL_REDUCTION or cells.like_shuffled,
        # Where every cell is exact there is nothing to be better at.
        "no-better-than-commonest": judged is not None
        and accuracy is not None
        and cells.entropy_start > 0
        and accuracy.low <= judged.commonest.value,
        "exclusions-not-uniform": len(impossible) > 0,
        "fallback-rows": fallback_rows > 0,
    }
    flags = tuple(flag for flag, so in fired.items() if so)
    flagged = not FLAGGING.isdisjoint(flags)
    origin = estimate.origins[number]
    return ColumnReport(
        name=block.name,
        domain_size=len(block.values),
        exclusions_per_cell=block.exclusions_per_cell,
        exact_cells=block.exact_cells,
        empty_cells=block.empty_cells,
        entropy_start=cells.entropy_start,
        entropy_end=cells.entropy_end,
        entropy_reduction=cells.reduction,
        entropy_reduction_null=cells.reduction_null,
        mean_confidence=float(cells.answer_confidences.mean()),
        commonest_share=None if shares is None else float(np.clip(shares.values.max(), 0, 1)),
        heldout_score=judged.score if judged else None,
        estimated_accuracy=accuracy,
        flags=flags,
        flagged=flagged,
        action="kept" if flagged and keep_flagged else "imputed",
        fallback_rows=fallback_rows,
        low_confidence_cells=int((cells.answer_confidences < min_confidence).sum()),
        hidden_cells=judged.cells if judged else 0,
        commonest_share_interval=_share(shares) if shares else None,
        commonest_accuracy=_estimated(judged.commonest) if judged else None,
        gain=_estimated(judged.gain) if judged else None,
        confident=_confident(cells, judged, min_confidence) if min_confidence else None,
        calibration=_calibration(judged),
        suspect_cells=int((estimate.mass[:, number] < SUSPECT).sum()),
        impossible_values=tuple(int(place) + 1 for place in impossible),
        method=origin.method,
        parts=tuple(Part(part.name, part.score, part.weight) for part in origin.parts),
        round=origin.round,
        iterations=origin.iterations,
    )


def _confident(cells: Cells, judged: HeldOut | None, min_confidence: float) -> Confident:
    share = float((cells.answer_confidences >= min_confidence).mean())
    above = judged.above if judged else None
    return Confident(share, _estimated(above.accuracy) if above else None)


def _calibration(judged: HeldOut | None) -> Calibration | None:
    found = judged.calibration if judged else None
    if found is None:
        return None
    bins = tuple(
        Bin(
            part.low,
            part.high,
            part.cells,
            part.confidence,
            _within(part.accuracy, part.error),
        )
        for part in found.bins
    )
    return Calibration(found.error, _estimated(found.overconfidence), bins, _plot(bins))


def _plot(bins: tuple[Bin, ...]) -> str:
    heights = {round(part.low * BINS): part.accuracy.value for part in bins}
    return "".join(
        HEIGHTS[round(heights[place] * (len(HEIGHTS) - 1))] if place in heights else " "
        for place in range(BINS)
    )


def _share(shares: Shares) -> Estimated:
    place = int(shares.values.argmax())
    return _within(float(shares.values[place]), float(shares.errors[place]))


def _within(value: float, error: float) -> Estimated:
    """Return a share with its interval, none of it beyond 0 and 1."""
    value, low, high = np.clip([value, value - NORMAL * error, value + NORMAL * error], 0, 1)
    return Estimated(float(value), float(low), float(high))


def _estimated(interval: Interval) -> Estimated:
    return Estimated(float(interval.value), float(interval.low), float(interval.high))
