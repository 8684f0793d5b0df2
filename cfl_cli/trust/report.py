"""The report of a run as plain data: facts and verdicts per CF, to JSON and back.

A report never holds a cell of the table. Domain values are in it as labels, and how common they
are: shares of rare ones are left out, as they may point at people.
A new figure is a field of `ColumnReport`; `verdict` fills it in, and `cli/pages/report` shows it.
"""

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import ceil, floor, hypot
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias

import polars as pl
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cfl_cli.core import Shown
from cfl_cli.core.messages import STORED, count, did_you_mean, either, option
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.methods.interface import Part, Tried
from cfl_cli.tables.checksums import TableContent
from cfl_cli.tables.files import Staging
from cfl_cli.trust import DRIFTED, NO_BETTER, NOT_UNIFORM, SMALL_REDUCTION, Verdict, verdict_on
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.intervals import Interval, wilson

# What a report holds of a batch's cells beside those at fitting: see `drift`, which finds it.


@dataclass(frozen=True)
class Drift:
    """How the cells of one CF in a batch are predicted, compared with similar cells at fitting."""

    cells: int  # number of compared cells
    # Mean, from 0 to 1, of how much likelier the cells are by the shares of the values alone than
    # by the model, on a log scale.
    loss: float
    loss_at_fitting: float  # the loss of held-out cells at fitting with as many exclusions
    limit: float  # largest mean loss that stable cells have by chance
    error: float | None  # standard error of loss − loss_at_fitting; None if there is only one row
    expected: float  # loss that the model itself expects of these rows
    expected_at_fitting: float  # loss that the model expected of the held-out cells at fitting
    # Smallest rise of the loss that this batch could show without earlier batches; None if it is
    # too small to show any.
    least_rise: float | None
    evidence: float = 0.0  # odds, over all batches, that cells are predicted worse
    alarm_at: float = 0.0  # evidence that raises the alarm
    alarm: bool = False  # whether this batch raised the alarm
    drifted_since: int | None = None  # number of the batch with the first alarm that is not over
    worse: bool = False  # whether this batch itself is predicted worse
    # Number of stable batches that end the drift; None if there is none.
    clears_after: int | None = None

    @property
    def earlier(self) -> str | None:
        """Return what is to be said of earlier batches where this one shows no drift."""
        if self.worse or self.drifted_since is None or self.clears_after is None:
            return None
        more = "one more such batch" if self.clears_after == 1 else f"{self.clears_after} more such"
        return (
            f"Drift began in batch {self.drifted_since}. This batch is predicted as well as at fitting. "
            f"The history clears after {more}{'' if self.clears_after == 1 else ' batches'}."
        )


# What rows that a person looked up say of all answers: Wilson's interval for a finite table.
#
# Of N answers n are drawn without replacement, and X of these are right. Then Var(X/n) =
# p(1−p)/n · (N−n)/(N−1), that of m = n(N−1)/(N−n) independent draws, and the interval holds those p
# from which X/n is at most z standard errors away:
#
#     (X/n + z²/2m ± z √(X/n (1 − X/n)/m + z²/4m²)) / (1 + z²/m)
#
# The true p is a whole number of rows over N, at least X and at most X + N − n of them, so the ends
# are rounded outward to such numbers. Nothing is assumed of how the cells came about.
#
# An estimate without truth held if it differs from the audit by no more than chance may do:
#
#     |estimate − X/n| ≤ √(a² + b²)
#
# where a and b are the sides of the two intervals that face each other. This is the 95 % interval of
# a difference; two intervals that just touch are farther apart.

WIDTH = 0.05  # of the interval that `more_rows` aims at


@dataclass(frozen=True)
class Audit:
    """The result for one CF of rows that a person checked. None: unknown."""

    answers: int  # imputed values in the whole table
    drawn: int  # number of imputed values that were drawn
    checked: int  # number of drawn values whose true value was found
    empty: int  # number of drawn values whose true value was not found
    right: int  # number of checked values that are correct
    accuracy: Interval
    # Accuracy if all drawn values without a true value were wrong; None: there are none.
    if_empty_wrong: Interval | None
    # Accuracy if all drawn values without a true value were correct; None: there are none.
    if_empty_right: Interval | None
    more_rows: int  # approximate number of further rows to check for an interval that is 0.05 wide
    estimate: Interval | None  # accuracy of these values as it was estimated without truth
    # Whether the estimate and the audit differ by no more than chance explains.
    estimate_held: bool | None
    former_accuracy: Interval | None  # estimated_accuracy of the report before any audit
    former_basis: str | None  # accuracy_basis of the report before any audit
    # Number of checked values that the row's own cell rules out; None: no schema was given.
    contradicted: int | None

    @property
    def estimate_was(self) -> str | None:
        """Return which way the estimate missed; None: it held, or there was none."""
        if self.estimate is None or self.estimate_held is not False:
            return None
        return "too high" if self.estimate.value > self.accuracy.value else "too low"


