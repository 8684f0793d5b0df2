"""Drawings of a course: steps against the held-out score, and batches against accuracy and loss."""

from collections.abc import Sequence

from cfl_cli.cli.show.history import CfCourse, odds
from cfl_cli.cli.show.web import charts, numbers
from cfl_cli.cli.show.web.charts import LEFT, QUARTERS, RIGHT, TOP, Axis, Point, Tick
from cfl_cli.cli.show.web.plots import BOTTOM
from cfl_cli.core.quick import dataclass
from cfl_cli.estimators.interface import Tried
from cfl_cli.trust.history import CfLine
from cfl_cli.trust.report import ColumnReport


@dataclass(frozen=True)
class Line:
    """Points that belong together."""

    name: str
    points: tuple[Point, ...]
    line: str
    band: str = ""


@dataclass(frozen=True)
class Course:
    """Lines over the same axes."""

    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    marked: tuple[Point, ...]  # the chosen one, or alarms
    finding: str


def tried(column: ColumnReport) -> Course | None:
    """Return scores after some steps of each round, one of them marked; None: nothing was chosen.

    The mark is at what was chosen; where that is not recorded, at the highest score.
    """
    scored = [
        (one.round, step, score)
        for one in column.tried
        for step, score in zip(one.steps, one.scores, strict=False)
    ]
    if len(scored) < 2:
        return None
    steps = sorted({max(step, 1) for _, step, _ in scored})
    x = Axis(steps[0], steps[-1], LEFT + 8, RIGHT - 8, logarithmic=True)
    y = _axis([score for *_, score in scored])
    chosen = [one for one in scored if one[:2] == (column.round, column.iterations)]
    word = "chosen" if chosen else "best"
    number, step, score = (chosen or [max(scored, key=lambda one: one[2])])[0]
    marked = Point(x.at(max(step, 1)), y.at(score), y.at(score), y.at(score))
    text = f"{numbers.whole(step)} steps"
    shown = charts.some(steps, 6)
    return Course(
        tuple(_round(one, x, y) for one in column.tried),
        charts.apart(x.ticks(shown, map(numbers.whole, shown))),
        _ticks(y),
        charts.labelled([marked], [f"{word}: {text}"], top=TOP - 10, bottom=BOTTOM, gap=11),
        f"{word.capitalize()}: round {numbers.whole(number)}, after {text}.",
    )


def _round(one: Tried, x: Axis, y: Axis) -> Line:
    """Return the scores of one round."""
    points = tuple(
        Point(x.at(max(step, 1)), y.at(score), y.at(score), y.at(score))
        for step, score in zip(one.steps, one.scores, strict=False)
    )
    return Line(
        f"round {numbers.whole(one.round)}", points, charts.path((p.x, p.y) for p in points)
    )


def _axis(values: Sequence[float]) -> Axis:
    """Return an axis for numbers of any size, with some room beside them."""
    low, high = (
        min(max(one, -charts.FARTHEST), charts.FARTHEST) for one in (min(values), max(values))
    )
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return Axis(low - room, high + 2 * room, BOTTOM, TOP)  # a text may stand above


def _ticks(axis: Axis) -> tuple[Tick, ...]:
    """Return round numbers of a y axis, short enough to stand beside it."""
    found = charts.round_numbers(axis.low, axis.high, 5)
    return axis.ticks(found, (f"{one:.3g}" if one else "0" for one in found))


@dataclass(frozen=True)
class Drifted:
    """A CF in all batches of its model."""

    accuracy: Course | None  # None: hardly ever known
    loss: Course | None
    limits: str  # of the loss, a line
    sentence: str


def drifted(course: CfCourse) -> Drifted:
    """Return how well one batch after the other was predicted."""
    return Drifted(
        _accuracies(course),
        _losses(course),
        _limits(course),
        _said(course),
    )


def _said(course: CfCourse) -> str:
    batches, judged = len(course.batches), course.judged
    if not judged:
        return "There is nothing to judge drift by."
    last = judged[-1]
    figures = f"loss {numbers.decimal(last.loss or 0, 4)}"
    if last.limit is not None:
        figures += f", limit {numbers.decimal(last.limit, 4)}"
    if batches == 1:
        how = "it has drifted" if last.drifted else "no drift"
        return f"One batch so far: {how} ({figures})."
    since = course.drifted_since
    if since is None:
        return f"No drift in {numbers.whole(batches)} batches; the last one: {figures}."
    alarm = course.batches[since - course.first]
    return (
        f"Its cells have been predicted worse than those at fitting since batch "
        f"{numbers.whole(since)}: loss {numbers.decimal(alarm.loss or 0, 4)} there, limit "
        f"{numbers.decimal(alarm.limit or 0, 4)}; evidence {odds(alarm.evidence or 0.0)}."
    )


def _x(course: CfCourse) -> tuple[Axis, tuple[Tick, ...]]:
    batches = range(course.first, course.first + len(course.batches))
    x = Axis(batches[0], batches[-1], LEFT + 8, RIGHT - 8)
    shown = [round(one) for one in charts.round_numbers(batches[0], batches[-1]) if one == int(one)]
    shown = shown if len(batches) > charts.MOST else [*batches]
    return x, charts.apart(x.ticks(shown, map(numbers.whole, shown)))


def _numbered(course: CfCourse) -> list[tuple[int, CfLine]]:
    return [(course.first + place, line) for place, line in enumerate(course.batches)]


def _accuracies(course: CfCourse) -> Course | None:
    known = [(n, one.accuracy) for n, one in _numbered(course) if one.accuracy is not None]
    if len(known) < 2:
        return None
    x, x_ticks = _x(course)
    y = Axis(0, 1, BOTTOM, TOP)
    points = tuple(
        Point(x.at(n), y.at(one.value), y.at(one.low), y.at(one.high)) for n, one in known
    )
    line = Line("accuracy", points, charts.path((p.x, p.y) for p in points), charts.band(points))
    first, last = known[0][1], known[-1][1]
    return Course(
        (line,),
        x_ticks,
        y.ticks(QUARTERS, ("0", "25", "50", "75", "100")),
        (),
        f"From {numbers.percents(first)} in the first batch to {numbers.percents(last)} in the "
        "last.",
    )


def _limits(course: CfCourse) -> str:
    known = [(n, one.limit) for n, one in _numbered(course) if one.limit is not None]
    if len(known) < 2:
        return ""
    x, y = _x(course)[0], _loss_axis(course)
    return charts.path((x.at(n), y.at(limit)) for n, limit in known)


def _loss_axis(course: CfCourse) -> Axis:
    values = [
        value for one in course.judged for value in (one.loss, one.limit) if value is not None
    ]
    return _axis(values)


def _losses(course: CfCourse) -> Course | None:
    known = [(n, one, one.loss) for n, one in _numbered(course) if one.loss is not None]
    if len(known) < 2:
        return None
    x, x_ticks = _x(course)
    y = _loss_axis(course)
    points = tuple(Point(x.at(n), y.at(loss), y.at(loss), y.at(loss)) for n, _, loss in known)
    alarms = [
        (n, point)
        for (n, one, _), point in zip(known, points, strict=True)
        if one.course.drifted_since == n
    ]
    return Course(
        (Line("loss", points, charts.path((p.x, p.y) for p in points)),),
        x_ticks,
        _ticks(y),
        charts.labelled(
            [point for _, point in alarms],
            [f"drift: batch {numbers.whole(n)}" for n, _ in alarms],
            top=TOP - 10,
            bottom=BOTTOM,
            gap=11,
        )
        if alarms
        else (),
        _said(course),
    )
