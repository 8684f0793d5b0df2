"""Drawings of one CF: reliability and coverage."""

from cfl_cli.cli.show.web import charts, numbers
from cfl_cli.cli.show.web.charts import LEFT, QUARTERS, RIGHT, TOP, Axis, Point, Tick, rounded
from cfl_cli.core.quick import dataclass
from cfl_cli.trust.calibration import Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import Coverage

SOME = 0.05  # share of the answers, of which fewer say little
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
                f"{numbers.decimal(one.low, 1)} to {numbers.decimal(one.high, 1)}",
                numbers.whole(one.cells),
                numbers.percents(one.accuracy),
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
            f"{numbers.decimal(low, 1)} to {numbers.decimal(high, 1)}: {numbers.percent(share)}",
        )
        for low, high, share in parts
        if (height := charts.bar(share, most, bottom - top))
    )


def _finding(calibration: Calibration) -> str:
    by = calibration.overconfidence
    if min(by.low, by.high) > 0:
        how = "less"
    elif max(by.low, by.high) < 0:
        how = "more"
    else:
        return "Answers are about as often right as their confidence says."
    off = numbers.percent(abs(by.value)).removesuffix(" %")
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
    """Return the drawing, and its points as a table."""
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
    drawn = charts.labelled(
        bare, [numbers.decimal(one.min_confidence) for one, _ in known], top=TOP, bottom=BOTTOM
    )
    return Covered(
        drawn,
        charts.path((point.x, point.y) for point in drawn),
        charts.band(drawn),
        y.at(baseline.value) if baseline else None,
        x.ticks(QUARTERS, ("0", "25", "50", "75", "100")),
        y.ticks(marks, (numbers.percent(one).removesuffix(" %") for one in marks)),
        covered_rows(points),
        _bought(points),
    )


def covered_rows(points: tuple[Coverage, ...]) -> tuple[tuple[str, str, str], ...]:
    """Return what each min_confidence leaves, in words."""
    return tuple(
        (
            numbers.decimal(one.min_confidence),
            numbers.some_percent(one.share),
            numbers.percents(one.accuracy) if one.accuracy else "–",
        )
        for one in points
    )


def _bought(points: tuple[Coverage, ...]) -> str:
    """Return what the highest confidence leaves that leaves more than a few answers."""
    known = [(one, one.accuracy) for one in points if one.accuracy is not None]
    if not known:
        return ""
    # Of a handful of answers next to nothing is known.
    one, right = next((pair for pair in reversed(known) if pair[0].share >= SOME), known[0])
    return (
        f"With --min-confidence {numbers.decimal(one.min_confidence)}, "
        f"{numbers.percent(one.share)} of the cells are answered, and about "
        f"{numbers.percents(right)} of these answers are right."
    )
