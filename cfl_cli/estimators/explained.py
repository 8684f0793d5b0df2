"""Why something is said of one row: what methods tell of it, as arrays.

    neighbors   whom the row leans on, how much, how far away, and what they said (graph, ipal)
    moves       how far each feature moved the scores of the values (boost, net)

Rows are numbered from 0 here, and features are the encoded ones: `jobs.explain` names them.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.known import Known
from cfl_cli.core.quick import dataclass

# Given what neighbors say of one CF, s × K: the answers, s, and the confidences, s × K.
Answered: TypeAlias = Callable[[Floats], tuple[Ints, Floats]]


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The neighbors that one row leans on in one round, and what they say."""

    round: int
    rows: Ints | None  # m: rows of the table; None: points of a model, nobody knows whose
    shared: Ints  # m: how many rows share each point (1 within a table)
    differences: Floats  # m × d (round one) or m × (d + ΣK) (round two): neighbor − row
    usual: Floats  # d or d + ΣK: mean squared difference to all rows, feature by feature
    weights: Floats  # m, sum 1; those of weight 0 are listed too
    ridge: float  # by which the weights were found
    said: Floats  # m × ΣK: what each passed on in the last step; of a model: what is said there
    prior: Floats  # ΣK: Σ_j weights_j said_j, per CF at that CF's last step
    confidences: Floats  # ΣK: the prior with the row's own cells applied, before calibration

    @property
    def gaps(self) -> Floats:
        """Return the squared differences, feature by feature: rows sum to squared distances."""
        return np.asarray(self.differences**2)

    @property
    def distances(self) -> Floats:
        """Return how far away each neighbor is."""
        return np.asarray(np.sqrt(self.gaps.sum(axis=1)))


@dataclass(frozen=True, eq=False)
class Moves:
    """How far each feature moved the scores of one CF's values.

    score = base + Σ of_features + Σ of_others, and the prior is softmax(score).
    """

    base: Floats  # K: the score of a row of which nothing is known
    of_features: Floats  # d × K: by encoded feature
    of_others: Floats  # ΣK × K: by the confidence of each value of another CF; 0 for its own


@dataclass(frozen=True, eq=False)
class PartExplained:
    """Why one method says what it says of one row."""

    name: str  # graph, boost, net, ipal, commonest, observed
    prior: Floats  # ΣK
    confidences: Floats  # ΣK
    neighborhoods: tuple[Neighborhood, ...] = ()  # per round
    moves: tuple[Moves | None, ...] = ()  # per CF
    rounds: tuple[int, ...] = ()  # per CF: whose neighborhood its answer comes from
    answers: tuple[int, ...] | None = None  # per CF; None: the most confident candidate
    # Given the row and a CF: what its neighbors would make of it by saying something else.
    answered: Callable[[Known, int], Answered] | None = None  # None: it has no neighbors
