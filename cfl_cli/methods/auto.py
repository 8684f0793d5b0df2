"""Each CF by the best blend of several estimators, or by one of them, as hidden cells favor.

    graph        its first round, with as many steps of propagation, up to 100, as hidden cells
                 favor; where that is worth a quarter of any CF's blend, both rounds with up to 400;
                 CFs that a forest answers may have a metric of their own, if rows are few
    boost        as it is
    forest       for CFs whose cells say little in all, of tables that are not large
    net          if the cells of any CF say much in all; for such CFs
    commonest    answers alone where it is clearly right more often than all of these

How much cells say is counted in exact ones, as each exclusion says 1/(K − 1) of that. On the tables
by which methods are chosen (`benchmarks.best`), a network added nothing below some 250 exact cells,
and did harm below 100; a forest added next to nothing above 500.

Where exclusions are shown not to be those of the CF's mechanism, its blend is a cautious one (see
`blend`), for which the graph's second round was measured to add nothing. Exact cells choose its
weights if the schema says that they are a random sample.

With a budget of seconds, the graph goes first as `--method graph` would run it, so that no answer is
worse for the budget, and then the quickest part, as long as there is time by the forecast for this
machine. A part that takes longer all the same is given up. So with a budget a slow machine may leave
out what a fast one does not; without a budget, the clock has no say.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Barrier, BrokenBarrierError
from time import monotonic
from typing import Any, Self

import numpy as np

from cfl_cli.core.arrays import Floats, Mask, independent, normalise, start
from cfl_cli.core.dataset import LEAST_EXACT, Known
from cfl_cli.core.exclusions import Uniformity
from cfl_cli.core.forecast import LITTLE, METRIC_ROWS, own_metrics, run_seconds, seconds
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress, Stage
from cfl_cli.core.settings import AUTO, METHODS, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.errors import UsageError
from cfl_cli.methods import blend, load
from cfl_cli.methods.baselines import Commonest
from cfl_cli.methods.boost import BoostMethod
from cfl_cli.methods.forest import ForestMethod
from cfl_cli.methods.graph.metric import MetricGraph
from cfl_cli.methods.interface import (
    Answer,
    Estimate,
    Fitted,
    Folds,
    Hidden,
    Layout,
    Method,
    Origin,
    TableSize,
    Tried,
)
from cfl_cli.methods.net import NetMethod

# What `auto` has learned: its parts, and how each CF blends them.
#
# A CF's prior is the blend of its parts' priors, and its confidences are that of their confidences,
# for which each part has applied the row's cell by itself; what the cell rules out has none. Where a
# blend is cautious (see `blend`), there is one more part: even confidences in the prior, and the bare
# cell in the confidences.

PART_NAMES = ("graph", "boost", "forest", "net", "commonest")  # of which a blend may be made


@dataclass(frozen=True, eq=False)
class Recipe:
    """How each CF blends the parts that have weight in any."""

    weights: Floats  # parts × CFs
    cautious: Mask  # per CF
    among: int  # parts that a cautious blend is made of, with those that have no weight

    def confidences(self, parts: Sequence[Floats], rows: Known) -> Floats:
        confidences = np.hstack(
            [
                self.of_cf(cf, [part[:, block] for part in parts], rows.evidence[:, block])
                for cf, block in enumerate(rows.columns)
            ]
        )
        normalise(confidences, rows.blocks, out=confidences)
        return confidences

    def of_cf(self, cf: int, parts: Sequence[Floats], evidence: Floats | Mask) -> Floats:
        """Return the blend of one CF's confidences, n × K each; they need not sum to 1 yet."""
        mixed = self._blend(cf, parts, start(evidence, 1))
        return np.where(evidence == 0, 0.0, mixed)

    def priors(self, parts: Sequence[Floats], rows: Known) -> Floats:
        blends = []
        for cf, (block, how) in enumerate(zip(rows.columns, rows.mechanisms, strict=True)):
            even = np.full((len(rows), how.size), 1 / how.size)
            blends.append(self._blend(cf, [part[:, block] for part in parts], even))
        return np.hstack(blends)

    def fell_back(self, parts: Sequence[Mask]) -> Mask:
        """Return where all parts that count fell back, n × CFs."""
        counting = zip(parts, self.weights, strict=True)
        return np.asarray(np.all([part | (own == 0) for part, own in counting], axis=0))

    def mean(self, parts: Sequence[Floats]) -> Floats:
        return np.asarray(sum(part * own for part, own in zip(parts, self.weights, strict=True)))

    def _blend(self, cf: int, parts: Sequence[Floats], bare: Floats) -> Floats:
        weights = self.weights[:, cf]
        if self.cautious[cf]:
            return blend.with_bare(parts, weights, bare, among=self.among)
        return blend.blended(parts, weights)


