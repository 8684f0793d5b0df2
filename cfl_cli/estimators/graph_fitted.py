"""What the graph has learned of a table, and what that says of rows that come later.

    round one   P1(x) = Σ_j w_j S1_j         over x's neighbors j among the fitted points
    round two   P2(x) = Σ_j w_j S2_j         the same with sqrt(γ/K) · P1(x) as further features
    prior       (1 − DOUBT) · P(x) + DOUBT / K

Weights are those of the same quadratic programme. S_j = Σ_i H_ji Q_i is what is said at a point
without its own cells, the mean over its rows: the fitted confidences, once along the fitted graph.
(New rows of Bank and Adult were told better by S than by Q, in which every row's own cell shows.)

A new row's cells are applied to its P, and that is all they do. Its point in round two has none of
them either: P1 and not what the cells make of it, so that no prior depends on a cell of the row.
Points and what is said at them are kept in single precision, to which new rows are rounded too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.blocks import normalise, sizes
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.estimators.graph_settings import gamma
from cfl_cli.estimators.interface import (
    Answer,
    Layout,
    Size,
    answer_by,
    check_distributions,
)
from cfl_cli.steps.near_others import FARTHEST, Others
from cfl_cli.steps.neighbors import Groups
from cfl_cli.steps.weights import solve_around

MOST_NEIGHBORS = 1024  # of a new row: k × k numbers are held at once
MOST_ROWS = 1 << 48  # that sizes may add up to
CELLS_AT_ONCE = 1 << 18  # a block of priors that stays in a core's cache
ROUNDS = ("first", "second")
# Share of every prior that is even. Few neighbors that all rule out a value leave it nothing, which
# was wrong in 28 of 9,043 new rows of Bank, and no power makes more of nothing.
DOUBT = 1e-3


@dataclass(frozen=True)
class Leaning:
    """How a new row leans on fitted ones."""

    k: int
    ridge: float
    seed: int

    @classmethod
    def by(cls, settings: Settings) -> Self:
        """Return how the settings have it."""
        return cls(min(settings.k, MOST_NEIGHBORS), settings.ridge, settings.seed)

    def facts(self) -> dict[str, Any]:
        """Return what is kept of it."""
        return {"k": self.k, "ridge": self.ridge, "seed": self.seed}

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return it again, or raise StateError."""
        k, seed = state.fact("k", int), state.fact("seed", int)
        ridge = state.fact("ridge", float)
        if not (1 <= k <= MOST_NEIGHBORS and 0 <= seed < 2**63 and 1e-6 <= ridge <= 1e6):
            raise StateError(f"k, ridge or seed is out of range: {k}, {ridge:g}, {seed}")
        return cls(k, ridge, seed)


