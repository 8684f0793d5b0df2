"""Each CF by the best blend of several estimators, or by one of them, as hidden cells favor.

    boost, net   as they are
    graph        its first round, with as many steps of propagation, up to 100, as hidden cells
                 favor; where that is worth a quarter of any CF's blend, both rounds with up to 400

So the time goes where it pays: as a rule the graph adds little to the other two, and its second
round takes the most time. With a budget of seconds, a part is tried on some of the rows first, and
is not run if it would take longer than what is left. Then a slow machine may leave out what a fast
one does not; without a budget, the clock has no say.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.blocks import normalise
from cfl_cli.core.draws import SAMPLE, order
from cfl_cli.core.draws import folds as deal
from cfl_cli.core.known import Known
from cfl_cli.core.parallel import Workers
from cfl_cli.core.stages import PILOT_ROWS, Expected, Progress, Stage, Stages, Work, forecast
from cfl_cli.errors import UsageError
from cfl_cli.estimators import blend, boost, commonest, graph, net
from cfl_cli.estimators.interface import (
    Estimate,
    Hidden,
    Method,
    Module,
    Null,
    Origin,
    Size,
)

PARTS: dict[str, Module] = {"graph": graph, "boost": boost, "net": net}
FEW_STEPS = 100
WORTH_IT = 0.25


def estimate(
    known: Known,
    method: Method,
    *,
    folds: Sequence[Ints],
    workers: Workers,
    progress: Progress,
) -> Estimate:
    """Run what pays, and blend the parts CF by CF."""
    chosen, brief = _methods(method)
    runner = PartRunner(known, folds, workers, progress, method.budget)
    for name in PARTS:
        runner.run(name, brief)
    blends = runner.blends()
    if "graph" in runner.estimates:
        place = [*runner.estimates].index("graph")
        if max(of_cf.weights[place] for of_cf in blends) >= WORTH_IT:
            runner.run("graph", chosen)
            blends = runner.blends()
    return _blended(known, folds, runner, blends)


def memory(size: Size, method: Method, *, jobs: int) -> float:
    """Return about how many bytes are held at the peak, those of the table left aside."""
    own = len(PARTS) * size.rows * size.width * 9.0  # what the parts return
    return own + max(part.memory(size, method, jobs=jobs) for part in PARTS.values())


def stages(size: Size, method: Method, *, folds: int) -> list[Expected]:
    """Return what `estimate` is going to do as a rule, and about how long each stage takes."""
    _, brief = _methods(method)
    ahead = []
    for name, part in PARTS.items():
        if method.budget is not None and size.rows > PILOT_ROWS:
            pilot = part.stages(replace(size, rows=PILOT_ROWS), brief, folds=folds)
            ahead.append(Expected(pilot_of(name), sum(stage.seconds for stage in pilot)))
        ahead += part.stages(size, brief, folds=folds)
    return ahead


def pilot_of(name: str) -> Stage:
    """Return the stage in which a part is tried on some rows."""
    return Stage(f"pilot of {name}", Work.PILOT, f"timing {name} on {PILOT_ROWS:,} rows")


def _methods(method: Method) -> tuple[Method, Method]:
    """Return how the parts are run, the graph in full, and at first in brief."""
    chosen = replace(method, iterations=None, choose_round=True)
    return chosen, replace(chosen, gamma=0.0, longest=FEW_STEPS)


class PartRunner:
    """Runs parts while time is left, and keeps what they said."""

    def __init__(
        self,
        known: Known,
        folds: Sequence[Ints],
        workers: Workers,
        progress: Progress,
        budget: float | None,
    ) -> None:
        self.known, self.folds = known, folds
        self.workers, self.progress = workers, progress
        self.budget, self.began = budget, monotonic()
        self.estimates: dict[str, Estimate] = {}
        self.warnings: list[str] = []

    def run(self, name: str, method: Method) -> None:
        """Run a part if it can be run and the time allows it."""
        if name == "graph" and method.k >= len(self.known):
            why = f"k = {method.k} needs more than {method.k} rows"
            self.warnings.append(f"auto skips graph: {why}")
            return
        try:
            if self.budget is None or self._allows(name, method, self.budget):
                self.estimates[name] = self._run(
                    name, method, self.known, self.folds, self.progress
                )
        except UsageError as error:
            self.warnings.append(f"auto skips {name}: {error}")

    def blends(self) -> list[blend.Blend]:
        """Return how to blend the parts, CF by CF."""
        if not self.estimates:
            self.estimates["commonest"] = commonest.estimate(
                self.known,
                Method(),
                folds=self.folds,
                workers=self.workers,
                progress=self.progress,
            )
        hidden_priors = [part.hidden.priors for part in self.estimates.values() if part.hidden]
        rows = np.concatenate(self.folds)
        cells, candidates = self.known.evidence[rows], self.known.candidates[rows]
        blends = []
        for how, block in zip(self.known.mechanisms, self.known.columns, strict=True):
            own = [priors[:, block] for priors in hidden_priors]
            fitted = blend.fit(own, cells[:, block])
            blends.append(blend.unless_less_accurate(fitted, own, candidates[:, block], how))
        return blends

    def _allows(self, name: str, method: Method, budget: float) -> bool:
        n = len(self.known)
        expected = 0.0
        if n > PILOT_ROWS and monotonic() - self.began < budget:
            self.progress(pilot_of(name), 0, 1)
            some = self.known.some(np.sort(order(n, SAMPLE, method.seed)[:PILOT_ROWS]))
            hidden = deal(PILOT_ROWS, len(self.folds) + 1, method.seed)[: len(self.folds)]
            timer = Stages(clock=monotonic)
            self._run(name, method, some, hidden, timer)
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
        self, name: str, method: Method, known: Known, folds: Sequence[Ints], progress: Progress
    ) -> Estimate:
        part = PARTS[name].estimate
        return part(known, method, folds=folds, workers=self.workers, progress=progress)


def _blended(
    known: Known, folds: Sequence[Ints], runner: PartRunner, blends: Sequence[blend.Blend]
) -> Estimate:
    names, parts = [*runner.estimates], [*runner.estimates.values()]
    confidences = blend.apply([part.confidences for part in parts], blends, known.columns)
    confidences[known.evidence == 0] = 0
    normalise(confidences, known.blocks, out=confidences)
    weights = np.array([of_cf.weights for of_cf in blends]).T  # parts × CFs
    graph_part = runner.estimates.get("graph")
    return Estimate(
        confidences,
        np.all(
            [part.fell_back | (own == 0) for part, own in zip(parts, weights, strict=True)], axis=0
        ),
        _together([part.mass for part in parts], weights),
        tuple(Origin("auto", of_cf.parts(names)) for of_cf in blends),
        Hidden(np.concatenate(folds), np.hstack([of_cf.prior for of_cf in blends])),
        _null([part.null for part in parts], weights),
        rescued_rows=graph_part.rescued_rows if graph_part else 0,
        recall=graph_part.recall if graph_part else 1.0,
        steps=graph_part.steps if graph_part else (),
        warnings=tuple(runner.warnings),
    )


def _together(values: Sequence[Floats], weights: Floats) -> Floats:
    """Return the mean of what the parts have, n × CFs, by their weights."""
    return np.asarray(sum(part * weight for part, weight in zip(values, weights, strict=True)))


def _null(nulls: Sequence[Null | None], weights: Floats) -> Null | None:
    """Return what the parts make of shuffled cells, by their weights."""
    compared = [null for null in nulls if null]
    if len(compared) < len(nulls):
        return None
    return Null(
        _together([null.entropy for null in compared], weights),
        _together([null.shuffled for null in compared], weights),
        min(null.rows for null in compared),
    )
