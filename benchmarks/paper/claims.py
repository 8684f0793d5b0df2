"""What the rows say in short: for how many CFs a method is better than another, and surely so.

The same is asked of classifiers that are told what methods say.

A claim holds for a CF by the means over the seeds. Methods are run on the same masks, so the seeds
give pairs: it holds surely if the mean of the differences is more than twice its standard error.
The paper's masks are others: there, surely is what the verdict says.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from benchmarks.paper.summary import HIGHER_IS_BETTER, Row, Summary

PAPER = "the paper"
BOTH = ("accuracy", "cross_entropy")
INPUTS = (
    ("graph-soft", "observed"),
    ("graph-hard", "observed"),
    ("auto-soft", "observed"),
    ("auto-hard", "observed"),
    ("auto-soft", "graph-soft"),
    ("auto-hard", "graph-hard"),
)
BY = {"accuracy": "accuracy", "cross_entropy": "cross entropy", "f1": "F1 of the target"}


class Contest(NamedTuple):
    """How a method does against another on one CF, or by one classifier, by one metric."""

    lead: float  # of the means; above 0: better
    surely: bool  # whether the lead, or the lag, is more than chance


@dataclass(frozen=True)
class Claim:
    """Something that holds for some of all CFs or classifiers."""

    words: str
    of: str  # CFs or classifiers
    holds: tuple[str, ...]  # for which of them
    fails: tuple[str, ...]
    surely: int  # for how many of those that it holds for, by more than chance


def claims(summary: Summary) -> list[Claim]:
    found = [
        _claim(summary, "graph", (PAPER,), ("accuracy",), strict=False),
        _claim(summary, "graph", ("ipal",), ("accuracy",), strict=False),
        _claim(summary, "graph", ("commonest",), ("accuracy",), strict=True),
        _claim(summary, "auto", (PAPER, "ipal"), BOTH, strict=True),
        _claim(summary, "auto", ("graph",), BOTH, strict=True),
        _claim(summary, "auto", ("commonest",), BOTH, strict=True),
        *(
            _claim(summary, given, (other,), ("f1",), strict=True, part="labels")
            for given, other in INPUTS
        ),
    ]
    return [claim for claim in found if claim.holds or claim.fails]


def _claim(
    summary: Summary,
    method: str,
    others: Sequence[str],
    metrics: Sequence[str],
    *,
    strict: bool,
    part: str = "estimates",
) -> Claim:
    rows = [row for row in summary.rows if row.part == part and row.subject]
    held = {(row.table, row.subject, row.series, row.metric): row for row in rows}
    subjects = dict.fromkeys((row.table, row.subject) for row in rows)
    holds: list[str] = []
    fails: list[str] = []
    surely = 0
    for subject in subjects:
        found = [
            _contest(held, subject, method, *rival) for rival in itertools.product(others, metrics)
        ]
        contests = [contest for contest in found if contest]
        if len(contests) < len(found):
            continue
        good = all(each.lead > 0 or (each.lead == 0 and not strict) for each in contests)
        (holds if good else fails).append(" ".join(subject))
        surely += good and all(each.surely for each in contests)
    than = " and ".join(other if other == PAPER else f"`{other}`" for other in others)
    by = " and ".join(map(BY.__getitem__, metrics))
    of = "CFs" if part == "estimates" else "classifiers"
    verb = "beats" if strict else "is at least as good as"
    return Claim(f"`{method}` {verb} {than}, by {by}", of, tuple(holds), tuple(fails), surely)


def _contest(
    held: dict[tuple[str, str, str, str], Row],
    subject: tuple[str, str],
    method: str,
    other: str,
    metric: str,
) -> Contest | None:
    """Return how a method does, or None if there is nothing to compare."""
    ours = held.get((*subject, method, metric))
    sign = 1 if HIGHER_IS_BETTER[metric] else -1
    if ours is None:
        return None
    if other == PAPER:
        if ours.paper_mean is None:
            return None
        return Contest(sign * (ours.mean - ours.paper_mean), ours.verdict != "matches")
    theirs = held.get((*subject, other, metric))
    if theirs is None or theirs.seeds != ours.seeds:
        return None
    leads = [sign * (one - two) for one, two in zip(ours.values, theirs.values, strict=True)]
    lead = fmean(leads)
    return Contest(lead, len(leads) > 1 and abs(lead) > 2 * stdev(leads) / math.sqrt(len(leads)))
