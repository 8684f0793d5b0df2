"""How good the answers are, with and without the truth.

Here is the verdict on a CF: whether its answers can be used, why not, and what to type next. It is
data, the same in JSON, CSV, Python, the log, terminals and pages:

    not-known       nothing says how often answers are correct, or the cells refute what says it
    do-not-use      drifted, or not shown to be better than the baseline
    use-if-random   usable if exclusions were drawn at random, which these cells cannot show
    use-with-care   usable, but there is something to look at first
    use             otherwise

*Not known* is asked first, but not of an accuracy by audit or by exact cells, which is known
whatever the exclusions; then the others in this order. A verdict comes from the figures of a report
and of nothing else, so that a report of an older version has one too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from cfl_cli.core.exclusions import MOST_BIAS
from cfl_cli.core.messages import STORED, command, count, option

if TYPE_CHECKING:
    from cfl_cli.trust.report import ColumnReport, Report

# What a CF's accuracy rests on, or why it is not known.
#
# A figure whose assumption the cells themselves refute is worse than none: it is left out.

UNIFORM, MECHANISM = "uniform", "mechanism"
EXACT_CELLS, AUDIT, NONE = "exact-cells", "audit", "none"
NOT_RANDOM = "exclusions are not random (audit it)"
NOT_HIDDEN = "no cells were held out (--folds 0)"
NOT_DISTINGUISHED = "under its mechanism, exclusions can't tell some values apart"
COPIES_MISSED = "not all copies of rows can be found (declare `group`)"
NOTHING_SAID = "no held-out cell rules anything out"
ALL_IN_BLOCKS = "cells are blocks of values, and none was drawn at random"
# What each accuracy needs to be true, as a clause after "if".
ASSUMPTIONS = {
    UNIFORM: "every wrong value is equally likely to be ruled out (uniform)",
    MECHANISM: "cells follow the `mechanism` in the schema (mechanism)",
    EXACT_CELLS: "exact cells are a random sample, as the schema says (exact cells)",
}

AT_RANDOM, BY_PEOPLE = "at-random", "by-people"  # how exclusions came about, by the schema
BIAS_OF_PEOPLE = 3.0  # times as often people may rule out some values, by default
# A bias as small as this must not decide whether answers are better than the baseline …
SMALL_BIAS = 2.0
# … and of so few values cells cannot show whether one is favored.
FEW_VALUES = 3

# What answers are compared with. It scores more than the value's share: where a cell rules the most
# common value out, the next most common one is taken.
BASELINE = "the baseline, the most common value that each cell allows"

NOT_UNIFORM = "exclusions-not-uniform"
NO_BETTER = "no-better-than-commonest"
SMALL_REDUCTION = "small-entropy-reduction"  # flags a CF whose answers are not clearly better
DRIFTED = "drifted"
OVERCONFIDENT = 0.02  # by how much confidences are too high, clearly, to be worth a word
FEW_CELLS = 50  # held-out ones, below which an accuracy is mostly chance
WIDE = 0.2  # of an interval
SOME_ROWS = 0.01  # share of the rows that fall back, from which on answers need care


class Verdict(StrEnum):
    """What to do with the answers of a CF."""

    USE = "use"
    CARE = "use-with-care"
    IF_RANDOM = "use-if-random"
    DO_NOT_USE = "do-not-use"
    NOT_KNOWN = "not-known"


# As a heading above the CFs that have a verdict; in the order in which they are shown.
HEADINGS = {
    Verdict.USE: "Use",
    Verdict.IF_RANDOM: "Use if exclusions were drawn at random",
    Verdict.CARE: "Use with care",
    Verdict.DO_NOT_USE: "Do not use",
    Verdict.NOT_KNOWN: "Not known",
}
# What to type.
LOOKED_UP = 100  # rows, or all of a smaller table
_AUDIT = command(f"audit OUT --draw {LOOKED_UP} --out rows.csv", mark="", to=STORED)
_REFIT = command("fit DATA --schema S --model M", mark="", to=STORED)
_DIAGNOSE = str(option("diagnostics", "cells.csv", to=STORED))
_CHECK = command("check DATA --schema S", mark="", to=STORED)  # it proposes the group
_KEEP = str(option("keep_flagged", to=STORED))
_HOLD_OUT = str(option("folds", "auto", to=STORED))
_SOFT = str(option("mode", "soft", to=STORED))
# Why nothing is known, by the reason that a report gives in words, and what to type then.
_NOT_KNOWN = {
    NOT_HIDDEN: ("no-held-out-cells", _HOLD_OUT),
    NOT_DISTINGUISHED: ("values-not-distinguished", _AUDIT),
    NOTHING_SAID: ("held-out-cells-say-nothing", _AUDIT),
    NOT_RANDOM: (NOT_UNIFORM, _AUDIT),
    COPIES_MISSED: ("copies-missed", _CHECK),
    ALL_IN_BLOCKS: ("cells-are-blocks", _AUDIT),
}
# The same reasons as earlier versions worded them in their reports.
_NOT_KNOWN |= {
    "no cells were hidden (--folds 0)": _NOT_KNOWN[NOT_HIDDEN],
    "cells of its mechanism do not distinguish the values": _NOT_KNOWN[NOT_DISTINGUISHED],
    "no hidden cell says anything": _NOT_KNOWN[NOTHING_SAID],
}
# The codes of all reasons, and what each means.
REASONS = {
    NOT_UNIFORM: "values were not ruled out at random, so the accuracy can't be estimated",
    "no-held-out-cells": "no cells were held out, so the accuracy was not measured",
    "values-not-distinguished": "under this mechanism, exclusions can't tell some values apart",
    "held-out-cells-say-nothing": "no held-out cell rules anything out",
    "copies-missed": "rows are copies of each other, and not all copies can be found",
    "cells-are-blocks": (
        "cells are blocks of values and were not drawn at random, so the accuracy can't be estimated"
    ),
    "some-blocks": "some cells are blocks of values, and the accuracy is that of the other cells",
    "not-told-apart": "no cell tells some values apart, so they are imputed together",
    "not-measured": "the accuracy was not measured",
    DRIFTED: "new cells are predicted worse than those at fitting",
    NO_BETTER: "in cross-validation, imputed values don't beat the baseline",
    SMALL_REDUCTION: "the other columns barely predict this one",
    "three-values": "with only three values, cells can't show whether one is favored",
    "small-bias-misleads": (
        f"if some values are ruled out up to {SMALL_BIAS:g} times as often as other values, the "
        "imputed values may be no better than the baseline"
    ),
    "bias-goes-unnoticed": (
        "a bias strong enough to make the imputed values no better than the baseline would not be "
        "detected"
    ),
    "drawn-by-people": "people chose the exclusions, so the accuracy is a range",
    "most-answers-wrong": "fewer than half of the imputed values are correct",
    "few-held-out-cells": f"the accuracy rests on fewer than {FEW_CELLS} held-out cells",
    "wide-interval": f"the accuracy's interval is wider than {WIDE}",
    "overconfident": "confidences are clearly higher than the share of correct values",
    "fallback-rows": "in some rows the estimate rules out every value that the cell allows",
    "new-categories": "some OFs have categories that the model has never seen",
    "out-of-range": "some OFs have numbers outside the range at fitting",
}
# The same in a few words, for a table.
LABELS = {
    NOT_UNIFORM: "not ruled out at random",
    "no-held-out-cells": "no cells were held out",
    "values-not-distinguished": "values can't be told apart",
    "held-out-cells-say-nothing": "cells rule out nothing",
    "copies-missed": "copies of rows",
    "cells-are-blocks": "cells are blocks",
    "some-blocks": "some cells are blocks",
    "not-told-apart": "values can't be told apart",
    "not-measured": "not measured",
    DRIFTED: "cells predicted worse",
    NO_BETTER: "no better than baseline",
    SMALL_REDUCTION: "little was learned",
    "most-answers-wrong": "most values are wrong",
    "few-held-out-cells": "few held-out cells",
    "wide-interval": "wide interval",
    "overconfident": "confidences too high",
    "fallback-rows": "contradictory rows",
    "new-categories": "new categories",
    "out-of-range": "numbers out of range",
    "three-values": "only three values",
    "small-bias-misleads": "a small bias misleads",
    "bias-goes-unnoticed": "bias would go unnoticed",
    "drawn-by-people": "chosen by people",
}


@dataclass(frozen=True)
class Finding:
    """One thing that counts against a CF: a code, a sentence, and what to type."""

    code: str
    sentence: str = ""
    next: str | None = None
    weighs: bool = True  # does it decide the verdict, or is it only to be looked at?


@dataclass(frozen=True)
class Judged:
    """The verdict on one CF with all that was found."""

    verdict: Verdict
    sentence: str  # to be read after the CF's name and a colon
    findings: tuple[Finding, ...] = ()
    rows: int = LOOKED_UP  # of the table

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(one.code for one in self.findings if one.weighs)

    @property
    def next(self) -> str | None:
        """Return what to type: the way out of the first reason that has one."""
        ways_out = (one.next for one in self.findings if one.weighs and one.next)
        step = next(ways_out, None)
        if step == _AUDIT and self.rows < LOOKED_UP:
            return (
                step.replace(f"--draw {LOOKED_UP} ", f"--draw {self.rows} ") if self.rows else None
            )
        return step

    @property
    def look_at(self) -> tuple[str, ...]:
        """Return further sentences: what to look at, and what to do."""
        return tuple(one.sentence for one in self.findings if one.sentence)


def verdict_on(column: "ColumnReport", rows: int) -> Judged:
    """Return the verdict on a CF of a table of so many rows."""
    return replace(_verdict_on(column, rows), rows=rows)


def _verdict_on(column: "ColumnReport", rows: int) -> Judged:
    accuracy, flags = column.estimated_accuracy, column.flags
    founded = column.accuracy_basis in (AUDIT, EXACT_CELLS)
    if NOT_UNIFORM in flags and not founded:
        text = (
            "its accuracy can't be estimated, because values were not ruled out at random. Check "
            f"some rows before you use it ({command('audit', mark='', to=STORED)})."
        )
        return Judged(Verdict.NOT_KNOWN, text, (Finding(NOT_UNIFORM, next=_AUDIT), *_kept(column)))
    if accuracy is None:
        why = column.accuracy_reason
        code, way_out = _NOT_KNOWN.get(why or "", ("not-measured", None))
        text = f"its accuracy is not known{f' ({why})' if why else ''}. Do not rely on it yet."
        return Judged(Verdict.NOT_KNOWN, text, (Finding(code, next=way_out), *_kept(column)))
    right = correct(column)
    if DRIFTED in flags:
        text = (
            "do not use it. In this batch its cells are predicted worse than those at fitting. "
            f"If values are still ruled out at random: {right[0].lower()}{right[1:]}"
        )
        return Judged(Verdict.DO_NOT_USE, text, (Finding(DRIFTED, next=_REFIT), *_kept(column)))
    if column.flagged and NOT_UNIFORM not in flags:
        code = NO_BETTER if NO_BETTER in flags else SMALL_REDUCTION
        against = ""
        if column.commonest_accuracy is not None:
            against = f", baseline: {in_100(column.commonest_accuracy.value)}"
        text = (
            f"do not use it. In cross-validation it does not beat {BASELINE} "
            f"({in_100(accuracy.value)} in 100 imputed values are correct{against})."
        )
        way_out = None if column.action == "kept" else _KEEP
        return Judged(Verdict.DO_NOT_USE, text, (Finding(code, next=way_out), *_kept(column)))
    all_exact = column.exact_cells == rows  # nothing was ruled out that leaves a choice
    conditions = () if all_exact else _conditions(column)
    found = (*conditions, *_cautions(column, rows), *_kept(column))
    if (
        column.drawn == BY_PEOPLE
        and not (founded or all_exact)
        and (column.break_even_bias or 0) < (column.assumed_bias or BIAS_OF_PEOPLE)
    ):
        text = (
            f"it may be no better than the baseline, because people chose its exclusions. {right}"
        )
        return Judged(Verdict.NOT_KNOWN, text, found)
    if any(one.code in CONDITIONS for one in found):
        text = f"use it if its {drawn_of(column)} were drawn at random. The cells can't show that. {right}"
        return Judged(Verdict.IF_RANDOM, text, found)
    if any(one.weighs for one in found):
        return Judged(Verdict.CARE, f"use it with care. {right}", found)
    return Judged(Verdict.USE, f"use it. {right}", found)


def by_verdict(report: "Report") -> dict[Verdict, list["ColumnReport"]]:
    """Return the CFs of each verdict, in the report's order; verdicts of no CF are left out."""
    grouped: dict[Verdict, list[ColumnReport]] = {verdict: [] for verdict in HEADINGS}
    for column in report.columns:
        grouped[Verdict(column.verdict)].append(column)
    return {verdict: columns for verdict, columns in grouped.items() if columns}


