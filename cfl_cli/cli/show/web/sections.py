"""A page of sections for browsers: what a terminal shows, with bars and pictures."""

from typing import Any

from cfl_cli import __version__
from cfl_cli.cli.show.page import Page, Section
from cfl_cli.cli.show.web import environment
from cfl_cli.cli.show.web.charts import bar
from cfl_cli.cli.show.web.names import Name, name_of, visible
from cfl_cli.cli.show.web.neighborhood import Picture, picture
from cfl_cli.core.quick import dataclass

BAR = 90  # width of a bar


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
class Part:
    """One section."""

    title: str
    lead: tuple[str, ...]  # lines
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]
    picture: Picture | None


def page(shown: Page[Any]) -> str:
    """Return a whole page."""
    first, *others = map(_part, shown.sections)
    return environment.page("sections.html", first=first, others=others, cfl_version=__version__)


def fragment(shown: Page[Any]) -> str:
    """Return the same as a piece for a notebook."""
    first, *others = map(_part, shown.sections)
    return environment.fragment("sections_fragment.html", first=first, others=others)


def _part(section: Section[Any]) -> Part:
    fields = [field for field in section.fields if not field.drawing]
    return Part(
        visible(section.title),
        tuple(map(visible, section.lead.splitlines())),
        tuple(Head(visible(field.heading), field.right) for field in fields),
        tuple(
            tuple(
                Cell(
                    name_of(field.show(fact)) if field.show(fact) else Name("", ""),
                    field.right,
                    None if field.share is None else bar(field.share(fact), 1.0, BAR),
                    "bold" in field.style(fact),
                )
                for field in fields
            )
            for fact in section.facts
        ),
        tuple(map(visible, section.notes)),
        None if section.picture is None else picture(section.picture),
    )
