"""Forests evaluated by compiled code, where numba is installed and rows are many.

    score of a value = Σ over rounds of the value of the leaf that the row comes to

As in `forest`, 64 rows are the bits of a word, and a tree's nodes send words on. Then the rows of
each leaf's word get its value. Comparisons and sums are those of `forest`, in the same order, and
so the scores are the same to the last bit.
"""

import numba
import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints

Shorts = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]
BITS = 64
MOST_LEAVES = 32
# De Bruijn's: times a power of 2 its first six bits differ for each, and so name the power.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(BITS, dtype=np.int64)
PLACES[[int(SEQUENCE) * 2**bit % 2**64 >> 58 for bit in range(BITS)]] = np.arange(BITS)


@numba.njit(nogil=True, cache=True)
def add_scores(
    above: Words,
    pairs: Ints,
    leaves: Shorts,
    left: Shorts,
    right: Shorts,
    value: Floats,
    total: Floats,
) -> None:
    """Add the scores of rows to `total`, n × K.

    `above` says which rows are above the threshold of each pair, words of 64 rows × pairs; `pairs`,
    `left` and `right` are per node, tree by tree, `value` per leaf.
    """
    n, values = total.shape
    reached = np.zeros(2 * MOST_LEAVES, dtype=np.uint64)  # nodes, and then leaves
    of_words = np.zeros((values, BITS))
    for word in range(len(above)):
        rows = min(BITS, n - word * BITS)
        of_words[:] = 0.0
        node_0 = leaf_0 = 0
        for tree in range(len(leaves)):
            nodes = leaves[tree] - 1
            reached[0 if nodes else MOST_LEAVES] = ~np.uint64(0)
            for node in range(nodes):
                at = node_0 + node
                on_right = reached[node] & above[word, pairs[at]]
                one, other = left[at], right[at]
                reached[one if one >= 0 else MOST_LEAVES + ~one] = reached[node] ^ on_right
                reached[other if other >= 0 else MOST_LEAVES + ~other] = on_right
            own = of_words[tree % values]
            for leaf in range(nodes + 1):
                here, worth = reached[MOST_LEAVES + leaf], value[leaf_0 + leaf]
                while here:
                    lowest = here & (~here + np.uint64(1))
                    own[PLACES[(lowest * SEQUENCE) >> np.uint64(58)]] += worth
                    here ^= lowest
            node_0 += nodes
            leaf_0 += nodes + 1
        for row in range(rows):
            for of_value in range(values):
                total[word * BITS + row, of_value] = of_words[of_value, row]
