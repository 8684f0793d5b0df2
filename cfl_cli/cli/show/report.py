"""The page of a report: a line for each CF, then what its flags mean."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TypeAlias, get_args, get_type_hints

from cfl_cli.cli.show import audit as audits
from cfl_cli.cli.show.notes import notes
from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page
from cfl_cli.cli.show.page import interval_text as _interval
from cfl_cli.core.messages import count, printable
from cfl_cli.trust.basis import NONE
from cfl_cli.trust.drift_figures import Drift
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Report
from cfl_cli.trust.use import HEADINGS, by_state

Field: TypeAlias = AnyField[ColumnReport]

BAR = 12
MENTIONED = 8  # CFs that can be used alike; the others are counted
INTERVALS = (
    *(name for name, kind in get_type_hints(ColumnReport).items() if Interval in get_args(kind)),
    "confident_accuracy",
    "fitted_accuracy",
    "unfitted_accuracy",
    "calibration_overconfidence",
)


def page(report: Report) -> Page[ColumnReport]:
    """Return what there is to show of a report."""
    judged = any(column.estimated_accuracy or column.hidden_cells for column in report.columns)
    return Page(
        title=_title(report),
        lead=_lead(report) if judged else "",
        fields=BATCH if report.batch else JUDGED if judged else UNJUDGED,
        facts=report.columns,
        notes=notes(report),
        records=[_flat(column) for column in report.columns],
        json=report.to_json(),
    )


def _bar(column: ColumnReport) -> str:
    """Draw the entropy that is left as █ and the entropy that is gone as ░."""
    left = round(BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (BAR - left)


def _accuracy(column: ColumnReport) -> str:
    return "not known" if column.accuracy_basis == NONE else _interval(column.estimated_accuracy)


def _loss(column: ColumnReport) -> str:
    drift = column.drift
    return "-" if drift is None else f"{drift.loss_at_fitting:.4f} → {drift.loss:.4f}"


NAME = Field("CF", lambda column: printable(column.name), folds=True, style=lambda _: "bold")
VALUES = Field("values", lambda column: str(column.domain_size), right=True)
NUMBERS = Field(
    "entropy",
    lambda column: f"{column.entropy_start:.2f} → {column.entropy_end:.2f}",
)
BARS = Field("", _bar, drawing=True, spare=True)  # behind the numbers, under their heading
ENTROPY = Field("entropy", _bar, drawing=True, spare=True)
REDUCTION = Field("reduction", lambda column: f"{column.entropy_reduction:.0%}", right=True)
SHUFFLED = Field(
    "shuffled",
    lambda column: (
        "-" if column.entropy_reduction_null is None else f"{column.entropy_reduction_null:.0%}"
    ),
    right=True,
)
CONFIDENCE = Field("conf.", lambda column: f"{column.mean_confidence:.2f}", right=True)
ACCURACY = Field("accuracy", _accuracy)
AT_FITTING = Field("at fitting", lambda column: _interval(column.fitting_accuracy))
LOSS = Field("loss", _loss)
COMMONEST = Field(
    "commonest",
    lambda column: f"{column.commonest_accuracy.value:.2f}" if column.commonest_accuracy else "-",
    right=True,
)
FLAGS = Field(
    "flags",
    lambda column: printable(", ".join(column.flags)) or "-",
    folds=True,
    splits=True,
    begins=True,
    style=lambda column: "yellow" if column.flagged else "dim",
)
ACTION = Field("action", lambda column: printable(column.action))
# Of CFs that were judged by hidden cells, and of CFs that were not.
JUDGED = (NAME, VALUES, ENTROPY, REDUCTION, SHUFFLED, ACCURACY, COMMONEST, FLAGS, ACTION)
BATCH = (NAME, VALUES, ENTROPY, ACCURACY, AT_FITTING, LOSS, FLAGS, ACTION)  # of new rows
UNJUDGED = (NAME, VALUES, NUMBERS, BARS, REDUCTION, CONFIDENCE, FLAGS, ACTION)


def _title(report: Report) -> str:
    flagged = sum(column.flagged for column in report.columns)
    verdict = f"{flagged} flagged" if flagged else "none flagged"
    name = str(report.settings.get("method", "graph"))
    method = "" if name == "graph" else f", method {printable(name)}"
    batch = ""
    if report.batch:
        batch = f" of batch {report.batch.number}" if report.batch.number else " of a batch"
    return (
        f"{count(report.rows, 'row')}{batch}, {count(len(report.columns), 'CF')}{method}, {verdict}"
    )


def _lead(report: Report) -> str:
    """Return which CFs can be used, those alike together."""
    return " ".join(
        f"{HEADINGS[state]}: {_some([printable(column.name) for column in columns])}."
        for state, columns in by_state(report).items()
    )


def _some(names: Sequence[str]) -> str:
    others = len(names) - MENTIONED
    return ", ".join(names[:MENTIONED]) + (f" and {count(others, 'other')}" if others > 0 else "")


def _flat(column: ColumnReport) -> dict[str, object]:
    """Return the CF's facts as one record: nothing nested."""
    facts = asdict(column)
    facts["flags"] = ";".join(column.flags)
    facts["flagged"] = str(column.flagged).lower()
    facts["cautious_blend"] = str(column.cautious_blend).lower()
    if column.clearly_better is not None:
        facts["clearly_better"] = str(column.clearly_better).lower()
    facts["parts"] = ";".join(f"{part.name}={part.weight}" for part in column.parts)
    facts["part_scores"] = ";".join(f"{part.name}={part.score}" for part in column.parts)
    facts["stops"] = ";".join(map(str, column.stops))
    facts["confidence_shares"] = ";".join(map(str, column.confidence_shares))
    for name in ("values", "coverage", "tried"):
        facts[name] = json.dumps(facts[name], ensure_ascii=False) if facts[name] else None
    facts["impossible_values"] = ";".join(map(str, column.impossible_values))
    confident = facts.pop("confident") or {}
    facts["confident_share"] = confident.get("share")
    facts["confident_accuracy"] = confident.get("accuracy")
    fit = facts.pop("fitted_mechanism") or {}
    facts["fitted_weights"] = ";".join(map(str, fit.get("weights", ())))
    facts["fitted_taken"] = str(fit["taken"]).lower() if fit else None
    facts["fitted_accuracy"] = fit.get("fitted")
    facts["unfitted_accuracy"] = fit.get("uniform")
    calibration = facts.pop("calibration") or {}
    for name in ("error", "overconfidence", "plot", "bins"):
        facts[f"calibration_{name}"] = calibration.get(name)
    raw = facts.pop("calibration_raw") or {}
    facts["calibration_raw_error"] = raw.get("error")
    for name in INTERVALS:
        interval = facts.pop(name) or {}
        for part in ("value", "low", "high"):
            facts[f"{name}_{part}"] = interval.get(part)
    drift = facts.pop("drift") or {}
    for name in (field.name for field in fields(Drift)):
        value = drift.get(name)
        facts[f"drift_{name}"] = str(value).lower() if isinstance(value, bool) else value
    audit = audits.flat(column.audit)
    facts.pop("audit")
    facts |= {f"audit_{name}": value for name, value in audit.items()}
    if calibration:
        facts["calibration_bins"] = json.dumps(calibration["bins"])
    return facts
