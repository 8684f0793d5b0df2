"""Which neighbors count, row by row, compiled.

    minimise  wᵀ G w    subject to   Σw = 1,  w ≥ 0

Block pivoting: on the support S the optimum is w ∝ G_S⁻¹ 1. Neighbors with a negative weight leave
S and those whose slope, G w, is below the objective enter it, all at once, until neither is left.
A row is *sure* if no weight and no slope is so near its limit that rounding could have decided.
"""

import numpy as np
from numba import boolean, float64, njit, types, void

PIVOTINGS = 20  # of a row, before it is left to others; three or four are the rule
NEAR = 1e-8  # of a slope to the objective, relatively: far above rounding and `weights.OPTIMAL`
U = np.uintp  # whose indices are never negative, which spares a check


@njit(
    void(types.Array(float64, 3, "C", readonly=True), float64, boolean[:, ::1], boolean[::1]),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def support(grams, ridge, counts, sure):
    """Write which neighbors count, b × k, and whether that is sure, b."""
    total, k = grams.shape[0], grams.shape[1]
    system = np.empty((k, k))
    weights = np.empty(k)
    chosen = np.empty(k, np.uintp)
    for row in range(total):
        sure[row] = False
        for i in range(k):
            counts[row, i] = True
        for _ in range(PIVOTINGS):
            s = 0
            for i in range(k):
                if counts[row, i]:
                    chosen[s] = i
                    s += 1
            if s == 0:
                break
            size = U(s)
            for i in range(size):
                weights[i] = 1.0
                for j in range(i, size):
                    system[i, j] = grams[row, chosen[i], chosen[j]]
            for j in range(size):  # Gauss, on the upper triangle
                for i in range(j + U(1), size):
                    factor = system[j, i] / system[j, j]
                    weights[i] -= factor * weights[j]
                    for c in range(i, size):
                        system[i, c] -= factor * system[j, c]
            mass = 0.0
            for back in range(size):
                i = size - U(1) - back
                for c in range(i + U(1), size):
                    weights[i] -= system[i, c] * weights[c]
                weights[i] /= system[i, i]
                mass += weights[i]
            objective = 1 / mass
            least = NEAR * objective / ridge + 10 * NEAR
            changed, close = False, False
            for i in range(size):
                weights[i] *= objective
                close |= abs(weights[i]) < least
            for j in range(U(k)):
                if counts[row, j]:
                    continue
                slope = 0.0
                for i in range(size):
                    slope += grams[row, j, chosen[i]] * weights[i]
                close |= abs(slope - objective) < NEAR * objective
                if slope < objective:
                    counts[row, j] = True
                    changed = True
            for i in range(size):
                if weights[i] < 0:
                    counts[row, chosen[i]] = False
                    changed = True
            if not changed:
                sure[row] = not close and mass > 0
                break
