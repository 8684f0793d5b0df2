"""A page as text: in columns for terminals, Markdown, CSV or JSON."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cfl_cli.cli.pages import Field, Page
from cfl_cli.cli.pages.width import wrapped

PIPE_WIDTH = 120  # of a table that does not go to a terminal
_NARROWEST = 40  # below, the terminal may wrap lines rather than we drop facts
FOLDED = 20  # of a column that folds, at least
_INDENT = 2  # of facts below a name
_BESIDE = 4  # a name gets one part in so many of the width, where the rest is stacked
# What Markdown would take for markup; an underscore within a word is not markup …
MARKUP = re.compile(r"[\\`|*<&\[~]|(?<![^\W_])_|_(?![^\W_])")
# … and, where a paragraph begins, for a heading, a quotation, a list or a line.
_BEGINNING = re.compile(r"^(?=[#>+=-]|[0-9]+[.)])([0-9]*)")


def table(page: Page[Any], *, color: bool = False, width: int | None = None) -> str:
    """Return section by section the title, a line for each fact, then the notes.

    Where the width does not suffice for all columns, a fact gets several lines below each other,
    and so do the headings. `width` is that of the terminal; None without one.
    """
    width = max(width or PIPE_WIDTH, _NARROWEST)
    console = Console(
        file=io.StringIO(), force_terminal=color, no_color=not color, width=width, highlight=False
    )
    for number, section in enumerate(page.sections):
        if number:
            console.print()
        for above in filter(None, (section.title, section.lead)):
            console.print(_flowing(above, width))
        facts = section.facts
        shown = [field for field in section.fields if width >= field.from_width or not facts]
        if facts:
            console.print()
            console.print(_body([_Column.of(field, facts) for field in shown], width))
        headings = {"", *(field.heading for field in shown)}
        hidden = [field.heading for field in section.fields if field.heading not in headings]
        left_out = [f"Not shown in this width: {', '.join(hidden)}."] if hidden else []
        for note in (*left_out, *section.notes):
            console.print()
            console.print(_flowing(note, width))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _flowing(text: str, width: int) -> Text:
    return Text(wrapped(text, width), no_wrap=True, overflow="fold")


def markdown(page: Page[Any], **_: object) -> str:
    parts: list[str] = []
    for section in page.sections:
        fields = [field for field in section.fields if not field.drawing]
        rows = [
            [_escape(field.heading) for field in fields],
            ["---:" if field.right else "---" for field in fields],
            *([_escape(field.show(fact)) for field in fields] for fact in section.facts),
        ]
        body = ["\n".join(f"| {' | '.join(row)} |" for row in rows)] if section.facts else []
        above = [section.title, *section.lead.splitlines()]
        parts += [*map(_paragraph, above), *body, *map(_paragraph, section.notes)]
    return "\n\n".join(parts) + "\n"


def comma_separated(page: Page[Any], **_: object) -> str:
    def line(cells: Iterable[object]) -> str:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        # With "\n" as its line terminator, csv leaves a \r in a name unquoted before Python 3.13.
        return text.getvalue().removesuffix("\r\n") + "\n"

    names = [line(page.records[0])] if page.records else []
    return "".join([*names, *(line(record.values()) for record in page.records)])


def json_text(page: Page[Any], **_: object) -> str:
    return page.json + "\n"


@dataclass(frozen=True, eq=False)
class _Column:
    field: Field[Any]
    cells: tuple[Text, ...]

    @classmethod
    def of(cls, field: Field[Any], facts: Sequence[Any]) -> "_Column":
        texts = (field.show(fact) for fact in facts)
        folded = (text.replace(", ", ",\n") if field.splits else text for text in texts)
        styles = map(field.style, facts)
        return cls(field, tuple(map(Text, folded, styles)))

    def of_facts(self, some: slice) -> "_Column":
        return _Column(self.field, self.cells[some])

    @property
    def width(self) -> int:
        texts = (self.field.heading, *(cell.plain for cell in self.cells))
        return max(cell_len(line) for text in texts for line in text.split("\n"))

    @property
    def least(self) -> int:
        """Return how wide it must be; where lines are split, a part is not to be broken."""
        return min(self.width, FOLDED) if self.field.folds and not self.field.splits else self.width


def _body(columns: Sequence[_Column], width: int) -> RenderableType:
    needed = [column for column in columns if not column.field.spare]
    name, *others = needed
    for some in (columns, needed):  # a name is not to be broken
        least = sum(column.least + 1 for column in some) - 1 + name.width - name.least
        if least <= width or not others:
            return _lines(some, width)
    beside = max(width // _BESIDE, _NARROWEST // _BESIDE)
    if name.width > beside:
        return _below_names(name, others, width)
    beside = name.width
    rest = width - beside - 1
    groups = _groups(others, rest)
    body = _table()
    heads = [_lines([one.of_facts(slice(0)) for one in group], rest, group) for group in groups]
    lower = "\n" * (len(groups) - 1)  # headings stand at the bottom otherwise
    body.add_column(Text(name.field.heading + lower), width=beside, overflow="fold")
    body.add_column(Group(*heads), width=rest)
    for number, cell in enumerate(name.cells):
        body.add_row(cell, Group(*_facts(number, groups, rest)))
    return body


def _facts(number: int, groups: Sequence[list[_Column]], width: int) -> list[Table]:
    """Return a fact, a table of one line for each group of columns."""
    return [
        _lines(
            [one.of_facts(slice(number, number + 1)) for one in group], width, group, headed=False
        )
        for group in groups
        if any(one.cells[number].plain for one in group)
    ]


def _below_names(name: _Column, others: Sequence[_Column], width: int) -> Group:
    """Return facts below their names, which are too long to stand beside them."""
    rest = width - _INDENT
    groups = _groups(others, rest)
    heads = [_lines([one.of_facts(slice(0)) for one in group], rest, group) for group in groups]
    parts: list[RenderableType] = [Text(name.field.heading, "bold"), _indented(heads)]
    for number, cell in enumerate(name.cells):
        parts += [cell, _indented(_facts(number, groups, rest))]
    return Group(*parts)


def _indented(parts: Sequence[Table]) -> Padding:
    return Padding(Group(*parts), (0, 0, 0, _INDENT))


def _groups(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    groups = _filled(columns, width)
    for place, column in enumerate(columns):
        if column.field.begins:
            apart = [*_filled(columns[:place], width), *_filled(columns[place:], width)]
            return apart if len(apart) == len(groups) else groups
    return groups


def _filled(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    groups: list[list[_Column]] = []
    left = 0
    for column in columns:
        if not groups or column.least > left:
            groups.append([])
            left = width
        groups[-1].append(column)
        left -= column.least + 1
    return groups


def _lines(
    columns: Sequence[_Column],
    width: int,
    like: Sequence[_Column] | None = None,
    *,
    headed: bool = True,
) -> Table:
    like = like or columns
    spare = width - sum(column.least + 1 for column in like) + 1
    lines = _table(headed=headed)
    for column, model in zip(columns, like, strict=True):
        more = min(max(spare, 0), model.width - model.least)
        spare -= more
        lines.add_column(
            column.field.heading,
            justify="right" if column.field.right else "left",
            overflow="fold" if column.field.folds else "crop",
            no_wrap=not column.field.folds,
            width=min(model.least + more, width),
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        lines.add_row(*cells)
    return lines


def _table(*, headed: bool = True) -> Table:
    padding = (0, 0, 0, 1)
    return Table(box=None, pad_edge=False, padding=padding, header_style="bold", show_header=headed)


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text)


def _paragraph(text: str) -> str:
    return _BEGINNING.sub(r"\1\\", _escape(text.strip()))


# A page as a piece of HTML: a table between paragraphs, for notebooks.


def html_fragment(page: Page[Any]) -> str:
    parts = []
    for section in page.sections:
        fields = [field for field in section.fields if not field.drawing]
        head = _html_row("th", fields, (field.heading for field in fields))
        lines = [
            _html_row("td", fields, (field.show(fact) for field in fields))
            for fact in section.facts
        ]
        table = f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>"
        above = paragraphs([section.title, *section.lead.splitlines()])
        parts.append(f"{above}{table}{paragraphs(section.notes)}")
    return f"<div>{''.join(parts)}</div>"


def paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _html_row(tag: str, fields: Sequence[Field[Any]], texts: Iterable[str]) -> str:
    cells = (
        f'<{tag} style="text-align: {"right" if field.right else "left"}">{escape(text)}</{tag}>'
        for field, text in zip(fields, texts, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
