"""The whole method: the paper's Algorithm 1, and what its hidden cells say of it.

round one   neighbors and weights from the OFs; confidences propagated along them
round two   the same, with round one's confidences as further features, weighted by γ

To judge the answer without the truth, the rounds run again with the cells of some rows hidden, all
CFs at once: every value becomes a candidate. What they say of a hidden row is then a prediction
that none of its cells has touched, neither in the features nor in the weights, and the cells are
its test. (A learned metric hides the cells of one CF only; see `metric`.) By the same test every CF
can choose after how many steps it stops, and in which round.

Cells shuffled over the rows show what the rounds make of a CF that nothing can be known of. That is
a fair comparison in round one only, whose graph depends on the OFs alone. It is found once and
shared by all runs; of a large table, a part of the rows is enough for this comparison.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import (
    Floats,
    Ints,
    Mask,
    Places,
    Singles,
    columns,
    entropies,
    log_scores,
    normalise,
    sizes,
)
from cfl_cli.core.dataset import Known
from cfl_cli.core.draws import SAMPLE, order, shuffled
from cfl_cli.core.parallel import Engine, slices
from cfl_cli.core.progress import Expected, Progress, Stage, Work
from cfl_cli.core.settings import AUTO, DEFAULT_GAMMA, PLAIN, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.graph import propagation
from cfl_cli.methods.graph.neighbors import FARTHEST, Groups, Others, nearest_neighbors
from cfl_cli.methods.graph.propagation import Graph, Propagation, Watch, propagate
from cfl_cli.methods.graph.weights import rows_at_once, solve, solve_around, solver_of
from cfl_cli.methods.interface import (
    Answer,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Method,
    Null,
    Origin,
    TableSize,
    Tried,
    answer_by,
    check_distributions,
    parts_of,
    without_each,
)

# Settings fix what is done, or leave it to hidden cells. By `iterations` auto each CF stops after as
# many steps as its hidden cells favor; by `gamma` auto, and in `auto`, it takes the round they favor.

LONGEST = 400  # steps of propagation, where held-out cells choose how many, …
FEW_STEPS = 100  # … and in a brief run


def gamma(settings: Settings) -> float:
    """Return how much the first round's confidences count in the second; 0: there is none."""
    if settings.gamma is None or settings.gamma == AUTO:
        return DEFAULT_GAMMA
    return settings.gamma


# What the graph has learned of a table, and what that says of rows that come later.
#
#     round one   P1(x) = Σ_j w_j S1_j         over x's neighbors j among the fitted points
#     round two   P2(x) = Σ_j w_j S2_j         the same with sqrt(γ/K) · P1(x) as further features
#     prior       (1 − DOUBT) · P(x) + DOUBT / K
#
# Weights are those of the same quadratic programme. S_j = Σ_i H_ji Q_i is what is said at a point
# without its own cells, the mean over its rows: the fitted confidences, once along the fitted graph.
# (New rows of Bank and Adult were told better by S than by Q, in which every row's own cell shows.)
#
# A new row's cells are applied to its P, and that is all they do. Its point in round two has none of
# them either: P1 and not what the cells make of it, so that no prior depends on a cell of the row.
# (Points of a learned metric have the row's cells of other CFs.)
# Points and what is said at them are kept in single precision, to which new rows are rounded too.

