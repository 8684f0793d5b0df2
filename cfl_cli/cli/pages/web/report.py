"""A report, or a history, as a page for browsers; a report as a piece for notebooks.

What is built here is for the templates, which name its parts by their attributes.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TypeAlias

from cfl_cli import __version__
from cfl_cli.cli.pages import history as histories
from cfl_cli.cli.pages import web
from cfl_cli.cli.pages.history import CfCourse
from cfl_cli.cli.pages.report import fired, of_all, of_column, of_rows
from cfl_cli.cli.pages.web import Name, charts, sentence, shown_name, visible
from cfl_cli.cli.pages.web.front import front
from cfl_cli.core.messages import count
from cfl_cli.trust import HEADINGS, Verdict, heading, verdict_on
from cfl_cli.trust.history import History, Line
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ADVICE, ColumnReport, Report, SettingValue, Sources, ValueShare

# All CFs at a glance: sentences by what to do with them, and one table.

IN_SENTENCES = 12  # CFs, at most; more are counted and listed
ACTIONS = {"imputed": "filled in", "kept": "left as observed"}
_SIGNS = {
    Verdict.USE: "✓",
    Verdict.IF_RANDOM: "!",
    Verdict.CARE: "!",
    Verdict.DO_NOT_USE: "✗",
    Verdict.NOT_KNOWN: "?",
}
# Problems come first in the table, what can be used first in sentences.
WORST_FIRST = (
    Verdict.DO_NOT_USE,
    Verdict.NOT_KNOWN,
    Verdict.CARE,
    Verdict.IF_RANDOM,
    Verdict.USE,
)

Facts: TypeAlias = tuple[tuple[str, str], ...]


def _shown(verdict: Verdict, columns: Sequence[ColumnReport]) -> SimpleNamespace:
    """Return how a verdict is shown: in words, by a sign, and by a color third."""
    words = heading(verdict, columns)
    return SimpleNamespace(key=verdict.value, sign=_SIGNS[verdict], words=words)


def _judged_cfs(report: Report) -> list[SimpleNamespace]:
    names = [column.name for column in report.columns]
    found = []
    for number, column in enumerate(report.columns, start=1):
        found_of = verdict_on(column, report.rows)
        right = column.estimated_accuracy
        found.append(
            SimpleNamespace(
                number=number,
                name=shown_name(column.name),
                column=column,
                state=found_of.verdict,
                verdict=_shown(found_of.verdict, [column]),
                sentence=sentence(found_of.sentence, names),
                # The same, where no name precedes it.
                opening=sentence(found_of.sentence[:1].upper() + found_of.sentence[1:], names),
                accuracy=charts.percent(right.value) if right else "",
                look_at=[sentence(one, names) for one in found_of.look_at],
            )
        )
    return found


def _overview(report: Report, cfs: Sequence[SimpleNamespace]) -> SimpleNamespace:
    flags = fired(report)
    names = [column.name for column in report.columns]
    many = len(cfs) > IN_SENTENCES  # for a sentence each
    groups = []
    for state in HEADINGS:
        same = [cf for cf in cfs if cf.state is state]
        if many:
            same.sort(key=lambda cf: -_value(cf.column.estimated_accuracy, 0.0))
        if same:
            groups.append(
                SimpleNamespace(
                    verdict=_shown(state, [cf.column for cf in same]),
                    cfs=same,
                    counted=count(len(same), "CF"),
                    in_columns=count(len(same), "column"),
                )
            )

    def badness(cf: SimpleNamespace) -> tuple[int, float, int]:
        return WORST_FIRST.index(cf.state), -_value(cf.column.gain, -1.0), cf.number

    return SimpleNamespace(
        groups=groups,
        listed=many,
        rows=[_row(cf, flags, report) for cf in sorted(cfs, key=badness)],
        advice=[(flag, f"{ADVICE[flag][:1].upper()}{ADVICE[flag][1:]}.") for flag in flags],
        notes=[sentence(note, names) for note in (*of_all(report), *of_rows(report))],
        is_batch=report.batch is not None,
        has_baseline=any(column.commonest_accuracy for column in report.columns),
        has_shuffled=any(column.entropy_reduction_null is not None for column in report.columns),
    )


def _value(interval: Interval | None, otherwise: float) -> float:
    return interval.value if interval else otherwise


def _row(cf: SimpleNamespace, flags: Sequence[str], report: Report) -> SimpleNamespace:
    column: ColumnReport = cf.column
    right, null = column.estimated_accuracy, column.entropy_reduction_null
    left = 1 - column.entropy_reduction
    return SimpleNamespace(
        cf=cf,
        values=count(column.domain_size, "value"),
        accuracy=accuracy_text(column),
        baseline=_percents(column.commonest_accuracy) or "",
        fitting=_percents(column.fitting_accuracy) or "",
        estimate_mark=charts.whisker(right),
        baseline_mark=charts.whisker(column.commonest_accuracy),
        fitting_mark=charts.whisker(column.fitting_accuracy) if report.batch else None,
        entropy=f"{charts.percent(left)} left",
        shuffled="" if null is None else f"shuffled: {charts.percent(1 - null)}",
        entropy_left=charts.in_row(left),
        entropy_shuffled=None if null is None else charts.in_row(1 - null),
        flags=[  # each with the number of its advice, if there is any
            (visible(flag), flags.index(flag) + 1 if flag in flags else None)
            for flag in column.flags
        ],
        action=ACTIONS.get(column.action, visible(column.action)),
        verdict_key=str(WORST_FIRST.index(cf.state)),
        accuracy_key=charts.sort_key(right.value if right else None),
        entropy_key=charts.sort_key(left),
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
_WORTH_A_DRAWING = 0.1  # of a blend


def _section(
    report: Report, cf: SimpleNamespace, course: CfCourse | None, *, many: bool
) -> SimpleNamespace:
    column: ColumnReport = cf.column
    lacking = older = f"not recorded by cfl {visible(report.cfl_version)}"
    if report.versions:
        lacking = f"not measured: {visible(column.accuracy_reason or 'no cells were held out')}"
    calibration = column.calibration
    known = any(one.accuracy for one in column.coverage)
    notes = [sentence(note, [column.name]) for note in of_column(column, report)]
    return SimpleNamespace(
        cf=cf,
        accuracy=accuracy_text(column),
        reliability=charts.reliability(calibration, column.confidence_shares)
        if calibration and calibration.bins
        else None,
        no_reliability=column.accuracy_reason or lacking,
        # A curve with its table, or the table alone if nothing is known.
        coverage=charts.coverage_curve(column.coverage, column.commonest_accuracy)
        if known
        else None,
        coverage_rows=charts.covered_rows(column.coverage),
        no_coverage=f"{lacking[:1].upper()}{lacking[1:]}",
        values=_values(column, report.rows, many=many) if column.values else None,
        no_values=older,
        tried=charts.tried_steps(column) if _by_graph(column) else None,
        parts=[
            SimpleNamespace(
                name=visible(part.name)
                + (f", round {part.round}" if part.round is not None else ""),
                score=charts.decimal(part.score, 4),
                weight=charts.percent(part.weight),
                bar=charts.bar(part.weight, 1.0, _BAR),
            )
            for part in sorted(column.parts, key=lambda part: -part.weight)
        ],
        drift=charts.drifted(course) if course else None,
        audit=_audit(column),
        batch=_batch(column),
        facts=_column_facts(column, report),
        notes=notes,
    )


def _by_graph(column: ColumnReport) -> bool:
    """Return whether the graph has a part in the answers that is worth a drawing."""
    weights = {part.name: part.weight for part in column.parts}
    return not weights or weights.get("graph", 0.0) >= _WORTH_A_DRAWING


def _values(column: ColumnReport, rows: int, *, many: bool) -> SimpleNamespace:
    shares = [one for value in column.values for one in (value.estimated, value.ruled_out) if one]
    most = max(shares, default=0.0)
    ends = [value.estimated_high for value in column.values]
    means = [value.mean_confidence for value in column.values]
    unknown = not any(ends) and any(means)  # reports of earlier versions have neither
    marked = set(column.impossible_values)
    places = range(1, len(column.values) + 1)
    by_share = sorted(places, key=lambda place: -(column.values[place - 1].estimated or 0.0))
    shown = {*by_share[:FREQUENT], *(marked & {*places})}
    if len(shown) == len(places) - 1:  # a single one is not worth folding
        shown = {*places}
    cells = rows - column.empty_cells - column.exact_cells  # that rule something out

    def value_row(value: ValueShare, *, too_often: bool) -> SimpleNamespace:
        rare = Name("a rare value", "a rare value")
        return SimpleNamespace(
            name=rare if value.label is None else shown_name(value.label),
            estimated="not known" if unknown else charts.share_or_rare(value.estimated, rows),
            between=_between(value),
            confidence=charts.share_or_rare(value.mean_confidence, rows) if any(means) else "",
            ruled_out=charts.share_or_rare(value.ruled_out, cells),
            estimated_bar=charts.bar(value.estimated or 0.0, most, _BAR),
            ruled_out_bar=charts.bar(value.ruled_out or 0.0, most, _BAR),
            marked=too_often,
        )

    made = {n: value_row(column.values[n - 1], too_often=n in marked) for n in by_share}
    return SimpleNamespace(
        shown=[row for place, row in made.items() if place in shown],
        folded=[row for place, row in made.items() if place not in shown],
        bars_in_folded=not many,
        has_confidence=any(means),
        said="stated" if column.cells == "values" else "ruled out",
        most=charts.percent(most),
    )


def _between(value: ValueShare) -> str:
    if value.estimated_low is None or value.estimated_high is None:
        return ""
    low, high = (charts.percent(end, 1) for end in (value.estimated_low, value.estimated_high))
    return f"({low.removesuffix(' %')}–{high.removesuffix(' %')})"


# Figures with their names; one that is None is left out.


def _known(*pairs: tuple[str, str | None]) -> Facts:
    return tuple((name, text) for name, text in pairs if text is not None)


def _percents(interval: Interval | None) -> str | None:
    return None if interval is None else charts.percents(interval)


def _decimal(number: float | None) -> str | None:
    return None if number is None else charts.decimal(number, 4)


def _whole(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _audit(column: ColumnReport) -> Facts:
    audit = column.audit
    if audit is None:
        return ()
    held = {None: "not known", True: "yes", False: "no"}[audit.estimate_held]
    return _known(
        ("imputed values in the table", _whole(audit.answers)),
        ("drawn", _whole(audit.drawn)),
        ("checked", _whole(audit.checked)),
        ("of these correct", _whole(audit.right)),
        ("accuracy by the audit", charts.percents(audit.accuracy)),
        ("estimated before the audit", _percents(audit.estimate) or "not known"),
        ("is the estimate valid?", held),
    )


def _batch(column: ColumnReport) -> Facts:
    change, drift = column.score_change, column.drift
    losses = drift and (
        ("loss at fitting", charts.decimal(drift.loss_at_fitting, 4)),
        ("loss of this batch", charts.decimal(drift.loss, 4)),
        ("limit of the loss", charts.decimal(drift.limit, 4)),
        ("cells compared", f"{drift.cells:,}"),
    )
    return _known(
        ("accuracy at fitting", _percents(column.fitting_accuracy)),
        ("change of the accuracy", _percents(column.accuracy_change)),
        ("held-out score at fitting", _decimal(column.fitting_score)),
        ("change of the score", charts.decimals(change, 4) if change else None),
        *(losses or ()),
    )


def _column_facts(column: ColumnReport, report: Report) -> Facts:
    entropy = f"{charts.decimal(column.entropy_start)} → {charts.decimal(column.entropy_end)}"
    taken = _whole(column.round) if report.settings.get("method", "graph") == "graph" else None
    if taken is not None and column.iterations is not None:
        taken += f", {column.iterations:,} steps"
    excluded = charts.decimal(column.exclusions_per_cell)
    return _known(
        ("gain over the baseline", _percents(column.gain)),
        ("values in the domain", _whole(column.domain_size)),
        ("values ruled out per cell", None if column.cells == "values" else excluded),
        ("exact cells", _whole(column.exact_cells)),
        ("empty cells", _whole(column.empty_cells)),
        ("held-out cells", _whole(column.hidden_cells)),
        ("mean confidence", charts.decimal(column.mean_confidence)),
        ("entropy, before and after", entropy),
        ("method", visible(column.method)),
        ("held-out score", None if column.parts else _decimal(column.heldout_score)),
        ("round taken", taken),
        ("rows without a possible value", _whole(column.fallback_rows or None)),
    )


# How a report was made: settings, versions, checksums, warnings, times.


def _made(report: Report) -> SimpleNamespace:
    older = f"not recorded by cfl {visible(report.cfl_version)}"
    versions = [(visible(name), visible(one)) for name, one in report.versions.items()]
    names = [column.name for column in report.columns]
    return SimpleNamespace(
        sources=_sources(report, older),
        settings=[
            (visible(name), _setting_value(value))
            for name, value in sorted(report.settings.items())
        ],
        versions=[
            ("cfl", visible(report.cfl_version)),
            *(versions or [("Python and libraries", older)]),
        ],
        run=_run(report),
        warnings=[sentence(f"{warning}.", names) for warning in report.warnings],
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


def _sources(report: Report, older: str) -> Facts:
    sources, batch = report.sources or Sources(), report.batch
    found: list[tuple[str, str | None]] = []
    for what, name, checksum in (
        ("table", sources.table, sources.table_sha256),
        ("schema", sources.schema, sources.schema_sha256),
        ("diagnostics", sources.diagnostics, sources.diagnostics_sha256),
    ):
        if what == "diagnostics" and name is None:
            continue
        if name is not None:
            found.append((what, "standard input" if name == "-" else visible(name)))
        missing = older if report.sources is None else "no file"
        found.append((f"SHA-256 of the {what}", visible(checksum) if checksum else missing))
    answers = report.answers_sha256
    return _known(
        *found,
        ("SHA-256 of the new columns", None if answers is None else visible(answers)),
        *((f"read with {visible(name)}", _setting_value(v)) for name, v in sources.reading.items()),
        ("SHA-256 of the model", visible(batch.model) if batch else None),
        ("SHA-256 of the batch", visible(batch.checksum) if batch else None),
    )


def _run(report: Report) -> Facts:
    memory, solver, steps = report.peak_memory_mb, report.solver, report.steps
    # A table's own report leaves out what differs from run to run.
    absent = "not in this copy of the report"
    times = [(f"time: {visible(stage)}", t) for stage, t in report.timings.items()]
    times.insert(0, ("time", sum(report.timings.values())))
    return _known(
        ("rows", _whole(report.rows)),
        ("groups of rows", _whole(report.groups)),
        ("rows judged", _whole(report.batch.rows_judged) if report.batch else None),
        ("steps of each round", ", ".join(f"{one:,}" for one in steps) if steps else None),
        ("share of true neighbors found", charts.percent(report.neighbor_recall, 2)),
        ("weights solved by", None if solver is None else visible(solver)),
        ("rows solved by the exact solver", _whole(report.rescued_rows or None)),
        ("memory, at most", absent if memory is None else f"{charts.decimal(memory, 0)} MB"),
        *(
            (name, f"{charts.decimal(time, 1)} s" if report.timings else absent)
            for name, time in times
        ),
    )


def page(
    report: Report,
    *,
    batches: Sequence[Line] = (),
    title: str | None = None,
    date: str | None = None,
) -> str:
    """Return the page of a report; `title` and `date` are shown as they are."""
    cfs = _judged_cfs(report)
    courses: Mapping[str, CfCourse] = {one.name: one for one in histories.courses_of(batches)}
    many = sum(len(column.values) for column in report.columns) > _MANY
    table = report.sources.table if report.sources else None
    return web.rendered_page(
        "report.html",
        title=shown_name(title) if title else None,
        date=visible(date) if date else None,
        front=front(report, cfs),
        about=None if table in (None, "-") else shown_name(str(table)),
        facts=_facts(report),
        overview=_overview(report, cfs),
        sections=[_section(report, cf, courses.get(cf.column.name), many=many) for cf in cfs],
        opened=len(cfs) <= _OPEN,
        made=_made(report),
        cfl_version=__version__,
    )


def history_page(history: History) -> str:
    last = history.of_model(history.lines[-1].model) if history.lines else ()
    shown = histories.page(history)
    names = [course.name for course in shown.facts]
    figures = histories.FIGURES[1:]
    batches = []
    for line in last:
        file, checksum = shown_name(line.name or "not a file"), visible(line.checksum)
        batches.append((f"{line.batch:,}", file, f"{line.rows:,}", checksum))
    return web.rendered_page(
        "history.html",
        title=shown.title,
        headings=[one.heading for one in figures],
        rows=[
            (shown_name(course.name), [visible(one.show(course)) for one in figures])
            for course in shown.facts
        ],
        notes=[sentence(note, names) for note in histories.others(history, last)],
        courses=[(shown_name(one.name), charts.drifted(one)) for one in shown.facts],
        batches=batches,
        model=visible(last[-1].model) if last else "",
        opened=len(shown.facts) <= _OPEN,
        cfl_version=__version__,
    )


def fragment(report: Report) -> str:
    names = [column.name for column in report.columns]
    notes = [note for column in report.columns for note in of_column(column, report)]
    notes += [f"warning: {warning}." for warning in report.warnings]
    return web.rendered_fragment(
        "fragment.html",
        facts=_facts(report),
        overview=_overview(report, _judged_cfs(report)),
        notes=[sentence(note, names) for note in notes],
    )


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
