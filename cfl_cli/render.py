"""A report as people and programs read it: table, JSON, CSV or Markdown."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfl_cli.report import ADVICE, ColumnReport, Estimated, Report
from cfl_cli.words import printable

BAR = 12
PIPE_WIDTH = 120  # where there is no terminal whose width could be asked
NARROWEST = 72  # below, the terminal may wrap lines rather than we drop facts
ROOMY = 112  # from this width on there is room for everything
FAIR = 92  # … for what else the accuracy is to be compared with
ESTIMATED = (
    "estimated_accuracy",
    "commonest_share_interval",
    "commonest_accuracy",
    "gain",
    "confident_accuracy",
    "calibration_overconfidence",
)
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
BARS = Field("", _bar)  # behind the numbers, whose heading serves both
ENTROPY = Field("entropy", _bar)
FLAGS = Field("flags", lambda column: printable(", ".join(column.flags)) or "-")
VALUES = Field("values", lambda column: str(column.domain_size), right=True)
REDUCTION = Field("reduction", lambda column: f"{column.entropy_reduction:.0%}", right=True)
SHUFFLED = Field(
    "shuffled",
    lambda column: (
        "-" if column.entropy_reduction_null is None else f"{column.entropy_reduction_null:.0%}"
    ),
    right=True,
)
CONFIDENCE = Field("conf.", lambda column: f"{column.mean_confidence:.2f}", right=True)
ACCURACY = Field("accuracy", lambda column: _interval(column.estimated_accuracy))
COMMONEST = Field(
    "commonest",
    lambda column: f"{column.commonest_accuracy.value:.2f}" if column.commonest_accuracy else "-",
    right=True,
)
ACTION = Field("action", lambda column: printable(column.action))
# Of a CF that was judged by hidden cells, and of one that was not.
JUDGED = [NAME, VALUES, ENTROPY, REDUCTION, SHUFFLED, ACCURACY, COMMONEST, FLAGS, ACTION]
UNJUDGED = [NAME, VALUES, NUMBERS, BARS, REDUCTION, CONFIDENCE, FLAGS, ACTION]
TIGHT = {VALUES, NUMBERS, BARS, ENTROPY}  # what there is no room for below ROOMY
NARROW = {*TIGHT, SHUFFLED, COMMONEST}  # and below FAIR


def _fields(report: Report) -> list[Field]:
    judged = any(column.estimated_accuracy for column in report.columns)
    return JUDGED if judged else UNJUDGED


def _interval(estimated: Estimated | None) -> str:
    if estimated is None:
        return "-"
    return f"{estimated.value:.2f} ({estimated.low:.2f}–{estimated.high:.2f})"


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
    dropped = NARROW if width < FAIR else TIGHT if width < ROOMY else set()
    fields = [field for field in _fields(report) if field not in dropped]
    lines = Table(box=None, pad_edge=False, padding=(0, 0, 0, 1), header_style="bold")
    for field in fields:
        folds = field in (NAME, FLAGS)
        lines.add_column(
            field.heading,
            justify="right" if field.right else "left",
            overflow="fold" if folds else "crop",
            no_wrap=not folds,
        )
    for column in report.columns:
        styles = {NAME: "bold"}
        lines.add_row(
            *(
                # A flag a line: folded, they would break within words.
                Text(field.show(column).replace(", ", ",\n"), "yellow" if column.flagged else "dim")
                if field is FLAGS
                else Text(field.show(column), styles.get(field, ""))
                for field in fields
            )
        )
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
    fields = [field for field in _fields(report) if field not in (BARS, ENTROPY)]
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
    cfs = f"{len(report.columns)} CF{'s' if len(report.columns) != 1 else ''}"
    return f"{report.rows:,} rows, {cfs}, {verdict}"


def _notes(report: Report) -> list[str]:
    """Return a sentence for every kind of flag that fired, then what else to know."""
    fired = [flag for flag in ADVICE if any(flag in column.flags for column in report.columns)]
    return [
        *(f"{flag}: {ADVICE[flag]}." for flag in fired),
        *(note for column in report.columns for note in _of_column(column, report)),
        *(f"warning: {printable(warning)}." for warning in report.warnings),
    ]


def _of_column(column: ColumnReport, report: Report) -> Iterator[str]:
    """Yield a sentence for everything about a CF that the table does not show."""
    name = printable(column.name)
    if column.impossible_values:
        places = ", ".join(map(str, column.impossible_values))
        yield f"{name}: ruled out too often, by place in the domain: {places}."
    if column.confident and column.low_confidence_cells:
        least, right = report.settings.get("min_confidence"), column.confident.accuracy
        rest = f"; the others are right in about {_interval(right)}" if right else ""
        low = _cells(column.low_confidence_cells)
        yield f"{name}: {low} with a confidence below {least} left empty{rest}."
    if column.suspect_cells:
        yield f"{name}: {_cells(column.suspect_cells)} that the neighbors all but contradict."


def _cells(count: int) -> str:
    return f"{count:,} cell{'s' if count != 1 else ''}"


def _flat(column: ColumnReport) -> dict[str, object]:
    """Return the CF's facts as one record: nothing nested, nothing None."""
    facts = asdict(column)
    facts["flags"] = ";".join(column.flags)
    facts["flagged"] = str(column.flagged).lower()
    facts["impossible_values"] = ";".join(map(str, column.impossible_values))
    confident = facts.pop("confident") or {}
    facts["confident_share"] = confident.get("share")
    facts["confident_accuracy"] = confident.get("accuracy")
    calibration = facts.pop("calibration") or {}
    for name in ("error", "overconfidence", "plot", "bins"):
        facts[f"calibration_{name}"] = calibration.get(name)
    for name in ESTIMATED:
        estimated = facts.pop(name) or {}
        for part in ("value", "low", "high"):
            facts[f"{name}_{part}"] = estimated.get(part)
    if calibration:
        facts["calibration_bins"] = json.dumps(calibration["bins"])
    return {name: "" if fact is None else fact for name, fact in facts.items()}