MOST_NEIGHBORS = 1024  # of a new row: k × k numbers are held at once
_MOST_ROWS = 1 << 48  # that sizes may add up to
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
    def restored(cls, state: State) -> Self:
        k, seed, ridge = state.fact("k", int), state.fact("seed", int), state.fact("ridge", float)
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
    def of(cls, points: Floats, said: Floats, settings: Settings) -> Self:
        """Gather the rows of a round by their points, n × d, to single precision."""
        groups = Groups.here(to_single(points))
        means = np.add.reduceat(said[groups.members], groups.start, axis=0) / groups.size[:, None]
        leaning = Leaning(min(settings.k, MOST_NEIGHBORS), settings.ridge, settings.seed)
        single = np.float32
        return cls(groups.points.astype(single), groups.size, means.astype(single), leaning)

    @cached_property
    def others(self) -> Others:
        """The points, to find neighbors among."""
        return Others(self.points, self.size, k=self.leaning.k)

    def priors(self, points: Floats, blocks: Ints, workers: Engine) -> Floats:
        """Return what the neighbors of any points, m × d, say of them, m × ΣK."""
        asked = Groups.here(to_single(points))
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
        points, said = (np.empty((0, own.shape[1]), own.dtype) for own in (self.points, self.said))
        return replace(self, points=points, size=np.empty(0, self.size.dtype), said=said)

    def state(self) -> State:
        return State({"points": self.points, "size": self.size, "said": self.said})

    @classmethod
    def restored(cls, state: State, layout: Layout, leaning: Leaning, *, features: int) -> Self:
        points = state.array("points", np.float32, None, features)
        size = state.array("size", np.int64, len(points))
        said = state.array("said", np.float32, len(points), layout.width)
        if len(points) and np.abs(points).max(initial=0) > FARTHEST:
            raise StateError("array 'points' holds numbers that are too large")
        if not len(size) or size.min() < 1 or not leaning.k < size.sum(dtype=float) <= _MOST_ROWS:
            raise StateError(f"array 'size' does not add up to more than {leaning.k} rows")
        check_distributions("said", said, layout)
        return cls(points, size, said, leaning)


@dataclass(frozen=True, eq=False)
class FittedGraph(Fitted):
    """Both rounds, or the first alone, and which of them each CF takes."""

    rounds: tuple[FittedRound, ...]
    chosen: Ints  # per CF: 1 or 2
    gamma: float
    correction: bool  # are a row's own cells applied?

    def answer(self, rows: Known, workers: Engine) -> Answer:
        return self.given([priors for _, priors in self.by_round(rows, workers)], rows)

    def by_round(self, rows: Known, workers: Engine) -> Iterator[tuple[Floats, Floats]]:
        """Yield where some rows lie in each round, m × d, and what is said of them, m × ΣK."""
        points = to_single(rows.features)
        first = self.rounds[0].priors(points, rows.blocks, workers)
        yield points, first
        for second in self.rounds[1:]:
            estimated = scale_by_domain(first, rows.blocks, gamma=self.gamma)
            points = to_single(np.hstack([points, estimated]))
            yield points, second.priors(points, rows.blocks, workers)

    def given(self, of_rounds: Sequence[Floats], rows: Known) -> Answer:
        """Return the predictions for some rows of which each round says so much, m × ΣK."""
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
        return replace(self, rounds=tuple(one.without_points() for one in self.rounds))

    def state(self) -> State:
        facts = {"gamma": self.gamma, "correction": self.correction}
        return State(
            {"rounds": self.chosen},
            vars(self.rounds[0].leaning) | facts,
            {name: one.state() for name, one in zip(ROUNDS, self.rounds, strict=False)},
        )


def to_single(points: Floats) -> Floats:
    """Return points in the precision in which they are kept, none of them boundless."""
    within = np.clip(points, -FARTHEST, FARTHEST)
    return within.astype(np.float32).astype(float) + 0.0  # −0.0 and 0.0 are one value


def doubted(priors: Floats, even: Floats | float) -> Floats:
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
        d = self.features.shape[1]
        self.points[part, :d] = self.features[part]
        estimated = scale_by_domain(self.confidences[part], self.blocks, gamma=self.gamma)
        self.points[part, d:] = estimated

    def written(self, part: slice) -> tuple[Floats, ...]:
        return (self.points[part],)


# The stages of the graph's rounds, and about how long each takes.

