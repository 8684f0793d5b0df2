"""The new rows of one call, and what their own cells say of the model that answers them.

Rows go through one block after the other, so that memory does not grow with their number. Some of
them stay, with what was said of them, and are judged in the end: see `sample`.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.dataset import Known
from cfl_cli.core.parallel import Engine, Workers, available_cores
from cfl_cli.core.progress import Team
from cfl_cli.core.settings import RunSettings, Settings
from cfl_cli.encode.columns import Unusual
from cfl_cli.encode.encode import Encoded, shortened
from cfl_cli.errors import DataError, Problem
from cfl_cli.large import open_engine
from cfl_cli.large.stored import Stored
from cfl_cli.methods.interface import Answer, Estimate, Hidden
from cfl_cli.run import recorded
from cfl_cli.run.diagnostics import diagnose
from cfl_cli.run.fit import Sample
from cfl_cli.run.prepare import with_copies
from cfl_cli.run.result import Filled, Model, RowFiller
from cfl_cli.tables import frames
from cfl_cli.tables.checksums import ColumnsChecksum
from cfl_cli.trust.drift import BatchCounts, JudgedBatch, judge_batch
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.history import Before
from cfl_cli.trust.report import BatchFacts, Report
from cfl_cli.trust.verdict import SUSPECT

# Who answers new rows: threads of this process, or an engine's workers, with the same bytes.
#
# What is said of a row depends on that row alone. So workers need the model, which each of them loads
# once, and rows; nothing is exchanged between them.

MODEL = "model.cfl"  # in the folder of a run
BLOCKS = 4  # for each worker at once …
_MOST_BLOCKS = 32  # … or for all of them


class Here:
    def __init__(self, kept: Model, workers: Workers) -> None:
        self.kept, self.workers = kept, workers
        self.blocks = 1  # that are answered together
        self.team: Team | None = None  # workers beside this process; None: there are none

    def answers(self, blocks: Sequence[Known], *, rows: int) -> Iterator[Answer]:
        """Yield what is said of each block, none of which has more than so many rows."""
        return (self.kept.fitted.answer(known, self.workers) for known in blocks)


@dataclass(frozen=True)
class _Arrays:
    features: Floats
    candidates: Mask
    priors: Floats
    confidences: Floats
    fell_back: Mask
    mass: Floats
    answers: Ints


@dataclass(frozen=True)
class AnswerRows:
    model: str  # where it is
    checksum: str
    starts: Ints
    of: _Arrays

    def __call__(self, part: slice) -> int:
        kept, workers = _loaded(self.model, self.checksum)
        features, candidates = np.array(self.of.features[part]), np.array(self.of.candidates[part])
        rows = Known(features, candidates, self.starts, kept.encoding.mechanisms)
        said = kept.fitted.answer(rows, workers)
        self.of.priors[part], self.of.confidences[part] = said.priors, said.confidences
        self.of.fell_back[part], self.of.mass[part] = said.fell_back, said.mass
        if said.answers is None:
            return 0
        self.of.answers[part] = said.answers
        return 1


@lru_cache(maxsize=1)
def _loaded(path: str, checksum: str) -> tuple[Model, Workers]:
    kept = Model.load(path)
    if kept.checksum != checksum:
        text = "{file}: the model changed during the run: {remedy}"
        raise DataError(Problem("model-changed", text, file=path, remedy="run the command again"))
    return kept, Workers(1).__enter__()  # until the process ends


class ByEngine:
    def __init__(self, kept: Model, engine: Stored, workers: Workers) -> None:
        self.engine, self.workers, self.layout = engine, workers, kept.layout
        self.blocks, self.team = min(BLOCKS * engine.jobs, _MOST_BLOCKS), engine.team
        self._model = engine.path / MODEL
        self._checksum = kept.save(self._model)
        self._arrays: _Arrays | None = None

    def answers(self, blocks: Sequence[Known], *, rows: int) -> Iterator[Answer]:
        width, cfs = self.layout.width, len(self.layout.domains)
        columns: dict[str, tuple[int, npt.DTypeLike]] = {
            "features": (self.layout.features, np.float64),
            "candidates": (width, np.bool_),
            "priors": (width, np.float64),
            "confidences": (width, np.float64),
            "fell back": (cfs, np.bool_),
            "mass": (cfs, np.float64),
            "answers": (cfs, np.int64),
        }
        if self._arrays is None:
            most, empty = self.blocks * rows, self.engine.empty
            made = (empty(name, (most, n), kind) for name, (n, kind) in columns.items())
            self._arrays = _Arrays(*made)
        of = self._arrays
        total, parts = 0, []
        for known in blocks:
            part = slice(total, total + len(known))
            of.features[part], of.candidates[part] = known.features, known.candidates
            parts.append(part)
            total = part.stop
        kernel = AnswerRows(str(self._model), self._checksum, blocks[0].blocks, of)
        at_once = ceil(total / self.engine.jobs) or 1  # graph searches for many rows faster
        done = self.engine.rows("answer", kernel, total, at_once=at_once, marked=False)
        own = [has for _, has in done]
        for part in parts:
            yield Answer(
                np.array(of.priors[part]),
                np.array(of.confidences[part]),
                np.array(of.fell_back[part]),
                np.array(of.mass[part]),
                np.array(of.answers[part]) if any(own) else None,
            )


Answering: TypeAlias = Here | ByEngine


@contextmanager
def answering(kept: Model, limits: RunSettings, *, near: Path | None = None) -> Iterator[Answering]:
    with open_engine(limits, rows=0, identity={}, near=near) as engine:
        if isinstance(engine, Workers):
            yield Here(kept, engine)
            return
        with Workers(limits.jobs or available_cores()) as workers:
            yield ByEngine(kept, engine, workers)


JUDGED_ROWS = 10_000  # of a batch, at most …
JUDGED_NUMBERS = 1 << 21  # … or those of as many confidences
Key = TypeVar("Key")


class _Judged(NamedTuple):
    verdict: JudgedBatch
    diagnostics: pl.DataFrame


class NewRows(RowFiller):
    def __init__(
        self,
        kept: Model,
        settings: Settings,
        workers: Engine,
        *,
        name: str,
        digits: int | None = None,
        kept_now: frozenset[str] = frozenset(),  # CFs that the verdict on these rows keeps
    ) -> None:
        super().__init__(kept, settings, workers, name=name)
        self.as_observed |= kept_now
        self.digits = digits  # of confidences in new columns; None: all
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
                filled = replace(filled, columns=shortened(filled.columns, self.digits))
                self._count(filled.encoded, filled.estimate)
                self.answers.add(filled.columns)
                found = {
                    "priors": said.priors,
                    "confidences": said.confidences,
                    "fell_back": said.fell_back,
                    "mass": said.mass,
                } | ({} if said.answers is None else {"answers": said.answers})
                self.sample.add(filled.cells, **found)
                yield key, filled

    def again(self, parts: Iterable[Filled], report: Report) -> list[Filled]:
        """Return blocks with the CFs that their report keeps as observed."""
        if report.kept <= self.as_observed:
            return [*parts]
        self.as_observed, self.answers = self.as_observed | report.kept, ColumnsChecksum()
        found = [self.filled(one.cells, one.encoded, one.answer) for one in parts]
        for one in found:
            self.answers.add(one.columns)
        return found

    @property
    def checksum(self) -> str:
        return sha256(self.features.digest() + self.cells.digest()).hexdigest()

    def judged(self, before: Before | None = None, *, diagnostics: bool = True) -> _Judged:
        """Return the verdict on all rows, as the next batch of a history if there is one.

        Without `diagnostics` it does not say which cells to look at, and takes less time.
        """
        numbers, cells, found = self.sample.drawn()
        encoded = self.encoded(cells, first_row=1)
        encoded = replace(encoded, warnings=self.unusual.warnings, unusual=self.unusual)
        encoded = with_copies(encoded, self.kept.settings, workers=self.workers)
        encoded = replace(encoded, copies_missed=False)  # the model has not seen them
        rules, shares = self.kept.fitted.rules, self.kept.reference.shares
        hidden = Hidden(np.arange(len(numbers)), found["priors"], rules, shares)
        said = (found["confidences"], found["fell_back"], found["mass"])
        estimate = Estimate(*said, self.kept.origins, hidden, answers=found.get("answers"))
        estimate = self.calibrated(encoded, estimate)
        settings = self.settings
        judged = judge_batch(
            encoded,
            estimate,
            batch=self._facts(len(numbers), before.number if before else None),
            rows=self.sample.seen,
            counts=[BatchCounts(*counts) for counts in self.counts.tolist()],
            fitting=self.kept.report,
            reference=self.kept.reference,
            courses=before.courses if before else None,
            cfl_version=__version__,
            settings=settings.recorded(),
            min_confidence=settings.min_confidence,
            bias=settings.bias,
            kept=self.as_observed,
            keep_flagged=settings.keep_flagged,
            jobs=self.workers.jobs,
        )
        if self.kept.schema.blurred:
            judged = replace(judged, report=recorded(judged.report, self.kept.schema))
        listed = diagnose(encoded, estimate, judged.report.columns if diagnostics else ())
        rows = numbers[listed["row"].to_numpy() - 1] + 1
        return _Judged(judged, listed.with_columns(row=pl.Series(rows, dtype=pl.Int64)))

    def _count(self, encoded: Encoded, estimate: Estimate) -> None:
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
        flagged = self.kept.encoding.beyond_chance(self.unusual)
        unusual = {name: one for name, one in self.unusual.columns.items() if name in flagged}

        def shares(kind: str) -> dict[str, float]:
            found = {name: getattr(one, kind) / max(one.rows, 1) for name, one in unusual.items()}
            return {name: share for name, share in found.items() if share}

        return BatchFacts(
            rows_judged=judged,
            new_categories=shares("new_categories"),
            out_of_range=shares("out_of_range"),
            model=self.kept.checksum,
            checksum=self.checksum,
            number=number,
        )