def heading(verdict: Verdict, columns: Sequence["ColumnReport"]) -> str:
    """Return the words above CFs of a verdict, which name exclusions only if all hold such."""
    (what, *others) = dict.fromkeys(map(drawn_of, columns)) or ("exclusions",)
    return HEADINGS[verdict].replace("exclusions", "cells" if others else what)


def drawn_of(column: "ColumnReport") -> str:
    """Return what the cells of a CF hold that may have been drawn at random."""
    return column.cells if column.cells == "candidates" else "exclusions"


def correct(column: "ColumnReport") -> str:
    """Return how many answers are correct, in words; nothing if it is not known."""
    accuracy, baseline = column.estimated_accuracy, column.commonest_accuracy
    if accuracy is None:
        return ""
    value, low, high = map(in_100, (accuracy.value, accuracy.low, accuracy.high))
    text = f"About {value} in 100 imputed values are correct ({low} to {high})."
    if baseline is None:
        return text
    return f"{text} {BASELINE[:1].upper()}{BASELINE[1:]}, is correct in {in_100(baseline.value)}."


def in_100(share: float) -> str:
    return f"{100 * share:.0f}"


def _kept(column: "ColumnReport") -> Iterator[Finding]:
    if column.not_told_apart:
        values = sum(map(len, column.not_told_apart))
        text = (
            f"No cell tells {values} values apart from other values, so they are imputed together, such as "
            "A|B. Rows with known values (--reference) or known `shares` would tell them apart."
        )
        yield Finding("not-told-apart", text, weighs=False)
    if column.drift is not None and column.drift.earlier:
        yield Finding("drifted-before", column.drift.earlier, weighs=False)
    if column.action == "kept":
        yield Finding("kept", "It was left as observed.", weighs=False)