_WORDS = {
    Work.NEIGHBORS: "finding neighbors",
    Work.WEIGHTS: "weighting neighbors",
    Work.PROPAGATION: "propagating confidences",
}
GRAPH: tuple[Work, ...] = (Work.NEIGHBORS, Work.WEIGHTS)
WALK: tuple[Work, ...] = (Work.PROPAGATION,)
SAMPLED_ABOVE = 20_000  # rows; of more, some are enough to compare cells with shuffled ones …
SAMPLE_ROWS = 5_000  # … and so many are taken
NEIGHBORS_SECONDS = 8e-6  # per row^1.1
WEIGHTS_SECONDS = 6e-8  # per row and k²
STEP_SECONDS = 3.8e-10  # per row, neighbor and value


def stage_of(name: str, work: Work) -> Stage:
    return Stage(f"{name}: {work.value}", work, f"{name}, {_WORDS[work]}")


def expected(
    works: Sequence[Work], name: str, size: TableSize, settings: Settings, longest: int = LONGEST
) -> list[Expected]:
    """Return the stages of a round in which its graph is made, or walked, or both."""
    # Where steps are chosen, it ends early as a rule.
    steps = longest / 4 if settings.iterations == AUTO else settings.iterations
    units = {
        Work.NEIGHBORS: NEIGHBORS_SECONDS,
        Work.WEIGHTS: WEIGHTS_SECONDS * settings.k**2,
        Work.PROPAGATION: STEP_SECONDS * steps * settings.k * size.width,
    }
    return [Expected.of(stage_of(name, work), size.rows, units[work]) for work in works]


# The rounds of one table, whatever cells they are given, and which of them each CF takes.


@dataclass(frozen=True)
class RoundChoice:
    """The round whose answer each CF takes, and after how many steps it stops in each round."""

    rounds: Ints  # per CF: 1 or 2
    stops: tuple[Ints, ...]  # per round, per CF
    tried: tuple[tuple[Tried, ...], ...] = ()  # per CF, what was chosen from; empty: nothing was


