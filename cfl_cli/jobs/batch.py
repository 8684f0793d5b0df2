"""The new rows of one call, and what their own cells say of the model that answers them.

Rows go through one block after the other, so that memory does not grow with their number. Some of
them stay, with what was said of them, and are judged in the end: see `sample`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.estimators.interface import Estimate, Hidden
from cfl_cli.jobs.answering import Answering
from cfl_cli.jobs.blurred import recorded
from cfl_cli.jobs.diagnostics import diagnose
from cfl_cli.jobs.kept import Kept
from cfl_cli.jobs.prepare import with_copies
from cfl_cli.jobs.row_filler import Filled, RowFiller
from cfl_cli.jobs.sample import Sample
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.unusual import Unusual
from cfl_cli.tables import frames
from cfl_cli.tables.checksum import ColumnsChecksum
from cfl_cli.trust.batch import Counts, JudgedBatch, judge_batch
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.history import Before
from cfl_cli.trust.report import Batch as BatchFacts
from cfl_cli.trust.verdict import SUSPECT

JUDGED_ROWS = 10_000  # of a batch, at most …
JUDGED_NUMBERS = 1 << 21  # … or those of as many confidences
Key = TypeVar("Key")


@dataclass(frozen=True)
class Judged:
    """The verdict on a batch, and which cells of the rows that were judged to look at."""

    verdict: JudgedBatch
    diagnostics: pl.DataFrame


class Batch(RowFiller):
    """The new rows of one call, answered, counted and in the end judged."""

    def __init__(self, kept: Kept, settings: Settings, workers: Engine, *, name: str) -> None:
        super().__init__(kept, settings, workers, name=name)
        rows = max(min(JUDGED_ROWS, JUDGED_NUMBERS // self.width), 1)
        self.sample = Sample(rows, kept.settings.seed)
        self.unusual = Unusual()
        self.counts = np.zeros((len(kept.layout.domains), 5), dtype=np.int64)
        self.features, self.cells = sha256(), sha256()
        self.answers = ColumnsChecksum()

    def add(self, parts: Iterable[tuple[Key, Any]], by: Answering) -> Iterator[tuple[Key, Filled]]:
        """Yield blocks of rows, answered, each with its key; they follow each other."""
        first, waiting = 1, iter(parts)
        while some := [*islice(waiting, by.blocks)]:
            blocks = []
            for _, frame in some:
                cells = frames.as_polars(frame, self.used, name=self.name)
                blocks.append((cells, self.encoded(cells, first_row=first)))
                first += cells.height
            answers = by.answers([block.known for _, block in blocks], rows=self.rows_at_once)
            for (key, _), block, said in zip(some, blocks, answers, strict=True):
                filled = self.filled(*block, said)
                self._add(filled)
                yield key, filled

    def _add(self, filled: Filled) -> None:
        """Count rows, and let some of them stay."""
        self._count(filled.encoded, filled.estimate)
        self.answers.add(filled.columns)
        said = filled.answer
        self.sample.add(
            filled.cells,
            priors=said.priors,
            confidences=said.confidences,
            fell_back=said.fell_back,
            mass=said.mass,
            **({} if said.answers is None else {"answers": said.answers}),
        )

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the rows as the model sees them."""
        return sha256(self.features.digest() + self.cells.digest()).hexdigest()

    def judged(self, before: Before | None = None, *, diagnostics: bool = True) -> Judged:
        """Return the verdict on all rows, as the next batch of a history if there is one.

        Without `diagnostics` it does not say which cells to look at, and takes less time.
        """
        drawn = self.sample.drawn()
        encoded = self.encoded(drawn.cells, first_row=1)
        encoded = replace(encoded, warnings=self.unusual.warnings)  # of all rows
        encoded = with_copies(encoded, self.kept.settings, workers=self.workers)
        found = drawn.arrays
        hidden = Hidden(
            np.arange(len(drawn.rows)),
            found["priors"],
            self.kept.fitted.rules,
            self.kept.reference.shares,
        )
        estimate = self.calibrated(
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
        judged = replace(judged, report=recorded(judged.report, self.kept.schema))
        listed = diagnose(encoded, estimate, judged.report.columns if diagnostics else ())
        rows = drawn.rows[listed["row"].to_numpy() - 1] + 1
        return Judged(judged, listed.with_columns(row=pl.Series(rows, dtype=pl.Int64)))

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
