"""How good the answers are, with and without the truth.

Here is whether a CF's answers can be used, in plain words, for the terminal and for pages:

    not measured   nothing says how often answers are right
    not known      cells show that they did not come about as assumed, so nothing does any more
    do not use     drifted, or not shown to be better than always answering the commonest candidate
    care           usable, but there is something to look at first
    use            otherwise

*Not known* is asked first, but not of an accuracy by audit or by exact cells, which is known
whatever the exclusions; then the others in this order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from cfl_cli.core.messages import STORED, command, count, option
from cfl_cli.trust.report import NOT_UNIFORM, ColumnReport, Report

# What a CF's accuracy rests on, or why it is not known.
#
# A figure whose assumption the cells themselves refute is worse than none: it is left out.

UNIFORM, MECHANISM = "uniform", "mechanism"
EXACT_CELLS, AUDIT, NONE = "exact-cells", "audit", "none"
NOT_RANDOM = "exclusions are not random (audit it)"
NOT_HIDDEN = "no cells were hidden (--folds 0)"
NOT_DISTINGUISHED = "cells of its mechanism do not distinguish the values"
COPIES_MISSED = "not all copies of rows can be found (declare `group`)"
NOTHING_SAID = "no hidden cell says anything"
# What each accuracy needs to be true, as a clause after "if".
ASSUMPTIONS = {
    UNIFORM: "every wrong value is as likely to be ruled out as any other (uniform)",
    MECHANISM: "exclusions came about as the schema says (mechanism)",
    EXACT_CELLS: "exact cells are a random sample, as the schema says (exact cells)",
}


OVERCONFIDENT = 0.02  # by how much answers are surer than they are right, clearly, to be told
FEW_CELLS = 50  # hidden ones, below which an accuracy is mostly chance
_WIDE = 0.2  # of an interval
SOME_ROWS = 0.01  # share of the rows that fall back, from which on answers need care
NEW_CELLS = {
    "new-categories": "Some OFs hold categories that the model has never seen",
    "out-of-range": "Some OFs hold numbers beyond those at fitting",
}


class Grade(StrEnum):
    """What to do with the answers of a CF."""

    USE = "use"
    CARE = "care"
    DO_NOT_USE = "do-not-use"
    NOT_KNOWN = "not-known"
    NOT_MEASURED = "not-measured"


# As a heading above the CFs that are in a state; in the order in which they are shown.
HEADINGS = {
    Grade.USE: "Use",
    Grade.CARE: "Use with care",
    Grade.DO_NOT_USE: "Do not use",
    Grade.NOT_KNOWN: "Not known",
    Grade.NOT_MEASURED: "Not measured",
}


@dataclass(frozen=True)
class Use:
    """The verdict on one CF, to be read after its name and a colon."""

    state: Grade
    sentence: str
    look_at: tuple[str, ...] = ()  # further sentences: what to look at, and what to do


def use_of(column: ColumnReport, report: Report) -> Use:
    cautions = [*_cautions(column)]
    if column.fallback_rows:
        which = f"In {count(column.fallback_rows, 'row')} the estimate rules out all that the cell "
        what = "leaves: look for wrong cells or a missing value."
        cautions.append((which + what, column.fallback_rows >= SOME_ROWS * report.rows))
    new = [what for flag, what in NEW_CELLS.items() if flag in column.flags]
    cautions += [(f"{what}: see the notes.", True) for what in new]
    state, sentence = _verdict(column, careful=any(weighs for _, weighs in cautions))
    kept = ["It was left as observed."] if column.action == "kept" else []
    return Use(state, sentence, (*(told for told, _ in cautions), *kept))


def by_state(report: Report) -> dict[Grade, list[ColumnReport]]:
    """Return the CFs in each state, in the report's order; states that no CF is in are left out."""
    grouped: dict[Grade, list[ColumnReport]] = {state: [] for state in HEADINGS}
    for column in report.columns:
        grouped[use_of(column, report).state].append(column)
    return {state: columns for state, columns in grouped.items() if columns}


def _verdict(column: ColumnReport, *, careful: bool) -> tuple[Grade, str]:
    accuracy, flags = column.estimated_accuracy, column.flags
    founded = column.accuracy_basis in (AUDIT, EXACT_CELLS)
    if NOT_UNIFORM in flags and not founded:
        return Grade.NOT_KNOWN, (
            "not known how good it is: its cells were not ruled out at random. Look up some rows "
            f"before you use it ({command('audit', mark='', to=STORED)})."
        )
    if accuracy is None:
        why = f" ({column.accuracy_reason})" if column.accuracy_reason else ""
        return Grade.NOT_MEASURED, f"not measured{why}; do not rely on it yet."
    value, low, high = map(_in_100, (accuracy.value, accuracy.low, accuracy.high))
    right = f"About {value} in 100 answers are right ({low} to {high})."
    commonest = None
    if column.commonest_accuracy is not None:
        commonest = _in_100(column.commonest_accuracy.value)
        right += f" Always answering the commonest value: {commonest}."
    if "drifted" in flags:
        return Grade.DO_NOT_USE, (
            "do not use it; its new cells are predicted worse than those at fitting. Of this "
            f"batch {right[0].lower()}{right[1:]}"
        )
    if column.flagged and NOT_UNIFORM not in flags:
        against = "" if commonest is None else f", against {commonest}"
        return Grade.DO_NOT_USE, (
            "do not use it; no better than always answering the commonest value "
            f"({value} in 100 answers are right{against})."
        )
    if careful:
        return Grade.CARE, f"use it with care. {right}"
    return Grade.USE, f"use it. {right}"


def _in_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _cautions(column: ColumnReport) -> Iterator[tuple[str, bool]]:
    """Yield what to look at; and if it weighs, so that answers are to be used with care."""
    accuracy, not_random = column.estimated_accuracy, NOT_UNIFORM in column.flags
    if accuracy is None or (column.flagged and not not_random):
        return
    if accuracy.value < 0.5:
        soft = option("mode", "soft", to=STORED)
        what = f"use the confidences of all values ({soft}) rather than the answers."
        yield f"Most single answers are wrong: {what}", True
    if not_random:
        only = "the audit's hold" if column.accuracy_basis == AUDIT else "those of exact cells hold"
        yield f"Its cells were not ruled out at random: of its figures only {only}.", True
    if column.accuracy_basis != AUDIT and 0 < column.hidden_cells < FEW_CELLS:
        yield f"It rests on {count(column.hidden_cells, 'hidden cell')} alone.", True
    elif accuracy.high - accuracy.low > _WIDE:
        yield "How often answers are right is known only roughly: add rows, or audit it.", True
    over = column.calibration.overconfidence if column.calibration else None
    if over is not None and over.value >= OVERCONFIDENT and over.low > 0:
        yield f"Confidences are too high, by about {_in_100(over.value)} in 100.", True
    if column.audit is not None and column.audit.estimate_was:
        yield f"What was estimated before the audit was {column.audit.estimate_was}.", False
