"""Two runs of one method of which each CF takes one, with mechanisms of exclusions of their own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from cfl_cli.core.arrays import Mask
from cfl_cli.core.dataset import Known, Rule
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.parallel import Engine
from cfl_cli.core.state import State, StateError
from cfl_cli.methods import MIXTURE
from cfl_cli.methods.interface import Answer, Fitted, Layout, without_points

RUNS = ("one", "other")


@dataclass(frozen=True, eq=False)
class Run:
    """What one run has learned, and how it took exclusions to arise."""

    fitted: Fitted
    mechanisms: tuple[Mechanism, ...]  # per CF

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what it says of some rows."""
        return self.fitted.answer(replace(rows, mechanisms=self.mechanisms), workers)

    def without_points(self) -> Self:
        """Return the same without points; see `interface.Pointed`."""
        return replace(self, fitted=without_points(self.fitted))

    def state(self) -> State:
        """Return all that has to be kept."""
        rates = {f"{cf}": how.rates for cf, how in enumerate(self.mechanisms)}
        return State(
            {name: table for name, table in rates.items() if table is not None},
            parts={"fitted": self.fitted.state()},
        )


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """Two runs, and which CFs take the second one's answers."""

    one: Run
    other: Run
    taken: Mask  # per CF

    @property
    def rules(self) -> tuple[Rule, ...] | None:
        """Return how each CF's rows are answered; None: by the most confident candidate."""
        rules, other = self.one.fitted.rules, self.other.fitted.rules
        if rules is None or other is None:
            return None
        return tuple(other[cf] if taken else rules[cf] for cf, taken in enumerate(self.taken))

    def answer(self, rows: Known, workers: Engine) -> Answer:
        """Return what is said of some rows."""
        one, other = (run.answer(rows, workers) for run in (self.one, self.other))
        values = np.repeat(self.taken, [how.size for how in rows.mechanisms])
        answers = one.answers
        if answers is not None and other.answers is not None:
            answers = np.where(self.taken, other.answers, answers)
        return Answer(
            np.where(values, other.priors, one.priors),
            np.where(values, other.confidences, one.confidences),
            np.where(self.taken, other.fell_back, one.fell_back),
            np.where(self.taken, other.mass, one.mass),
            answers,
        )

    def without_points(self) -> Self:
        """Return the same without points; see `interface.Pointed`."""
        return replace(self, one=self.one.without_points(), other=self.other.without_points())

    def state(self) -> State:
        """Return all that has to be kept."""
        return State(
            {"taken": self.taken.astype(np.uint8)},
            {MIXTURE: True},
            {name: run.state() for name, run in zip(RUNS, (self.one, self.other), strict=True)},
        )


def restore(
    state: State, layout: Layout, restore_run: Callable[[State, Layout], Fitted]
) -> FittedMixture:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    taken = state.array("taken", np.uint8, len(layout.mechanisms))
    if (taken > 1).any() or not taken.any():
        raise StateError("array 'taken' does not say which CFs take the second run")

    def run(own: State) -> Run:
        mechanisms = tuple(_mechanism(own, cf, size) for cf, size in enumerate(layout.domains))
        of_run = replace(layout, mechanisms=mechanisms)
        return Run(restore_run(own.part("fitted"), of_run), mechanisms)

    one, other = (run(state.part(name)) for name in RUNS)
    return FittedMixture(one, other, taken.astype(bool))


def _mechanism(state: State, cf: int, size: int) -> Mechanism:
    if f"{cf}" not in state.arrays:
        return Mechanism(size)
    rates = state.array(f"{cf}", np.float64, size, size)
    try:
        return Mechanism(size, rates)
    except ValueError as error:
        raise StateError(f"array '{cf}': {error}") from None
