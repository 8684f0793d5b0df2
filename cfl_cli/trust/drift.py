"""Whether a batch's cells are predicted worse than those at fitting, and how much worse.

    rise = mean of x − m_s        m_s: the mean loss of reference cells with as many exclusions

Were some cells those of other rows, their losses would be larger: from this follows which rise a
batch would have shown. `reference` has the limits, `detector` what is made of many batches.
"""

from collections.abc import Mapping
from math import log, sqrt

import numpy as np

from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.groups import sums_by
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.detector import ALARM, BETS, BatchEvidence
from cfl_cli.trust.drift_figures import Drift
from cfl_cli.trust.hidden_cells import HiddenCells
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.losses import losses, ratios
from cfl_cli.trust.reference import (
    ColumnReference,
    JudgedCells,
    Reference,
    judged_rows,
    mean,
    of_sizes,
    variance_of_mean,
)

SURE = 1.645  # standard errors that leave 5 % to one side
STEPS = 64  # of the share of scrambled cells that a batch might have shown
NONE_ALIKE = "no cell of this batch is like those that were hidden at fitting"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The cells of one CF in a batch beside its reference."""

    drift: Drift | None  # None: there is nothing to compare
    reason: str | None  # why there is nothing
    evidence: BatchEvidence
    score_change: Interval | None  # of the held-out score, for as many exclusions


NOTHING = BatchEvidence((1.0,) * len(BETS), 0, 0.0, 0.0)


def compare(hidden: HiddenCells | None, reference: Reference, number: int) -> Comparison:
    """Return how new cells of a CF are predicted; its drift knows nothing of other batches yet."""
    column, limits = reference.columns[number], reference.limits(number)
    if column.reason is not None or hidden is None:
        return Comparison(None, column.reason or NONE_ALIKE, NOTHING, None)
    shares = np.array(column.shares)
    cells = JudgedCells.of(hidden, shares, column.lows)
    if not len(cells.losses):
        return Comparison(None, NONE_ALIKE, NOTHING, None)
    rows = _AtFitting(cells.exclusions, column, limits)
    evidence = BatchEvidence.of(cells.losses, rows.limits, cells.groups)
    rise = cells.losses - rows.of("loss")
    error = _error(variance_of_mean(rise, cells.groups), rows.variance("loss_variance"))
    better = cells.scores - rows.of("score")
    score_error = _error(variance_of_mean(better, cells.groups), rows.variance("score_variance"))
    drift = Drift(
        cells=len(cells.losses),
        loss=mean(cells.losses),
        loss_at_fitting=mean(rows.of("loss")),
        limit=mean(rows.limits),
        error=error,
        expected=mean(cells.expected),
        expected_at_fitting=mean(rows.of("expected")),
        least_rise=least_rise(
            cells.losses,
            rows.of("loss"),
            scrambled(hidden, shares, column.lows),
            rows.limits,
            independent=len(sums_by(cells.groups, cells.losses)),
            cfs=len(reference.columns),
        ),
    )
    change = None if score_error is None else Interval.around(mean(better), score_error)
    return Comparison(drift, None, evidence, change)


def scrambled(hidden: HiddenCells, shares: Floats, lows: Mapping[int, float]) -> Floats:
    """Return the losses of judged rows had they cells of other rows, with as many exclusions."""
    sizes = (~hidden.cells).sum(axis=1)
    others = np.arange(len(sizes))
    for size in lows:
        rows = np.flatnonzero(sizes == size)
        others[rows] = np.roll(rows, -(-len(rows) // 2))
    rows = judged_rows(hidden.cells, list(lows))
    found = ratios(hidden.prior[rows], hidden.cells[others[rows]], hidden.mechanism, shares)
    return losses(found, of_sizes(lows, sizes[rows]))


def least_rise(
    own: Floats,
    at_fitting: Floats,
    scrambled: Floats,
    limits: Floats,
    *,
    independent: int,
    cfs: int,
) -> float | None:
    """Return the least rise of the mean loss that a batch alone shows with a probability of 95 %.

    Its cells' losses are scaled to the mean that they had at fitting; then some become those that
    the same rows have with other rows' cells. None is returned if not even all of them would show
    anything.
    """
    mean_at_fitting, mean_now = mean(at_fitting), mean(own)
    scaled = own * (mean_at_fitting / mean_now) if mean_now > 0 else at_fitting
    stable = np.minimum(scaled, 1.0)
    shares = np.arange(STEPS + 1) / STEPS
    shown = np.zeros(len(shares), dtype=bool)
    for bet in BETS:
        before, after = (np.log1p(bet * (loss / limits - 1)) for loss in (stable, scrambled))
        gap = after.mean() - before.mean()
        growth = before.mean() + shares * gap
        variance = (
            (1 - shares) * before.var() + shares * after.var() + shares * (1 - shares) * gap**2
        )
        surely = independent * growth - SURE * np.sqrt(independent * variance)
        shown |= surely >= log(len(BETS) * ALARM * cfs)
    rise = mean(scrambled) - mean_at_fitting
    return float(shares[shown.argmax()] * rise) if shown.any() and rise > 0 else None


class _AtFitting:
    """What is known at fitting of cells like those of a batch, n."""

    def __init__(self, exclusions: Ints, column: ColumnReference, limits: dict[int, float]) -> None:
        self._column = column
        self._places = np.searchsorted([of.exclusions for of in column.sizes], exclusions)
        self.limits = np.array([limits[of.exclusions] for of in column.sizes])[self._places]

    def of(self, name: str) -> Floats:
        """Return a fact of the reference for every cell."""
        return np.array([getattr(of, name) for of in self._column.sizes])[self._places]

    def variance(self, name: str) -> float:
        """Return the variance of the references' mean, weighted as the batch's cells are."""
        counts = np.bincount(self._places, minlength=len(self._column.sizes))
        weights = counts / len(self._places)
        parts = [getattr(of, name) for of in self._column.sizes]
        return float(weights**2 @ parts) * (2 if self._column.mutual else 1)


def _error(variance: float | None, at_fitting: float) -> float | None:
    return None if variance is None else sqrt(variance + at_fitting)
