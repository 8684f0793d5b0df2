"""Which CFs can be trusted: the report of a run, from its estimate and its hidden cells."""

import platform
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.dataset import LEAST_EXACT
from cfl_cli.core.draws import hash_rows
from cfl_cli.core.messages import STORED, count, option, quote
from cfl_cli.core.parallel import Workers
from cfl_cli.encode.encode import Block, Encoded, names_of_classes
from cfl_cli.errors import Warned
from cfl_cli.methods.interface import Estimate
from cfl_cli.trust import (
    ALL_IN_BLOCKS,
    BIAS_OF_PEOPLE,
    BY_PEOPLE,
    EXACT_CELLS,
    NONE,
    NOT_RANDOM,
    SMALL_REDUCTION,
)
from cfl_cli.trust.bias import Biased
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import BINS, HeldOut, bins
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.mechanism import headline
from cfl_cli.trust.report import (
    ColumnReport,
    Confident,
    Coverage,
    FittedMechanism,
    Report,
    SettingValue,
    ValueShare,
    is_flagged,
)
from cfl_cli.trust.shares import (
    LEAST_CELLS,
    UNKNOWN,
    CellEstimate,
    Lines,
    alike,
    is_invertible,
    shares,
)

# How common a CF's values are, how sure its answers are, and how many a threshold would leave.
#
#     estimated(v) = mean of f(S, v) over the cells (`trust.shares`)
#     ruled out(v) = share of the cells that rule v out
#
# The mean confidence of v is no estimate of its share: its intervals held in a third of the cases.
# Shares that are small may point at people: what is under 1 %, or fewer than ten rows, is None. Cells
# with the exact mark, which rule out all but one value, are not counted among those that rule out.

_LEAST_SHARE = 0.01
_LEAST_ROWS = 10
THRESHOLDS = tuple(percent / 100 for percent in range(50, 100, 5))  # of a confidence


def without_truth(facts: ColumnFacts, judged: HeldOut | None) -> dict[str, Any]:
    """Return the fields of a report that say nothing of how right answers are, but for `coverage`.

    `judged` was asked for the thresholds first. Where a schema does not list the domain, its values
    come from cells: of those, a rare one has no label.
    """
    block, candidates, confidences = facts.block, facts.candidates, facts.answer_confidences
    lists = ~candidates.all(axis=1)
    if block.marked is not None:
        lists &= ~block.marked
    ruled_out = (~candidates[lists]).sum(axis=0) / max(lists.sum(), 1)
    means = _unless_rare(facts.confidences.mean(axis=0), len(candidates))
    seldom = _unless_rare(ruled_out, int(lists.sum()))
    estimated = shares_from_cells(facts) or [UNKNOWN] * len(block.values)
    found = np.array([-1.0 if one.value is None else min(one.value, 1.0) for one in estimated])
    shown = _unless_rare(found, len(candidates))
    values = tuple(
        ValueShare(
            value if block.listed or (mean, out) != (None, None) else None,
            share,
            out,
            one.low if share is not None else None,
            one.high,
            mean,
        )
        for value, share, out, one, mean in zip(
            block.values, shown, seldom, estimated, means, strict=True
        )
    )
    left = block.mechanism.leaves(candidates)
    open_cells = left.sum(axis=1) > 1  # exact ones are left aside
    counts = np.bincount(bins(confidences[open_cells]), minlength=BINS)
    shares = [float((confidences >= least).mean()) for least in THRESHOLDS]
    accuracies = judged.confident_accuracies if judged else ()
    coverage = tuple(
        Coverage(least, share, accuracies[place] if accuracies and share else None)
        for place, (least, share) in enumerate(zip(THRESHOLDS, shares, strict=True))
    )
    tenths = tuple((counts / counts.sum()).tolist()) if open_cells.any() else ()
    entropy, origin = facts.entropy, facts.estimate.origins[facts.number]
    return {
        "name": block.name,
        "domain_size": len(block.values),
        "exclusions_per_cell": block.exclusions_per_cell,
        "cells": block.cells,
        "exact_cells": block.exact_cells,
        "block_cells": 0 if block.blocks is None else int(block.blocks.sum()),
        "not_told_apart": not_told_apart(block.alike),
        "imputed_together": _together(block),
        "empty_cells": block.empty_cells,
        "entropy_start": entropy.start,
        "entropy_end": entropy.end,
        "entropy_end_raw": entropy.end_raw,
        "entropy_reduction": entropy.reduction,
        "entropy_reduction_null": entropy.reduction_null,
        "mean_confidence": float(confidences.mean()),
        "suspect_cells": 0
        if block.mechanism.noisy
        else int((facts.estimate.mass[:, facts.number] < SUSPECT).sum()),
        "impossible_values": tuple(int(place) + 1 for place in facts.impossible),
        "calibration_power": facts.power.value if facts.power else None,
        "method": origin.method,
        "parts": origin.parts,
        "round": origin.round,
        "iterations": origin.iterations,
        "cautious_blend": origin.cautious,
        "stops": origin.stops,
        "tried": origin.tried,
        "metric": origin.metric,
        "values": values,
        "confidence_shares": tenths,
        "coverage": coverage,
    }


