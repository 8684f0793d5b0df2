"""The first support of many rows at once: which of their neighbors count.

Found by compiled code where there is some and it is worth it, otherwise by OSQP. Compiled code
leaves a stack to OSQP, just as it would have been without it, if it is not sure of one of its rows:
then rounding may decide what the support is, and it must not depend on who found it.
"""

from collections.abc import Callable

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.parallel import slices
from cfl_cli.steps.compiled import kernel

LEAST_RIDGE = 1e-3  # below, too many weights are so small that rounding may decide
MOST_NEIGHBORS = 64  # above, OSQP is quicker


def first_support(
    grams: Floats, by_osqp: Callable[[Floats], Floats], *, ridge: float, stack: int, rows: int
) -> Floats:
    """Return for each neighbor, b × k, a number above 0 if it counts, NaN for unsolved rows.

    `by_osqp` returns the same, in stacks of `stack` rows. The whole table has so many `rows`.
    """
    k = grams.shape[1]
    fit = ridge >= LEAST_RIDGE and k <= MOST_NEIGHBORS
    compiled = kernel("support", rows=rows) if fit else None
    if compiled is None:
        return by_osqp(grams)
    counts, sure = np.empty(grams.shape[:2], dtype=bool), np.empty(len(grams), dtype=bool)
    compiled(np.ascontiguousarray(grams), ridge, counts, sure)
    rough = np.where(counts, 1.0, -1.0)
    for part in slices(len(grams), stack):
        if not sure[part].all():
            rough[part] = by_osqp(grams[part])
    return rough
