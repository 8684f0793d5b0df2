"""A report as people and programs read it: table, JSON, CSV or Markdown."""

import csv
import io
from collections.abc import Callable
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfl_cli.report import ADVICE, ColumnReport, Report
from cfl_cli.words import printable

BAR = 12
PIPE_WIDTH = 120  # where there is no terminal whose width could be asked

Row = list[str]
HEADINGS = ["CF", "values", "entropy", "", "reduction", "confidence", "flags", "action"]


def table(report: Report, *, color: bool, width: int | None) -> str:
    """Return the report for a terminal: one line per CF, then what its flags mean."""
    console = Console(
        file=io.StringIO(),
        force_terminal=color,
        no_color=not color,
        width=width or PIPE_WIDTH,
        highlight=False,
    )
    lines = Table(box=None, pad_edge=False, header_style="bold")
    for number, heading in enumerate(HEADINGS):
        lines.add_column(
            heading,
            justify="right" if number in (1, 4, 5) else "left",
            overflow="fold" if number in (0, 6) else "crop",
            no_wrap=number not in (0, 6),
        )
    for column in report.columns:
        cells = [Text(cell) for cell in _cells(column)]
        cells[0].stylize("bold")
        cells[6].stylize("yellow" if column.flagged else "dim")
        lines.add_row(*cells)
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

    def line(cells: Row) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    kept = [0, 1, 2, 4, 5, 6, 7]  # all but the bar
    rows = [HEADINGS, ["---", "---:", "---", "", "---:", "---:", "---", "---"]]
    rows += [_cells(column) for column in report.columns]
    body = "\n".join(line([row[number] for number in kept]) for row in rows)
    notes = "".join(f"\n{note}\n" for note in _notes(report))
    return f"{_title(report)}\n\n{body}\n{notes}"


def comma_separated(report: Report) -> str:
    """Return one CSV record per CF, with every fact of the JSON report."""
    rows = [_flat(column) for column in report.columns]
    text = io.StringIO()
    names = list(rows[0]) if rows else []
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def json_text(report: Report) -> str:
    """Return the report's JSON."""
    return report.to_json() + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "json": json_text,
    "csv": comma_separated,
    "md": markdown,
}


def _title(report: Report) -> str:
    flagged = sum(column.flagged for column in report.columns)
    verdict = f"{flagged} flagged" if flagged else "none flagged"
    return f"{report.rows:,} rows, {len(report.columns)} CFs, {verdict}"


def _cells(column: ColumnReport) -> Row:
    return [
        printable(column.name),
        str(column.domain_size),
        f"{column.entropy_start:.2f} → {column.entropy_end:.2f}",
        _bar(column),
        f"{column.entropy_reduction:.0%}",
        f"{column.mean_confidence:.2f}",
        ", ".join(column.flags) or "-",
        column.action,
    ]


def _bar(column: ColumnReport) -> str:
    """Draw the entropy that is left as █ and the entropy that went as ░; the start is the whole."""
    left = round(BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (BAR - left)


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
