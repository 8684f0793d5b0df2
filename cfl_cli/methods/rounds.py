"""Which round of learning is taken: the one that is best for held-out cells of other rows.

Cells that choose a round must not judge it as well, or pure noise would seem to be predicted: of many
rounds, one fits any cells by chance. So held-out rows are dealt into parts, and each takes the round
that is best for the cells of all other parts. With several folds, each is a part; a single one has two
halves. What is fitted to all rows takes the round that is best for all parts together.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, halves
from cfl_cli.methods.interface import Folds


def parts_of(folds: Folds, groups: Ints | None) -> list[tuple[int, Ints]]:
    """Return the parts of the held-out rows, in their order: their fold, and which rows of it.

    `groups` are the numbers of all rows: no half may hold a part of a group.
    """
    if len(folds) != 1:
        return [(number, np.arange(len(fold))) for number, fold in enumerate(folds)]
    (fold,) = folds
    one = halves(len(fold), None if groups is None else groups[fold])
    return [(0, np.flatnonzero(half)) for half in (one, ~one)]


def without_each(of_parts: Floats) -> Floats:
    """Return of sums, parts × …, what they come to without each part."""
    rest = [np.delete(of_parts, part, axis=0).sum(axis=0) for part in range(len(of_parts))]
    return np.stack(rest)


class Course:
    """The rounds of one model, as some held-out cells see them, and when to stop."""

    def __init__(self, patience: int, least_gain: float, *, fewest: int, most: int) -> None:
        self.patience, self.least_gain = patience, least_gain
        self.fewest, self.most = fewest, most
        self.scores: list[float] = []
        self.best = 0  # round
        self.ended = False

    def add(self, score: float) -> bool:
        """Add a round by its mean score; return whether it is the best so far."""
        if self.ended:
            return False
        self.scores.append(score)
        done = len(self.scores) - 1
        is_best = done == 0 or score > self.scores[self.best]
        if is_best:
            self.best = done
        before = max(self.scores[: max(done - self.patience, 0) + 1])
        gain = self.scores[self.best] - before
        self.ended = done == self.most or (done >= self.fewest and gain < self.least_gain)
        return is_best
