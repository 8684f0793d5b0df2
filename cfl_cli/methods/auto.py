"""Each CF by the best blend of several estimators, or by one of them, as hidden cells favor.

    boost, net   as they are
    graph        its first round, with as many steps of propagation, up to 100, as hidden cells
                 favor; where that is worth a quarter of any CF's blend, both rounds with up to 400

Where exclusions are shown not to be those of the CF's mechanism, its blend is a cautious one (see
`blend`), for which the graph's second round was measured to add nothing. Exact cells choose its
weights if the schema says that they are a random sample.

So the time goes where it pays: as a rule the graph adds little to the other two, and its second
round takes the most time. With a budget of seconds, a part is tried on some of the rows first, and
is not run if it would take longer than what is left. Then a slow machine may leave out what a fast
one does not; without a budget, the clock has no say.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Self

import numpy as np

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Mask, independent, normalise, start
from cfl_cli.core.dataset import LEAST_EXACT, Known
from cfl_cli.core.exclusions import Uniformity
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import PILOT_ROWS, Expected, Progress, Stage, Stages, Work, forecast
from cfl_cli.core.settings import AUTO, METHODS, Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.errors import UsageError
from cfl_cli.methods import blend, load
from cfl_cli.methods.baselines import Commonest
from cfl_cli.methods.boost import BoostMethod
from cfl_cli.methods.graph.metric import MetricGraph
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
)
from cfl_cli.methods.net import NetMethod

# What `auto` has learned: its parts, and how each CF blends them.
#
# A CF's prior is the blend of its parts' priors, and its confidences are that of their confidences,
# for which each part has applied the row's cell by itself; what the cell rules out has none. Where a
# blend is cautious (see `blend`), there is one more part: even confidences in the prior, and the bare
# cell in the confidences.

PART_NAMES = ("graph", "boost", "net", "commonest")  # of which a blend may be made


@dataclass(frozen=True, eq=False)
class Recipe:
    """How each CF blends the parts that have weight in any."""

    weights: Floats  # parts × CFs
    cautious: Mask  # per CF
    among: int  # parts, with those that have no weight

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
    "boost": BoostMethod(),
    "net": NetMethod(),
}
IN_FULL: dict[str, Method] = {"graph": MetricGraph()}  # what is run again where it is worth it


class AutoMethod(Method):
    def estimate(
        self, known: Known, settings: Settings, *, folds: Folds, workers: Engine, progress: Progress
    ) -> Estimate:
        runner = PartRunner(known, _of_parts(settings), folds, workers, progress)
        for name, part in PARTS.items():
            runner.run(name, part)
        blends = runner.blends()
        for name, part in IN_FULL.items():
            if name in runner.estimates:
                place = [*runner.estimates].index(name)
                chosen = [of_cf.weights[place] for of_cf in blends if not of_cf.cautious]
                if max(chosen, default=0) >= WORTH_IT:
                    runner.run(name, part)
                    blends = runner.blends()
        weights = np.array([of_cf.weights for of_cf in blends]).T  # parts × CFs
        every = Recipe(weights, np.array([of_cf.cautious for of_cf in blends]), len(weights))
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
            of_parts = of_cf.parts(names)
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
        null = None
        nulls = [part.null for part in runner.estimates.values() if part.null]
        if len(nulls) == len(names):
            entropy = every.mean([null.entropy for null in nulls])
            shuffled = every.mean([null.shuffled for null in nulls])
            null = Null(entropy, shuffled, min(null.rows for null in nulls))
        return Estimate(
            recipe.confidences([part.confidences for part in parts], known),
            recipe.fell_back([part.fell_back for part in parts]),
            recipe.mean([part.mass for part in parts]),
            tuple(origins),
            Hidden(np.concatenate(folds), np.hstack([of_cf.prior for of_cf in blends])),
            null,
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
        ahead, of_parts = [], _of_parts(settings)
        for name, part in PARTS.items():
            if settings.budget is not None and size.rows > PILOT_ROWS:
                pilot = part.stages(replace(size, rows=PILOT_ROWS), of_parts, folds=folds)
                ahead.append(Expected(pilot_of(name), sum(stage.seconds for stage in pilot)))
            ahead += part.stages(size, of_parts, folds=folds)
        return ahead


def pilot_of(name: str) -> Stage:
    return Stage(f"pilot of {name}", Work.PILOT, f"timing {name} on {PILOT_ROWS:,} rows")


def _of_parts(settings: Settings) -> Settings:
    return settings.replaced({"iterations": AUTO})


class PartRunner:
    def __init__(
        self, known: Known, settings: Settings, folds: Folds, workers: Engine, progress: Progress
    ) -> None:
        self.known, self.settings, self.folds = known, settings, folds
        self.rows = np.concatenate(folds)  # that are hidden
        self.workers, self.progress = workers, progress
        self.began, self.runs = monotonic(), Counter[str]()
        self.estimates: dict[str, Estimate] = {}
        self.warnings: list[str] = []

    def run(self, name: str, part: Method) -> None:
        k, budget = self.settings.k, self.settings.budget
        if METHODS[name].needs_neighbors and k >= len(self.known):
            self.warnings.append(f"auto skips {name}: k = {k} needs more than {k} rows")
            return
        try:
            if budget is None or self._allows(name, part, budget):
                self.estimates[name] = self._run(name, part, self.known, self.folds, self.progress)
        except UsageError as error:
            self.warnings.append(f"auto skips {name}: {error}")

    def blends(self) -> list[blend.Blend]:
        if not self.estimates:
            self.estimates["commonest"] = self._run(
                "commonest", Commonest(), self.known, self.folds, self.progress
            )
        hidden_priors = [part.hidden.priors for part in self.estimates.values() if part.hidden]
        known, rows, blends = self.known, self.rows, []
        groups, mutual = known.groups_of(rows), len(rows) == len(known)
        for cf, (block, how) in enumerate(zip(known.columns, known.mechanisms, strict=True)):
            priors = [of_part[:, block] for of_part in hidden_priors]
            cells, hidden = known.evidence[rows, block], known.candidates[rows, block]
            fitted, counts = blend.fit(priors, cells, groups=groups), independent(groups)
            uniformity = Uniformity(fitted.prior, hidden, how, mutual=mutual, counts=counts)
            often = known.candidates[:, block], independent(known.groups)
            if uniformity.refuted or len(how.too_often(*often)):
                sampled = known.sampled[cf] if known.sampled else None
                by = None if sampled is None else sampled[rows]
                if by is not None and by.sum() < LEAST_EXACT:
                    by = None
                fitted = blend.fit(priors, cells, groups=groups, by=by, cautious=True)
            else:
                fitted = blend.unless_less_accurate(fitted, priors, hidden, how, groups=groups)
            blends.append(fitted)
        return blends

    def _allows(self, name: str, part: Method, budget: float) -> bool:
        n = len(self.known)
        expected = 0.0
        if n > PILOT_ROWS and monotonic() - self.began < budget:
            self.progress(pilot_of(name), 0, 1)
            seed, count = self.settings.seed, len(self.folds)
            some = self.known.some(np.sort(draws.order(n, draws.SAMPLE, seed)[:PILOT_ROWS]))
            hidden = draws.folds(PILOT_ROWS, count + 1, seed)[:count]
            timer = Stages(clock=monotonic)
            self._run(f"pilot of {name}", part, some, hidden, timer)
            expected = forecast(timer.spent(), rows=PILOT_ROWS, more=n)
        left = budget - (monotonic() - self.began)
        if 0 < left >= expected:
            return True
        why = f"it would take about {expected:,.0f} s, and {left:,.0f} s of the budget are left"
        self.warnings.append(
            f"auto skips {'the rest of ' if name in self.estimates else ''}{name}: "
            f"{why if left > 0 else 'the budget is spent'}"
        )
        return False

    def _run(
        self, name: str, part: Method, known: Known, folds: Folds, progress: Progress
    ) -> Estimate:
        self.runs[name] += 1
        engine = self.workers.within(f"{name} {self.runs[name]}")
        return part.estimate(known, self.settings, folds=folds, workers=engine, progress=progress)
