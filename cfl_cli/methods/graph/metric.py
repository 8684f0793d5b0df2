"""Distances that know which features matter to a CF: `--metric learned`.

The cells of rows whose feature f lies in one of a few bins would rule out each value about as often
as those of other bins do, if f said nothing of the CF. With m rows in a bin and z_c the mean there
of how value c is ruled out, standardised over all rows,

    χ²_f = Σ_bins Σ_c m z_c²                  about ν = (bins − 1) · K by chance, ± sqrt(2 ν)
    r_f = sqrt(max(χ²_f − ν − g sqrt(2 ν), 0))
    scale_f = r_f / (root mean square of all r)

The grade g says by how many standard deviations χ² must exceed chance for a feature to count: the
higher, the fewer do. On the tables by which methods are chosen (`benchmarks.best`) 1 and 3 did better
than 0 with scales mixed with plain ones. Features are those of the OFs and, unless γ is 0,
sqrt(γ/K) · Q of the other CFs, Q being the confidences of the plain graph's first round, which
come from the OFs and that CF's own cells alone. So a CF's own second round goes by its own metric.

Held-out cells choose the grade of each CF. It leaves the plain graph, with both of its rounds, only
if they are predicted better by more than a standard error, after confidences were raised to the
best power in either case: a narrow metric is too sure of itself, which calibration mends. A fold's
graph is scaled by the cells of the other folds, so that no row's own cell of that CF reaches its
prior, and each part of the held-out rows is judged by the grade that the other parts favor. Its cells of other CFs may, as in boosting, while the plain graph's held-out rows have all
their cells hidden: with γ > 0 the gain is also that of seeing them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Mask, entropies, log_scores, sums_by
from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.draws import SAMPLE, order
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress, Stage
from cfl_cli.core.settings import PLAIN, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.graph import (
    FEW_STEPS,
    GRAPH,
    LONGEST,
    SAMPLE_ROWS,
    SAMPLED_ABOVE,
    WALK,
    FittedGraph,
    GraphMethod,
    RoundChoice,
    Rounds,
    expected,
    gamma,
    judge_rounds,
    scale_by_domain,
)
from cfl_cli.methods.graph.propagation import Graph, Propagation
from cfl_cli.methods.interface import (
    Answer,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Origin,
    TableSize,
    parts_of,
)

GRADES = (1.0, 3.0)  # beside the plain metric
BINS = 8
POWERS = (0.2, 0.3, 0.45, 0.65, 1.0, 1.4)
_LARGEST = 1e6  # of a scale


def binned(features: Floats) -> npt.NDArray[np.uint8]:
    """Return the bin of each row's every feature, n × d; bins hold about as many rows each."""
    bins = np.empty(features.shape, dtype=np.uint8)
    for at, column in enumerate(features.T):
        edges = np.unique(np.quantile(column, np.arange(1, BINS) / BINS, method="lower"))
        bins[:, at] = np.searchsorted(edges, column)
    return bins


def relevance(bins: npt.NDArray[np.uint8], candidates: Mask, grade: float) -> Floats:
    """Return how much each feature says of a CF by its cells, n × K, d."""
    telling = ~candidates.all(axis=1)
    excluded = (~candidates[telling]).astype(float)
    excluded /= np.sqrt(excluded.sum(axis=1, keepdims=True))
    standard = excluded[:, (excluded != excluded[:1]).any(axis=0)]  # or they have no deviation
    if standard.size:
        standard = (standard - standard.mean(axis=0)) / standard.std(axis=0)
    found = np.zeros(bins.shape[1])
    for at, own in enumerate(bins[telling].T):
        rows = np.bincount(own, minlength=BINS)
        sums = np.array([np.bincount(own, cells, minlength=BINS) for cells in standard.T])
        chance = (np.count_nonzero(rows) - 1) * len(sums)
        if chance > 0:
            squared = float((sums[:, rows > 0] ** 2 / rows[rows > 0]).sum())
            found[at] = np.sqrt(max(squared - chance - grade * np.sqrt(2 * chance), 0.0))
    return found


