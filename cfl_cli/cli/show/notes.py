"""What there is to say about a report below its table, a sentence each."""

from collections.abc import Callable, Iterator, Sequence
from math import log

from cfl_cli.cli.show import audit as audits
from cfl_cli.cli.show import batch as batches
from cfl_cli.cli.show.page import interval_text as _interval
from cfl_cli.core.messages import count, printable
from cfl_cli.core.methods import METHODS
from cfl_cli.core.uniformity import MOST_BIAS
from cfl_cli.trust.audit import Audit
from cfl_cli.trust.basis import ASSUMPTIONS, AUDIT, EXACT_CELLS
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ADVICE, ColumnReport, FittedMechanism, Report

MENTIONED = 5  # CFs, at most, of one sentence; the others are counted
NOTICEABLE = 0.01  # by how much confidences are off; less is left out
SEEN = 0.005  # from which an interval in two digits does not end at 0


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
        *batches.notes(report),
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
    """Yield what accuracies rest on and why some are not known, a sentence for CFs alike."""
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
    """Yield every fact that is known of some CF, and the names of the CFs."""
    for one in dict.fromkeys(map(fact, columns)):
        if one is not None:
            yield (
                one,
                ", ".join(printable(column.name) for column in columns if fact(column) == one),
            )


def _of_bias(columns: Sequence[ColumnReport], bias: object) -> Iterator[str]:
    """Yield how strong a bias the CFs withstand, those that withstand least first."""
    unflagged = [column for column in columns if not column.flagged]
    better = [(column.break_even_bias or MOST_BIAS, column) for column in unflagged]
    better = sorted((one for one in better if one[0] < MOST_BIAS), key=lambda one: one[0])
    for least, column in better[:MENTIONED]:
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
    if len(better) > MENTIONED:
        rest = count(len(better) - MENTIONED, "other CF")
        yield f"{rest}: better than the commonest up to {better[MENTIONED][0]:.1f} times or more."
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
    """Yield how confidences were calibrated, all CFs in one sentence, or why they were not."""
    raised = [column for column in report.columns if column.calibration_power is not None]
    strongest = sorted(raised, key=lambda column: -abs(log(column.calibration_power or 1.0)))
    parts = [_of_power(column) for column in strongest[:MENTIONED]]
    if len(raised) > MENTIONED:
        parts.append(f"{count(len(raised) - MENTIONED, 'other CF')} less")
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
    """Yield of which CFs answers are clearly right less or more often than they are confident."""
    known = [
        (column, column.calibration.overconfidence) for column in columns if column.calibration
    ]
    for word, rarely, sign in (("Overconfident", "less", 1), ("Underconfident", "more", -1)):
        clear = [(one, by) for one, by in known if min(sign * by.low, sign * by.high) > SEEN]
        clear = [(one, by) for one, by in clear if abs(by.value) >= NOTICEABLE]
        clear.sort(key=lambda pair: -abs(pair[1].value))
        parts = [
            f"{printable(one.name)} by {abs(by.value):.2f} ({_range(by)})"
            for one, by in clear[:MENTIONED]
        ]
        if len(clear) > MENTIONED:
            parts.append(f"{count(len(clear) - MENTIONED, 'other CF')} by less")
        if parts:
            often = f"answers are right {rarely} often than their confidence says"
            yield f"{word}: {', '.join(parts)}; {often}."


def _range(by: Interval) -> str:
    """Return an interval without its sign."""
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
    """Return a value by its place in the domain, from 1, and its label if that is known."""
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


def _of_audit(name: str, audit: Audit) -> Iterator[str]:
    """Yield where the accuracy of a CF that was audited comes from."""
    verdict = ""
    if audit.estimate:
        agrees = f"was {audit.estimate_was}" if audit.estimate_was else "agrees"
        verdict = f"; {_interval(audit.estimate)} was estimated without truth, which {agrees}"
    yield (
        f"{name}: accuracy by audit: {audit.right:,} of {audit.checked:,} answers that were drawn "
        f"and looked up are right{verdict}."
    )
    yield from audits.sentences(name, audit)


def _wrong(column: ColumnReport) -> str:
    """Say how many cells may be wrong at most, and what that would cost."""
    most, cost = column.wrong_cells_most, column.wrong_cells_cost
    if most is None or cost is None:
        return ""
    return (
        f"; at most {100 * most:.1f} % of its cells rule out the true value, which would cost "
        f"{100 * cost:.0f} % of what they say"
    )


def _of_exact_cells(column: ColumnReport, accuracy: Interval) -> str:
    """Return what hidden exact cells say, and what that rests on."""
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
    """Return what was fitted, and whether it was taken."""
    if fit.fitted is None:
        return "by its exact cells exclusions look uniform, and count as such."
    weights = ", ".join(f"{weight:.2g}" for weight in fit.weights)
    verdict = "taken" if fit.taken else "not taken: it is not clearly better"
    return (
        f"mechanism fitted with its exact cells, weights by place in the domain: {weights}; "
        f"{verdict} (by exact cells {_interval(fit.fitted)}, with uniform exclusions "
        f"{_interval(fit.uniform)})."
    )
