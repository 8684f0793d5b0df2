"""What `cfl report` shows: the report of a table or of a model, its rows, or a history."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfl_cli.cli.outputs import side_file
from cfl_cli.cli.show.page import Page
from cfl_cli.core.messages import quote
from cfl_cli.errors import CflError, DataError, UsageError
from cfl_cli.models.content import Content, is_model, read_report_text
from cfl_cli.tables import foreign
from cfl_cli.tables import table as tables
from cfl_cli.trust.report import Report, Sources

if TYPE_CHECKING:  # loads slowly
    import polars as pl

DIGITS = 12  # of a checksum in a message


def named(source: str | None, history: str | None, which: set[str], *, html: bool) -> str:
    """Return what to show first, the table or the history; `which` are the options given.

    Raise where they do not go together.
    """
    name = source if history is None else history
    both = None not in (source, history)
    if name is None or (both and not html):
        raise UsageError(
            "name a table, a report or a model, or a history with --history"
            + ("; with --format html, one page shows both" if both else "")
        )
    if html and "rows" in which:
        raise UsageError("--format html shows no rows of the table: leave it or --rows out")
    if html and "verify" in which:
        raise UsageError("--verify prints lines of text: leave it or --format html out")
    if (history is not None) + len(which & {"rows", "verify"}) > 1:
        raise UsageError("--history, --rows and --verify show different things: give one")
    for option, needed in (("schema", "verify"), ("diagnostics", "rows")):
        if option in which and needed not in which:
            raise UsageError(f"--{option} goes with --{needed}: add it, or leave --{option} out")
    return name


def page_of(name: str, *, is_history: bool, to_file: bool) -> Page[Any]:
    """Return the page of what has this name; a file can hold every sign, a terminal may not."""
    if is_history:
        from cfl_cli.cli.show import history as show  # noqa: PLC0415 — one of the two is needed
        from cfl_cli.trust import history  # noqa: PLC0415 — loads slowly

        encoding = "utf-8" if to_file else sys.stdout.encoding
        return show.page(history.read(tables.local(name)), encoding=encoding)
    from cfl_cli.cli.show.report import page  # noqa: PLC0415 — loads slowly

    return page(report_of(name))


def html_of(name: str | None, history: str | None) -> str:
    """Return the page for browsers of a report, a history, or both."""
    from cfl_cli.cli.show.web.report import history_page, page  # noqa: PLC0415 — loads slowly
    from cfl_cli.trust import history as histories  # noqa: PLC0415 — loads slowly

    course = None if history is None else histories.read(tables.local(history))
    if name is None:
        return history_page(course or histories.History(()))
    report = report_of(name)
    if course is None or not course.lines:
        return page(report)
    batches = course.of_model(_model_of(name, report))
    if not batches:
        raise DataError(
            f"{history}: no batch of the model that answered {name}: name the history that "
            "`cfl apply --history` wrote then, or leave it out"
        )
    return page(report, batches=batches)


def _model_of(name: str, report: Report) -> str:
    """Return the SHA-256 of the model that answered a batch, or of one that is a file itself."""
    if report.batch:
        return report.batch.model
    if name != tables.STANDARD and is_model(tables.local(name)):
        return Content.read(tables.local(name)).checksum or ""
    raise UsageError(
        f"{name}: no model has answered it, so no history belongs to it: name what `cfl apply` "
        "wrote, or the model"
    )


def rows_page(name: str, diagnostics: str | None) -> Page[Any]:
    """Return the page of the rows that a report counts, from the file of its diagnostics."""
    from cfl_cli.cli.show.rows import page  # noqa: PLC0415 — loads slowly

    return page(*diagnosed(name, diagnostics))


def diagnosed(name: str, diagnostics: str | None) -> "tuple[Report, pl.DataFrame]":
    """Return a run's report and what its diagnostics list, from their file if it is named."""
    from cfl_cli.jobs.diagnostics import read  # noqa: PLC0415 — loads slowly

    report = report_of(name)
    sources = report.sources or Sources()
    place = side_file(diagnostics or str(_beside(name, sources, is_batch=report.batch is not None)))
    table = tables.read(place, checksum=True)
    if sources.diagnostics_sha256 not in (None, table.sha256):
        raise DataError(
            f"{place.name}: not the diagnostics of the run that wrote {name} (SHA-256 "
            f"{(table.sha256 or '')[:DIGITS]}…, recorded {sources.diagnostics_sha256[:DIGITS]}…): "
            "name the right file with --diagnostics, or impute again"
        )
    listed = read(table.frame, name=place.name)
    cfs = [column.name for column in report.columns]
    if not (listed["cf"].is_in(cfs).all() and (listed["row"] <= report.rows).all()):
        raise DataError(
            f"{place.name}: not the diagnostics of the run that wrote {name}, as it lists other "
            "CFs or more rows: name the right file with --diagnostics, or impute again"
        )
    return report, listed


def side_files(name: str) -> list[Path]:
    """Return the files beside a result that are read with it, whether or not they are there."""
    if name == tables.STANDARD:
        return []
    path = tables.local(name)
    beside = path.with_name(f"{path.name}.report.json")
    with suppress(CflError, OSError, ValueError):  # a name that no file has
        sources = report_of(name).sources
        if sources and sources.diagnostics:
            return [beside, path.with_name(Path(sources.diagnostics).name)]
    return [beside]


def _beside(name: str, sources: Sources, *, is_batch: bool) -> Path:
    """Return where the diagnostics of a run should be: beside its table or report."""
    if sources.diagnostics is None and is_batch:
        raise DataError(
            f"{name}: `cfl apply` lists no cells to look at; in Python, `result.suspects` does"
        )
    if sources.diagnostics is None:
        raise DataError(
            f"{name}: its run wrote no diagnostics: impute again with --diagnostics FILE"
        )
    if name == tables.STANDARD:
        raise UsageError("name the file with --diagnostics if the report is standard input")
    file = sources.diagnostics
    if file in ("", ".", "..") or "\0" in file or Path(file).name != file:
        raise DataError(
            f"{name}: not a report of cfl (sources.diagnostics: {quote(file)} is not the name of a "
            "file without folders): name the file with --diagnostics"
        )
    return tables.local(name).with_name(file)


def report_of(name: str) -> Report:
    """Return the report of a table, of a model, or in a file of its own."""
    return Report.from_json(_text(name), name=name)


def _text(name: str) -> str | bytes:
    """Return the report's JSON."""
    if name != tables.STANDARD and is_model(tables.local(name)):
        return read_report_text(tables.local(name))
    if name != tables.STANDARD and foreign.is_schema(tables.local(name)):
        raise DataError(
            f"{name}: this is a schema, not a report: pass the OUT of `cfl impute`, or its report"
        )
    return tables.read_report(name)
