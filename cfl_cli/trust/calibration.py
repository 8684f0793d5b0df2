"""Whether answers are right as often as their confidence says.

Over the cells that rows might have, their own being one: a row's own cell alone cannot show both
how confident its answer is and whether it is right. In a bin of confidence,

    accuracy = Σ P(cell) · 1[answer is true] / Σ P(cell)     confidence = Σ P(cell) · c / Σ P(cell)

Exact cells are left aside.
"""

import numpy as np

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.groups import sums_by
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.possible_cells import PossibleAnswers, sums

BINS = 10  # of confidence, equally wide
LEAST_CELLS = 1  # fewer answers than this, by their estimated share, are too few to judge
HEIGHTS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Bin:
    """Hidden cells whose answers are about as confident."""

    low: float  # confidence
    high: float
    cells: int
    confidence: float  # mean
    accuracy: Interval


@dataclass(frozen=True)
class Calibration:
    """Whether answers are right as often as their confidence says."""

    error: float  # root mean square of accuracy − confidence over the cells, noise subtracted
    overconfidence: Interval  # mean confidence − accuracy
    bins: tuple[Bin, ...]  # those that hold any cells
    plot: str  # a sign for each tenth of confidence, as high as its accuracy; blank: no cells
    power: float | None = None  # to which confidences were raised before; None: they were not


class Tally:
    """The answers of rows added up by their confidence, each row by its weight."""

    def __init__(self, groups: Ints | None = None) -> None:
        self._groups = groups  # m: rows with the same number belong together; None: none do
        self._rows: list[Floats] = []  # of groups, whose sums are known in the end only
        # 3 × BINS: shares of the answers that are right, expected to be right, and given …
        self.shares = np.zeros((3, BINS))
        # … and 3·BINS × 3·BINS: the sums of squares and products behind them.
        self._squares = np.zeros((3 * BINS, 3 * BINS))

    def add(self, answers: PossibleAnswers, is_true: Floats, weights: Floats) -> None:
        """Add b rows; `is_true` estimates without bias, b × K, which value is true."""
        places = bins(answers.confidences)
        right = answers.if_true * np.take_along_axis(is_true, answers.values, axis=1)
        expected = answers.probabilities * answers.confidences
        parts = (right, expected, answers.probabilities)
        rows = weights[:, None] * np.hstack([sums(numbers, places, BINS) for numbers in parts])
        self.shares += rows.sum(axis=0).reshape(3, BINS)
        if self._groups is None:
            self._squares += rows.T @ rows
        else:
            self._rows.append(rows)

    @property
    def squares(self) -> Floats:
        """Return the sums of squares and products of rows, or groups, 3·BINS × 3·BINS."""
        if self._groups is None:
            return self._squares
        sums = sums_by(self._groups, np.vstack(self._rows))
        return sums.T @ sums

    def calibration(
        self, confidences: Floats, exact: Mask, *, largest_step: float, reach: float
    ) -> Calibration:
        """Return how often answers are right, by their confidence.

        `confidences` are those of the m rows' own answers, and `exact` says which of their cells
        are exact. `largest_step` is how far one row could move the accuracy at most.
        """
        given, behind = self.shares[2], self.squares
        counts = np.bincount(bins(confidences[~exact]), minlength=BINS)
        places = np.flatnonzero((counts > 0) & (given * len(exact) >= LEAST_CELLS))
        parts, squares = [], 0.0
        for place in places:
            gap, error = self._gap(np.arange(BINS) == place, behind)
            parts.append(self._bin(int(place), int(counts[place]), error))
            squares += counts[place] / counts[places].sum() * (gap**2 - error**2)
        gap, error = self._gap(np.ones(BINS, dtype=bool), behind)
        error = float(np.hypot(error, largest_step / given.sum()))
        return Calibration(
            error=float(np.sqrt(max(squares, 0))),
            overconfidence=Interval.around(-gap, error, reach=reach),
            bins=tuple(parts),
            plot=_plot(parts),
        )

    def _bin(self, place: int, cells: int, error: float) -> Bin:
        right, expected, share = self.shares[:, place].tolist()
        return Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            cells=cells,
            confidence=expected / share,
            # Unbiased, so that chance may carry it out of 0 to 1.
            accuracy=Interval.around(right / share, error).as_share,
        )

    def _gap(self, chosen: Mask, squares: Floats) -> tuple[float, float]:
        """Return accuracy − confidence of the answers in some bins, and its standard error."""
        right, expected, share = self.shares[:, chosen].sum(axis=1)
        gap = (right - expected) / share
        turn = np.concatenate([1.0 * chosen, -1.0 * chosen, -gap * chosen])
        return float(gap), float(np.sqrt(max(turn @ squares @ turn, 0)) / share)


def bins(confidences: Floats) -> Ints:
    """Return the bins of confidences; 1 belongs to the last."""
    return np.asarray(np.minimum((confidences * BINS).astype(int), BINS - 1))


def _plot(parts: list[Bin]) -> str:
    heights = {round(part.low * BINS): part.accuracy.value for part in parts}
    return "".join(
        HEIGHTS[round(heights[place] * (len(HEIGHTS) - 1))] if place in heights else " "
        for place in range(BINS)
    )
