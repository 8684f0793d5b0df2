"""A page as text: in columns for terminals, Markdown, CSV or JSON."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfl_cli.cli.show.page import Field, Page

PIPE_WIDTH = 120  # of a table that does not go to a terminal
NARROWEST = 72  # below, the terminal may wrap lines rather than we drop facts
# What Markdown would take for markup; an underscore within a word is not markup …
MARKUP = re.compile(r"[\\`|*<&\[~]|(?<![^\W_])_|_(?![^\W_])")
# … and, where a paragraph begins, for a heading, a quotation, a list or a line.
BEGINNING = re.compile(r"^(?=[#>+=-]|[0-9]+[.)])([0-9]*)")


def table(page: Page[Any], *, color: bool = False, width: int | None = None) -> str:
    """Return the title, a line for each fact, then the notes.

    `width` is that of the terminal; None without one.
    """
    width = max(width or PIPE_WIDTH, NARROWEST)
    console = Console(
        file=io.StringIO(),
        force_terminal=color,
        no_color=not color,
        width=width,
        highlight=False,
    )
    console.print(Text(page.title))
    console.print()
    shown = [field for field in page.fields if width >= field.from_width]
    console.print(_lines(page, shown))
    for note in (*_left_out(page, shown), *page.notes):
        console.print()
        console.print(Text(note))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _left_out(page: Page[Any], shown: Sequence[Field[Any]]) -> list[str]:
    """Return which columns a narrow terminal hides, if any."""
    headings = {field.heading for field in shown}
    hidden = [f.heading for f in page.fields if f.heading and f.heading not in headings]
    return [f"Not shown in this width: {', '.join(hidden)}."] if hidden else []


def markdown(page: Page[Any], **_: object) -> str:
    """Return the same as a Markdown table between paragraphs."""
    fields = [field for field in page.fields if not field.drawing]
    rows = [
        [_escape(field.heading) for field in fields],
        ["---:" if field.right else "---" for field in fields],
        *([_escape(field.show(fact)) for field in fields] for fact in page.facts),
    ]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n\n".join([_paragraph(page.title), body, *map(_paragraph, page.notes)]) + "\n"


def comma_separated(page: Page[Any], **_: object) -> str:
    """Return a CSV record for each of the page's, below the names; None is an empty cell."""

    def line(cells: Iterable[object]) -> str:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        # With "\n" as its line terminator, csv leaves a \r in a name unquoted before Python 3.13.
        return text.getvalue().removesuffix("\r\n") + "\n"

    names = [line(page.records[0])] if page.records else []
    return "".join([*names, *(line(record.values()) for record in page.records)])


def json_text(page: Page[Any], **_: object) -> str:
    """Return the page's JSON, its last line ended."""
    return page.json + "\n"


def _lines(page: Page[Any], fields: list[Field[Any]]) -> Table:
    lines = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for field in fields:
        lines.add_column(
            field.heading,
            justify="right" if field.right else "left",
            overflow="fold" if field.folds else "crop",
            no_wrap=not field.folds,
        )
    for fact in page.facts:
        lines.add_row(*(_cell(field, fact) for field in fields))
    return lines


def _cell(field: Field[Any], fact: Any) -> Text:
    text = field.show(fact)
    return Text(text.replace(", ", ",\n") if field.splits else text, field.style(fact))


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text)


def _paragraph(text: str) -> str:
    return BEGINNING.sub(r"\1\\", _escape(text.strip()))
