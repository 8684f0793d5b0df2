"""Where marks stand in a drawing: numbers in, coordinates out, rounded to tenths of a pixel.

Drawings are 320 wide, those in a row of a table 160; y grows downward. Markup is in the templates,
which name the parts of a drawing by the attributes that it gets here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log, log10
from types import SimpleNamespace
from typing import NamedTuple

from cfl_cli.cli.pages.history import CfCourse
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Coverage

_ROW, _MARGIN = 160, 5  # width of a drawing in a row, and what is left free on either side
LEFT, RIGHT, TOP = 46, 306, 26  # of what is plotted in a drawing of its own
LETTER, LINE = 7.5, 15  # room that a digit takes, at most
FARTHEST = 1e9  # a number beyond is drawn as this one
_MOST = 5  # numbers at an axis
QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_IN_PERCENT = ("0", "25", "50", "75", "100")


def tenths(place: float) -> float:
    place = round(place, 1)
    return int(place) if place == int(place) else place


def in_row(share: float) -> float:
    return tenths(_MARGIN + (_ROW - 2 * _MARGIN) * min(max(share, 0.0), 1.0))


def whisker(interval: Interval | None) -> SimpleNamespace | None:
    if interval is None:
        return None
    low, high = in_row(interval.low), in_row(interval.high)
    return SimpleNamespace(at=in_row(interval.value), low=low, high=high)


def bar(share: float, most: float, width: int = _ROW) -> float:
    return tenths(width * min(max(share / most, 0.0), 1.0)) if most > 0 else 0


class Tick(NamedTuple):
    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    low: float
    high: float
    start: float  # where `low` is
    end: float
    logarithmic: bool = False

    def at(self, number: float) -> float:
        number = min(max(number, self.low), self.high)
        low, high = self.low, self.high
        if self.logarithmic:
            number, low, high = log(number), log(low), log(high)
        part = (number - low) / (high - low) if high > low else 0.5
        return tenths(self.start + part * (self.end - self.start))

    def ticks(self, numbers: Iterable[float], texts: Iterable[str]) -> tuple[Tick, ...]:
        return tuple(Tick(self.at(one), text) for one, text in zip(numbers, texts, strict=True))


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

    @classmethod
    def of(cls, x: float, axis: Axis, value: float | Interval, *, hollow: bool = False) -> "Point":
        if isinstance(value, Interval):
            ends = axis.at(value.low), axis.at(value.high)
            return cls(x, axis.at(value.value), *ends, hollow=hollow)
        return cls(x, axis.at(value), axis.at(value), axis.at(value))


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


def thinned(numbers: Sequence[int], most: int = _MOST) -> tuple[int, ...]:
    if len(numbers) <= most:
        return tuple(numbers)
    places = {round(part * (len(numbers) - 1) / (most - 1)) for part in range(most)}
    return tuple(numbers[place] for place in sorted(places))


def spaced(ticks: Iterable[Tick]) -> tuple[Tick, ...]:
    kept: list[Tick] = []
    for tick in ticks:
        room = (len(tick.text) + len(kept[-1].text)) * LETTER / 2 + 12 if kept else 0
        if not kept or abs(tick.at - kept[-1].at) >= room:
            kept.append(tick)
    return tuple(kept)


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        beside = self.left < other.right and other.left < self.right
        return beside and self.top < other.bottom and other.top < self.bottom


def labelled(
    points: Sequence[Point], texts: Sequence[str], *, top: float, bottom: float, gap: float = 6
) -> tuple[Point, ...]:
    boxes: list[Box] = []
    found = [*points]
    order = [0, len(points) - 1, *range(1, len(points) - 1)] if len(points) > 1 else [0]
    for place in order[: len(points)]:
        point, text = points[place], texts[place]
        half = len(text) * LETTER / 2
        x = min(max(point.x, LEFT + half), RIGHT - half)
        for y in (point.high - gap, point.low + gap + LINE - 4):
            box = Box(x - half - 1, y - LINE + 2, x + half + 1, y + 3)
            if box.top >= top and box.bottom <= bottom and not any(map(box.meets, boxes)):
                boxes.append(box)
                where = {"text_x": tenths(x), "text_y": tenths(y)}
                found[place] = replace(point, text=text, hollow=False, **where)
                break
    return tuple(found)


def _path(points: Iterable[tuple[float, float]]) -> str:
    # An SVG `points` attribute: numbers alone.
    return " ".join(f"{x},{y}" for x, y in points)


def _line(points: Sequence[Point]) -> str:
    return _path((point.x, point.y) for point in points)


def _band(points: Sequence[Point]) -> str:
    return _path([*((p.x, p.high) for p in points), *((p.x, p.low) for p in reversed(points))])


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
    parts = (interval.value, interval.low, interval.high)
    value, low, high = (decimal(part, digits) for part in parts)
    return f"{value} ({_from_to(low, high)})"


def _from_to(low: str, high: str) -> str:
    return f"{low} to {high}" if "-" in low + high else f"{low}–{high}"


def share_or_rare(share: float | None, rows: int) -> str:
    """Return a share of so many rows; None is one so small that it might point at people."""
    if share is not None:
        return percent(share, 1)
    return "under 1 %" if rows >= LARGE_TABLE else "under 10 rows"


def sort_key(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


# Drawings of one CF: reliability and coverage.

_SOME = 0.05  # share of the answers, of which fewer say little
FEW = 30  # cells, below which a dot is hollow
SIDE = RIGHT - LEFT  # of a square
COUNTED = (TOP + SIDE + 14, TOP + SIDE + 64)  # top and bottom of a histogram below it
BOTTOM = 214  # of what is plotted in a drawing 260 high


def reliability(calibration: Calibration, shares: tuple[float, ...]) -> SimpleNamespace:
    """Return the share of answers that are right against their confidence, above a histogram.

    `shares` are those of all answers by tenths of confidence, if known.
    """
    bins = calibration.bins
    x, y = Axis(0, 1, LEFT, RIGHT), Axis(0, 1, TOP + SIDE, TOP)
    if shares:
        parts = [(i / len(shares), (i + 1) / len(shares), s) for i, s in enumerate(shares)]
    else:
        cells = sum(one.cells for one in bins) or 1
        parts = [(one.low, one.high, one.cells / cells) for one in bins]
    top, bottom = COUNTED
    most = max((share for *_, share in parts), default=0)
    return SimpleNamespace(
        points=tuple(
            Point.of(x.at(one.confidence), y, one.accuracy, hollow=one.cells < FEW) for one in bins
        ),
        bars=[
            SimpleNamespace(
                x=tenths(x.at(low) + 1),
                y=tenths(bottom - height),
                width=tenths(max(x.at(high) - x.at(low) - 2, 1)),
                height=height,
                text=f"{decimal(low, 1)} to {decimal(high, 1)}: {percent(share)}",
            )
            for low, high, share in parts
            if (height := bar(share, most, bottom - top))
        ],
        counted="share of all values" if shares else "share of held-out cells",
        x_ticks=x.ticks(QUARTERS, ("0", "0.25", "0.5", "0.75", "1")),
        y_ticks=y.ticks(QUARTERS, _IN_PERCENT),
        finding=_finding(calibration.overconfidence),
        rows=[  # the same in numbers: confidence, cells, right
            (f"{decimal(b.low, 1)} to {decimal(b.high, 1)}", f"{b.cells:,}", percents(b.accuracy))
            for b in bins
        ],
    )


def _finding(by: Interval) -> str:
    if min(by.low, by.high) > 0:
        how = "less"
    elif max(by.low, by.high) < 0:
        how = "more"
    else:
        return "Imputed values are correct about as often as their confidence says."
    off = percent(abs(by.value)).removesuffix(" %")
    return f"Imputed values are correct {how} often than their confidence says, by {off} in 100 on average."


def coverage_curve(points: tuple[Coverage, ...], baseline: Interval | None) -> SimpleNamespace:
    known = [(one, one.accuracy) for one in points if one.accuracy is not None]
    level = [] if baseline is None else [baseline.value]
    lowest = min([right.low for _, right in known] + level)
    low = next((one for one in (0.8, 0.5) if lowest >= one), 0.0)
    marks = {0.8: (0.8, 0.85, 0.9, 0.95, 1.0), 0.5: (0.5, 0.75, 1.0), 0.0: QUARTERS}[low]
    x, y = Axis(0, 1, LEFT, RIGHT), Axis(low, 1, BOTTOM, TOP)
    bare = [Point.of(x.at(one.share), y, right) for one, right in known]
    least = [decimal(one.min_confidence) for one, _ in known]
    drawn = labelled(bare, least, top=TOP, bottom=BOTTOM)
    finding = ""
    if known:  # of a handful of answers next to nothing is known
        one, right = next((pair for pair in reversed(known) if pair[0].share >= _SOME), known[0])
        finding = (
            f"With --min-confidence {decimal(one.min_confidence)}, {percent(one.share)} of the "
            f"cells are imputed, and about {percents(right)} of these values are correct."
        )
    return SimpleNamespace(
        points=drawn,
        line=_line(drawn),
        band=_band(drawn),
        baseline=y.at(baseline.value) if baseline else None,
        x_ticks=x.ticks(QUARTERS, _IN_PERCENT),
        y_ticks=y.ticks(marks, (percent(one).removesuffix(" %") for one in marks)),
        rows=covered_rows(points),
        finding=finding,
    )


def covered_rows(points: tuple[Coverage, ...]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (
            decimal(one.min_confidence),
            some_percent(one.share),
            percents(one.accuracy) if one.accuracy else "–",
        )
        for one in points
    )


# Drawings of a course: steps against the held-out score, and batches against accuracy and loss.
# Each has its lines, its ticks, its finding, and what is marked: the chosen point, or alarms.


def tried_steps(column: ColumnReport) -> SimpleNamespace | None:
    """Return scores after some steps of each round, one of them marked; None: nothing was chosen.

    The mark is at what was chosen; where that is not recorded, at the highest score.
    """
    rounds = [(one.round, [*zip(one.steps, one.scores, strict=False)]) for one in column.tried]
    scored = [(number, step, score) for number, pairs in rounds for step, score in pairs]
    if len(scored) < 2:
        return None
    steps = sorted({max(step, 1) for _, step, _ in scored})
    x = Axis(steps[0], steps[-1], LEFT + 8, RIGHT - 8, logarithmic=True)
    y = _axis([score for *_, score in scored])
    chosen = [one for one in scored if one[:2] == (column.round, column.iterations)]
    word = "chosen" if chosen else "best"
    number, step, score = (chosen or [max(scored, key=lambda one: one[2])])[0]
    shown = thinned(steps, 6)
    lines = []
    for place, pairs in rounds:
        points = tuple(Point.of(x.at(max(at, 1)), y, value) for at, value in pairs)
        lines.append(_named_line(f"round {place:,}", points))
    return SimpleNamespace(
        lines=lines,
        x_ticks=spaced(x.ticks(shown, (f"{one:,}" for one in shown))),
        y_ticks=_ticks(y),
        marked=_marked([Point.of(x.at(max(step, 1)), y, score)], [f"{word}: {step:,} steps"]),
        finding=f"{word.capitalize()}: round {number:,}, after {step:,} steps.",
    )


def _named_line(name: str, points: tuple[Point, ...], band: str = "") -> SimpleNamespace:
    return SimpleNamespace(name=name, points=points, line=_line(points), band=band)


def _marked(points: Sequence[Point], texts: Sequence[str]) -> tuple[Point, ...]:
    return labelled(points, texts, top=TOP - 10, bottom=BOTTOM, gap=11)


def _axis(values: Sequence[float]) -> Axis:
    low, high = (min(max(one, -FARTHEST), FARTHEST) for one in (min(values), max(values)))
    room = (high - low) * 0.08 or abs(high) * 0.1 or 0.1
    return Axis(low - room, high + 2 * room, BOTTOM, TOP)  # a text may stand above


def _ticks(axis: Axis) -> tuple[Tick, ...]:
    found = round_numbers(axis.low, axis.high, 5)
    return axis.ticks(found, (f"{one:.3g}" if one else "0" for one in found))


def drifted(course: CfCourse) -> SimpleNamespace:
    numbers = range(course.first, course.first + len(course.batches))
    x = Axis(numbers[0], numbers[-1], LEFT + 8, RIGHT - 8)
    shown = [round(one) for one in round_numbers(numbers[0], numbers[-1]) if one == int(one)]
    shown = shown if len(numbers) > _MOST else [*numbers]
    x_ticks = spaced(x.ticks(shown, (f"{one:,}" for one in shown)))
    batches = [*zip(numbers, course.batches, strict=True)]
    said = _said(course)
    accuracy = loss = None
    rights = [(x.at(n), one.accuracy) for n, one in batches if one.accuracy is not None]
    if len(rights) > 1:
        y = Axis(0, 1, BOTTOM, TOP)
        points = tuple(Point.of(at, y, right) for at, right in rights)
        first, last = percents(rights[0][1]), percents(rights[-1][1])
        accuracy = SimpleNamespace(
            lines=[_named_line("accuracy", points, _band(points))],
            x_ticks=x_ticks,
            y_ticks=y.ticks(QUARTERS, _IN_PERCENT),
            marked=(),
            finding=f"First batch: {first}. Last batch: {last}.",
        )
    values = [v for one in course.judged for v in (one.loss, one.limit) if v is not None]
    y = _axis(values or [0.0])
    losses = [(n, one, one.loss) for n, one in batches if one.loss is not None]
    limits = [(x.at(n), y.at(one.limit)) for n, one in batches if one.limit is not None]
    if len(losses) > 1:
        points = tuple(Point.of(x.at(n), y, value) for n, _, value in losses)
        ringed = [
            place for place, (n, one, _) in enumerate(losses) if one.course.drifted_since == n
        ]
        loss = SimpleNamespace(
            lines=[_named_line("loss", points)],
            x_ticks=x_ticks,
            y_ticks=_ticks(y),
            marked=_marked(
                [points[place] for place in ringed],
                [f"drift: batch {losses[place][0]:,}" for place in ringed],
            ),
            finding=said,
        )
    return SimpleNamespace(
        accuracy=accuracy, loss=loss, limits=_path(limits) if len(limits) > 1 else "", sentence=said
    )


def _said(course: CfCourse) -> str:
    batches, judged = len(course.batches), course.judged
    if not judged:
        return "Drift can't be evaluated."
    last = judged[-1]
    figures = f"loss {decimal(last.loss or 0, 4)}"
    if last.limit is not None:
        figures += f", limit {decimal(last.limit, 4)}"
    if batches == 1:
        how = "with drift" if course.last_is_worse else "no drift"
        return f"One batch so far, {how} ({figures})."
    drift = course.sentence
    if drift is None:
        return f"No drift in {batches:,} batches. Last batch: {figures}."
    return f"{drift[0].upper()}{drift[1:]}"
