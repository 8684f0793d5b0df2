"""A report, or a history, as a page for browsers; a report as a piece for notebooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cfl_cli import __version__
from cfl_cli.cli.pages import history as histories
from cfl_cli.cli.pages.history import CfCourse
from cfl_cli.cli.pages.report import fired, of_all, of_column, of_rows
from cfl_cli.cli.pages.web import charts
from cfl_cli.cli.pages.web import sections as environment
from cfl_cli.cli.pages.web.charts import (
    Course,
    Covered,
    Drifted,
    EntropyBar,
    Reliability,
    Whisker,
    drifted,
    tried,
)
from cfl_cli.cli.pages.web.sections import Name, Piece, name_of, sentence, visible
from cfl_cli.core.messages import count
from cfl_cli.trust.history import History, Line
from cfl_cli.trust.recommendation import HEADINGS, Grade, Use, use_of
from cfl_cli.trust.report import ADVICE, ColumnReport, Report, SettingValue, Sources, ValueShare

# All CFs at a glance: sentences by what to do with them, and one table.

IN_SENTENCES = 12  # CFs, at most; more are counted and listed
ACTIONS = {"imputed": "filled in", "kept": "left as observed"}


@dataclass(frozen=True)
class Verdict:
    """How a state is shown: in words, by a sign, and by a color third."""

    key: str  # of the state
    sign: str
    words: str


_SIGNS = {
    Grade.USE: "✓",
    Grade.CARE: "!",
    Grade.DO_NOT_USE: "✗",
    Grade.NOT_KNOWN: "?",
    Grade.NOT_MEASURED: "?",
}
VERDICTS = {state: Verdict(state.value, _SIGNS[state], words) for state, words in HEADINGS.items()}
# Problems come first in the table, what can be used first in sentences.
WORST_FIRST = (Grade.DO_NOT_USE, Grade.NOT_KNOWN, Grade.CARE, Grade.NOT_MEASURED, Grade.USE)


@dataclass(frozen=True)
class _Judged:
    """A CF with what to do with it."""

    number: int  # in the report, from 1
    name: Name
    column: ColumnReport
    use: Use
    verdict: Verdict
    sentence: tuple[Piece, ...]
    opening: tuple[Piece, ...]  # the same, where no name precedes it
    accuracy: str  # in few signs; nothing if it is not known
    look_at: tuple[tuple[Piece, ...], ...]


@dataclass(frozen=True)
class Group:
    """CFs of one state."""

    verdict: Verdict
    cfs: tuple[_Judged, ...]
    counted: str  # how many they are


@dataclass(frozen=True)
class _Row:
    """A CF's row of the table: texts, places of marks, and what a script sorts by."""

    cf: _Judged
    values: str
    accuracy: str
    baseline: str
    fitting: str
    estimate_mark: Whisker | None
    baseline_mark: Whisker | None
    fitting_mark: Whisker | None
    entropy: str
    shuffled: str
    entropy_mark: EntropyBar
    flags: tuple[tuple[str, int | None], ...]  # and the number of its advice, if there is any
    action: str
    verdict_key: str
    accuracy_key: str
    entropy_key: str


@dataclass(frozen=True)
class Overview:
    """What stands on top of a page."""

    groups: tuple[Group, ...]
    listed: bool  # too many CFs for a sentence each
    rows: tuple[_Row, ...]
    advice: tuple[tuple[str, str], ...]  # flags that fired, and what to do
    notes: tuple[tuple[Piece, ...], ...]
    states: tuple[Verdict, ...]
    is_batch: bool
    has_baseline: bool
    has_shuffled: bool


def judged_cfs(report: Report) -> tuple[_Judged, ...]:
    names = [column.name for column in report.columns]
    found = []
    for number, column in enumerate(report.columns, start=1):
        use = use_of(column, report)
        said = use.sentence
        right = column.estimated_accuracy
        found.append(
            _Judged(
                number,
                name_of(column.name),
                column,
                use,
                VERDICTS[use.state],
                sentence(said, names),
                sentence(said[:1].upper() + said[1:], names),
                charts.percent(right.value) if right else "",
                tuple(sentence(one, names) for one in use.look_at),
            )
        )
    return tuple(found)


def overview(report: Report, cfs: Sequence[_Judged]) -> Overview:
    """Return sentences, the table, what flags mean, and notes on several CFs."""
    flags = fired(report)
    names = [column.name for column in report.columns]
    groups = [
        Group(verdict, same, count(len(same), "CF"))
        for state, verdict in VERDICTS.items()
        if (same := _of_state(cfs, state))
    ]
    return Overview(
        tuple(groups),
        len(cfs) > IN_SENTENCES,
        tuple(_row(cf, flags, report) for cf in sorted(cfs, key=_badness)),
        tuple((flag, f"{ADVICE[flag][:1].upper()}{ADVICE[flag][1:]}.") for flag in flags),
        tuple(sentence(note, names) for note in (*of_all(report), *of_rows(report))),
        tuple(group.verdict for group in groups),
        report.batch is not None,
        any(column.commonest_accuracy for column in report.columns),
        any(column.entropy_reduction_null is not None for column in report.columns),
    )