class Rounds:
    """The rounds of one table, whatever cells they are given."""

    def __init__(
        self,
        features: Floats,
        evidence: Floats | Mask,
        blocks: Ints,
        settings: Settings,
        workers: Engine,
        progress: Progress,
        *,
        name: str = "round 1",
        longest: int = LONGEST,
        first: Graph | None = None,
    ) -> None:
        self.features = workers.share("features", features)
        self.evidence, self.blocks = workers.share("evidence", evidence), blocks
        self.settings, self.workers, self.progress = settings, workers, progress
        self.most_steps = longest if settings.iterations == AUTO else settings.iterations
        self.rescued, self.recall = 0, 1.0
        self.solver = solver_of(len(features), settings.k, settings.ridge)
        self._hidden: tuple[Ints, Floats | Mask] | None = None  # rows, and the cells without theirs
        self.first = first or self.graph(name)

    def graph(self, name: str, confidences: Floats | None = None) -> Graph:
        """Return round one's graph; or round two's, given round one's confidences.

        A resumed run has what was kept of it.
        """
        engine, settings = self.workers.within(name), self.settings
        kept = Graph.kept(len(self.features), engine) if engine.keeps else None
        if kept is None:
            points = self.features if confidences is None else self.points(name, confidences)
            neighbors = nearest_neighbors(
                points,
                k=settings.k,
                seed=settings.seed,
                exact=settings.neighbors == "exact",
                workers=engine,
                progress=self._stage(name, Work.NEIGHBORS, len(points)),
            )
            weights = solve(
                points,
                neighbors.rows,
                ridge=settings.ridge,
                workers=engine,
                progress=self._stage(name, Work.WEIGHTS, len(points)),
            )
            self._note(points, neighbors.rows, weights.values)
            facts: Any = {"rescued": weights.rescued_rows, "recall": neighbors.recall}
            laid_out = neighbors.rows, weights.values, neighbors.order
            kept = Graph.of(*laid_out, workers=engine, facts=facts), facts
            engine.drop(neighbors.rows, weights.values)
            if confidences is not None:
                engine.drop(points)
        self.rescued += kept[1]["rescued"]
        self.recall = min(self.recall, kept[1]["recall"])
        return kept[0]

    def points(self, name: str, confidences: Floats) -> Floats:
        """Return round two's points, given round one's confidences."""
        n, d = self.features.shape
        engine, width = self.workers.within(name), confidences.shape[1]
        points = engine.empty("points", (n, d + width), np.float64)
        stack = Stack(self.features, confidences, self.blocks, gamma(self.settings), points)
        at_once = max(1, propagation.CELLS_AT_ONCE // (d + width))
        for _ in engine.rows("points", stack, n, at_once=at_once):
            pass
        return points

    def walk(
        self,
        name: str,
        graph: Graph,
        evidence: Floats | Mask,
        stops: Ints,
        watch: Watch | None = None,
        *,
        restart: float | None = None,
    ) -> Propagation:
        """Propagate along a graph; `name` is what the progress calls it.

        With `restart`, that share comes from the start in every step, and cells are not applied.
        """
        return propagate(
            graph,
            evidence,
            self.blocks,
            iterations=stops,
            correction=self.settings.correction and restart is None,
            restart=restart or 0.0,
            workers=self.workers.within(f"{name}, {'watched' if watch else 'walk'}"),
            watch=watch,
            progress=self._stage(name, Work.PROPAGATION, int(stops.max())),
        )

    def predict_hidden(self, name: str, rows: Ints, choice: RoundChoice) -> Floats:
        """Return the priors of some rows while their cells are hidden, m × ΣK."""
        cells = self.hide(name, rows)
        walks = [self.walk(f"{name}, round 1", self.first, cells, choice.stops[0])]
        if (choice.rounds == 2).any():
            graph = self.graph(f"{name}, round 2", walks[0].confidences)
            walks.append(self.walk(f"{name}, round 2", graph, cells, choice.stops[1]))
        priors = [walk.confidences[rows] for walk in walks]
        chosen: Floats = pick(priors, choice.rounds - 1, sizes(self.blocks, cells.shape[1]))
        return chosen

    def fitted(
        self, favored: Ints, graphs: Sequence[Graph], confidences: Sequence[Floats]
    ) -> FittedGraph:
        """Return what later rows need: each round's points, and what is said at them."""
        points = [self.features, *(self.points("fitted", first) for first in confidences[:-1])]
        fitted = []
        for number, (graph, own) in enumerate(zip(graphs, confidences, strict=True)):
            said = graph.flow(own, self.workers.within(f"said {number}"))
            fitted.append(FittedRound.of(points[number], said, self.settings))
        return FittedGraph(tuple(fitted), favored, gamma(self.settings), self.settings.correction)

    def unjudged(self) -> RoundChoice:
        """Return what is done when there is nothing to choose by."""
        count, cfs = 2 if gamma(self.settings) > 0 else 1, len(self.blocks)
        return RoundChoice(np.full(cfs, count), (np.full(cfs, self.most_steps),) * count)

    def hide(self, name: str, rows: Ints) -> Floats | Mask:
        if self._hidden is None or self._hidden[0] is not rows:
            if self._hidden is not None:
                self.workers.drop(self._hidden[1])
            cells = self.evidence.copy()
            cells[rows] = 1
            self._hidden = rows, self.workers.within(name).share("cells", cells)
        return self._hidden[1]

    def _note(self, points: Floats, neighbors: Places, weights: Floats) -> None:
        """Look at a graph before it is laid out; `explain` does."""

    def _stage(self, name: str, work: Work, total: int) -> Callable[[int], None]:
        stage = stage_of(name, work)
        self.progress(stage, 0, total)
        return lambda done: self.progress(stage, done, total)


def hide(evidence: Floats | Mask, rows: Ints) -> Floats | Mask:
    """Return the cells with those of some rows hidden: any value may be theirs."""
    hidden = evidence.copy()
    hidden[rows] = 1
    return hidden


# What one round of the graph says of hidden rows, step by step, and how well it predicts cells.

# The numbers of steps to choose from.
STOPS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 50, 70, 100, 140, 200, 280, 400)


