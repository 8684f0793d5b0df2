"""The report of a batch of new rows: every new cell is a fresh test of a model fitted before.

The model has not seen the cells, so that its priors of them are judged as those of hidden rows are,
by the same figures. Beside these stands what was so at fitting, and what the batch says of drift.
What was flagged at fitting is a fact of the model and stays: a batch raises only what it refutes.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import STORED, command
from cfl_cli.estimators.interface import Estimate, Power
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust import verdict
from cfl_cli.trust.basis import NONE
from cfl_cli.trust.detector import ALARM, Course
from cfl_cli.trust.drift import Comparison, compare
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.reference import Reference
from cfl_cli.trust.report import (
    ADVICE,
    FLAGGING,
    NOT_UNIFORM,
    SMALL_REDUCTION,
    Batch,
    ColumnReport,
    Report,
    SettingValue,
)

# How often a batch of honest cells may be accused of not being as assumed, all CFs together …
LEVEL = 0.0005
TESTS = 4  # … and all of these: by value and rank, by sureness, of all rows, of the accuracy
OF_THE_MODEL = {SMALL_REDUCTION, "no-better-than-commonest", NOT_UNIFORM}
FEW = 50  # cells, below which their shares and their calibration are mostly chance
FAR = 0.1  # of a score, for which more rows than were hidden from are no explanation
NO_ROWS = "the batch has no rows"


@dataclass(frozen=True)
class Counts:
    """What is counted over all rows of a batch, whether or not they are judged; of one CF."""

    exact: int
    empty: int
    fallback: int
    low_confidence: int
    suspect: int  # cells whose mass is below `verdict.SUSPECT`


@dataclass(frozen=True)
class JudgedBatch:
    """The report of a batch, and what the next one needs to know of each CF."""

    report: Report
    courses: tuple[Course, ...]


def reference_of(encoded: Encoded, estimate: Estimate) -> Reference:
    """Return what later batches are compared with, from the hidden cells of the fitted rows."""
    numbers = range(len(encoded.blocks))
    hidden = [ColumnFacts(encoded, estimate, n).hidden_cells for n in numbers]
    return Reference.of(hidden, encoded.known.shares())


def judge_batch(
    encoded: Encoded,
    estimate: Estimate,
    *,
    batch: Batch,
    rows: int,
    counts: Sequence[Counts],
    fitting: Report,
    reference: Reference,
    courses: Sequence[Course] | None = None,
    cfl_version: str,
    settings: dict[str, SettingValue],
    min_confidence: float = 0.0,
    bias: float = 1.0,
    kept: Collection[str] = (),
    jobs: int = 1,
) -> JudgedBatch:
    """Return the report of one batch, without its timings and memory.

    `encoded` and `estimate` are those of the rows that are judged; the estimate's hidden rows are
    all of these, with the shares by the fitted rows' cells. `rows` and `counts`, per CF, are of all
    rows. `fitting` is the report at fitting and `reference` its hidden cells; `courses`, per CF,
    are what the batches before say, None if there is no history. `kept` names the CFs that stay as
    observed.
    """
    before = tuple(courses or [Course()] * len(encoded.blocks))
    if len(encoded.features):
        found = _build(
            encoded,
            estimate,
            fitting=fitting,
            cfl_version=cfl_version,
            settings=settings,
            min_confidence=min_confidence,
            bias=bias,
            jobs=jobs,
        )
    else:
        empty = tuple(_empty(block.name, len(block.values)) for block in encoded.blocks)
        found = Report(cfl_version, 0, settings, empty, warnings=encoded.warnings)
    columns, after = [], []
    for number, (column, course) in enumerate(zip(found.columns, before, strict=True)):
        hidden = ColumnFacts(encoded, estimate, number).hidden_cells
        comparison = compare(hidden, reference, number)
        cfs = len(reference.columns)
        step = course.after(comparison.evidence, batch.number or 1, cfs=cfs)
        if comparison.drift is not None:
            drift = replace(
                comparison.drift,
                evidence=step.evidence,
                alarm_at=float(ALARM * cfs),
                alarm=step.alarm,
                drifted_since=step.course.drifted_since,
            )
            comparison = replace(comparison, drift=drift)
        after.append(step.course)
        columns.append(
            _column(
                _counted(column, counts[number]),
                fitting.columns[number],
                comparison,
                drifted=step.course.drifted_since is not None,
                batch=batch,
                kept=kept,
            )
        )
    few = any(column.hidden_cells < FEW for column in columns)
    warnings = (*found.warnings, *([_few(columns)] if few and rows else []), *_fitted(columns))
    report = replace(found, rows=rows, columns=tuple(columns), warnings=warnings, batch=batch)
    return JudgedBatch(report, tuple(after))


def _build(
    encoded: Encoded,
    estimate: Estimate,
    *,
    fitting: Report,
    cfl_version: str,
    settings: dict[str, SettingValue],
    min_confidence: float,
    bias: float,
    jobs: int,
) -> Report:
    """Return the report of the judged rows as if they were a table of their own."""
    # New rows had no part in a CF's power: all of them take the one that they are written with.
    powers = estimate.powers and tuple(
        power and Power(power.value, (power.value, power.value)) for power in estimate.powers
    )
    return verdict.build(
        encoded,
        replace(estimate, powers=powers),
        cfl_version=cfl_version,
        settings=settings,
        k=1,
        always_second_round=False,
        min_confidence=min_confidence,
        bias=bias,
        jobs=jobs,
        level=LEVEL / (TESTS * len(encoded.blocks)),
        refuted={column.name for column in fitting.columns if NOT_UNIFORM in column.flags},
    )


def _column(
    column: ColumnReport,
    fitting: ColumnReport,
    comparison: Comparison,
    *,
    drifted: bool,
    batch: Batch,
    kept: Collection[str],
) -> ColumnReport:
    """Return the report of one CF, with what was so at fitting and the flags of a batch."""
    fired = {
        *OF_THE_MODEL.intersection(fitting.flags),
        *({NOT_UNIFORM, "fallback-rows"}.intersection(column.flags)),
        *(["drifted"] if drifted else []),
        *(["new-categories"] if batch.new_categories else []),
        *(["out-of-range"] if batch.out_of_range else []),
    }
    flags = tuple(flag for flag in ADVICE if flag in fired)
    action = "kept" if column.name in kept else "imputed"
    if column.hidden_cells < FEW:
        column = _without_what_takes_many(column)
    return replace(
        column,
        flags=flags,
        flagged=fitting.flagged or not FLAGGING.isdisjoint(flags),
        action=action,
        fitting_score=fitting.heldout_score,
        fitting_accuracy=fitting.estimated_accuracy,
        score_change=comparison.score_change,
        accuracy_change=difference(column.estimated_accuracy, fitting.estimated_accuracy),
        drift=comparison.drift,
        drift_reason=comparison.reason,
    )


def difference(one: Interval | None, other: Interval | None) -> Interval | None:
    """Return how much higher one of two independent estimates is (Newcombe's interval)."""
    if one is None or other is None:
        return None
    value = one.value - other.value
    below = ((one.value - one.low) ** 2 + (other.high - other.value) ** 2) ** 0.5
    above = ((one.high - one.value) ** 2 + (other.value - other.low) ** 2) ** 0.5
    return Interval(value, value - below, value + above)


def _counted(column: ColumnReport, counts: Counts) -> ColumnReport:
    """Return the report with what was counted over all rows."""
    flags = {*column.flags} - {"fallback-rows"} | ({"fallback-rows"} if counts.fallback else set())
    return replace(
        column,
        flags=tuple(flags),
        exact_cells=counts.exact,
        empty_cells=counts.empty,
        fallback_rows=counts.fallback,
        low_confidence_cells=counts.low_confidence,
        suspect_cells=counts.suspect,
    )


def _without_what_takes_many(column: ColumnReport) -> ColumnReport:
    confident = column.confident and replace(column.confident, accuracy=None)
    return replace(
        column,
        commonest_share=None,
        commonest_share_interval=None,
        calibration=None,
        calibration_raw=None,
        confident=confident,
    )


def _few(columns: Sequence[ColumnReport]) -> str:
    names = ", ".join(column.name for column in columns if column.hidden_cells < FEW)
    return (
        f"{names}: fewer than {FEW} cells to judge by in this batch, so shares and calibration are "
        "not known and intervals are wide"
    )


def _fitted(columns: Sequence[ColumnReport]) -> list[str]:
    """Return what to say if cells are predicted better than any that the model has not seen."""
    better = [column.name for column in columns if _far_better(column)]
    if not better:
        return []
    said = (
        f"{', '.join(better)}: predicted far better than at fitting: if these are rows that the "
        f"model was fitted to, figures are too good; take those of {command('impute', to=STORED)}"
    )
    return [said]


def _far_better(column: ColumnReport) -> bool:
    now, then, scores = column.estimated_accuracy, column.fitting_accuracy, column.score_change
    more_accurate = now is not None and then is not None and now.low > then.high
    better = more_accurate or (scores is not None and scores.low > FAR)
    return better and column.hidden_cells >= FEW


def _empty(name: str, size: int) -> ColumnReport:
    """Return the report of a CF without rows."""
    return ColumnReport(
        name=name,
        domain_size=size,
        exclusions_per_cell=0.0,
        exact_cells=0,
        empty_cells=0,
        entropy_start=0.0,
        entropy_end=0.0,
        entropy_reduction=0.0,
        entropy_reduction_null=None,
        mean_confidence=0.0,
        commonest_share=None,
        heldout_score=None,
        estimated_accuracy=None,
        flags=(),
        flagged=False,
        action="imputed",
        fallback_rows=0,
        low_confidence_cells=0,
        accuracy_basis=NONE,
        accuracy_reason=NO_ROWS,
    )
