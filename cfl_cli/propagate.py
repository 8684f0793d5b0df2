"""Step 4: confidences flow along the weights.

    P = H Q                                     prior: what a row's neighbors say
    Q = normalise_per_block(P ⊙ M)              the row's own exclusions applied

H is the n × n matrix of weights, kept as n × k arrays; M marks the candidates. A block whose mass
is all masked away falls back to its start, M / (number of candidates). Under uniform exclusions
each step is a step of EM. It costs n k ΣK, and all CFs go at once.

A step waits for memory more than for arithmetic: every row reads the confidences of its neighbors.
So the rows are laid out beside the neighbors they lean on while they propagate, and neighbors
without weight are left out. Neither changes a bit of the answer.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.parallel import Workers, slices

CELLS_AT_ONCE = 1 << 18  # a block of confidences that stays in a core's cache
WATCH = 10  # steps from one look at how much still moves to the next
STILL = 1e-10  # when no confidence moves by more than this in a step, nothing does
POPULAR = 10  # times k: a row with more followers is in the cache wherever it lies


@dataclass(frozen=True)
class Propagation:
    """Where the confidences ended, and which rows lost all mass on the way."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs: did this row's block ever fall back?
    steps: int  # how many were taken


def start(candidates: Mask, blocks: Ints) -> Floats:
    """Return Q0: every candidate of a cell alike, n × ΣK. `blocks` says where each CF begins."""
    even = candidates.astype(float)
    _normalise(even, blocks, out=even)
    return even


def propagate(
    neighbors: Ints,
    weights: Floats,
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
    n = len(neighbors)
    # A small table is in the cache as it is, and need not wait for the import of a package.
    small = candidates.size <= CELLS_AT_ONCE
    order = np.arange(n) if small else beside_neighbors(neighbors, weights)
    place = np.argsort(order)
    candidates = candidates[order]
    parts = slices(n, max(1, CELLS_AT_ONCE // candidates.shape[1]))
    graph = _graph(place[neighbors[order]], weights[order])
    rows = [graph[part] for part in parts]
    del graph
    current = start(candidates, blocks)
    following = np.empty_like(current)
    fell_back = np.zeros((n, len(blocks)), dtype=bool)

    def step(number: int) -> None:
        part = parts[number]
        prior = rows[number] @ current
        if not correction:
            following[part] = prior
            return
        prior *= candidates[part]
        empty = _normalise(prior, blocks, out=following[part])
        if empty.any():
            fell_back[part] |= empty
            lost = np.repeat(empty, _sizes(blocks, current.shape[1]), axis=1)
            following[part] = np.where(lost, start(candidates[part], blocks), following[part])

    def motion(part: slice) -> float:
        return float(np.abs(following[part] - current[part]).max())

    done, moving = 0, True
    while moving and done < iterations:
        for _ in workers.map(step, range(len(parts))):
            pass
        done += 1
        moving = done % WATCH != 0 or max(workers.map(motion, parts)) > STILL
        current, following = following, current
        progress(done)
    return Propagation(current[place], fell_back[place], done)


def beside_neighbors(neighbors: Ints, weights: Floats) -> Ints:
    """Return the rows in an order in which most lie near the neighbors they lean on.

    Popular rows have no say in it: they are near everyone or no one, and the time to find the
    order would grow with the square of their followers.
    """
    from scipy.sparse.csgraph import reverse_cuthill_mckee  # noqa: PLC0415 — see `propagate`

    n, k = neighbors.shape
    followers = np.bincount(neighbors[weights > 0], minlength=n)
    near = np.where(followers[neighbors] > POPULAR * k, 0, weights)
    return np.asarray(reverse_cuthill_mckee(_graph(neighbors, near)))


def _graph(neighbors: Ints, weights: Floats) -> sp.csr_array:
    """Return H, n × n, without the neighbors of weight 0."""
    n, k = neighbors.shape
    # Copies (flatten), because zeros are eliminated in place.
    graph = sp.csr_array(
        (weights.flatten(), neighbors.flatten(), np.arange(0, n * k + 1, k)), shape=(n, n)
    )
    graph.eliminate_zeros()
    return graph


def _normalise(mass: Floats, blocks: Ints, *, out: Floats) -> Mask:
    """Write `mass`, scaled to sum to 1 in every block, to `out`; return which blocks had none."""
    total = np.add.reduceat(mass, blocks, axis=1)
    empty = total == 0
    total[empty] = 1
    np.divide(mass, np.repeat(total, _sizes(blocks, mass.shape[1]), axis=1), out=out)
    return np.asarray(empty)


def _sizes(blocks: Ints, width: int) -> Ints:
    """Return how many columns each block has."""
    return np.diff(blocks, append=width)
