"""Step 3: how much each neighbor counts.

For every row i with neighbor differences D (k × d), G = D Dᵀ and τ = trace(G)/k:

    minimise  wᵀ (G/τ + λ I) w    subject to   Σw = 1,  w ≥ 0

OSQP finds which neighbors count, many rows at a time: rows are stacked block-diagonally in a
workspace of fixed size and pattern, and only the numbers change from stack to stack. Scaling and
adaptive steps are off and every solve starts from uniform weights, because otherwise a row's answer
would depend on the rows beside or before it. OSQP stops early and only its support S is read, off
the multipliers, which separate zeros from small weights long before the weights do. On S the
optimum is w ∝ (G/τ + λI)_S⁻¹ 1, exact to rounding, and the optimality conditions are checked over
all k neighbors. A row that fails the check has its support corrected and, should that not settle
it, goes to an active-set solver; such rows, and those that OSQP gave up on, are counted.

With numba (`[fast]`), compiled code finds the first support of a table of 20,000 rows or more, and
leaves a stack to OSQP, just as it would have been without it, if it is not sure of one of its rows:
then rounding may decide what the support is, and it must not depend on which solver found it. A
report names the solver. (Corrections that begin with all neighbors lead to the same weights, and on
small tables with less work: asking OSQP costs about 0.5 s of CPU; see docs/background/methods.md.)
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import scipy  # whose parts it loads when they are asked for

from cfl_cli.core.arrays import Floats, Ints, Places, Singles
from cfl_cli.core.messages import option
from cfl_cli.core.parallel import Engine, interrupts_wait, kernel, slices
from cfl_cli.errors import Problem, ResourceError

LEAST_RIDGE = 1e-3  # below, compiled code would be unsure of too many weights
_MOST_NEIGHBORS = 64  # above, OSQP is quicker than compiled code


def solver_of(rows: int, k: int, ridge: float) -> str:
    """Return what solves the weights of a table of so many rows, for its report."""
    own, may = f"osqp {version('osqp')}", ridge >= LEAST_RIDGE and k <= _MOST_NEIGHBORS
    return f"compiled, {own} where unsure" if may and kernel("support", rows=rows) else own


OWN = threading.local()  # an OSQP workspace belongs to one thread


def first_support(grams: Floats, ridge: float, *, rows: int) -> Floats:
    """Return for each neighbor, b × k, a number above 0 if it counts, NaN for unsolved rows.

    The whole table has so many `rows`.
    """
    k = grams.shape[1]
    counts, sure = np.zeros(grams.shape[:2], dtype=bool), np.zeros(len(grams), dtype=bool)
    may = ridge >= LEAST_RIDGE and k <= _MOST_NEIGHBORS
    if compiled := kernel("support", rows=rows) if may else None:
        compiled(np.ascontiguousarray(grams), ridge, counts, sure)
    if not sure.all() and getattr(OWN, "of", None) != (k, ridge):
        OWN.workspace, OWN.of = Workspace(k, ridge=ridge), (k, ridge)
    rough = np.where(counts, 1.0, -1.0)
    for part in slices(len(grams), STACK):
        if not sure[part].all():
            rough[part] = OWN.workspace.solve(grams[part])
    return rough


STACK = 100  # rows per OSQP problem: fewer pay more overhead, more wait for the slowest row
PRECISION = 1e-2  # OSQP's; only the support is read off its answer
CORRECTIONS = 10  # of a misjudged support, before the active-set solver takes over
OPTIMAL = 1e-9  # slack allowed in the optimality conditions, relative to the objective
CELLS_AT_ONCE = 1 << 18  # a block of neighbor differences that stays in a core's cache


@dataclass(frozen=True)
class Weights:
    """Every row's weights, n × k, and how many rows OSQP did not settle."""

    values: Floats
    rescued_rows: int


def solve(
    features: Floats,
    neighbors: Places,
    *,
    ridge: float,
    workers: Engine,
    progress: Callable[[int], None] = lambda _: None,
) -> Weights:
    """Return the weights of every row's neighbors; each row's are ≥ 0 and sum to 1."""
    n, k = neighbors.shape
    values = workers.empty("weights", (n, k), np.float64)
    weigh = Weigh(features, neighbors, values, ridge)
    rescued = 0
    for part, more in workers.rows("weights", weigh, n, at_once=rows_at_once(k, features.shape[1])):
        rescued += more
        progress(part.stop)
    return Weights(values, rescued)


