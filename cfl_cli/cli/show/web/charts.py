"""Where marks stand in a drawing: numbers in, coordinates out, rounded to tenths of a pixel.

Drawings are 320 wide, those in a row of a table 160; y grows downward. Markup is in the templates.
"""

from collections.abc import Iterable, Sequence
from math import ceil, floor, log, log10

from cfl_cli.core.quick import dataclass
from cfl_cli.trust.intervals import Interval

ROW, MARGIN = 160, 5  # width of a drawing in a row, and what is left free on either side
LEFT, RIGHT, TOP = 46, 306, 26  # of what is plotted in a drawing of its own
LETTER, LINE = 7.5, 15  # room that a digit takes, at most
FARTHEST = 1e9  # a number beyond is drawn as this one
MOST = 5  # numbers at an axis
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
    """Return where a share from 0 to 1 is in a row."""
    return rounded(MARGIN + (ROW - 2 * MARGIN) * min(max(share, 0.0), 1.0))


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


def bar(share: float, most: float, width: int = ROW) -> float:
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
        """Return where numbers are, with what is written there."""
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


def round_numbers(low: float, high: float, most: int = MOST) -> tuple[float, ...]:
    """Return at most so many round numbers within a range."""
    low, high = (min(max(one, -FARTHEST), FARTHEST) for one in (low, high))
    if not high > low:
        return (low,)
    unit = 10 ** floor(log10((high - low) / most))
    for step in (unit, 2 * unit, 5 * unit, 10 * unit, 20 * unit):
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last - first < most:
            return tuple(number * step for number in range(first, last + 1))
    return (low, high)


def some(numbers: Sequence[int], most: int = MOST) -> tuple[int, ...]:
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
    """Return the outline of all intervals as `points`."""
    return path([*((p.x, p.high) for p in points), *((p.x, p.low) for p in reversed(points))])
