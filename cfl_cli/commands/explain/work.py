"""How `cfl explain` works: it finds the row, its table, and what imputed its values."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cfl_cli.cli.inputs import (
    check_columns,
    columns_to_show,
    load,
    of_model,
    read_table,
    sets_aside,
    signs_of,
    warn_of_rejects,
    with_table,
    without_words,
)
from cfl_cli.cli.log import warn
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, report_of, side_files, text_target
from cfl_cli.cli.progress import shown_progress
from cfl_cli.cli.start import listen
from cfl_cli.commands.explain.job import (
    FREE,
    Explanation,
    can_be_reused,
    check_row,
    chosen_cfs,
    explain_frame,
    explain_row,
)
from cfl_cli.commands.explain.origins import Origins
from cfl_cli.commands.explain.page import page
from cfl_cli.core.messages import command, count, did_you_mean, option
from cfl_cli.core.settings import SETTINGS
from cfl_cli.encode.encode import new_names
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.run import Context, refuse_blurred
from cfl_cli.run.result import CHANGEABLE, AnsweredRows, Model
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import BLOCK, Place
from cfl_cli.texts.matching import as_text

_NAMED = 5  # rows that a message names
RUN_ONLY = {"jobs", "max_memory", "quiet", "verbose", "log_format", "overwrite", "infer"}


def column_and_cell(where: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column and the cell of `COLUMN=CELL`, or raise; a name may hold = itself."""
    parts = where.split("=")
    for size in range(len(parts) - 1, 0, -1):
        if (column := "=".join(parts[:size])) in columns:
            return column, "=".join(parts[size:])
    asked = option("where", where, quoted=True)
    if len(parts) < 2:
        text = "{option}: expected COLUMN=CELL, such as patient=17"
        raise UsageError(Problem("option-where", text, option=asked))
    near, text = did_you_mean(parts[0], columns), "{option}: no column {column!r}{near}"
    raise UsageError(Problem("option-no-column", text, option=asked, column=parts[0], near=near))


def matches(column: pl.Series, cell: str, *, first: int = 0) -> list[int]:
    """Return the numbers of the rows, from 1, whose cell is this; `first` rows came before."""
    if not cell:
        text = "{option}: a row cannot be found by an empty cell: give {remedy}"
        where, row = option("where"), option("row")
        raise UsageError(Problem("option-where", text, option=where, remedy=row))
    if column.dtype.is_nested():
        text = "{option}: the cells of column {column!r} are lists: choose another column"
        where = option("where")
        raise UsageError(Problem("option-where", text, option=where, column=column.name))
    same = (as_text(column) == cell).fill_null(value=False)
    number = pl.Series([cell]).cast(pl.Float64, strict=False)[0]
    if number is not None and column.dtype.is_integer():  # 17.0 means 17 too; 17 with 17 digits …
        whole = cell.strip().partition(".")
        if not whole[2].strip("0"):  # … is no float
            same |= (as_text(column) == whole[0]).fill_null(value=False)
    elif number is not None and column.dtype.is_numeric():  # 17 means 17.0 too
        same |= (column.cast(pl.Float64) == number).fill_null(value=False)
    return [first + 1 + at for at in same.arg_true().to_list()]


def only(rows: Sequence[int], where: str, name: str) -> int:
    """Return the one row that matches, or raise; `where` is as it may be shown."""
    if len(rows) == 1:
        return rows[0]
    asked, row = option("where", where, quoted=True), option("row")
    if not rows:
        text = "{file}: no row has {option}: check the spelling, or give {remedy}"
        raise DataError(Problem("row-not-found", text, file=name, option=asked, remedy=row))
    listed = ", ".join(f"{row:,}" for row in rows[:_NAMED]) + (" …" if len(rows) > _NAMED else "")
    text = (
        "{file}: {rows} have {option} (rows {listed}): give {remedy}, or a column whose cells are "
        "unique"
    )
    facts = {"rows": count(len(rows), "row"), "option": asked, "listed": listed, "remedy": row}
    raise DataError(Problem("row-not-unique", text, file=name, **facts))


