"""New rows, block by block: what a model says of them, and what their own cells say of the model.

Rows go through one block after the other, so that memory does not grow with their number. Some of
them stay, with what was said of them, and are judged in the end: see `sample`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.arrays import Floats
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.errors import DataError
from cfl_cli.estimators.interface import Estimate, Hidden
from cfl_cli.jobs.kept import Kept
from cfl_cli.jobs.prepare import with_copies
from cfl_cli.jobs.sample import Sample
from cfl_cli.jobs.suspects import suspect_cells
from cfl_cli.steps.cells import used_columns
from cfl_cli.steps.decode import clashes, decode, written
from cfl_cli.steps.encode import Encoded, encode
from cfl_cli.steps.unusual import Unusual
from cfl_cli.tables import frames
from cfl_cli.trust.batch import Counts, JudgedBatch, judge_batch
from cfl_cli.trust.calibrate import raised_to
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.history import Before
from cfl_cli.trust.report import Batch as BatchFacts
from cfl_cli.trust.verdict import SUSPECT

JUDGED_ROWS = 10_000  # of a batch, at most …
JUDGED_NUMBERS = 1 << 21  # … or those of as many confidences
ROWS_AT_ONCE = 8192
NUMBERS_AT_ONCE = 1 << 20  # features and confidences of a block, about


@dataclass(frozen=True)
class Answered:
    """What is said of a block of rows."""

    columns: list[pl.Series]  # the new ones
    confidences: dict[str, Floats]  # per CF: m × K


@dataclass(frozen=True)
class Judged:
    """The verdict on a batch, and the cells of it that most likely rule out the true value."""

    verdict: JudgedBatch
    suspects: pl.DataFrame


class Batch:
    """The new rows of one call, answered by what is kept of a table."""

    def __init__(self, kept: Kept, settings: Settings, workers: Workers, *, name: str) -> None:
        self.kept, self.settings, self.workers, self.name = kept, settings, workers, name
        self.used, self.width = used_columns(kept.schema), kept.layout.width
        flagged = frozenset(column.name for column in kept.report.columns if column.flagged)
        self.as_observed = flagged if settings.keep_flagged else frozenset[str]()
        rows = max(min(JUDGED_ROWS, JUDGED_NUMBERS // self.width), 1)
        self.sample = Sample(rows, kept.settings.seed)
        self.unusual = Unusual()
        self.counts = np.zeros((len(kept.layout.domains), 5), dtype=np.int64)
        self.features, self.cells = sha256(), sha256()

    @property
    def rows_at_once(self) -> int:
        """Return how many rows a block should have."""
        width = self.width + self.kept.layout.features
        return max(min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // width), 1)

    def check(self, columns: Sequence[str]) -> None:
        """Raise if the columns of the new rows leave no room for those that are to be added."""
        domains = {name: domain.values for name, domain in self.kept.encoding.domains.items()}
        problems = clashes(columns, domains, mode=self.settings.mode, name=self.name)
        if problems:
            raise DataError(*problems)

    def add(self, frame: Any) -> Answered:
        """Answer the rows that follow those that were added before."""
        cells = frames.as_polars(frame, self.used, name=self.name)
        encoded = self._encoded(cells, first_row=self.sample.seen + 1)
        said = self.kept.fitted.answer(encoded.known, self.workers)
        estimate = self._calibrated(
            encoded,
            Estimate(
                said.confidences,
                said.fell_back,
                said.mass,
                self.kept.origins,
                answers=said.answers,
            ),
        )
        self._count(encoded, estimate)
        self.sample.add(
            cells.select(self.used),
            priors=said.priors,
            confidences=said.confidences,
            fell_back=said.fell_back,
            mass=said.mass,
            **({} if said.answers is None else {"answers": said.answers}),
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
        return Answered(
            columns,
            {
                block.name: written(
                    estimate.confidences, encoded.candidates, block, self.as_observed
                )
                for block in encoded.blocks
            },
        )

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the rows as the model sees them."""
        return sha256(self.features.digest() + self.cells.digest()).hexdigest()

    def judged(self, before: Before | None = None) -> Judged:
        """Return the verdict on all rows, as the next batch of a history if there is one."""
        drawn = self.sample.drawn()
        encoded = self._encoded(drawn.cells, first_row=1)
        encoded = replace(encoded, warnings=self.unusual.warnings)  # of all rows
        encoded = with_copies(encoded, self.kept.settings, workers=self.workers)
        found = drawn.arrays
        hidden = Hidden(
            np.arange(len(drawn.rows)),
            found["priors"],
            self.kept.fitted.rules,
            self.kept.reference.shares,
        )
        estimate = self._calibrated(
            encoded,
            Estimate(
                found["confidences"],
                found["fell_back"],
                found["mass"],
                self.kept.origins,
                hidden,
                answers=found.get("answers"),
            ),
        )
        settings = self.settings
        judged = judge_batch(
            encoded,
            estimate,
            batch=self._facts(len(drawn.rows), before.number if before else None),
            rows=self.sample.seen,
            counts=[Counts(*counts) for counts in self.counts.tolist()],
            fitting=self.kept.report,
            reference=self.kept.reference,
            courses=before.courses if before else None,
            cfl_version=__version__,
            settings=settings.as_dict(),
            min_confidence=settings.min_confidence,
            bias=settings.bias,
            kept=self.as_observed,
            jobs=self.workers.jobs,
        )
        suspects = suspect_cells(encoded, estimate)
        rows = drawn.rows[suspects["row"].to_numpy() - 1] + 1
        return Judged(judged, suspects.with_columns(row=pl.Series(rows, dtype=pl.Int64)))

    def _encoded(self, cells: pl.DataFrame, *, first_row: int) -> Encoded:
        return encode(
            cells,
            self.kept.schema,
            name=self.name,
            encoding=self.kept.encoding,
            first_row=first_row,
        )

    def _calibrated(self, encoded: Encoded, estimate: Estimate) -> Estimate:
        powers = self.kept.powers
        return estimate if powers is None else raised_to(powers, encoded, estimate)

    def _count(self, encoded: Encoded, estimate: Estimate) -> None:
        """Add up what is known of all rows."""
        self.unusual += encoded.unusual
        self.features.update(np.ascontiguousarray(encoded.features).tobytes())
        self.cells.update(encoded.candidates.tobytes())
        for cf, block in enumerate(encoded.blocks):
            facts = ColumnFacts(encoded, estimate, cf)
            unsure = facts.answer_confidences < self.settings.min_confidence
            self.counts[cf] += [
                block.exact_cells,
                block.empty_cells,
                int(estimate.fell_back[:, cf].sum()),
                int(unsure.sum()),
                int((estimate.mass[:, cf] < SUSPECT).sum()),
            ]

    def _facts(self, judged: int, number: int | None) -> BatchFacts:
        """Return what the batch is, beside the rows that were fitted."""
        unusual = self.unusual.columns
        flagged = self.kept.encoding.beyond_chance(self.unusual)
        shares = {
            name: (
                counts.new_categories / max(counts.rows, 1),
                counts.out_of_range / max(counts.rows, 1),
            )
            for name, counts in unusual.items()
            if name in flagged
        }
        return BatchFacts(
            rows_judged=judged,
            new_categories={name: share for name, (share, _) in shares.items() if share},
            out_of_range={name: share for name, (_, share) in shares.items() if share},
            model=self.kept.checksum,
            checksum=self.checksum,
            number=number,
        )
