"""A page as a piece of HTML: a table between paragraphs, for notebooks."""

from collections.abc import Iterable
from html import escape
from typing import Any

from cfl_cli.cli.show.page import Field, Page


def fragment(page: Page[Any]) -> str:
    """Return the title, a table with a line for each fact, then the notes; all escaped."""
    fields = [field for field in page.fields if not field.drawing]
    head = _line("th", ((field, field.heading) for field in fields))
    lines = (_line("td", ((field, field.show(fact)) for field in fields)) for fact in page.facts)
    table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
    above = [page.title, page.lead] if page.lead else [page.title]
    return f"<div>{paragraphs(above)}{table}{paragraphs(page.notes)}</div>"


def paragraphs(texts: Iterable[str]) -> str:
    """Return texts as paragraphs."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _line(tag: str, cells: Iterable[tuple[Field[Any], str]]) -> str:
    """Return a line of the table."""
    return f"<tr>{''.join(_cell(tag, *cell) for cell in cells)}</tr>"


def _cell(tag: str, field: Field[Any], text: str) -> str:
    side = "right" if field.right else "left"
    return f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>'
