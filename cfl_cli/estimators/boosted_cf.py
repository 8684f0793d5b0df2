"""What boosting has learned of one CF: its forests, and how they are blended."""

from typing import Any

import numpy as np
import numpy.typing as npt

from cfl_cli.core.arrays import Floats, Ints, Singles
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State
from cfl_cli.estimators.boost_objective import priors_of
from cfl_cli.estimators.forest import Forest

FURTHER_START = 0.25  # of the way to what shallow trees say from the OFs alone
TINY = np.float32(1e-30)


@dataclass(frozen=True, eq=False)
class Related:
    """The forest of one CF that sees what is said of others."""

    trees: Forest
    columns: Ints  # of all confidences, those that it sees beside the OFs


@dataclass(frozen=True, eq=False)
class BoostedCf:
    """What was fitted for one CF."""

    start: Singles  # K × 1: where scores begin
    shallow: Forest
    deep: Forest
    first: Floats  # the weights of these two, …
    related: Related | None
    weights: Floats  # … and of all

    def from_ofs(self, features: Floats) -> list[Singles]:
        """Return what the first two say of rows, K × n each."""
        return [
            priors_of(trees.scores(features), self.start) for trees in (self.shallow, self.deep)
        ]

    def from_others(self, features: Floats, confidences: Floats, shallow: Singles) -> list[Singles]:
        """Return what the third says, K × n, if there is one."""
        if self.related is None:
            return []
        others = confidences[:, self.related.columns].astype(np.float32)
        scores = self.related.trees.scores(np.hstack([features, others]))
        return [priors_of(scores, further_start(shallow))]

    def state(self) -> State:
        """Return all that has to be kept."""
        arrays: dict[str, npt.NDArray[Any]] = {
            "start": self.start[:, 0],
            "first": self.first,
            "weights": self.weights,
        }
        parts = {"shallow": self.shallow.state(), "deep": self.deep.state()}
        if self.related is not None:
            arrays["columns"] = self.related.columns
            parts["related"] = self.related.trees.state()
        return State(arrays, parts=parts)


def further_start(shallow: Singles) -> Singles:
    """Return where the scores of `related` begin, K × n, given what shallow trees say."""
    return np.float32(FURTHER_START) * np.log(np.maximum(shallow, TINY))
