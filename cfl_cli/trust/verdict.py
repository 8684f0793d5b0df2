"""Which CFs can be trusted: the report of a run, from its estimate and its hidden cells."""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from cfl_cli.core.exclusions import Shares
from cfl_cli.core.parallel import Workers
from cfl_cli.core.versions import versions
from cfl_cli.estimators.interface import Estimate, Power
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.basis import EXACT_CELLS
from cfl_cli.trust.calibration import Calibration
from cfl_cli.trust.doubts import doubts
from cfl_cli.trust.facts import CalibratedFacts, ColumnFacts
from cfl_cli.trust.heldout import HeldOut
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import (
    SMALL_REDUCTION,
    ColumnReport,
    Confident,
    FittedMechanism,
    Report,
    SettingValue,
    is_flagged,
)
from cfl_cli.trust.shares import THRESHOLDS, confidence_shares, coverage, value_shares
from cfl_cli.trust.wrong_cells import most_wrong

LEAST_REDUCTION = 0.25  # of the entropy, below which it is small
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
    fitted: Mapping[int, FittedMechanism] | None = None,
    jobs: int = 1,
    level: float | None = None,
    refuted: Collection[str] = (),
) -> Report:
    """Return the report of one run, without its timings and memory.

    `settings` are recorded as they are; what decides anything here is passed by name. For `k` and
    `always_second_round` see `doubts`. `fitted` says what became of mechanisms to be fitted, by CF.
    `level` is that of each test of a mechanism, None for the usual one, and `refuted` names the CFs
    whose mechanism is known not to hold.
    """
    hidden = None if estimate.hidden is None else estimate.hidden.rows
    doubted = doubts(encoded, hidden, k=k, always_second_round=always_second_round)

    def column(number: int) -> ColumnReport:
        known = encoded.blocks[number].name in refuted
        facts = ColumnFacts(encoded, estimate, number, level=level, refuted=known)
        found = _column(facts, keep_flagged=keep_flagged, min_confidence=min_confidence, bias=bias)
        return replace(found, fitted_mechanism=(fitted or {}).get(number))

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
        groups=None if encoded.groups is None else len(np.unique(encoded.groups)),
        versions=versions(),
    )


def _column(
    facts: ColumnFacts, *, keep_flagged: bool, min_confidence: float, bias: float
) -> ColumnReport:
    block, number, estimate = facts.block, facts.number, facts.estimate
    # Thresholds are of confidences as they are written, so that calibrated ones are judged once
    # more; the last threshold is the one that was asked for.
    thresholds = (*THRESHOLDS, min_confidence)
    judged = facts.judged(() if facts.power else thresholds)
    rests_on = facts.rests_on(judged)
    # What rests on a refuted assumption is left out; the score only compares answers.
    known = judged if rests_on.known else None
    by_exact_cells = facts.accuracy_by_exact_cells
    accuracy = facts.stretched(known) if known else None
    written = known
    if known and facts.power is not None:
        written = CalibratedFacts(facts.encoded, estimate, number).judged(thresholds)
    under_bias = facts.under_bias(None if by_exact_cells else accuracy, known, bias)
    shares = None if rests_on.refuted else block.mechanism.shares(facts.candidates)
    wrong = most_wrong(facts.hidden_cells) if facts.hidden_cells and known else None
    fallback_rows = int(estimate.fell_back[:, number].sum())
    fired = {
        SMALL_REDUCTION: facts.reduction < LEAST_REDUCTION or facts.like_shuffled,
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
        estimated_accuracy=by_exact_cells or accuracy,
        flags=flags,
        flagged=flagged,
        action="kept" if flagged and keep_flagged else "imputed",
        fallback_rows=fallback_rows,
        low_confidence_cells=int((facts.answer_confidences < min_confidence).sum()),
        hidden_cells=judged.cells if judged else 0,
        commonest_share_interval=_commonest_share(shares) if shares else None,
        commonest_accuracy=known.commonest if known else None,
        gain=known.gain if known else None,
        confident=_confident(facts, written, min_confidence) if min_confidence else None,
        calibration=_calibration(written, facts.power),
        suspect_cells=int((estimate.mass[:, number] < SUSPECT).sum()),
        impossible_values=tuple(int(place) + 1 for place in facts.impossible),
        method=origin.method,
        parts=origin.parts,
        round=origin.round,
        iterations=origin.iterations,
        accuracy_basis=EXACT_CELLS if by_exact_cells else rests_on.name,
        accuracy_reason=None if by_exact_cells else rests_on.reason,
        break_even_bias=under_bias.break_even,
        unnoticed_bias=under_bias.unnoticed,
        accuracy_under_bias=under_bias.accuracy,
        clearly_better=known.clearly_better if known else None,
        wrong_cells_most=wrong,
        wrong_cells_cost=None if wrong is None else facts.information_lost(wrong),
        entropy_end_raw=facts.entropy_end_raw,
        calibration_raw=known.calibration if known and facts.power else None,
        calibration_power=facts.power.value if facts.power else None,
        exact_accuracy=facts.exact_audit.accuracy if facts.exact_audit else None,
        hidden_exact_cells=len(facts.exact_audit.right) if facts.exact_audit else 0,
        cautious_blend=origin.cautious,
        stops=origin.stops,
        values=value_shares(facts),
        confidence_shares=confidence_shares(facts),
        coverage=coverage(facts, written),
        tried=origin.tried,
    )


def _calibration(judged: HeldOut | None, power: Power | None) -> Calibration | None:
    if judged is None or judged.calibration is None or power is None:
        return judged.calibration if judged else None
    return replace(judged.calibration, power=power.value)


def _confident(facts: ColumnFacts, judged: HeldOut | None, min_confidence: float) -> Confident:
    share = float((facts.answer_confidences >= min_confidence).mean())
    return Confident(share, judged.confident_accuracies[-1] if judged else None)


def _commonest_share(shares: Shares) -> Interval:
    place = int(shares.values.argmax())
    return Interval.around(float(shares.values[place]), float(shares.errors[place])).as_share
