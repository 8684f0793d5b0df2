"""What a walk does to the rows at some places: kernels, for any engine."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask, Places
from cfl_cli.core.blocks import normalise, sizes, start
from cfl_cli.core.parallel import Engine
from cfl_cli.core.portable import NOTHING, Own, lasting
from cfl_cli.core.posterior import Fallback, posterior
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.compiled import kernel
from cfl_cli.steps.flow import Graph

Numbers: TypeAlias = npt.NDArray[Any]  # of single or double precision
Kind: TypeAlias = type[np.floating[Any]]
LARGEST = 129  # domain, above which compiled code would add up in another order


@dataclass(frozen=True)
class Stop:
    """Where CFs are or stopped; rows lie as they do in the graph."""

    confidences: Numbers  # n × K, or n × ΣK
    fell_back: Mask  # n × 1, or n × CFs
    mass: Numbers

    @classmethod
    def empty(cls, name: str, shape: tuple[int, int, int], kind: Kind, workers: Engine) -> Self:
        """Return room for so many rows, confidences and CFs."""
        n, width, cfs = shape
        return cls(
            workers.empty(f"{name} confidences", (n, width), kind),
            workers.empty(f"{name} fell back", (n, cfs), np.bool_),
            workers.empty(f"{name} mass", (n, cfs), kind),
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """Return all of it."""
        return self.confidences, self.fell_back, self.mass


@dataclass(frozen=True)
class Begin:
    """A kernel: the cells and Q0, laid out."""

    order: Ints
    evidence: Floats | Mask
    blocks: Ints
    laid_out: Floats | Mask  # these four are to be filled
    current: Numbers
    fell_back: Mask
    mass: Numbers

    def __call__(self, part: slice) -> None:
        """Lay out the cells at some places."""
        self.laid_out[part] = cells = self.evidence[self.order[part]]
        self.current[part] = start(cells, self.blocks)
        self.fell_back[part], self.mass[part] = False, 1


@dataclass(frozen=True)
class Piece:
    """What the parcels of all steps have in common, for the rows at some places."""

    beyond: Ints | Places  # the other places that these lean on
    graph: Any  # that of these rows, and their cells: both travel once
    evidence: Any


@dataclass(frozen=True)
class Step:
    """A kernel: one step."""

    graph: Graph
    evidence: Floats | Mask
    before: Numbers
    after: Numbers  # these three are to be filled
    fell_back: Mask
    mass: Numbers
    blocks: Ints
    least: float
    correction: bool
    restart: float
    pieces: Own[tuple[int, int], Piece] = field(default_factory=Own)

    def __call__(self, part: slice) -> bool:
        """Take it for the rows at some places; return whether a block has next to no mass."""
        return self._note(part, self._take(part, out=self.after[part]))

    def parcel(self, rows: slice) -> Callable[[slice], Any]:
        """Return the step of some rows, with the confidences of those that they lean on."""
        key = rows.start, rows.stop
        if key not in self.pieces:
            graph, evidence, kind = self.graph, self.evidence, self.before.dtype
            self.pieces[key] = Piece(
                graph.beyond(rows),
                lasting(lambda: graph.piece(rows, kind)),
                lasting(lambda: np.array(evidence[rows])),
            )
        piece = self.pieces[key]
        return replace(
            self,
            graph=piece.graph,
            evidence=piece.evidence,
            before=np.concatenate([self.before[rows], self.before[piece.beyond]]),
            after=NOTHING,
            fell_back=NOTHING,
            mass=NOTHING,
        ).taken

    def taken(self, part: slice) -> tuple[Numbers, Numbers | None]:
        """Return the confidences after the step, and the mass if cells are applied."""
        after = np.empty((part.stop - part.start, self.before.shape[1]), self.before.dtype)
        return after, self._take(part, out=after)

    def place(self, part: slice, values: tuple[Numbers, Numbers | None]) -> bool:
        """Write what was taken elsewhere; return whether a block has next to no mass."""
        self.after[part], mass = values
        return self._note(part, mass)

    def _take(self, part: slice, *, out: Numbers) -> Numbers | None:
        prior = self.graph.part(part, self.before.dtype) @ self.before
        if not self.correction:
            if self.restart:
                prior *= 1 - self.restart
                prior += self.restart * start(self.evidence[part], self.blocks)
            out[...] = prior
            return None
        return self._posterior(prior, self.evidence[part], out)

    def _note(self, part: slice, mass: Numbers | None) -> bool:
        if mass is None:
            return False
        empty = mass == 0
        self.mass[part] = mass
        self.fell_back[part] |= empty
        return bool(((mass < self.least) & ~empty).any())

    def _posterior(self, prior: Numbers, evidence: Floats | Mask, out: Numbers) -> Numbers:
        """Write the confidences to `out`, and return the mass of each CF."""
        largest = int(sizes(self.blocks, prior.shape[1]).max())
        fit = prior.dtype == np.float32 and evidence.dtype == np.bool_ and largest <= LARGEST
        compiled = kernel("posterior", rows=len(self.graph)) if fit else None
        if compiled is None:
            return posterior(prior, evidence, over=self.blocks, fallback=Fallback.CELL, out=out)[1]
        mass = np.empty((len(prior), len(self.blocks)), dtype=np.float32)
        compiled(prior, evidence, self.blocks, out, mass)
        return mass


@dataclass(frozen=True)
class Motion:
    """A kernel: how far a step moved a confidence, at most."""

    before: Numbers
    after: Numbers

    def __call__(self, part: slice) -> float:
        """Return it for the rows at some places."""
        return float(np.abs(self.after[part] - self.before[part]).max())


@dataclass(frozen=True)
class Copy:
    """A kernel: where one CF is."""

    source: Stop
    target: Stop  # to be filled
    cf: int
    columns: slice

    def __call__(self, part: slice) -> None:
        """Copy the rows at some places."""
        self.target.confidences[part] = self.source.confidences[part, self.columns]
        self.target.fell_back[part, 0] = self.source.fell_back[part, self.cf]
        self.target.mass[part, 0] = self.source.mass[part, self.cf]


@dataclass(frozen=True)
class End:
    """A kernel: where all CFs stopped, in the order of the table."""

    order: Ints
    last: Stop
    stopped: dict[int, Stop]  # CFs that stopped before
    columns: tuple[slice, ...]
    given: Stop  # to be filled
    blocks: Ints | None  # confidences are scaled once more within these, if they are given

    def __call__(self, part: slice) -> None:
        """Bring back the rows at some places."""
        confidences = self.last.confidences[part].astype(float)
        fell_back, mass = self.last.fell_back[part].copy(), self.last.mass[part].astype(float)
        for cf, stop in self.stopped.items():
            confidences[:, self.columns[cf]] = stop.confidences[part]
            fell_back[:, cf], mass[:, cf] = stop.fell_back[part, 0], stop.mass[part, 0]
        if self.blocks is not None:
            normalise(confidences, self.blocks, out=confidences)
        rows = self.order[part]
        self.given.confidences[rows] = confidences
        self.given.fell_back[rows], self.given.mass[rows] = fell_back, mass