def not_told_apart(alike: Ints | None) -> tuple[tuple[int, ...], ...]:
    """Return the places, from 1, of values that no cell tells apart."""
    if alike is None:
        return ()
    of = [np.flatnonzero(alike == number) + 1 for number in range(alike.max() + 1)]
    return tuple(tuple(places.tolist()) for places in of if len(places) > 1)


def _together(block: Block) -> dict[str, tuple[int, ...]]:
    """Return the same by the name under which they are imputed, if the schema lists the values."""
    if block.alike is None or block.shares is not None or not block.listed:
        return {}
    of = [np.flatnonzero(block.alike == number) + 1 for number in range(block.alike.max() + 1)]
    names = zip(names_of_classes(block), of, strict=True)
    return {name: tuple(places.tolist()) for name, places in names if len(places) > 1}


def _unless_rare(shares: Floats, rows: int) -> list[float | None]:
    small = (shares < _LEAST_SHARE) | (shares * rows < _LEAST_ROWS)
    return [None if few else share for few, share in zip(small, shares.tolist(), strict=True)]


def shares_from_cells(facts: ColumnFacts) -> list[CellEstimate] | None:
    """Return the shares that the cells themselves show; None if they do not bear it.

    Where the mechanism was to be fitted, only the exact cells count, which are a random sample.
    """
    block, cells, groups = facts.block, facts.drawn, facts.encoded.groups
    if not block.listed or facts.mechanism_refuted:
        return None
    if block.to_be_fitted and block.marked is not None:
        cells = np.where(block.marked[:, None], cells, True)
    found, sums, clusters = alike(cells, groups)
    if sums[:, 0].sum() < LEAST_CELLS or not is_invertible(found, block.mechanism):
        return None
    return shares(Lines.of(found, sums, block.mechanism, clusters))


# Warnings about tables in which hidden cells make answers look better than they are.


def doubts(
    encoded: Encoded, hidden: Ints | None, *, k: int, always_second_round: bool
) -> Iterator[str]:
    """Yield a sentence for each reason to doubt what hidden cells show.

    `hidden` are the rows whose cells were hidden; None: none were. `always_second_round` says that
    every CF takes the graph's second round, whatever hidden cells favor; `k` is its number of
    neighbors.
    """
    for block in encoded.blocks:
        if hidden is not None and block.marked_at_random:
            exact = 0 if block.marked is None else int(block.marked[hidden].sum())
            if exact < LEAST_EXACT:
                text = (
                    f"column {quote(block.name)}: {count(exact, 'held-out exact cell')}, "
                    f"and `exact_cells: random` needs {LEAST_EXACT} or more"
                )
                yield Warned(text, "few-exact-cells", block.name)
        if block.rates is not None and block.mechanism.inverse(1) is None:
            text = (
                f"column {quote(block.name)}: under its mechanism, exclusions can't tell some "
                "values apart, so its accuracy can't be estimated"
            )
            yield Warned(text, "values-not-distinguished", block.name)
    few = few_distinct(encoded.features, k=k) if always_second_round else None
    if few is not None:
        choices = [0] if hidden is None else ["auto", 0]
        instead = ", or ".join(str(option("gamma", choice, to=STORED)) for choice in choices)
        yield (
            f"only {few:,} rows are distinct by their OFs. A second round often makes such tables "
            f"worse, and held-out cells don't show it: try {instead}"
        )


def few_distinct(features: Floats, *, k: int) -> int | None:
    """Return how many rows are distinct by their OFs, if they are few; None: they are not.

    They are few where the rows of the same OFs are, on average, more than a row has neighbors.
    """
    distinct = len(np.unique(hash_rows(features)))
    return distinct if len(features) > k * distinct else None


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
        found = _column(facts, keep_flagged, min_confidence, bias)
        return replace(found, fitted_mechanism=(fitted or {}).get(number))

    with Workers(jobs) as workers:
        columns = list(workers.map(column, range(len(encoded.blocks))))
    return Report(
        cfl_version,
        len(encoded.features),
        settings,
        tuple(columns),
        warnings=(*encoded.warnings, *estimate.warnings, *doubted),
        missing_cells={
            name: counts.missing
            for name, counts in encoded.unusual.columns.items()
            if counts.missing
        },
        rescued_rows=estimate.rescued_rows,
        solver=estimate.solver,
        neighbor_recall=estimate.recall,
        steps=estimate.steps,
        groups=None if encoded.groups is None else len(np.unique(encoded.groups)),
        versions=versions(),
    )


