"""The hidden cells of one CF beside what was said of them: all figures without truth need both."""

from functools import cached_property

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.groups import ranks
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.intervals import NORMAL


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """The hidden cells of m rows, and the priors that were made without them."""

    prior: Floats  # m × K
    cells: Mask  # m × K: what each cell leaves possible
    mechanism: Mechanism
    mutual: bool = False  # were rows hidden in turn, so that each helped to judge the others?
    groups: Ints | None = None  # m: rows with the same number belong together; None: none do

    @property
    def reach(self) -> float:
        """Return how many standard errors of independent cells an interval reaches.

        What chance makes of two folds' cells counts twice where each judges the other, and the
        variance of an estimate is up to twice that of as many independent cells.
        """
        return float(NORMAL * np.sqrt(2)) if self.mutual else NORMAL

    @cached_property
    def effective_share(self) -> float:
        """Return how many independent rows each row counts for: Σg/Σg² over groups of g rows."""
        if self.groups is None:
            return 1.0
        sizes = np.bincount(ranks(self.groups)).astype(float)
        return float(sizes.sum() / (sizes @ sizes))

    @cached_property
    def ranked(self) -> Ints:
        """Return the values of each row by their prior, m × K, the likeliest first."""
        return np.argsort(-self.prior, axis=1, kind="stable")
