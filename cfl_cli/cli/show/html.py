"""A page as a piece of HTML: a table between paragraphs, for notebooks."""

from collections.abc import Iterable
from html import escape
from typing import Any

from cfl_cli.cli.show.page import Field, Page, Section


def fragment(page: Page[Any]) -> str:
    """Return section by section a title, a table with a line for each fact, then the notes."""
    return f"<div>{''.join(map(_section, page.sections))}</div>"


def _section(section: Section[Any]) -> str:
    """Return one section, all of it escaped."""
    fields = [field for field in section.fields if not field.drawing]
    head = _line("th", ((field, field.heading) for field in fields))
    lines = (_line("td", ((field, field.show(fact)) for field in fields)) for fact in section.facts)
    table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    above = [section.title, *(section.lead.splitlines())]
    return f"{paragraphs(above)}{table}{paragraphs(section.notes)}"


def paragraphs(texts: Iterable[str]) -> str:
    """Return texts as paragraphs."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _line(tag: str, cells: Iterable[tuple[Field[Any], str]]) -> str:
    """Return a line of the table."""
    return f"<tr>{''.join(_cell(tag, *cell) for cell in cells)}</tr>"


def _cell(tag: str, field: Field[Any], text: str) -> str:
    side = "right" if field.right else "left"
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
