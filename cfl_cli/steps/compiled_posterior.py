"""The posterior of rows in single precision, in one pass over them, compiled.

    Q = P ⊙ M / mass        mass: Σ of P ⊙ M over each block; without any, all candidates alike

Products, sums and quotients are those of `core.posterior`, to the last bit. For that a block is
added up in the order of NumPy: its first number and the sum of the others, in eight sums of every
eighth where they are eight or more.
"""

from numba import boolean, float32, float64, int64, njit, types, void

MOST = 128  # numbers after the first of a block; NumPy adds up more of them in yet another order


@njit(
    void(
        types.Array(float32, 2, "C", readonly=True),
        types.Array(boolean, 2, "C", readonly=True),
        types.Array(int64, 1, "C", readonly=True),
        float32[:, ::1],
        float32[:, ::1],
    ),
    nogil=True,
    cache=True,
    error_model="numpy",
)
def posterior(prior, candidates, blocks, confidences, mass):
    """Write the confidences, n × ΣK, and the mass of each block, n × CFs."""
    n, width = prior.shape
    cfs = len(blocks)
    for row in range(n):
        for column in range(width):
            left = candidates[row, column]
            confidences[row, column] = prior[row, column] if left else float32(0)
        for cf in range(cfs):
            low = blocks[cf]
            high = blocks[cf + 1] if cf + 1 < cfs else width
            first = low + 1
            others = float32(0)
            if high - first >= 8:
                a, b = confidences[row, first], confidences[row, first + 1]
                c, d = confidences[row, first + 2], confidences[row, first + 3]
                e, f = confidences[row, first + 4], confidences[row, first + 5]
                g, h = confidences[row, first + 6], confidences[row, first + 7]
                first += 8
                while high - first >= 8:
                    a += confidences[row, first]
                    b += confidences[row, first + 1]
                    c += confidences[row, first + 2]
                    d += confidences[row, first + 3]
                    e += confidences[row, first + 4]
                    f += confidences[row, first + 5]
                    g += confidences[row, first + 6]
                    h += confidences[row, first + 7]
                    first += 8
                others = ((a + b) + (c + d)) + ((e + f) + (g + h))
            for column in range(first, high):
                others += confidences[row, column]
            total = confidences[row, low] + others
            mass[row, cf] = total
            if total > 0:
                for column in range(low, high):
                    confidences[row, column] /= total
                continue
            count = 0
            for column in range(low, high):
                count += candidates[row, column]
            for column in range(low, high):
                if candidates[row, column]:
                    confidences[row, column] = float32(1 / float64(count))
