"""Results → rows: mean, standard deviation, the paper's number and a verdict.

    noise = 2 · sqrt(sd² + the paper's sd²) + half of the paper's last digit
    matches   the means differ by no more than the noise
    better    ours is better by more: higher accuracy and F1, lower cross entropy
    worse     ours is worse by more

Entropy has no good or bad of its own: there the verdicts are `matches`, `higher` and `lower`.
"""

import csv
import io
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from statistics import fmean, stdev
from typing import Any, NamedTuple

from benchmarks.machine import Facts
from benchmarks.paper.plan import Imputation, Point, Prediction
from benchmarks.paper.published import METRICS, ROWS, Published, find, mean_of_cfs
from benchmarks.paper.store import Store

BY_CF = {"estimates", "checks"}  # parts that tell every CF, others only the mean
HIGHER_IS_BETTER = {"accuracy": True, "f1": True, "cross_entropy": False, "entropy": None}


@dataclass(frozen=True)
class Row:
    """One number with its spread, and what the paper has in its place."""

    part: str
    table: str
    rows: int
    subject: str  # a CF or a classifier; "" for the mean of all CFs
    series: str  # a method, what a classifier is told, or what else a line of a figure stands for
    at: float | None  # the value of the setting that varies
    metric: str
    mean: float
    sd: float | None  # of the seeds; None: only one
    values: tuple[float, ...]  # seed by seed
    paper_mean: float | None = None  # of the same, or of the paper's own method
    paper_sd: float | None = None
    paper_source: str | None = None
    verdict: str | None = None  # None: nothing to compare with

    @property
    def seeds(self) -> int:
        return len(self.values)

    @property
    def part_of_table(self) -> bool:
        return self.rows != ROWS.get(self.table, self.rows)


@dataclass(frozen=True)
class Summary:
    """All rows, and what they depend on."""

    machine: Facts
    rows: tuple[Row, ...]
    flagged: dict[str, dict[str, int]]  # "bank graph" → CF → in how many seeds it was flagged
    hours: dict[str, float]  # of one core, for methods and classifiers
    missing: int  # tasks that are yet to be done

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Summary":
        held: dict[str, Any] = json.loads(text)
        rows = (Row(**row | {"values": tuple(row["values"])}) for row in held["rows"])
        return cls(**held | {"rows": tuple(rows)})

    def to_csv(self) -> str:
        text = io.StringIO()
        writer = csv.DictWriter(text, [each.name for each in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            writer.writerow(asdict(row) | {"values": " ".join(map(str, row.values))})
        return text.getvalue()

    def of(self, part: str, table: str) -> list[Row]:
        return [row for row in self.rows if (row.part, row.table) == (part, table)]

    def get(self, part: str, table: str, subject: str, series: str, metric: str) -> Row | None:
        wanted = (subject, series, metric)
        found = (
            row
            for row in self.of(part, table)
            if (row.subject, row.series, row.metric) == wanted and row.at is None
        )
        return next(found, None)

    @property
    def tables(self) -> list[str]:
        return list(dict.fromkeys(row.table for row in self.rows))


def summarise(points: Iterable[Point], store: Store, machine: Facts) -> Summary:
    numbers: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    flagged: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    tasks: dict[str, float] = {}
    hours: dict[str, float] = defaultdict(float)
    missing = set()
    for point in points:
        task = point.task
        facts = store.facts(task)
        if facts is None:
            missing.add(task)
            continue
        for subject, metric, number in _numbers(point, facts):
            key = (point.part, task.table, facts["rows"], subject, point.series, point.at, metric)
            numbers[key].append(number)
        if point.part == "estimates" and isinstance(task, Imputation) and task.folds:
            counts = flagged[f"{task.table} {task.method}"]
            for cf in facts["flagged"]:
                counts[cf] += 1
        if task.name not in tasks:
            what = task.method if isinstance(task, Imputation) else task.classifier
            hours[what] += facts["seconds"] / 3600
        tasks[task.name] = facts["seconds"]
    return Summary(
        machine,
        tuple(_row(key, found) for key, found in numbers.items()),
        {name: dict(counts) for name, counts in flagged.items()},
        {name: round(total, 3) for name, total in hours.items()},
        len(missing),
    )


def _numbers(point: Point, facts: Facts) -> Iterator[tuple[str, str, float]]:
    if isinstance(point.task, Prediction):
        yield point.task.classifier, "f1", facts["f1"]
        return
    for metric in METRICS:
        found = {cf: scores[metric] for cf, scores in facts["scores"].items()}
        if point.part in BY_CF:
            for cf, number in found.items():
                yield cf, metric, number
        yield "", metric, fmean(found.values())


def _row(key: tuple[Any, ...], found: list[float]) -> Row:
    part, table, rows, subject, series, at, metric = key
    mean, sd = fmean(found), stdev(found) if len(found) > 1 else None
    paper = find(part, table, subject, series, metric)
    row = Row(part, table, rows, subject, series, at, metric, mean, sd, tuple(found))
    if part in BY_CF and not subject:
        method = "graph" if part == "checks" else series
        return replace(row, paper_mean=mean_of_cfs(table, method, metric))
    if paper is None:
        return row
    return replace(
        row,
        paper_mean=paper.mean,
        paper_sd=paper.sd,
        paper_source=paper.source,
        verdict=verdict(metric, mean, sd, paper),
    )


def verdict(metric: str, mean: float, sd: float | None, paper: Published) -> str:
    """Return how a number of ours compares with the paper's; one seed spreads as theirs do."""
    spread = 2 * math.hypot(paper.sd if sd is None else sd, paper.sd)
    difference = mean - paper.mean
    if abs(difference) <= spread + paper.rounding:
        return "matches"
    rises = difference > 0
    better = HIGHER_IS_BETTER[metric]
    if better is None:
        return "higher" if rises else "lower"
    return "better" if rises == better else "worse"


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
    return Claim(f"In {by}, `{method}` {verb} {than}", of, tuple(holds), tuple(fails), surely)


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
