"""Step 4: confidences flow along the weights.

    P = H Q                                     prior: what a row's neighbors say
    Q = normalise_per_block(P ⊙ M)              the row's own exclusions applied

H is the n × n matrix of weights, kept as n × k arrays; M marks the candidates. A block whose mass
is all masked away falls back to its start, M / (number of candidates). Under uniform exclusions
each step is a step of EM. It costs n k ΣK, and all CFs go at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.parallel import Workers, slices

CELLS_AT_ONCE = 1 << 19  # a block of confidences that stays in a core's cache


@dataclass(frozen=True)
class Propagation:
    """Where the confidences ended, and which rows lost all mass on the way."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs: did this row's block ever fall back?


def start(candidates: Mask, blocks: Ints) -> Floats:
    """Return Q0: every candidate of a cell alike, n × ΣK. `blocks` says where each CF begins."""
    return _normalise(candidates.astype(float), blocks)[0]


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
    """Return the confidences after `iterations` steps from Q0.

    Without `correction` a row's own exclusions are not applied again after the start.
    """
    n, k = neighbors.shape
    graph = sp.csr_array(
        (weights.reshape(-1), neighbors.reshape(-1), np.arange(0, n * k + 1, k)), shape=(n, n)
    )
    parts = slices(n, max(1, CELLS_AT_ONCE // candidates.shape[1]))
    rows = [graph[part] for part in parts]
    current = start(candidates, blocks)
    following = np.empty_like(current)
    fell_back = np.zeros((n, len(blocks)), dtype=bool)

    def step(number: int) -> None:
        part = parts[number]
        prior = rows[number] @ current
        if not correction:
            following[part] = prior
            return
        following[part], empty = _normalise(prior * candidates[part], blocks)
        if empty.any():
            fell_back[part] |= empty
            lost = np.repeat(empty, _sizes(blocks, current.shape[1]), axis=1)
            following[part] = np.where(lost, start(candidates[part], blocks), following[part])

    for done in range(1, iterations + 1):
        for _ in workers.map(step, range(len(parts))):
            pass
        current, following = following, current
        progress(done)
    return Propagation(current, fell_back)


def _normalise(mass: Floats, blocks: Ints) -> tuple[Floats, Mask]:
    """Return `mass` scaled to sum to 1 in every block, and which blocks (n × CFs) had none."""
    total = np.add.reduceat(mass, blocks, axis=1)
    empty = total == 0
    width = mass.shape[1]
    return mass / np.repeat(np.where(empty, 1, total), _sizes(blocks, width), axis=1), empty


def _sizes(blocks: Ints, width: int) -> Ints:
    """Return how many columns each block has."""
    return np.diff(blocks, append=width)
