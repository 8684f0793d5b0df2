"""Step 4: confidences flow along the weights.

    P = H Q                                     prior: what a row's neighbors say
    Q = normalise_per_block(P ⊙ M)              the row's own cell applied

H is the n × n matrix of weights. M is the evidence of the cells: how likely a cell is under each
value, up to a factor of its own; under uniform exclusions 1 for every candidate and 0 otherwise. A
block whose mass is all masked away falls back to its start, M scaled to sum to 1. Each step is a
step of EM. It costs n k ΣK, and all CFs go at once.

A step waits for memory more than for arithmetic: every row reads the confidences of its neighbors.
So a large table's confidences are held in single precision; for how rows are laid out see `flow`.
Single precision moves a confidence by some 1e-6. Where it could move more, the walk begins again in
double precision: when a row has next to no mass left, which single precision would take for none.
Long walks are in double precision from the start, because steps may get too small for single
precision to see and yet add up.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import (
    Fallback,
    Floats,
    Ints,
    Mask,
    Places,
    Singles,
    columns,
    normalise,
    posterior,
    start,
)
from cfl_cli.core.parallel import Engine, Result, slices

# H, the n × n matrix of weights, along which confidences flow.
#
# A product with it waits for memory more than for arithmetic: every row reads the confidences of its
# neighbors. So rows are laid out near those that are near them, and neighbors without weight are left
# out. Neither changes a bit of a product: a row's sum runs over its neighbors, nearest first.

CELLS_AT_ONCE = 1 << 18  # a block of confidences that stays in a core's cache
SMALL = 4000  # rows that are in the cache in whatever order and precision


class _Cut(dict[tuple[int, int, str], "scipy.sparse.csr_array"]):
    """Rows of H that a process has cut out for itself; it travels empty."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _Cut, ()


