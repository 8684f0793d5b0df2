"""How common each value is, estimated from the cells of all rows, and nothing else of a row."""

from collections.abc import Sequence

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.known import Known, all_but
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.core.stages import Progress
from cfl_cli.estimators import observed
from cfl_cli.estimators.interface import Estimate, Hidden, Origin, apply_cells

memory, stages = observed.memory, observed.stages


def estimate(
    known: Known,
    settings: Settings,  # noqa: ARG001 — nothing to set
    *,
    folds: Sequence[Ints],
    workers: Workers,  # noqa: ARG001 — the work of a moment
    progress: Progress,  # noqa: ARG001
) -> Estimate:
    """Return the shares of the values, with every row's own cells applied."""
    applied = apply_cells(np.tile(np.concatenate(known.shares()), (len(known), 1)), known)
    hidden = Hidden(np.concatenate(folds), hidden_priors(known, folds)) if folds else None
    return Estimate(*applied, (Origin("commonest"),) * len(known.blocks), hidden)


def hidden_priors(known: Known, folds: Sequence[Ints]) -> Floats:
    """Return the priors of the rows of each fold while they are hidden, m × ΣK."""
    shares = (np.concatenate(known.shares(all_but(fold, len(known)))) for fold in folds)
    return np.vstack(
        [np.tile(others, (len(fold), 1)) for others, fold in zip(shares, folds, strict=True)]
    )
