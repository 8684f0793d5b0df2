"""Runs of a method on some rows, with other features or other cells, each judged by hidden cells.

All runs hide the same rows, and take the powers of the first: each its own would differ by chance
more than the runs do.
"""

from collections.abc import Callable
from dataclasses import replace

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Engine
from cfl_cli.core.settings import Settings
from cfl_cli.estimators.graph_hidden import HiddenRuns, is_enough
from cfl_cli.estimators.interface import Estimate
from cfl_cli.jobs.prepare import run
from cfl_cli.jobs.ways import FOLDS, ONE_FOLD_ABOVE
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.calibrate import calibrate
from cfl_cli.trust.facts import CalibratedFacts, ColumnFacts


def _nothing() -> None:
    pass


class Trial:
    """Runs a method on some rows, encoded in one way or another."""

    def __init__(
        self,
        encoded: Encoded,
        settings: Settings,
        engine: Engine,
        *,
        began: Callable[[], None] = _nothing,
    ) -> None:
        self.encoded, self.settings, self.began = encoded, settings, began
        self.engine, self.runs = engine, 0
        dealt = draws.folds(len(encoded.features), FOLDS, settings.seed, encoded.groups)
        self.folds = dealt if len(encoded.features) <= ONE_FOLD_ABOVE else dealt[:1]
        self.first = self._first()
        self._own: HiddenRuns | None = None  # on the rows' own features

    @property
    def now(self) -> list[ColumnFacts]:
        """Return what the first run shows of each CF."""
        return self._facts(self.first)

    def otherwise(
        self, *, features: Floats | None = None, candidates: Mask | None = None
    ) -> list[ColumnFacts]:
        """Return what a run shows of each CF; it is judged by the rows' own cells."""
        engine = self._next()
        changed = self.encoded
        if features is not None:
            changed = replace(changed, features=features)
        if candidates is not None:
            changed = replace(changed, candidates=candidates)
        if not is_enough(self.settings):
            hidden = self._run(changed, engine).hidden
        elif features is None:
            self._own = self._own or self._hidden_runs(changed, engine)
            hidden = self._own.predict(changed.evidence, name=f"run {self.runs}")
        else:
            hidden = self._hidden_runs(changed, engine).predict(changed.evidence, name="run")
        # What the first run says of rows that are not hidden stays, and nobody looks at it.
        return self._facts(replace(self.first, hidden=hidden))

    def rows_of(self, facts: ColumnFacts) -> Ints:
        """Return the rows that were hidden, in the order of their priors."""
        hidden = facts.estimate.hidden
        assert hidden is not None  # noqa: S101 — every run here hides rows
        return hidden.rows

    def _first(self) -> Estimate:
        found = self._run(self.encoded, self._next())
        if not METHODS[self.settings.method].calibrated:
            return found
        return calibrate(self.encoded, found, jobs=self.engine.jobs)

    def _next(self) -> Engine:
        self.began()
        self.runs += 1
        return self.engine.within(f"tried {self.runs}")

    def _run(self, encoded: Encoded, engine: Engine) -> Estimate:
        return run(
            encoded,
            self.settings,
            folds=self.folds,
            progress=lambda *_: None,
            engine=engine,
            fit=False,
        )

    def _hidden_runs(self, encoded: Encoded, engine: Engine) -> HiddenRuns:
        return HiddenRuns.of(encoded.known, self.settings, folds=self.folds, workers=engine)

    def _facts(self, found: Estimate) -> list[ColumnFacts]:
        kind = ColumnFacts if found.powers is None else CalibratedFacts
        return [kind(self.encoded, found, number) for number in range(len(self.encoded.blocks))]
