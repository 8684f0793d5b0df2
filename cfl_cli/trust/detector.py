"""Evidence that cells are predicted worse than a limit, valid though one looks after every batch.

With x the loss of a cell, u the limit for cells like it, and bets f,

    E_f = Π (1 + f (x/u − 1))        M_f ← (M_f + 1) · E_f        M = mean of M_f

The product is over the cells of a batch; rows that belong together take part with their mean. If
no cell's expected loss, given all before it, exceeds u, then E[E_f] ≤ 1 whatever the distribution,
and M − (number of batches) is a supermartingale (Shiryaev and Roberts). With an alarm where
M ≥ c·C, after which M_f starts anew from 0, and C CFs, however these depend on each other,

    expected alarms of all CFs in T batches ≤ T / c        c = ALARM
"""

from collections.abc import Sequence
from dataclasses import field, replace
from math import exp, fsum, log
from typing import Annotated

import numpy as np
from pydantic import Field

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.groups import sums_by
from cfl_cli.core.quick import dataclass

BETS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # with 1/32 and 3/4 beside them, delays are the same
ALARM = 5000  # for each CF: one false alarm in so many batches, at most
MOST = 1e15  # evidence of a batch: what is beyond counts as this, which only makes alarms rarer
QUIET = 3  # batches without an alarm, at least, after which it may be over …
QUIET_CELLS = 200  # … if they hold so many cells, or small batches would end it by chance

Share = Annotated[float, Field(ge=0, le=1e30)]  # none that could overflow
Count = Annotated[int, Field(ge=0)]
Evidence = Annotated[  # M_f
    tuple[Share, ...], Field(min_length=len(BETS), max_length=len(BETS))
]


@dataclass(frozen=True)
class Pooled:
    """Cells of some batches in a row, added up."""

    batches: Count = 0
    cells: Count = 0
    losses: Share = 0.0
    limits: Share = 0.0

    @property
    def complete(self) -> bool:
        """Return whether there are enough of them to say that cells are predicted well again."""
        return self.batches >= QUIET and self.cells >= QUIET_CELLS


@dataclass(frozen=True)
class Course:
    """What the batches so far say of one CF: all that the next one needs to know."""

    evidence: Evidence = (0.0,) * len(BETS)
    drifted_since: Annotated[int, Field(ge=1)] | None = None  # number of the batch; None: it is not
    quiet: Pooled = field(default_factory=Pooled)  # while drifted: batches without a new alarm

    def after(self, batch: "BatchEvidence", number: int, *, cfs: int) -> "Step":
        """Return what the next batch, which has this number, makes of it; one CF of `cfs`."""
        if not batch.cells:
            return Step(self, float(np.mean(self.evidence)), alarm=False)
        grown = tuple(
            (before + 1) * ratio for before, ratio in zip(self.evidence, batch.ratios, strict=True)
        )
        evidence = fsum(grown) / len(grown)
        if evidence >= ALARM * cfs:
            since = self.drifted_since or number
            return Step(Course(drifted_since=since), evidence, alarm=True)
        if self.drifted_since is None:
            return Step(Course(grown), evidence, alarm=False)
        return Step(replace(self._quieter(batch), evidence=grown), evidence, alarm=False)

    def _quieter(self, batch: "BatchEvidence") -> "Course":
        """Return the course of a CF that has drifted, after a batch without a new alarm."""
        quiet = Pooled(
            self.quiet.batches + 1,
            self.quiet.cells + batch.cells,
            self.quiet.losses + batch.losses,
            self.quiet.limits + batch.limits,
        )
        if not quiet.complete:
            return replace(self, quiet=quiet)
        if quiet.losses <= quiet.limits:
            return replace(self, drifted_since=None, quiet=Pooled())
        return replace(self, quiet=Pooled())


@dataclass(frozen=True)
class Step:
    """What one batch makes of a CF's course."""

    course: Course
    evidence: float  # M, before it starts anew
    alarm: bool


@dataclass(frozen=True)
class BatchEvidence:
    """What the cells of one batch say of one CF: E_f, and the sums of losses and limits."""

    ratios: Sequence[float]
    cells: int
    losses: float
    limits: float

    @classmethod
    def of(cls, losses: Floats, limits: Floats, groups: Ints | None) -> "BatchEvidence":
        """Return it for cells, n; rows of one of `groups` belong together."""
        beyond = losses / limits - 1
        if groups is not None:
            beyond = sums_by(groups, beyond) / sums_by(groups, np.ones(len(beyond)))
        logs = (fsum(np.log1p(bet * beyond).tolist()) for bet in BETS)
        ratios = tuple(exp(min(total, log(MOST))) for total in logs)
        return cls(ratios, len(losses), fsum(losses.tolist()), fsum(limits.tolist()))