def judge_audit(
    *,
    answers: int,
    drawn: int,
    checked: int,
    right: int,
    estimate: Interval | None,
    former: tuple[Interval | None, str | None],
    contradicted: int | None,
) -> Audit:
    """Return what so many right answers among those checked mean for all of them."""
    accuracy = share(right, checked, answers)
    empty = drawn - checked
    return Audit(
        answers=answers,
        drawn=drawn,
        checked=checked,
        empty=empty,
        right=right,
        accuracy=accuracy,
        if_empty_wrong=share(right, drawn, answers) if empty else None,
        if_empty_right=share(right + empty, drawn, answers) if empty else None,
        more_rows=more_rows(right, checked, answers),
        estimate=estimate,
        estimate_held=agree(accuracy, estimate) if estimate else None,
        former_accuracy=former[0],
        former_basis=former[1],
        contradicted=contradicted,
    )


def agree(one: Interval, other: Interval) -> bool:
    """Return whether two independent estimates differ by no more than chance may do."""
    lower, upper = sorted((one, other), key=lambda interval: interval.value)
    reach = hypot(lower.high - lower.value, upper.value - upper.low)
    return upper.value - lower.value <= reach


def share(right: int, checked: int, answers: int) -> Interval:
    """Return the share of all answers that are right, from those of a random part."""
    low, high = ends(right / checked, checked, answers)
    fewest, most = right, right + answers - checked
    return Interval(
        right / checked,
        max(floor(low * answers), fewest) / answers,
        min(ceil(high * answers), most) / answers,
    )


def ends(observed: float, checked: float, answers: int) -> tuple[float, float]:
    """Return the ends of Wilson's interval before they are rounded to whole rows."""
    if checked >= answers:
        return observed, observed
    independent = checked * (answers - 1) / (answers - checked)
    interval = wilson(observed, independent)
    return interval.low, interval.high


def more_rows(right: int, checked: int, answers: int, width: float = WIDTH) -> int:
    """Return how many rows more the interval takes to be so narrow, as many being right as now."""
    least, enough = checked, answers

    def is_narrow(rows: int) -> bool:
        low, high = ends(right / checked, rows, answers)
        return high - low <= width

    if is_narrow(checked):
        return 0
    while enough - least > 1:  # the width falls with every row
        middle = (least + enough) // 2
        least, enough = (least, middle) if is_narrow(middle) else (middle, enough)
    return enough - checked


SettingValue: TypeAlias = bool | int | float | str | None

FLAGGING = {NO_BETTER, NOT_UNIFORM, DRIFTED}
SAVED_AS = {".html": "page", ".json": "json", ".csv": "csv", ".md": "md", ".txt": "table"}
CHECKSUM = "report_sha256"  # of all else in a report: the last key of its JSON
ADVICE = {
    SMALL_REDUCTION: (
        "the OFs barely predict this CF, or no better than they predict its shuffled cells. It is "
        "flagged only if the imputed values are not clearly better than the baseline. In that case, "
        f"keep it as observed ({option('keep_flagged', to=STORED)}), or add related OFs"
    ),
    "no-better-than-commonest": (
        "in cross-validation the imputed values don't beat the baseline, the most common value "
        "that each cell allows. Keep the CF as observed "
        f"({option('keep_flagged', to=STORED)}), add related OFs, or add rows"
    ),
    NOT_UNIFORM: (
        "values were not ruled out at random, or not as the schema says, so the accuracy can't be "
        "estimated. Check some rows by hand (cfl audit), or describe under `mechanism` how the "
        "cells were filled in"
    ),
    "fallback-rows": (
        "in some rows the estimate rules out every value that the cell allows, so all of these get "
        "the same probability. Look for wrong cells or a missing domain value"
    ),
    # Only of a batch of new rows.
    DRIFTED: (
        "the cells of this batch are predicted worse than "
        "those at fitting, beyond chance. The accuracy at fitting does not apply to it. Check whether a column has "
        "changed its meaning, and fit again with recent rows"
    ),
    "new-categories": (
        "some OFs have categories that the model has never seen. They count as missing. Correct "
        "them, or fit again"
    ),
    "out-of-range": (
        "some OFs have numbers outside the range at fitting. They are used unchanged. Correct "
        "them, or fit again"
    ),
}


