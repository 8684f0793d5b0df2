"""A report as people and programs read it: table, JSON, CSV or Markdown."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TypeAlias

from cfl_cli.cli.show import layout as listing
from cfl_cli.core.messages import count, printable
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ADVICE, ColumnReport, Report

Field: TypeAlias = listing.Field[ColumnReport]

BAR = 12
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


def _bar(column: ColumnReport) -> str:
    """Draw the entropy that is left as █ and the entropy that went as ░; the start is the whole."""
    left = round(BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (BAR - left)


NAME = Field("CF", lambda column: printable(column.name), folds=True, style=lambda _: "bold")
NUMBERS = Field("entropy", lambda column: f"{column.entropy_start:.2f} → {column.entropy_end:.2f}")
BARS = Field("", _bar)  # behind the numbers, whose heading serves both
ENTROPY = Field("entropy", _bar)
FLAGS = Field(
    "flags",
    lambda column: printable(", ".join(column.flags)) or "-",
    folds=True,
    splits=True,
    style=lambda column: "yellow" if column.flagged else "dim",
)
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


def _interval(estimated: Interval | None) -> str:
    if estimated is None:
        return "-"
    return f"{estimated.value:.2f} ({estimated.low:.2f}–{estimated.high:.2f})"


def table(report: Report, *, color: bool, width: int | None) -> str:
    """Return the report for a terminal: one line per CF, then what its flags mean."""
    width = listing.width_of(width)
    dropped = NARROW if width < FAIR else TIGHT if width < ROOMY else set()
    fields = [field for field in _fields(report) if field not in dropped]
    return listing.columns(
        _title(report), fields, report.columns, _notes(report), color=color, width=width
    )


def markdown(report: Report) -> str:
    """Return the report as a Markdown table."""
    fields = [field for field in _fields(report) if field not in (BARS, ENTROPY)]
    return listing.markdown(_title(report), fields, report.columns, _notes(report))


def comma_separated(report: Report) -> str:
    """Return one CSV record per CF, with every fact of the JSON report."""
    return listing.comma_separated([_flat(column) for column in report.columns])


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
    told = report.settings.get("method", "graph")
    method = "" if told == "graph" else f", method {printable(str(told))}"
    return f"{report.rows:,} rows, {count(len(report.columns), 'CF')}{method}, {verdict}"


def _notes(report: Report) -> list[str]:
    """Return a sentence for every kind of flag that fired, then what else to know."""
    fired = [flag for flag in ADVICE if any(flag in column.flags for column in report.columns)]
    graph = report.settings.get("method", "graph") == "graph"
    flagged = any(column.flagged for column in report.columns)
    return [
        *(f"{flag}: {ADVICE[flag]}." for flag in fired),
        *(
            ["Another method may know more of what is flagged: try --method auto."]
            * (graph and flagged)
        ),
        *(note for column in report.columns for note in _of_column(column, report)),
        *(f"warning: {printable(warning)}." for warning in report.warnings),
    ]


def _of_column(column: ColumnReport, report: Report) -> Iterator[str]:
    """Yield a sentence for everything about a CF that the table does not show."""
    name = printable(column.name)
    if column.parts:
        weights = sorted(column.parts, key=lambda part: -part.weight)
        used = [f"{printable(part.name)} {part.weight:.0%}" for part in weights if part.weight]
        yield f"{name}: {printable(column.method)} of {', '.join(used)}."
    if column.impossible_values:
        places = ", ".join(map(str, column.impossible_values))
        yield f"{name}: ruled out too often, by place in the domain: {places}."
    if column.confident and column.low_confidence_cells:
        least, right = report.settings.get("min_confidence"), column.confident.accuracy
        rest = f"; the others are right in about {_interval(right)}" if right else ""
        low = count(column.low_confidence_cells, "cell")
        yield f"{name}: {low} with a confidence below {least} left empty{rest}."
    if column.suspect_cells:
        cells = count(column.suspect_cells, "cell")
        yield f"{name}: {cells} that the estimate all but contradicts."


def _flat(column: ColumnReport) -> dict[str, object]:
    """Return the CF's facts as one record: nothing nested."""
    facts = asdict(column)
    facts["flags"] = ";".join(column.flags)
    facts["flagged"] = str(column.flagged).lower()
    facts["parts"] = ";".join(f"{part.name}={part.weight}" for part in column.parts)
    facts["part_scores"] = ";".join(f"{part.name}={part.score}" for part in column.parts)
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
    return facts
