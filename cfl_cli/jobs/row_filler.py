"""Fills in new rows by what is kept of a table, block by block; nothing is remembered of them."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from cfl_cli.core.arrays import Floats
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.errors import DataError
from cfl_cli.estimators.interface import Answer, Estimate
from cfl_cli.jobs.kept import Kept
from cfl_cli.steps.cells import used_columns
from cfl_cli.steps.decode import clashes, decode, written
from cfl_cli.steps.encode import Encoded, encode
from cfl_cli.tables import frames
from cfl_cli.trust.calibrate import raised_to

ROWS_AT_ONCE = 32_768  # the more, the more of them look at the same neighbors
NUMBERS_AT_ONCE = 1 << 20  # features and confidences of a block, about


@dataclass(frozen=True, eq=False)
class Filled:
    """A block of rows, and what is said of them."""

    cells: pl.DataFrame  # of the columns that are used
    encoded: Encoded
    answer: Answer
    estimate: Estimate  # the answer with calibrated confidences
    columns: list[pl.Series]  # the new ones
    confidences: dict[str, Floats]  # per CF: m × K, as they are written


class RowFiller:
    """Answers rows by what is kept of a table, with the settings of one call."""

    def __init__(self, kept: Kept, settings: Settings, workers: Engine, *, name: str) -> None:
        self.kept, self.settings, self.workers, self.name = kept, settings, workers, name
        self.used, self.width = used_columns(kept.schema), kept.layout.width
        flagged = frozenset(column.name for column in kept.report.columns if column.flagged)
        self.as_observed = flagged if settings.keep_flagged else frozenset[str]()

    @property
    def rows_at_once(self) -> int:
        """Return how many rows a block should have."""
        width = self.width + self.kept.layout.features
        return max(min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // width), 1)

    def check(self, columns: Sequence[str]) -> None:
        """Raise if the columns of the new rows leave no room for those that are to be added."""
        domains = {name: domain.values for name, domain in self.kept.encoding.domains.items()}
        problems = clashes(columns, domains, mode=self.settings.mode)
        if problems:
            raise DataError(*(f"{self.name}: {problem}" for problem in problems))

    def fill(self, frame: Any, *, first_row: int) -> Filled:
        """Answer some rows; `first_row` is the number of the first of them, from 1."""
        cells = frames.as_polars(frame, self.used, name=self.name)
        encoded = self.encoded(cells, first_row=first_row)
        return self.filled(cells, encoded, self.kept.fitted.answer(encoded.known, self.workers))

    def filled(self, cells: pl.DataFrame, encoded: Encoded, said: Answer) -> Filled:
        """Return what becomes of rows of which so much is said."""
        estimate = self.calibrated(
            encoded,
            Estimate(
                said.confidences,
                said.fell_back,
                said.mass,
                self.kept.origins,
                answers=said.answers,
            ),
        )
        columns = decode(
            estimate.confidences,
            encoded.candidates,
            encoded.blocks,
            answers=estimate.answers,
            mode=self.settings.mode,
            kept=self.as_observed,
            min_confidence=self.settings.min_confidence,
        )
        confidences = {
            block.name: written(estimate.confidences, encoded.candidates, block, self.as_observed)
            for block in encoded.blocks
        }
        return Filled(cells.select(self.used), encoded, said, estimate, columns, confidences)

    def encoded(self, cells: pl.DataFrame, *, first_row: int) -> Encoded:
        """Return rows as the fitted ones were encoded."""
        kept = self.kept
        return encode(
            cells, kept.schema, name=self.name, encoding=kept.encoding, first_row=first_row
        )

    def calibrated(self, encoded: Encoded, estimate: Estimate) -> Estimate:
        """Return the estimate with confidences raised to the powers that were fitted."""
        powers = self.kept.powers
        return estimate if powers is None else raised_to(powers, encoded, estimate)
