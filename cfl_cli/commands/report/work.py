"""What `cfl report` shows: the report of a table or of a model, its rows, or a history."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import typer

from cfl_cli.cli import inputs
from cfl_cli.cli.log import columns_of
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import (
    DIGITS,
    TYPED,
    deliver,
    diagnosed,
    drawn,
    report_of,
    side_files,
    text_target,
    written_as,
)
from cfl_cli.cli.pages import Page
from cfl_cli.cli.pages import history as show
from cfl_cli.cli.pages import report as report_page
from cfl_cli.cli.pages.screen import WIDTH, screen, typed
from cfl_cli.cli.start import listen
from cfl_cli.core.messages import printable, quote
from cfl_cli.encode.encode import new_names
from cfl_cli.errors import CflError, DataError, ExitCode, Problem, UsageError
from cfl_cli.models import Content, is_model
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.checksums import ColumnsChecksum, Compared, compared
from cfl_cli.tables.codec import ReadOptions, WriteOptions, read_bytes, write_frame
from cfl_cli.trust import history as histories
from cfl_cli.trust.report import Report, Sources
from cfl_cli.trust.report_schema import json_schema


def _checked(source: str | None, history: str | None, which: set[str], *, html: bool) -> str:
    """Return what to show first, the table or the history; `which` are the options given.

    Raise where they do not go together.
    """
    name = source if history is None else history
    both = None not in (source, history)
    if name is None or (both and not html):
        text = "name a table, a report or a model, or a history with --history{rest}"
        rest = "; with --format html, one page shows both" if both else ""
        raise UsageError(Problem("option-conflict", text, rest=rest))
    text = ""
    if html and "rows" in which:
        text = "--format html shows no rows of the table: {remedy}"
        remedy = "leave it or --rows out"
    elif html and "verify" in which:
        text, remedy = "--verify prints lines of text: {remedy}", "leave it or --format html out"
    elif (history is not None) + len(which & {"rows", "verify"}) > 1:
        text, remedy = "--history, --rows and --verify show different things: {remedy}", "give one"
    if text:
        raise UsageError(Problem("option-conflict", text, remedy=remedy))
    others = [f"--{option}" for option in ("history", "rows", "verify") if option in which]
    if "details" in which and (others or html):
        text = "--details shows the figures of a report as a table or as Markdown: {remedy}"
        remedy = f"leave out {others[0] if others else '--format html'}, or --details"
        raise UsageError(Problem("option-conflict", text, remedy=remedy))
    if {"title", "date"} & which and not html:
        text = "--title and --date belong to a page for browsers: {remedy}"
        raise UsageError(Problem("option-needs-other", text, remedy="add --format html"))
    for option, needed in (("schema", "verify"), ("diagnostics", "rows")):
        if option in which and needed not in which:
            text = "--{option} needs --{needed}: add it, or leave --{option} out"
            raise UsageError(Problem("option-needs-other", text, option=option, needed=needed))
    return name


def _html_of(name: str | None, history: str | None, which: Values) -> str:
    from cfl_cli.cli.pages.web import report as web  # slow jinja2

    course = None if history is None else histories.read(tables.local(history))
    if name is None:
        return web.history_page(course or histories.History(()))
    report = report_of(name)
    about: dict[str, Any] = {
        "title": which.get("title"),
        "date": which.get("date") or _date_of(name),
    }
    if course is None or not course.lines:
        return web.page(report, **about)
    if report.batch:
        model = report.batch.model
    elif name != tables.STANDARD and is_model(tables.local(name)):
        model = Content.read(tables.local(name)).checksum
    else:
        text = "{file}: no model filled it in, so it has no history: {remedy}"
        remedy = "name the output of `cfl apply`, or the model"
        raise UsageError(Problem("history-other-model", text, file=name, remedy=remedy))
    batches = course.of_model(model)
    if not batches:
        text = "{file}: no batch of the model that filled in {name}: {remedy}"
        remedy = "name the history that `cfl apply --history` wrote for it, or leave it out"
        facts = {"name": name}
        raise DataError(Problem("history-other-model", text, file=history, remedy=remedy, **facts))
    return web.page(report, batches=batches, **about)


def _date_of(name: str) -> str | None:
    """Return the day (UTC) when the file was written, which is that of the run; None: no file."""
    if name == tables.STANDARD:
        return None
    with suppress(OSError):
        return f"{datetime.fromtimestamp(tables.local(name).stat().st_mtime, UTC):%Y-%m-%d}"
    return None


# What `cfl report` says of a result that was changed or damaged, or belongs to other files.
#
# A report that is shown with its table is compared with it first: with --verify in any case, without
# as far as that is quick.

_SHOWN = 3  # columns that a message names
# What the name of a file says of its format, where nothing else does.
_FORMATS = {".html": "html", ".htm": "html", ".json": "json", ".csv": "csv", ".md": "md"}
ENDING = ".report.json"  # of a report beside its table
_FIX = "restore both from a copy, or impute again"


class Verified(NamedTuple):
    holds: bool
    line: str


def verify(name: str, data: str | None, schema: str | None) -> Iterator[Verified]:
    report = report_of(name)
    sources = report.sources or Sources()
    place = _table_of(name, report)
    same = False
    if data is not None:
        table = _verified(name, data, "table", sources.table, sources.table_sha256)
        same = table.holds and data != tables.STANDARD
        yield table
    if schema is not None:
        yield _verified(name, schema, "schema", sources.schema, sources.schema_sha256)
    if same and data is not None and place and place.name == name:
        yield _unaltered(name, data, schema, report)
    if place is not None:
        yield from _as_written(place, report)
    elif data is None:
        yield Verified(False, f"{name}: name the table to compare, not its report")


def check_pair(name: str) -> None:
    if name == tables.STANDARD or (place := _place(name)) is None:
        return
    report = report_of(name)
    if place.path is not None and not place.path.exists():
        text = "{file}: the table is missing, and only its report is there: to show the report, name it ({name})"
        facts = {"name": tables.report_path(place.path).name}
        raise DataError(Problem("table-missing", text, file=name, **facts))
    found = _compared(place, report, thorough=False)
    if found is not None and not found.holds:
        changed = _changed(found)
        raise DataError(Problem("table-changed", "{file}: {changed}", file=name, changed=changed))


def _as_written(place: tables.Place, report: Report) -> Iterator[Verified]:
    name = place.name
    try:
        if report.answers_sha256 is not None:
            holds = _answers_sha256(place, report) == report.answers_sha256
            said = "are as they were written" if holds else "have changed since they were written"
            yield Verified(holds, f"{name}: its new columns {said}")
        found = _compared(place, report, thorough=True)
    except DataError as error:  # it cannot be read
        yield from (Verified(False, str(line)) for line in error.problems)
        return
    if found is None:
        line = f"{name}: the content of its columns is not recorded (an older cfl wrote it)"
        yield Verified(report.answers_sha256 is not None, line)
    elif found.holds:
        more = f" ({found.what})" if found.what else ""
        yield Verified(True, f"{name}: all columns are as they were written{more}")
    else:
        yield Verified(False, f"{name}: {_changed(found)}")


def _changed(found: Compared) -> str:
    return f"the table was changed after its report was written, or the report belongs to another run ({found.what}): {_FIX}"


def _compared(place: tables.Place, report: Report, *, thorough: bool) -> Compared | None:
    if report.content is None:
        return None
    size = tables.bytes_of(place)
    reading = partial(tables.reading, **written_as(place, report))
    return compared(place, report.content, reading, size=size, thorough=thorough)


def _table_of(name: str, report: Report) -> tables.Place | None:
    """Return the table that is meant, also by the name of a report beside it; None: unknown."""
    if name == tables.STANDARD or is_model(tables.local(name)):
        return None
    if (place := _place(name)) is not None:
        return place
    path = tables.local(name)
    known = [report.content.file] if report.content and report.content.file else []
    for other in (*known, path.name.removesuffix(ENDING)):
        beside = path.with_name(other) if other and Path(other).name == other else path
        if beside != path and beside.exists() and (place := _place(str(beside))) is not None:
            return place
    return None


def _place(name: str) -> tables.Place | None:
    with suppress(UsageError):  # no table by its name
        return tables.Place.to_read(name)
    return None


def _unaltered(name: str, data: str, schema: str | None, report: Report) -> Verified:
    place = tables.Place.to_read(name)
    if report.sources and TYPED in report.sources.writing:
        line = f"{name}: its other columns were not compared, because --typed turned texts into numbers"
        return Verified(True, line)
    file, kind = BytesIO(), place.format.kind
    try:
        table = _table(data, schema, report)
        tables.check_holds(table, place)
    except CflError:
        way = ": is the schema right?" if schema else ": add --schema if it describes the format"
        line = (
            f"{name}: its other columns were not compared, because {data} is in another format{way}"
        )
        return Verified(True, line)
    write_frame(table.frame, file, WriteOptions(kind, name), source=table)
    again = read_bytes(file.getvalue(), ReadOptions(kind, data))
    expected = frames.as_polars(again.frame, name=data)
    found = frames.as_polars(tables.read(place, **written_as(place, report)).frame, name=name)
    others = [
        one.name
        for one in expected.iter_columns()
        if one.name not in found.columns or not found[one.name].equals(one)
    ]
    if not others:
        return Verified(True, f"{name}: its other columns are the same as in {data}")
    listed = ", ".join(map(quote, others[:_SHOWN])) + (" …" if len(others) > _SHOWN else "")
    noun = "column" if len(others) == 1 else "columns"
    return Verified(False, f"{name}: differs from {data} in {noun} {listed}")


def _table(data: str, schema: str | None, report: Report) -> tables.Table:
    reading = (report.sources or Sources()).reading
    how = {option: value for option, value in reading.items() if isinstance(value, str)}
    place = tables.Place.to_read(data, how.get("input_format"))
    if place.format.kind.has_sheets:
        place = replace(place, sheet=place.sheet or how.get("sheet"))
    signs = inputs.signs_of(how, place, Schema.load(tables.local(schema)).file if schema else None)
    columns = () if {*how} & {*signs} else tuple(column.name for column in report.columns)
    aside = inputs.sets_aside(how)
    return tables.read(place, set_aside=aside, checksum=False, columns=columns, **signs)


def _answers_sha256(place: tables.Place, report: Report) -> str | None:
    made = ColumnsChecksum()
    with tables.reading(place, **written_as(place, report)) as blocks:
        new = new_columns(frames.names(blocks.empty.frame), report)
        if new is None:
            return None
        for block in blocks:
            cells = frames.as_polars(block.frame, new, name=place.name)
            made.add(
                cells[one].cast(pl.String if is_text else pl.Float64, strict=False)
                for one, is_text in new.items()
            )
    return made.hexdigest()


def new_columns(names: Sequence[str], report: Report) -> dict[str, bool] | None:
    """Return which of a table's columns are new, in order, and if they hold text; None: not all.

    A report knows how many values a CF has, not which: their columns are the last that begin like
    the CF's. A longer name goes first, for that of another CF may begin it.
    """
    mode = report.settings.get("mode")
    cfs = [column.name for column in report.columns]
    hard = {cf: new_names(cf, (), "hard") if mode != "soft" else [] for cf in cfs}
    taken = {name for ones in hard.values() for name in ones}
    if not taken <= {*names}:
        return None
    soft: dict[str, list[str]] = {}
    for column in sorted(report.columns, key=lambda one: -len(one.name)):
        (begin,) = new_names(column.name, [""], "soft")
        found = [name for name in names if name.startswith(begin) and name not in taken]
        size = column.domain_size if mode != "hard" else 0
        if not 0 <= size <= len(found):
            return None
        soft[column.name] = found[len(found) - size :]
        taken |= {*soft[column.name]}
    texts = {hard[cf][0] for cf in cfs if hard[cf]}
    return {name: name in texts for cf in cfs for name in (*hard[cf], *soft[cf])}


def _verified(
    name: str, file: str, what: str, recorded: str | None, checksum: str | None
) -> Verified:
    if checksum is None:
        line = f"{name}: its {what} is not recorded (an older cfl wrote it, or it had no file)"
        return Verified(False, line)
    place = _place(file)
    found = tables.sha256_of(place.path if place else tables.local(file))
    short = found[:DIGITS]
    if found == checksum:
        return Verified(True, f"{file}: is the {what} that {name} was made from (SHA-256 {short}…)")
    was = f"{printable(recorded)}, " if recorded not in (None, tables.STANDARD) else ""
    line = (
        f"{file}: is not the {what} that {name} was made from ({was}SHA-256 "
        f"{checksum[:DIGITS]}…; this one has {short}…)"
    )
    return Verified(False, line)


def _print_schema(source: str | None, out: str, given: Values, others: set[str]) -> None:
    if source is not None or others:
        text = "--json-schema describes all reports: {remedy}"
        remedy = "leave out OUT and the other options"
        raise UsageError(Problem("option-conflict", text, remedy=remedy))
    overwrite = given.get("overwrite", False)
    text = json.dumps(json_schema(), ensure_ascii=False, indent=2) + "\n"
    deliver(text, text_target(out, [], overwrite=overwrite), overwrite=overwrite)


def run_report(
    source: str | None, out: str, given: Values, history: Values, which: Values, how: Values
) -> None:
    listen()
    if which.get("json_schema", False):
        _print_schema(source, out, given, {*history, *which, *how} - {"json_schema"})
        return
    course = history.get("history")
    form = how.get("format") or _FORMATS.get(Path(out).suffix.lower(), REPORT_FORMAT.default)
    rows, data = which.get("rows", False), which.get("verify")
    if data and source is None and course is None:  # `--verify OUT`
        source, data = data, ""
    name = _checked(source, course, {*which}, html=form == "html")
    files = [one for one in (source, course, *which.values()) if one and isinstance(one, str)]
    paths = [None if one == tables.STANDARD else tables.local(one) for one in files]
    paths += side_files(source) if source is not None else []
    overwrite = given.get("overwrite", False)
    target = text_target(out, paths, overwrite=overwrite)
    if data is not None:
        found = [*verify(name, data or None, which.get("schema"))]
        deliver("".join(f"{one.line}\n" for one in found), target, overwrite=overwrite)
        if not all(one.holds for one in found):
            raise typer.Exit(ExitCode.WRONG_INPUT)
        return
    if form == "html":
        deliver(_html_of(source, course, which), target, overwrite=overwrite, utf8=True)
    elif form == "table" and not rows and course is None and "details" not in which:
        width = columns_of(sys.stdout) if target is None else None
        text = screen(report_of(name), source=source, width=width or WIDTH)
        deliver(text, target, overwrite=overwrite)
    else:
        page: Page[Any]
        if rows:
            page = report_page.rows_page(*diagnosed(name, which.get("diagnostics")))
        elif course is not None:  # a file can hold every sign, a terminal may not
            encoding = "utf-8" if target is not None else sys.stdout.encoding
            page = show.page(histories.read(tables.local(name)), encoding=encoding)
        else:
            brief = form == "md" and "details" not in which
            report = report_of(name)
            page = (report_page.brief if brief else report_page.page)(report)
            notes = [
                typed(one, report, source) if one.startswith("Next, ") else one
                for one in page.notes
            ]
            page = replace(page, notes=notes)
        deliver(drawn(page, form, target), target, overwrite=overwrite)
    if source is not None:
        check_pair(source)
