"""A report as people and programs read it: table, JSON, CSV or Markdown."""

import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfl_cli.report import ADVICE, ColumnReport, Report
from cfl_cli.words import printable

BAR = 12
PIPE_WIDTH = 120  # where there is no terminal whose width could be asked
NARROWEST = 72  # below, the terminal may wrap lines rather than we drop facts
ROOMY = 100  # from this width on there is room for numbers beside the bar
# What Markdown would take for markup; an underscore within a word is none.
MARKUP = re.compile(r"[\\`|*<&\[~]|(?<![^\W_])_|_(?![^\W_])")


@dataclass(frozen=True)
class Field:
    """A column of the table: its heading and what it shows of a CF."""

    heading: str
    show: Callable[[ColumnReport], str]
    right: bool = False


def _bar(column: ColumnReport) -> str:
    """Draw the entropy that is left as █ and the entropy that went as ░; the start is the whole."""
    left = round(BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (BAR - left)


NAME = Field("CF", lambda column: printable(column.name))
NUMBERS = Field("entropy", lambda column: f"{column.entropy_start:.2f} → {column.entropy_end:.2f}")
BARS = Field("", _bar)
FLAGS = Field("flags", lambda column: printable(", ".join(column.flags)) or "-")
FIELDS = [
    NAME,
    Field("values", lambda column: str(column.domain_size), right=True),
    NUMBERS,
    BARS,
    Field("reduction", lambda column: f"{column.entropy_reduction:.0%}", right=True),
    Field("conf.", lambda column: f"{column.mean_confidence:.2f}", right=True),
    FLAGS,
    Field("action", lambda column: printable(column.action)),
]
NARROW = [Field("entropy", _bar) if field is NUMBERS else field for field in FIELDS]
NARROW.remove(BARS)


def table(report: Report, *, color: bool, width: int | None) -> str:
    """Return the report for a terminal: one line per CF, then what its flags mean."""
    width = max(width or PIPE_WIDTH, NARROWEST)
    console = Console(
        file=io.StringIO(),
        force_terminal=color,
        no_color=not color,
        width=width,
        highlight=False,
    )
    roomy = width >= ROOMY
    fields = FIELDS if roomy else NARROW
    lines = Table(
        box=None, pad_edge=False, padding=(0, 1 if roomy else 0, 0, 1), header_style="bold"
    )
    for field in fields:
        folds = field in (NAME, FLAGS)
        lines.add_column(
            field.heading,
            justify="right" if field.right else "left",
            overflow="fold" if folds else "crop",
            no_wrap=not folds,
        )
    for column in report.columns:
        styles = {NAME: "bold", FLAGS: "yellow" if column.flagged else "dim"}
        lines.add_row(*(Text(field.show(column), styles.get(field, "")) for field in fields))
    console.print(Text(_title(report)))
    console.print()
    console.print(lines)
    for note in _notes(report):
        console.print()
        console.print(Text(note))
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def markdown(report: Report) -> str:
    """Return the report as a Markdown table."""
    fields = [field for field in FIELDS if field is not BARS]
    rows = [
        [field.heading for field in fields],
        ["---:" if field.right else "---" for field in fields],
        *([_escape(field.show(column)) for field in fields] for column in report.columns),
    ]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    notes = "".join(f"\n{_escape(note)}\n" for note in _notes(report))
    return f"{_title(report)}\n\n{body}\n{notes}"


def comma_separated(report: Report) -> str:
    """Return one CSV record per CF, with every fact of the JSON report."""

    def line(cells: Iterable[object]) -> str:
        text = io.StringIO()
        csv.writer(text).writerow(cells)
        # Told to end lines in \n, csv would leave a \r in a name unquoted before Python 3.13.
        return text.getvalue().removesuffix("\r\n") + "\n"

    rows = [_flat(column) for column in report.columns]
    return "".join([line(rows[0]) if rows else "", *(line(row.values()) for row in rows)])


def json_text(report: Report) -> str:
    """Return the report's JSON."""
    return report.to_json() + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "json": json_text,
    "csv": comma_separated,
    "md": markdown,
}


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text)


def _title(report: Report) -> str:
    flagged = sum(column.flagged for column in report.columns)
    verdict = f"{flagged} flagged" if flagged else "none flagged"
    return f"{report.rows:,} rows, {len(report.columns)} CFs, {verdict}"


def _notes(report: Report) -> list[str]:
    """Return a sentence for every kind of flag that fired, then the run's warnings."""
    fired = [flag for flag in ADVICE if any(flag in column.flags for column in report.columns)]
    return [
        *(f"{flag}: {ADVICE[flag]}." for flag in fired),
        *(f"warning: {printable(warning)}." for warning in report.warnings),
    ]


def _flat(column: ColumnReport) -> dict[str, object]:
    """Return the CF's facts as one record: nothing nested, nothing None."""
    facts = asdict(column)
    facts["flags"] = ";".join(column.flags)
    facts["flagged"] = str(column.flagged).lower()
    accuracy = facts.pop("estimated_accuracy") or {}
    for part in ("value", "low", "high"):
        facts[f"estimated_accuracy_{part}"] = accuracy.get(part)
    return {name: "" if fact is None else fact for name, fact in facts.items()}
