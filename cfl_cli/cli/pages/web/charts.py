"""Where marks stand in a drawing: numbers in, coordinates out, rounded to tenths of a pixel.

Drawings are 320 wide, those in a row of a table 160; y grows downward. Markup is in the templates.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log, log10

from cfl_cli.cli.pages.history import CfCourse, odds
from cfl_cli.methods.interface import Tried
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.history import CfLine
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Coverage

_ROW, _MARGIN = 160, 5  # width of a drawing in a row, and what is left free on either side
LEFT, RIGHT, TOP = 46, 306, 26  # of what is plotted in a drawing of its own
LETTER, LINE = 7.5, 15  # room that a digit takes, at most
FARTHEST = 1e9  # a number beyond is drawn as this one
_MOST = 5  # numbers at an axis
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def rounded(place: float) -> float:
    """Return a coordinate without digits that nobody sees."""
    place = round(place, 1)
    return int(place) if place == int(place) else place


@dataclass(frozen=True)
class Whisker:
    """An estimate in a row of a table: where it is, and where its interval ends."""

    at: float
    low: float
    high: float


def in_row(share: float) -> float:
    return rounded(_MARGIN + (_ROW - 2 * _MARGIN) * min(max(share, 0.0), 1.0))


def whisker(interval: Interval | None) -> Whisker | None:
    """Return where an accuracy and its interval are in a row."""
    if interval is None:
        return None
    return Whisker(in_row(interval.value), in_row(interval.low), in_row(interval.high))


@dataclass(frozen=True)
class EntropyBar:
    """What is left of the entropy at the start, and what shuffled cells would leave."""

    left: float  # where the bar ends
    shuffled: float | None  # where its mark is; None: not known


def entropy_bar(reduction: float, shuffled: float | None) -> EntropyBar:
    """Return a bar from `in_row(0)` on, as long as the share of the entropy that is left."""
    return EntropyBar(in_row(1 - reduction), None if shuffled is None else in_row(1 - shuffled))


def bar(share: float, most: float, width: int = _ROW) -> float:
    """Return how long a share's bar is where the largest is as wide as there is room."""
    return rounded(width * min(max(share / most, 0.0), 1.0)) if most > 0 else 0


@dataclass(frozen=True)
class Axis:
    """Numbers along an axis, and where these are."""

    low: float
    high: float
    start: float  # where `low` is
    end: float
    logarithmic: bool = False

    def at(self, number: float) -> float:
        """Return where a number is; beyond the axis, its end."""
        number = min(max(number, self.low), self.high)
        low, high = self.low, self.high
        if self.logarithmic:
            number, low, high = log(number), log(low), log(high)
        part = (number - low) / (high - low) if high > low else 0.5
        return rounded(self.start + part * (self.end - self.start))

    def ticks(self, numbers: Iterable[float], texts: Iterable[str]) -> tuple["Tick", ...]:
        return tuple(Tick(self.at(one), text) for one, text in zip(numbers, texts, strict=True))


