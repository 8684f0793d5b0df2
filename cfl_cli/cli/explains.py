"""How `cfl explain` works: which row is meant, in which table, and what answers it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from cfl_cli.cli.discreet import without_words
from cfl_cli.cli.given import Values
from cfl_cli.cli.inputs import (
    columns_to_show,
    of_model,
    sets_aside,
    signs_of,
    warn_of_rejects,
)
from cfl_cli.cli.other_names import check_names
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError
from cfl_cli.jobs.blurred import refuse_blurred
from cfl_cli.jobs.explain_new import check_row, chosen_cfs, explain_new
from cfl_cli.jobs.explanation import Explanation
from cfl_cli.jobs.kept import CHANGEABLE, Kept
from cfl_cli.jobs.which_row import discreet, matches, only, split
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables
from cfl_cli.tables.blocks import BLOCK

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
        from cfl_cli.cli.reports import side_files  # noqa: PLC0415 — a model does without

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
    return explain_new(
        model,
        frame,
        settings,
        row=row,
        cfs=cfs,
        key=key,
        name=asked.source.name,
        jobs=run.jobs,
    )


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
