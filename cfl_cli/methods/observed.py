"""The cells alone: all candidates are alike, Q0. The paper calls it comp."""

from collections.abc import Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.dataset import Known
from cfl_cli.core.parallel import Engine
from cfl_cli.core.progress import Expected, Progress
from cfl_cli.core.settings import Settings
from cfl_cli.core.state import State, StateError
from cfl_cli.methods.interface import Estimate, Fitted, Hidden, Layout, Origin, Size, apply_cells


def estimate(
    known: Known,
    settings: Settings,  # noqa: ARG001 — nothing to set
    *,
    folds: Sequence[Ints],
    workers: Engine,  # noqa: ARG001 — the work of a moment
    progress: Progress,  # noqa: ARG001 — as all have it
) -> Estimate:
    """Return what the cells say when nothing else is known."""
    even = even_priors(known)
    applied = apply_cells(np.broadcast_to(even, known.candidates.shape), known)
    rows = np.concatenate(folds) if folds else None
    hidden = None if rows is None else Hidden(rows, np.tile(even, (len(rows), 1)))
    return Estimate(*applied, (Origin("observed"),) * len(known.blocks), hidden)


def even_priors(known: Known) -> Floats:
    """Return what is said of every row without its cells: all values alike, ΣK."""
    return np.concatenate([np.full(how.size, 1 / how.size) for how in known.mechanisms])


def restore(state: State, layout: Layout) -> Fitted:  # noqa: ARG001 — as all have it
    """Raise StateError: nothing is ever fitted."""
    raise StateError("method observed learns nothing that could be kept")


def model_bytes(size: Size, settings: Settings) -> float:  # noqa: ARG001 — as all have it
    """Return that nothing is kept."""
    return 0.0


def memory(size: Size, settings: Settings, *, jobs: int) -> float:  # noqa: ARG001 — as all have it
    """Return about how many bytes are held at the peak, those of the table left aside."""
    return float(size.rows * (8 * size.features + 33 * size.width))


def stages(size: Size, settings: Settings, *, folds: int) -> list[Expected]:  # noqa: ARG001 — as all have it
    """Return what `estimate` is going to do: nothing that takes time."""
    return []
