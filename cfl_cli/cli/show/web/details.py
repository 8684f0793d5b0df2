"""What a page says of one CF below the table."""

from collections.abc import Mapping

from cfl_cli.cli.show.history import CfCourse
from cfl_cli.cli.show.notes import of_column
from cfl_cli.cli.show.web import charts, numbers, plots
from cfl_cli.cli.show.web.courses import Course, Drifted, drifted, tried
from cfl_cli.cli.show.web.names import Name, Piece, name_of, sentence, visible
from cfl_cli.cli.show.web.overview import Judged, accuracy_text
from cfl_cli.cli.show.web.plots import Covered, Reliability
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.report import ColumnReport, Report, ValueShare

OPEN = 5  # CFs whose sections are open from the start, at most
FREQUENT = 15  # values that are shown at once
MANY = 2000  # values of all CFs, from which folded ones have no bars: the page would be too large
BAR = 90  # width of the longest bar


@dataclass(frozen=True)
class ValueRow:
    """A value of the domain: how common it is, and how often it is ruled out."""

    name: Name
    estimated: str
    ruled_out: str
    estimated_bar: float
    ruled_out_bar: float
    marked: bool  # ruled out too often


@dataclass(frozen=True)
class Values:
    """The values of a domain, the rare ones apart."""

    shown: tuple[ValueRow, ...]
    folded: tuple[ValueRow, ...]
    bars_in_folded: bool
    most: str  # that the longest bar stands for


@dataclass(frozen=True)
class PartRow:
    """Part of a blend."""

    name: str
    score: str
    weight: str
    bar: float


@dataclass(frozen=True)
class Section:
    """Everything about one CF."""

    cf: Judged
    accuracy: str
    reliability: Reliability | None
    no_reliability: str  # why there is none
    coverage: Covered | None  # a curve with its table
    coverage_rows: tuple[tuple[str, str, str], ...]  # the table alone, if nothing is known
    no_coverage: str
    values: Values | None
    no_values: str
    tried: Course | None
    parts: tuple[PartRow, ...]
    drift: Drifted | None
    audit: tuple[tuple[str, str], ...]
    batch: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    notes: tuple[tuple[Piece, ...], ...]


def sections(
    report: Report, cfs: tuple[Judged, ...], courses: Mapping[str, CfCourse]
) -> tuple[Section, ...]:
    """Return a section for each CF."""
    many = sum(len(column.values) for column in report.columns) > MANY
    return tuple(_section(report, cf, courses.get(cf.column.name), many=many) for cf in cfs)


def _section(report: Report, cf: Judged, course: CfCourse | None, *, many: bool) -> Section:
    column = cf.column
    lacking = _lacking(report, column)
    known = any(one.accuracy for one in column.coverage)
    return Section(
        cf,
        accuracy_text(column),
        plots.reliability(column.calibration, column.confidence_shares)
        if column.calibration and column.calibration.bins
        else None,
        column.accuracy_reason or f"{lacking[:1].lower()}{lacking[1:]}",
        plots.coverage(column.coverage, column.commonest_accuracy) if known else None,
        plots.covered_rows(column.coverage),
        lacking,
        _values(column, report.rows, many=many) if column.values else None,
        f"not recorded by cfl {visible(report.cfl_version)}",
        tried(column),
        _parts(column),
        drifted(course) if course else None,
        _audit(column),
        _batch(column),
        _facts(column, report),
        tuple(
            sentence(_without_name(note, cf), [column.name]) for note in of_column(column, report)
        ),
    )


def _lacking(report: Report, column: ColumnReport) -> str:
    """Return why a figure is not there: an older version did not record it, or nothing did."""
    if not report.versions:
        return f"Not recorded by cfl {visible(report.cfl_version)}"
    return f"Not measured: {visible(column.accuracy_reason or 'no cells were hidden')}"


def _without_name(note: str, cf: Judged) -> str:
    """Return a note without the name of the CF, below which it stands."""
    rest = note.removeprefix(f"{cf.name.whole}: ")
    return rest[:1].upper() + rest[1:] if rest != note else note