def _of_state(cfs: Sequence[_Judged], state: Grade) -> tuple[_Judged, ...]:
    same = [cf for cf in cfs if cf.use.state is state]
    if len(cfs) > IN_SENTENCES:
        same.sort(key=lambda cf: -_right(cf.column))
    return tuple(same)


def _right(column: ColumnReport) -> float:
    return column.estimated_accuracy.value if column.estimated_accuracy else 0.0


def _badness(cf: _Judged) -> tuple[int, float, int]:
    gain = cf.column.gain
    return WORST_FIRST.index(cf.use.state), -(gain.value if gain else -1.0), cf.number


def _row(cf: _Judged, flags: Sequence[str], report: Report) -> _Row:
    column = cf.column
    shuffled, null = "", column.entropy_reduction_null
    if null is not None:
        shuffled = f"shuffled: {charts.percent(1 - null)}"
    return _Row(
        cf,
        count(column.domain_size, "value"),
        accuracy_text(column),
        charts.percents(column.commonest_accuracy) if column.commonest_accuracy else "",
        charts.percents(column.fitting_accuracy) if column.fitting_accuracy else "",
        charts.whisker(column.estimated_accuracy),
        charts.whisker(column.commonest_accuracy),
        charts.whisker(column.fitting_accuracy) if report.batch else None,
        f"{charts.percent(1 - column.entropy_reduction)} left",
        shuffled,
        charts.entropy_bar(column.entropy_reduction, null),
        tuple(
            (visible(flag), flags.index(flag) + 1 if flag in flags else None)
            for flag in column.flags
        ),
        ACTIONS.get(column.action, visible(column.action)),
        str(WORST_FIRST.index(cf.use.state)),
        charts.sort_key(column.estimated_accuracy.value if column.estimated_accuracy else None),
        charts.sort_key(1 - column.entropy_reduction),
    )


def accuracy_text(column: ColumnReport) -> str:
    if column.estimated_accuracy:
        return charts.percents(column.estimated_accuracy)
    return "not known" if column.hidden_cells else "not measured"


# What a page says of one CF below the table.

_OPEN = 5  # CFs whose sections are open from the start, at most
FREQUENT = 15  # values that are shown at once
_MANY = 2000  # values of all CFs, from which folded ones have no bars: the page would be too large
_BAR = 90  # width of the longest bar


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
class _Section:
    """Everything about one CF."""

    cf: _Judged
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
    report: Report, cfs: tuple[_Judged, ...], courses: Mapping[str, CfCourse]
) -> tuple[_Section, ...]:
    many = sum(len(column.values) for column in report.columns) > _MANY
    return tuple(_section(report, cf, courses.get(cf.column.name), many=many) for cf in cfs)


def _section(report: Report, cf: _Judged, course: CfCourse | None, *, many: bool) -> _Section:
    column = cf.column
    lacking = _lacking(report, column)
    known = any(one.accuracy for one in column.coverage)
    return _Section(
        cf,
        accuracy_text(column),
        charts.reliability(column.calibration, column.confidence_shares)
        if column.calibration and column.calibration.bins
        else None,
        column.accuracy_reason or f"{lacking[:1].lower()}{lacking[1:]}",
        charts.coverage(column.coverage, column.commonest_accuracy) if known else None,
        charts.covered_rows(column.coverage),
        lacking,
        _values(column, report.rows, many=many) if column.values else None,
        f"not recorded by cfl {visible(report.cfl_version)}",
        tried(column),
        _parts(column),
        drifted(course) if course else None,
        _audit(column),
        _batch(column),
        _column_facts(column, report),
        tuple(
            sentence(_without_name(note, cf), [column.name]) for note in of_column(column, report)
        ),
    )


def _lacking(report: Report, column: ColumnReport) -> str:
    if not report.versions:
        return f"Not recorded by cfl {visible(report.cfl_version)}"
    return f"Not measured: {visible(column.accuracy_reason or 'no cells were hidden')}"


def _without_name(note: str, cf: _Judged) -> str:
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
        charts.percent(most),
    )


def _value(value: ValueShare, most: float, of: tuple[int, int], *, marked: bool) -> ValueRow:
    return ValueRow(
        Name("a rare value", "a rare value") if value.label is None else name_of(value.label),
        charts.share_or_rare(value.estimated, of[0]),
        charts.share_or_rare(value.ruled_out, of[1]),
        charts.bar(value.estimated or 0.0, most, _BAR),
        charts.bar(value.ruled_out or 0.0, most, _BAR),
        marked,
    )