@dataclass(frozen=True)
class Weigh:
    """A kernel: the weights of some rows' neighbors."""

    features: Floats
    neighbors: Places
    values: Floats  # n × k, to be filled
    ridge: float

    def __call__(self, part: slice) -> int:
        difference = np.take(self.features, self.neighbors[part], axis=0)  # quicker than [...]
        difference -= self.features[part, None, :]
        grams = gram(difference, ridge=self.ridge)
        weights, rescued = sharpen(grams, first_support(grams, self.ridge, rows=len(self.features)))
        check_simplex(weights, first=part.start)
        self.values[part] = weights
        return rescued

    def written(self, part: slice) -> tuple[Floats, ...]:
        return (self.values[part],)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let a Ctrl-C wait, and let Python be the one that hears it in the end.

        Each solve of OSQP sets a listener of its own and then restores what it found. With several
        threads it may find the other's, and restore that for good. (A Ctrl-C meanwhile is lost if
        a thread hears it that was started elsewhere and does not leave it to others; in `cfl` none
        is.)
        """
        with interrupts_wait():
            try:
                yield
            finally:
                handler = signal.getsignal(signal.SIGINT)
                if handler is not None and threading.current_thread() is threading.main_thread():
                    signal.signal(signal.SIGINT, handler)


def rows_at_once(k: int, dimensions: int) -> int:
    """Return how many rows go together: whole stacks, and no more than a cache should hold."""
    return STACK * min(max(CELLS_AT_ONCE // (STACK * k * max(k, dimensions)), 1), 20)


def solve_around(
    points: Floats | Singles, asked: Floats, neighbors: Ints, *, ridge: float, workers: Engine
) -> Floats:
    """Return the weights of the neighbors that any `asked` points have among `points`, m × k.

    OSQP is not asked for a first support. It decides for a stack of rows when it stops, and where a
    neighbor hardly counts, rows beside a row could then decide whether it is left out.
    """
    m, k = neighbors.shape
    values = np.empty((m, k))

    def settle(part: slice) -> None:
        grams = gram(points[neighbors[part]] - asked[part, None], ridge=ridge)
        values[part], _ = sharpen(grams, np.ones_like(grams[:, 0]))

    at_once = max(1, CELLS_AT_ONCE // (k * max(k, asked.shape[1])))
    for _ in workers.map(settle, slices(m, at_once)):
        pass
    check_simplex(values)
    return values


def gram(difference: Floats, *, ridge: float) -> Floats:
    """Return G/τ + λI of the differences to each row's neighbors, b × k × k; overwrites them.

    τ's and G's units cancel. A row that equals all its neighbors gets λI, whose optimum is uniform
    weights.
    """
    k = difference.shape[1]
    largest = np.abs(difference).max(axis=(1, 2), keepdims=True, initial=0)
    difference /= np.where(largest > 0, largest, 1)  # so that squares neither over- nor underflow
    grams = difference @ difference.transpose(0, 2, 1)
    mean = np.trace(grams, axis1=1, axis2=2)[:, None, None] / k
    grams /= np.where(mean > 0, mean, 1)
    grams += ridge * np.eye(k)
    return np.asarray(grams)


class Workspace:
    """One OSQP problem of STACK rows of k × k problems; its numbers are replaced again and again."""

    def __init__(self, k: int, *, ridge: float) -> None:
        import osqp

        column, row = np.tril_indices(k)
        eye = scipy.sparse.identity(STACK)
        pattern = scipy.sparse.kron(eye, np.triu(np.ones((k, k))), format="csc")
        sums = scipy.sparse.kron(eye, np.ones((1, k)))
        # The eigenvalues of 2(G/τ + λI) lie in [2λ, 2(k + λ)] and the largest is seldom above half
        # of that. Steps near their geometric mean converge fastest.
        self.rho = 2 * float(np.sqrt(ridge * (k / 2 + ridge)))
        self.k, self.upper = k, (row, column)  # the upper triangle, column by column
        self.solver, self.status = osqp.OSQP(), osqp.SolverStatus
        self.solver.setup(
            pattern,
            np.zeros(STACK * k),
            scipy.sparse.vstack([sums, scipy.sparse.identity(STACK * k)], format="csc"),
            np.concatenate([np.ones(STACK), np.zeros(STACK * k)]),
            np.concatenate([np.ones(STACK), np.full(STACK * k, np.inf)]),
            rho=self.rho,
            adaptive_rho=False,
            scaling=0,
            warm_starting=True,  # from where `solve` says, never from the stack before
            polishing=False,
            eps_abs=PRECISION,
            eps_rel=0.0,
            check_termination=5,
            max_iter=4000,
            verbose=False,
        )

    def solve(self, grams: Floats) -> Floats:
        """Return for each neighbor, b × k, a number above 0 if it counts; NaN for unsolved rows."""
        rough = np.full(grams.shape[:2], np.nan)
        for part in slices(len(grams), STACK):
            rows = part.start + np.arange(STACK) % (part.stop - part.start)  # a short one repeats
            numbers = 2 * grams[rows[:, None], *self.upper]
            # OSQP reads raw memory: a C-contiguous float64 array, or it solves another problem.
            self.solver.update(Px=np.ascontiguousarray(numbers, dtype=np.float64).reshape(-1))
            multipliers = -2 * grams[part].mean(axis=(1, 2))  # of Σw = 1, at uniform weights
            self.solver.warm_start(
                x=np.full(STACK * self.k, 1 / self.k),
                y=np.concatenate([multipliers[rows - part.start], np.zeros(STACK * self.k)]),
            )
            answer = self.solver.solve(raise_error=False)
            if answer.info.status_val == self.status.OSQP_SIGINT:
                raise KeyboardInterrupt
            if answer.info.status_val == self.status.OSQP_SOLVED:
                # A step of OSQP ends by projecting this on w ≥ 0: what is below 0 it holds at 0.
                projected = np.asarray(answer.x) + np.asarray(answer.y)[STACK:] / self.rho
                rough[part] = projected.reshape(STACK, self.k)[: part.stop - part.start]
        return rough


def sharpen(grams: Floats, rough: Floats) -> tuple[Floats, int]:
    """Return the optimal weights, exact to rounding, and how many rows OSQP did not settle.

    Neighbors whose number in `rough` is above 0 are the first support. Where it turns out not to
    be the optimum's, neighbors whose weight came out negative leave it and neighbors that deserve
    weight enter, a few times over.
    """
    weights = np.empty_like(rough)
    todo, unsettled, support = np.arange(len(grams)), grams, rough > 0
    for _ in range(CORRECTIONS):
        # w ∝ G_S⁻¹ 1 on each support S and 0 off it; some may come out negative.
        support = support | ~support.any(axis=1, keepdims=True)
        pairs = support[:, :, None] & support[:, None, :]
        system = np.where(pairs, unsettled, np.eye(rough.shape[1]))
        attempt = np.linalg.solve(system, support[:, :, None].astype(float))[:, :, 0]
        attempt /= attempt.sum(axis=1, keepdims=True)
        weights[todo] = attempt
        # At the optimum no weight is negative and no slope, G w, is below the objective.
        slope = np.einsum("bij,bj->bi", unsettled, attempt)
        objective = np.einsum("bi,bi->b", attempt, slope)
        deserving = slope < objective[:, None] * (1 - OPTIMAL)
        right = (attempt >= 0).all(axis=1) & ~deserving.any(axis=1)
        todo, unsettled = todo[~right], unsettled[~right]
        if not len(todo):
            break
        support = ((attempt > 0) | deserving)[~right]
    for row in todo:
        weights[row] = active_set(grams[row])
    gave_up = np.flatnonzero(np.isnan(rough).any(axis=1))
    return weights, len(np.union1d(gave_up, todo))


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


def check_simplex(weights: Floats, *, first: int | None = None) -> None:
    """Raise unless every row's weights are ≥ 0 and sum to 1.

    `first` is the number of the first of them, from 0; None: they are new rows.
    """
    sums = weights.sum(axis=1)
    sound = (weights >= 0).all(axis=1) & (np.abs(sums - 1) <= 1e-9)
    if not sound.all():
        row = int(np.argmin(sound))
        new = first is None
        raise ResourceError(
            Problem(
                "solver-weights-unsound",
                ("a new row" if new else "row {row:,}")
                + ": the solvers gave its neighbors weights that are negative or do not sum to 1 "
                "(least {least:.3g}, sum {total:.12g}): "
                + ("fit again with a larger {remedy}" if new else "try a larger {remedy}"),
                row=None if first is None else first + row + 1,
                least=float(weights[row].min()),
                total=float(sums[row]),
                remedy=option("ridge"),
            )
        )