CONDITIONS = ("three-values", "small-bias-misleads", "bias-goes-unnoticed")


def _conditions(column: "ColumnReport") -> Iterator[Finding]:
    """Yield why answers are good only if exclusions were drawn at random.

    A bias that differs from row to row may be as strong as the break-even, which withstands it, and
    one that is the same in all rows is noticed from `unnoticed_bias` on.
    """
    if column.accuracy_basis in (AUDIT, EXACT_CELLS) or column.drawn == AT_RANDOM:
        return
    if column.drawn == BY_PEOPLE:
        bias = column.assumed_bias or BIAS_OF_PEOPLE
        text = (
            "People chose its exclusions. The accuracy is a range that allows for some values "
            f"being ruled out up to {bias:g} times as often as other values."
        )
        yield Finding("drawn-by-people", text, _AUDIT)
        return
    least, noticed = column.break_even_bias, column.unnoticed_bias
    if column.domain_size == FEW_VALUES:
        text = "With only three values, cells can't show whether one was favored."
        yield Finding("three-values", text, _AUDIT)
    elif least is None or least < SMALL_BIAS:
        yield Finding(
            "small-bias-misleads", "Even a small bias in what is ruled out could mislead.", _AUDIT
        )
    elif least < MOST_BIAS and (noticed is None or least < noticed):
        text = "A bias that makes it no better than the baseline would not have been detected."
        yield Finding("bias-goes-unnoticed", text, _AUDIT)


