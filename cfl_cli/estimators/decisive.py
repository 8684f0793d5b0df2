"""The few neighbors without which a row's answer would be another.

    rough    the others' weights, scaled to sum to 1
    solved   the weights that the quadratic programme gives the others

A set of neighbors is decisive if the answer is another one in both ways. Sets are tried in the
order of their size, and of one size those first that leave the answer least by the rough weights.
"""

from itertools import combinations

import numpy as np

from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.estimators.explained import Answered, Neighborhood
from cfl_cli.steps.weights import solve_around

MOST = 3  # neighbors of a set
AMONG = 40  # neighbors, those of most weight: there are 9,880 sets of three
SOLVED = 256  # sets, at most, of each size


@dataclass(frozen=True)
class Decisive:
    """A smallest set of neighbors without which the answer is another."""

    neighbors: tuple[int, ...]  # their places in the neighborhood
    answer: int  # the other one, a place in the domain
    confidence: float  # that it has then


def find(
    near: Neighborhood, block: slice, answer: int, answered: Answered, workers: Engine
) -> Decisive | None:
    """Return a smallest decisive set of at most three neighbors for one CF; None: there is none."""
    said, m = near.said[:, block], len(near.weights)
    by_weight = np.argsort(-near.weights, kind="stable")
    counting = by_weight[near.weights[by_weight] > 0][:AMONG]
    for size in range(1, min(MOST, m - 1) + 1):
        sets = np.array([*combinations(counting.tolist(), size)], dtype=np.int64)
        if not len(sets):
            break
        left_out = np.zeros((len(sets), m), dtype=bool)
        left_out[np.arange(len(sets))[:, None], sets] = True
        weights = np.where(left_out, 0.0, near.weights)
        total = weights.sum(axis=1)
        rest = total > 0  # or nobody is left whose weights could be scaled
        answers, confidences = answered(weights[rest] / total[rest, None] @ said)
        other = np.flatnonzero(answers != answer)
        ranked = other[np.argsort(confidences[other, answer], kind="stable")][:SOLVED]
        if not len(ranked):
            continue
        chosen = np.flatnonzero(rest)[ranked]
        others = np.nonzero(~left_out[chosen])[1].reshape(len(chosen), m - size)
        solved = solve_around(
            near.differences,
            np.zeros((len(chosen), near.differences.shape[1])),
            others,
            ridge=near.ridge,
            workers=workers,
        )
        answers, confidences = answered(np.einsum("sm,smk->sk", solved, said[others]))
        found = np.flatnonzero(answers != answer)
        if len(found):
            one = int(found[0])
            place = int(answers[one])
            members = tuple(sets[chosen[one]].tolist())
            return Decisive(members, place, float(confidences[one, place]))
    return None