@dataclass(frozen=True, eq=False)
class Graph:
    """H, row by row in the order in which rows are laid out."""

    order: Ints  # n: the row at each place
    place: Places  # n: the place of each row
    ends: Ints  # n + 1: where the neighbors of each place begin
    neighbors: Places  # their places
    weights: Floats
    singles: Singles  # the weights once more, of a large table
    faintest: float  # the smallest weight
    cut: _Cut = field(default_factory=_Cut)  # parts that were asked for

    @classmethod
    def of(
        cls,
        neighbors: Places | Ints,
        weights: Floats,
        order: Ints,
        *,
        workers: Engine,
        facts: Any = None,
    ) -> Self:
        """Lay the rows out in an order, given every row's neighbors and their weights, n × k.

        It is kept for a run that is resumed, and the facts beside it.
        """
        n, k = neighbors.shape
        at_once = max(1, CELLS_AT_ONCE // k)
        place = np.empty(n, dtype=np.int32)
        place[order] = np.arange(n, dtype=np.int32)
        place = workers.share("place", place)
        parts = slices(n, at_once)
        counts = workers.map(lambda part: (weights[order[part]] != 0).sum(axis=1), parts)
        ends = np.append(0, np.cumsum(np.concatenate([*counts]), dtype=np.int64))
        ends = workers.share("ends", ends)
        total = int(ends[-1])
        near = workers.empty("near", (total,), np.int32)
        doubles = workers.empty("doubles", (total,), np.float64)
        singles = workers.empty("singles", (total if n > SMALL else 0,), np.float32)
        lay = LayOut(neighbors, weights, order, place, ends, near, doubles, singles)
        least = [least for _, least in workers.rows("lay out", lay, n, at_once=at_once)]
        arrays = order, place, ends, near, doubles, singles
        if workers.keeps:
            kept = {"total": total, "faintest": min(least), "facts": facts}
            workers.keep("graph", kept, *arrays)
        return cls(*arrays, min(least))

    @classmethod
    def kept(cls, n: int, workers: Engine) -> tuple[Self, Any] | None:
        """Return what was kept of n rows, and the facts beside it; None: nothing was."""
        facts = workers.kept("graph")
        if facts is None:
            return None
        total = facts["total"]
        graph = cls(
            workers.empty("order", (n,), np.int64),
            workers.empty("place", (n,), np.int32),
            workers.empty("ends", (n + 1,), np.int64),
            workers.empty("near", (total,), np.int32),
            workers.empty("doubles", (total,), np.float64),
            workers.empty("singles", (total if n > SMALL else 0,), np.float32),
            facts["faintest"],
        )
        return graph, facts["facts"]

    def part(self, rows: slice, kind: npt.DTypeLike) -> "scipy.sparse.csr_array":
        key = rows.start, rows.stop, np.dtype(kind).name
        if key not in self.cut:
            numbers = self.singles if kind == np.float32 else self.weights
            own = slice(self.ends[rows.start], self.ends[rows.stop])
            ends = (self.ends[rows.start : rows.stop + 1] - own.start).astype(np.int32)
            shape = (rows.stop - rows.start, len(self.order))
            self.cut[key] = scipy.sparse.csr_array(
                (numbers[own], self.neighbors[own], ends), shape=shape
            )
        return self.cut[key]

    def flow(self, confidences: Floats, workers: Engine) -> Floats:
        """Return P = H Q, the rows in the order of the table."""
        laid_out = workers.share("laid out", confidences[self.order])
        prior = workers.empty("flow", laid_out.shape, np.float64)
        at_once = max(1, CELLS_AT_ONCE // confidences.shape[1])
        flow = Flow(self, laid_out, prior)
        for _ in workers.rows("flow", flow, len(self.order), at_once=at_once, marked=False):
            pass
        return np.asarray(prior[self.place])


@dataclass(frozen=True)
class LayOut:
    """A kernel: the neighbors with weight, row by row."""

    neighbors: Places | Ints
    weights: Floats
    order: Ints
    place: Places
    ends: Ints
    near: Places  # these three are to be filled; the last only if it is not empty
    doubles: Floats
    singles: Singles

    def __call__(self, part: slice) -> float:
        rows = self.order[part]
        weights = self.weights[rows]
        some = weights != 0
        here = slice(self.ends[part.start], self.ends[part.stop])
        self.near[here] = self.place[self.neighbors[rows][some]]
        self.doubles[here] = kept = weights[some]
        if len(self.singles):
            self.singles[here] = kept
        return float(kept.min())

    def written(self, part: slice) -> tuple[Places, Floats, Singles]:
        here = slice(self.ends[part.start], self.ends[part.stop])
        return self.near[here], self.doubles[here], self.singles[here]


@dataclass(frozen=True)
class Flow:
    """A kernel: a product with H."""

    graph: Graph
    laid_out: Floats
    prior: Floats  # to be filled

    def __call__(self, part: slice) -> None:
        self.prior[part] = self.graph.part(part, np.float64) @ self.laid_out


# What a walk does to the rows at some places: kernels, for any engine.

_Numbers: TypeAlias = npt.NDArray[Any]  # of single or double precision
_Kind: TypeAlias = type[np.floating[Any]]


@dataclass(frozen=True)
class Stop:
    """Where CFs are or stopped; rows lie as they do in the graph."""

    confidences: _Numbers  # n × K, or n × ΣK
    fell_back: Mask  # n × 1, or n × CFs
    mass: _Numbers


@dataclass(frozen=True)
class Begin:
    """A kernel: the cells and Q0, laid out."""

    order: Ints
    evidence: Floats | Mask
    blocks: Ints
    laid_out: Floats | Mask  # to be filled, as is the next
    begun: Stop

    def __call__(self, part: slice) -> None:
        self.laid_out[part] = cells = self.evidence[self.order[part]]
        self.begun.confidences[part] = start(cells, self.blocks)
        self.begun.fell_back[part], self.begun.mass[part] = False, 1


@dataclass(frozen=True)
class WalkStep:
    """A kernel: one step; is a row's mass too faint, and how far was a confidence moved, at most?"""

    graph: Graph
    evidence: Floats | Mask
    before: _Numbers
    after: Stop  # to be filled
    blocks: Ints
    least: float
    correction: bool
    restart: float
    looks: bool  # at how far; if not, it says 0

    def __call__(self, part: slice) -> tuple[bool, float]:
        prior = self.graph.part(part, self.before.dtype) @ self.before
        evidence, after, over = self.evidence[part], self.after.confidences[part], self.blocks
        faint = False
        if self.correction:
            _, mass = posterior(prior, evidence, over=over, fallback=Fallback.CELL, out=after)
            self.after.mass[part] = mass
            empty = mass == 0
            self.after.fell_back[part] |= empty
            faint = bool(((mass < self.least) & ~empty).any())
        else:
            if self.restart:
                prior *= 1 - self.restart
                prior += self.restart * start(evidence, over)
            after[...] = prior
        return faint, float(np.abs(after - self.before[part]).max()) if self.looks else 0.0


@dataclass(frozen=True)
class Copy:
    """A kernel: where one CF is."""

    source: Stop
    target: Stop  # to be filled
    cf: int
    columns: slice

    def __call__(self, part: slice) -> None:
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


WATCH = 10  # steps from one look at how much still moves to the next
STILL = 1e-10  # when no confidence moves by more than this in a step, nothing does
SINGLE_STEPS = 400  # at most so many in single precision: they add up to 400 roundings, 2e-5
FAINT = 1e-25  # mass of a block that single precision does not round to none, with room for a step
KEPT_SECONDS = 60.0  # after which a walk that can be resumed keeps where it is


@dataclass(frozen=True)
class Propagation:
    """Where the confidences ended, and which rows lost all mass on the way."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs: did this row's block ever fall back?
    mass: Floats  # n × CFs: how much of the prior the row's cell left, in the last step
    steps: int  # how many were taken


@dataclass(frozen=True)
class Watch:
    """Looks at some rows' confidences after some steps and the last, and may call it enough."""

    rows: Ints
    steps: Collection[int]
    see: Callable[[int, Floats], bool]  # given the step and the confidences: is it enough?
    has_seen: bool = False  # a run before this one has kept all that there is to see


def propagate(
    graph: Graph,
    evidence: Floats | Mask,
    blocks: Ints,
    *,
    iterations: int | Ints,
    workers: Engine,
    correction: bool = True,
    restart: float = 0.0,
    watch: Watch | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Propagation:
    """Return the confidences after `iterations` steps from Q0, or when nothing moves any more.

    `iterations` may differ from CF to CF. Without `correction` a row's own cell is not applied
    again after the start; the share `restart` of its confidences then comes from the start again
    in every step.
    """
    stops = np.broadcast_to(iterations, len(blocks))
    single = bool(
        len(graph.singles)  # else it would save nothing
        and stops.max() <= SINGLE_STEPS
        and graph.faintest * FAINT > np.finfo(np.float32).tiny
    )
    outcome = Stop(
        workers.empty("confidences", evidence.shape, np.float64),
        workers.empty("fell back", (len(evidence), len(blocks)), np.bool_),
        workers.empty("mass", (len(evidence), len(blocks)), np.float64),
    )
    arrays = outcome.confidences, outcome.fell_back, outcome.mass
    known = workers.kept("walked") if workers.keeps else None
    if known is not None and (watch is None or watch.has_seen):
        return Propagation(*arrays, known)
    kinds: list[_Kind] = [np.float64]
    if single and not (workers.keeps and workers.kept("faint")):
        kinds.insert(0, np.float32)
    for kind in kinds:
        walked = Walk(
            graph,
            evidence,
            blocks,
            kind,
            stops=stops,
            correction=correction,
            restart=restart,
            watch=watch,
            workers=workers.within(kind.__name__),
        )
        walked.go(progress)
        if walked.faint and workers.keeps:
            workers.keep("faint", facts=True)
        elif not walked.faint:  # back to the order of the table; single precision to the last digit
            here, at = walked.states[walked.turn[0]], tuple(walked.columns)
            scaled = blocks if single else None
            walked.each("end", End(graph.order, here, walked.stopped, at, outcome, scaled))
            if workers.keeps:
                workers.keep("walked", walked.done, *arrays)
        states = (one.confidences for one in walked.states.values())
        stopped = (array for one in walked.stopped.values() for array in vars(one).values())
        own = walked.evidence, walked.fell_back, walked.mass, *walked.copies
        workers.drop(*own, *states, *stopped)
        if not walked.faint:
            break
    return Propagation(*arrays, walked.done)


class Walk:
    """Steps from Q0 in one precision; rows lie as they do in the graph.

    A run that can be resumed keeps where it is now and then. What is kept must stay as it is
    meanwhile, so that steps go on between two other arrays.
    """

    def __init__(
        self,
        graph: Graph,
        evidence: Floats | Mask,
        blocks: Ints,
        kind: _Kind,
        *,
        stops: Ints,
        correction: bool,
        restart: float,
        watch: Watch | None,
        workers: Engine,
    ) -> None:
        n, width = evidence.shape
        self.graph, self.blocks, self.kind, self.workers = graph, blocks, kind, workers
        self.stops, self.correction, self.restart = stops, correction, restart
        self.watch, self.watched = watch, graph.place[watch.rows] if watch else None
        self.columns = columns(blocks, width)
        self.evidence = workers.empty("evidence", (n, width), evidence.dtype)
        self.fell_back = workers.empty("fell back", (n, len(blocks)), np.bool_)
        self.mass = workers.empty("mass", (n, len(blocks)), kind)
        # Before a step and after it; and, if some are kept, what is free meanwhile.
        keeps = workers.keeps and watch is None
        names = "abc" if keeps else "ab"
        self.states = {
            name: Stop(workers.empty(f"state {name}", (n, width), kind), self.fell_back, self.mass)
            for name in names
        }
        self.turn, self.held = [*names], ""
        self.copy, spare = 0, len(names) - 2
        self.copies = [
            workers.empty(f"copy {number}", (spare * n, len(blocks)), np.bool_) for number in (0, 1)
        ]
        self.stopped: dict[int, Stop] = {}
        self.least = FAINT if kind is np.float32 else 0.0
        self.still = max(STILL, float(np.finfo(kind).eps))
        self.faint = False  # has a row next to no mass, too little for this precision?
        self.done = 0
        kept = workers.kept("walk") if keeps else None
        if kept is None:
            cells, own = workers.share("given", evidence), self.states[self.turn[0]]
            self.each("begin", Begin(graph.order, cells, blocks, self.evidence, own))
        else:
            self.done, self.turn = kept["done"], kept["turn"]
            self.held, self.copy = self.turn[0], kept["copy"]
            self.fell_back[...] = self.copies[self.copy]
            self.stopped = {cf: self._room(cf) for cf in kept["stopped"]}

    def go(self, progress: Callable[[int], None]) -> None:
        """Take steps until every CF stops, nothing moves or whoever watches has seen enough."""
        moving, moment, most = True, monotonic(), self.stops.max()
        while moving and self.done < most and not self.faint:
            before, after = (self.states[name] for name in self.turn[:2])
            given = self.graph, self.evidence, before.confidences, after, self.blocks, self.least
            self.done += 1
            looks = self.done % WATCH == 0
            step = WalkStep(*given, self.correction, self.restart, looks)
            faint, moved = zip(*self.each("step", step), strict=True)
            self.faint = any(faint)
            if looks:
                moving = max(moved) > self.still
            first, second, *free = self.turn
            self.turn = [second, *free, first] if first == self.held else [second, first, *free]
            last = not moving or self.done == most
            if self.watch and not self.faint and (last or self.done in self.watch.steps):
                seen = np.asarray(after.confidences[self.watched], dtype=float)
                moving &= not self.watch.see(self.done, seen)
            if self.done < most:
                for cf in np.flatnonzero(self.stops == self.done).tolist():
                    self.stopped[cf] = room = self._room(cf)
                    copy = Copy(self.states[self.turn[0]], room, cf, self.columns[cf])
                    self.each("stop", copy)
            progress(self.done)
            if moving and len(self.turn) > 2 and monotonic() - moment > KEPT_SECONDS:
                self._keep()
                moment = monotonic()

    def each(self, name: str, kernel: Callable[[slice], Result]) -> list[Result]:
        """Let a kernel go over the rows, as they lie in the graph."""
        n, width = self.evidence.shape
        at_once = max(1, CELLS_AT_ONCE // width)
        done = self.workers.rows(name, kernel, n, at_once=at_once, marked=False)
        return [result for _, result in done]

    def _room(self, cf: int) -> Stop:
        n, block, empty = len(self.evidence), self.columns[cf], self.workers.empty
        return Stop(
            empty(f"stop {cf} confidences", (n, block.stop - block.start), self.kind),
            empty(f"stop {cf} fell back", (n, 1), np.bool_),
            empty(f"stop {cf} mass", (n, 1), self.kind),
        )

    def _keep(self) -> None:
        self.held = self.turn[0]
        # Rows that fall back after this must not seem to have done so before: a copy, beside the
        # one that was kept before.
        self.copy = 1 - self.copy
        copy = self.copies[self.copy]
        copy[...] = self.fell_back
        facts = {"done": self.done, "turn": self.turn, "copy": self.copy}
        facts["stopped"] = [*self.stopped]
        current = self.states[self.held].confidences
        stopped = (array for one in self.stopped.values() for array in vars(one).values())
        self.workers.keep("walk", facts, self.evidence, current, copy, *stopped)
