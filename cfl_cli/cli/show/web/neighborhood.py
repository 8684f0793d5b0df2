"""A small picture of the neighbors of a row: near what is near, large what weighs much."""

from collections.abc import Iterator, Sequence

from cfl_cli.cli.show.page import Dot, Surroundings
from cfl_cli.cli.show.web.charts import LETTER, LINE, rounded
from cfl_cli.cli.show.web.names import Name, name_of
from cfl_cli.cli.show.web.numbers import percent
from cfl_cli.core.quick import dataclass

SIZE = 320  # of the square
REACH = 128  # from its middle to the farthest neighbor
SMALLEST, LARGEST = 3.0, 13.0  # radius of a neighbor
LABELED = 8  # neighbors, at most, that are named


@dataclass(frozen=True)
class Mark:
    """One neighbor."""

    x: float
    y: float
    radius: float
    alike: bool  # does it say what the row is answered?
    label: str  # "": there is no room for it
    label_y: float
    text: str


@dataclass(frozen=True)
class Picture:
    """What is drawn, and the finding in a sentence."""

    marks: tuple[Mark, ...]  # the largest first, so that none is hidden
    answer: Name
    finding: str


def picture(around: Surroundings) -> Picture:
    """Return where everything stands."""
    return Picture(tuple(_marks(around.dots)), name_of(around.answer), _finding(around))


def _marks(dots: Sequence[Dot]) -> Iterator[Mark]:
    farthest = max((max(map(abs, dot.position)) for dot in dots), default=0.0) or 1.0
    heaviest = max((dot.weight for dot in dots), default=0.0) or 1.0
    middle = SIZE / 2
    taken = [(middle - LINE, middle - LINE, middle + LINE, middle + LINE)]  # by the row itself
    placed: list[tuple[Dot, float, float, float]] = []
    for dot in dots:
        x, y = (middle + REACH * along / farthest for along in dot.position)
        radius = SMALLEST + (LARGEST - SMALLEST) * (dot.weight / heaviest) ** 0.5
        placed.append((dot, x, y, radius))
        taken.append((x - radius, y - radius, x + radius, y + radius))
    for number, (dot, x, y, radius) in enumerate(placed):
        label, at = "", y
        if number < LABELED:
            label, at = _label(dot.name, x, y, radius, taken)
        yield Mark(
            x=rounded(x),
            y=rounded(y),
            radius=rounded(radius),
            alike=dot.alike,
            label=label,
            label_y=rounded(at),
            text=f"{dot.name}: weight {percent(dot.weight, 1)}, says {name_of(dot.says).short}",
        )


def _label(
    name: str, x: float, y: float, radius: float, taken: list[tuple[float, float, float, float]]
) -> tuple[str, float]:
    """Return a neighbor's name and how high it stands; none if it would touch another one."""
    width = LETTER * len(name)
    for at in (y - radius - LINE / 2 - 1, y + radius + LINE / 2 + 1):
        box = (x - width / 2, at - LINE / 2, x + width / 2, at + LINE / 2)
        inside = min(box) >= 0 and max(box) <= SIZE
        if inside and not any(_touch(box, other) for other in taken):
            taken.append(box)
            return name, at + LINE / 3
    return "", y


def _touch(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _finding(around: Surroundings) -> str:
    alike = sum(dot.weight for dot in around.dots if dot.alike)
    return (
        f"Neighbors of {percent(alike)} of the weight say the same as the answer. The picture "
        f"shows {percent(sum(around.spread))} of the squared distances."
    )