@dataclass(frozen=True)
class Tick:
    """A number at an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Point:
    """An estimate with its interval in a drawing, and what it is said to be, if there is room."""

    x: float
    y: float
    low: float  # where the interval ends, y
    high: float
    text: str = ""
    text_x: float = 0
    text_y: float = 0
    hollow: bool = False  # known by few cells


def round_numbers(low: float, high: float, most: int = _MOST) -> tuple[float, ...]:
    low, high = (min(max(one, -FARTHEST), FARTHEST) for one in (low, high))
    if not high > low:
        return (low,)
    unit = 10 ** floor(log10((high - low) / most))
    for step in (unit, 2 * unit, 5 * unit, 10 * unit, 20 * unit):
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first < most:
            return tuple(number * step for number in range(first, last + 1))
    return (low, high)


def some(numbers: Sequence[int], most: int = _MOST) -> tuple[int, ...]:
    """Return at most so many of the numbers, the first and the last among them."""
    if len(numbers) <= most:
        return tuple(numbers)
    places = {round(part * (len(numbers) - 1) / (most - 1)) for part in range(most)}
    return tuple(numbers[place] for place in sorted(places))


def apart(ticks: Iterable[Tick], least: float = 12) -> tuple[Tick, ...]:
    """Return the ticks of an x axis whose texts do not touch those before."""
    kept: list[Tick] = []
    for tick in ticks:
        room = (len(tick.text) + len(kept[-1].text)) * LETTER / 2 + least if kept else 0
        if not kept or abs(tick.at - kept[-1].at) >= room:
            kept.append(tick)
    return tuple(kept)


@dataclass(frozen=True)
class _Box:
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def labelled(
    points: Sequence[Point],
    texts: Sequence[str],
    *,
    top: float,
    bottom: float,
    gap: float = 6,
) -> tuple[Point, ...]:
    """Return the points with their texts above or below them, where they meet no other text."""
    boxes: list[_Box] = []
    found: dict[int, Point] = {}
    order = [0, len(points) - 1, *range(1, len(points) - 1)] if len(points) > 1 else [0]
    for place in order[: len(points)]:
        point, text = points[place], texts[place]
        half = len(text) * LETTER / 2
        x = min(max(point.x, LEFT + half), RIGHT - half)
        for y in (point.high - gap, point.low + gap + LINE - 4):
            box = _Box(x - half - 1, y - LINE + 2, x + half + 1, y + 3)
            if box.top >= top and box.bottom <= bottom and not any(map(box.meets, boxes)):
                boxes.append(box)
                found[place] = Point(
                    point.x, point.y, point.low, point.high, text, rounded(x), rounded(y)
                )
                break
    return tuple(found.get(place, point) for place, point in enumerate(points))


def path(points: Iterable[tuple[float, float]]) -> str:
    """Return points as an SVG `points` attribute: numbers alone."""
    return " ".join(f"{x},{y}" for x, y in points)


def band(points: Sequence[Point]) -> str:
    return path([*((p.x, p.high) for p in points), *((p.x, p.low) for p in reversed(points))])


# Numbers on a page: the one place where they become text.
#
# A report may come from anybody, and its numbers may be of any size.

_HUGE = 1e6  # from which digits say nothing more
LARGE_TABLE = 1000  # rows, from which 1 % is at least 10 of them


def percent(share: float, digits: int = 0) -> str:
    if abs(share) >= _HUGE:
        return decimal(share)
    text = f"{100 * share:.{digits}f}"
    return f"{'0' if float(text) == 0 else text} %"


def some_percent(share: float) -> str:
    if share == 0:
        return "none"
    return "under 1 %" if 0 < share < 0.005 else percent(share)


def percents(interval: Interval) -> str:
    low, high = (percent(end).removesuffix(" %") for end in (interval.low, interval.high))
    return f"{percent(interval.value)} ({_from_to(low, high)})"


def decimal(number: float, digits: int = 2) -> str:
    if abs(number) >= _HUGE:
        return f"{number:.3g}"
    text = f"{number:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def decimals(interval: Interval, digits: int = 2) -> str:
    value, low, high = (
        decimal(part, digits) for part in (interval.value, interval.low, interval.high)
    )
    return f"{value} ({_from_to(low, high)})"


def _from_to(low: str, high: str) -> str:
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def whole(number: int) -> str:
    return f"{number:,}"


def share_or_rare(share: float | None, rows: int) -> str:
    """Return a share of so many rows; None is one so small that it might point at people."""
    if share is not None:
        return percent(share, 1)
    return "under 1 %" if rows >= LARGE_TABLE else "under 10 rows"


def seconds(time: float) -> str:
    return f"{decimal(time, 1)} s"


def sort_key(number: float | None) -> str:
    """Return what a script sorts by: the number itself; nothing if it is not known."""
    return "" if number is None else f"{number:.6g}"


# Drawings of one CF: reliability and coverage.

_SOME = 0.05  # share of the answers, of which fewer say little
FEW = 30  # cells, below which a dot is hollow
SIDE = RIGHT - LEFT  # of a square
COUNTED = (TOP + SIDE + 14, TOP + SIDE + 64)  # top and bottom of a histogram below it
BOTTOM = 214  # of what is plotted in a drawing 260 high


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram."""

    x: float
    y: float
    width: float
    height: float
    text: str  # what it shows


