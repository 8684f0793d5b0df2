"""Arithmetic within the blocks of a confidence matrix: n rows, one block of columns per CF.

`blocks` holds the first column of every block. Where one CF is alone, it may be the axis along the
CF's values instead; sums are then taken in another order, and may differ in their last digits.
"""

from typing import TypeAlias, TypeVar

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles

Over: TypeAlias = Ints | int  # the blocks, or the axis along the values of one CF
Numbers = TypeVar("Numbers", Floats, Singles)
Values = TypeVar("Values", Floats, Singles, Mask)


def sizes(blocks: Ints, width: int) -> Ints:
    """Return how many columns each block has."""
    following = np.full_like(blocks, width)  # asked for in every step: np.diff takes far longer
    following[:-1] = blocks[1:]
    return following - blocks


def columns(blocks: Ints, width: int) -> list[slice]:
    """Return the columns of each block."""
    ends = np.append(blocks[1:], width)
    return [slice(int(low), int(high)) for low, high in zip(blocks, ends, strict=True)]


def totals(mass: Numbers, blocks: Over) -> Numbers:
    """Return the sum of every row's every block, n × CFs; or along an axis, which then has 1."""
    if isinstance(blocks, int):
        total: Numbers = mass.sum(axis=blocks, keepdims=True)
        return total
    return np.add.reduceat(mass, blocks, axis=1)


def spread(values: Values, blocks: Over, width: int) -> Values:
    """Return n × CFs values as n × ΣK, each repeated over its block; along an axis, as they are."""
    if isinstance(blocks, int):
        return values
    repeated: Values = np.repeat(values, sizes(blocks, width), axis=1)
    return repeated


def normalise(mass: Numbers, blocks: Over, *, out: Numbers) -> Numbers:
    """Write `mass`, scaled to sum to 1 in every block that has any, to `out`; return the sums."""
    total = totals(mass, blocks)
    divisor = total if total.all() else np.where(total == 0, np.ones_like(total), total)
    np.divide(mass, spread(divisor, blocks, mass.shape[1]), out=out)
    return total


def start(evidence: Floats | Singles | Mask, blocks: Over) -> Floats:
    """Return Q0: every candidate of a cell alike, n × ΣK."""
    even = evidence.astype(float)
    normalise(even, blocks, out=even)
    return even


def entropies(confidences: Floats, blocks: Ints) -> Floats:
    """Return the Shannon entropy of every row's every block, natural log; 0 log 0 is 0."""
    logs = np.log(confidences, out=np.zeros_like(confidences), where=confidences > 0)
    # The absolute value and not −Σ: rounding may leave a hair on the wrong side of 0.
    return np.abs(totals(confidences * logs, blocks))


def best(confidences: Floats, candidates: Mask) -> Ints:
    """Return the place of every row's most confident candidate, in one block; ties: the first."""
    return np.asarray(np.where(candidates, confidences, -1.0).argmax(axis=1))
