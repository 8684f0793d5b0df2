"""How `cfl explain` works: which row is meant, in which table, and what answers it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from cfl_cli.cli.inputs import (
    check_names,
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
from cfl_cli.cli.log import note
from cfl_cli.cli.options import Values
from cfl_cli.cli.progress import Display
from cfl_cli.commands.explain.job import (
    Explanation,
    check_row,
    chosen_cfs,
    explain,
    explain_row,
)
from cfl_cli.commands.report.work import report_of
from cfl_cli.core.messages import count, did_you_mean, option, quote
from cfl_cli.core.progress import Expected
from cfl_cli.errors import DataError, UsageError
from cfl_cli.run.arguments import refuse_blurred
from cfl_cli.run.model import CHANGEABLE, Kept
from cfl_cli.run.result import AnsweredRows
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.table import BLOCK
from cfl_cli.texts.matching import as_text

# The row of a table that is meant: by its number, or by a cell of any column.

NAMED = 5  # rows that a message names


def split(where: str, columns: Sequence[str]) -> tuple[str, str]:
    """Return the column and the cell of `COLUMN=CELL`, or raise; a name may hold = itself."""
    parts = where.split("=")
    for size in range(len(parts) - 1, 0, -1):
        if (column := "=".join(parts[:size])) in columns:
            return column, "=".join(parts[size:])
    if len(parts) < 2:
        raise UsageError(
            f"{option('where', where, quoted=True)}: expected COLUMN=CELL, such as patient=17"
        )
    raise UsageError(
        f"{option('where', where, quoted=True)}: no column {quote(parts[0])}"
        f"{did_you_mean(parts[0], columns)}"
    )


def matches(column: pl.Series, cell: str, *, first: int = 0) -> list[int]:
    """Return the numbers of the rows, from 1, whose cell is this; `first` rows came before."""
    if not cell:
        raise UsageError(
            f"{option('where')}: empty cells cannot be asked for: give {option('row')}"
        )
    if column.dtype.is_nested():
        raise UsageError(
            f"{option('where')}: the cells of column {quote(column.name)} are lists: ask by another"
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


def discreet(where: str, column: str, identifiers: Collection[str]) -> str:
    """Return `COLUMN=CELL` as it may be shown: without the cell of an identifier."""
    return f"{column}=…" if column in identifiers else where


def only(rows: Sequence[int], where: str, name: str) -> int:
    """Return the one row that matches, or raise; `where` is as it may be shown."""
    if len(rows) == 1:
        return rows[0]
    asked = option("where", where, quoted=True)
    if not rows:
        raise DataError(f"{name}: no row has {asked}: check the spelling, or give {option('row')}")
    listed = ", ".join(f"{row:,}" for row in rows[:NAMED]) + (" …" if len(rows) > NAMED else "")
    raise DataError(
        f"{name}: {count(len(rows), 'row')} have {asked} (rows {listed}): give {option('row')}, or "
        "a column whose cells are unique"
    )


RUN_ONLY = {"jobs", "max_memory", "quiet", "verbose", "log_format", "overwrite", "infer"}


@dataclass(frozen=True)
class Asked:
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
        """Return what was asked for, or raise if that is not clear."""
        schema, report = which.get("schema"), which.get("report")
        if (schema is None) == (model is None):
            raise UsageError("give --schema, with the table, or --model, with new rows: one of two")
        if report is not None and model is not None:
            raise UsageError("--report cannot be used with --model: leave it out")
        row, where = which.get("row"), which.get("where")
        if (row is None) == (where is None):
            raise UsageError("give either --row N or --where COLUMN=CELL")
        source = tables.Place.to_read(data, how.get("input_format"))
        return cls(data, source, schema, model, row, where, which.get("cf"), report, how)

    @property
    def paths(self) -> list[Path | None]:
        """Return the files that are read; None is standard input."""
        files = (one for one in (self.schema, self.model, self.report) if one is not None)
        paths = [self.source.path, *map(tables.local, files)]
        if self.report is None:
            return paths
        from cfl_cli.commands.report.work import side_files  # noqa: PLC0415 — a model does without

        return [*paths, *side_files(self.report)]

    def shown(self, names: Sequence[str], schema: Schema) -> str | None:
        """Return by which cell the row was asked for, as it may be shown; None: by its number."""
        if self.where is None:
            return None
        return discreet(self.where, split(self.where, names)[0], schema.identifiers)

    def number(self, table: Any, schema: Schema) -> int:
        """Return the number of the row in a table, from 1."""
        name = self.source.name
        cells = frames.as_polars(table, name=name)
        if self.where is None:
            row = self.row or 0
            check_row(row, cells.height, name)
            return row
        column, cell = split(self.where, cells.columns)
        return only(matches(cells[column], cell), self.shown(cells.columns, schema) or "", name)


def by_model(asked: Asked, path: Path, given: Values) -> Explanation:
    """Explain how a model answers a new row; no other row is encoded."""
    fixed = [name for name in given if name not in {*CHANGEABLE, *RUN_ONLY}]
    if fixed:
        raise UsageError(
            f"--{fixed[0].replace('_', '-')} is decided when a model is fitted: leave it out"
        )
    model = Kept.load(path)
    settings, run = of_model(model, given)
    cfs = chosen_cfs(asked.cfs, [*model.encoding.domains], path.name)
    refuse_blurred(model.schema, run.infer, cfs=cfs)
    row, frame, key = _new_row(asked, model)
    name = asked.source.name
    rows = AnsweredRows.of_model(model, frame, settings, name=name, jobs=run.jobs, first_row=row)
    return explain_row(rows, row, cfs=cfs, key=key)


def _new_row(asked: Asked, model: Kept) -> tuple[int, Any, str | None]:
    """Return the number of the new row, a table of that row alone, and its cell asked for, if any.

    No more is read than needed, but a file is gone through once in any case, to find what is wrong
    in it.
    """
    source, schema = asked.source, model.schema
    signs = signs_of(asked.how, source, schema.file)
    columns = columns_to_show(asked.how, schema)
    found, rows, height = None, list[int](), 0
    aside = sets_aside(asked.how)
    with (
        without_words(schema),
        tables.reading(source, rows=BLOCK, set_aside=aside, columns=columns, **signs) as blocks,
    ):
        names = frames.names(blocks.empty.frame)
        check_names(names, source, signs, schema)
        warn_of_rejects(blocks.rejected, source)
        key = split(asked.where, names) if asked.where is not None else None
        shown = asked.shown(names, schema)
        if asked.row is not None:
            check_row(asked.row, blocks.height, source.name)
        for block in blocks:
            part = block.frame
            height = block.first + len(part)
            if key is not None:
                cells = frames.as_polars(part, [key[0]], name=source.name)
                rows += (more := matches(cells[key[0]], key[1], first=block.first))
                found = part.slice(more[0] - 1 - block.first, 1) if more else found
            elif asked.row is not None and asked.row <= height:
                return asked.row, part.slice(asked.row - 1 - block.first, 1), None
    return only(rows, shown or "", source.name), found, shown


# How `cfl explain` explains a row of a table that is learned from: it says how long it takes.

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


def in_table(asked: Asked, given: Values) -> Explanation:
    """Explain a row of the table that is learned from."""
    inputs = load(str(asked.schema), given, data=asked.data)
    cfs = chosen_cfs(asked.cfs, [*inputs.schema.complementary], str(asked.schema))
    refuse_blurred(inputs.schema, inputs.run.infer, cfs=cfs)
    report = None if asked.report is None else report_of(asked.report)
    table = read_table(
        asked.source, asked.how, inputs.schema, checksum=report is not None, may_set_aside=True
    )
    warn_of_rejects(len(table.rejects), asked.source)
    row = asked.number(table.frame, inputs.schema)
    recorded = None
    if report is not None and asked.report is not None:
        sources = with_table(inputs.sources, asked.source, asked.how, table)
        recorded = report, asked.report, sources
    run = inputs.run
    with Announced(quiet=run.quiet) as display:
        return explain(
            table.frame,
            inputs.schema,
            row,
            cf=cfs,
            name=asked.source.name,
            progress=display,
            jobs=run.jobs,
            max_memory=run.max_memory,
            infer=run.infer,
            key=asked.shown(frames.names(table.frame), inputs.schema),
            recorded=recorded,
            **inputs.settings.as_dict(),
        )
