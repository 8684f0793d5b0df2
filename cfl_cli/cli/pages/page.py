"""A page of facts: what a command has to show, before it becomes text in any format."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from cfl_cli.trust.intervals import Interval

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Field(Generic[Fact]):
    """A column: its heading, and what it shows of each fact."""

    heading: str
    show: Callable[[Fact], str]
    right: bool = False
    folds: bool = False  # rather than be cropped where there is no room
    splits: bool = False  # at commas, a part a line: folded, it would break within words
    style: Callable[[Fact], str] = lambda _: ""
    from_width: int = 0  # a narrower terminal gets the table without this column
    drawing: bool = False  # made of blocks, for terminals alone
    begins: bool = False  # a line, if there is one more anyway for want of width
    spare: bool = False  # shows what another column says: only where there is room
    share: Callable[[Fact], float] | None = None  # from 0 to 1, for a bar on pages for browsers


@dataclass(frozen=True)
class Dot:
    """One of the things around another one, in a picture."""

    name: str
    position: tuple[float, float]  # of the middle, seen from the thing itself
    weight: float
    says: str
    alike: bool  # does it say what is answered?


@dataclass(frozen=True)
class Surroundings:
    """What is around something, for a picture on pages for browsers."""

    dots: Sequence[Dot]  # most weight first
    answer: str
    spread: tuple[float, float]  # share of the squared distances along the two axes


@dataclass(frozen=True)
class Section(Generic[Fact]):
    """A title, what leads up to a table, a line for each fact, then notes."""

    title: str
    fields: Sequence[Field[Fact]]
    facts: Sequence[Fact]
    notes: Sequence[str]
    lead: str = field(default="", kw_only=True)  # below the title, in a line or two
    picture: Surroundings | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Page(Section[Fact]):
    """A section, those that follow it, and the same facts for programs."""

    records: Sequence[Mapping[str, object]]  # all with the same names; nothing nested
    json: str  # one object that holds everything
    more: Sequence[Section[Any]] = field(default=(), kw_only=True)

    @property
    def sections(self) -> list[Section[Any]]:
        return [self, *self.more]


def interval_text(interval: "Interval | None") -> str:
    """Return an estimate with its interval, as every page shows it."""
    if interval is None:
        return "-"
    return f"{interval.value:.2f} ({interval.low:.2f}–{interval.high:.2f})"
