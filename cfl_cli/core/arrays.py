"""The kinds of arrays that the numeric core takes and gives."""

from enum import Enum
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Singles: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = npt.NDArray[np.int32]  # numbers of rows, many of them


# Arithmetic within the blocks of a confidence matrix: n rows, one block of columns per CF.
#
# `blocks` holds the first column of every block. Where one CF is alone, it may be the axis along the
# CF's values instead; sums are then taken in another order, and may differ in their last digits.

Over: TypeAlias = Ints | int  # the blocks, or the axis along the values of one CF
Numbers = TypeVar("Numbers", Floats, Singles)


def sizes(blocks: Ints, width: int) -> Ints:
    following = np.full_like(blocks, width)  # asked for in every step: np.diff takes far longer
    following[:-1] = blocks[1:]
    return following - blocks


def columns(blocks: Ints, width: int) -> list[slice]:
    ends = np.append(blocks[1:], width)
    return [slice(int(low), int(high)) for low, high in zip(blocks, ends, strict=True)]


def totals(mass: Numbers, blocks: Over) -> Numbers:
    """Return the sum of every row's every block, n × CFs; or along an axis, which then has 1."""
    if isinstance(blocks, int):
        total: Numbers = mass.sum(axis=blocks, keepdims=True)
        return total
    return np.add.reduceat(mass, blocks, axis=1)


def normalise(mass: Numbers, blocks: Over, *, out: Numbers) -> Numbers:
    """Write `mass`, scaled to sum to 1 in every block that has any, to `out`; return the sums."""
    total = totals(mass, blocks)
    divisor = total if total.all() else np.where(total == 0, np.ones_like(total), total)
    if not isinstance(blocks, int):
        divisor = np.repeat(divisor, sizes(blocks, mass.shape[1]), axis=1)
    np.divide(mass, divisor, out=out)
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


_EXACT_POWERS = 22  # of ten, that a double holds exactly


def significant(numbers: Floats, digits: int) -> Floats:
    """Return numbers from 0 to 1, rounded to at most 15 significant digits.

    Each is the double nearest to its decimal, as both parts of round(x·10^p) / 10^p are exact, so that
    it is written with these digits. Numbers below about 1e-17 become 0.
    """
    with np.errstate(divide="ignore"):
        places = digits - 1 - np.floor(np.log10(numbers))
    short = places <= _EXACT_POWERS  # and not 0, nor next to it: 10 ** places is exact
    scale = 10.0 ** np.where(short, places, 0)
    return np.where(
        short, np.rint(numbers * scale) / scale, np.where(np.isnan(numbers), np.nan, 0.0)
    )


def best(confidences: Floats, candidates: Mask) -> Ints:
    """Return the place of every row's most confident candidate, in one block; ties: the first."""
    return np.asarray(np.where(candidates, confidences, -1.0).argmax(axis=1))


# Rows that belong together: copies, or rows that a schema says are of one household or patient.
#
# Each row has a number, and rows with the same number are a group. Groups are hidden together, judged
# together, and count as one where rows are taken for independent.


def ranks(groups: Ints) -> Ints:
    """Return the numbers of groups, counted from 0 in the order in which they first appear."""
    _, first, places = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[places.reshape(-1)]


def independent(groups: Ints | None) -> Floats | None:
    """Return how many independent rows each row counts for: one over the size of its group."""
    if groups is None:
        return None
    places = ranks(groups)
    return np.asarray(1 / np.bincount(places)[places])


def sums_by(groups: Ints | None, numbers: Floats) -> Floats:
    """Return the sums of rows that belong together, groups × …; None: each row by itself."""
    if groups is None:
        return numbers
    return sums_at(ranks(groups), numbers)


def sums_at(places: Ints, numbers: Floats) -> Floats:
    """Return the sums of rows of the same place, places × …; n or n × …"""
    many, flat = int(places.max(initial=-1)) + 1, numbers.reshape(len(numbers), -1)
    sums = np.empty((many, flat.shape[1]))
    for at, column in enumerate(flat.T):
        sums[:, at] = np.bincount(places, column, minlength=many)
    return sums.reshape(many, *numbers.shape[1:])


