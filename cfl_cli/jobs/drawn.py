"""Some rows of a table to learn from, drawn at random; the others are never all in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.draws import FITTED, some
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress, Stage, Work
from cfl_cli.jobs.sample import compact
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import used_columns
from cfl_cli.steps.findings import Finding, MisfitError
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table
from cfl_cli.tables.stored import StoredTable
from cfl_cli.trust.report import RowsDrawn

DRAW = Stage("draw", Work.ENCODE, "drawing rows to learn from")
AT_ONCE = 32_768  # rows of a block


@dataclass(frozen=True)
class Part:
    """The rows of a table to learn from: a frame, or a table whose cells are on disk."""

    frame: Any
    rows: Ints | None = None  # their numbers in the table, from 0; None: these are all
    facts: RowsDrawn | None = None  # for the report; None: all rows

    @contextmanager
    def numbered(self, name: str) -> Iterator[None]:
        """Let errors in the block have the numbers that rows have in the table."""
        try:
            yield
        except MisfitError as error:
            if self.rows is None:
                raise
            found, warned = map(self._numbered, (error.findings, error.warnings))
            raise MisfitError(name, found, warned) from None

    def _numbered(self, findings: Sequence[Finding]) -> list[Finding]:
        rows = self.rows if self.rows is not None else np.empty(0, dtype=np.int64)
        return [
            replace(one, rows=tuple(int(rows[row - 1]) + 1 for row in one.rows)) for one in findings
        ]


def part_of(
    frame: Any, schema: Schema, settings: Settings, *, name: str, progress: Progress
) -> Part:
    """Return the rows to learn from, in the table's order; all, unless a sample is smaller.

    Which these are depends on the seed and on how many rows there are. Columns that are not used
    come without their cells.
    """
    size, is_stored = settings.sample, isinstance(frame, StoredTable)
    if not is_stored:
        frames.as_polars(frame, (), name=name)  # raises if it is no table
    total = len(frame)
    if size is None or size >= total:
        return Part(frame)
    rows = some(total, size, FITTED, settings.seed)
    blocks = frame.blocks(AT_ONCE) if is_stored else [Table(frame)]
    names = frames.names(frame)
    wanted = {*used_columns(schema)}
    there = [column for column in names if column in wanted]
    taken: list[Any] = []
    for block in blocks:
        progress(DRAW, block.first, total)
        first, last = np.searchsorted(rows, [block.first, block.first + len(block.frame)])
        if last > first or not taken:
            taken.append(_taken(block.frame, rows[first:last] - block.first, there))
    cells = frames.as_polars(frames.concat(taken) if len(taken) > 1 else taken[0])
    others = pl.Series([None]).new_from_index(0, size)
    return Part(
        pl.DataFrame(
            {
                column: cells[column] if column in wanted else others
                for column in names
                if isinstance(column, str)
            }
        ),
        rows,
        RowsDrawn(size, total),
    )


def _taken(frame: Any, rows: Ints, columns: list[str]) -> Any:
    """Return some rows of some columns of a frame, in memory of their own."""
    if frames.is_arrow(frame):
        return frame.select(columns).take(rows)
    if isinstance(frame, pl.DataFrame):
        return compact(frame.select(columns)[rows])
    return frame[columns].iloc[rows]
