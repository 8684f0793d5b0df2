"""Pages for browsers, one self-contained file each: templates, and what they are filled with.

Python decides every number, text and coordinate; templates hold all markup. Whatever a report says
is a text like any other there, escaped. Here is a page of sections: what a terminal shows, with bars
and pictures.
"""

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from types import SimpleNamespace
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from cfl_cli import __version__
from cfl_cli.cli.pages import Dot, Field, Page, Section, Surroundings
from cfl_cli.cli.pages.web.charts import (
    LETTER,
    LINE,
    Box,
    bar,
    in_row,
    percent,
    tenths,
    whisker,
)

# The templates, and the page around them: styles and script within, nothing from outside.

PACKAGE = "cfl_cli.cli.pages.web"


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader(PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )


def source(name: str) -> str:
    loader = environment().loader
    assert loader is not None
    return loader.get_source(environment(), name)[0].replace("\r\n", "\n")


def policy(style: str, script: str) -> str:
    hashes = [b64encode(sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'"
    ).format(*hashes)


def rendered_page(template: str, **content: Any) -> str:
    style, script = source("style.css"), source("script.js")
    made = environment().get_template(template)
    return made.render(style=style, script=script, policy=policy(style, script), **content)


def rendered_fragment(template: str, **content: Any) -> str:
    """Return a piece for a notebook, without script; it has no ids, so none can occur twice."""
    return environment().get_template(template).render(style=source("fragment.css"), **content)


# Names and values of others on a page: nothing in them is hidden, and nothing is too long.

_INTERVAL = re.compile(r"\((\d+) to (\d+)\)")  # which no line is to be broken in
LONGEST = 60  # letters that are shown at once …
_TAIL = 10  # … of which so many are the last ones, where there are more
JOINERS = "\u200c\u200d"  # which emoji and some scripts are written with
EMOJI_PARTS = "\ufe0e\ufe0f" + "".join(map(chr, range(0x1F3FB, 0x1F400)))  # belong to what precedes


class Name(NamedTuple):
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


def shown_name(text: str) -> Name:
    whole = visible(text) if text.strip() else f"“{visible(text)}”"
    if len(whole) <= LONGEST:
        return Name(whole, whole)
    end, tail = LONGEST - 1 - _TAIL, len(whole) - _TAIL  # names often differ in their ends
    while end > 1 and _belongs(whole[end - 1], whole[end]):
        end -= 1
    while tail < len(whole) and _belongs(whole[tail - 1], whole[tail]):
        tail += 1
    return Name(f"{whole[:end].rstrip()}…{whole[tail:].lstrip()}", whole)


def _belongs(before: str, char: str) -> bool:
    flags = all("\U0001f1e6" <= one <= "\U0001f1ff" for one in (before, char))
    mark = unicodedata.category(char)[0] == "M"
    return flags or mark or char in JOINERS + EMOJI_PARTS or before in JOINERS


class Piece(NamedTuple):
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


def picture(around: Surroundings) -> SimpleNamespace:
    alike = sum(dot.weight for dot in around.dots if dot.alike)
    finding = (
        f"Neighbors with {percent(alike)} of the weight support the imputed value. The picture "
        f"shows {percent(sum(around.spread))} of the squared distances."
    )
    answer = shown_name(around.answer)
    return SimpleNamespace(marks=[*_marks(around.dots)], answer=answer, finding=finding)


def _marks(dots: Sequence[Dot]) -> Iterator[SimpleNamespace]:
    farthest = max((max(map(abs, dot.position)) for dot in dots), default=0.0) or 1.0
    heaviest = max((dot.weight for dot in dots), default=0.0) or 1.0
    middle = SIZE / 2
    taken = [Box(middle - LINE, middle - LINE, middle + LINE, middle + LINE)]  # by the row itself
    placed: list[tuple[Dot, float, float, float]] = []
    for dot in dots:
        x, y = (middle + REACH * along / farthest for along in dot.position)
        radius = SMALLEST + (_LARGEST - SMALLEST) * (dot.weight / heaviest) ** 0.5
        placed.append((dot, x, y, radius))
        taken.append(Box(x - radius, y - radius, x + radius, y + radius))
    for number, (dot, x, y, radius) in enumerate(placed):
        label, label_y = "", y
        half = LETTER * len(dot.name) / 2
        for at in (y - radius - LINE / 2 - 1, y + radius + LINE / 2 + 1):
            box = Box(x - half, at - LINE / 2, x + half, at + LINE / 2)
            inside = min(box) >= 0 and max(box) <= SIZE
            if number < LABELED and inside and not any(map(box.meets, taken)):
                taken.append(box)
                label, label_y = dot.name, at + LINE / 3
                break
        yield SimpleNamespace(
            x=tenths(x),
            y=tenths(y),
            radius=tenths(radius),
            alike=dot.alike,
            label=label,
            label_y=tenths(label_y),
            text=f"{dot.name}: weight {percent(dot.weight, 1)}, supports {shown_name(dot.says).short}",
        )


_BAR = 90  # width of a bar


def page(shown: Page[Any]) -> str:
    return rendered_sections(shown, "sections.html")


def rendered_sections(shown: Page[Any], template: str, **more: Any) -> str:
    """Return a page of sections in a template, which gets `more` as well."""
    parts = [*map(_part, shown.sections)]
    return rendered_page(
        template, first=parts[0], others=parts[1:], cfl_version=__version__, **more
    )


def fragment(shown: Page[Any]) -> str:
    first, *others = map(_part, shown.sections)
    return rendered_fragment("sections_fragment.html", first=first, others=others)


def _spread(field: Field[Any], fact: Any) -> SimpleNamespace | None:
    found = None if field.spread is None else field.spread(fact)
    if found is None:
        return None
    interval, other = found
    mark = whisker(interval)
    return SimpleNamespace(mark=mark, other=None if other is None else in_row(other))


def _part(section: Section[Any]) -> SimpleNamespace:
    fields = [field for field in section.fields if not field.drawing]
    rows = [
        [
            SimpleNamespace(
                text=shown_name(text) if (text := field.show(fact)) else Name("", ""),
                number=field.right,
                bar=None if field.share is None else bar(field.share(fact), 1.0, _BAR),
                spread=_spread(field, fact),
                strong="bold" in field.style(fact),
            )
            for field in fields
        ]
        for fact in section.facts
    ]
    return SimpleNamespace(
        title=visible(section.title),
        lead=[*map(visible, section.lead.splitlines())],
        heads=[SimpleNamespace(text=visible(one.heading), number=one.right) for one in fields],
        rows=rows,
        notes=[*map(visible, section.notes)],
        picture=None if section.picture is None else picture(section.picture),
    )