@dataclass(frozen=True)
class Confident:
    share: float  # share of the cells whose confidence reaches min_confidence
    accuracy: Interval | None


@dataclass(frozen=True)
class Coverage:
    """The imputed values that a `min_confidence` would leave."""

    min_confidence: float
    share: float  # share of the cells that would be imputed
    accuracy: Interval | None  # None if it is unknown or hardly any value is so confident


@dataclass(frozen=True)
class ValueShare:
    """How common one value of a domain is. None: under 1 %, fewer than 10 rows, or unknown.

    If only `estimated_high` is known, the share is under 1 %. Older reports have the mean
    confidence as `estimated`, and no interval.
    """

    label: str | None  # None: a rare value of a domain that the schema does not list
    estimated: float | None  # share of the value, estimated from the cells without a model
    # Share of the cells that rule the value out; empty cells are not counted.
    ruled_out: float | None
    estimated_low: float | None = None  # lower end of the 95 % interval
    estimated_high: float | None = None
    mean_confidence: float | None = None


@dataclass(frozen=True)
class FittedMechanism:
    # One per value of the domain, with geometric mean 1; all are 1 if exclusions are uniform.
    weights: tuple[float, ...]
    # Whether exact cells show it to be clearly better, so that the imputed values use it.
    taken: bool
    uniform: Interval  # exact_accuracy under uniform exclusions
    fitted: Interval | None  # exact_accuracy with the weights; None if all weights are 1


CELLS = ("exclusions", "candidates", "values")