@dataclass(frozen=True, eq=False)
class Trace:
    """One round's priors of hidden rows, step by step."""

    rounds: Rounds
    folds: Folds
    parts: Sequence[Sequence[Ints]]  # per fold: of its rows, those of which each part is made
    steps: Sequence[int]
    priors: list[dict[int, Floats]] = field(default_factory=list)  # per fold
    scores: list[dict[int, Floats]] = field(default_factory=list)  # per fold: sums, parts × CFs

    def walk(self, number: int, graph: Graph, stops: Ints) -> Propagation:
        """Walk in the round of that number with the next fold hidden, and see its rows' priors.

        A resumed run has what was kept of it.
        """
        rounds, fold = self.rounds, len(self.priors)
        name, rows, parts = f"fold {fold + 1}, round {number}", self.folds[fold], self.parts[fold]
        priors, scores = dict[int, Floats](), dict[int, Floats]()
        engine, many = rounds.workers.within(f"{name}, seen"), len(self.steps) > 1
        kept = engine.kept("seen") if engine.keeps else None
        shape, kind = (len(rows), rounds.evidence.shape[1]), np.float32 if many else np.float64
        for step, found in kept or ():
            priors[step] = np.array(engine.empty(f"step {step}", shape, kind))
            scores[step] = np.array(found)

        def see(step: int, seen: Floats) -> bool:
            priors[step] = seen.astype(np.float32) if many else seen
            logs = log_scores(seen, rounds.evidence[rows], over=rounds.blocks)
            scores[step] = np.stack([logs[part].sum(axis=0) for part in parts])
            best = _best({at: of_parts.sum(axis=0) for at, of_parts in scores.items()})
            return many and bool((2 * best <= step).all())

        watch = Watch(rows, self.steps, see, has_seen=kept is not None)
        cells = rounds.hide(f"fold {fold + 1}", rows)
        walk = rounds.walk(name, graph, cells, stops, watch)
        if engine.keeps and kept is None:
            shared = [engine.share(f"step {step}", one) for step, one in priors.items()]
            engine.keep("seen", [*scores.items()], *shared)
        self.priors.append(priors)
        self.scores.append(scores)
        return walk

    def common(self) -> dict[int, Floats]:
        """Return the sums over every part's cells, parts × CFs, after steps that all folds took."""
        steps = sorted(set.intersection(*(set(scores) for scores in self.scores)))
        return {step: np.concatenate([scores[step] for scores in self.scores]) for step in steps}

    def best(self) -> tuple[Ints, Ints]:
        """Return the number of steps after which hidden cells are predicted best.

        That is for each CF, and for each part by the cells of all others, parts × CFs.
        """
        sums = self.common()
        others = _best({at: without_each(of_parts) for at, of_parts in sums.items()})
        return _best({at: of_parts.sum(axis=0) for at, of_parts in sums.items()}), others

    def score(self, stops: Ints) -> Floats:
        """Return the sums over every part's cells where each CF stops so, parts × CFs.

        A walk that does not move any more ends before a stop: its last step counts.
        """
        found = []
        for scores in self.scores:
            last = [max(step for step in scores if step <= stop) for stop in stops]
            found.append(np.stack([scores[step][:, cf] for cf, step in enumerate(last)], axis=1))
        return np.concatenate(found)

    def prior(self, fold: int, rows: Ints, stops: Ints) -> Floats:
        """Return the priors of some rows of a fold where each CF stops so."""
        seen, of_cfs = self.priors[fold], columns(self.rounds.blocks, self.rounds.evidence.shape[1])
        last = [max(step for step in seen if step <= stop) for stop in stops]
        priors = [seen[step][rows, own] for step, own in zip(last, of_cfs, strict=True)]
        return np.hstack(priors).astype(float, copy=False)

    def tried(self, number: int, cf: int) -> Tried:
        """Return how well one CF's hidden cells were predicted, step by step of this round."""
        cells, sums = sum(map(len, self.folds)), self.common()
        scores = (float(of_parts[:, cf].sum()) / cells for of_parts in sums.values())
        return Tried(number, tuple(sums), tuple(scores))