@dataclass(frozen=True, eq=False)
class FittedAuto(Fitted):
    parts: Mapping[str, Fitted]  # in the recipe's order
    recipe: Recipe

    def answer(self, rows: Known, workers: Engine) -> Answer:
        answers = [part.answer(rows, workers) for part in self.parts.values()]
        return Answer(
            self.recipe.priors([part.priors for part in answers], rows),
            self.recipe.confidences([part.confidences for part in answers], rows),
            self.recipe.fell_back([part.fell_back for part in answers]),
            self.recipe.mean([part.mass for part in answers]),
        )

    def without_points(self) -> Self:
        parts = {name: part.without_points() for name, part in self.parts.items()}
        return replace(self, parts=parts)

    def of_table(self, known: Known, folds: Folds, seed: int) -> Self:
        parts = {name: part.of_table(known, folds, seed) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    def state(self) -> State:
        recipe = self.recipe
        return State(
            {"weights": recipe.weights, "cautious": recipe.cautious.astype(np.uint8)},
            {"parts": list(self.parts), "among": recipe.among},
            {name: part.state() for name, part in self.parts.items()},
        )


WORTH_IT = 0.25
PARTS: dict[str, Method] = {
    "graph": MetricGraph(brief=True),
    "boost": BoostMethod(compared=False),
    "forest": ForestMethod(compared=False),
    "net": NetMethod(compared=False),
}
IN_FULL: dict[str, Method] = {"graph": MetricGraph()}  # what is run again where it is worth it
# How much weight each part deserves as a rule: so much as this many hidden cells would say.
USUAL = {"graph": 1.0, "boost": 4.0, "forest": 7.0, "net": 4.0}
# Exact cells that say as much as all cells of a CF: where parts are worth their time.
NET_FROM, FOREST_UP_TO = 250, LITTLE
FOREST_ROWS = 5000  # of a table, at most: it learns from some of them
IMPROVING = 0.9  # of the budget: until then the command should end by the forecast
LATE = 1.1  # of the budget: a part is given up if the command would end later
LONGEST_WAIT = 5.0  # seconds, for threads that are still at such a part


def answered_by(name: str, known: Known) -> Mask:
    """Return which CFs a part answers."""
    exclusions = np.add.reduceat(~known.candidates, known.blocks, axis=1, dtype=float).sum(axis=0)
    exact = exclusions / [max(how.size - 1, 1) for how in known.mechanisms]
    for cf, (how, block) in enumerate(zip(known.mechanisms, known.columns, strict=True)):
        if how.noisy:
            exact[cf] = how.information(known.candidates[:, block]).sum()
    if name == "net":
        return np.asarray(exact >= NET_FROM)
    if name == "forest":
        return np.asarray((exact < FOREST_UP_TO) & (len(known) <= FOREST_ROWS))
    return np.ones(len(exact), dtype=bool)


class AutoMethod(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        runner = PartRunner(known, settings, folds, workers, progress)
        runner.run_all()
        blends = runner.blends()
        for name, part in IN_FULL.items():
            if name in runner.estimates and settings.budget is None:
                place = [*runner.estimates].index(name)
                chosen = [of_cf.weights[place] for of_cf in blends if not of_cf.cautious]
                if max(chosen, default=0) >= WORTH_IT and runner.run(name, part):
                    blends = runner.blends()
        weights = np.array([of_cf.weights for of_cf in blends]).T  # parts × CFs
        cautious = np.array([of_cf.cautious for of_cf in blends])
        every = Recipe(weights, cautious, runner.among())
        recipe = replace(every, weights=weights[weights.any(axis=1)])
        names = [*runner.estimates]
        counting = [name for name, own in zip(names, weights, strict=True) if own.any()]
        parts = [runner.estimates[name] for name in counting]
        fitted = {
            name: part.fitted for name, part in zip(counting, parts, strict=True) if part.fitted
        }
        graph = runner.estimates.get("graph")
        origins = []
        for cf, of_cf in enumerate(blends):
            of_parts = tuple(part for part in of_cf.parts(names) if runner.answers[part.name][cf])
            tried: tuple[Tried, ...] = ()
            if graph is not None:
                own = graph.origins[cf]
                of_parts = tuple(
                    replace(part, round=own.round, stops=own.stops, metric=own.metric)
                    if part.name == "graph"
                    else part
                    for part in of_parts
                )
                tried = own.tried if "graph" in counting else ()
            origins.append(Origin("auto", of_parts, cautious=of_cf.cautious, tried=tried))
        return Estimate(
            recipe.confidences([part.confidences for part in parts], known),
            recipe.fell_back([part.fell_back for part in parts]),
            recipe.mean([part.mass for part in parts]),
            tuple(origins),
            Hidden(np.concatenate(folds), np.hstack([of_cf.prior for of_cf in blends])),
            graph.null if graph else None,  # which compares most quickly with shuffled cells
            rescued_rows=graph.rescued_rows if graph else 0,
            recall=graph.recall if graph else 1.0,
            solver=graph.solver if graph else None,
            steps=graph.steps if graph else (),
            warnings=tuple(runner.warnings),
            fitted=FittedAuto(fitted, recipe) if len(fitted) == len(parts) else None,
        )

    def restore(self, state: State, layout: Layout) -> FittedAuto:
        names, among = state.fact("parts", list), state.fact("among", int)
        possible = [name for name in PART_NAMES if name in names]
        right = sorted(possible) == sorted(map(str, names))
        if not (right and 1 <= len(names) <= among <= len(PART_NAMES)):
            raise StateError("fact 'parts' does not list parts that auto can have")
        cfs = len(layout.mechanisms)
        weights = state.array("weights", np.float64, len(names), cfs)
        for of_cf in weights.T:
            blend.check_weights("weights", of_cf)
        cautious = state.array("cautious", np.uint8, cfs)
        if not weights.any(axis=1).all() or (cautious > 1).any():
            raise StateError("array 'weights' or 'cautious' is that of no blend")
        parts = {name: load(name).restore(state.part(name), layout) for name in names}
        return FittedAuto(parts, Recipe(weights, cautious.astype(bool), among))

    def model_bytes(self, size: TableSize, settings: Settings) -> float:
        return sum(part.model_bytes(size, settings) for part in {**PARTS, **IN_FULL}.values())

    def memory(self, size: TableSize, settings: Settings, *, jobs: int) -> float:
        own = len(PARTS) * size.rows * size.width * 9.0  # what the parts return
        parts = [*PARTS.values(), *IN_FULL.values()]
        return own + max(part.memory(size, settings, jobs=jobs) for part in parts)

    def stages(self, size: TableSize, settings: Settings, *, folds: int) -> list[Expected]:
        of_parts, parts = _of_parts(settings), dict(PARTS)
        if settings.budget is not None:
            of_parts, parts = settings, parts | IN_FULL
        parts = {
            name: replace(part, learns=own_metrics(size, settings))
            if isinstance(part, MetricGraph)
            else part
            for name, part in parts.items()
        }
        if size.rows > FOREST_ROWS:
            parts.pop("forest", None)
        if size.rows < NET_FROM:
            parts.pop("net", None)
        return [one for part in parts.values() for one in part.stages(size, of_parts, folds=folds)]


def _of_parts(settings: Settings) -> Settings:
    return settings.replaced({"iterations": AUTO})


class OutOfTime(Exception):  # noqa: N818 — not an error
    """Ends a part for which the budget does not suffice."""


class PartRunner:
    def __init__(
        self, known: Known, settings: Settings, folds: Folds, workers: Engine, progress: Progress
    ) -> None:
        self.known, self.settings = known, _of_parts(settings)
        self.given = settings.replaced({"method": "graph"})  # as it would be by itself
        self.folds = folds
        self.rows = np.concatenate(folds)  # that are hidden
        self.workers, self.progress = workers, progress
        self.began, self.runs = monotonic(), Counter[str]()
        self.pace = 1.0  # how many times as long as forecast the graph has taken
        self.late = False  # was a part given up?
        self.estimates: dict[str, Estimate] = {}
        self.answers: dict[str, Mask] = {}  # which CFs, by each part
        self.warnings: list[str] = []

    def run_all(self) -> None:
        """Run the parts; with a budget the graph first, and then the quickest first."""
        parts = {name: answered_by(name, self.known) for name in PARTS}
        parts = {name: cfs for name, cfs in parts.items() if cfs.any()}
        if self.settings.budget is not None:
            parts = dict(sorted(parts.items(), key=lambda one: self.expected(*one)))
        for name in sorted(parts, key=lambda name: name != "graph"):
            self.answers[name] = parts[name]
            self.run(name, PARTS[name])
        self.estimates["commonest"] = self._run("commonest", Commonest(), self.progress)
        self.answers["commonest"] = np.ones(len(self.known.blocks), dtype=bool)

    def run(self, name: str, part: Method) -> bool:
        """Run a part, or say why not."""
        little = tuple(np.flatnonzero(answered_by("forest", self.known)).tolist())
        if isinstance(part, ForestMethod):
            part = replace(part, cfs=little)
        elif isinstance(part, MetricGraph) and len(self.known) <= METRIC_ROWS:
            part = replace(part, learns=little)
        k, budget = self.settings.k, self.settings.budget
        if METHODS[name].needs_neighbors and k >= len(self.known):
            self.warnings.append(f"auto skips {name}: k = {k} needs more than {k} rows")
            return False
        try:
            if budget is None:
                self.estimates[name] = self._run(name, part, self.progress)
            elif name == "graph":
                began, usual = monotonic(), self.expected(name, self.answers[name])
                whole = IN_FULL.get(name, part)
                self.estimates[name] = self._run(name, whole, self.progress, self.given)
                self.pace = min(max((monotonic() - began) / max(usual, 0.1), 0.5), 10.0)
            elif not self._within(budget, name, part):
                return False
        except UsageError as error:
            self.warnings.append(f"auto skips {name}: {error}")
            return False
        return True

    def expected(self, name: str, cfs: Mask) -> float:
        """Return how many seconds a part takes by the forecast."""
        domains = [how.size for how in self.known.mechanisms]
        if isinstance(PARTS[name], ForestMethod):  # which learns no others
            domains = [size for size, own in zip(domains, cfs, strict=True) if own]
        size = TableSize(len(self.known), self.known.features.shape[1], tuple(domains))
        how: dict[str, Any] = {"folds": len(self.folds), "threads": self.workers.jobs}
        return self.pace * seconds(name, size, self.given, **how)

    def around(self) -> float:
        """Return how many seconds a command takes beside its parts, before and after them."""
        domains = tuple(how.size for how in self.known.mechanisms)
        size = TableSize(len(self.known), self.known.features.shape[1], domains)
        how: dict[str, Any] = {"folds": len(self.folds), "threads": self.workers.jobs}
        return run_seconds("auto", size, self.settings, runs=0, **how)

    def _within(self, budget: float, name: str, part: Method) -> bool:
        """Run a part if the forecast fits into the budget, and until that is spent."""
        expected = self.expected(name, self.answers[name])
        around = self.pace * self.around()
        left = budget * IMPROVING - around - (monotonic() - self.began)
        if self.late or left < expected:
            why = f"it would take about {expected:,.0f} s, and {max(left, 0):,.0f} s are left"
            self.warnings.append(f"auto skips {name}: {why}")
            return False
        end = self.began + LATE * budget - around

        def until_late(stage: Stage, done: int, total: int) -> None:
            self.progress(stage, done, total)
            if monotonic() > end:
                raise OutOfTime

        try:
            self.estimates[name] = self._run(name, part, until_late)
        except OutOfTime:
            self.late = True
            self._wait_for_threads()
            self.warnings.append(f"auto stops {name}, because the budget is spent")
            return False
        return True

    def _wait_for_threads(self) -> None:
        """Let threads end what nobody needs any more, and wait until all of them have."""
        self.workers.stopped = True
        jobs = self.workers.jobs
        together = Barrier(jobs, timeout=LONGEST_WAIT)

        def meet(_: int) -> None:
            with suppress(BrokenBarrierError):
                together.wait()

        for _ in self.workers.map(meet, range(jobs if jobs > 1 else 2)):
            pass
        self.workers.stopped = False

    def blends(self) -> list[blend.Blend]:
        priors_of = [part.hidden.priors for part in self.estimates.values() if part.hidden]
        known, rows, blends = self.known, self.rows, []
        groups, mutual = known.groups_of(rows), len(rows) == len(known)
        for cf, (block, how) in enumerate(zip(known.columns, known.mechanisms, strict=True)):
            usual = np.array(
                [USUAL.get(name, 0.0) * self.answers[name][cf] for name in self.estimates]
            )
            if not usual.any():  # there is nothing but the most common value
                usual[-1] = 1
            priors = [of_part[:, block] for of_part in priors_of]
            cells, hidden = known.evidence[rows, block], known.drawn[rows, block]
            right = blend.Right.of(hidden, how, groups)
            given: dict[str, Any] = {"groups": groups, "usual": usual, "among": self.among()}
            able = np.array([self.answers[name][cf] for name in self.estimates])
            fitted = blend.fit(priors, cells, right=right, able=able, **given)
            counts = independent(groups)
            uniformity = Uniformity(fitted.prior, hidden, how, mutual=mutual, counts=counts)
            often = known.drawn[:, block], independent(known.groups)
            if uniformity.refuted or len(how.too_often(*often)):
                sampled = known.sampled[cf] if known.sampled else None
                by = None if sampled is None else sampled[rows]
                if by is not None and by.sum() < LEAST_EXACT:
                    by = None
                fitted = blend.fit(priors, cells, by=by, cautious=True, **given)
            blends.append(fitted)
        return blends

    def among(self) -> int:
        """Return how many parts a cautious blend is made of."""
        return max(sum(name in USUAL for name in self.estimates), 1)

    def _run(
        self, name: str, part: Method, progress: Progress, settings: Settings | None = None
    ) -> Estimate:
        self.runs[name] += 1
        engine = self.workers.within(f"{name} {self.runs[name]}")
        return part.estimate(
            self.known,
            settings or self.settings,
            folds=self.folds,
            workers=engine,
            progress=progress,
        )