def _cautions(column: "ColumnReport", rows: int) -> Iterator[Finding]:
    """Yield what there is to look at in a CF whose accuracy is known."""
    accuracy, by_audit = column.estimated_accuracy, column.accuracy_basis == AUDIT
    if accuracy is None:
        return
    if accuracy.value < 0.5:
        text = f"Most single values are wrong. Use the confidences of all values ({_SOFT}) instead."
        yield Finding("most-answers-wrong", text, _SOFT)
    if NOT_UNIFORM in column.flags:
        only = "by audit" if by_audit else "by exact cells"
        text = f"Values were not ruled out at random. Only the accuracy {only} is valid."
        yield Finding(NOT_UNIFORM, text)
    if not by_audit and 0 < column.hidden_cells < FEW_CELLS:
        text = f"The accuracy rests on only {count(column.hidden_cells, 'held-out cell')}."
        yield Finding("few-held-out-cells", text, _AUDIT)
    elif accuracy.high - accuracy.low > WIDE:
        text = "The accuracy is known only roughly. Add rows, or audit the column."
        yield Finding("wide-interval", text, _AUDIT)
    over = column.calibration.overconfidence if column.calibration else None
    if over is not None and over.value >= OVERCONFIDENT and over.low > 0:
        text = f"Confidences are too high, by about {in_100(over.value)} in 100."
        yield Finding("overconfident", text)
    if column.block_cells and column.accuracy_basis not in (AUDIT, EXACT_CELLS):
        blocks = count(column.block_cells, "cell")
        text = f"{blocks} name a block of values. The accuracy is that of the other cells."
        yield Finding("some-blocks", text, _AUDIT)
    if column.audit is not None and column.audit.estimate_was:
        text = f"The estimate before the audit was {column.audit.estimate_was}."
        yield Finding("estimate-missed", text, weighs=False)
    if column.fallback_rows:
        text = (
            f"In {count(column.fallback_rows, 'row')} the estimate rules out every value that "
            "the cell allows. Look for wrong cells or a missing value."
        )
        weighs = column.fallback_rows >= SOME_ROWS * rows
        yield Finding("fallback-rows", text, _DIAGNOSE, weighs)
    for flag in ("new-categories", "out-of-range"):
        if flag in column.flags:
            what = REASONS[flag]
            yield Finding(flag, f"{what[:1].upper()}{what[1:]}. See the notes.", _REFIT)
