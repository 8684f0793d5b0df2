"""Facts about CFs laid out for people: a line each, in columns or as Markdown; CSV for programs."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120  # where there is no terminal whose width could be asked
NARROWEST = 72  # below, the terminal may wrap lines rather than we drop facts
# What Markdown would take for markup; an underscore within a word is none.
MARKUP = re.compile(r"[\\`|*<&\[~]|(?<![^\W_])_|_(?![^\W_])")

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


def width_of(terminal: int | None) -> int:
    """Return how wide lines may be; None: there is no terminal."""
    return max(terminal or PIPE_WIDTH, NARROWEST)


def columns(
    title: str,
    fields: Sequence[Field[Fact]],
    facts: Iterable[Fact],
    notes: Iterable[str],
    *,
    color: bool,
    width: int,
) -> str:
    """Return the title, a line for each fact, then the notes."""
    console = Console(
        file=io.StringIO(),
        force_terminal=color,
        no_color=not color,
        width=width,
        highlight=False,
    )
    lines = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for field in fields:
        lines.add_column(
            field.heading,
            justify="right" if field.right else "left",
            overflow="fold" if field.folds else "crop",
            no_wrap=not field.folds,
        )
    for fact in facts:
        lines.add_row(
            *(
                Text(
                    field.show(fact).replace(", ", ",\n") if field.splits else field.show(fact),
                    field.style(fact),
                )
                for field in fields
            )
        )
    console.print(Text(title))
    console.print()
    console.print(lines)
    for note in notes:
        console.print()
        console.print(Text(note))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def markdown(
    title: str, fields: Sequence[Field[Fact]], facts: Iterable[Fact], notes: Iterable[str]
) -> str:
    """Return the same as a Markdown table."""
    rows = [
        [field.heading for field in fields],
        ["---:" if field.right else "---" for field in fields],
        *([_escape(field.show(fact)) for field in fields] for fact in facts),
    ]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    said = "".join(f"\n{_escape(note)}\n" for note in notes)
    return f"{title}\n\n{body}\n{said}"


def comma_separated(rows: Sequence[dict[str, object]]) -> str:
    """Return a CSV record for each row, below the names; None is an empty cell."""

    def line(cells: Iterable[object]) -> str:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        # Told to end lines in \n, csv would leave a \r in a name unquoted before Python 3.13.
        return text.getvalue().removesuffix("\r\n") + "\n"

    return "".join([line(rows[0]) if rows else "", *(line(row.values()) for row in rows)])


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text)
