"""How common each value is, estimated from the cells of all rows, and nothing else of a row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.dataset import Known, all_but
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Progress
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State
from cfl_cli.methods import observed
from cfl_cli.methods.interface import (
    Answer,
    Estimate,
    Hidden,
    Layout,
    Origin,
    Size,
    answer_by,
    check_distributions,
)

memory, stages = observed.memory, observed.stages


def estimate(
    known: Known,
    settings: Settings,  # noqa: ARG001 — nothing to set
    *,
    folds: Sequence[Ints],
    workers: Engine,
    progress: Progress,  # noqa: ARG001 — as all have it
) -> Estimate:
    """Return the shares of the values, with every row's own cells applied."""
    fitted = FittedShares(np.concatenate(known.shares()))
    said = fitted.answer(known, workers)
    hidden = Hidden(np.concatenate(folds), hidden_priors(known, folds)) if folds else None
    origins = (Origin("commonest"),) * len(known.blocks)
    return Estimate(said.confidences, said.fell_back, said.mass, origins, hidden, fitted=fitted)


@dataclass(frozen=True, eq=False)
class FittedShares:
    """The shares of the values, which are every row's prior."""

    shares: Floats  # ΣK
    rules: None = None

    def answer(self, rows: Known, workers: Engine) -> Answer:  # noqa: ARG002 — as all have it
        """Return what is said of some rows."""
        return answer_by(np.tile(self.shares, (len(rows), 1)), rows)

    def state(self) -> State:
        """Return all that has to be kept."""
        return State({"shares": self.shares})


def restore(state: State, layout: Layout) -> FittedShares:
    """Return what was fitted, or raise StateError if it cannot have had this state."""
    shares = state.array("shares", np.float64, layout.width)
    check_distributions("shares", shares[None], layout)
    return FittedShares(shares)


def model_bytes(size: Size, settings: Settings) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are kept of what is fitted."""
    return 8.0 * size.width


def hidden_priors(known: Known, folds: Sequence[Ints]) -> Floats:
    """Return the priors of the rows of each fold while they are hidden, m × ΣK."""
    shares = (np.concatenate(known.shares(all_but(fold, len(known)))) for fold in folds)
    return np.vstack(
        [np.tile(others, (len(fold), 1)) for others, fold in zip(shares, folds, strict=True)]
    )