def _parts(column: ColumnReport) -> tuple[PartRow, ...]:
    return tuple(
        PartRow(
            visible(part.name) + (f", round {part.round}" if part.round is not None else ""),
            charts.decimal(part.score, 4),
            charts.percent(part.weight),
            charts.bar(part.weight, 1.0, _BAR),
        )
        for part in sorted(column.parts, key=lambda part: -part.weight)
    )


def _audit(column: ColumnReport) -> tuple[tuple[str, str], ...]:
    audit = column.audit
    if audit is None:
        return ()
    held = {None: "not known", True: "yes", False: "no"}[audit.estimate_held]
    return (
        ("answers in the table", charts.whole(audit.answers)),
        ("drawn", charts.whole(audit.drawn)),
        ("looked up", charts.whole(audit.checked)),
        ("of these right", charts.whole(audit.right)),
        ("accuracy by the audit", charts.percents(audit.accuracy)),
        (
            "estimated without truth",
            charts.percents(audit.estimate) if audit.estimate else "not known",
        ),
        ("did the estimate hold?", held),
    )


def _batch(column: ColumnReport) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if column.fitting_accuracy:
        found.append(("accuracy at fitting", charts.percents(column.fitting_accuracy)))
    if column.accuracy_change:
        found.append(("change of the accuracy", charts.percents(column.accuracy_change)))
    if column.fitting_score is not None:
        found.append(("held-out score at fitting", charts.decimal(column.fitting_score, 4)))
    if column.score_change:
        found.append(("change of the score", charts.decimals(column.score_change, 4)))
    if drift := column.drift:
        found += [
            ("loss at fitting", charts.decimal(drift.loss_at_fitting, 4)),
            ("loss of this batch", charts.decimal(drift.loss, 4)),
            ("limit of the loss", charts.decimal(drift.limit, 4)),
            ("cells compared", charts.whole(drift.cells)),
        ]
    return tuple(found)


def _column_facts(column: ColumnReport, report: Report) -> tuple[tuple[str, str], ...]:
    found = [
        ("values in the domain", charts.whole(column.domain_size)),
        ("exclusions per cell", charts.decimal(column.exclusions_per_cell)),
        ("exact cells", charts.whole(column.exact_cells)),
        ("empty cells", charts.whole(column.empty_cells)),
        ("hidden cells that it is judged by", charts.whole(column.hidden_cells)),
        ("mean confidence", charts.decimal(column.mean_confidence)),
        (
            "entropy, before and after",
            f"{charts.decimal(column.entropy_start)} → {charts.decimal(column.entropy_end)}",
        ),
        ("method", visible(column.method)),
    ]
    if column.gain:
        found.insert(0, ("gain over the commonest", charts.percents(column.gain)))
    if column.heldout_score is not None:
        found.append(("held-out score", charts.decimal(column.heldout_score, 4)))
    if column.round is not None and report.settings.get("method", "graph") == "graph":
        steps = "" if column.iterations is None else f", {charts.whole(column.iterations)} steps"
        found.append(("round taken", f"{charts.whole(column.round)}{steps}"))
    if column.fallback_rows:
        found.append(("rows that allow no candidate", charts.whole(column.fallback_rows)))
    return tuple(found)


# How a report was made: settings, versions, checksums, warnings, times.

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Made:
    """What is needed to make the same again."""

    sources: Facts
    settings: Facts
    versions: Facts
    run: Facts
    warnings: tuple[tuple[Piece, ...], ...]
    not_recorded: str  # by which version, where something lacks


def made(report: Report) -> Made:
    names = [column.name for column in report.columns]
    return Made(
        _sources(report),
        tuple(
            (visible(name), _setting_value(value))
            for name, value in sorted(report.settings.items())
        ),
        _versions(report),
        _run(report),
        tuple(sentence(f"{warning}.", names) for warning in report.warnings),
        f"not recorded by cfl {visible(report.cfl_version)}",
    )


def _setting_value(value: SettingValue) -> str:
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:g}"
        case int():
            return str(value)
        case _:
            return visible(value)