def halves(m: int, groups: Ints | None = None) -> Mask:
    """Return which of m rows belong to the first of two halves; no group of `groups` is split.

    Groups go by turns, in the order in which they first appear.
    """
    return np.asarray((np.arange(m) if groups is None else ranks(groups)) % 2 == 0)


def linked(n: int, rows: Ints, others: Ints, groups: Ints | None = None) -> Ints:
    """Return groups of n rows in which each of `rows` belongs to its one of the `others`.

    Rows that belong together by `groups` already still do.
    """
    one, other = rows, others
    if groups is not None:
        places = ranks(groups)
        first = np.unique(places, return_index=True)[1]
        one = np.concatenate([rows, np.arange(n)])
        other = np.concatenate([others, first[places]])
    return components(n, one, other)


def components(n: int, one: Ints, other: Ints) -> Ints:
    """Return a number for each of n rows, counted from 0: the same for what pairs of rows link.

    Every row starts as its own first row. Of two linked rows, the later first row follows the
    earlier, and so do all that follow it; links within what has one first row are done with.
    """
    first = np.arange(n)
    while len(one):
        low, high = np.minimum(first[one], first[other]), np.maximum(first[one], first[other])
        apart = low < high
        one, other, low, high = one[apart], other[apart], low[apart], high[apart]
        np.minimum.at(first, high, low)
        while not np.array_equal(further := first[first], first):
            first = further
    return np.unique(first, return_inverse=True)[1].reshape(-1)


# A row's own cell applied to its prior, by Bayes' rule.
#
#     joint(v) = prior(v) · evidence(v)      mass = Σ_v joint(v)      posterior = joint / mass
#
# `over` says where sums are taken (see `blocks`), and so decides their last digits.


class Fallback(Enum):
    """What the posterior is where no mass is left: the prior rules out all that the cell leaves."""

    CELL = "cell"  # for answers: the cell is a fact, the prior an estimate; all candidates alike
    PRIOR = "prior"  # for fitting: one contradiction must not pull at a model


def posterior(
    prior: Numbers,
    evidence: Floats | Singles | Mask,
    *,
    over: Over,
    fallback: Fallback,
    out: Numbers | None = None,
) -> tuple[Numbers, Numbers]:
    """Return the posterior, in `out` if given, and the mass, whose axis of one CF has length 1."""
    confidences: Numbers = np.multiply(prior, evidence, out=out)
    mass = normalise(confidences, over, out=confidences)
    empty = mass == 0
    if empty.any():
        instead = prior if fallback is Fallback.PRIOR else start(evidence, over)
        lost = empty
        if not isinstance(over, int):
            lost = np.repeat(empty, sizes(over, confidences.shape[1]), axis=1)
        np.copyto(confidences, instead, where=lost, casting="same_kind")
    return confidences, mass


def most_confident(prior: Floats, likelihood: Floats) -> tuple[Ints, Floats]:
    """Return the answers, the first of equals, and their confidence: the last axis is gone.

    Falls back on the cell. Values are ranked before they are scaled, because a division may make
    two of them equal, and of the K quotients only one is wanted.
    """
    joint = prior * likelihood
    mass = joint.sum(axis=-1, keepdims=True)
    if not mass.all():
        joint = np.where(mass > 0, joint, likelihood)
        mass = joint.sum(axis=-1, keepdims=True)
    answers = joint.argmax(axis=-1)
    best = np.take_along_axis(joint, answers[..., None], axis=-1)
    confidences = np.divide(best, mass, out=np.zeros_like(best), where=mass > 0)
    return np.asarray(answers), np.asarray(confidences[..., 0])


# How well a prior predicts a hidden cell: the log of the mass that the cell leaves of it.
#
#     log score = log Σ_v prior(v) · evidence(v)
#
# Higher is better; in expectation the true distribution has the highest.

LEAST_MASS = 1e-12  # that counts: one cell that a prior rules out must not decide everything


def log_scores(priors: Numbers, evidence: Floats | Singles | Mask, *, over: Over) -> Numbers:
    """Return the log score of every row's every CF, n × CFs; of one CF along an axis, n."""
    if isinstance(over, int):
        mass: Numbers = np.einsum("ij,ij->i" if over else "ij,ij->j", priors, evidence)
    else:
        mass = totals(np.multiply(priors, evidence), over)
    logs: Numbers = np.log(np.maximum(mass, LEAST_MASS))
    return logs
