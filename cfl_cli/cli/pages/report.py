"""The page of a report: a line for each CF, then what its flags mean."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, NamedTuple, TypeAlias, get_args, get_type_hints

import polars as pl

from cfl_cli import __version__
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, interval_text, name_field
from cfl_cli.cli.pages.history import odds
from cfl_cli.cli.pages.screen import label, screen, verdict_words
from cfl_cli.core.exclusions import MOST_BIAS
from cfl_cli.core.messages import SEVERAL, cells_filled, count, printable
from cfl_cli.core.settings import METHODS
from cfl_cli.run import diagnostics
from cfl_cli.trust import (
    ASSUMPTIONS,
    AUDIT,
    EXACT_CELLS,
    NONE,
    Verdict,
    by_verdict,
    heading,
)
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import (
    ADVICE,
    Audit,
    ColumnReport,
    Drift,
    Report,
    SettingValue,
    verdict_first,
)

MENTIONED = 5  # CFs or columns, at most, of one sentence; the rest is counted


def _some(
    parts: Sequence[str], most: int, others: str, *, link: str = " and ", by: str = ""
) -> str:
    rest = f"{link}{count(len(parts) - most, others)}{by}" if len(parts) > most else ""
    return ", ".join(parts[:most]) + rest


# What a batch of new rows adds to the page of a report: sentences below its table.

NOTEWORTHY = 0.1  # of a rise: less is left out


def _batch_notes(report: Report) -> Iterator[str]:
    batch, columns = report.batch, report.columns
    if batch is None:
        return
    for reason in dict.fromkeys(column.drift_reason for column in columns):
        if reason is not None:
            names = [printable(one.name) for one in columns if one.drift_reason == reason]
            whose = _some(names, MENTIONED, "other CF")
            yield f"Drift was not evaluated for {whose}: {printable(reason)}."
    rises = [(printable(one.name), one.drift.least_rise, one) for one in columns if one.drift]
    shown = [f"{name} {least:.4f}" for name, least, _ in rises if least]  # 0: it shows already
    blind = [name for name, least, one in rises if least is None and "drifted" not in one.flags]
    if shown:
        yield (
            "Smallest rise of the loss that this batch could show without earlier ones, "
            f"approximately: {_some(shown, MENTIONED, 'other CF')}."
        )
    if blind:
        whose = _some(blind, MENTIONED, "other CF")
        yield f"Without earlier batches, this one is too small to show a change of {whose}."
    for what, shares in (
        ("new categories", batch.new_categories),
        ("numbers out of range", batch.out_of_range),
    ):
        parts = [
            f"{printable(name)} {'under 0.1 %' if share < 0.001 else f'{100 * share:.1f} %'}"
            for name, share in sorted(shares.items(), key=lambda item: -item[1])
        ]
        if parts:
            most = _some(parts, MENTIONED, "other column", link=", ", by=" less")
            yield f"Share of the rows with {what}: {most}."
    if batch.rows_judged < report.rows:
        yield f"Figures were measured on a sample of {batch.rows_judged:,} rows."


def _of_drift(column: ColumnReport, batch: int | None) -> Iterator[str]:
    drift = column.drift
    if drift is not None and "drifted" in column.flags:
        since = drift.drifted_since
        earlier = f" since batch {since}" if since and batch and since < batch else ""
        error = "" if drift.error is None else f" ± {drift.error:.4f}"
        yield (
            f"New cells are predicted worse than those at fitting{earlier}. Loss: "
            f"{drift.loss_at_fitting:.4f} → {drift.loss:.4f}{error}, evidence "
            f"{odds(drift.evidence)}."
        )
        rise = drift.loss - drift.loss_at_fitting
        harder = drift.expected - drift.expected_at_fitting
        if rise > 0 and harder > NOTEWORTHY * rise:
            yield f"The model finds these rows harder, which explains {harder:.4f} of the rise."
        elif rise > 0:
            yield (
                "The model does not find these rows harder, so the relation between this CF and "
                "the other columns has changed."
            )
    elif "drifted" in column.flags:
        yield "Drift began before this batch."
    if drift is not None and drift.earlier:
        yield drift.earlier


# What there is to say about a report below its table, a sentence each.

NOTICEABLE = 0.01  # by how much confidences are off; less is left out
_NAMED = 4  # groups of values that are imputed together
_SEEN = 0.005  # from which an interval in two digits does not end at 0


def report_notes(report: Report) -> list[str]:
    return [
        *(f"{flag}: {ADVICE[flag]}." for flag in fired(report)),
        *of_all(report),
        *_of_each(report),
        *of_rows(report),
        *(f"warning: {printable(warning)}." for warning in _brief_warnings(report)),
    ]


def _brief_warnings(report: Report) -> Iterator[str]:
    """Yield the warnings; those of missing cells in several columns as one."""
    filled = {cells_filled(*one): one for one in report.missing_cells.items()}
    if len(filled) >= SEVERAL:
        columns = ", ".join(f"{name} ({cells:,})" for name, cells in report.missing_cells.items())
        yield f"missing cells filled in, by column: {columns}"
    for warning in report.warnings:
        if len(filled) < SEVERAL or warning not in filled:
            yield warning


def _of_each(report: Report) -> Iterator[str]:
    """Yield the notes of a CF as one text: a line with its name, then a line for each note."""
    for column in report.columns:
        if lines := [f"- {note}" for note in of_column(column, report)]:
            yield "\n".join([f"{printable(column.name)}:", *lines])


def _next_steps(columns: Sequence[ColumnReport]) -> Iterator[str]:
    steps = dict.fromkeys(column.next for column in columns if column.next)
    for step in steps:
        names = [printable(column.name) for column in columns if column.next == step]
        yield f"Next, for {_some(names, MENTIONED, 'other CF')}: `{step}`."


def fired(report: Report) -> list[str]:
    return [flag for flag in ADVICE if any(flag in column.flags for column in report.columns)]


def of_all(report: Report) -> Iterator[str]:
    yield from _next_steps(report.columns)
    graph = report.settings.get("method", "graph") == "graph"
    # No method makes up for cells that are not random.
    flagged = any(c.flagged and "exclusions-not-uniform" not in c.flags for c in report.columns)
    if graph and flagged and report.batch is None:
        yield "Another method may predict the flagged CFs better: try --method auto."
    yield from _batch_notes(report)
    if report.sample is not None:
        drawn, of = report.sample.rows, report.sample.of
        yield f"Learned from {drawn:,} of {of:,} rows, drawn at random."
    if report.groups is not None:
        together = "" if report.batch else "was kept in one fold and "
        yield f"Rows belong to {report.groups:,} groups. Each group {together}counts as one row."
    yield from _of_accuracies(report.columns)
    yield from _not_calibrated(report)


def _of_accuracies(columns: Sequence[ColumnReport]) -> Iterator[str]:
    def alike(fact: Callable[[ColumnReport], str | None]) -> Iterator[tuple[str, str]]:
        for one in dict.fromkeys(map(fact, columns)):
            if one is not None:
                yield one, ", ".join(printable(c.name) for c in columns if fact(c) == one)

    for reason, names in alike(lambda column: column.accuracy_reason):
        every = all(column.accuracy_reason == reason for column in columns)
        whose = "Accuracies" if every and len(columns) > 1 else f"The accuracy of {names}"
        yield f"{whose} can't be estimated: {printable(reason)}."
    bases = list(alike(lambda column: ASSUMPTIONS.get(column.accuracy_basis or "")))
    based = sum(column.estimated_accuracy is not None for column in columns)
    known = sum(column.accuracy_basis in ASSUMPTIONS for column in columns)
    for assumption, names in bases:
        every = len(bases) == 1 and based <= known
        whose = "Accuracies are" if every else f"The accuracy of {names} is"
        yield f"{whose} valid if {assumption}."


def _of_bias(column: ColumnReport, usual: SettingValue) -> Iterator[str]:
    least, shown = column.break_even_bias or MOST_BIAS, column.unnoticed_bias
    if not column.flagged and least < MOST_BIAS:
        yield (
            "It beats the baseline unless some wrong values are ruled out over "
            f"{least:.1f} times as often as other values. "
            + (
                "A bias that is the same in all rows would not have been detected."
                if shown is None
                else f"A bias above {shown:.1f} that is the same in all rows would have been "
                "detected."
            )
        )
    if band := column.accuracy_under_bias:
        bias = column.assumed_bias or float(usual or 1)
        yield (
            f"If some wrong values are ruled out up to {bias:g} times as often as other values "
            f"(--bias {bias:g}), the accuracy is {band.low:.2f}–{band.high:.2f}."
        )


def _of_calibration(column: ColumnReport) -> Iterator[str]:
    power, after, before = column.calibration_power, column.calibration, column.calibration_raw
    if power is not None and power != 1:
        errors = f", error {before.error:.2f} → {after.error:.2f}" if after and before else ""
        how = "lowered" if power < 1 else "raised"
        yield f"Calibration {how} the confidences (power {power:.2f}{errors})."
    by = after.overconfidence if after else None
    if by is None or abs(by.value) < NOTICEABLE:
        return
    for word, rarely, sign in (("Overconfident", "less", 1), ("Underconfident", "more", -1)):
        if min(sign * by.low, sign * by.high) > _SEEN:
            low, high = sorted((abs(by.low), abs(by.high)))
            yield (
                f"{word} by {abs(by.value):.2f} ({low:.2f}–{high:.2f}): imputed values are correct "
                f"{rarely} often than their confidence says."
            )


def _not_calibrated(report: Report) -> Iterator[str]:
    asked = any(column.calibration_power is not None for column in report.columns)
    method = METHODS.get(str(report.settings.get("method")))
    if asked or method is None or not method.calibrated:
        return
    if not report.settings.get("calibration", True):
        yield "Confidences are not calibrated (--no-calibration) and may be too high."
    elif report.settings.get("folds") == 0:
        yield "Confidences are not calibrated, because --folds 0 holds out no cells."


def of_column(column: ColumnReport, report: Report) -> Iterator[str]:
    yield from _of_drift(column, report.batch.number if report.batch else None)
    if column.blurred:
        yield (
            f"The column was blurred on purpose ({printable(column.blurred)}) and inferred because "
            "--infer names it. Protect the imputed values as you would protect the true values."
        )
    if column.imputed_together:
        names = [*column.imputed_together]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        shown = ", ".join(map(printable, names[:_NAMED]))
        yield (
            f"No cell tells some values apart, so they are imputed together: {shown}{more}. Other rows "
            "with known values would tell them apart (--reference), or known `shares`."
        )
    if column.block_cells and column.accuracy_basis not in (AUDIT, EXACT_CELLS, NONE):
        yield (
            f"{count(column.block_cells, 'cell')} of {report.rows:,} name a block of values. The "
            "accuracy is that of the other cells."
        )
    yield from _of_method(column)
    if column.exact_accuracy:
        yield _of_exact_cells(column, column.exact_accuracy)
    yield from _of_mechanism(column)
    yield from _of_bias(column, report.settings.get("bias"))
    yield from _of_calibration(column)
    if column.confident and column.low_confidence_cells and column.action != "kept":
        least, right = report.settings.get("min_confidence"), column.confident.accuracy
        rest = f" About {interval_text(right)} of the imputed cells are correct." if right else ""
        low = count(column.low_confidence_cells, "cell")
        yield f"{low} left empty, with a confidence below {least}.{rest}"
    if column.suspect_cells:
        most, cost, wrong = column.wrong_cells_most, column.wrong_cells_cost, ""
        if most is not None and cost is not None:
            wrong = (
                f" Up to {100 * most:.1f} % of the cells may be wrong, which could cost "
                f"{100 * cost:.0f} % of their information."
            )
        cells = count(column.suspect_cells, "suspect cell")
        allowed = "it allows" if column.suspect_cells == 1 else "they allow"
        yield f"{cells}: the values that {allowed} get under 1 % of the estimate.{wrong}"
    if audit := column.audit:
        verdict = ""
        if audit.estimate:
            agrees = f"was {audit.estimate_was}" if audit.estimate_was else "agrees"
            verdict = f" The estimate was {interval_text(audit.estimate)}, which {agrees}."
        yield (
            f"Accuracy by audit: {audit.right:,} of {audit.checked:,} checked values are correct."
            f"{verdict}"
        )
        yield from audit_notes(audit)


def _of_method(column: ColumnReport) -> Iterator[str]:
    if column.metric is not None:
        yield f"Neighbors are found by a metric learned from the cells (grade {column.metric:g})."
    if column.parts:
        parts = sorted(column.parts, key=lambda part: -part.weight)
        used = [f"{printable(part.name)} {part.weight:.0%}" for part in parts if part.weight]
        yield f"Method {printable(column.method)} blended {', '.join(used)}."
    if column.cautious_blend:
        yield (
            "Exclusions are not random, so held-out cells can hardly rank the methods. The blend "
            "was made more cautious."
        )


def _of_mechanism(column: ColumnReport) -> Iterator[str]:
    fit, values = column.fitted_mechanism, column.values
    if fit and fit.fitted is None:
        yield "The exact cells show uniform exclusions, so no mechanism was fitted."
    elif fit:
        weights = ", ".join(f"{weight:.2g}" for weight in fit.weights)
        verdict = "used" if fit.taken else "not used, because it is not clearly better"
        yield (
            "A mechanism was fitted to the exact cells. Weights in the order of the domain: "
            f"{weights}. It was {verdict} (accuracy on exact cells {interval_text(fit.fitted)}, "
            f"with uniform exclusions {interval_text(fit.uniform)})."
        )
    if column.impossible_values:
        labels = {place: value.label for place, value in enumerate(values, start=1)}
        often = ", ".join(
            f"value {place}" if (label := labels.get(place)) is None else printable(label)
            for place in column.impossible_values
        )
        yield f"{'Stated' if column.cells == 'values' else 'Ruled out'} too often: {often}."


def of_rows(report: Report) -> Iterator[str]:
    if not any(column.suspect_cells or column.impossible_values for column in report.columns):
        return
    if report.sources and report.sources.diagnostics:
        listed = printable(report.sources.diagnostics)
        yield f"To list the rows of these cells, add --rows. It reads {listed}."
    elif report.batch is None:
        yield (
            "To list the rows of these cells, impute again with --diagnostics FILE, then add --rows "
            "to this command."
        )


def _intervals(of: type) -> tuple[str, ...]:
    kinds = get_type_hints(of).items()
    return tuple(name for name, kind in kinds if Interval in (kind, *get_args(kind)))


AUDIT_INTERVALS = _intervals(Audit)


def audit_notes(audit: Audit) -> Iterator[str]:
    if audit.if_empty_wrong and audit.if_empty_right:
        yield (
            f"{count(audit.empty, 'row')} left empty. The accuracy would be "
            f"{interval_text(audit.if_empty_wrong)} if all of them were wrong, and "
            f"{interval_text(audit.if_empty_right)} if all were correct."
        )
    if audit.contradicted:
        yield (
            f"In {count(audit.contradicted, 'row')} the cell rules out the true value. Its "
            "exclusion or exact value is wrong."
        )


def flat_audit(audit: Audit | None) -> dict[str, object]:
    """Return the facts as one record: nothing nested; all None without an audit."""
    facts: dict[str, object] = {}
    known = asdict(audit) if audit else {}
    for field in fields(Audit):
        value = known.get(field.name)
        facts |= (
            _parts(field.name, value)
            if field.name in AUDIT_INTERVALS
            else {field.name: _word(value)}
        )
    return facts


def _word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def _parts(name: str, interval: Any) -> dict[str, object]:
    return {f"{name}_{part}": (interval or {}).get(part) for part in ("value", "low", "high")}


def _of_exact_cells(column: ColumnReport, accuracy: Interval) -> str:
    cells = count(column.hidden_exact_cells, "held-out exact cell")
    found = f"Tested on {cells}: {interval_text(accuracy)} correct."
    if column.accuracy_basis == AUDIT:
        return f"{found} The other cells have the same accuracy if exact cells are a random sample."
    if column.accuracy_basis == EXACT_CELLS:
        return (
            f"{found} The accuracy rests on them, however exclusions came about. It is valid if "
            "exact cells are a random sample, as the schema says."
        )
    return (
        f"{found} This is too optimistic if easy cases were recorded first. If exact cells are a "
        "random sample, set `exact_cells: random` in the schema."
    )


_Field: TypeAlias = AnyField[ColumnReport]

_BAR = 12
_MENTIONED = 8  # CFs that can be used alike; the others are counted
_INTERVALS = (
    *_intervals(ColumnReport),
    "confident_accuracy",
    "fitted_accuracy",
    "unfitted_accuracy",
    "calibration_overconfidence",
)


def page(report: Report) -> Page[ColumnReport]:
    judged = any(column.estimated_accuracy or column.hidden_cells for column in report.columns)
    flagged = sum(column.flagged for column in report.columns)
    name, batch = str(report.settings.get("method", "graph")), ""
    if report.batch:
        batch = f" of batch {report.batch.number}" if report.batch.number else " of a batch"
    title = (
        f"{count(report.rows, 'row')}{batch}",
        count(len(report.columns), "CF")
        + ("" if name == "graph" else f", method {printable(name)}"),
        f"{flagged} flagged" if flagged else "none flagged",
    )
    lead = " ".join(
        f"{heading(verdict, cfs)}: {_some([printable(one.name) for one in cfs], _MENTIONED, 'other')}."
        for verdict, cfs in by_verdict(report).items()
    )
    return Page(
        title=", ".join(title),
        lead=lead if judged else "",
        fields=_BATCH if report.batch else _JUDGED if judged else UNJUDGED,
        facts=report.columns,
        notes=report_notes(report),
        records=[_flat(column) for column in report.columns],
        json=report.to_json(),
    )


def brief(report: Report) -> Page[ColumnReport]:
    """Return what `screen` shows, for Markdown."""
    verdict = _Field("verdict", lambda column: verdict_words(Verdict(column.verdict)))
    reason = _Field("reason", label)
    lines = screen(report, source=None, width=10_000).splitlines()
    whole, fields = page(report), (NAME, verdict, ACCURACY, BASELINE, reason)
    return replace(
        whole, title=lines[0].partition("  ")[0], lead="", fields=fields, notes=lines[-1:]
    )


def _bar(column: ColumnReport) -> str:
    left = round(_BAR * (1 - column.entropy_reduction))
    return "█" * left + "░" * (_BAR - left)


NAME: _Field = name_field(lambda column: column.name)
_VALUES = _Field("values", lambda column: str(column.domain_size), right=True)
NUMBERS = _Field("entropy", lambda column: f"{column.entropy_start:.2f} → {column.entropy_end:.2f}")
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
ACCURACY = _Field(
    "accuracy",
    lambda column: (
        "not known" if column.accuracy_basis == NONE else interval_text(column.estimated_accuracy)
    ),
)
AT_FITTING = _Field("at fitting", lambda column: interval_text(column.fitting_accuracy))
LOSS = _Field(
    "loss",
    lambda column: (
        f"{column.drift.loss_at_fitting:.4f} → {column.drift.loss:.4f}" if column.drift else "-"
    ),
)
BASELINE = _Field(
    "baseline",
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
# Of CFs that were evaluated by held-out cells, and of CFs that were not.
_JUDGED = (NAME, _VALUES, ENTROPY, REDUCTION, SHUFFLED, ACCURACY, BASELINE, FLAGS, ACTION)
_BATCH = (NAME, _VALUES, ENTROPY, ACCURACY, AT_FITTING, LOSS, FLAGS, ACTION)  # of new rows
UNJUDGED = (NAME, _VALUES, NUMBERS, BARS, REDUCTION, _CONFIDENCE, FLAGS, ACTION)


def _flat(column: ColumnReport) -> dict[str, object]:
    facts = {name: _word(value) for name, value in verdict_first(asdict(column)).items()}
    for name in ("reasons", "flags", "stops", "confidence_shares", "impossible_values"):
        facts[name] = ";".join(map(str, facts[name]))
    facts["parts"] = ";".join(f"{part.name}={part.weight}" for part in column.parts)
    facts["part_scores"] = ";".join(f"{part.name}={part.score}" for part in column.parts)
    for name in ("values", "coverage", "tried", "not_told_apart", "imputed_together"):
        facts[name] = json.dumps(facts[name], ensure_ascii=False) if facts[name] else None
    confident = facts.pop("confident") or {}
    facts["confident_share"] = confident.get("share")
    facts["confident_accuracy"] = confident.get("accuracy")
    fit = facts.pop("fitted_mechanism") or {}
    facts["fitted_weights"] = ";".join(map(str, fit.get("weights", ())))
    facts["fitted_taken"] = _word(fit.get("taken"))
    facts["fitted_accuracy"] = fit.get("fitted")
    facts["unfitted_accuracy"] = fit.get("uniform")
    calibration = facts.pop("calibration") or {}
    for name in ("error", "overconfidence", "plot", "bins"):
        facts[f"calibration_{name}"] = calibration.get(name)
    raw = facts.pop("calibration_raw") or {}
    facts["calibration_raw_error"] = raw.get("error")
    for name in _INTERVALS:
        facts |= _parts(name, facts.pop(name))
    drift = facts.pop("drift") or {}
    facts |= {f"drift_{field.name}": _word(drift.get(field.name)) for field in fields(Drift)}
    facts.pop("audit")
    facts |= {f"audit_{name}": value for name, value in flat_audit(column.audit).items()}
    if calibration:
        facts["calibration_bins"] = json.dumps(calibration["bins"])
    return facts


# The page of a run's diagnostics: a line for each CF, reason and value, with its rows.
#
# Then the cells that fit least of all others, a line each. There are such in every table.

_SHOWN = 10  # rows of a line, at most, and doubtful cells
MEANINGS = {
    diagnostics.SUSPECT_CELL: (
        "the values that the cell allows get under 1 % of the estimate. `value` is the excluded "
        "value that the row's neighbors favor"
    ),
    diagnostics.IMPOSSIBLE_VALUE: "the cell rules out a value that is ruled out too often",
    diagnostics.FALLBACK: (
        "the estimate rules out every value that the cell allows, so all of these get the same "
        "probability"
    ),
}


class _RowLine(NamedTuple):
    cf: str
    why: str
    value: str | None
    rows: Sequence[int]
    share: float  # of all rows
    times: float | None  # as likely if wrong as if right, of the most suspect one


def rows_page(report: Report, listed: pl.DataFrame) -> Page[_RowLine]:
    counted = listed.filter(pl.col("why").is_in([*MEANINGS]))
    cells = counted.select("row", "cf").unique().height
    doubtful = listed.filter(pl.col("why") == diagnostics.DOUBTFUL_CELL).sort("rank")
    first = ("row", "cf", "why", "value")
    records = pl.concat([counted, doubtful]).select(*first, pl.exclude(*first)).to_dicts()
    facts = {"version": 1, "cfl_version": __version__, "rows": report.rows, "cells": records}
    return Page(
        title=f"{count(report.rows, 'row')}, {count(cells, 'cell')} to look at",
        fields=_FIELDS,
        facts=_lines(report, counted, doubtful),
        notes=[*_notes(counted, doubtful.height)],
        records=records,
        json=json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False),
    )


def _lines(report: Report, counted: pl.DataFrame, doubtful: pl.DataFrame) -> list[_RowLine]:
    of = max(report.rows, 1)
    times_as_likely = pl.max("times_as_likely").alias("times")
    groups = counted.group_by("cf", "why", "value", maintain_order=True)
    lines = [
        _RowLine(
            cf,
            why,
            value,
            tuple(rows),
            len(rows) / of,
            times if why == diagnostics.SUSPECT_CELL else None,
        )
        for cf, why, value, rows, times in groups.agg("row", times_as_likely).rows()
    ]
    order = {column.name: place for place, column in enumerate(report.columns)}
    whys = [*MEANINGS]
    lines.sort(key=lambda line: (order.get(line.cf, len(order)), whys.index(line.why)))
    columns = ("cf", "why", "value", "row", "times_as_likely")
    least = doubtful.head(_SHOWN).select(columns).iter_rows()
    return lines + [
        _RowLine(cf, why, value, (row,), 1 / of, times) for cf, why, value, row, times in least
    ]


_RowField: TypeAlias = AnyField[_RowLine]
_FIELDS: tuple[_RowField, ...] = (
    name_field(lambda line: line.cf),
    _RowField("why", lambda line: line.why),
    _RowField(
        "value", lambda line: "-" if line.value is None else printable(line.value), folds=True
    ),
    _RowField("cells", lambda line: f"{len(line.rows):,}", right=True),
    _RowField("share", lambda line: f"{line.share:.1%}", right=True),
    _RowField(
        "likelihood ratio",
        lambda line: "-" if line.times is None else f"{line.times:,.1f}",
        right=True,
    ),
    _RowField(
        "rows",
        lambda line: ", ".join(map(str, line.rows[:_SHOWN])) + " …" * (len(line.rows) > _SHOWN),
        folds=True,
    ),
)


def _notes(counted: pl.DataFrame, doubtful: int) -> Iterator[str]:
    seen = set(counted["why"])
    for why, meaning in MEANINGS.items():
        if why in seen:
            yield f"{why}: {meaning}."
    if doubtful:
        least = diagnostics.fit_least(doubtful)
        shown = f"{least}, of which {_SHOWN} are shown" if doubtful > _SHOWN else least
        yield (
            f"{diagnostics.DOUBTFUL_CELL}: {shown}, the most doubtful first. Every table has such "
            "cells. Most are correct cells of unusual rows, so the report does not count them."
        )
    if diagnostics.SUSPECT_CELL in seen or doubtful:
        yield (
            "Likelihood ratio: how many times as likely the most suspect cell is if it is wrong as "
            "if it is correct."
        )
    if counted.height > _SHOWN or doubtful > _SHOWN:
        yield "All rows with their figures: --format csv or json."
