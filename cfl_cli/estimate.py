"""The whole method: the paper's Algorithm 1.

round one   neighbors and weights from the OFs; confidences propagated along them
round two   the same, with round one's confidences as further features, weighted by γ
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.neighbors import nearest
from cfl_cli.parallel import Workers
from cfl_cli.propagate import Graph, Propagation, propagate
from cfl_cli.weights import solve

Progress = Callable[[str, int, int], None]  # stage, done, total


@dataclass(frozen=True)
class Estimate:
    """The confidences, and what the report should know of how they came about."""

    confidences: Floats  # n × ΣK
    fell_back: Mask  # n × CFs
    rescued_rows: int  # rows whose weights OSQP could not settle, over all rounds
    recall: float  # share of the true neighbors that were found, in the round that found fewest
    steps: tuple[int, ...]  # of propagation, in each round


def estimate(
    features: Floats,
    candidates: Mask,
    blocks: Ints,
    *,
    k: int,
    iterations: int,
    gamma: float,
    ridge: float,
    seed: int,
    correction: bool,
    jobs: int,
    exact: bool = False,
    progress: Progress = lambda *_: None,
) -> Estimate:
    """Return the confidences of all CFs. `blocks` says at which column each CF begins.

    `exact` forbids a search of neighbors that may miss some.
    """

    def stage(name: str, total: int) -> Callable[[int], None]:
        progress(name, 0, total)
        return lambda done: progress(name, done, total)

    def one_round(number: int, points: Floats) -> tuple[Propagation, int, float]:
        n = len(points)
        neighbors = nearest(
            points,
            k=k,
            seed=seed,
            exact=exact,
            workers=workers,
            progress=stage(f"round {number}: neighbors", n),
        )
        weights = solve(
            points,
            neighbors.rows,
            ridge=ridge,
            workers=workers,
            progress=stage(f"round {number}: weights", n),
        )
        propagation = propagate(
            Graph(neighbors.rows, weights.values),
            candidates,
            blocks,
            iterations=iterations,
            correction=correction,
            workers=workers,
            progress=stage(f"round {number}: propagation", iterations),
        )
        return propagation, weights.rescued_rows, neighbors.recall

    with Workers(jobs) as workers:
        answer, rescued, recall = one_round(1, features)
        steps = [answer.steps]
        if gamma > 0:
            estimated = scale_by_domain(answer.confidences, blocks, gamma=gamma)
            answer, more, again = one_round(2, np.hstack([features, estimated]))
            rescued, recall = rescued + more, min(recall, again)
            steps.append(answer.steps)
    return Estimate(answer.confidences, answer.fell_back, rescued, recall, tuple(steps))


def scale_by_domain(confidences: Floats, blocks: Ints, *, gamma: float) -> Floats:
    """Return sqrt(γ/K) · Q for each CF's block, so that every CF weighs alike in a distance."""
    sizes = np.diff(blocks, append=confidences.shape[1])
    scaled: Floats = confidences * np.repeat(np.sqrt(gamma / sizes), sizes)
    return scaled
