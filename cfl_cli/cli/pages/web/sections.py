"""A page of sections for browsers: what a terminal shows, with bars and pictures."""

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from cfl_cli import __version__
from cfl_cli.cli.pages import Dot, Page, Section, Surroundings
from cfl_cli.cli.pages.web.charts import LETTER, LINE, bar, percent, rounded

# The templates, and the page around them: styles and script within, nothing from outside.

PACKAGE = "cfl_cli.cli.pages.web"


@cache
def environment() -> Environment:
    """Return what renders templates: everything is escaped, and nothing may be missing."""
    return Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def source(name: str) -> str:
    """Return the text of a template as it is: our styles, our script."""
    loader, all_templates = environment().loader, environment()
    assert loader is not None
    return loader.get_source(all_templates, name)[0].replace("\r\n", "\n")


def policy(style: str, script: str) -> str:
    """Return what a browser may do with the page: use this style and this script, load nothing."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def rendered_page(template: str, **content: Any) -> str:
    """Return a whole page that extends `base.html`."""
    style, script = source("style.css"), source("script.js")
    return (
        environment()
        .get_template(template)
        .render(style=style, script=script, policy=policy(style, script), **content)
    )


def rendered_fragment(template: str, **content: Any) -> str:
    """Return a piece for a notebook, without script; it has no ids, so none can occur twice."""
    return environment().get_template(template).render(style=source("fragment.css"), **content)


# Names and values of others on a page: nothing in them is hidden, and nothing is too long.

_INTERVAL = re.compile(r"\((\d+) to (\d+)\)")  # which no line is to be broken in
LONGEST = 60  # letters that are shown at once
JOINERS = "\u200c\u200d"  # which emoji and some scripts are written with
EMOJI_PARTS = "\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400)))  # belong to what precedes


@dataclass(frozen=True)
class Name:
    """A text of others: the beginning if it is long, and the whole."""

    short: str
    whole: str

    @property
    def is_cut(self) -> bool:
        return self.short != self.whole


@lru_cache(maxsize=4096)
def visible(text: str) -> str:
    r"""Return a text with what cannot be seen as codes: `\u202e`, `\x00`, a lone `\ud800`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )


def name_of(text: str) -> Name:
    """Return what is shown of a name or a value; an empty one is shown, too."""
    whole = visible(text) if text.strip() else f"“{visible(text)}”"
    return Name(_cut(whole), whole)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    end = LONGEST - 1
    while end > 1 and _belongs(text[end - 1], text[end]):
        end -= 1
    return f"{text[:end].rstrip()}…"


def _belongs(before: str, char: str) -> bool:
    flags = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, char))
    mark = unicodedata.category(char)[0] == "M"
    return flags or mark or char in JOINERS + EMOJI_PARTS or before in JOINERS


@dataclass(frozen=True)
class Piece:
    """Part of a sentence."""

    text: str
    is_name: bool  # which may be written from right to left


def sentence(text: str, names: Iterable[str] = ()) -> tuple[Piece, ...]:
    """Return a sentence in pieces, so that names of another script do not reorder the others."""
    foreign: Sequence[str] = sorted(
        {visible(name) for name in names if not name.isascii()}, key=lambda name: (-len(name), name)
    )
    text = _INTERVAL.sub("(\\1\u00a0to\u00a0\\2)", visible(text))
    if not any(name in text for name in foreign):
        return (Piece(text, is_name=False),)
    parts = re.split("(" + "|".join(map(re.escape, foreign)) + ")", text)
    return tuple(Piece(part, is_name=bool(number % 2)) for number, part in enumerate(parts) if part)


# A small picture of the neighbors of a row: near what is near, large what weighs much.

SIZE = 320  # of the square
REACH = 128  # from its middle to the farthest neighbor
SMALLEST, _LARGEST = 3.0, 13.0  # radius of a neighbor
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
        radius = SMALLEST + (_LARGEST - SMALLEST) * (dot.weight / heaviest) ** 0.5
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


_BAR = 90  # width of a bar


@dataclass(frozen=True)
class Head:
    """The heading of a column."""

    text: str
    number: bool  # are its cells numbers?


@dataclass(frozen=True)
class Cell:
    """What a table shows of one fact."""

    text: Name
    number: bool
    bar: float | None  # how long; None: there is none
    strong: bool


@dataclass(frozen=True)
class _Part:
    """One section."""

    title: str
    lead: tuple[str, ...]  # lines
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    picture: Picture | None


def page(shown: Page[Any]) -> str:
    first, *others = map(_part, shown.sections)
    return rendered_page("sections.html", first=first, others=others, cfl_version=__version__)


def fragment(shown: Page[Any]) -> str:
    """Return the same as a piece for a notebook."""
    first, *others = map(_part, shown.sections)
    return rendered_fragment("sections_fragment.html", first=first, others=others)


def _part(section: Section[Any]) -> _Part:
    fields = [field for field in section.fields if not field.drawing]
    return _Part(
        visible(section.title),
        tuple(map(visible, section.lead.splitlines())),
        tuple(Head(visible(field.heading), field.right) for field in fields),
        tuple(
            tuple(
                Cell(
                    name_of(field.show(fact)) if field.show(fact) else Name("", ""),
                    field.right,
                    None if field.share is None else bar(field.share(fact), 1.0, _BAR),
                    "bold" in field.style(fact),
                )
                for field in fields
            )
            for fact in section.facts
        ),
        tuple(map(visible, section.notes)),
        None if section.picture is None else picture(section.picture),
    )
