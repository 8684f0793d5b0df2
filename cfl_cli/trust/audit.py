"""What rows that a person looked up say of all answers: Wilson's interval for a finite table.

Of N answers n are drawn without replacement, and X of these are right. Then Var(X/n) =
p(1−p)/n · (N−n)/(N−1), that of m = n(N−1)/(N−n) independent draws, and the interval holds those p
from which X/n is at most z standard errors away:

    (X/n + z²/2m ± z √(X/n (1 − X/n)/m + z²/4m²)) / (1 + z²/m)

The true p is a whole number of rows over N, at least X and at most X + N − n of them, so the ends
are rounded outward to such numbers. Nothing is assumed of how the cells came about.

An estimate without truth held if it differs from the audit by no more than chance may do:

    |estimate − X/n| ≤ √(a² + b²)

where a and b are the sides of the two intervals that face each other. This is the 95 % interval of
a difference; two intervals that just touch are farther apart.
"""

from math import ceil, floor, hypot

from cfl_cli.core.quick import dataclass
from cfl_cli.trust.intervals import Interval, wilson

WIDTH = 0.05  # of the interval that `more_rows` aims at


@dataclass(frozen=True)
class Audit:
    """What the rows that were looked up say of one CF. None: not known."""

    answers: int  # in the whole table
    drawn: int  # of these
    checked: int  # of those drawn: the true value was found
    empty: int  # of those drawn: it was not
    right: int  # of those checked
    accuracy: Interval
    if_empty_wrong: Interval | None  # the accuracy, had all that were left empty been wrong …
    if_empty_right: Interval | None  # … or right; None: none was left empty
    more_rows: int  # to be checked, about, for an interval of the width WIDTH
    estimate: Interval | None  # the accuracy of these answers as it was estimated without truth
    estimate_held: bool | None  # whether the two differ by no more than chance may do
    former_accuracy: Interval | None  # the report's estimated_accuracy before any audit …
    former_basis: str | None  # … and what it was based on
    contradicted: int | None  # checked values that the row's cell rules out; None: no schema

    @property
    def estimate_was(self) -> str | None:
        """Return which way the estimate missed; None: it held, or there was none."""
        if self.estimate is None or self.estimate_held is not False:
            return None
        return "too high" if self.estimate.value > self.accuracy.value else "too low"


def judge(
    *,
    answers: int,
    drawn: int,
    checked: int,
    right: int,
    estimate: Interval | None,
    former: tuple[Interval | None, str | None],
    contradicted: int | None,
) -> Audit:
    """Return what so many right answers among those checked mean for all of them."""
    accuracy = share(right, checked, answers)
    empty = drawn - checked
    return Audit(
        answers=answers,
        drawn=drawn,
        checked=checked,
        empty=empty,
        right=right,
        accuracy=accuracy,
        if_empty_wrong=share(right, drawn, answers) if empty else None,
        if_empty_right=share(right + empty, drawn, answers) if empty else None,
        more_rows=more_rows(right, checked, answers),
        estimate=estimate,
        estimate_held=agree(accuracy, estimate) if estimate else None,
        former_accuracy=former[0],
        former_basis=former[1],
        contradicted=contradicted,
    )


def agree(one: Interval, other: Interval) -> bool:
    """Return whether two independent estimates differ by no more than chance may do."""
    lower, upper = sorted((one, other), key=lambda interval: interval.value)
    reach = hypot(lower.high - lower.value, upper.value - upper.low)
    return upper.value - lower.value <= reach


def share(right: int, checked: int, answers: int) -> Interval:
    """Return the share of all answers that are right, from those of a random part."""
    low, high = ends(right / checked, checked, answers)
    fewest, most = right, right + answers - checked
    return Interval(
        right / checked,
        max(floor(low * answers), fewest) / answers,
        min(ceil(high * answers), most) / answers,
    )


def ends(observed: float, checked: float, answers: int) -> tuple[float, float]:
    """Return the ends of Wilson's interval before they are rounded to whole rows."""
    if checked >= answers:
        return observed, observed
    independent = checked * (answers - 1) / (answers - checked)
    interval = wilson(observed, independent)
    return interval.low, interval.high


def more_rows(right: int, checked: int, answers: int, width: float = WIDTH) -> int:
    """Return how many rows more the interval takes to be so narrow, as many being right as now."""
    least, enough = checked, answers
    if _width(right / checked, checked, answers) <= width:
        return 0
    while enough - least > 1:  # the width falls with every row
        middle = (least + enough) // 2
        if _width(right / checked, middle, answers) <= width:
            enough = middle
        else:
            least = middle
    return enough - checked


def _width(observed: float, checked: int, answers: int) -> float:
    low, high = ends(observed, checked, answers)
    return high - low
