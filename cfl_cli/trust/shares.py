"""How common a CF's values are, how sure its answers are, and how many a threshold would leave.

    estimated(v) = mean confidence of v        ruled out(v) = share of the cells that rule v out

Shares that are small may point at people: what is under 1 %, or fewer than ten rows, is None. Cells
with the exact mark, which rule out all but one value, are not counted among those that rule out.
"""

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.trust.calibration import BINS, bins
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.heldout import HeldOut
from cfl_cli.trust.report import Coverage, ValueShare

LEAST_SHARE = 0.01
LEAST_ROWS = 10
THRESHOLDS = tuple(percent / 100 for percent in range(50, 100, 5))  # of a confidence


def value_shares(facts: ColumnFacts) -> tuple[ValueShare, ...]:
    """Return how common each value of the domain is.

    Where a schema does not list the domain, its values come from cells: of those, a rare one has no
    label.
    """
    block, candidates = facts.block, facts.candidates
    lists = ~candidates.all(axis=1)
    if block.marked is not None:
        lists &= ~block.marked
    estimated = _common(facts.confidences.mean(axis=0), len(candidates))
    ruled_out = _common((~candidates[lists]).sum(axis=0) / max(lists.sum(), 1), int(lists.sum()))
    return tuple(
        ValueShare(value if block.listed or (one, other) != (None, None) else None, one, other)
        for value, one, other in zip(block.values, estimated, ruled_out, strict=True)
    )


def _common(shares: Floats, rows: int) -> list[float | None]:
    """Return the shares of so many rows, None for the small ones."""
    small = (shares < LEAST_SHARE) | (shares * rows < LEAST_ROWS)
    return [None if few else share for few, share in zip(small, shares.tolist(), strict=True)]


def confidence_shares(facts: ColumnFacts) -> tuple[float, ...]:
    """Return the share of the answers in each tenth of confidence; exact cells are left aside."""
    open_cells = facts.candidates.sum(axis=1) > 1
    if not open_cells.any():
        return ()
    counts = np.bincount(bins(facts.answer_confidences[open_cells]), minlength=BINS)
    return tuple((counts / counts.sum()).tolist())


def coverage(facts: ColumnFacts, judged: HeldOut | None) -> tuple[Coverage, ...]:
    """Return what each of the thresholds would leave; `judged` was asked for these first."""
    confidences = facts.answer_confidences
    shares = [float((confidences >= least).mean()) for least in THRESHOLDS]
    accuracies = judged.confident_accuracies if judged else ()
    return tuple(
        Coverage(least, share, accuracies[place] if accuracies and share else None)
        for place, (least, share) in enumerate(zip(THRESHOLDS, shares, strict=True))
    )