@dataclass(frozen=True)
class Reliability:
    """Share of answers that are right against their confidence, above how often each occurs."""

    points: tuple[Point, ...]
    bars: tuple[Bar, ...]
    counted: str  # what bars show
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    finding: str
    rows: tuple[tuple[str, str, str], ...]  # confidence, cells, right: the same in numbers


def reliability(calibration: Calibration, shares: tuple[float, ...]) -> Reliability:
    """Return the drawing; `shares` are those of all answers by tenths of confidence, if known."""
    x, y = Axis(0, 1, LEFT, RIGHT), Axis(0, 1, TOP + SIDE, TOP)
    points = tuple(
        Point(
            x.at(one.confidence),
            y.at(one.accuracy.value),
            y.at(one.accuracy.low),
            y.at(one.accuracy.high),
            hollow=one.cells < FEW,
        )
        for one in calibration.bins
    )
    if shares:
        parts = [(i / len(shares), (i + 1) / len(shares), s) for i, s in enumerate(shares)]
        counted = "share of all answers"
    else:
        cells = sum(one.cells for one in calibration.bins) or 1
        parts = [(one.low, one.high, one.cells / cells) for one in calibration.bins]
        counted = "share of hidden cells"
    return Reliability(
        points,
        _bars(x, parts),
        counted,
        x.ticks(QUARTERS, ("0", "0.25", "0.5", "0.75", "1")),
        y.ticks(QUARTERS, ("0", "25", "50", "75", "100")),
        _finding(calibration),
        tuple(
            (
                f"{decimal(one.low, 1)} to {decimal(one.high, 1)}",
                whole(one.cells),
                percents(one.accuracy),
            )
            for one in calibration.bins
        ),
    )


def _bars(x: Axis, parts: list[tuple[float, float, float]]) -> tuple[Bar, ...]:
    top, bottom = COUNTED
    most = max((share for *_, share in parts), default=0)
    return tuple(
        Bar(
            rounded(x.at(low) + 1),
            rounded(bottom - height),
            rounded(max(x.at(high) - x.at(low) - 2, 1)),
            height,
            f"{decimal(low, 1)} to {decimal(high, 1)}: {percent(share)}",
        )
        for low, high, share in parts
        if (height := bar(share, most, bottom - top))
    )


def _finding(calibration: Calibration) -> str:
    by = calibration.overconfidence
    if min(by.low, by.high) > 0:
        how = "less"
    elif max(by.low, by.high) < 0:
        how = "more"
    else:
        return "Answers are about as often right as their confidence says."
    off = percent(abs(by.value)).removesuffix(" %")
    return f"Answers are {how} often right than their confidence says: by {off} in 100 on average."


@dataclass(frozen=True)
class Covered:
    """Share of answers that are right against the share that is answered."""

    points: tuple[Point, ...]
    line: str
    band: str
    baseline: float | None  # y of the commonest's accuracy
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    rows: tuple[tuple[str, str, str], ...]  # min_confidence, answered, right
    finding: str


def coverage(points: tuple[Coverage, ...], baseline: Interval | None) -> Covered:
    known = [(one, one.accuracy) for one in points if one.accuracy is not None]
    level = [] if baseline is None else [baseline.value]
    lowest = min([right.low for _, right in known] + level)
    low = next((one for one in (0.8, 0.5) if lowest >= one), 0.0)
    marks = {0.8: (0.8, 0.85, 0.9, 0.95, 1.0), 0.5: (0.5, 0.75, 1.0), 0.0: QUARTERS}[low]
    x, y = Axis(0, 1, LEFT, RIGHT), Axis(low, 1, BOTTOM, TOP)
    bare = [
        Point(x.at(one.share), y.at(right.value), y.at(right.low), y.at(right.high))
        for one, right in known
    ]
    drawn = labelled(
        bare, [decimal(one.min_confidence) for one, _ in known], top=TOP, bottom=BOTTOM
    )
    return Covered(
        drawn,
        path((point.x, point.y) for point in drawn),
        band(drawn),
        y.at(baseline.value) if baseline else None,
        x.ticks(QUARTERS, ("0", "25", "50", "75", "100")),
        y.ticks(marks, (percent(one).removesuffix(" %") for one in marks)),
        covered_rows(points),
        _bought(points),
    )


