"""The page of a report: a line for each CF, then what its flags mean."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import log
from typing import TypeAlias, get_args, get_type_hints

import polars as pl

from cfl_cli import __version__
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, interval_text
from cfl_cli.cli.pages import interval_text as _interval
from cfl_cli.cli.pages.history import odds
from cfl_cli.core.exclusions import MOST_BIAS
from cfl_cli.core.messages import count, printable
from cfl_cli.core.settings import METHODS
from cfl_cli.run.diagnostics import (
    DOUBTFUL_CELL,
    FALLBACK,
    IMPOSSIBLE_VALUE,
    SUSPECT_CELL,
    fit_least,
)
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.recommendation import ASSUMPTIONS, AUDIT, EXACT_CELLS, HEADINGS, NONE, by_state
from cfl_cli.trust.report import (
    ADVICE,
    Audit,
    BatchFacts,
    ColumnReport,
    Drift,
    FittedMechanism,
    Report,
)

# What a batch of new rows adds to the page of a report: sentences below its table.

MENTIONED_OF_BATCH = 5  # columns, at most, of one sentence; the others are counted
NOTEWORTHY = 0.1  # of a rise: less is left out


def batch_notes(report: Report) -> Iterator[str]:
    """Yield a sentence for everything that concerns a batch alone."""
    batch = report.batch
    if batch is None:
        return
    for column in report.columns:
        if column.drift is not None and "drifted" in column.flags:
            yield _of_drift(column, column.drift, batch)
        elif "drifted" in column.flags:
            yield f"{printable(column.name)}: it had drifted before this batch."
    yield from _unknown(report.columns)
    yield from _power(report.columns)
    for what, shares in (
        ("new categories", batch.new_categories),
        ("out of range", batch.out_of_range),
    ):
        if shares:
            yield f"{what}, by share of the rows: {_shares(shares)}."
    if batch.rows_judged < report.rows:
        yield f"Figures are by {batch.rows_judged:,} of the rows, drawn by their number."


def _of_drift(column: ColumnReport, drift: Drift, batch: BatchFacts) -> str:
    since = drift.drifted_since
    earlier = f" since batch {since}" if since and batch.number and since < batch.number else ""
    error = "" if drift.error is None else f" ± {drift.error:.4f}"
    return (
        f"{printable(column.name)}: this CF's new cells are predicted worse than those at fitting"
        f"{earlier}: loss {drift.loss_at_fitting:.4f} → {drift.loss:.4f}{error}; evidence "
        f"{odds(drift.evidence)}{_why(drift)}."
    )


def _why(drift: Drift) -> str:
    rise = drift.loss - drift.loss_at_fitting
    harder = drift.expected - drift.expected_at_fitting
    if rise <= 0:
        return ""
    if harder > NOTEWORTHY * rise:
        return f"; {harder:.4f} of the rise is that the model itself finds these rows harder"
    return (
        "; the model itself does not find these rows harder, so what the CF has to do with the "
        "other columns has changed"
    )


def _unknown(columns: Sequence[ColumnReport]) -> Iterator[str]:
    for reason in dict.fromkeys(column.drift_reason for column in columns):
        if reason is not None:
            names = [column.name for column in columns if column.drift_reason == reason]
            yield f"{_some_batches(names)}: drift is not judged: {printable(reason)}."


def _power(columns: Sequence[ColumnReport]) -> Iterator[str]:
    shown = [
        f"{printable(column.name)} {column.drift.least_rise:.4f}"
        for column in columns
        if column.drift and column.drift.least_rise is not None
    ]
    blind = [
        column.name
        for column in columns
        if column.drift and column.drift.least_rise is None and "drifted" not in column.flags
    ]
    if shown:
        rest = f" and {count(len(shown) - MENTIONED_OF_BATCH, 'other CF')}" * (
            len(shown) > MENTIONED_OF_BATCH
        )
        yield (
            "Rises of the loss that this batch alone would have shown, about: "
            f"{', '.join(shown[:MENTIONED_OF_BATCH])}{rest}."
        )
    if blind:
        yield f"{_some_batches(blind)}: this batch alone is too small to show a change."


def _shares(shares: Mapping[str, float]) -> str:
    most = sorted(shares.items(), key=lambda item: -item[1])
    parts = [f"{printable(name)} {_percent(share)}" for name, share in most[:MENTIONED_OF_BATCH]]
    if len(most) > MENTIONED_OF_BATCH:
        parts.append(f"{count(len(most) - MENTIONED_OF_BATCH, 'other column')} less")
    return ", ".join(parts)


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def _some_batches(names: Sequence[str]) -> str:
    listed = ", ".join(map(printable, names[:MENTIONED_OF_BATCH]))
    rest = len(names) - MENTIONED_OF_BATCH
    return f"{listed} and {count(rest, 'other CF')}" if rest > 0 else listed


# What there is to say about a report below its table, a sentence each.

MENTIONED_IN_NOTES = 5  # CFs, at most, of one sentence; the others are counted
NOTICEABLE = 0.01  # by how much confidences are off; less is left out
_SEEN = 0.005  # from which an interval in two digits does not end at 0


def notes(report: Report) -> list[str]:
    """Return a sentence for every kind of flag that fired, then what else to know."""
    return [
        *(f"{flag}: {ADVICE[flag]}." for flag in fired(report)),
        *of_all(report),
        *(note for column in report.columns for note in of_column(column, report)),
        *of_rows(report),
        *(f"warning: {printable(warning)}." for warning in report.warnings),
    ]


def fired(report: Report) -> list[str]:
    """Return the flags that some CF has, and of which it is known what to do."""
    return [flag for flag in ADVICE if any(flag in column.flags for column in report.columns)]


def of_all(report: Report) -> list[str]:
    """Return what there is to say of several CFs in a sentence."""
    graph = report.settings.get("method", "graph") == "graph"
    # No method makes up for cells that are not random.
    flagged = any(c.flagged and "exclusions-not-uniform" not in c.flags for c in report.columns)
    return [
        *(
            ["Another method may do better on what is flagged: try --method auto."]
            * (graph and flagged and report.batch is None)
        ),
        *batch_notes(report),
        *_of_sample(report),
        *_of_groups(report),
        *_of_accuracies(report.columns),
        *_of_bias(report.columns, report.settings.get("bias")),
        *_calibration(report),
        *_over_or_under(report.columns),
    ]


def _of_sample(report: Report) -> Iterator[str]:
    if report.sample is not None:
        drawn, of = report.sample.rows, report.sample.of
        yield f"Learned from {drawn:,} of {of:,} rows, drawn at random."


def _of_groups(report: Report) -> Iterator[str]:
    if report.groups is not None:
        together = "" if report.batch else "were hidden together and "
        yield f"Rows belong to {report.groups:,} groups, which {together}count as one each."


def _of_accuracies(columns: Sequence[ColumnReport]) -> Iterator[str]:
    for reason, names in _alike(columns, lambda column: column.accuracy_reason):
        every = all(column.accuracy_reason == reason for column in columns)
        whose = "Accuracies are" if every and len(columns) > 1 else f"{names}: accuracy"
        yield f"{whose} not known: {printable(reason)}."
    bases = list(_alike(columns, lambda column: ASSUMPTIONS.get(column.accuracy_basis or "")))
    based = sum(column.estimated_accuracy is not None for column in columns)
    for assumption, names in bases:
        every = len(bases) == 1 and based <= sum(
            column.accuracy_basis in ASSUMPTIONS for column in columns
        )
        whose = "Accuracies hold" if every else f"{names}: accuracies hold"
        yield f"{whose} if {assumption}."


def _alike(
    columns: Sequence[ColumnReport], fact: Callable[[ColumnReport], str | None]
) -> Iterator[tuple[str, str]]:
    for one in dict.fromkeys(map(fact, columns)):
        if one is not None:
            yield (
                one,
                ", ".join(printable(column.name) for column in columns if fact(column) == one),
            )


def _of_bias(columns: Sequence[ColumnReport], bias: object) -> Iterator[str]:
    unflagged = [column for column in columns if not column.flagged]
    better = [(column.break_even_bias or MOST_BIAS, column) for column in unflagged]
    better = sorted((one for one in better if one[0] < MOST_BIAS), key=lambda one: one[0])
    for least, column in better[:MENTIONED_IN_NOTES]:
        shown = column.unnoticed_bias
        yield (
            f"{printable(column.name)}: better than the commonest unless some wrong values are "
            f"ruled out {least:.1f} times as readily as others; "
            + (
                "a value ruled out more readily than others would not have been noticed."
                if shown is None
                else f"a value ruled out {shown:.1f} times as readily would have been noticed."
            )
        )
    if len(better) > MENTIONED_IN_NOTES:
        rest = count(len(better) - MENTIONED_IN_NOTES, "other CF")
        yield f"{rest}: better than the commonest up to {better[MENTIONED_IN_NOTES][0]:.1f} times or more."
    bands = [
        f"{printable(column.name)} {band.low:.2f}–{band.high:.2f}"
        for column in columns
        if (band := column.accuracy_under_bias)
    ]
    if bands:
        yield (
            "Accuracies if some wrong values are ruled out more readily than others (--bias "
            f"{bias}): {', '.join(bands)}."
        )


def _calibration(report: Report) -> Iterator[str]:
    raised = [column for column in report.columns if column.calibration_power is not None]
    strongest = sorted(raised, key=lambda column: -abs(log(column.calibration_power or 1.0)))
    parts = [_of_power(column) for column in strongest[:MENTIONED_IN_NOTES]]
    if len(raised) > MENTIONED_IN_NOTES:
        parts.append(f"{count(len(raised) - MENTIONED_IN_NOTES, 'other CF')} less")
    if raised:
        yield (
            "Confidences are calibrated, each CF's by a power (below 1: less sure): "
            f"{', '.join(parts)}."
        )
    method = METHODS.get(str(report.settings.get("method")))
    if raised or method is None or not method.calibrated:
        return
    if not report.settings.get("calibration", True):
        yield "Confidences are not calibrated, as --no-calibration says, and may be too sure."
    elif report.settings.get("folds") == 0:
        yield "Confidences are not calibrated: that takes hidden cells, and --folds 0 hides none."


def _of_power(column: ColumnReport) -> str:
    after, before = column.calibration, column.calibration_raw
    power = f"{printable(column.name)} {column.calibration_power:.2f}"
    if after is None or before is None:
        return power
    return f"{power} (error {before.error:.2f} before, {after.error:.2f} after)"


def _over_or_under(columns: Sequence[ColumnReport]) -> Iterator[str]:
    known = [
        (column, column.calibration.overconfidence) for column in columns if column.calibration
    ]
    for word, rarely, sign in (("Overconfident", "less", 1), ("Underconfident", "more", -1)):
        clear = [(one, by) for one, by in known if min(sign * by.low, sign * by.high) > _SEEN]
        clear = [(one, by) for one, by in clear if abs(by.value) >= NOTICEABLE]
        clear.sort(key=lambda pair: -abs(pair[1].value))
        parts = [
            f"{printable(one.name)} by {abs(by.value):.2f} ({_range(by)})"
            for one, by in clear[:MENTIONED_IN_NOTES]
        ]
        if len(clear) > MENTIONED_IN_NOTES:
            parts.append(f"{count(len(clear) - MENTIONED_IN_NOTES, 'other CF')} by less")
        if parts:
            often = f"answers are right {rarely} often than their confidence says"
            yield f"{word}: {', '.join(parts)}; {often}."


def _range(by: Interval) -> str:
    low, high = sorted((abs(by.low), abs(by.high)))
    return f"{low:.2f}–{high:.2f}"


def of_column(column: ColumnReport, report: Report) -> Iterator[str]:
    """Yield a sentence for everything about a CF that the table does not show."""
    name = printable(column.name)
    if column.blurred:
        yield (
            f"{name}: blurred on purpose ({printable(column.blurred)}), and inferred all the same "
            "because --infer named it: treat the answers as you would the true values."
        )
    if column.parts:
        weights = sorted(column.parts, key=lambda part: -part.weight)
        used = [f"{printable(part.name)} {part.weight:.0%}" for part in weights if part.weight]
        yield f"{name}: method {printable(column.method)}, made of {', '.join(used)}."
    if column.cautious_blend:
        yield (
            f"{name}: exclusions are not as assumed, so hidden cells hardly choose among these "
            "methods, and the bare cell counts as one more of them."
        )
    if column.exact_accuracy:
        yield f"{name}: {_of_exact_cells(column, column.exact_accuracy)}"
    if column.fitted_mechanism:
        yield f"{name}: {_of_fit(column.fitted_mechanism)}"
    if column.impossible_values:
        values = ", ".join(_label(column, place) for place in column.impossible_values)
        yield f"{name}: values ruled out too often, by place in the domain: {values}."
    if column.confident and column.low_confidence_cells and column.action != "kept":
        least, right = report.settings.get("min_confidence"), column.confident.accuracy
        rest = f"; of the others about {_interval(right)} are right" if right else ""
        low = count(column.low_confidence_cells, "cell")
        yield f"{name}: {low} with a confidence below {least} left empty{rest}."
    if column.suspect_cells:
        cells = count(column.suspect_cells, "suspect cell")
        whose = "its" if column.suspect_cells == 1 else "their"
        yield f"{name}: {cells}: {whose} candidates get under 1 %{_wrong(column)}."
    if column.audit:
        yield from _of_audit(name, column.audit)


def _label(column: ColumnReport, place: int) -> str:
    known = column.values[place - 1].label if 0 < place <= len(column.values) else None
    return str(place) if known is None else f"{place} ({printable(known)})"


def of_rows(report: Report) -> Iterator[str]:
    """Yield how to learn which rows are meant, if any are counted."""
    if not any(column.suspect_cells or column.impossible_values for column in report.columns):
        return
    if report.sources and report.sources.diagnostics:
        listed = printable(report.sources.diagnostics)
        yield f"Which rows these are: add --rows, which reads them from {listed}."
    elif report.batch is None:
        yield "Which rows these are: impute with --diagnostics FILE, and add --rows here."


AUDIT_INTERVALS = {
    name
    for name, kind in get_type_hints(Audit).items()
    if kind is Interval or Interval in get_args(kind)
}


def audit_notes(cf: str, audit: Audit) -> Iterator[str]:
    """Yield a sentence for everything that the accuracy alone does not say."""
    name = printable(cf)
    if audit.if_empty_wrong and audit.if_empty_right:
        yield (
            f"{name}: {count(audit.empty, 'row')} left empty; were they all wrong, the accuracy "
            f"would be {interval_text(audit.if_empty_wrong)}, and "
            f"{interval_text(audit.if_empty_right)} were they all right."
        )
    if audit.contradicted:
        yield (
            f"{name}: in {count(audit.contradicted, 'row')} the cell rules out what is true: its "
            "exclusion or exact value is wrong."
        )


def flat_audit(audit: Audit | None) -> dict[str, object]:
    """Return the facts as one record: nothing nested; all None without an audit."""
    facts: dict[str, object] = {}
    known = asdict(audit) if audit else {}
    for field in fields(Audit):
        value = known.get(field.name)
        if field.name in AUDIT_INTERVALS:
            for part in ("value", "low", "high"):
                facts[f"{field.name}_{part}"] = value[part] if value else None
        else:
            facts[field.name] = str(value).lower() if isinstance(value, bool) else value
    return facts


def _of_audit(name: str, audit: Audit) -> Iterator[str]:
    verdict = ""
    if audit.estimate:
        agrees = f"was {audit.estimate_was}" if audit.estimate_was else "agrees"
        verdict = f"; {_interval(audit.estimate)} was estimated without truth, which {agrees}"
    yield (
        f"{name}: accuracy by audit: {audit.right:,} of {audit.checked:,} answers that were drawn "
        f"and looked up are right{verdict}."
    )
    yield from audit_notes(name, audit)


def _wrong(column: ColumnReport) -> str:
    most, cost = column.wrong_cells_most, column.wrong_cells_cost
    if most is None or cost is None:
        return ""
    return (
        f"; at most {100 * most:.1f} % of its cells rule out the true value, which would cost "
        f"{100 * cost:.0f} % of what they say"
    )


def _of_exact_cells(column: ColumnReport, accuracy: Interval) -> str:
    cells = count(column.hidden_exact_cells, "exact cell")
    found = f"of {cells}, hidden, {_interval(accuracy)} would have been answered rightly"
    if column.accuracy_basis == AUDIT:
        return f"{found}, which is the others' accuracy if they are a random sample."
    if column.accuracy_basis == EXACT_CELLS:
        return (
            f"{found}; its accuracy rests on them, whatever the way exclusions came about, and "
            "holds if they are a random sample, as the schema says."
        )
    return (
        f"{found}; if exact cells are a random sample, say `exact_cells: random` in the schema. If "
        "the easy ones were written down, that is too high."
    )


def _of_fit(fit: FittedMechanism) -> str:
    if fit.fitted is None:
        return "by its exact cells exclusions look uniform, and count as such."
    weights = ", ".join(f"{weight:.2g}" for weight in fit.weights)
    verdict = "taken" if fit.taken else "not taken: it is not clearly better"
    return (
        f"mechanism fitted with its exact cells, weights by place in the domain: {weights}; "
        f"{verdict} (by exact cells {_interval(fit.fitted)}, with uniform exclusions "
        f"{_interval(fit.uniform)})."
    )


_Field: TypeAlias = AnyField[ColumnReport]

_BAR = 12
_MENTIONED = 8  # CFs that can be used alike; the others are counted
_INTERVALS = (
    *(name for name, kind in get_type_hints(ColumnReport).items() if Interval in get_args(kind)),
    "confident_accuracy",
    "fitted_accuracy",
    "unfitted_accuracy",
    "calibration_overconfidence",
)


def page(report: Report) -> Page[ColumnReport]:
    judged = any(column.estimated_accuracy or column.hidden_cells for column in report.columns)
    return Page(
        title=_title(report),
        lead=_lead(report) if judged else "",
        fields=_BATCH if report.batch else _JUDGED if judged else UNJUDGED,
        facts=report.columns,
        notes=notes(report),
        records=[_flat(column) for column in report.columns],
        json=report.to_json(),
    )


def _bar(column: ColumnReport) -> str:
    left = round(_BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (_BAR - left)


def _accuracy(column: ColumnReport) -> str:
    return "not known" if column.accuracy_basis == NONE else _interval(column.estimated_accuracy)


def _loss(column: ColumnReport) -> str:
    drift = column.drift
    return "-" if drift is None else f"{drift.loss_at_fitting:.4f} → {drift.loss:.4f}"


NAME = _Field("CF", lambda column: printable(column.name), folds=True, style=lambda _: "bold")
_VALUES = _Field("values", lambda column: str(column.domain_size), right=True)
NUMBERS = _Field(
    "entropy",
    lambda column: f"{column.entropy_start:.2f} → {column.entropy_end:.2f}",
)
BARS = _Field("", _bar, drawing=True, spare=True)  # behind the numbers, under their heading
ENTROPY = _Field("entropy", _bar, drawing=True, spare=True)
REDUCTION = _Field("reduction", lambda column: f"{column.entropy_reduction:.0%}", right=True)
SHUFFLED = _Field(
    "shuffled",
    lambda column: (
        "-" if column.entropy_reduction_null is None else f"{column.entropy_reduction_null:.0%}"
    ),
    right=True,
)
_CONFIDENCE = _Field("conf.", lambda column: f"{column.mean_confidence:.2f}", right=True)
ACCURACY = _Field("accuracy", _accuracy)
AT_FITTING = _Field("at fitting", lambda column: _interval(column.fitting_accuracy))
LOSS = _Field("loss", _loss)
COMMONEST = _Field(
    "commonest",
    lambda column: f"{column.commonest_accuracy.value:.2f}" if column.commonest_accuracy else "-",
    right=True,
)
FLAGS = _Field(
    "flags",
    lambda column: printable(", ".join(column.flags)) or "-",
    folds=True,
    splits=True,
    begins=True,
    style=lambda column: "yellow" if column.flagged else "dim",
)
ACTION = _Field("action", lambda column: printable(column.action))
# Of CFs that were judged by hidden cells, and of CFs that were not.
_JUDGED = (NAME, _VALUES, ENTROPY, REDUCTION, SHUFFLED, ACCURACY, COMMONEST, FLAGS, ACTION)
_BATCH = (NAME, _VALUES, ENTROPY, ACCURACY, AT_FITTING, LOSS, FLAGS, ACTION)  # of new rows
UNJUDGED = (NAME, _VALUES, NUMBERS, BARS, REDUCTION, _CONFIDENCE, FLAGS, ACTION)


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
    return " ".join(
        f"{HEADINGS[state]}: {_some([printable(column.name) for column in columns])}."
        for state, columns in by_state(report).items()
    )


def _some(names: Sequence[str]) -> str:
    others = len(names) - _MENTIONED
    return ", ".join(names[:_MENTIONED]) + (f" and {count(others, 'other')}" if others > 0 else "")


def _flat(column: ColumnReport) -> dict[str, object]:
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
    for name in _INTERVALS:
        interval = facts.pop(name) or {}
        for part in ("value", "low", "high"):
            facts[f"{name}_{part}"] = interval.get(part)
    drift = facts.pop("drift") or {}
    for name in (field.name for field in fields(Drift)):
        value = drift.get(name)
        facts[f"drift_{name}"] = str(value).lower() if isinstance(value, bool) else value
    audit = flat_audit(column.audit)
    facts.pop("audit")
    facts |= {f"audit_{name}": value for name, value in audit.items()}
    if calibration:
        facts["calibration_bins"] = json.dumps(calibration["bins"])
    return facts


# The page of a run's diagnostics: a line for each CF, reason and value, with its rows.
#
# Then the cells that fit least of all others, a line each. There are such in every table.

_SHOWN = 10  # rows of a line, at most, and doubtful cells
MEANINGS = {
    SUSPECT_CELL: (
        "the candidates get under 1 % of the estimate; the value is the one that the cell rules "
        "out and the row's neighbors favor"
    ),
    IMPOSSIBLE_VALUE: "the cell rules out a value that is ruled out too often",
    FALLBACK: "the estimate rules out every candidate, and all of them count alike",
}


@dataclass(frozen=True)
class Line:
    """Cells of one CF that are listed for one reason, because of one value."""

    cf: str
    why: str
    value: str | None
    rows: tuple[int, ...]
    share: float  # of all rows
    times: float | None  # as likely if wrong as if right, of the most suspect one


RowField: TypeAlias = AnyField[Line]


def rows_page(report: Report, listed: pl.DataFrame) -> Page[Line]:
    counted = listed.filter(pl.col("why").is_in([*MEANINGS]))
    cells = counted.select("row", "cf").unique().height
    doubtful = listed.filter(pl.col("why") == DOUBTFUL_CELL).sort("rank")
    first = ("row", "cf", "why", "value")
    records = pl.concat([counted, doubtful]).select(*first, pl.exclude(*first))
    return Page(
        title=f"{count(report.rows, 'row')}, {count(cells, 'cell')} to look at",
        fields=_FIELDS,
        facts=[*_lines(report, counted), *_doubtful(report, doubtful)],
        notes=[*_notes(counted, doubtful.height)],
        records=records.to_dicts(),
        json=_json(report, records),
    )


def _lines(report: Report, counted: pl.DataFrame) -> Iterator[Line]:
    names = [column.name for column in report.columns]
    groups = counted.group_by("cf", "why", "value", maintain_order=True).agg(
        "row", pl.max("times_as_likely").alias("times")
    )
    lines = [
        Line(
            cf,
            why,
            value,
            tuple(rows),
            len(rows) / max(report.rows, 1),
            times if why == SUSPECT_CELL else None,
        )
        for cf, why, value, rows, times in groups.rows()
    ]
    order = {name: place for place, name in enumerate(names)}
    whys = [*MEANINGS]
    yield from sorted(
        lines, key=lambda line: (order.get(line.cf, len(order)), whys.index(line.why))
    )


def _doubtful(report: Report, doubtful: pl.DataFrame) -> Iterator[Line]:
    columns = ("cf", "why", "value", "row", "times_as_likely")
    for cf, why, value, row, times in doubtful.head(_SHOWN).select(columns).iter_rows():
        yield Line(cf, why, value, (row,), 1 / max(report.rows, 1), times)


def _rows(line: Line) -> str:
    shown = ", ".join(map(str, line.rows[:_SHOWN]))
    return f"{shown} …" if len(line.rows) > _SHOWN else shown


_FIELDS = (
    RowField("CF", lambda line: printable(line.cf), folds=True, style=lambda _: "bold"),
    RowField("why", lambda line: line.why),
    RowField(
        "value", lambda line: "-" if line.value is None else printable(line.value), folds=True
    ),
    RowField("cells", lambda line: f"{len(line.rows):,}", right=True),
    RowField("share", lambda line: f"{line.share:.1%}", right=True),
    RowField(
        "times as likely",
        lambda line: "-" if line.times is None else f"{line.times:,.1f}",
        right=True,
    ),
    RowField("rows", _rows, folds=True),
)


def _notes(counted: pl.DataFrame, doubtful: int) -> Iterator[str]:
    seen = set(counted["why"])
    for why, meaning in MEANINGS.items():
        if why in seen:
            yield f"{why}: {meaning}."
    if doubtful:
        least = fit_least(doubtful)
        shown = f"{least}, of which {_SHOWN} are shown" if doubtful > _SHOWN else least
        yield (
            f"{DOUBTFUL_CELL}: {shown}, the most doubtful first. Every table has such cells, and "
            "most of them are honest cells of unusual rows: the report does not count them."
        )
    if SUSPECT_CELL in seen or doubtful:
        yield "Times as likely: if the cell is wrong as if it is right, of the most suspect one."
    if counted.height > _SHOWN or doubtful > _SHOWN:
        yield "All rows, with how strongly each cell is at odds: --format csv or json."


def _json(report: Report, records: pl.DataFrame) -> str:
    facts = {
        "version": 1,
        "cfl_version": __version__,
        "rows": report.rows,
        "cells": records.to_dicts(),
    }
    return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