def scales(found: Floats, usable: Mask) -> Floats:
    """Return by how much features of some relevance are scaled, d; 0 if they may not be used."""
    size = np.sqrt(np.square(found[usable]).mean()) if usable.any() else 0.0
    return np.where(usable, found / size if size > 0 else 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class OfCf:
    """One CF of a table, and the features among which its own metric chooses."""

    known: Known  # of that CF alone; its features are all that distances may count
    usable: Mask  # d: but for the CF's own confidences
    settings: Settings  # of one round
    longest: int  # steps to choose from

    @cached_property
    def bins(self) -> npt.NDArray[np.uint8]:
        return binned(self.known.features)

    def scales(self, grade: float, rows: Mask | slice = slice(None)) -> Floats:
        found = relevance(self.bins[rows], self.known.candidates[rows], grade)
        return scales(found, self.usable)

    def given(self, by: Floats, workers: Engine, progress: Progress) -> tuple[Any, ...]:
        """Return what `Rounds` is made of, for the one round of this CF by scaled features."""
        known = self.known
        return known.features * by, known.evidence, known.blocks, self.settings, workers, progress

    def rounds(self, by: Floats, workers: Engine, progress: Progress, name: str) -> Rounds:
        return Rounds(*self.given(by, workers, progress), name=name, longest=self.longest)

    def judged(
        self, grade: float, folds: Folds, workers: Engine, progress: Progress
    ) -> tuple[RoundChoice, Hidden]:
        """Return how many steps held-out cells favor, and the priors of their rows."""
        graphs: list[Graph] = []
        for number, fold in enumerate(folds, start=1):
            name, by = f"fold {number}", self.scales(grade, all_but(fold, len(self.known)))
            rounds = self.rounds(by, workers.within(name), progress, name)
            graphs.append(rounds.first)
        return judge_rounds(rounds, folds, graphs, groups=self.known.groups)

    def favored(self, of_grades: Sequence[Floats], folds: Folds) -> tuple[int, Floats]:
        """Return which grade held-out cells favor, and each part's priors by the others' favorite.

        Given are the priors of held-out rows by the plain graph and by every grade, m × K each.
        """
        known, rows = self.known, np.concatenate(folds)
        cells, groups = known.evidence[rows], known.groups_of(rows)

        def best(some: Mask) -> int:
            own = None if groups is None else groups[some]
            plain, *graded = (scored(priors[some], cells[some]) for priors in of_grades)
            return int(np.argmax([0.0, *(clear_gain(one - plain, own) for one in graded)]))

        before, priors = np.cumsum([0, *map(len, folds)]), np.empty_like(of_grades[0])
        for fold, part in parts_of(folds, known.groups):
            own = np.zeros(len(rows), dtype=bool)
            own[before[fold] + part] = True
            priors[own] = of_grades[best(~own)][own]
        return best(np.ones(len(rows), dtype=bool)), priors

    def null(
        self, grade: float, walk: Propagation, stops: Ints, workers: Engine, progress: Progress
    ) -> tuple[Floats, Floats]:
        """Return the mean entropy of the CF's confidences, and of those of shuffled cells.

        Shuffled cells learn a metric of their own. Of a large table some rows are compared.
        """
        n, seed = len(self.known), self.settings.seed
        own, some = entropies(walk.confidences, self.known.blocks).mean(axis=0), self
        if n > SAMPLED_ABOVE:
            known = self.known.some(np.sort(order(n, SAMPLE, seed)[:SAMPLE_ROWS]))
            some = replace(self, known=known)
            own = some.entropies(grade, stops, workers, progress, "sample")
        mixed = replace(some, known=some.known.shuffled(seed))
        return own, mixed.entropies(grade, stops, workers, progress, "shuffled")

    def entropies(
        self, grade: float, stops: Ints, workers: Engine, progress: Progress, name: str
    ) -> Floats:
        rounds = self.rounds(self.scales(grade), workers.within(name), progress, name)
        walked = rounds.walk(name, rounds.first, rounds.evidence, stops)
        return np.asarray(entropies(walked.confidences, self.known.blocks).mean(axis=0))


def of_cf(known: Known, points: Floats, cf: int, settings: Settings, longest: int) -> OfCf:
    """Return one CF of a table with the features of OFs and CFs, n × d or n × (d + ΣK)."""
    block, d = known.columns[cf], known.features.shape[1]
    usable = np.ones(points.shape[1], dtype=bool)
    usable[d + block.start : d + block.stop] = False
    alone = replace(
        known,
        features=points,
        candidates=known.candidates[:, block],
        blocks=np.zeros(1, dtype=np.int64),
        mechanisms=(known.mechanisms[cf],),
        sampled=None,
    )
    return OfCf(alone, usable, settings.replaced({"gamma": 0.0}), longest)


def with_others(known: Known, confidences: Floats, settings: Settings) -> Floats:
    """Return the features that a metric chooses among, given those of round one, n × ΣK."""
    weight = gamma(settings)
    if weight == 0 or len(known.blocks) == 1:
        return known.features
    return np.hstack([known.features, scale_by_domain(confidences, known.blocks, gamma=weight)])


def of_values(numbers: Floats, known: Known, own: Mapping[int, Floats]) -> Floats:
    """Return numbers of all values, m × ΣK, in which some CFs have their own, m × K each."""
    found = numbers.copy()
    for cf, columns in own.items():
        found[:, known.columns[cf]] = columns
    return found


def of_cfs(numbers: Any, own: Mapping[int, Any]) -> Any:
    """Return numbers of all CFs, m × CFs, in which some CFs have their own, m × 1 each."""
    found = numbers.copy()
    for cf, column in own.items():
        found[:, cf] = column[:, 0]
    return found


@dataclass(frozen=True, eq=False)
class Scaled:
    """What one CF's own metric is, and what was fitted by it."""

    scales: Floats  # d or d + ΣK
    graph: FittedGraph  # of one round and one CF


@dataclass(frozen=True, eq=False)
class FittedMetric(Fitted):
    """The plain graph, and CFs that have a metric of their own."""

    plain: FittedGraph
    scaled: Mapping[int, Scaled]  # by the CF's place

    def answer(self, rows: Known, workers: Engine) -> Answer:
        plain, points = self.plain.answer(rows, workers), self.points(rows, workers)
        answers = {
            cf: own.graph.answer(self.alone(rows, points, cf), workers)
            for cf, own in self.scaled.items()
        }
        return Answer(
            of_values(plain.priors, rows, {cf: own.priors for cf, own in answers.items()}),
            of_values(
                plain.confidences, rows, {cf: own.confidences for cf, own in answers.items()}
            ),
            of_cfs(plain.fell_back, {cf: own.fell_back for cf, own in answers.items()}),
            of_cfs(plain.mass, {cf: own.mass for cf, own in answers.items()}),
        )

    def points(self, rows: Known, workers: Engine) -> Floats:
        if all(len(own.scales) == rows.features.shape[1] for own in self.scaled.values()):
            return rows.features
        _, first = next(self.plain.by_round(rows, workers))
        one = replace(self.plain, chosen=np.ones_like(self.plain.chosen)).given([first], rows)
        confidences = scale_by_domain(one.confidences, rows.blocks, gamma=self.plain.gamma)
        return np.hstack([rows.features, confidences])

    def alone(self, rows: Known, points: Floats, cf: int) -> Known:
        block = rows.columns[cf]
        return replace(
            rows,
            features=points * self.scaled[cf].scales,
            candidates=rows.candidates[:, block],
            blocks=np.zeros(1, dtype=np.int64),
            mechanisms=(rows.mechanisms[cf],),
        )

    def without_points(self) -> Self:
        scaled = {
            cf: replace(own, graph=own.graph.without_points()) for cf, own in self.scaled.items()
        }
        return replace(self, plain=self.plain.without_points(), scaled=scaled)

    def state(self) -> State:
        parts = {
            f"{cf}": State({"scales": own.scales}, parts={"graph": own.graph.state()})
            for cf, own in self.scaled.items()
        }
        cfs = np.array([*self.scaled], dtype=np.int64)
        return State({"cfs": cfs}, {"metric": True}, {"plain": self.plain.state(), **parts})


@dataclass(frozen=True, eq=False)
class Taken:
    """What one CF's own metric makes of it."""

    origin: Origin
    priors: Floats  # m × K, of held-out rows
    walk: Propagation
    null: tuple[Floats, Floats]  # entropies of its cells and of shuffled ones, per CF: of one
    rounds: Rounds
    scaled: Scaled | None  # None: nothing was to be fitted


@dataclass(frozen=True)
class MetricGraph(GraphMethod):
    """The paper's method; with `metric: learned`, CFs may have a metric of their own."""

    learns: tuple[int, ...] = ()  # CFs that may have one whatever the setting

    def _own(self, settings: Settings) -> tuple[Settings, int]:
        """Return the settings that this takes, and the most steps to choose from."""
        brief = settings.replaced({"gamma": 0.0}), FEW_STEPS
        return brief if self.brief else (settings, LONGEST)

    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        plain, first = self.run(known, settings, folds=folds, workers=workers, progress=progress)
        cfs = self.learns if settings.metric == PLAIN else range(len(known.blocks))
        if not cfs or plain.hidden is None:
            return plain
        own, longest = self._own(settings)
        points = with_others(known, first, own)
        taken = {}
        for cf in cfs:
            alone = of_cf(known, points, cf, own, longest)
            priors = plain.hidden.priors[:, known.columns[cf]]
            found = self._taken(alone, priors, plain.origins[cf], folds, workers, progress, cf=cf)
            if found is not None:
                taken[cf] = found
        return _mixed(known, plain, taken)

    def _taken(
        self,
        alone: OfCf,
        plain: Floats,
        origin: Origin,
        folds: Folds,
        workers: Engine,
        progress: Progress,
        *,
        cf: int,
    ) -> Taken | None:
        """Return what a CF's own metric makes of it; None: held-out cells do not clearly favor it.

        Given are the priors of its held-out rows by the plain graph.
        """
        tried = []
        for grade in GRADES:
            name = name_of(cf, grade)
            tried.append(alone.judged(grade, folds, workers.within(name), named(name, progress)))
        of_grades = [plain, *(hidden.priors for _, hidden in tried)]
        best, priors = alone.favored(of_grades, folds)
        if not best:
            return None
        grade, (choice, _) = GRADES[best - 1], tried[best - 1]
        name, stops = name_of(cf, grade), choice.stops[0]
        engine, told = workers.within(f"{name}, whole"), named(name, progress)
        by = alone.scales(grade)
        rounds = alone.rounds(by, engine, told, "whole")
        walk = rounds.walk("whole", rounds.first, rounds.evidence, stops)
        fitted = None
        if self.fit:
            graph = rounds.fitted(np.ones(1, dtype=np.int64), [rounds.first], [walk.confidences])
            fitted = Scaled(by, graph)
        origin = replace(
            origin,
            round=2,
            iterations=int(stops[0]),
            stops=(origin.stops[0], int(stops[0])),
            metric=grade,
        )
        null = alone.null(grade, walk, stops, engine, told)
        return Taken(origin, priors, walk, null, rounds, fitted)

    def restore(  # type: ignore[override]  # with metrics of CFs' own
        self, state: State, layout: Layout
    ) -> FittedGraph | FittedMetric:
        if "metric" not in state.facts:
            return super().restore(state, layout)
        plain = super().restore(state.part("plain"), layout)
        places = state.array("cfs", np.int64, None)
        if (
            not len(places)
            or (np.diff(places) <= 0).any()
            or not 0 <= places[0] <= places[-1] < len(layout.mechanisms)
        ):
            raise StateError("array 'cfs' does not name CFs in their order")
        state.fact("metric", bool)
        scaled = {}
        for cf in places.tolist():
            own = state.part(f"{cf}")
            by = own.array("scales", np.float64, None)
            if len(by) not in (layout.features, layout.features + layout.width):
                raise StateError("array 'scales' is of another number of features")
            if (by < 0).any() or (by > _LARGEST).any():
                raise StateError("array 'scales' holds numbers below 0 or too large")
            of_cf = Layout(len(by), (layout.mechanisms[cf],))
            graph = super().restore(own.part("graph"), of_cf)
            if len(graph.rounds) != 1:
                raise StateError("a CF's own metric has one round")
            scaled[cf] = Scaled(by, graph)
        if len({len(own.scales) for own in scaled.values()}) > 1:
            raise StateError("arrays 'scales' are of different lengths")
        return FittedMetric(plain, scaled)

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        plain = super().model_bytes(size, settings)
        if settings.metric == PLAIN:
            return plain
        points = size.features + size.width
        return plain + sum(size.rows * (4.0 * (points + own) + 8) for own in size.domains)

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        stages = super().stages(size, settings, folds=folds)
        cfs = self.learns if settings.metric == PLAIN else range(len(size.domains))
        if not folds or not cfs:
            return stages
        own, longest = self._own(settings)
        for cf in cfs:
            domains = (size.domains[cf],)
            alone = replace(size, features=size.features + size.width, domains=domains)
            for grade in GRADES:
                name = f"{name_of(cf, grade)}, "
                for fold in range(1, folds + 1):
                    stages += expected(GRAPH, f"{name}fold {fold}", alone, own, longest)
                    stages += expected(WALK, f"{name}fold {fold}, round 1", alone, own, longest)
        return stages


def _mixed(known: Known, plain: Estimate, taken: Mapping[int, Taken]) -> Estimate:
    """Return an estimate in which some CFs have what their own metric makes of them."""
    hidden, null, fitted, walks = plain.hidden, plain.null, plain.fitted, {}
    if not taken or hidden is None or null is None:
        return plain
    entropy, mixed, origins = null.entropy.copy(), null.shuffled.copy(), [*plain.origins]
    for cf, own in taken.items():
        (entropy[cf],), (mixed[cf],) = own.null
        origins[cf], walks[cf] = own.origin, own.walk
    if isinstance(fitted, FittedGraph):
        fitted = FittedMetric(fitted, {cf: own.scaled for cf, own in taken.items() if own.scaled})
    priors = of_values(hidden.priors, known, {cf: own.priors for cf, own in taken.items()})
    confidences = {cf: walk.confidences for cf, walk in walks.items()}
    return replace(
        plain,
        confidences=of_values(plain.confidences, known, confidences),
        fell_back=of_cfs(plain.fell_back, {cf: walk.fell_back for cf, walk in walks.items()}),
        mass=of_cfs(plain.mass, {cf: walk.mass for cf, walk in walks.items()}),
        origins=tuple(origins),
        hidden=replace(hidden, priors=priors),
        null=replace(null, entropy=entropy, shuffled=mixed),
        rescued_rows=plain.rescued_rows + sum(own.rounds.rescued for own in taken.values()),
        recall=min(plain.recall, *(own.rounds.recall for own in taken.values())),
        fitted=fitted,
    )


def scored(priors: Floats, cells: Floats | Mask) -> Floats:
    """Return the log scores of held-out rows, m, after the power that predicts their cells best."""
    best: Floats | None = None
    for power in POWERS:
        raised = priors**power
        logs = log_scores(raised / raised.sum(axis=1, keepdims=True), cells, over=1)
        if best is None or logs.mean() > best.mean():
            best = logs
    return np.asarray(best)


def clear_gain(gains: Floats, groups: Ints | None) -> float:
    """Return a mean gain less its standard error; rows that belong together count as one."""
    error = np.sqrt(np.square(sums_by(groups, gains - gains.mean())).sum()) / len(gains)
    return float(gains.mean() - error)


def name_of(cf: int, grade: float) -> str:
    return f"metric of CF {cf + 1}, grade {grade:g}"


def named(name: str, progress: Progress) -> Progress:
    """Return a progress that tells the stages of one metric from those of others."""

    def tell(stage: Stage, done: int, total: int) -> None:
        own = replace(stage, name=f"{name}, {stage.name}", words=f"{name}, {stage}")
        progress(own, done, total)

    return tell