def covered_rows(points: tuple[Coverage, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return what each min_confidence leaves, in words."""
    return tuple(
        (
            decimal(one.min_confidence),
            some_percent(one.share),
            percents(one.accuracy) if one.accuracy else "–",
        )
        for one in points
    )


def _bought(points: tuple[Coverage, ...]) -> str:
    known = [(one, one.accuracy) for one in points if one.accuracy is not None]
    if not known:
        return ""
    # Of a handful of answers next to nothing is known.
    one, right = next((pair for pair in reversed(known) if pair[0].share >= _SOME), known[0])
    return (
        f"With --min-confidence {decimal(one.min_confidence)}, "
        f"{percent(one.share)} of the cells are answered, and about "
        f"{percents(right)} of these answers are right."
    )


# Drawings of a course: steps against the held-out score, and batches against accuracy and loss.


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
    text = f"{whole(step)} steps"
    shown = some(steps, 6)
    return Course(
        tuple(_round(one, x, y) for one in column.tried),
        apart(x.ticks(shown, map(whole, shown))),
        _ticks(y),
        labelled([marked], [f"{word}: {text}"], top=TOP - 10, bottom=BOTTOM, gap=11),
        f"{word.capitalize()}: round {whole(number)}, after {text}.",
    )


def _round(one: Tried, x: Axis, y: Axis) -> Line:
    points = tuple(
        Point(x.at(max(step, 1)), y.at(score), y.at(score), y.at(score))
        for step, score in zip(one.steps, one.scores, strict=False)
    )
    return Line(f"round {whole(one.round)}", points, path((p.x, p.y) for p in points))


def _axis(values: Sequence[float]) -> Axis:
    low, high = (min(max(one, -FARTHEST), FARTHEST) for one in (min(values), max(values)))
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return Axis(low - room, high + 2 * room, BOTTOM, TOP)  # a text may stand above


def _ticks(axis: Axis) -> tuple[Tick, ...]:
    found = round_numbers(axis.low, axis.high, 5)
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
    figures = f"loss {decimal(last.loss or 0, 4)}"
    if last.limit is not None:
        figures += f", limit {decimal(last.limit, 4)}"
    if batches == 1:
        how = "it has drifted" if last.drifted else "no drift"
        return f"One batch so far: {how} ({figures})."
    since = course.drifted_since
    if since is None:
        return f"No drift in {whole(batches)} batches; the last one: {figures}."
    alarm = course.batches[since - course.first]
    return (
        f"Its cells have been predicted worse than those at fitting since batch "
        f"{whole(since)}: loss {decimal(alarm.loss or 0, 4)} there, limit "
        f"{decimal(alarm.limit or 0, 4)}; evidence {odds(alarm.evidence or 0.0)}."
    )


def _x(course: CfCourse) -> tuple[Axis, tuple[Tick, ...]]:
    batches = range(course.first, course.first + len(course.batches))
    x = Axis(batches[0], batches[-1], LEFT + 8, RIGHT - 8)
    shown = [round(one) for one in round_numbers(batches[0], batches[-1]) if one == int(one)]
    shown = shown if len(batches) > _MOST else [*batches]
    return x, apart(x.ticks(shown, map(whole, shown)))


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
    line = Line("accuracy", points, path((p.x, p.y) for p in points), band(points))
    first, last = known[0][1], known[-1][1]
    return Course(
        (line,),
        x_ticks,
        y.ticks(QUARTERS, ("0", "25", "50", "75", "100")),
        (),
        f"From {percents(first)} in the first batch to {percents(last)} in the last.",
    )


def _limits(course: CfCourse) -> str:
    known = [(n, one.limit) for n, one in _numbered(course) if one.limit is not None]
    if len(known) < 2:
        return ""
    x, y = _x(course)[0], _loss_axis(course)
    return path((x.at(n), y.at(limit)) for n, limit in known)


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
        (Line("loss", points, path((p.x, p.y) for p in points)),),
        x_ticks,
        _ticks(y),
        labelled(
            [point for _, point in alarms],
            [f"drift: batch {whole(n)}" for n, _ in alarms],
            top=TOP - 10,
            bottom=BOTTOM,
            gap=11,
        )
        if alarms
        else (),
        _said(course),
    )