def run_explain(
    data: str, model: str | None, out: str, given: Values, which: Values, how: Values, shown: Values
) -> None:
    listen()
    form = shown.get("format", REPORT_FORMAT.default)
    schema, report = which.get("schema"), which.get("report")
    text = None
    if schema is not None and model is not None:
        text = "give either --schema (a row of this table) or --model (a new row), not both"
    elif report is not None and schema is None:
        text = "--report needs --schema: add it, or pass the table that --report belongs to"
    elif (which.get("row") is None) == (which.get("where") is None):
        text = "give either --row N or --where COLUMN=CELL"
    if text is not None:
        raise UsageError(Problem("option-conflict", text))
    made = None
    if schema is None and model is None:  # of an output
        made = Origins.of(data, how)
        output, data, how = data, str(made.table.path), made.how
        schema, model = (None if one is None else str(one) for one in (made.schema, made.model))
        which = {**which, "schema": schema, "report": output}
        report = output
    source = Place.to_read(data, how.get("input_format")) if made is None else made.table
    read = [tables.local(one) for one in (schema, model, report) if one is not None]
    beside = [] if report is None else side_files(report)
    overwrite = given.get("overwrite", False)
    target = text_target(out, [source.path, *read, *beside], overwrite=overwrite)
    if made is not None and made.schema is not None:
        found = _of_output(made, given, which)
    elif model is not None:
        found = _by_model(source, tables.local(model), given, which, how)
    else:
        found = _in_table(source, data, given, which, how)
    if not given.get("quiet", False):
        warn(*found.warnings, event="warning")
    if form == "html":
        from cfl_cli.commands.explain.web import explanation_page  # slow: jinja2

        deliver(explanation_page(found), target, overwrite=overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=overwrite)


def _shown(where: str | None, names: Sequence[str], schema: Schema) -> str | None:
    """Return `COLUMN=CELL` without the cell of an identifier; None: asked by number."""
    if where is None:
        return None
    column, _ = column_and_cell(where, names)
    return f"{column}=…" if column in schema.identifiers else where


def _by_model(source: Place, path: Path, given: Values, which: Values, how: Values) -> Explanation:
    """Explain what a model predicts for a new row; no other row is encoded.

    No more is read than needed, but a file is gone through once in any case, to find what is wrong
    in it.
    """
    for name in given:
        if name not in {*CHANGEABLE, *RUN_ONLY}:
            text = "{option} is decided when a model is fitted: leave it out"
            raise UsageError(Problem("option-fitting-only", text, option=option(name)))
    model, report = Model.load(path), None
    if which.get("report") is not None:  # of the output, which has settings of its own
        report = report_of(which["report"])
        own = {name: report.settings.get(name) for name in CHANGEABLE}
        given = {name: value for name, value in own.items() if value is not None} | given
    settings, run = of_model(model, given)
    cfs = chosen_cfs(which.get("cf"), [*model.encoding.domains], path.name)
    refuse_blurred(model.schema, run.infer, cfs=cfs)
    schema, number, where = model.schema, which.get("row"), which.get("where")
    signs = signs_of(how, source, schema.file)
    columns, aside = columns_to_show(how, schema), sets_aside(how)
    found: Any = None
    matching: list[int] = []
    with (
        without_words(schema),
        tables.reading(source, rows=BLOCK, set_aside=aside, columns=columns, **signs) as blocks,
    ):
        names = frames.names(blocks.empty.frame)
        check_columns(names, source, signs, schema)
        warn_of_rejects(blocks.rejected, source)
        asked = column_and_cell(where, names) if where is not None else None
        key = _shown(where, names, schema)
        if number is not None:
            check_row(number, blocks.height, source.name)
        for block in blocks:
            part = block.frame
            if asked is not None:
                cells = frames.as_polars(part, [asked[0]], name=source.name)
                more = matches(cells[asked[0]], asked[1], first=block.first)
                matching += more
                found = part.slice(more[0] - 1 - block.first, 1) if more else found
            elif number is not None and number <= block.first + len(part):
                found = part.slice(number - 1 - block.first, 1)
                break
    row = only(matching, key or "", source.name) if number is None else number
    known: dict[str, Any] = {"name": source.name, "jobs": run.jobs, "first_row": row}
    if report is not None and settings.keep_flagged:  # also of what the new rows flag
        known["as_observed"] = model.as_observed(settings) | report.kept
    rows = AnsweredRows.of_model(model, found, settings, **known)
    return explain_row(rows, row, cfs=cfs, key=key)


