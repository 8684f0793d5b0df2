"""Step 3: how much each neighbor counts.

For every row i with neighbor differences D (k × d), G = D Dᵀ and τ = trace(G)/k:

    minimise  wᵀ (G/τ + λ I) w    subject to   Σw = 1,  w ≥ 0

OSQP finds which neighbors count, many rows at a time: rows are stacked block-diagonally in a
workspace of fixed size and pattern, and only the numbers change from stack to stack. Scaling,
adaptive steps and warm starts are off, because each would let a row's answer depend on the rows
beside it. OSQP's answer is then sharpened: on its support S the optimum is w ∝ (G/τ + λI)_S⁻¹ 1,
exact to rounding, and the optimality conditions are checked over all k neighbors. A row that
fails the check has its support corrected and, should that not settle it, goes to an active-set
solver; such rows, and those that OSQP gave up on, are counted.
"""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import osqp
import scipy.optimize
import scipy.sparse as sp

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.errors import ResourceError
from cfl_cli.parallel import Workers, slices

STACK = 100  # rows per OSQP problem: fewer pay more overhead, more wait for the slowest row
PRECISION = 1e-5  # OSQP's; only the support is read off its answer
SUPPORT = 1e-5  # weights below this are taken as zero before sharpening
CORRECTIONS = 6  # of a misjudged support, before the active-set solver takes over
OPTIMAL = 1e-9  # slack allowed in the optimality conditions, relative to the objective
CELLS_AT_ONCE = 1 << 22  # how many numbers a block of neighbor differences may hold


@dataclass(frozen=True)
class Weights:
    """Every row's weights, n × k, and how many rows OSQP did not settle."""

    values: Floats
    rescued_rows: int


def solve(
    features: Floats,
    neighbors: Ints,
    *,
    ridge: float,
    workers: Workers,
    progress: Callable[[int], None] = lambda _: None,
) -> Weights:
    """Return the weights of every row's neighbors; each row's are ≥ 0 and sum to 1."""
    n, k = neighbors.shape
    values = np.empty((n, k))
    own = threading.local()  # an OSQP workspace belongs to one thread

    def settle(part: slice) -> int:
        if not hasattr(own, "workspace"):
            own.workspace = Workspace.set_up(k, ridge=ridge)
        grams = gram(features, part, neighbors[part], ridge=ridge)
        values[part], rescued = sharpen(grams, own.workspace.solve(grams))
        return rescued

    rescued = 0
    parts = slices(n, rows_at_once(k, features.shape[1]))
    for part, more in zip(parts, workers.map(settle, parts), strict=True):
        rescued += more
        progress(part.stop)
    _take_back_interrupts()
    check(values)
    return Weights(values, rescued)


