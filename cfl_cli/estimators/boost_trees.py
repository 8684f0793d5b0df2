"""How boosting grows its trees: LightGBM, in one thread and from a seed."""

from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from cfl_cli.core.parallel import Engine
from cfl_cli.core.quick import dataclass
from cfl_cli.errors import UsageError
from cfl_cli.estimators.boost_objective import FLATTEST, BoostObjective, StopBoosting
from cfl_cli.estimators.forest import Forest, grown, none_grown

FULL_LEAVES = 20_000  # rows from which on leaves hold as many as their shape says
MOST_FEATURES = 32  # that a tree sees
WIDE = 64  # features, from which on a table is wide
ROWS_OF_A_BIN = 32  # of a wide table, at least about so many
FEWEST_BINS, MOST_BINS = 15, 255  # of a feature; the latter is LightGBM's own limit
LONGER_STEPS = 2.0  # times the rate, where there are fewer bins than that
L2 = 5.0


@dataclass(frozen=True)
class Shape:
    """What trees are grown."""

    leaves: int
    rows: int  # in a leaf, at least; of a table below FULL_LEAVES rows, fewer in proportion
    rate: float
    columns: float  # share of the features that each tree sees


SHALLOW = Shape(leaves=7, rows=200, rate=0.1, columns=1.0)
DEEP = Shape(leaves=31, rows=100, rate=0.07, columns=0.7)


class Trees:
    """Grows trees until the objective stops it, or the workers are stopped."""

    def __init__(self, seed: int, workers: Engine) -> None:
        self.seed, self.workers = seed, workers
        self.lightgbm = lightgbm()

    def bins(self, features: npt.NDArray[np.floating]) -> Any:
        """Return features in LightGBM's bins."""
        options = {
            "verbose": -1,
            "num_threads": 1,
            "feature_pre_filter": False,
            "max_bin": bins_of(*features.shape),
        }
        return self.lightgbm.Dataset(features, params=options).construct()

    def grow(self, objective: BoostObjective, data: Any, shape: Shape) -> Any:
        """Boost; what comes of it is in the objective. Return the booster, if there was any."""
        size, n = objective.target.cells.shape
        if not any(data.feature_num_bin(column) > 1 for column in range(data.num_feature())):
            objective.stay()
            return None
        rows = max(min(shape.rows, n * shape.rows // FULL_LEAVES), 1)
        longer = LONGER_STEPS if bins_of(n, data.num_feature()) < MOST_BINS else 1.0
        booster = self.lightgbm.Booster(
            {
                "objective": "none",
                "num_class": size,
                "learning_rate": longer * shape.rate,
                "num_leaves": shape.leaves,
                "min_data_in_leaf": rows,
                # It counts rows by their curvature, and without this might split off none at all.
                "min_sum_hessian_in_leaf": 0.5 * rows * float(FLATTEST),
                "lambda_l2": L2,
                "feature_fraction": min(shape.columns, MOST_FEATURES / data.num_feature()),
                "boost_from_average": False,
                "feature_pre_filter": False,
                "seed": self.seed % 2**31,
                "deterministic": True,
                # The same trees, whichever it is: by columns a small table's sums take less time.
                "force_col_wise": n < FULL_LEAVES,
                "force_row_wise": n >= FULL_LEAVES,
                "num_threads": 1,
                "verbose": -1,
            },
            data,
        )
        with suppress(StopBoosting):
            while not (self.workers.stopped or booster.update(fobj=objective)):
                pass
        return booster


def bins_of(rows: int, features: int) -> int:
    """Return how many bins a feature has at most.

    A small wide table spends nearly all its time on looking for splits between bins, of which 255
    would hold a few rows each: a split at one of them is hardly better founded than at the next.
    """
    if features < WIDE:
        return MOST_BINS
    return min(max(rows // ROWS_OF_A_BIN, FEWEST_BINS), MOST_BINS)


def forest_of(booster: Any, size: int) -> Forest:
    """Return the trees of a booster, for a CF of so many values; None has none."""
    return none_grown(size) if booster is None else grown(booster.model_to_string(), size)


def lightgbm() -> Any:
    """Return the package, or raise with what to install."""
    try:
        return import_module("lightgbm")
    except ImportError:
        raise UsageError(
            "method boost needs LightGBM, which is not installed: reinstall cfl-cli "
            "(pip install --force-reinstall cfl-cli)"
        ) from None
    except OSError as error:  # its library lacks another one, of the system
        raise UsageError(
            f"method boost needs LightGBM, which does not load ({error}): install the OpenMP "
            "runtime, which is the package libgomp1 on Debian and libomp on macOS"
        ) from None