@dataclass(frozen=True)
class ColumnReport:
    """The facts and the verdict of one CF. None: not known."""

    name: str
    domain_size: int  # number of values
    exclusions_per_cell: float  # mean number
    exact_cells: int  # number of cells that leave only one value
    empty_cells: int
    entropy_start: float  # mean entropy of the values that cells allow, in natural logarithms
    entropy_end: float  # mean entropy of the confidences that are written
    entropy_reduction: Annotated[float, Field(ge=0, le=1)]  # share of entropy_start that is gone
    # The entropy reduction after the CF's cells were shuffled over the rows.
    entropy_reduction_null: float | None
    mean_confidence: float  # mean confidence of the imputed values
    commonest_share: float | None  # estimated share of the domain's most common value
    heldout_score: float | None  # mean log-likelihood of the held-out cells
    # Share of correct imputed values, with a 95 % interval. If people chose the exclusions, low and
    # high are the range under bias.
    estimated_accuracy: Interval | None
    flags: tuple[str, ...]
    flagged: bool  # whether the CF should be checked before use
    action: str  # imputed, or kept (left as observed)
    # Number of rows in which the estimate rules out every value that the cell allows.
    fallback_rows: int
    low_confidence_cells: int  # number of cells with a confidence below min_confidence
    hidden_cells: int = 0  # number of held-out cells that the estimates are based on
    commonest_share_interval: Interval | None = None
    # Accuracy of the baseline, the most common value that each cell allows.
    commonest_accuracy: Interval | None = None
    gain: Interval | None = None  # estimated_accuracy less commonest_accuracy, on the same cells
    confident: Confident | None = None  # None if no min_confidence was given
    calibration: Calibration | None = None
    suspect_cells: int = 0  # number of cells whose allowed values get under 1 % of the estimate
    # Places in the domain, from 1, of values that are ruled out too often.
    impossible_values: tuple[int, ...] = ()
    method: str = "graph"  # method that made the imputed values
    parts: tuple[Part, ...] = ()  # methods from which it was chosen or blended
    round: int | None = None  # round of the graph that was used
    iterations: int | None = None  # number of propagation steps in that round
    # Assumption of the accuracy: uniform, mechanism, exact-cells, audit, or none. None: not
    # recorded.
    accuracy_basis: str | None = None
    accuracy_reason: str | None = None  # why the accuracy is unknown
    # How many times as often as other values some wrong values must be ruled out before the low end
    # of the accuracy is no longer above commonest_accuracy.
    break_even_bias: float | None = None
    # How many times as often as other values one value must be ruled out to be detected. None
    # although there is an accuracy: no such bias would have been detected.
    unnoticed_bias: float | None = None
    # Range of the accuracy if some values are ruled out `assumed_bias` times as often as other
    # values.
    accuracy_under_bias: Interval | None = None
    # The setting `bias`, or the bias that is assumed if people chose the exclusions.
    assumed_bias: float | None = None
    # How exclusions came about according to the schema: at-random or by-people.
    drawn: str | None = None
    audit: Audit | None = None  # result of checking rows by hand
    # Whether imputed values are clearly better than the baseline.
    clearly_better: bool | None = None
    # Upper limit of the share of cells that rule out the true value.
    wrong_cells_most: float | None = None
    # Share of the cells' information that is lost at that limit.
    wrong_cells_cost: float | None = None
    entropy_end_raw: float | None = None  # entropy_end before calibration
    # Calibration before confidences were raised to a power; None if they were not.
    calibration_raw: Calibration | None = None
    # Power to which confidences were raised; None without calibration.
    calibration_power: float | None = None
    # Accuracy of cells without the exact mark, measured on held-out cells with it. It assumes that
    # marked cells are a random sample, and is too high if easy cases were recorded first. None:
    # fewer than 50 marked cells were held out.
    exact_accuracy: Interval | None = None
    hidden_exact_cells: int = 0  # number of held-out cells with the exact mark
    # None if no mechanism was to be fitted or none could be fitted.
    fitted_mechanism: FittedMechanism | None = None
    # Whether exclusions are not as assumed, so that held-out cells can hardly rank methods.
    cautious_blend: bool = False
    fitting_score: float | None = None  # heldout_score at fitting, of a batch of new rows
    # The estimated_accuracy at fitting, of a batch of new rows.
    fitting_accuracy: Interval | None = None
    # The heldout_score of the batch less fitting_score, for cells with as many exclusions.
    score_change: Interval | None = None
    accuracy_change: Interval | None = None  # estimated_accuracy of the batch less fitting_accuracy
    drift: Drift | None = None
    drift_reason: str | None = None  # why drift was not evaluated
    # Shares of the values, in the domain's order. Empty: not recorded.
    values: tuple[ValueShare, ...] = ()
    # Share of the imputed values in each tenth of confidence.
    confidence_shares: tuple[float, ...] = ()
    # Imputed values that each min_confidence from 0.5 to 0.95 would leave.
    coverage: tuple[Coverage, ...] = ()
    stops: tuple[int, ...] = ()  # number of steps after which each round of the graph stopped
    # Settings that were compared on held-out cells; empty if nothing was chosen.
    tried: tuple[Tried, ...] = ()
    # Reason why the cells were blurred on purpose (privacy), if the run was permitted to infer
    # them.
    blurred: str | None = None
    # Grade of the CF's learned metric; None if its distances are plain.
    metric: float | None = None
    # What a cell holds: exclusions, candidates, or a value that may be wrong.
    cells: Annotated[str, Field(json_schema_extra={"enum": [*CELLS]})] = "exclusions"
    # Number of cells that are the block that a value lies in; the accuracy is that of other cells.
    block_cells: int = 0
    # Sets of values that cells cannot tell apart, by their places in the domain, from 1.
    not_told_apart: tuple[tuple[int, ...], ...] = ()
    # The same places by the name under which they are imputed; none if shares divide them.
    imputed_together: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # What to do with the imputed values. It is computed from the other fields whenever a report is
    # made or read.
    verdict: Annotated[str, Field(json_schema_extra={"enum": [*Verdict]})] = Verdict.NOT_KNOWN
    # Codes of the reasons for the verdict, the most important one first.
    reasons: tuple[str, ...] = ()
    next: str | None = None  # what to type next: a command, or an option of the same command

    def __repr__(self) -> str:
        def shown(one: Interval | None) -> str:
            return f"{one.value:.2f} ({one.low:.2f}–{one.high:.2f})" if one else "not known"

        baseline = (
            f", baseline {self.commonest_accuracy.value:.2f}" if self.commonest_accuracy else ""
        )
        accuracy = f"accuracy {shown(self.estimated_accuracy)}{baseline}"
        return f"ColumnReport({self.name!r}: {self.verdict}, {accuracy}, {self.action})"