def rows_at_once(k: int, dimensions: int) -> int:
    """Return how many rows go together: whole stacks, and no more than memory should hold."""
    return STACK * min(max(CELLS_AT_ONCE // (STACK * k * max(k, dimensions)), 1), 20)


def gram(features: Floats, rows: slice, neighbors: Ints, *, ridge: float) -> Floats:
    """Return G/τ + λI for each of `rows`, b × k × k; τ's and G's units cancel.

    A row that equals all its neighbors gets λI, whose optimum is uniform weights.
    """
    k = neighbors.shape[1]
    difference = features[neighbors] - features[rows, None, :]
    largest = np.abs(difference).max(axis=(1, 2), keepdims=True, initial=0)
    difference /= np.where(largest > 0, largest, 1)  # so that squares neither over- nor underflow
    grams = difference @ difference.transpose(0, 2, 1)
    mean = np.trace(grams, axis1=1, axis2=2)[:, None, None] / k
    return grams / np.where(mean > 0, mean, 1) + ridge * np.eye(k)


@dataclass(frozen=True)
class Workspace:
    """One OSQP problem of STACK rows whose numbers are replaced again and again."""

    solver: osqp.OSQP
    k: int
    upper: tuple[Ints, Ints]  # the upper triangle of a k × k matrix, column by column

    @classmethod
    def set_up(cls, k: int, *, ridge: float) -> Self:
        """Allocate and factorise for stacks of k × k problems."""
        column, row = np.tril_indices(k)
        eye = sp.identity(STACK)
        pattern = sp.kron(eye, np.triu(np.ones((k, k))), format="csc")
        sums = sp.kron(eye, np.ones((1, k)))
        solver = osqp.OSQP()
        solver.setup(
            pattern,
            np.zeros(STACK * k),
            sp.vstack([sums, sp.identity(STACK * k)], format="csc"),
            np.concatenate([np.ones(STACK), np.zeros(STACK * k)]),
            np.concatenate([np.ones(STACK), np.full(STACK * k, np.inf)]),
            # The eigenvalues of 2(G/τ + λI) lie in [2λ, 2(k + λ)]. Steps near their geometric
            # mean converge fastest.
            rho=2 * float(np.sqrt(ridge * (k + ridge))),
            adaptive_rho=False,
            scaling=0,
            warm_starting=False,
            polishing=False,
            eps_abs=PRECISION,
            eps_rel=0.0,
            check_termination=10,
            max_iter=4000,
            verbose=False,
        )
        return cls(solver, k, (row, column))

    def solve(self, grams: Floats) -> Floats:
        """Return OSQP's weights, b × k, not yet cleaned up; NaN for rows it did not solve."""
        return np.concatenate([self._solve(grams[part]) for part in slices(len(grams), STACK)])

    def _solve(self, grams: Floats) -> Floats:
        stack = np.broadcast_to(np.eye(self.k), (STACK, self.k, self.k)).copy()
        stack[: len(grams)] = grams
        # OSQP reads raw memory: a C-contiguous float64 array, or it solves another problem.
        numbers = np.ascontiguousarray(2 * stack[:, *self.upper], dtype=np.float64).reshape(-1)
        self.solver.update(Px=numbers)
        answer = self.solver.solve(raise_error=False)
        if answer.info.status_val == osqp.SolverStatus.OSQP_SIGINT:
            raise KeyboardInterrupt
        if answer.info.status_val != osqp.SolverStatus.OSQP_SOLVED:
            return np.full(grams.shape[:2], np.nan)
        return np.asarray(answer.x).reshape(STACK, self.k)[: len(grams)]


def sharpen(grams: Floats, rough: Floats) -> tuple[Floats, int]:
    """Return the optimal weights, exact to rounding, and how many rows OSQP did not settle.

    Where the support of `rough` turns out not to be the optimum's, neighbors whose weight came
    out negative leave it and neighbors that deserve weight enter, a few times over.
    """
    weights = np.empty_like(rough)
    support = rough > SUPPORT
    todo = np.arange(len(grams))
    for _ in range(CORRECTIONS):
        weights[todo] = on_support(grams[todo], support[todo])
        right, deserving = optimal(grams[todo], weights[todo])
        support[todo] = (weights[todo] > 0) | deserving
        todo = todo[~right]
        if not len(todo):
            break
    for row in todo:
        weights[row] = active_set(grams[row])
    gave_up = np.flatnonzero(np.isnan(rough).any(axis=1))
    return weights, len(np.union1d(gave_up, todo))


def on_support(grams: Floats, support: Mask) -> Floats:
    """Return w ∝ G_S⁻¹ 1 on each support S and 0 off it; some may come out negative."""
    support = support | ~support.any(axis=1, keepdims=True)
    pairs = support[:, :, None] & support[:, None, :]
    system = np.where(pairs, grams, np.eye(grams.shape[1]))
    weights: Floats = np.linalg.solve(system, support[:, :, None].astype(float))[:, :, 0]
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def optimal(grams: Floats, weights: Floats) -> tuple[Mask, Mask]:
    """Return which rows' weights are optimal, and which neighbors (b × k) deserve more weight.

    At the optimum no weight is negative and no neighbor's slope, G w, is below the objective.
    """
    slope = np.einsum("bij,bj->bi", grams, weights)
    objective = np.einsum("bi,bi->b", weights, slope)
    deserving = slope < objective[:, None] * (1 - OPTIMAL)
    return (weights >= 0).all(axis=1) & ~deserving.any(axis=1), deserving


def active_set(gram: Floats) -> Floats:
    """Return the optimal weights of one row by Lawson and Hanson's non-negative least squares.

    Minimising ‖Lᵀw‖² + (Σw − 1)² over w ≥ 0 gives the optimum up to a factor.
    """
    root = np.linalg.cholesky(gram).T
    k = len(gram)
    weights, _ = scipy.optimize.nnls(
        np.vstack([root, np.ones(k)]), np.append(np.zeros(k), 1.0), maxiter=100 * k
    )
    return np.asarray(weights / weights.sum())


def _take_back_interrupts() -> None:
    """Make Python listen to Ctrl-C again.

    Each solve of OSQP sets a listener of its own and then restores what it found. With several
    threads it may find the other's, and restore that for good.
    """
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def check(weights: Floats) -> None:
    """Raise unless every row's weights are ≥ 0 and sum to 1."""
    if not ((weights >= 0).all() and (np.abs(weights.sum(axis=1) - 1) <= 1e-9).all()):
        raise ResourceError("the solvers gave weights that are negative or do not sum to 1")
