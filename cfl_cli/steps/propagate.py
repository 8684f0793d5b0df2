"""Step 4: confidences flow along the weights.

    P = H Q                                     prior: what a row's neighbors say
    Q = normalise_per_block(P ⊙ M)              the row's own cell applied

H is the n × n matrix of weights. M is the evidence of the cells: how likely a cell is under each
value, up to a factor of its own; under uniform exclusions 1 for every candidate and 0 otherwise. A
block whose mass is all masked away falls back to its start, M scaled to sum to 1. Each step is a
step of EM. It costs n k ΣK, and all CFs go at once.

A step waits for memory more than for arithmetic: every row reads the confidences of its neighbors.
So the rows are laid out beside the neighbors they lean on, neighbors without weight are left out
(neither changes a bit of the answer), and a large table's confidences are held in single precision.
That moves a confidence by some 1e-6. Where it could move more, the walk begins again in double
precision: when a row has next to no mass left, which single precision would take for none. Long
walks are in double precision from the start, because steps may get too small for single precision
to see and yet add up.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns, normalise, start
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.core.posterior import Fallback, posterior

if TYPE_CHECKING:
    import scipy.sparse as sp

CELLS_AT_ONCE = 1 << 18  # a block of confidences that stays in a core's cache
WATCH = 10  # steps from one look at how much still moves to the next
STILL = 1e-10  # when no confidence moves by more than this in a step, nothing does
SMALL = 4000  # rows that are in the cache in whatever order and precision
POPULAR = 10  # times k: a row with more followers is in the cache wherever it lies
SINGLE_STEPS = 400  # at most so many in single precision: they add up to 400 roundings, 2e-5
FAINT = 1e-25  # mass of a block that single precision does not round to none, with room for a step


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


class Graph:
    """H, with the rows laid out beside the neighbors they lean on."""

    def __init__(self, neighbors: Ints, weights: Floats) -> None:
        self.order = beside_neighbors(neighbors, weights)  # the row at each place
        self.place = np.argsort(self.order)  # the place of each row
        self.weights = _matrix(self.place[neighbors[self.order]], weights[self.order])

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def faintest(self) -> float:
        """Return the smallest weight."""
        return float(self.weights.data.min())

    def flow(self, confidences: Floats, workers: Workers) -> Floats:
        """Return P = H Q, the rows in the order of the table."""
        laid_out = confidences[self.order]
        prior = np.empty_like(laid_out)

        def flow(part: tuple[slice, "sp.csr_array"]) -> None:
            rows, weights = part
            prior[rows] = weights @ laid_out

        size = max(1, CELLS_AT_ONCE // confidences.shape[1])
        for _ in workers.map(flow, self.parts(size, np.float64)):
            pass
        return np.asarray(prior[self.place])

    def parts(self, size: int, kind: type[np.floating]) -> list[tuple[slice, "sp.csr_array"]]:
        """Cut H into parts of at most `size` rows, with numbers of the given kind."""
        import scipy.sparse as sp  # noqa: PLC0415 — slow to import, and of no use to new rows

        n, weights = len(self), self.weights.data.astype(kind, copy=False)
        ends, neighbors = self.weights.indptr, self.weights.indices
        return [
            (
                part,
                sp.csr_array(
                    (
                        weights[ends[part.start] : ends[part.stop]],
                        neighbors[ends[part.start] : ends[part.stop]],
                        ends[part.start : part.stop + 1] - ends[part.start],
                    ),
                    shape=(part.stop - part.start, n),
                ),
            )
            for part in slices(n, size)
        ]


def propagate(
    graph: Graph,
    evidence: Floats | Mask,
    blocks: Ints,
    *,
    iterations: int | Ints,
    workers: Workers,
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
    single = (
        len(graph) > SMALL
        and stops.max() <= SINGLE_STEPS
        and graph.faintest * FAINT > np.finfo(np.float32).tiny
    )

    def walk(kind: type[np.floating]) -> Walk:
        return Walk(
            graph,
            evidence,
            blocks,
            kind,
            stops=stops,
            correction=correction,
            restart=restart,
            watch=watch,
        )

    walked = walk(np.float32 if single else np.float64)
    walked.go(workers, progress)
    if walked.faint:
        walked = walk(np.float64)
        walked.go(workers, progress)
    confidences = walked.current[graph.place].astype(float, copy=False)
    if single:  # to the last digit of double precision
        normalise(confidences, blocks, out=confidences)
    return Propagation(
        confidences,
        walked.fell_back[graph.place],
        walked.mass[graph.place].astype(float, copy=False),
        walked.done,
    )


class Walk:
    """Steps from Q0 in one precision; rows lie as they do in the graph."""

    def __init__(
        self,
        graph: Graph,
        evidence: Floats | Mask,
        blocks: Ints,
        kind: type[np.floating],
        *,
        stops: Ints,
        correction: bool,
        restart: float,
        watch: Watch | None,
    ) -> None:
        n, width = evidence.shape
        self.blocks, self.stops = blocks, stops
        self.correction, self.restart = correction, restart
        self.watch, self.watched = watch, graph.place[watch.rows] if watch else None
        self.columns = columns(blocks, width)
        self.evidence = evidence[graph.order]
        self.parts = graph.parts(max(1, CELLS_AT_ONCE // width), kind)
        self.current = start(self.evidence, blocks).astype(kind, copy=False)
        self.following = np.empty_like(self.current)
        self.fell_back = np.zeros((n, len(blocks)), dtype=bool)
        self.mass = np.ones((n, len(blocks)), dtype=kind)
        self.least = FAINT if kind is np.float32 else 0.0
        self.still = max(STILL, float(np.finfo(kind).eps))
        self.faint = False  # has a row next to no mass, too little for this precision?
        self.done = 0

    def go(self, workers: Workers, progress: Callable[[int], None]) -> None:
        """Take steps until every CF stops, nothing moves or whoever watches has seen enough."""
        stopped: list[tuple[int, Floats, Mask, Floats]] = []
        moving = True
        while moving and self.done < self.stops.max() and not self.faint:
            for faint in workers.map(self._step, self.parts):
                self.faint |= faint
            self.done += 1
            moving = self.done % WATCH != 0 or self._motion(workers) > self.still
            self.current, self.following = self.following, self.current
            last = not moving or self.done == self.stops.max()
            if self.watch and not self.faint and (last or self.done in self.watch.steps):
                moving &= not self.watch.see(self.done, self.current[self.watched].astype(float))
            if self.done < self.stops.max():
                stopped += [
                    self._state(cf) for cf, stop in enumerate(self.stops) if stop == self.done
                ]
            progress(self.done)
        for cf, confidences, fell_back, mass in stopped:
            self.current[:, self.columns[cf]] = confidences
            self.fell_back[:, cf], self.mass[:, cf] = fell_back, mass

    def _step(self, part: tuple[slice, "sp.csr_array"]) -> bool:
        """Take one step for a part of the rows; return whether a block has next to no mass."""
        rows, weights = part
        prior = weights @ self.current
        if not self.correction:
            if self.restart:
                prior *= 1 - self.restart
                prior += self.restart * start(self.evidence[rows], self.blocks)
            self.following[rows] = prior
            return False
        _, mass = posterior(
            prior,
            self.evidence[rows],
            over=self.blocks,
            fallback=Fallback.CELL,
            out=self.following[rows],
        )
        empty = mass == 0
        self.mass[rows] = mass
        self.fell_back[rows] |= empty
        return bool(((mass < self.least) & ~empty).any())

    def _motion(self, workers: Workers) -> float:
        """Return how far the last step moved a confidence, at most."""

        def motion(part: tuple[slice, "sp.csr_array"]) -> float:
            rows, _ = part
            return float(np.abs(self.following[rows] - self.current[rows]).max())

        return max(workers.map(motion, self.parts))

    def _state(self, cf: int) -> tuple[int, Floats, Mask, Floats]:
        """Return a copy of where a CF stands."""
        confidences = self.current[:, self.columns[cf]].copy()
        return cf, confidences, self.fell_back[:, cf].copy(), self.mass[:, cf].copy()


def beside_neighbors(neighbors: Ints, weights: Floats) -> Ints:
    """Return the rows in an order in which most lie near the neighbors they lean on.

    Popular rows have no say in it: they are near everyone or no one, and the time to find the
    order would grow with the square of their followers. A small table is in the cache as it is.
    """
    n, k = neighbors.shape
    if n <= SMALL:
        return np.arange(n)
    from scipy.sparse.csgraph import reverse_cuthill_mckee  # noqa: PLC0415 — not for small tables

    followers = np.bincount(neighbors[weights > 0], minlength=n)
    near = np.where(followers[neighbors] > POPULAR * k, 0, weights)
    return np.asarray(reverse_cuthill_mckee(_matrix(neighbors, near)))


def _matrix(neighbors: Ints, weights: Floats) -> "sp.csr_array":
    """Return H, n × n, without the neighbors of weight 0."""
    import scipy.sparse as sp  # noqa: PLC0415 — loads slowly

    n, k = neighbors.shape
    kind = np.int32 if n * k < np.iinfo(np.int32).max else np.int64
    # Copies (flatten, astype), because zeros are eliminated in place.
    places = np.arange(0, n * k + 1, k, dtype=kind)
    matrix = sp.csr_array((weights.flatten(), neighbors.astype(kind).ravel(), places), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix
