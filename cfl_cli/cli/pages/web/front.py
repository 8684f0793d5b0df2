"""The upper part of a report's page, for readers who want the verdict: cards, a chart, what to do.

It names no options, flags or methods, and its example is made from the values of a CF, never from a
row. All else is below, for analysts.
"""

from collections.abc import Sequence
from types import SimpleNamespace

from cfl_cli.cli.pages.web import charts, sentence, shown_name
from cfl_cli.trust import DRIFTED, NO_BETTER, NOT_UNIFORM, SMALL_REDUCTION, Verdict
from cfl_cli.trust.report import ColumnReport, Report

CARDS = 6  # CFs, at most, that have a card each
CHARTED = 12  # CFs, at most, in the chart
_STEPS = 3  # sentences on what to do
_NAMED = 4  # CFs of a sentence

# What to do, by the verdict and its first reason, in the order in which it is said.
_DO: dict[tuple[Verdict, str | None], str] = {
    (Verdict.USE, None): "Use {cfs}. Give more weight to values with a high confidence.",
    (Verdict.DO_NOT_USE, DRIFTED): "Fit the model again before you use {cfs}. New rows are "
    "predicted worse than those at fitting.",
    (Verdict.DO_NOT_USE, NO_BETTER): "Leave {cfs} as recorded. The other columns do not predict "
    "{it} better than the most common value does.",
    (Verdict.DO_NOT_USE, SMALL_REDUCTION): "Leave {cfs} as recorded. The other columns say "
    "little about {it}.",
    (Verdict.NOT_KNOWN, NOT_UNIFORM): "Look up about 100 rows of {cfs} before you use {it}. Values "
    "were not ruled out at random, so the accuracy cannot be estimated.",
    (
        Verdict.NOT_KNOWN,
        "copies-missed",
    ): "Remove copies of rows, or say which rows belong together, before you use {cfs}.",
    (Verdict.NOT_KNOWN, "cells-are-blocks"): "Look up about 100 rows of {cfs} before you use {it}. "
    "The cells are blocks of values, so the accuracy cannot be estimated.",
    (Verdict.NOT_KNOWN, None): "Do not rely on {cfs} yet. The accuracy was not measured.",
    (Verdict.IF_RANDOM, None): "Use {cfs} only if values were ruled out at random. Check about "
    "100 rows if you are not sure.",
    (Verdict.CARE, "most-answers-wrong"): "Use {cfs} for probabilities, not for single values. "
    "Most single values are wrong.",
    (Verdict.CARE, None): "Use {cfs} with care. The details say what to look at.",
}


def front(report: Report, cfs: Sequence[SimpleNamespace]) -> SimpleNamespace:
    charted = [cf for cf in cfs if cf.column.estimated_accuracy or cf.column.commonest_accuracy]
    return SimpleNamespace(
        cards=[_card(cf) for cf in cfs] if len(cfs) <= CARDS else [],
        bars=[_bar(cf) for cf in charted[:CHARTED]],
        more=max(len(charted) - CHARTED, 0),
        steps=_steps(report),
        exclusions=all(one.cells == "exclusions" for one in report.columns),
        example=next(filter(None, map(_example, _most_useful(report))), None),
        assumption=any(one.accuracy_basis == "uniform" for one in report.columns),
        estimated=any(one.estimated_accuracy for one in report.columns),
    )


def _card(cf: SimpleNamespace) -> SimpleNamespace:
    column: ColumnReport = cf.column
    right, baseline = column.estimated_accuracy, column.commonest_accuracy
    return SimpleNamespace(
        cf=cf,
        share=charts.percent(right.value) if right else None,
        ends=f"({charts.percents(right).partition('(')[2]}" if right else "",
        baseline=charts.percent(baseline.value) if baseline else None,
        kept=column.action == "kept",
    )


def _bar(cf: SimpleNamespace) -> SimpleNamespace:
    column: ColumnReport = cf.column
    return SimpleNamespace(
        cf=cf,
        share=charts.whisker(column.estimated_accuracy),
        baseline=charts.whisker(column.commonest_accuracy),
        text=charts.percents(column.estimated_accuracy)
        if column.estimated_accuracy
        else "not known",
    )


def _steps(report: Report) -> list[tuple[object, ...]]:
    """Return sentences on what to do, one for all CFs of which the same is to be done."""
    found: dict[tuple[Verdict, str | None], list[str]] = {key: [] for key in _DO}
    for column in report.columns:
        verdict = Verdict(column.verdict)
        keys = ((verdict, reason) for reason in (*column.reasons[:1], None))
        found[next(key for key in keys if key in _DO)].append(column.name)
    texts = []
    for key, names in found.items():
        if names:
            named = [shown_name(name).short for name in names[:_NAMED]]
            if len(names) > _NAMED:
                named.append(f"{len(names) - _NAMED} more")
            cfs = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
            texts.append(_DO[key].format(cfs=cfs, it="it" if len(names) == 1 else "them"))
    names = [column.name for column in report.columns]
    if len(texts) > _STEPS:
        texts = [*texts[: _STEPS - 1], "The details say what to do about the other columns."]
    return [sentence(text, names) for text in texts]


def _most_useful(report: Report) -> list[ColumnReport]:
    order = (Verdict.USE, Verdict.IF_RANDOM, Verdict.CARE)
    usable = [one for one in report.columns if one.verdict in order]
    return sorted(usable, key=lambda one: order.index(Verdict(one.verdict)))


def _example(column: ColumnReport) -> SimpleNamespace | None:
    """Return an exclusion and the value that it most often leads to; None: too few are known."""
    known = [value for value in column.values if value.label is not None]
    if column.cells != "exclusions" or len(known) < 2 or not any(it.estimated for it in known):
        return None
    imputed, *others = sorted(known, key=lambda value: -(value.estimated or 0.0))
    excluded = max(others, key=lambda value: value.ruled_out or 0.0)
    return SimpleNamespace(
        cf=shown_name(column.name),
        excluded=shown_name(str(excluded.label)),
        imputed=shown_name(str(imputed.label)),
        confidence=charts.percent(column.mean_confidence),
    )