def _best(scores: Mapping[int, Floats]) -> Ints:
    """Return the number of steps with the highest score, of each CF or of whatever they are for."""
    return np.asarray(np.array([*scores])[np.argmax([*scores.values()], axis=0)])


def judge_rounds(
    rounds: Rounds, folds: Folds, graphs: Sequence[Graph] = (), *, groups: Ints | None = None
) -> tuple[RoundChoice, Hidden]:
    """Hide the rows of each fold in turn, and choose by them what is left open.

    What is chosen by cells does not judge them: each part of the hidden rows has the priors that
    the cells of the other parts favor; see `interface`. With a single fold, one number is an exception:
    after how many steps of round one the second begins. Folds may have graphs of their own for
    round one; `groups` are the numbers of rows that belong together.
    """
    graphs = graphs or [rounds.first] * len(folds)
    settings, most, blocks = rounds.settings, rounds.most_steps, rounds.blocks
    choosing, choosing_round = (
        settings.iterations == AUTO,
        AUTO in (settings.gamma, settings.method),
    )
    parts = parts_of(folds, groups)
    of_folds = [[rows for fold, rows in parts if fold == number] for number in range(len(folds))]
    stops = [np.full(len(blocks), most)] * (2 if gamma(settings) > 0 else 1)
    of_parts = [np.tile(stop, (len(parts), 1)) for stop in stops]
    steps = tuple(stop for stop in STOPS if stop <= most) if choosing else (most,)
    first, *second = traces = [Trace(rounds, folds, of_folds, steps) for _ in stops]
    if choosing:  # round two needs to know what round one has come to
        for graph in graphs:
            first.walk(1, graph, stops[0])
        stops[0], of_parts[0] = first.best()
    for fold, rows in enumerate(folds):
        name = f"fold {fold + 1}"
        if choosing:
            own = of_parts[0][fold] if len(folds) > 1 else stops[0]
            walk = rounds.walk(f"{name}, round 1", graphs[fold], rounds.hide(name, rows), own)
        else:
            walk = first.walk(1, graphs[fold], stops[0])
        for trace in second:
            trace.walk(2, rounds.graph(f"{name}, round 2", walk.confidences), stops[1])
    if choosing and second:
        stops[1], of_parts[1] = second[0].best()
    favored = np.full(len(blocks), len(traces))
    favored_by_others = np.tile(favored, (len(parts), 1))
    if choosing_round:
        scores = [one.score(stop).sum(axis=0) for one, stop in zip(traces, stops, strict=True)]
        favored = 1 + np.argmax(scores, axis=0)
        for place in range(len(parts)):
            others = [
                np.delete(one.score(stop[place]), place, axis=0).sum(axis=0)
                for one, stop in zip(traces, of_parts, strict=True)
            ]
            favored_by_others[place] = 1 + np.argmax(others, axis=0)
    widths = sizes(blocks, rounds.evidence.shape[1])
    before, priors = (
        np.cumsum([0, *map(len, folds)]),
        np.empty((sum(map(len, folds)), widths.sum())),
    )
    for place, (fold, rows) in enumerate(parts):
        of_rounds = [
            trace.prior(fold, rows, stop[place])
            for trace, stop in zip(traces, of_parts, strict=True)
        ]
        priors[before[fold] + rows] = pick(of_rounds, favored_by_others[place] - 1, widths)
    tried = tuple(
        tuple(trace.tried(number, cf) for number, trace in enumerate(traces, start=1))
        for cf in range(len(blocks))
        if choosing or choosing_round
    )
    return RoundChoice(favored, tuple(stops), tried), Hidden(np.concatenate(folds), priors)


