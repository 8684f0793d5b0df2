"""A report, or a history, as a page for browsers; a report as a piece for notebooks."""

from collections.abc import Sequence

from cfl_cli import __version__
from cfl_cli.cli.show import history as histories
from cfl_cli.cli.show.notes import of_column
from cfl_cli.cli.show.web import environment, numbers
from cfl_cli.cli.show.web.courses import drifted
from cfl_cli.cli.show.web.details import OPEN, sections
from cfl_cli.cli.show.web.made import made
from cfl_cli.cli.show.web.names import Name, name_of, sentence, visible
from cfl_cli.cli.show.web.overview import judged_cfs, overview
from cfl_cli.core.messages import count
from cfl_cli.core.wording import spoken
from cfl_cli.trust.history import History, Line
from cfl_cli.trust.report import Report


def page(report: Report, *, batches: Sequence[Line] = ()) -> str:
    """Return a whole page; `batches` are those of one model, in order."""
    cfs = judged_cfs(report)
    courses = {course.name: course for course in histories.courses_of(batches)}
    return environment.page(
        "report.html",
        about=_table(report),
        facts=_facts(report),
        overview=overview(report, cfs),
        sections=sections(report, cfs, courses),
        opened=len(cfs) <= OPEN,
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
    return environment.page(
        "history.html",
        title=shown.title,
        headings=[one.heading for one in histories.FIGURES[1:]],
        rows=cells,
        notes=[sentence(note, names) for note in histories.others(history, last)],
        courses=[(name_of(one.name), drifted(one)) for one in shown.facts],
        batches=[
            (
                numbers.whole(one.batch),
                name_of(one.name or "not a file"),
                numbers.whole(one.rows),
                visible(one.checksum),
            )
            for one in last
        ],
        model=visible(last[-1].model) if last else "",
        opened=len(cells) <= OPEN,
        cfl_version=__version__,
    )


def fragment(report: Report) -> str:
    """Return sentences and the table, for a notebook."""
    return environment.fragment(
        "fragment.html",
        facts=_facts(report),
        overview=overview(report, judged_cfs(report, spoken), spoken),
        notes=tuple(
            sentence(spoken(note), [cf.name for cf in report.columns])
            for note in _of_columns(report)
        ),
    )


def _of_columns(report: Report) -> list[str]:
    notes = [note for column in report.columns for note in of_column(column, report)]
    return [*notes, *(f"warning: {warning}." for warning in report.warnings)]


def _table(report: Report) -> Name | None:
    """Return the name of the table that a report is about; None: it is not known."""
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
