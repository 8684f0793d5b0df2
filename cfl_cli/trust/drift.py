"""Whether a batch's cells are predicted worse than those at fitting, and how much worse.

    rise = mean of x − m_s        m_s: the mean loss of reference cells with as many exclusions

Were some cells those of other rows, their losses would be larger: from this follows which rise a
batch would have shown. `reference` has the limits at fitting. These lie high, as folds know less
than the final model and chance needs room: the batches before lower them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, fsum, log, sqrt
from typing import Annotated, Any, Generic, Self, TypeVar

import numpy as np
from pydantic import Field

from cfl_cli.core.arrays import Floats, Ints, ranks, sums_by
from cfl_cli.core.messages import STORED, command
from cfl_cli.encode.encode import Encoded
from cfl_cli.methods.interface import Estimate, Power
from cfl_cli.trust import NONE, NOT_UNIFORM, SMALL_REDUCTION, verdict
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HiddenCells
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.powers import raised
from cfl_cli.trust.reference import (
    LEAST,
    NO_FOLDS,
    TOO_FEW,
    JudgedCells,
    Reference,
    exact_mean,
    judged_rows,
    losses,
    of_sizes,
    ratios,
    variance_of_mean,
)
from cfl_cli.trust.report import (
    ADVICE,
    FLAGGING,
    BatchFacts,
    ColumnReport,
    Drift,
    Report,
    SettingValue,
)

# Evidence that cells are predicted worse than a limit, valid though one looks after every batch.
#
# With x the loss of a cell, u the limit for cells like it, and bets f,
#
#     E_f = Π (1 + f (x/u − 1))        M_f ← (M_f + 1) · E_f        M = mean of M_f
#
# The product is over the cells of a batch; rows that belong together take part with their mean. If
# no cell's expected loss, given all before it, exceeds u, then E[E_f] ≤ 1 whatever the distribution,
# and M − (number of batches) is a supermartingale (Shiryaev and Roberts). With an alarm where
# M ≥ c·C, after which M_f starts anew from 0, and C CFs, however these depend on each other,
#
#     expected alarms of all CFs in T batches ≤ T / c        c = ALARM

# The limit u at fitting becomes, after batches without drift whose losses and limits sum to X and U,
#
#     u · min(1, max(½, (X + d) / U))       d² = REACH² (S + b·d)       b = (S + 1) / (X + 1)
#
# where S is the variance of X, and d as at fitting (`reference`). S adds up, batch by batch, the larger of the sum of the cells' squared deviations and of the batch's
# own. The limit of a batch is known before its cells are, so the bound above holds.
#
# The same evidence is gathered of x = 1[the cell rules out the prior's second value], of which no
# values and no priors make the mean more than u = max_v Π_s[v, second] (`exclusions`). It grows
# where people rule out what looks likeliest, and then no accuracy is known.

BETS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # with 1/32 or 0.9 beside them, delays are the same
ALARM = 2000  # for each CF and of each kind: one false alarm in so many batches, at most
REACH = 2.5  # 2 to 3.5 had as few alarms; above 3, changes were seen later
MOST = 1e15  # evidence of a batch: what is beyond counts as this, which only makes alarms rarer
_QUIET = 3  # batches without an alarm, at least, after which it may be over …
QUIET_CELLS = 200  # … if they hold so many cells, or small batches would end it by chance
_LOWEST = 0.5  # of a limit at fitting
_SURE = 1.645  # standard errors that leave 5 % to one side

Share = Annotated[float, Field(ge=0, le=1e30)]  # none that could overflow
_Count = Annotated[int, Field(ge=0)]
Evidence = Annotated[  # M_f
    tuple[Share, ...], Field(min_length=len(BETS), max_length=len(BETS))
]


@dataclass(frozen=True)
class Pooled:
    """Cells of some batches in a row, added up."""

    batches: _Count = 0
    cells: _Count = 0
    losses: Share = 0.0
    limits: Share = 0.0
    squares: Share = 0.0  # S, the variance of the losses' sum

    def with_batch(self, batch: "BatchEvidence") -> "Pooled":
        before = self if self.limits else batch
        apart = abs(batch.losses - before.losses / before.limits * batch.limits)
        return Pooled(
            self.batches + 1,
            self.cells + batch.cells,
            self.losses + batch.losses,
            self.limits + batch.limits,
            self.squares + max(batch.squares, min(apart, batch.cells) ** 2),
        )

    @property
    def lowering(self) -> float:
        """Return by which factor later batches' limits are lower."""
        if self.cells < QUIET_CELLS or not self.limits:
            return 1.0
        half = REACH**2 * (self.squares + 1) / (self.losses + 1) / 2
        most = self.losses + half + sqrt(half**2 + REACH**2 * self.squares)
        return min(1.0, max(_LOWEST, most / self.limits))