@dataclass(frozen=True, eq=False)
class FittedRound:
    """The points of one round, and what is said at each."""

    points: Singles  # u × d: distinct
    size: Ints  # u: how many rows share each
    said: Singles  # u × ΣK
    leaning: Leaning

    @classmethod
    def of(cls, points: Floats, said: Floats, leaning: Leaning) -> Self:
        """Gather the rows of a round by their points, n × d, to single precision."""
        groups = Groups.here(rounded(points))
        sums = np.add.reduceat(said[groups.members], groups.start, axis=0)
        means = sums / groups.size[:, None]
        single = np.float32
        return cls(groups.points.astype(single), groups.size, means.astype(single), leaning)

    @cached_property
    def others(self) -> Others:
        """The points, to find neighbors among."""
        return Others(self.points, self.size, k=self.leaning.k)

    def priors(self, points: Floats, blocks: Ints, workers: Engine) -> Floats:
        """Return what the neighbors of any points, m × d, say of them, m × ΣK."""
        asked = Groups.here(rounded(points))
        neighbors, weights = self.lean(asked.points, workers)
        priors = np.zeros((len(neighbors), self.said.shape[1]))

        def add(part: slice) -> None:
            for near, weight in zip(neighbors[part].T, weights[part].T, strict=True):
                priors[part] += weight[:, None] * self.said[near]
            normalise(priors[part], blocks, out=priors[part])

        at_once = max(1, CELLS_AT_ONCE // self.said.shape[1])
        for _ in workers.map(add, slices(len(priors), at_once)):
            pass
        return np.asarray(priors[asked.of_rows])

    def lean(self, asked: Floats, workers: Engine) -> tuple[Ints, Floats]:
        """Return the neighbors that rounded points have here, and their weights, m × k each."""
        how = self.leaning
        neighbors = self.others.nearest(asked, seed=how.seed, workers=workers)
        weights = solve_around(self.points, asked, neighbors, ridge=how.ridge, workers=workers)
        return neighbors, weights

    def without_points(self) -> Self:
        """Return the same with no points, and nothing said."""
        points, said = (np.empty((0, own.shape[1]), own.dtype) for own in (self.points, self.said))
        return replace(self, points=points, size=np.empty(0, self.size.dtype), said=said)

    def state(self) -> State:
        """Return all that has to be kept of the round."""
        return State({"points": self.points, "size": self.size, "said": self.said})

    @classmethod
    def restored(cls, state: State, layout: Layout, leaning: Leaning, *, features: int) -> Self:
        """Return the round again, or raise StateError."""
        points = state.array("points", np.float32, None, features)
        size = state.array("size", np.int64, len(points))
        said = state.array("said", np.float32, len(points), layout.width)
        if len(points) and np.abs(points).max(initial=0) > FARTHEST:
            raise StateError("array 'points' holds numbers that are too large")
        if not len(size) or size.min() < 1 or not leaning.k < size.sum(dtype=float) <= MOST_ROWS:
            raise StateError(f"array 'size' does not add up to more than {leaning.k} rows")
        check_distributions("said", said, layout)
        return cls(points, size, said, leaning)


@dataclass(frozen=True, eq=False)
class FittedGraph:
    """Both rounds, or the first alone, and which of them each CF takes."""

    rounds: tuple[FittedRound, ...]
    chosen: Ints  # per CF: 1 or 2
    gamma: float
    correction: bool  # are a row's own cells applied?
    rules: None = None

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what is said of some rows."""
        return self.given([priors for _, priors in self.by_round(rows, workers)], rows)

    def by_round(self, rows: Known, workers: Engine) -> Iterator[tuple[Floats, Floats]]:
        """Yield where some rows lie in each round, m × d, and what is said of them, m × ΣK."""
        points = rounded(rows.features)
        first = self.rounds[0].priors(points, rows.blocks, workers)
        yield points, first
        for second in self.rounds[1:]:
            estimated = scale_by_domain(first, rows.blocks, gamma=self.gamma)
            points = rounded(np.hstack([points, estimated]))
            yield points, second.priors(points, rows.blocks, workers)

    def given(self, of_rounds: Sequence[Floats], rows: Known) -> Answer:
        """Return what is said of some rows of which each round says so much, m × ΣK."""
        widths = sizes(rows.blocks, rows.candidates.shape[1])
        priors = pick(of_rounds, self.chosen - 1, widths)
        return self.applied(doubted(priors, np.repeat(1 / widths, widths)), rows)

    def applied(self, priors: Floats, rows: Known) -> Answer:
        """Return what priors become by the rows' own cells, if these are applied."""
        if self.correction:
            return answer_by(priors, rows)
        shape = len(rows), len(rows.blocks)
        return Answer(priors, priors, np.zeros(shape, dtype=bool), np.ones(shape))

    def without_points(self) -> Self:
        """Return the same without points; see `interface.Pointed`."""
        return replace(self, rounds=tuple(one.without_points() for one in self.rounds))

    def state(self) -> State:
        """Return all that has to be kept."""
        facts = {"gamma": self.gamma, "correction": self.correction}
        return State(
            {"rounds": self.chosen},
            self.rounds[0].leaning.facts() | facts,
            {name: one.state() for name, one in zip(ROUNDS, self.rounds, strict=False)},
        )


def restore(state: State, layout: Layout) -> FittedGraph:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    leaning = Leaning.restored(state)
    weight, correction = state.fact("gamma", float), state.fact("correction", bool)
    chosen = state.array("rounds", np.int64, len(layout.mechanisms))
    if weight < 0 or not np.isin(chosen, (1, 2)).all():
        raise StateError("array 'rounds' holds others than 1 and 2, or gamma is below 0")
    widths = (layout.features, layout.features + layout.width)
    rounds = (
        FittedRound.restored(state.part(name), layout, leaning, features=width)
        for name, width in zip(ROUNDS[: chosen.max()], widths, strict=False)
    )
    return FittedGraph(tuple(rounds), chosen, weight, correction)


def model_bytes(size: Size, settings: Settings) -> float:
    """Return about how many bytes are kept of what is fitted, if no two rows are equal."""
    first = size.features + size.width
    second = first + size.width if gamma(settings) else 0
    return float(size.rows * (4 * (first + second) + 8 * (2 if second else 1)))


def rounded(points: Floats) -> Floats:
    """Return points in the precision in which they are kept, none of them boundless."""
    within = np.clip(points, -FARTHEST, FARTHEST)
    return within.astype(np.float32).astype(float) + 0.0  # −0.0 and 0.0 are one value


def doubted(priors: Floats, even: Floats | float) -> Floats:
    """Return priors of which a little is even: 1/K."""
    return priors + DOUBT * (even - priors)


def pick(of_rounds: Sequence[Any], favored: Ints, widths: Ints | int = 1) -> Any:
    """Return each CF's columns from the round it favors."""
    if (favored == favored[0]).all():
        return of_rounds[favored[0]]
    which = np.repeat(favored, widths)
    picked = of_rounds[0]
    for number, other in enumerate(of_rounds[1:], start=1):
        picked = np.where(which == number, other, picked)
    return picked


def scale_by_domain(confidences: Floats, blocks: Ints, *, gamma: float) -> Floats:
    """Return sqrt(γ/K) · Q for each CF's block, so that every CF weighs alike in a distance."""
    widths = sizes(blocks, confidences.shape[1])
    scaled: Floats = confidences * np.repeat(np.sqrt(gamma / widths), widths)
    return scaled


@dataclass(frozen=True)
class Stack:
    """A kernel: features and, beside them, scaled confidences."""

    features: Floats
    confidences: Floats
    blocks: Ints
    gamma: float
    points: Floats  # to be filled

    def __call__(self, part: slice) -> None:
        """Put those of some rows beside each other."""
        d = self.features.shape[1]
        self.points[part, :d] = self.features[part]
        estimated = scale_by_domain(self.confidences[part], self.blocks, gamma=self.gamma)
        self.points[part, d:] = estimated

    def written(self, part: slice) -> tuple[Floats, ...]:
        """Return what was written for some rows."""
        return (self.points[part],)
