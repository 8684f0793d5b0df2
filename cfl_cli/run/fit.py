"""Learn once: a table and a schema in, a model out that answers rows that come later."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.core.arrays import Ints
from cfl_cli.core.draws import FITTED, JUDGED, draw, some
from cfl_cli.core.progress import Progress, Stage, Stages, Work
from cfl_cli.core.settings import METHODS, Auto, Settings
from cfl_cli.encode.cells import used_columns
from cfl_cli.encode.encode import running
from cfl_cli.encode.findings import MisfitError
from cfl_cli.large import remove_run
from cfl_cli.run import AnySchema, Arguments, Context, ToldProgress, called, refuse_blurred
from cfl_cli.run.learn import at_work, learn
from cfl_cli.run.result import Model, refusal
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table
from cfl_cli.tables.frames import PORTABLE
from cfl_cli.tables.table import Blocks
from cfl_cli.trust.report import RowsDrawn, Sources

_Arrays = dict[str, npt.NDArray[Any]]
_MOST_BLOCKS = 64  # that are held before they become one


class Sample:
    """At most `size` rows of a stream of unknown length: their cells, and arrays of one entry each.

    Every row has a random number of its own, and those with the smallest stay: all rows of a short
    stream. Which rows stay does not depend on how the stream is cut into blocks. Rows that are left
    out never stay.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.left_out = np.empty(0, dtype=np.int64)  # numbers of rows, in order
        self.seen = 0
        self._keys = np.empty(0, dtype=np.uint64)
        self._rows = np.empty(0, dtype=np.int64)
        self._blocks: list[tuple[pl.DataFrame, _Arrays]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, cells: pl.DataFrame, **arrays: npt.NDArray[Any]) -> None:
        rows = np.arange(self.seen, self.seen + cells.height)
        keys = draw(rows, JUDGED, self.seed)
        self.seen += len(rows)
        first, last = np.searchsorted(self.left_out, [self.seen - len(rows), self.seen])
        full = len(self._keys) >= self.size
        may_stay = keys <= np.uint64(self._keys.max() if full else 2**64 - 1)
        may_stay[self.left_out[first:last] - (self.seen - len(rows))] = False
        staying = np.flatnonzero(may_stay)
        self._keys = np.append(self._keys, keys[staying])
        self._rows = np.append(self._rows, rows[staying])
        kept = {name: array[staying] for name, array in arrays.items()}
        if len(staying) or not self._blocks:
            self._blocks.append((compact(cells[staying]), kept))
        if len(self._rows) > 2 * self.size or len(self._blocks) > _MOST_BLOCKS:
            self._drop()

    def drawn(self) -> tuple[Ints, pl.DataFrame, _Arrays]:
        """Return the rows that stay, in their order: their numbers from 0, cells and arrays."""
        self._drop()
        return self._rows, *self._blocks[0]

    def _drop(self) -> None:
        staying = np.sort(np.argsort(self._keys, kind="stable")[: self.size])
        if len(self._blocks) == 1 and len(staying) == len(self._rows):
            return
        frames, arrays = zip(*self._blocks, strict=True)
        joined = {name: np.concatenate([block[name] for block in arrays]) for name in arrays[0]}
        cells = compact(pl.concat(frames)[staying])
        self._keys, self._rows = self._keys[staying], self._rows[staying]
        self._blocks = [(cells, {name: array[staying] for name, array in joined.items()})]


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame with texts of its own: rows that were taken from others keep those of all."""
    return pl.DataFrame(pl.from_arrow(frame.to_arrow(compat_level=PORTABLE)))


_DRAW = Stage("draw", Work.ENCODE, "drawing rows to learn from")
AT_ONCE = 32_768  # rows of a block


@dataclass(frozen=True)
class RowsToLearn:
    """The rows of a table to learn from: a frame, or a table whose cells are on disk."""

    frame: Any
    rows: Ints | None = None  # their numbers in the table, from 0; None: these are all
    facts: RowsDrawn | None = None  # for the report; None: all rows

    @contextmanager
    def numbered(self, name: str) -> Iterator[None]:
        try:
            yield
        except MisfitError as error:
            if (numbers := self.rows) is None:
                raise
            raise error.renumbered(lambda row: int(numbers[row - 1]) + 1) from None


def part_of(
    frame: Any, schema: Schema, settings: Settings, *, name: str, progress: Progress
) -> RowsToLearn:
    """Return the rows to learn from, in the table's order; all, unless a sample is smaller.

    Which these are depends on the seed and on how many rows there are. Columns that are not used
    come without their cells.
    """
    size, is_stored = settings.sample, isinstance(frame, Blocks)
    if not is_stored:
        frames.as_polars(frame, (), name=name)  # raises if it is no table
    total = len(frame)
    if size is None or size >= total:
        return RowsToLearn(frame)
    rows = some(total, size, FITTED, settings.seed)
    blocks = frame.blocks(AT_ONCE) if is_stored else [Table(frame)]
    names = frames.names(frame)
    wanted = {*used_columns(schema)}
    there = [column for column in names if column in wanted]
    taken: list[Any] = []
    for block in blocks:
        progress(_DRAW, block.first, total)
        first, last = np.searchsorted(rows, [block.first, block.first + len(block.frame)])
        if last > first or not taken:
            taken.append(_taken(block.frame, rows[first:last] - block.first, there))
    cells = frames.as_polars(frames.concat(taken) if len(taken) > 1 else taken[0])
    others = pl.Series([None]).new_from_index(0, size)
    texts = [column for column in names if isinstance(column, str)]
    columns = {column: cells[column] if column in wanted else others for column in texts}
    return RowsToLearn(pl.DataFrame(columns), rows, RowsDrawn(size, total))


def _taken(frame: Any, rows: Ints, columns: list[str]) -> Any:
    if frames.is_arrow(frame):
        return frame.select(columns).take(rows)
    if isinstance(frame, pl.DataFrame):
        return compact(frame.select(columns)[rows])
    return frame[columns].iloc[rows]


def fit(
    frame: Any,
    schema: AnySchema,
    *,
    method: str | None = None,
    k: int | None = None,
    iterations: int | Auto | None = None,
    gamma: float | Auto | None = None,
    metric: Literal["plain", "learned"] | None = None,
    ridge: float | None = None,
    seed: int | None = None,
    folds: int | Auto | None = None,
    bias: float | None = None,
    calibration: bool | None = None,
    neighbors: Literal["auto", "exact"] | None = None,
    correction: bool | None = None,
    mode: Literal["hard", "soft", "both"] | None = None,
    min_confidence: float | None = None,
    keep_flagged: bool | None = None,
    budget: float | None = None,
    sample: int | None = None,
    jobs: int | None = None,
    engine: Literal["local", "dask"] | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    run_dir: str | None = None,
    resume: bool | None = None,
    max_memory: int | str | None = None,
    infer: str | Sequence[str] | None = None,
    reference: Any = None,
    sources: Sources | None = None,
    name: str = "table",
    progress: ToldProgress = True,
) -> Model:
    """Fit a method to a table, and return a model that imputes new rows.

    Parameters
    ----------
    frame, schema
        As in `impute`.
    method, k, iterations, gamma, metric, ridge, seed, folds, bias, calibration, neighbors,
    correction, mode, min_confidence, keep_flagged, budget, jobs, engine, scheduler, workers,
    run_dir, resume, max_memory, infer
        As in `impute`.
    sample : int, default all rows
        Learn from this many rows, drawn at random; `Model.apply` fills in the other rows.
    reference, sources, name, progress
        As in `impute`.

    Returns
    -------
    Model

    Raises
    ------
    UsageError
        An argument is wrong, or the method has no model.
    SchemaError, DataError, ResourceError
        As in `impute`.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> model = cfl_cli.fit(table, schema, k=5)
    >>> model
    Model(graph, 40 rows, 1 CF)
    """
    given = Arguments.of_call(locals())
    with called(frame, progress, schema=given.schema) as told:
        fitted = fit_stored(frame, given, Context(name, told, sources, reference=reference))
    remove_run(given.limits)
    return fitted


def fit_stored(frame: Any, given: Arguments, context: Context) -> Model:
    refuse_blurred(given.schema, given.limits.infer)
    chosen, name = given.settings, context.name
    if not METHODS[chosen.method].learns:
        raise refusal(chosen.method)
    stages = Stages(context.progress)
    part = part_of(frame, given.schema, chosen, name=name, progress=stages)
    with at_work(part.frame, given, context) as engine, part.numbered(name):
        learned = learn(part.frame, given, context, stages=stages, engine=engine)
        warnings = (*learned.report.warnings, *running(learned.encoded))
        facts = replace(learned.report, sample=part.facts, warnings=warnings)
        return Model.of(replace(learned, report=facts), given.schema)
