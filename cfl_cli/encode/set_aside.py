"""Rows whose cells do not fit the schema, taken out of a table before anything is learned from it."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.encode.cells import Cells, usable_columns, used_columns
from cfl_cli.encode.columns import fit_column
from cfl_cli.encode.diagnose import required
from cfl_cli.encode.encode import Encoding, encode_cf
from cfl_cli.encode.findings import Problems
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Reject, Table
from cfl_cli.tables.table import Blocks

LEAST = 2  # rows that are left


@dataclass(eq=False)
class _Wrong(Problems):
    """Knows of each column which rows have a cell that does not fit; what else is wrong is lost."""

    column: str = ""
    rows: dict[str, Mask] = field(default_factory=dict)

    def add_cells(self, cells_of: Any, wrong: Mask, diagnose: Any) -> None:
        if wrong.any():
            self.rows[self.column] = self.rows.get(self.column, False) | wrong


def misfits(table: Blocks, schema: Schema, encoding: Encoding | None = None) -> dict[str, Mask]:
    """Return by column which rows have a cell there that would stop a run."""
    found = _Wrong("", schema, model=encoding is not None)
    usable = usable_columns(table, used_columns(schema), found, lists=schema.complementary)
    for name, of in schema.ordinary.items():
        if name not in usable:
            continue
        found.column, cells = name, Cells.of(table[name], schema)
        if (of.on_missing or schema.on_missing) == "error":
            found.add_cells(cells.shown, cells.missing, required(name))
        if encoding is not None:
            encoding.ordinary[name].features(cells, found)
        elif not cells.missing.all():
            fit_column(cells, of, found)
    for name, cf in schema.complementary.items():
        if name in usable:
            found.column, cells = name, Cells.of(table[name], schema)
            domain = None if encoding is None else encoding.domains[name]
            encode_cf(cells, cf, schema, 0, found, domain=domain)
    return found.rows


def setting_aside(table: Blocks, schema: Schema, encoding: Encoding | None = None) -> Blocks:
    """Return a table without the rows whose cells do not fit; these come as its rejects.

    With an `encoding` the cells are those of new rows, which a model is applied to. Where hardly a
    row would be left, the schema is wrong and not the rows, and the table stays as it is.
    """
    wrong = misfits(table, schema, encoding)
    kept = ~np.logical_or.reduce([np.zeros(table.height, bool), *wrong.values()])
    if kept.all() or kept.sum() < LEAST:
        return table

    def parts() -> Iterator[Table]:
        first = 0
        for part in table.tables():
            rows = slice(first, first + frames.height(part.frame))
            yield _some(part, kept[rows], {name: one[rows] for name, one in wrong.items()}, first)
            first = rows.stop

    return replace(
        table,
        empty=replace(table.empty, layout=None),
        height=int(kept.sum()),
        rejected=table.rejected + int((~kept).sum()),
        tables=parts,
        column=None,
        load=lambda name: frames.some_rows(table.load(name), kept),
        whole=None if table.whole is None else _some(table.whole, kept, wrong, 0),
    )


def _some(part: Table, kept: Mask, wrong: dict[str, Mask], first: int) -> Table:
    if kept.all():
        return replace(part, layout=None)
    aside = frames.as_polars(frames.some_rows(part.frame, ~kept))
    rejects: list[Reject] = []
    for place, row in zip(np.flatnonzero(~kept).tolist(), aside.iter_rows(), strict=True):
        cells = dict(zip(aside.columns, row, strict=True))
        bad = [name for name, mask in wrong.items() if mask[place]]
        shown = "; ".join(f"{name}: {cells[name]!r}" for name in bad)
        line = _as_csv(row) if part.lines is None else part.lines[place].decode(errors="replace")
        rejects.append((None, f"row {first + place + 1} does not fit the schema ({shown})", line))
    lines = part.lines
    if lines is not None:
        lines = [line for line, stays in zip(lines, kept, strict=True) if stays]
    frame = frames.some_rows(part.frame, kept)
    return replace(part, frame=frame, rejects=[*part.rejects, *rejects], lines=lines, layout=None)


def _as_csv(row: Sequence[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(["" if one is None else one for one in row])
    return text.getvalue()
