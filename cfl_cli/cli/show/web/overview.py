"""All CFs at a glance: sentences by what to do with them, and one table."""

from collections.abc import Callable, Sequence

from cfl_cli.cli.show.notes import fired, of_all, of_rows
from cfl_cli.cli.show.web import charts, numbers
from cfl_cli.cli.show.web.charts import EntropyBar, Whisker
from cfl_cli.cli.show.web.names import Name, Piece, name_of, sentence, visible
from cfl_cli.core.messages import count
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.report import ADVICE, ColumnReport, Report
from cfl_cli.trust.use import HEADINGS, State, Use, use_of

IN_SENTENCES = 12  # CFs, at most; more are counted and listed
ACTIONS = {"imputed": "filled in", "kept": "left as observed"}


@dataclass(frozen=True)
class Verdict:
    """How a state is shown: in words, by a sign, and by a color third."""

    key: str  # of the state
    sign: str
    words: str


SIGNS = {
    State.USE: "✓",
    State.CARE: "!",
    State.DO_NOT_USE: "✗",
    State.NOT_KNOWN: "?",
    State.NOT_MEASURED: "?",
}
VERDICTS = {state: Verdict(state.value, SIGNS[state], words) for state, words in HEADINGS.items()}
# Problems come first in the table, what can be used first in sentences.
WORST_FIRST = (State.DO_NOT_USE, State.NOT_KNOWN, State.CARE, State.NOT_MEASURED, State.USE)


@dataclass(frozen=True)
class Judged:
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
    cfs: tuple[Judged, ...]
    counted: str  # how many they are


@dataclass(frozen=True)
class Row:
    """A CF's row of the table: texts, places of marks, and what a script sorts by."""

    cf: Judged
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
    rows: tuple[Row, ...]
    advice: tuple[tuple[str, str], ...]  # flags that fired, and what to do
    notes: tuple[tuple[Piece, ...], ...]
    states: tuple[Verdict, ...]
    is_batch: bool
    has_baseline: bool
    has_shuffled: bool


def judged_cfs(report: Report, spoken: Callable[[str], str] = str) -> tuple[Judged, ...]:
    """Return all CFs, in the report's order; `spoken` puts sentences into words of the reader."""
    names = [column.name for column in report.columns]
    found = []
    for number, column in enumerate(report.columns, start=1):
        use = use_of(column, report)
        said = spoken(use.sentence)
        right = column.estimated_accuracy
        found.append(
            Judged(
                number,
                name_of(column.name),
                column,
                use,
                VERDICTS[use.state],
                sentence(said, names),
                sentence(said[:1].upper() + said[1:], names),
                numbers.percent(right.value) if right else "",
                tuple(sentence(spoken(one), names) for one in use.look_at),
            )
        )
    return tuple(found)


def overview(report: Report, cfs: Sequence[Judged], spoken: Callable[[str], str] = str) -> Overview:
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
        tuple((flag, spoken(f"{ADVICE[flag][:1].upper()}{ADVICE[flag][1:]}.")) for flag in flags),
        tuple(sentence(spoken(note), names) for note in (*of_all(report), *of_rows(report))),
        tuple(group.verdict for group in groups),
        report.batch is not None,
        any(column.commonest_accuracy for column in report.columns),
        any(column.entropy_reduction_null is not None for column in report.columns),
    )


def _of_state(cfs: Sequence[Judged], state: State) -> tuple[Judged, ...]:
    """Return the CFs of a state, the best first where they are many."""
    same = [cf for cf in cfs if cf.use.state is state]
    if len(cfs) > IN_SENTENCES:
        same.sort(key=lambda cf: -_right(cf.column))
    return tuple(same)


def _right(column: ColumnReport) -> float:
    return column.estimated_accuracy.value if column.estimated_accuracy else 0.0


def _badness(cf: Judged) -> tuple[int, float, int]:
    """Return a key that sorts problems first, then what gains most."""
    gain = cf.column.gain
    return WORST_FIRST.index(cf.use.state), -(gain.value if gain else -1.0), cf.number


def _row(cf: Judged, flags: Sequence[str], report: Report) -> Row:
    column = cf.column
    shuffled, null = "", column.entropy_reduction_null
    if null is not None:
        shuffled = f"shuffled: {numbers.percent(1 - null)}"
    return Row(
        cf,
        count(column.domain_size, "value"),
        accuracy_text(column),
        numbers.percents(column.commonest_accuracy) if column.commonest_accuracy else "",
        numbers.percents(column.fitting_accuracy) if column.fitting_accuracy else "",
        charts.whisker(column.estimated_accuracy),
        charts.whisker(column.commonest_accuracy),
        charts.whisker(column.fitting_accuracy) if report.batch else None,
        f"{numbers.percent(1 - column.entropy_reduction)} left",
        shuffled,
        charts.entropy_bar(column.entropy_reduction, null),
        tuple(
            (visible(flag), flags.index(flag) + 1 if flag in flags else None)
            for flag in column.flags
        ),
        ACTIONS.get(column.action, visible(column.action)),
        str(WORST_FIRST.index(cf.use.state)),
        numbers.sort_key(column.estimated_accuracy.value if column.estimated_accuracy else None),
        numbers.sort_key(1 - column.entropy_reduction),
    )


def accuracy_text(column: ColumnReport) -> str:
    """Return the accuracy, or that there is none."""
    if column.estimated_accuracy:
        return numbers.percents(column.estimated_accuracy)
    return "not known" if column.hidden_cells else "not measured"
