"""How far each OF moved what the network says of one row: Shapley values of its log-priors.

    φ_i = Σ_{S without i} |S|! (M − 1 − |S|)! / M! · (log p(S + i) − log p(S))

p(S) is the prior of the row with its own features for the OFs in S, and those of a row of which
nothing is known for the others. They sum to log p(all) − log p(none). Of up to ten OFs all sets are
tried. Of more, φ is the mean over ORDERS orders in which OFs become known and their reverses, the
same for every row: the sum is as exact, the single values are within some hundredths as a rule.
"""

from collections.abc import Callable, Sequence
from math import factorial
from typing import TypeAlias

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import columns
from cfl_cli.estimators.explained import Moves

ALL_SETS = 10  # OFs, of which there are 1,024 sets
ORDERS = 32
LEAST = 1e-30  # of a prior, so that its logarithm is finite

Logs: TypeAlias = Callable[[Mask], Floats]  # which OFs are known, s × M, to log-priors, s × ΣK


def moves(
    said: Callable[[Floats], Floats],
    own: Floats,
    blank: Floats,
    ofs: Sequence[slice],
    blocks: Ints,
) -> tuple[Moves, ...]:
    """Return for each CF how far the OFs moved its scores; `own` and `blank` are features, d.

    `said` makes priors, s × ΣK, of features, s × d. `ofs` are the features of each OF; what an OF
    did stands at the first of them.
    """
    differing = [of for of in ofs if (own[of] != blank[of]).any()]

    def logs(known: Mask) -> Floats:
        points = np.repeat(blank[None], len(known), axis=0)
        for number, of in enumerate(differing):
            points[known[:, number], of] = own[of]
        return np.log(np.maximum(said(points), LEAST))

    base, shapley = (by_sets if len(differing) <= ALL_SETS else by_orders)(len(differing), logs)
    of_features = np.zeros((len(own), len(base)))
    for of, move in zip(differing, shapley, strict=True):
        of_features[of.start] = move
    return tuple(
        Moves(base[block], of_features[:, block], np.zeros((len(base), block.stop - block.start)))
        for block in columns(blocks, len(base))
    )


def by_sets(count: int, logs: Logs) -> tuple[Floats, Floats]:
    """Return what is said of nothing, ΣK, and the exact values of each OF, count × ΣK."""
    sets = (np.arange(1 << count)[:, None] >> np.arange(count) & 1).astype(bool)
    said, size = logs(sets), sets.sum(axis=1)
    weights = np.array(
        [factorial(s) * factorial(count - 1 - s) / factorial(count) for s in range(count)]
    )
    values = np.zeros((count, said.shape[1]))
    for of in range(count):
        without = np.flatnonzero(~sets[:, of])
        gained = said[without + (1 << of)] - said[without]
        values[of] = weights[size[without]] @ gained
    return said[0], values


def by_orders(count: int, logs: Logs) -> tuple[Floats, Floats]:
    """Return the same with values averaged over some orders and their reverses."""
    rng = np.random.default_rng(0)  # the same orders for every row
    orders = [rng.permutation(count) for _ in range(ORDERS)]
    values = np.zeros((count, 0))
    base = np.zeros(0)
    for order in (one for own in orders for one in (own, own[::-1])):
        known = np.zeros((count + 1, count), dtype=bool)
        for step, of in enumerate(order.tolist(), start=1):
            known[step:, of] = True
        said = logs(known)
        if not values.size:
            base, values = said[0], np.zeros((count, said.shape[1]))
        values[order] += np.diff(said, axis=0) / (2 * ORDERS)
    return base, values
