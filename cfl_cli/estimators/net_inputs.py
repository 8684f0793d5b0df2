"""What the network takes for features: normal scores of their ranks, by lines between knots.

    input(x) = Φ⁻¹(share of the fitted rows below x, and half of those at it), scaled to spread 1

Between knots it is a line, and beyond the first and last one it stays what it is there. Knots are
the distinct numbers of the fitted rows; of many, those on either side of even steps of the scores,
so that none is off by more than a step. Of two numbers the input is the number itself, from the
mean and in standard deviations; a constant column is none.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask, Singles
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError

MOST_KNOTS = 256  # of a column
RAREST_SPREAD = 0.1  # of the range of two numbers: no less is their standard deviation
FURTHEST = 1e3  # of an input from 0


@dataclass(frozen=True, eq=False)
class Inputs:
    """How features become inputs; knots column by column."""

    knots: Floats
    scores: Floats  # of the knots
    counts: Ints  # per column: of its knots; 0 where it is none of the inputs

    @classmethod
    def fit(cls, features: Floats) -> "Inputs":
        """Return the inputs of a table's columns, n × d."""
        pairs = [_fit(column) for column in features.T]
        return cls(
            np.concatenate([np.zeros(0), *(knots for knots, _ in pairs)]),
            np.concatenate([np.zeros(0), *(scores for _, scores in pairs)]),
            np.array([len(knots) for knots, _ in pairs], dtype=np.int64),
        )

    @property
    def width(self) -> int:
        """Return how many inputs there are; without any, there is one that says nothing."""
        return max(int(np.count_nonzero(self.counts)), 1)

    def of(self, features: Floats) -> Singles:
        """Return the inputs of rows, n × inputs."""
        ends = np.cumsum(self.counts)
        inputs = np.zeros((len(features), self.width), dtype=np.float32)
        for place, column in enumerate(np.flatnonzero(self.counts).tolist()):
            own = slice(int(ends[column] - self.counts[column]), int(ends[column]))
            inputs[:, place] = np.interp(features[:, column], self.knots[own], self.scores[own])
        return inputs

    def state(self) -> State:
        """Return all that has to be kept."""
        return State({"knots": self.knots, "scores": self.scores, "counts": self.counts})


def restore(state: State, *, features: int) -> Inputs:
    """Return the inputs of a state, or raise StateError if they cannot be those of `features`."""
    counts = state.places("counts", MOST_KNOTS + 1, features)
    total = int(counts.sum())
    knots, scores = (state.array(name, np.float64, total) for name in ("knots", "scores"))
    same = np.repeat(np.arange(features), counts)
    inside = np.diff(same) == 0  # between two knots of one column
    if (counts == 1).any() or (np.diff(knots)[inside] <= 0).any():
        raise StateError("array 'knots' holds columns whose knots do not ascend")
    if (np.diff(scores)[inside] < 0).any() or (np.abs(scores) > FURTHEST).any():
        raise StateError("array 'scores' holds columns whose scores do not ascend")
    return Inputs(knots, scores, counts)


def _fit(column: Floats) -> tuple[Floats, Floats]:
    """Return the knots of a column, none if it is constant, and their scores."""
    from scipy.special import ndtri  # noqa: PLC0415 — only fitting needs it

    distinct, counts = np.unique(column, return_counts=True)
    if len(distinct) < 2:
        return np.zeros(0), np.zeros(0)
    if len(distinct) == 2:
        spread = max(float(column.std()), RAREST_SPREAD * float(np.ptp(column)))
        return distinct, (distinct - column.mean()) / spread
    scores = ndtri((np.cumsum(counts) - counts / 2) / len(column))
    chosen = _spread(scores)
    knots, scores = distinct[chosen], scores[chosen]
    return knots, scores / np.interp(column, knots, scores).std()


def _spread(scores: Floats) -> Mask | slice:
    """Return which of ascending scores become knots: those next to each of many even steps."""
    if len(scores) <= MOST_KNOTS:
        return slice(None)
    steps = np.linspace(scores[0], scores[-1], MOST_KNOTS // 2)
    above = np.searchsorted(scores, steps)
    chosen = np.zeros(len(scores), dtype=bool)
    chosen[above] = chosen[np.maximum(above - 1, 0)] = True
    return chosen