def _of_output(made: Origins, given: Values, which: Values) -> Explanation:
    """Explain a row of the table that an output was made from, with the settings of that run."""
    report = made.report
    if report.reference_rows:
        text = "{file}: was imputed with a reference, whose rows it does not contain: {remedy}"
        remedy = (
            f"fit a model with {option('reference')}, and explain the row with {option('model')}"
        )
        raise UsageError(Problem("explain-reference", text, file=which["report"], remedy=remedy))
    settings = {
        name: value
        for name, value in report.settings.items()
        if name in SETTINGS and value is not None
    }
    for name, value in given.items():
        if name in settings and name not in FREE and settings[name] != value:
            text = "{file}: was made with {was}, not with {now}: leave {now} out"
            facts = {"was": option(name, settings[name]), "now": option(name, value)}
            problem = Problem("report-other-settings", text, file=which["report"], **facts)
            raise UsageError(problem)
    fitted = None if made.model is None else Model.load(made.model)
    # What the report does not hold is chosen again: it may be of an older version, for example.
    if not can_be_reused(report, with_model=fitted is not None):
        which = {**which, "report": None}
    path = str(made.table.path)
    return _in_table(made.table, path, settings | given, which, made.how, fitted)


def _refuse_output(columns: Sequence[str], schema: Schema, name: str) -> None:
    """Raise if a table holds imputed values, so that its own run can be explained instead."""
    if all({*new_names(cf, (), "hard")} <= {*columns} for cf in schema.complementary):
        text = "{file}: this is an output of {command}: {remedy}"
        facts = {"command": command("impute"), "remedy": f"leave out {option('schema')}"}
        raise UsageError(Problem("explain-is-output", text, file=name, **facts))


def _in_table(
    source: Place,
    data: str,
    given: Values,
    which: Values,
    how: Values,
    fitted: Model | None = None,
) -> Explanation:
    path, report, where = which["schema"], which.get("report"), which.get("where")
    inputs = load(path, given, data=data)
    schema, run = inputs.schema, inputs.limits
    cfs = chosen_cfs(which.get("cf"), [*schema.complementary], path)
    refuse_blurred(schema, run.infer, cfs=cfs)
    facts = None if report is None else report_of(report)
    table = read_table(source, how, schema, checksum=report is not None, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    cells = frames.as_polars(table.frame, name=source.name)
    _refuse_output(cells.columns, schema, source.name)
    key = _shown(where, cells.columns, schema)
    if where is None:
        row = check_row(which.get("row"), cells.height, source.name)
    else:
        column, cell = column_and_cell(where, cells.columns)
        row = only(matches(cells[column], cell), key or "", source.name)
    recorded = None
    if facts is not None and report is not None:
        recorded = (
            facts,
            report,
            with_table(inputs.sources, source, how, table, schema=inputs.schema),
        )
    with shown_progress(quiet=run.quiet) as display:
        context = Context(source.name, display)
        asked: dict[str, Any] = {"cfs": cfs, "key": key, "recorded": recorded, "model": fitted}
        return explain_frame(table.frame, inputs, context, row, **asked)
