"""The paper's recipe, done plainly: what `cfl` is compared with, in time and in its answer.

neighbors    all n × n distances, sorted
weights      SLSQP, row by row
propagation  H as a dense n × n matrix, multiplied with all confidences

It says the same as `cfl_cli.methods.graph` wherever no distances are equal; among equal ones it
takes the first rows, where `cfl` breaks ties at random.
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.progress import Progress, Stage, Work


def estimate(
    features: Floats,
    candidates: Mask,
    blocks: Ints,
    *,
    k: int,
    iterations: int,
    gamma: float,
    ridge: float,
    gradient: bool = False,
    ftol: float = 1e-6,
    progress: Progress = lambda *_: None,
) -> Floats:
    """Return the confidences, n × ΣK, after two rounds; `ftol` is SLSQP's, and its default."""

    def one_round(number: int, points: Floats) -> Floats:
        progress(Stage(f"round {number}: neighbors", Work.NEIGHBORS), 0, 1)
        neighbors = nearest(points, k=k)
        progress(Stage(f"round {number}: weights", Work.WEIGHTS), 0, 1)
        weights = solve(points, neighbors, ridge=ridge, gradient=gradient, ftol=ftol)
        progress(Stage(f"round {number}: propagation", Work.PROPAGATION), 0, 1)
        return propagate(neighbors, weights, candidates, blocks, iterations=iterations)

    first = one_round(1, features)
    sizes = np.diff(blocks, append=candidates.shape[1])
    scaled = first * np.sqrt(gamma / np.repeat(sizes, sizes))
    return one_round(2, np.hstack([features, scaled]))


def nearest(points: Floats, *, k: int) -> Ints:
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def solve(
    points: Floats, neighbors: Ints, *, ridge: float, gradient: bool = False, ftol: float = 1e-6
) -> Floats:
    """Return the weights of every row's neighbors, n × k.

    Linear algebra is held to one thread: with more, products this small only wait for each other.
    """
    with threadpool_limits(limits=1):
        return np.array(
            [
                weigh(points[near] - point, ridge=ridge, gradient=gradient, ftol=ftol)
                for point, near in zip(points, neighbors, strict=True)
            ]
        )


def weigh(differences: Floats, *, ridge: float, gradient: bool, ftol: float) -> Floats:
    """Return one row's weights from the differences, k × d, to its neighbors.

    Without `gradient` SLSQP takes finite differences, as it does unless told better.
    """
    k = len(differences)
    gram = differences @ differences.T
    mean = np.trace(gram) / k
    if mean == 0:
        return np.full(k, 1 / k)
    gram = gram / mean + ridge * np.eye(k)
    # `Any`, because scipy's types know such dictionaries only as literals.
    sums_to_one: Any = {"type": "eq", "fun": lambda w: w.sum() - 1}
    options: Any = {"ftol": ftol}
    weights = minimize(
        lambda w: w @ gram @ w,
        np.full(k, 1 / k),
        method="SLSQP",
        jac=(lambda w: 2 * gram @ w) if gradient else None,
        bounds=[(0, None)] * k,
        constraints=sums_to_one,
        options=options,
    ).x.clip(0)
    return np.asarray(weights / weights.sum())


def propagate(
    neighbors: Ints, weights: Floats, candidates: Mask, blocks: Ints, *, iterations: int
) -> Floats:
    """Return the confidences after `iterations` products with the dense H."""
    n = len(neighbors)
    graph = np.zeros((n, n))
    np.put_along_axis(graph, neighbors, weights, axis=1)
    start = normalise(candidates.astype(float), blocks, otherwise=candidates)
    confidences = start
    for _ in range(iterations):
        confidences = normalise((graph @ confidences) * candidates, blocks, otherwise=start)
    return confidences


def normalise(mass: Floats, blocks: Ints, *, otherwise: Floats | Mask) -> Floats:
    """Return `mass` scaled to sum to 1 in every block, and `otherwise` where a block has none."""
    sizes = np.diff(blocks, append=mass.shape[1])
    total = np.repeat(np.add.reduceat(mass, blocks, axis=1), sizes, axis=1)
    return np.where(total > 0, mass / np.where(total > 0, total, 1), otherwise)