@dataclass(frozen=True)
class GraphMethod(Method):
    """The paper's method; in brief as `auto` tries it first: one round, and at most FEW_STEPS."""

    brief: bool = False

    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        """Run the rounds, and again with the rows of each of the `folds` held out."""
        return self.run(known, settings, folds=folds, workers=workers, progress=progress)[0]

    def run(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> tuple[Estimate, Floats]:
        """Return the estimate, and the confidences of the first round."""
        evidence, blocks, null = known.evidence, known.blocks, None
        if self.brief:
            settings = settings.replaced({"gamma": 0.0})
        given, longest = (settings, workers, progress), FEW_STEPS if self.brief else LONGEST
        rounds = Rounds(known.features, evidence, blocks, *given, longest=longest)
        judged = judge_rounds(rounds, folds, groups=known.groups) if folds else None
        choice, hidden = judged or (rounds.unjudged(), None)
        first = rounds.walk("round 1", rounds.first, evidence, choice.stops[0])
        walks, graphs = [first], [rounds.first]

        if folds:  # what round one makes of cells that say nothing
            some, own, n = rounds, first, len(evidence)
            if n > SAMPLED_ABOVE:
                rows = np.sort(order(n, SAMPLE, settings.seed)[:SAMPLE_ROWS])
                of_rows = rounds.features[rows], rounds.evidence[rows], blocks, settings
                some = Rounds(*of_rows, workers.within("sample"), progress, name="sample")
                own = some.walk("sample", some.first, some.evidence, choice.stops[0])
            mixed = shuffled(some.evidence, blocks, settings.seed)
            other = some.walk("shuffled", some.first, mixed, choice.stops[0])
            means = [entropies(at.confidences, blocks).mean(axis=0) for at in (own, other)]
            null = Null(means[0], means[1], len(some.features))

        if (choice.rounds == 2).any():
            graphs.append(rounds.graph("round 2", first.confidences))
            walks.append(rounds.walk("round 2", graphs[1], evidence, choice.stops[1]))
        favored, confidences = choice.rounds - 1, [walk.confidences for walk in walks]
        origins = tuple(
            Origin(
                "graph",
                round=at + 1,
                iterations=int(choice.stops[at][cf]),
                stops=tuple(int(stops[cf]) for stops in choice.stops[: len(walks)]),
                tried=choice.tried[cf] if choice.tried else (),
            )
            for cf, at in enumerate(favored.tolist())
        )
        estimate = Estimate(
            pick(confidences, favored, sizes(blocks, evidence.shape[1])),
            pick([walk.fell_back for walk in walks], favored),
            pick([walk.mass for walk in walks], favored),
            origins,
            hidden,
            null,
            rescued_rows=rounds.rescued,
            recall=rounds.recall,
            solver=rounds.solver,
            steps=tuple(walk.steps for walk in walks),
            fitted=rounds.fitted(choice.rounds, graphs, confidences) if self.fit else None,
        )
        return estimate, first.confidences

    def restore(self, state: State, layout: Layout) -> FittedGraph:
        leaning = Leaning.restored(state)
        weight, correction = state.fact("gamma", float), state.fact("correction", bool)
        chosen = state.array("rounds", np.int64, len(layout.mechanisms))
        if weight < 0 or not np.isin(chosen, (1, 2)).all():
            raise StateError("array 'rounds' holds values other than 1 and 2, or gamma is below 0")
        widths = (layout.features, layout.features + layout.width)
        rounds = (
            FittedRound.restored(state.part(name), layout, leaning, features=width)
            for name, width in zip(ROUNDS[: chosen.max()], widths, strict=False)
        )
        return FittedGraph(tuple(rounds), chosen, weight, correction)

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        """Return about how many bytes are kept of what is fitted, if no two rows are equal."""
        first = size.features + size.width
        second = 0 if self.brief or not gamma(settings) else first + size.width
        return float(size.rows * (4 * (first + second) + 8 * (2 if second else 1)))

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        n, d, width, k = size.rows, size.features, size.width, settings.k
        points = d + (0 if self.brief or not gamma(settings) else width)
        features = 8 * n * (d + 2 * points)  # the OFs'; the last round's, and its distinct rows
        # Offsets, members, homes, centers' reach, groups.
        index = n * (4 * points + 8 + 8 + 36 + 32)
        graph = n * k * (4 + 8 + 16)  # neighbors, weights, and both again laid out
        confidences = n * width * (1 + 4 * 8)  # the mask; before, after, round one's, the output's
        # Every thread holds differences to neighbors, and k × k matrices on the way to the weights.
        thread = 8 * rows_at_once(k, points) * k * (2 * points + 6 * k)
        kept = 2 * GraphMethod.model_bytes(self, size, settings)  # and once more on the way
        held = features + max(index, confidences + kept) + graph + jobs * thread
        if settings.metric != PLAIN:
            # All features, scaled ones and their bins; and what is fitted of each CF.
            held += 17.0 * n * (d + width) + self.model_bytes(size, settings)
        return float(held)

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        hidden = [f"fold {number + 1}" for number in range(folds)]
        second = () if self.brief or not gamma(settings) else GRAPH + WALK
        ahead = [(GRAPH, "round 1", size)]
        if settings.iterations == AUTO:
            ahead += [(WALK, f"{fold}, round 1", size) for fold in hidden]
        for fold in hidden:
            ahead += [(WALK, f"{fold}, round 1", size), (second, f"{fold}, round 2", size)]
        ahead.append((WALK, "round 1", size))
        if folds and size.rows > SAMPLED_ABOVE:
            sample = replace(size, rows=SAMPLE_ROWS)
            ahead += [(GRAPH + WALK, "sample", sample), (WALK, "shuffled", sample)]
        elif folds:
            ahead.append((WALK, "shuffled", size))
        ahead.append((second, "round 2", size))
        longest = FEW_STEPS if self.brief else LONGEST
        return [one for stage in ahead for one in expected(*stage, settings, longest)]


# What round one says of hidden rows, and nothing else: all folds in one walk.
#
# The cells without a fold's are further blocks of the same rows. Steps act on each block by itself,
# so that one walk of them all gives what a walk for each fold would.


def is_enough(settings: Settings) -> bool:
    """Return whether round one is all there is, and hidden cells choose nothing."""
    plain = settings.method == "graph" and settings.metric == PLAIN
    return plain and settings.iterations != AUTO and settings.gamma == 0


@dataclass(frozen=True, eq=False)
class HiddenRuns:
    """Runs of round one on one table's features, by the same graph whatever its cells are."""

    rounds: Rounds
    folds: Folds

    @classmethod
    def of(
        cls,
        known: Known,
        settings: Settings,
        *,
        folds: Folds,
        workers: Engine,
        progress: Progress = lambda *_: None,
    ) -> "HiddenRuns":
        """Return the runs of which neighbors and weights are found; nothing is walked yet."""
        features, evidence, blocks = known.features, known.evidence, known.blocks
        return cls(Rounds(features, evidence, blocks, settings, workers, progress), folds)

    def predict(self, evidence: Floats | Mask, *, name: str) -> Hidden:
        """Return the predictions for the rows of each fold while its cells are hidden."""
        rounds, width, folds = self.rounds, evidence.shape[1], self.folds
        cells: Any = np.hstack([hide(evidence, fold) for fold in folds])  # as the evidence is
        blocks = np.concatenate([rounds.blocks + at * width for at in range(len(folds))])
        engine = rounds.workers.within(name)
        given = rounds.features, cells, blocks, rounds.settings, engine, rounds.progress
        folded = Rounds(*given, first=rounds.first)
        stops = np.full(len(blocks), folded.most_steps)
        said = folded.walk("round 1", rounds.first, folded.evidence, stops).confidences
        priors = [said[fold, at * width : (at + 1) * width] for at, fold in enumerate(folds)]
        return Hidden(np.concatenate(folds), np.vstack(priors))