@dataclass(frozen=True)
class Course:
    """The evidence so far, and if it was too much: all that the next batch needs to know of it."""

    evidence: Evidence = (0.0,) * len(BETS)
    drifted_since: Annotated[int, Field(ge=1)] | None = None  # number of the batch; None: it is not
    quiet: Pooled = field(default_factory=Pooled)  # while drifted: batches without a new alarm

    def after(self, batch: "BatchEvidence", number: int, *, cfs: int) -> "Step[Self]":
        """Return what the next batch, which has this number, makes of it; one CF of `cfs`."""
        if not batch.cells:
            worse = self.drifted_since is not None
            return Step(self, float(np.mean(self.evidence)), alarm=False, worse=worse)
        grown = tuple(
            (before + 1) * ratio for before, ratio in zip(self.evidence, batch.ratios, strict=True)
        )
        evidence = fsum(grown) / len(grown)
        if evidence >= ALARM * cfs:
            first, none = self.drifted_since or number, (0.0,) * len(BETS)
            drifted = replace(self, evidence=none, drifted_since=first, quiet=Pooled())
            return Step(drifted, evidence, alarm=True, worse=True)
        if self.drifted_since is None:
            return Step(replace(self, evidence=grown), evidence, alarm=False, worse=False)
        quiet, over = self.quiet.with_batch(batch), False
        # It takes some cells to say that they are predicted well again.
        worse = not (_is_below(batch) and quiet.cells >= QUIET_CELLS)
        if quiet.batches >= _QUIET and quiet.cells >= QUIET_CELLS:
            over, quiet = _is_below(quiet), Pooled()
        since = None if over else self.drifted_since
        course = replace(self, evidence=grown, drifted_since=since, quiet=quiet)
        return Step(course, evidence, alarm=False, worse=worse and not over)

    @property
    def clears_after(self) -> int | None:
        """Return after how many more batches without drift it may be over; None: it is."""
        return None if self.drifted_since is None else max(_QUIET - self.quiet.batches, 1)


def _is_below(cells: "BatchEvidence | Pooled") -> bool:
    return cells.losses <= cells.limits + _SURE * sqrt(cells.squares)


@dataclass(frozen=True)
class DriftCourse(Course):
    """What the batches so far say of one CF."""

    stable: Pooled = field(default_factory=Pooled)  # batches without drift, by limits at fitting
    second: Course = field(default_factory=Course)  # of cells that rule out the second value

    def after(self, batch: "BatchEvidence", number: int, *, cfs: int) -> "Step[Self]":
        step = super().after(batch, number, cfs=cfs)
        if not batch.cells or step.course.drifted_since is not None:
            return step
        limits = batch.limits / self.stable.lowering  # at fitting
        stable = self.stable.with_batch(replace(batch, limits=limits))
        return replace(step, course=replace(step.course, stable=stable))


_OfCourse = TypeVar("_OfCourse", bound=Course)


@dataclass(frozen=True)
class Step(Generic[_OfCourse]):
    course: _OfCourse
    evidence: float  # M, before it starts anew
    alarm: bool
    worse: bool  # is this batch predicted worse, as far as is known?


