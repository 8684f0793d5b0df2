"""The cells that a row may turn out to have, and the final answer to each of them.

A row's final answer is the most confident candidate once its own cell, S, counts too: a(S) =
argmax_v prior(v) P(S | v). How probably a value t is answered where it is the true one is then

    keep(t) = Σ_S P(S | t) · 1[a(S) = t]

summed over all cells that the row might have. The number of exclusions of a cell is taken to be
independent of all else, and distributed as in the whole table. The possible cells of a row are
listed while they are few, else drawn at random.
"""

from itertools import combinations
from math import comb
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.known import Rule
from cfl_cli.core.posterior import most_confident
from cfl_cli.core.quick import dataclass

LISTED = 128  # possible cells of a row, at most, that are gone through one by one
DRAWN = 16  # cells, at least, that are drawn at random for each row otherwise …
NUMBERS_DRAWN = 1 << 20  # … and, with few rows, as many as this: rows × cells × values


@dataclass(frozen=True, eq=False)
class PossibleAnswers:
    """The final answers of b rows to c cells that they might have."""

    values: Ints  # b × c
    confidences: Floats  # b × c
    if_true: Floats  # b × c: P(cell | the answer is the true value)
    probabilities: Floats  # b × c: P(cell), estimated without bias

    def keep(self, size: int, *, min_confidence: float = 0.0) -> Floats:
        """Return how probably each value is answered, at least so confidently, if true, b × K."""
        return sums(self.if_true * (self.confidences >= min_confidence), self.values, size)

    def beside(self, other: Self) -> Self:
        """Return the answers of the same rows to these cells and to others."""
        return type(self)(
            np.hstack([self.values, other.values]),
            np.hstack([self.confidences, other.confidences]),
            np.hstack([self.if_true, other.if_true]),
            np.hstack([self.probabilities, other.probabilities]),
        )


@dataclass(frozen=True, eq=False)
class PossibleCells:
    """The cells that a row may turn out to have, by how many exclusions the rows of a table have.

    Exact cells are not among them: their answer is right whatever the prior.
    """

    mechanism: Mechanism
    exact: float  # share of the rows
    listed: Floats  # c × K: P(cell | value), times the share of rows with so many exclusions
    drawn: Floats  # K: share of the rows with 0 to K−1 exclusions, where these are not listed

    @classmethod
    def of(cls, candidates: Mask, mechanism: Mechanism) -> Self:
        """Return the cells by the exclusions of all rows, n × K."""
        size = mechanism.size
        drawn = np.bincount((~candidates).sum(axis=1), minlength=size) / len(candidates)
        exact, drawn[-1] = float(drawn[-1]), 0
        listed = [np.zeros((0, size))]
        for exclusions in sorted(np.flatnonzero(drawn).tolist(), key=lambda s: (comb(size, s), s)):
            if sum(map(len, listed)) + comb(size, exclusions) > LISTED:
                break
            likelihood, factor = mechanism.scaled(all_cells(size, exclusions))
            listed.append(drawn[exclusions] * likelihood * np.exp(factor)[:, None])
            drawn[exclusions] = 0
        return cls(mechanism, exact, np.concatenate(listed), drawn)

    def draws(self, rows: int) -> int:
        """Return how many cells to draw for each of so many rows."""
        if not self.drawn.any():
            return 0
        return max(NUMBERS_DRAWN // (rows * self.mechanism.size), DRAWN)

    def answers(
        self,
        prior: Floats,
        is_true: Floats,
        draws: int,
        random: np.random.Generator,
        rule: Rule,
    ) -> PossibleAnswers:
        """Return the final answers of rows with these priors, b × K.

        `is_true` estimates without bias, b × K, which value is true.
        """
        if self.mechanism.rates is None and rule is most_confident:
            values, confidences = _highest_ranked(prior, self.listed > 0)
        else:
            values, confidences = rule(prior[:, None, :], self.listed)
        if_true = self.listed[np.arange(len(self.listed)), values]
        listed = PossibleAnswers(values, confidences, if_true, is_true @ self.listed.T)
        return listed.beside(self._drawn(prior, is_true, draws, random, rule)) if draws else listed

    def _drawn(
        self,
        prior: Floats,
        is_true: Floats,
        draws: int,
        random: np.random.Generator,
        rule: Rule,
    ) -> PossibleAnswers:
        """Return the answers to random cells, b × draws.

        They are drawn for values that come half from the prior and half from anywhere, so that
        neither likely cells nor those that would change the answer are rare.
        """
        b, size = prior.shape
        chances = random.random((b, draws, size + 2))
        total = self.drawn.sum()
        exclusions = np.searchsorted(np.cumsum(self.drawn / total), chances[:, :, 0], side="right")
        exclusions = np.minimum(exclusions, np.flatnonzero(self.drawn)[-1])
        source = (prior[:, None, :] + 1 / size) * self.mechanism.possible.T[exclusions]
        source /= source.sum(axis=2, keepdims=True)
        values = (np.cumsum(source, axis=2) > chances[:, :, 1, None]).argmax(axis=2)
        cells = self.mechanism.draw(
            values.reshape(-1), exclusions.reshape(-1), chances[:, :, 2:].reshape(-1, size)
        )
        likelihood = self.mechanism.likelihood(cells).reshape(b, draws, size)
        answers, confidences = rule(prior[:, None, :], likelihood)
        likelihood /= np.einsum("bdk,bdk->bd", source, likelihood)[:, :, None]
        # The sum over all cells of a value is known: only how it divides is left to chance.
        drawn = likelihood.sum(axis=1, keepdims=True)
        likelihood *= (self.mechanism.possible @ self.drawn) / np.where(drawn > 0, drawn, 1)
        if_true = np.take_along_axis(likelihood, answers[:, :, None], axis=2)[:, :, 0]
        probabilities = np.einsum("bdk,bk->bd", likelihood, is_true)
        return PossibleAnswers(answers, confidences, if_true, probabilities)


def sums(numbers: Floats, places: Ints, size: int) -> Floats:
    """Return each row's sums of its numbers by place, b × size."""
    b = len(numbers)
    flat = (np.arange(b)[:, None] * size + places).reshape(-1)
    summed = np.bincount(flat, numbers.reshape(-1).astype(float), minlength=b * size)
    return np.asarray(summed, dtype=float).reshape(b, size)


def _highest_ranked(prior: Floats, cells: Mask) -> tuple[Ints, Floats]:
    """Return the same under uniform exclusions, b × c: the candidate that ranks first in the prior.

    It is among the first s + 1, so that most of a large domain need not be looked at.
    """
    deepest = int((~cells).sum(axis=1).max(initial=0)) + 1
    order = np.argsort(-prior, axis=1, kind="stable")[:, :deepest]
    ranks = cells.T[order].argmax(axis=1)
    answers = np.take_along_axis(order, ranks, axis=1)
    mass = prior @ cells.T
    left = np.take_along_axis(prior, answers, axis=1)
    some = mass > 0
    evenly = 1 / np.maximum(cells.sum(axis=1), 1)
    return answers, np.where(some, np.minimum(left / np.where(some, mass, 1), 1), evenly)


def all_cells(size: int, exclusions: int) -> Mask:
    """Return the candidates of all cells with so many exclusions, one a row."""
    excluded = np.array(list(combinations(range(size), exclusions)), dtype=int)
    cells = np.ones((len(excluded), size), dtype=bool)
    np.put_along_axis(cells, excluded, values=False, axis=1)
    return cells
