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
from time import monotonic

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns
from cfl_cli.core.parallel import Engine, Result
from cfl_cli.core.portable import Own
from cfl_cli.core.quick import dataclass
from cfl_cli.steps.flow import CELLS_AT_ONCE, Graph
from cfl_cli.steps.walk_kernels import Begin, Copy, End, Kind, Motion, Numbers, Piece, Step, Stop

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
        graph.is_large
        and stops.max() <= SINGLE_STEPS
        and graph.faintest * FAINT > np.finfo(np.float32).tiny
    )

    def walk(kind: Kind) -> Walk:
        return Walk(
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

    known = workers.kept("walked")
    if known is not None and (watch is None or watch.has_seen):
        return Propagation(*_outcome(workers, evidence.shape, len(blocks)), known)
    walked = walk(np.float32 if single and not workers.kept("faint") else np.float64)
    walked.go(progress)
    if walked.faint:
        workers.keep("faint", facts=True)
        walked.drop()
        walked = walk(np.float64)
        walked.go(progress)
    outcome = _outcome(workers, evidence.shape, len(blocks))
    walked.end(*outcome, rescaled=single)
    workers.keep("walked", walked.done, *outcome)
    walked.drop()
    return Propagation(*outcome, walked.done)


def _outcome(workers: Engine, shape: tuple[int, ...], cfs: int) -> tuple[Floats, Mask, Floats]:
    """Return the arrays that a propagation is in."""
    n, width = shape
    return (
        workers.empty("confidences", (n, width), np.float64),
        workers.empty("fell back", (n, cfs), np.bool_),
        workers.empty("mass", (n, cfs), np.float64),
    )


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
        kind: Kind,
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
        self.at_once = max(1, CELLS_AT_ONCE // width)
        self.evidence = workers.empty("evidence", (n, width), evidence.dtype)
        self.fell_back = workers.empty("fell back", (n, len(blocks)), np.bool_)
        self.mass = workers.empty("mass", (n, len(blocks)), kind)
        # Confidences before a step and after it; and, if some are kept, what is free meanwhile.
        names = "abc" if workers.keeps and watch is None else "ab"
        self.states = {name: workers.empty(f"state {name}", (n, width), kind) for name in names}
        self.turn, self.held = [*names], ""
        self.copy, spare = 0, len(names) - 2
        self.copies = [
            workers.empty(f"copy {number}", (spare * n, len(blocks)), np.bool_) for number in (0, 1)
        ]
        self.stopped: dict[int, Stop] = {}
        self.pieces: Own[tuple[int, int], Piece] = Own()  # of rows that other hosts do
        self.least = FAINT if kind is np.float32 else 0.0
        self.still = max(STILL, float(np.finfo(kind).eps))
        self.faint = False  # has a row next to no mass, too little for this precision?
        self.done = 0
        if not self._resumed():
            begin = Begin(
                graph.order,
                workers.share("given", evidence),
                blocks,
                self.evidence,
                self.current,
                self.fell_back,
                self.mass,
            )
            self._all("begin", begin)

    @property
    def current(self) -> Numbers:
        """Return the confidences after the last step."""
        return self.states[self.turn[0]]

    def go(self, progress: Callable[[int], None]) -> None:
        """Take steps until every CF stops, nothing moves or whoever watches has seen enough."""
        moving, moment = True, monotonic()
        while moving and self.done < self.stops.max() and not self.faint:
            before, after = (self.states[name] for name in self.turn[:2])
            step = Step(
                self.graph,
                self.evidence,
                before,
                after,
                self.fell_back,
                self.mass,
                self.blocks,
                self.least,
                correction=self.correction,
                restart=self.restart,
                pieces=self.pieces,
            )
            self.faint = any(self._all("step", step))
            self.done += 1
            moving = self.done % WATCH != 0 or max(self._all("motion", Motion(before, after))) > (
                self.still
            )
            first, second, *free = self.turn
            self.turn = [second, *free, first] if first == self.held else [second, first, *free]
            last = not moving or self.done == self.stops.max()
            if self.watch and not self.faint and (last or self.done in self.watch.steps):
                seen = np.asarray(self.current[self.watched], dtype=float)
                moving &= not self.watch.see(self.done, seen)
            if self.done < self.stops.max():
                for cf in np.flatnonzero(self.stops == self.done).tolist():
                    self._stop(cf)
            progress(self.done)
            if moving and len(self.turn) > 2 and monotonic() - moment > KEPT_SECONDS:
                self._keep()
                moment = monotonic()

    def end(self, confidences: Floats, fell_back: Mask, mass: Floats, *, rescaled: bool) -> None:
        """Bring it all back to the order of the table; single precision to the last digit."""
        own = Stop(self.current, self.fell_back, self.mass)
        given = Stop(confidences, fell_back, mass)
        blocks = self.blocks if rescaled else None
        end = End(self.graph.order, own, self.stopped, tuple(self.columns), given, blocks)
        self._all("end", end)

    def drop(self) -> None:
        """Let go of all arrays."""
        stopped = (array for one in self.stopped.values() for array in one.arrays)
        states = self.states.values()
        own = self.evidence, self.fell_back, self.mass, *self.copies
        self.workers.drop(*own, *states, *stopped)

    def _all(self, name: str, kernel: Callable[[slice], Result]) -> list[Result]:
        """Return what a kernel returns, part by part."""
        n, at_once = len(self.graph), self.at_once
        done = self.workers.rows(name, kernel, n, at_once=at_once, marked=False)
        return [result for _, result in done]

    def _room(self, cf: int) -> Stop:
        block = self.columns[cf]
        shape = len(self.graph), block.stop - block.start, 1
        return Stop.empty(f"stop {cf}", shape, self.kind, self.workers)

    def _stop(self, cf: int) -> None:
        """Take note of where a CF is."""
        self.stopped[cf] = self._room(cf)
        own = Stop(self.current, self.fell_back, self.mass)
        self._all("stop", Copy(own, self.stopped[cf], cf, self.columns[cf]))

    def _keep(self) -> None:
        """Keep where the walk is, for a run that is resumed."""
        self.held = self.turn[0]
        # Rows that fall back after this must not seem to have done so before: a copy, beside the
        # one that was kept before.
        self.copy = 1 - self.copy
        copy = self.copies[self.copy]
        copy[...] = self.fell_back
        facts = {
            "done": self.done,
            "turn": self.turn,
            "stopped": [*self.stopped],
            "copy": self.copy,
        }
        stopped = (array for one in self.stopped.values() for array in one.arrays)
        self.workers.keep("walk", facts, self.evidence, self.current, copy, *stopped)

    def _resumed(self) -> bool:
        """Return whether a walk was kept, and go on where it was."""
        facts = self.workers.kept("walk")
        if facts is None or self.watch is not None:
            return False
        self.done, self.turn = facts["done"], facts["turn"]
        self.held, self.copy = self.turn[0], facts["copy"]
        self.fell_back[...] = self.copies[self.copy]
        self.stopped = {cf: self._room(cf) for cf in facts["stopped"]}
        return True