@dataclass(frozen=True)
class BatchEvidence:
    """What the cells of one batch say of one CF: E_f, and the sums of losses and limits."""

    ratios: Sequence[float]
    cells: int
    losses: float
    limits: float
    squares: float = 0.0  # of the cells' distances from the batch's own mean

    @classmethod
    def of(cls, losses: Floats, limits: Floats, groups: Ints | None) -> "BatchEvidence":
        """Return it for cells, n; rows of one of `groups` belong together."""
        beyond = losses / limits - 1
        if groups is not None:
            beyond = sums_by(groups, beyond) / sums_by(groups, np.ones(len(beyond)))
        logs = (fsum(np.log1p(bet * beyond).tolist()) for bet in BETS)
        ratios = tuple(exp(min(total, log(MOST))) for total in logs)
        total, limit = fsum(losses.tolist()), fsum(limits.tolist())
        apart = sums_by(groups, losses - limits * (total / limit)) if len(losses) else losses
        return cls(ratios, len(losses), total, limit, fsum((apart**2).tolist()))


STEPS = 64  # of the share of scrambled cells that a batch might have shown
NONE_ALIKE = "no cell of this batch is like the held-out cells at fitting"
# Reasons as models store them, and as reports word them.
REASONS = {
    NO_FOLDS: "no cells were held out at fitting (--folds 0)",
    TOO_FEW: f"fewer than {LEAST} similar cells were held out at fitting",
}


@dataclass(frozen=True, eq=False)
class _Comparison:
    drift: Drift | None  # None: there is nothing to compare
    reason: str | None  # why there is nothing
    evidence: BatchEvidence
    score_change: Interval | None  # of the held-out score, for as many exclusions


_NOTHING = BatchEvidence((1.0,) * len(BETS), 0, 0.0, 0.0)


def compare_cells(
    hidden: HiddenCells | None, reference: Reference, number: int, *, lowering: float = 1.0
) -> _Comparison:
    """Return how new cells of a CF are predicted, against limits lower by a factor.

    Its drift knows nothing else of other batches yet.
    """
    column, limits = reference.columns[number], reference.limits(number)
    if column.reason is not None or hidden is None:
        return _Comparison(None, REASONS.get(column.reason or "", NONE_ALIKE), _NOTHING, None)
    shares = np.array(column.shares)
    cells = JudgedCells.of(hidden, shares, column.lows, power=column.power)
    if not len(cells.losses):
        return _Comparison(None, NONE_ALIKE, _NOTHING, None)
    places = np.searchsorted([of.exclusions for of in column.sizes], cells.exclusions)
    weights = np.bincount(places, minlength=len(column.sizes)) / len(places)
    limit = np.array([limits[of.exclusions] for of in column.sizes])[places] * lowering
    loss, score, expected = (  # at fitting, of cells like those of the batch, n
        np.array([getattr(of, name) for of in column.sizes])[places]
        for name in ("loss", "score", "expected")
    )

    def error_of(more: Floats, name: str) -> float | None:
        variance = variance_of_mean(more, cells.groups)
        parts = [getattr(of, name) for of in column.sizes]
        then = float(weights**2 @ parts) * (2 if column.mutual else 1)
        return None if variance is None else sqrt(variance + then)

    evidence = BatchEvidence.of(cells.losses, limit, cells.groups)
    better = cells.scores - score
    score_error = error_of(better, "score_variance")
    drift = Drift(
        cells=len(cells.losses),
        loss=exact_mean(cells.losses),
        loss_at_fitting=exact_mean(loss),
        limit=exact_mean(limit),
        error=error_of(cells.losses - loss, "loss_variance"),
        expected=exact_mean(cells.expected),
        expected_at_fitting=exact_mean(expected),
        least_rise=least_rise(
            cells.losses,
            loss,
            scrambled(hidden, shares, column.lows, power=column.power),
            limit,
            independent=len(sums_by(cells.groups, cells.losses)),
            cfs=len(reference.columns),
        ),
    )
    change = None if score_error is None else Interval.around(exact_mean(better), score_error)
    return _Comparison(drift, None, evidence, change)


