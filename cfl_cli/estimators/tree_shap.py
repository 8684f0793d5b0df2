"""How far each feature moves what trees say of one row: its Shapley values.

Where only the features in S are known, a tree says v(S): a row goes both ways at a node whose
feature is not in S, by how many rows went there when the tree was grown. Of feature i among M:

    move_i = Σ_{S without i} |S|! (M − |S| − 1)! / M! · (v(S ∪ {i}) − v(S))
    score  = v(nothing) + Σ_i move_i

v is a sum over leaves. Of the nodes above a leaf that ask for feature j, let z_j be the share of
rows that all of them send on towards it, and o_j be 1 if they send this row there, else 0. Then

    v(S)   = Σ_leaves value · Π_{j in S} o_j · Π_{j not in S} z_j
    move_i = Σ_leaves value · (o_i − z_i) · ∫_0^1 Π_{j ≠ i} (t o_j + (1 − t) z_j) dt

as ∫ t^|S| (1 − t)^(M − |S| − 1) dt is the factor above. Features that a leaf's nodes do not ask for
drop out. With m that they ask for, the integrand has degree m − 1: quadrature by Gauss and
Legendre at m/2 points, rounded up, is exact. No term is negative, so no digits are lost.
"""

from functools import cache

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.quick import dataclass
from cfl_cli.estimators.forest import ZERO, Forest


def contributions(trees: Forest, row: Floats) -> tuple[Floats, Floats]:
    """Return what trees say of a row of which nothing is known, K, and each feature's moves, d × K.

    The row has d features. What is returned sums to the scores of the row.
    """
    of_leaves = np.repeat(np.arange(len(trees.leaves)) % trees.values, trees.leaves)
    rows = trees.count.sum(dtype=np.int64) / max(len(trees.leaves), 1)  # that came to each tree
    base = _sums(trees.value * (trees.count / rows), of_leaves, trees.values)
    asked = Asked.of(trees, row)
    moves = _sums(
        trees.value[asked.leaf] * asked.weights(),
        asked.feature * trees.values + of_leaves[asked.leaf],
        len(row) * trees.values,
    )
    return base, moves.reshape(len(row), trees.values)


@dataclass(frozen=True, eq=False)
class Asked:
    """The features that the nodes above each leaf ask for, leaf by leaf and each once."""

    leaf: Ints  # e: its number among those of all trees
    feature: Ints  # e
    zero: Floats  # e: z, the share of rows that these nodes send on towards the leaf; above 0
    one: Floats  # e: o, 1 if they send this row there, else 0

    @classmethod
    def of(cls, trees: Forest, row: Floats) -> "Asked":
        """Return what is asked of a row on the way to every leaf."""
        leaf, parent, child, sent_right = _steps(trees)
        nodes = len(trees.feature)
        came = np.bincount(parent, trees.count[leaf], minlength=nodes)  # whole numbers, exact
        ratio = np.concatenate([came, trees.count])[child] / came[parent]
        goes_right = np.where(np.abs(row) > ZERO, row, 0)[trees.feature] > trees.threshold
        follows = goes_right[parent] == sent_right
        both = leaf * len(row) + trees.feature[parent]
        order = np.argsort(both, kind="stable")
        both = both[order]
        first = np.flatnonzero(np.diff(both, prepend=-1))
        return cls(
            *np.divmod(both[first], len(row)),
            np.multiply.reduceat(ratio[order], first),
            np.logical_and.reduceat(follows[order], first).astype(float),
        )

    def weights(self) -> Floats:
        """Return how far each feature moves the row towards its leaf, e: (o − z) · integral."""
        integrals = np.empty(len(self.leaf))
        of_leaf = np.bincount(self.leaf)  # features
        begins = np.cumsum(of_leaf) - of_leaf
        for many in np.unique(of_leaf[of_leaf > 0]).tolist():
            # m × leaves that have so many
            places = np.arange(many)[:, None] + begins[of_leaf == many]
            integrals[places] = _integrals(self.zero[places], self.one[places])
        return (self.one - self.zero) * integrals


def _integrals(zero: Floats, one: Floats) -> Floats:
    """Return of each feature the integral of the product of all others' terms, m × leaves."""
    total = np.zeros_like(zero)
    for t, share in _quadrature((len(zero) + 1) // 2):
        terms = zero + t * (one - zero)
        total += share * np.multiply.reduce(terms, axis=0) / terms
    return total


@cache
def _quadrature(points: int) -> list[tuple[float, float]]:
    """Return where an integrand from 0 to 1 is looked at, and how much it counts there."""
    places, shares = np.polynomial.legendre.leggauss(points)  # from −1 to 1
    return [*zip(((places + 1) / 2).tolist(), (shares / 2).tolist(), strict=True)]


def _sums(amounts: Floats, places: Ints, size: int) -> Floats:
    """Return the sum of the amounts of each place, one after the other."""
    return np.bincount(places, amounts, minlength=size).astype(np.float64, copy=False)


def _steps(trees: Forest) -> tuple[Ints, Ints, Ints, Mask]:
    """Return all steps from a node to a child of it on the way to each leaf.

    Per step: the leaf, the node, the child (a node, or as many as there are nodes plus a leaf) and
    whether it is the right one.
    """
    nodes, of_tree = len(trees.feature), trees.leaves.astype(np.int64)
    first_leaf = np.cumsum(of_tree) - of_tree
    first_node = first_leaf - np.arange(len(of_tree))
    parents = np.full(nodes + len(trees.value), -1)
    is_right = np.zeros(len(parents), dtype=bool)
    for side, own in enumerate((trees.left, trees.right)):
        children = np.where(
            own < 0,
            nodes + np.repeat(first_leaf, of_tree - 1) + ~own,
            np.repeat(first_node, of_tree - 1) + own,
        )
        parents[children] = np.arange(nodes)
        is_right[children] = bool(side)
    leaf = np.arange(len(trees.value))
    child = nodes + leaf
    steps = [(leaf[:0], leaf[:0], leaf[:0])]
    while len(leaf):  # all leaves climb at once
        climbs = parents[child] >= 0
        leaf, child = leaf[climbs], child[climbs]
        steps.append((leaf, parents[child], child))
        child = parents[child]
    leaf, parent, child = (np.concatenate(of_steps) for of_steps in zip(*steps, strict=True))
    return leaf, parent, child, is_right[child]
