"""Step 4: confidences flow along the weights.

    P = H Q                                     prior: what a row's neighbors say
    Q = normalise_per_block(P ⊙ M)              the row's own exclusions applied

H is the n × n matrix of weights; M marks the candidates. A block whose mass is all masked away
falls back to its start, M / (number of candidates). Under uniform exclusions each step is a step
of EM. It costs n k ΣK, and all CFs go at once.

A step waits for memory more than for arithmetic: every row reads the confidences of its neighbors.
So the rows are laid out beside the neighbors they lean on, neighbors without weight are left out
(neither changes a bit of the answer), and a large table's confidences are held in single precision.
That moves a confidence by some 1e-6. Where it could move more, the walk begins again in double
precision: when a row has next to no mass left, which single precision would take for none. Long
walks are in double precision from the start, because steps may get too small for single precision
to see and yet add up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.parallel import Workers, slices

CELLS_AT_ONCE = 1 << 18  # a block of confidences that stays in a core's cache
WATCH = 10  # steps from one look at how much still moves to the next
STILL = 1e-10  # when no confidence moves by more than this in a step, nothing does
SMALL = 4000  # rows that are in the cache in whatever order and precision
POPULAR = 10  # times k: a row with more followers is in the cache wherever it lies
SINGLE_STEPS = 400  # at most so many in single precision: they add up to 400 roundings, 2e-5
FAINT = 1e-25  # mass of a block that single precision tells from none, with room for a step


@dataclass(frozen=True)
class Propagation:
    """Where the confidences ended, and which rows lost all mass on the way."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs: did this row's block ever fall back?
    steps: int  # how many were taken


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

    def parts(self, size: int, kind: type[np.floating]) -> list[tuple[slice, sp.csr_array]]:
        """Cut H into parts of at most `size` rows, with numbers of the given kind."""
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


def start(candidates: Mask, blocks: Ints) -> Floats:
    """Return Q0: every candidate of a cell alike, n × ΣK. `blocks` says where each CF begins."""
    even = candidates.astype(float)
    _normalise(even, blocks, out=even)
    return even


def propagate(
    graph: Graph,
    candidates: Mask,
    blocks: Ints,
    *,
    iterations: int,
    workers: Workers,
    correction: bool = True,
    progress: Callable[[int], None] = lambda _: None,
) -> Propagation:
    """Return the confidences after `iterations` steps from Q0, or when nothing moves any more.

    Without `correction` a row's own exclusions are not applied again after the start.
    """
    single = (
        len(graph) > SMALL
        and iterations <= SINGLE_STEPS
        and graph.faintest * FAINT > np.finfo(np.float32).tiny
    )
    walk = Walk(
        graph, candidates, blocks, np.float32 if single else np.float64, correction=correction
    )
    done = walk.go(iterations, workers, progress)
    if walk.faint:
        walk = Walk(graph, candidates, blocks, np.float64, correction=correction)
        done = walk.go(iterations, workers, progress)
    confidences = walk.current[graph.place].astype(float, copy=False)
    if single:  # to the last digit of double precision
        _normalise(confidences, blocks, out=confidences)
    return Propagation(confidences, walk.fell_back[graph.place], done)


class Walk:
    """Steps from Q0 in one precision; rows lie as they do in the graph."""

    def __init__(
        self,
        graph: Graph,
        candidates: Mask,
        blocks: Ints,
        kind: type[np.floating],
        *,
        correction: bool,
    ) -> None:
        n, width = candidates.shape
        self.blocks, self.correction = blocks, correction
        self.candidates = candidates[graph.order]
        self.parts = graph.parts(max(1, CELLS_AT_ONCE // width), kind)
        self.current = start(self.candidates, blocks).astype(kind, copy=False)
        self.following = np.empty_like(self.current)
        self.fell_back = np.zeros((n, len(blocks)), dtype=bool)
        self.least = FAINT if kind is np.float32 else 0.0
        self.still = max(STILL, float(np.finfo(kind).eps))
        self.faint = False  # has a row next to no mass, too little for this precision?

    def go(self, iterations: int, workers: Workers, progress: Callable[[int], None]) -> int:
        """Take up to `iterations` steps, as long as something moves; return how many."""
        done, moving = 0, True
        while moving and done < iterations and not self.faint:
            for faint in workers.map(self._step, self.parts):
                self.faint |= faint
            done += 1
            moving = done % WATCH != 0 or max(workers.map(self._motion, self.parts)) > self.still
            self.current, self.following = self.following, self.current
            progress(done)
        return done

    def _step(self, part: tuple[slice, sp.csr_array]) -> bool:
        """Take one step for a part of the rows; return whether a block has next to no mass."""
        rows, weights = part
        prior = weights @ self.current
        if not self.correction:
            self.following[rows] = prior
            return False
        prior *= self.candidates[rows]
        total = _normalise(prior, self.blocks, out=self.following[rows])
        empty = total == 0
        if empty.any():
            self.fell_back[rows] |= empty
            lost = np.repeat(empty, _sizes(self.blocks, prior.shape[1]), axis=1)
            even = start(self.candidates[rows], self.blocks)
            self.following[rows] = np.where(lost, even, self.following[rows])
        return bool(((total < self.least) & ~empty).any())

    def _motion(self, part: tuple[slice, sp.csr_array]) -> float:
        """Return how far the last step moved a confidence, at most."""
        rows, _ = part
        return float(np.abs(self.following[rows] - self.current[rows]).max())


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


def _matrix(neighbors: Ints, weights: Floats) -> sp.csr_array:
    """Return H, n × n, without the neighbors of weight 0."""
    n, k = neighbors.shape
    kind = np.int32 if n * k < np.iinfo(np.int32).max else np.int64
    # Copies (flatten, astype), because zeros are eliminated in place.
    places = np.arange(0, n * k + 1, k, dtype=kind)
    matrix = sp.csr_array((weights.flatten(), neighbors.astype(kind).ravel(), places), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix


def _normalise(mass: Floats, blocks: Ints, *, out: Floats) -> Floats:
    """Write `mass`, scaled to sum to 1 in every block that has any, to `out`; return the sums."""
    total = np.add.reduceat(mass, blocks, axis=1)
    divisor = np.where(total == 0, np.ones_like(total), total)
    np.divide(mass, np.repeat(divisor, _sizes(blocks, mass.shape[1]), axis=1), out=out)
    return total


def _sizes(blocks: Ints, width: int) -> Ints:
    """Return how many columns each block has."""
    return np.diff(blocks, append=width)