def second_ruled_out(hidden: HiddenCells | None) -> BatchEvidence:
    """Return what cells say against being ruled out at random: see the comment above `BETS`."""
    if hidden is None or hidden.mechanism.size < 3 or not len(hidden.cells):
        return _NOTHING
    second, sizes = hidden.ranked[:, 1], (~hidden.cells).sum(axis=1)
    bounds = np.zeros(len(second))
    for size in np.unique(sizes[(sizes > 0) & (sizes < hidden.mechanism.exact)]):
        most = hidden.mechanism.inclusion(int(size)).max(axis=0)
        bounds[sizes == size] = most[second[sizes == size]]
    rows = np.flatnonzero((bounds > 0) & (bounds < 1))
    if not len(rows):
        return _NOTHING
    groups = None if hidden.groups is None else ranks(hidden.groups[rows])
    return BatchEvidence.of((~hidden.cells[rows, second[rows]]).astype(float), bounds[rows], groups)


def scrambled(
    hidden: HiddenCells, shares: Floats, lows: Mapping[int, float], *, power: float = 1.0
) -> Floats:
    """Return the losses of judged rows had they cells of other rows, with as many exclusions."""
    sizes = (~hidden.cells).sum(axis=1)
    others = np.arange(len(sizes))
    for size in lows:
        rows = np.flatnonzero(sizes == size)
        others[rows] = np.roll(rows, -(-len(rows) // 2))
    rows = judged_rows(hidden.cells, list(lows))
    prior = raised(hidden.prior[rows], power)
    found = ratios(prior, hidden.cells[others[rows]], hidden.mechanism, shares)
    return losses(found, of_sizes(lows, sizes[rows]))


def least_rise(
    own: Floats, then: Floats, scrambled: Floats, limits: Floats, *, independent: int, cfs: int
) -> float | None:
    """Return the least rise of the mean loss that a batch alone shows with a probability of 95 %.

    Its cells' losses are scaled to the mean that they had at fitting; then some become those that
    the same rows have with other rows' cells. None is returned if not even all of them would show
    anything.
    """
    mean_at_fitting, mean_now = exact_mean(then), exact_mean(own)
    scaled = own * (mean_at_fitting / mean_now) if mean_now > 0 else then
    stable = np.minimum(scaled, 1.0)
    shares = np.arange(STEPS + 1) / STEPS
    shown = np.zeros(len(shares), dtype=bool)
    for bet in BETS:
        one, two = (np.log1p(bet * (loss / limits - 1)) for loss in (stable, scrambled))
        gap = two.mean() - one.mean()
        growth = one.mean() + shares * gap
        variance = (1 - shares) * one.var() + shares * two.var() + shares * (1 - shares) * gap**2
        surely = independent * growth - _SURE * np.sqrt(independent * variance)
        shown |= surely >= log(len(BETS) * ALARM * cfs)
    rise = exact_mean(scrambled) - mean_at_fitting
    return float(shares[shown.argmax()] * rise) if shown.any() and rise > 0 else None


# The report of a batch of new rows: every new cell is a fresh test of a model fitted before.
#
# The model has not seen the cells, so that its priors of them are judged as those of hidden rows are,
# by the same figures. Beside these stands what was so at fitting, and what the batch says of drift.
# What was flagged at fitting is a fact of the model and stays: a batch raises only what it refutes.

# How often a batch of honest cells may be accused of not being as assumed, all CFs together …
_LEVEL = 0.0005
_TESTS = 4  # … and all of these: by value and rank, by sureness, of all rows, of the accuracy
OF_THE_MODEL = {SMALL_REDUCTION, "no-better-than-commonest", NOT_UNIFORM}
FEW = 50  # cells, below which their shares and their calibration are mostly chance
FAR = 0.1  # of a score, for which more rows than were hidden from are no explanation
NO_ROWS = "the batch has no rows"


@dataclass(frozen=True)
class BatchCounts:
    """What is counted over all rows of a batch, whether or not they are judged; of one CF."""

    exact: int
    empty: int
    fallback: int
    low_confidence: int
    suspect: int  # cells whose mass is below `verdict.SUSPECT`


@dataclass(frozen=True)
class JudgedBatch:
    report: Report
    courses: tuple[DriftCourse, ...]


def reference_of(encoded: Encoded, estimate: Estimate) -> Reference:
    numbers = range(len(encoded.blocks))
    hidden = [ColumnFacts(encoded, estimate, n).hidden_cells for n in numbers]
    return Reference.of(hidden, encoded.known.shares())


def judge_batch(
    encoded: Encoded,
    estimate: Estimate,
    *,
    batch: BatchFacts,
    rows: int,
    counts: Sequence[BatchCounts],
    fitting: Report,
    reference: Reference,
    courses: Sequence[DriftCourse] | None = None,
    cfl_version: str,
    settings: dict[str, SettingValue],
    min_confidence: float = 0.0,
    bias: float = 1.0,
    kept: Collection[str] = (),
    keep_flagged: bool = False,
    jobs: int = 1,
) -> JudgedBatch:
    """Return the report of one batch, without its timings and memory.

    `encoded` and `estimate` are those of the rows that are judged; the estimate's hidden rows are
    all of these, with the shares by the fitted rows' cells. `rows` and `counts`, per CF, are of all
    rows. `fitting` is the report at fitting and `reference` its hidden cells; `courses`, per CF,
    are what the batches before say, None if there is no history. `kept` names the CFs that stay as
    observed; with `keep_flagged`, those that the batch flags do, too.
    """
    before = tuple(courses or [DriftCourse()] * len(encoded.blocks))
    cfs, batch_number = len(reference.columns), batch.number or 1
    hidden = [ColumnFacts(encoded, estimate, cf).hidden_cells for cf in range(len(before))]
    second = [
        course.second.after(second_ruled_out(of), batch_number, cfs=cfs)
        for course, of in zip(before, hidden, strict=True)
    ]
    if len(encoded.features):
        # New rows had no part in a CF's power: all of them take the one they are written with.
        powers = estimate.powers and tuple(
            power and Power(power.value, (power.value, power.value)) for power in estimate.powers
        )
        found = verdict.build(
            encoded,
            replace(estimate, powers=powers),
            cfl_version=cfl_version,
            settings=settings,
            k=1,
            always_second_round=False,
            min_confidence=min_confidence,
            bias=bias,
            jobs=jobs,
            level=_LEVEL / (_TESTS * len(encoded.blocks)),
            refuted={
                column.name
                for column, step in zip(fitting.columns, second, strict=True)
                if NOT_UNIFORM in column.flags or step.worse
            },
        )
    else:
        empty = tuple(_empty(block.name, len(block.values)) for block in encoded.blocks)
        found = Report(cfl_version, 0, settings, empty, warnings=encoded.warnings)
    columns, after = [], []
    for number, (column, course) in enumerate(zip(found.columns, before, strict=True)):
        lowering = course.stable.lowering
        comparison = compare_cells(hidden[number], reference, number, lowering=lowering)
        step = course.after(comparison.evidence, batch_number, cfs=cfs)
        if comparison.drift is not None:
            drift = replace(
                comparison.drift,
                evidence=step.evidence,
                alarm_at=float(ALARM * cfs),
                alarm=step.alarm,
                drifted_since=step.course.drifted_since,
                worse=step.worse,
                clears_after=step.course.clears_after,
            )
            comparison = replace(comparison, drift=drift)
        after.append(replace(step.course, second=second[number].course))
        at_fitting, counted = fitting.columns[number], counts[number]
        one = _column(column, at_fitting, comparison, counted, batch, step.worse)
        stays = one.name in kept or (keep_flagged and one.flagged)
        columns.append(replace(one, action="kept" if stays else "imputed"))
    warnings = (*found.warnings, *_warnings(columns, rows))
    report = replace(found, rows=rows, columns=tuple(columns), warnings=warnings, batch=batch)
    return JudgedBatch(report, tuple(after))


def _column(
    column: ColumnReport,
    fitting: ColumnReport,
    comparison: _Comparison,
    counts: BatchCounts,
    batch: BatchFacts,
    is_drifted: bool,
) -> ColumnReport:
    fired = {
        *OF_THE_MODEL.intersection(fitting.flags),
        *({NOT_UNIFORM}.intersection(column.flags)),
        *(["fallback-rows"] if counts.fallback else []),
        *(["drifted"] if is_drifted else []),
        *(["new-categories"] if batch.new_categories else []),
        *(["out-of-range"] if batch.out_of_range else []),
    }
    flags = tuple(flag for flag in ADVICE if flag in fired)
    if column.hidden_cells < FEW:  # what takes many
        column = replace(
            column,
            commonest_share=None,
            commonest_share_interval=None,
            calibration=None,
            calibration_raw=None,
            confident=column.confident and replace(column.confident, accuracy=None),
        )
    return replace(
        column,
        exact_cells=counts.exact,
        empty_cells=counts.empty,
        fallback_rows=counts.fallback,
        low_confidence_cells=counts.low_confidence,
        suspect_cells=counts.suspect,
        flags=flags,
        flagged=fitting.flagged or not FLAGGING.isdisjoint(flags),
        fitting_score=fitting.heldout_score,
        fitting_accuracy=fitting.estimated_accuracy,
        score_change=comparison.score_change,
        accuracy_change=higher_by(column.estimated_accuracy, fitting.estimated_accuracy),
        drift=comparison.drift,
        drift_reason=comparison.reason,
    )


def higher_by(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return how much higher one of two independent estimates is (Newcombe's interval)."""
    if one is None or other is None:
        return None
    value = one.value - other.value
    below = ((one.value - one.low) ** 2 + (other.high - other.value) ** 2) ** 0.5
    above = ((one.high - one.value) ** 2 + (other.value - other.low) ** 2) ** 0.5
    return Interval(value, value - below, value + above)


def _warnings(columns: Sequence[ColumnReport], rows: int) -> Iterator[str]:
    few = [column.name for column in columns if column.hidden_cells < FEW]
    if few and rows:
        yield (
            f"{', '.join(few)}: fewer than {FEW} cells to evaluate in this batch, so shares and "
            "calibration are not known and intervals are wide"
        )
    better = []
    for column in columns:
        now, then, scores = column.estimated_accuracy, column.fitting_accuracy, column.score_change
        more_accurate = now is not None and then is not None and now.low > then.high
        if more_accurate or (scores is not None and scores.low > FAR):
            better += [column.name] if column.hidden_cells >= FEW else []
    if better:
        yield (
            f"{', '.join(better)}: predicted far better than at fitting. If the model was fitted to "
            "these rows, the figures are too good; use those of "
            f"{command('impute', to=STORED)}"
        )


def _empty(name: str, size: int) -> ColumnReport:
    counts = ("exact_cells", "empty_cells", "fallback_rows", "low_confidence_cells")
    means = ("exclusions_per_cell", "entropy_start", "entropy_end", "entropy_reduction")
    unknown = ("entropy_reduction_null", "commonest_share", "heldout_score", "estimated_accuracy")
    nothing: dict[str, Any] = {"name": name, "domain_size": size, "flags": (), "flagged": False}
    nothing |= dict.fromkeys(counts, 0) | dict.fromkeys((*means, "mean_confidence"), 0.0)
    nothing |= dict.fromkeys(unknown)
    nothing |= {"action": "imputed", "accuracy_basis": NONE, "accuracy_reason": NO_ROWS}
    return ColumnReport(**nothing)
