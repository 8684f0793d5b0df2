"""Why an estimator says what it says of one row."""

from dataclasses import dataclass

from cfl_cli.core.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The neighbors that one row leans on in one round, and what they say."""

    round: int
    rows: Ints | None  # m: of the table, from 0; None: points of a model, nobody knows whose
    shared: Ints  # m: how many rows share each point (1 within a table)
    distances: Floats  # m
    weights: Floats  # m, sum 1; those of weight 0 are listed too
    # m × d (round one) or m × (d + ΣK) (round two): squared differences, feature by feature; rows
    # sum to distances².
    gaps: Floats
    # m × ΣK: what each neighbor passed on in the last step (its confidences one step before; of a
    # model: what is said at the point).
    said: Floats
    prior: Floats  # ΣK: Σ_j weights_j said_j, per CF at that CF's last step
    confidences: Floats  # ΣK: the prior with the row's own cells applied (before calibration)


@dataclass(frozen=True, eq=False)
class Moves:
    """How far each feature moved the scores of one CF's values.

    score = base + Σ of_features + Σ of_others; prior = softmax(score).
    """

    base: Floats  # K: the score of a row of which nothing is known
    of_features: Floats  # d × K: by encoded feature
    of_others: Floats  # ΣK × K: by the confidence of each value of another CF; 0 for the CF's own


@dataclass(frozen=True, eq=False)
class PartExplained:
    """Why one method says what it says of one row."""

    name: str  # graph, boost, net, ipal, commonest, observed
    prior: Floats  # ΣK
    confidences: Floats  # ΣK
    neighborhoods: tuple[Neighborhood, ...] = ()  # per round
    moves: tuple[Moves | None, ...] = ()  # per CF
