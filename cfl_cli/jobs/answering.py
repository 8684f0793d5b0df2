"""Who answers new rows: threads of this process, or an engine's workers, with the same bytes.

What is said of a row depends on that row alone. So workers need the model, which each of them loads
once, and rows; nothing is exchanged between them. To workers on other hosts both are sent.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, lru_cache
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.portable import NOTHING, Lasting
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import RunSettings
from cfl_cli.core.team import Team
from cfl_cli.engines.opened import open_engine
from cfl_cli.engines.stored import Stored
from cfl_cli.errors import DataError
from cfl_cli.estimators.interface import Answer
from cfl_cli.jobs.kept import Kept

MODEL = "model.cfl"  # in the folder of a run
BLOCKS = 4  # for each worker at once …
MOST_BLOCKS = 32  # … or for all of them


class Answering(Protocol):
    """Answers blocks of rows."""

    workers: Workers  # threads of this process
    blocks: int  # that are answered together
    team: Team | None  # workers beside this process; None: there are none

    def answers(self, blocks: Sequence[Known], *, rows: int) -> Iterator[Answer]:
        """Yield what is said of each block, none of which has more than so many rows."""


class Here:
    """Threads of this process answer one block after the other."""

    def __init__(self, kept: Kept, workers: Workers) -> None:
        self.kept, self.workers = kept, workers
        self.blocks = 1
        self.team: Team | None = None

    def answers(self, blocks: Sequence[Known], *, rows: int) -> Iterator[Answer]:  # noqa: ARG002 — as all have it
        """Yield what is said of each block."""
        return (self.kept.fitted.answer(known, self.workers) for known in blocks)


@dataclass(frozen=True)
class Arrays:
    """Rows to be answered, and what is said of them; see `Known` and `Answer`."""

    features: Floats
    candidates: Mask
    priors: Floats
    confidences: Floats
    fell_back: Mask
    mass: Floats
    answers: Ints


@dataclass(frozen=True)
class AnswerRows:
    """A kernel that answers rows by a model, and returns whether each has an answer of its own."""

    model: str  # where it is
    checksum: str
    starts: Ints
    of: Arrays
    sent: "Sent | None" = None  # the model, where its file is not in sight

    def __call__(self, part: slice) -> int:
        """Answer a slice of the rows."""
        return self.place(part, self.answered(part))

    def parcel(self, rows: slice) -> Callable[[slice], Answer]:
        """Return what answers some of the rows on any host."""
        features, candidates = np.array(self.of.features[rows]), np.array(self.of.candidates[rows])
        of, path = Arrays(features, candidates, *[NOTHING] * 5), self.model
        sent: Any = Lasting(lambda: Sent(np.fromfile(path, np.uint8), path), self.checksum)
        return replace(self, of=of, sent=sent).answered

    def answered(self, part: slice) -> Answer:
        """Return what is said of a slice of the rows."""
        kept, workers = self.sent.loaded if self.sent else _loaded(self.model, self.checksum)
        features, candidates = np.array(self.of.features[part]), np.array(self.of.candidates[part])
        rows = Known(features, candidates, self.starts, kept.encoding.mechanisms)
        return kept.fitted.answer(rows, workers)

    def place(self, part: slice, values: Answer) -> int:
        """Write what is said of a slice of the rows."""
        said = values
        self.of.priors[part], self.of.confidences[part] = said.priors, said.confidences
        self.of.fell_back[part], self.of.mass[part] = said.fell_back, said.mass
        if said.answers is None:
            return 0
        self.of.answers[part] = said.answers
        return 1


@dataclass(frozen=True, eq=False)
class Sent:
    """A model that was sent to this process, which loads it once."""

    file: npt.NDArray[np.uint8]  # all that is in it
    path: str  # where it is at home

    @cached_property
    def loaded(self) -> tuple[Kept, Workers]:
        """Return the model, and the one thread that answers."""
        with tempfile.NamedTemporaryFile(suffix=Path(self.path).suffix) as copy:
            self.file.tofile(copy)
            copy.flush()
            return Kept.load(copy.name), Workers(1).__enter__()


@lru_cache(maxsize=1)
def _loaded(path: str, checksum: str) -> tuple[Kept, Workers]:
    """Return the model, which a process loads once, and the one thread that answers."""
    kept = Kept.load(path)
    if kept.checksum != checksum:
        raise DataError(f"{path}: was changed during the run: begin anew")
    return kept, Workers(1).__enter__()  # until the process ends


class ByEngine:
    """An engine's workers answer several blocks at once; their arrays are its files."""

    def __init__(self, kept: Kept, engine: Stored, workers: Workers) -> None:
        self.engine, self.workers, self.layout = engine, workers, kept.layout
        self.blocks, self.team = min(BLOCKS * engine.jobs, MOST_BLOCKS), engine.team
        self._model = engine.path / MODEL
        self._checksum = kept.save(self._model)
        self._arrays: Arrays | None = None

    def answers(self, blocks: Sequence[Known], *, rows: int) -> Iterator[Answer]:
        """Yield what is said of each block."""
        of = self._arrays = self._arrays or self._made(self.blocks * rows)
        total, parts = 0, []
        for known in blocks:
            part = slice(total, total + len(known))
            of.features[part], of.candidates[part] = known.features, known.candidates
            parts.append(part)
            total = part.stop
        kernel = AnswerRows(str(self._model), self._checksum, blocks[0].blocks, of)
        at_once = ceil(total / self.engine.jobs) or 1  # graph searches for many rows faster
        own = [
            has
            for _, has in self.engine.rows("answer", kernel, total, at_once=at_once, marked=False)
        ]
        for part in parts:
            yield Answer(
                np.array(of.priors[part]),
                np.array(of.confidences[part]),
                np.array(of.fell_back[part]),
                np.array(of.mass[part]),
                np.array(of.answers[part]) if any(own) else None,
            )

    def _made(self, rows: int) -> Arrays:
        """Return arrays for so many rows."""
        layout = self.layout
        width, cfs = layout.width, len(layout.domains)

        def empty(name: str, columns: int, kind: npt.DTypeLike) -> Any:
            return self.engine.empty(name, (rows, columns), kind)

        return Arrays(
            empty("features", layout.features, np.float64),
            empty("candidates", width, np.bool_),
            empty("priors", width, np.float64),
            empty("confidences", width, np.float64),
            empty("fell back", cfs, np.bool_),
            empty("mass", cfs, np.float64),
            empty("answers", cfs, np.int64),
        )


@contextmanager
def answering(kept: Kept, limits: RunSettings, *, near: Path | None = None) -> Iterator[Answering]:
    """Give who answers new rows by a model; files that it needs for a while are in `near`."""
    with open_engine(limits, rows=0, identity={}, near=near) as engine:
        if isinstance(engine, Workers):
            yield Here(kept, engine)
            return
        with Workers(limits.jobs or available_cores()) as workers:
            yield ByEngine(kept, engine, workers)