def _values(column: ColumnReport, rows: int, *, many: bool) -> Values:
    shares = [one for value in column.values for one in (value.estimated, value.ruled_out) if one]
    most = max(shares, default=0.0)
    marked = set(column.impossible_values)
    places = range(1, len(column.values) + 1)
    by_share = sorted(places, key=lambda place: -(column.values[place - 1].estimated or 0.0))
    shown = {*by_share[:FREQUENT], *(marked & {*places})}
    if len(shown) == len(places) - 1:  # a single one is not worth folding
        shown = {*places}
    cells = rows - column.empty_cells - column.exact_cells  # that rule something out
    made = {
        place: _value(column.values[place - 1], most, (rows, cells), marked=place in marked)
        for place in places
    }
    return Values(
        tuple(made[place] for place in by_share if place in shown),
        tuple(made[place] for place in by_share if place not in shown),
        not many,
        numbers.percent(most),
    )


def _value(value: ValueShare, most: float, of: tuple[int, int], *, marked: bool) -> ValueRow:
    """Return one value; shares are `of` so many rows, and of so many cells."""
    return ValueRow(
        Name("a rare value", "a rare value") if value.label is None else name_of(value.label),
        numbers.share_or_rare(value.estimated, of[0]),
        numbers.share_or_rare(value.ruled_out, of[1]),
        charts.bar(value.estimated or 0.0, most, BAR),
        charts.bar(value.ruled_out or 0.0, most, BAR),
        marked,
    )


def _parts(column: ColumnReport) -> tuple[PartRow, ...]:
    return tuple(
        PartRow(
            visible(part.name) + (f", round {part.round}" if part.round is not None else ""),
            numbers.decimal(part.score, 4),
            numbers.percent(part.weight),
            charts.bar(part.weight, 1.0, BAR),
        )
        for part in sorted(column.parts, key=lambda part: -part.weight)
    )


def _audit(column: ColumnReport) -> tuple[tuple[str, str], ...]:
    audit = column.audit
    if audit is None:
        return ()
    held = {None: "not known", True: "yes", False: "no"}[audit.estimate_held]
    return (
        ("answers in the table", numbers.whole(audit.answers)),
        ("drawn", numbers.whole(audit.drawn)),
        ("looked up", numbers.whole(audit.checked)),
        ("of these right", numbers.whole(audit.right)),
        ("accuracy by the audit", numbers.percents(audit.accuracy)),
        (
            "estimated without truth",
            numbers.percents(audit.estimate) if audit.estimate else "not known",
        ),
        ("did the estimate hold?", held),
    )


def _batch(column: ColumnReport) -> tuple[tuple[str, str], ...]:
    """Return how the rows of a batch were predicted, beside those at fitting."""
    found: list[tuple[str, str]] = []
    if column.fitting_accuracy:
        found.append(("accuracy at fitting", numbers.percents(column.fitting_accuracy)))
    if column.accuracy_change:
        found.append(("change of the accuracy", numbers.percents(column.accuracy_change)))
    if column.fitting_score is not None:
        found.append(("held-out score at fitting", numbers.decimal(column.fitting_score, 4)))
    if column.score_change:
        found.append(("change of the score", numbers.decimals(column.score_change, 4)))
    if drift := column.drift:
        found += [
            ("loss at fitting", numbers.decimal(drift.loss_at_fitting, 4)),
            ("loss of this batch", numbers.decimal(drift.loss, 4)),
            ("limit of the loss", numbers.decimal(drift.limit, 4)),
            ("cells compared", numbers.whole(drift.cells)),
        ]
    return tuple(found)


def _facts(column: ColumnReport, report: Report) -> tuple[tuple[str, str], ...]:
    """Return the figures that no drawing shows; those that are not known are left out."""
    found = [
        ("values in the domain", numbers.whole(column.domain_size)),
        ("exclusions per cell", numbers.decimal(column.exclusions_per_cell)),
        ("exact cells", numbers.whole(column.exact_cells)),
        ("empty cells", numbers.whole(column.empty_cells)),
        ("hidden cells that it is judged by", numbers.whole(column.hidden_cells)),
        ("mean confidence", numbers.decimal(column.mean_confidence)),
        (
            "entropy, before and after",
            f"{numbers.decimal(column.entropy_start)} → {numbers.decimal(column.entropy_end)}",
        ),
        ("method", visible(column.method)),
    ]
    if column.gain:
        found.insert(0, ("gain over the commonest", numbers.percents(column.gain)))
    if column.heldout_score is not None:
        found.append(("held-out score", numbers.decimal(column.heldout_score, 4)))
    if column.round is not None and report.settings.get("method", "graph") == "graph":
        steps = "" if column.iterations is None else f", {numbers.whole(column.iterations)} steps"
        found.append(("round taken", f"{numbers.whole(column.round)}{steps}"))
    if column.fallback_rows:
        found.append(("rows that allow no candidate", numbers.whole(column.fallback_rows)))
    return tuple(found)