def verdict_first(column: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a CF with its verdict behind its name."""
    first = ("name", "verdict", "reasons", "next")
    return {name: column[name] for name in first} | column


def is_flagged(flags: Collection[str], *, clearly_better: bool) -> bool:
    """Return whether a CF with these flags is to be checked before use.

    `clearly_better` says that hidden cells show its answers to gain on the commonest candidate.
    """
    return not FLAGGING.isdisjoint(flags) or (SMALL_REDUCTION in flags and not clearly_better)


def failing(
    report: "Report", fail_on: str, *, fitted: "Report | None" = None
) -> dict[str, tuple[str, ...]]:
    """Return the CFs for which a run fails if it is to `fail_on` something, with their flags.

    `fitted` is the report of a batch's model. Where there is none, every flag is a new one.
    """
    before = {one.name: one for one in fitted.columns} if fitted else {}
    found = {}
    for column in report.columns:
        flags = column.flags
        if fail_on == DRIFTED:
            flags = tuple(flag for flag in flags if flag == DRIFTED)
        elif fail_on == "new" and (then := before.get(column.name)):
            flags = tuple(flag for flag in flags if flag in FLAGGING and flag not in then.flags)
        elif fail_on == "never" or not column.flagged:
            continue
        if flags:
            found[column.name] = flags
    return found


@dataclass(frozen=True)
class BatchFacts:
    """Facts about a batch of new rows, compared with the rows that its model was fitted to."""

    rows_judged: int  # number of rows that were evaluated
    # Share of the rows with unknown categories, for each OF that has any.
    new_categories: dict[str, float]
    # Share of the rows with numbers outside the fitted range, for each OF that has any.
    out_of_range: dict[str, float]
    model: str  # SHA-256 of the model
    checksum: str  # SHA-256 of the rows
    # Number of the batch among this model's batches in the history; None: no history.
    number: int | None = None


@dataclass(frozen=True)
class RowsDrawn:
    rows: int
    of: int


@dataclass(frozen=True)
class Sources:
    """The files that a result was made from, by their names without folders.

    Checksums are the SHA-256 of a file's bytes. None if there was no such file.
    """

    table: str | None = None  # name of the table; - is standard input
    table_sha256: str | None = None
    schema: str | None = None
    # SHA-256 of the schema file, or of its text if there is no file.
    schema_sha256: str | None = None
    # Options of the command line that say how the table is read.
    reading: dict[str, SettingValue] = field(default_factory=dict)
    # Generated column names, each with the name in the file.
    renamed: dict[str, str] = field(default_factory=dict)
    # How OUT is written, if its form is unusual.
    writing: dict[str, str] = field(default_factory=dict)
    diagnostics: str | None = None
    diagnostics_sha256: str | None = None


@dataclass(frozen=True)
class Report(Shown):
    """The facts of one run."""

    # A report may come from a file that anybody wrote: what is read must be printable. This holds
    # for all dataclasses within it, too.
    __pydantic_config__: ClassVar = ConfigDict(strict=True, allow_inf_nan=False)

    cfl_version: str
    rows: int
    settings: dict[str, SettingValue]  # settings of the run, with the method that ran
    columns: tuple[ColumnReport, ...]  # one object for each CF, in the schema's order
    warnings: tuple[str, ...] = ()
    # Number of missing cells that were filled in, for each OF that has any.
    missing_cells: dict[str, int] = field(default_factory=dict)
    # Number of rows whose weights OSQP did not find and an exact solver found.
    rescued_rows: int = 0
    neighbor_recall: float = 1.0  # measured share of the true neighbors that were found
    solver: str | None = None  # solver of the weights; None without a graph, or in older reports
    steps: tuple[int, ...] = ()  # number of propagation steps in each round
    timings: dict[str, float] = field(default_factory=dict)  # seconds of each stage
    peak_memory_mb: float | None = None
    reference_rows: int | None = None  # number of reference rows that the method learned from
    groups: int | None = None  # number of groups of rows that belong together; None without groups
    version: int = 1
    batch: BatchFacts | None = None  # None if the report is about the fitted rows
    sources: Sources | None = None  # None: not recorded
    answers_sha256: str | None = None  # SHA-256 of the content of the new columns, in any format
    sample: RowsDrawn | None = None  # the rows that were learned from; None: all rows
    # Versions of Python and of the libraries that decide numbers.
    versions: dict[str, str] = field(default_factory=dict)
    # Content of the table that the report belongs to; None: not recorded.
    content: TableContent | None = None

    def __post_init__(self) -> None:
        columns = []
        for column in self.columns:
            found = verdict_on(column, self.rows)
            verdict, reasons = found.verdict, found.reasons
            columns.append(replace(column, verdict=verdict, reasons=reasons, next=found.next))
        object.__setattr__(self, "columns", tuple(columns))

    def __getitem__(self, cf: str) -> ColumnReport:
        """Return the facts and the verdict of one CF.

        Examples
        --------
        >>> result.report["job"].verdict
        <Verdict.USE: 'use'>
        """
        for column in self.columns:
            if column.name == cf:
                return column
        raise KeyError(f"no CF {cf!r} in this report{did_you_mean(str(cf), self)}")

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self.columns)

    def __repr__(self) -> str:
        flagged = sum(column.flagged for column in self.columns)
        said = f", {flagged:,} flagged" if flagged else ""
        return f"Report({count(self.rows, 'row')}, {count(len(self.columns), 'CF')}{said})"

    @property
    def kept(self) -> frozenset[str]:
        return frozenset(column.name for column in self.columns if column.action == "kept")

    def to_json(self) -> str:
        """Return the report as JSON text, one object, with a checksum of itself."""
        facts = asdict(self)
        facts["columns"] = [verdict_first(column) for column in facts["columns"]]
        for column in facts["columns"]:
            for facts_of in (column, *column["parts"]):
                if facts_of["metric"] is None:  # so that reports of plain graphs stay as they were
                    del facts_of["metric"]
        if facts["sources"] and not facts["sources"]["writing"]:
            del facts["sources"]["writing"]
        facts[CHECKSUM] = _checksum(facts)
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)

    def to_frame(self) -> pl.DataFrame:
        """Return a polars table with a row for each CF, as `cfl report --format csv` writes it.

        Examples
        --------
        >>> result.report.to_frame().select("name", "flagged").rows()
        [('job', False)]
        """
        words = {"true": True, "false": False}  # as CSV has them
        records = Shown.rendered(self, "records")
        facts = [{key: words.get(one, one) for key, one in record.items()} for record in records]
        names = [column.name for column in self.columns]
        return pl.DataFrame(facts, infer_schema_length=None).with_columns(name=pl.Series(names))

    def to_html(self) -> str:
        """Return the page that `cfl report --format html` makes: one file, for any browser."""
        return str(Shown.rendered(self, "page"))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write the report in the format of the file name; the file appears complete or not at all.

        Parameters
        ----------
        path : str or path
            Ends in .html, .json, .csv, .md or .txt. `cfl_cli.report` reads .json again.
        overwrite : bool, default True
            Replace an existing file.

        Raises
        ------
        UsageError
            The name has another ending.
        ResourceError
            It cannot be written.

        Examples
        --------
        >>> result.report.save("report.html")
        """
        target = Path(path)
        form = SAVED_AS.get(target.suffix.lower())
        if form is None:
            text, known = "{file}: unknown format: {remedy}", [*SAVED_AS]
            remedy = f"end the name in {either(known)}"
            raise UsageError(Problem("report-format", text, file=str(target), remedy=remedy))
        text = self.to_json() + "\n" if form == "json" else str(Shown.rendered(self, form))
        with Staging(overwrite=overwrite) as staging, staging.file(target) as file:
            file.write(text.encode())

    @classmethod
    def from_json(cls, text: str | bytes, *, name: str) -> "Report":
        """Read a report that `to_json` wrote; errors use `name` for the text."""
        try:
            report = TypeAdapter(cls).validate_json(text)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(str(part) for part in fault["loc"]) or "the whole"
            said = "{file}: not a report of cfl ({place}: {fault})"
            found = Problem("report-damaged", said, file=name, place=place, fault=fault["msg"])
            raise DataError(found) from None
        if report.version != 1:
            said = "{file}: a report of version {version}; this cfl reads version 1"
            raise DataError(Problem("report-newer", said, file=name, version=report.version))
        facts = json.loads(text)
        recorded = facts.pop(CHECKSUM, None)
        if recorded != _checksum(facts) and (recorded or report.content):  # older ones have neither
            said = "{file}: the report has changed since it was written, so its checksum differs: {remedy}"
            fix = "restore it from a copy, or impute again"
            raise DataError(Problem("report-damaged", said, file=name, remedy=fix))
        return report


def _checksum(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