def _column(facts: ColumnFacts, keeps: bool, min_confidence: float, bias: float) -> ColumnReport:
    block, number, estimate, entropy = facts.block, facts.number, facts.estimate, facts.entropy
    # Thresholds are of confidences as they are written, so that calibrated ones are judged once
    # more; the last threshold is the one that was asked for.
    thresholds = (*THRESHOLDS, min_confidence)
    judged = facts.judged(() if facts.power else thresholds)
    basis, why_none = facts.rests_on(judged)
    refuted = why_none == NOT_RANDOM
    # What rests on a refuted assumption is left out; the score only compares answers.
    known = judged if basis != NONE else None
    audit, by_exact_cells = facts.exact_audit, None
    if audit is not None and block.marked is not None and block.marked_at_random:
        by_exact_cells = headline(audit.accuracy, float(block.marked.mean()))
    accuracy = facts.stretched(known) if known else None
    written = known
    if known and facts.power is not None:
        calibrated = ColumnFacts(facts.encoded, estimate, number, calibrated=True)
        written = calibrated.judged(thresholds)
    calibration = written.calibration if written else None
    if calibration is not None and facts.power is not None:
        calibration = replace(calibration, power=facts.power.value)
    worth: dict[str, Any] = {}
    if known and accuracy and not by_exact_cells:
        worth = _under_bias(facts, accuracy, known.commonest.value, bias)
        if block.drawn == BY_PEOPLE:
            accuracy = worth.get("accuracy_under_bias") or accuracy
    shares = None if refuted else block.mechanism.shares(facts.drawn)
    commonest_interval = None
    if shares is not None:
        place = int(shares.values.argmax())
        value, error = float(shares.values[place]), float(shares.errors[place])
        commonest_interval = Interval.around(value, error).as_share
    wrong, cost = facts.wrong_cells() if known else (None, None)
    confident, confidences = None, facts.answer_confidences
    if min_confidence:
        right = written.confident_accuracies[-1] if written else None
        confident = Confident(float((confidences >= min_confidence).mean()), right)
    fallback_rows = int(estimate.fell_back[:, number].sum())
    fired = {
        # Inside a block nothing is learned without help, whatever the OFs say.
        SMALL_REDUCTION: why_none != ALL_IN_BLOCKS
        and (entropy.reduction < LEAST_REDUCTION or entropy.like_shuffled),
        # Where every cell is exact there is nothing to be better at.
        "no-better-than-commonest": known is not None
        and entropy.start > 0
        and not known.clearly_better,
        "exclusions-not-uniform": refuted,
        "fallback-rows": fallback_rows > 0,
    }
    flags = tuple(flag for flag, so in fired.items() if so)
    flagged = is_flagged(flags, clearly_better=known is not None and known.clearly_better)
    return ColumnReport(
        **without_truth(facts, written),
        commonest_share=None if shares is None else float(np.clip(shares.values.max(), 0, 1)),
        heldout_score=judged.score if judged else None,
        estimated_accuracy=by_exact_cells or accuracy,
        flags=flags,
        flagged=flagged,
        action="kept" if flagged and keeps else "imputed",
        fallback_rows=fallback_rows,
        low_confidence_cells=int((confidences < min_confidence).sum()),
        hidden_cells=judged.cells if judged else 0,
        commonest_share_interval=commonest_interval,
        commonest_accuracy=known.commonest if known else None,
        gain=known.gain if known else None,
        confident=confident,
        calibration=calibration,
        accuracy_basis=EXACT_CELLS if by_exact_cells else basis,
        accuracy_reason=None if by_exact_cells else why_none,
        **worth,
        drawn=block.drawn,
        clearly_better=known.clearly_better if known else None,
        wrong_cells_most=wrong,
        wrong_cells_cost=cost,
        calibration_raw=known.calibration if known and facts.power else None,
        exact_accuracy=audit.accuracy if audit else None,
        hidden_exact_cells=len(audit.right) if audit else 0,
    )


def _under_bias(
    facts: ColumnFacts, accuracy: Interval, baseline: float, bias: float
) -> dict[str, Any]:
    """Return the fields that say what an accuracy is worth if values are ruled out unevenly."""
    hidden, uniformity = facts.hidden_cells, facts.uniformity
    if hidden is None or uniformity is None:
        return {}
    if bias <= 1 and facts.block.drawn == BY_PEOPLE:
        bias = BIAS_OF_PEOPLE
    if facts.block.mechanism.noisy:  # how often cells are wrong is known
        return {}
    some = facts.candidates if facts.judged_rows is None else facts.candidates[facts.judged_rows]
    biased = Biased(hidden, some, rule=facts.rule)
    found: dict[str, Any] = {
        "break_even_bias": biased.break_even(accuracy, baseline),
        "unnoticed_bias": uniformity.noticed_bias,
    }
    if bias > 1:
        found |= {"accuracy_under_bias": biased.interval(accuracy, bias), "assumed_bias": bias}
    return found


# Which versions an answer was made with: those of Python and of what decides its digits.

DECIDING = ("numpy", "scipy", "osqp", "lightgbm", "polars", "pyarrow")


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in DECIDING:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # put on the path by other means than an installer
            found[package] = "unknown"
    return found
