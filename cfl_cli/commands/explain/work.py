"""How `cfl explain` works: which row is meant, in which table, and what answers it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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
from cfl_cli.cli.log import note, warn
from cfl_cli.cli.options import Values
from cfl_cli.cli.outputs import deliver, drawn, report_of, side_files, text_target
from cfl_cli.cli.progress import Display
from cfl_cli.cli.start import listen
from cfl_cli.commands.explain.job import (
    Explanation,
    check_row,
    chosen_cfs,
    explain,
    explain_row,
)
from cfl_cli.commands.explain.page import page
from cfl_cli.core.messages import count, did_you_mean, option
from cfl_cli.core.progress import Expected
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.run.arguments import refuse_blurred
from cfl_cli.run.result import CHANGEABLE, AnsweredRows, Model
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import BLOCK
from cfl_cli.texts.matching import as_text

_NAMED = 5  # rows that a message names
RUN_ONLY = {"jobs", "max_memory", "quiet", "verbose", "log_format", "overwrite", "infer"}


def run(
    data: str, model: str | None, out: str, given: Values, which: Values, how: Values, form: str
) -> None:
    """Explain a row, of a table with a schema or by a model, and show it in a format."""
    listen()
    request = Request.read(data, model, which, how)
    overwrite = given.get("overwrite", False)
    target = text_target(out, request.paths, overwrite=overwrite)
    found = by_model(request, given) if request.model is not None else in_table(request, given)
    if not given.get("quiet", False):
        warn(*found.warnings)
    if form == "html":
        from cfl_cli.cli.pages.web import sections  # slow: jinja2

        deliver(sections.page(page(found)), target, overwrite=overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=overwrite)


def split(where: str, columns: Sequence[str]) -> tuple[str, str]:
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
        text = "{option}: empty cells cannot be asked for: give {remedy}"
        where, row = option("where"), option("row")
        raise UsageError(Problem("option-where", text, option=where, remedy=row))
    if column.dtype.is_nested():
        raise UsageError(
            Problem(
                "option-where",
                "{option}: the cells of column {column!r} are lists: ask by another",
                option=option("where"),
                column=column.name,
            )
        )
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
    raise DataError(
        Problem(
            "row-not-unique",
            "{file}: {rows} have {option} (rows {listed}): give {remedy}, or a column whose cells "
            "are unique",
            file=name,
            rows=count(len(rows), "row"),
            option=asked,
            listed=listed,
            remedy=row,
        )
    )


@dataclass(frozen=True)
class Request:
    """What is to be explained."""

    data: str  # as it was given
    source: tables.Place
    schema: str | None
    model: str | None
    row: int | None
    where: str | None
    cfs: Sequence[str] | None
    report: str | None
    how: Values

    @classmethod
    def read(cls, data: str, model: str | None, which: Values, how: Values) -> Self:
        schema, report = which.get("schema"), which.get("report")
        row, where = which.get("row"), which.get("where")
        if (schema is None) == (model is None):
            text = "give --schema, with the table, or --model, with new rows: one of two"
        elif report is not None and model is not None:
            text = "--report cannot be used with --model: leave it out"
        elif (row is None) == (where is None):
            text = "give either --row N or --where COLUMN=CELL"
        else:
            source = tables.Place.to_read(data, how.get("input_format"))
            return cls(data, source, schema, model, row, where, which.get("cf"), report, how)
        raise UsageError(Problem("option-conflict", text))

    @property
    def paths(self) -> list[Path | None]:
        """The files that are read; None is standard input."""
        files = (one for one in (self.schema, self.model, self.report) if one is not None)
        beside = [] if self.report is None else side_files(self.report)
        return [self.source.path, *map(tables.local, files), *beside]

    def shown(self, names: Sequence[str], schema: Schema) -> str | None:
        """Return `COLUMN=CELL` without the cell of an identifier; None: asked by number."""
        if self.where is None:
            return None
        column, _ = split(self.where, names)
        return f"{column}=…" if column in schema.identifiers else self.where


def by_model(request: Request, given: Values) -> Explanation:
    """Explain how a model answers a new row; no other row is encoded."""
    for name in given:
        if name not in {*CHANGEABLE, *RUN_ONLY}:
            text = "{option} is decided when a model is fitted: leave it out"
            raise UsageError(Problem("option-fitting-only", text, option=option(name)))
    path = tables.local(str(request.model))
    model = Model.load(path)
    settings, run = of_model(model, given)
    cfs = chosen_cfs(request.cfs, [*model.encoding.domains], path.name)
    refuse_blurred(model.schema, run.infer, cfs=cfs)
    row, frame, key = _new_row(request, model)
    name = request.source.name
    rows = AnsweredRows.of_model(model, frame, settings, name=name, jobs=run.jobs, first_row=row)
    return explain_row(rows, row, cfs=cfs, key=key)


def _new_row(request: Request, model: Model) -> tuple[int, Any, str | None]:
    """Return the number of the new row, a table of that row alone, and its cell asked for, if any.

    No more is read than needed, but a file is gone through once in any case, to find what is wrong
    in it.
    """
    source, schema, how = request.source, model.schema, request.how
    signs = signs_of(how, source, schema.file)
    columns, aside = columns_to_show(how, schema), sets_aside(how)
    found, rows, height = None, list[int](), 0
    with (
        without_words(schema),
        tables.reading(source, rows=BLOCK, set_aside=aside, columns=columns, **signs) as blocks,
    ):
        names = frames.names(blocks.empty.frame)
        check_columns(names, source, signs, schema)
        warn_of_rejects(blocks.rejected, source)
        key = split(request.where, names) if request.where is not None else None
        shown = request.shown(names, schema)
        if request.row is not None:
            check_row(request.row, blocks.height, source.name)
        for block in blocks:
            part = block.frame
            height = block.first + len(part)
            if key is not None:
                cells = frames.as_polars(part, [key[0]], name=source.name)
                rows += (more := matches(cells[key[0]], key[1], first=block.first))
                found = part.slice(more[0] - 1 - block.first, 1) if more else found
            elif request.row is not None and request.row <= height:
                return request.row, part.slice(request.row - 1 - block.first, 1), None
    return only(rows, shown or "", source.name), found, shown


LONG = 5.0  # seconds from which on it is said how long it takes


class Announced(Display):
    """Progress that says first how long it will take, if that is long."""

    def expect(self, stages: Sequence[Expected]) -> None:
        """Take note of all stages that are to come."""
        super().expect(stages)
        seconds = sum(one.seconds for one in stages)
        if seconds >= LONG and not self.quiet:
            note(
                f"explaining a row of this table takes about {seconds:,.0f} s; a model that `cfl "
                "fit` wrote explains new rows in a second or two"
            )


def in_table(request: Request, given: Values) -> Explanation:
    source, how = request.source, request.how
    inputs = load(str(request.schema), given, data=request.data)
    schema, run = inputs.schema, inputs.run
    cfs = chosen_cfs(request.cfs, [*schema.complementary], str(request.schema))
    refuse_blurred(schema, run.infer, cfs=cfs)
    report = None if request.report is None else report_of(request.report)
    table = read_table(source, how, schema, checksum=report is not None, may_set_aside=True)
    warn_of_rejects(len(table.rejects), source)
    cells = frames.as_polars(table.frame, name=source.name)
    key = request.shown(cells.columns, schema)
    if request.where is None:
        row = check_row(request.row, cells.height, source.name)
    else:
        column, cell = split(request.where, cells.columns)
        row = only(matches(cells[column], cell), key or "", source.name)
    recorded = None
    if report is not None and request.report is not None:
        recorded = report, request.report, with_table(inputs.sources, source, how, table)
    with Announced(quiet=run.quiet) as display:
        return explain(
            table.frame,
            schema,
            row,
            cf=cfs,
            name=source.name,
            progress=display,
            jobs=run.jobs,
            max_memory=run.max_memory,
            infer=run.infer,
            key=key,
            recorded=recorded,
            **inputs.settings.as_dict(),
        )