def _sources(report: Report) -> Facts:
    lacking = f"not recorded by cfl {visible(report.cfl_version)}"
    sources = report.sources or Sources()
    found = []
    for what, name, checksum in (
        ("table", sources.table, sources.table_sha256),
        ("schema", sources.schema, sources.schema_sha256),
        ("diagnostics", sources.diagnostics, sources.diagnostics_sha256),
    ):
        if what == "diagnostics" and name is None:
            continue
        if name is not None:
            found.append((what, "standard input" if name == "-" else visible(name)))
        missing = lacking if report.sources is None else "no file"
        found.append((f"SHA-256 of the {what}", visible(checksum) if checksum else missing))
    if report.answers_sha256 is not None:
        found.append(("SHA-256 of the new columns", visible(report.answers_sha256)))
    found += [
        (f"read with {visible(name)}", _setting_value(one)) for name, one in sources.reading.items()
    ]
    if report.batch is not None:
        found.append(("SHA-256 of the model", visible(report.batch.model)))
        found.append(("SHA-256 of the batch", visible(report.batch.checksum)))
    return tuple(found)


def _versions(report: Report) -> Facts:
    others = tuple((visible(name), visible(one)) for name, one in report.versions.items())
    if not others:
        others = (("Python and libraries", f"not recorded by cfl {visible(report.cfl_version)}"),)
    return (("cfl", visible(report.cfl_version)), *others)


def _run(report: Report) -> Facts:
    found = [("rows", charts.whole(report.rows))]
    if report.groups is not None:
        found.append(("groups of rows", charts.whole(report.groups)))
    if report.batch is not None:
        found.append(("rows judged", charts.whole(report.batch.rows_judged)))
    if report.steps:
        found.append(("steps of each round", ", ".join(map(charts.whole, report.steps))))
    found.append(("share of true neighbors found", charts.percent(report.neighbor_recall, 2)))
    if report.solver is not None:
        found.append(("weights solved by", visible(report.solver)))
    if report.rescued_rows:
        found.append(("rows solved by the exact solver", charts.whole(report.rescued_rows)))
    memory = report.peak_memory_mb
    # A table's own report leaves out what differs from run to run.
    absent = "not in this copy of the report"
    found.append(
        ("memory, at most", absent if memory is None else f"{charts.decimal(memory, 0)} MB")
    )
    total = sum(report.timings.values())
    found.append(("time", charts.seconds(total) if report.timings else absent))
    found += [
        (f"time: {visible(stage)}", charts.seconds(time)) for stage, time in report.timings.items()
    ]
    return tuple(found)


def page(report: Report, *, batches: Sequence[Line] = ()) -> str:
    """Return a whole page; `batches` are those of one model, in order."""
    cfs = judged_cfs(report)
    courses = {course.name: course for course in histories.courses_of(batches)}
    return environment.rendered_page(
        "report.html",
        about=_table(report),
        facts=_facts(report),
        overview=overview(report, cfs),
        sections=sections(report, cfs, courses),
        opened=len(cfs) <= _OPEN,
        made=made(report),
        cfl_version=__version__,
    )


def history_page(history: History) -> str:
    """Return the page of a history: the courses of all CFs of the last model."""
    last = history.of_model(history.lines[-1].model) if history.lines else ()
    shown = histories.page(history)
    names = [course.name for course in shown.facts]
    cells = [
        (name_of(course.name), [visible(one.show(course)) for one in histories.FIGURES[1:]])
        for course in shown.facts
    ]
    return environment.rendered_page(
        "history.html",
        title=shown.title,
        headings=[one.heading for one in histories.FIGURES[1:]],
        rows=cells,
        notes=[sentence(note, names) for note in histories.others(history, last)],
        courses=[(name_of(one.name), drifted(one)) for one in shown.facts],
        batches=[
            (
                charts.whole(one.batch),
                name_of(one.name or "not a file"),
                charts.whole(one.rows),
                visible(one.checksum),
            )
            for one in last
        ],
        model=visible(last[-1].model) if last else "",
        opened=len(cells) <= _OPEN,
        cfl_version=__version__,
    )


def fragment(report: Report) -> str:
    """Return sentences and the table, for a notebook."""
    return environment.rendered_fragment(
        "fragment.html",
        facts=_facts(report),
        overview=overview(report, judged_cfs(report)),
        notes=tuple(
            sentence(note, [cf.name for cf in report.columns]) for note in _of_columns(report)
        ),
    )


def _of_columns(report: Report) -> list[str]:
    notes = [note for column in report.columns for note in of_column(column, report)]
    return [*notes, *(f"warning: {warning}." for warning in report.warnings)]


def _table(report: Report) -> Name | None:
    table = report.sources.table if report.sources else None
    return None if table in (None, "-") else name_of(str(table))


def _facts(report: Report) -> tuple[str, ...]:
    batch = ""
    if report.batch is not None:
        number = report.batch.number
        batch = " of a batch of new rows" if number is None else f" of batch {number:,}"
    return (
        f"{count(report.rows, 'row')}{batch}",
        count(len(report.columns), "CF"),
        f"method {visible(str(report.settings.get('method', 'graph')))}",
    )
