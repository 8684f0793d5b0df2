"""A report on one screen: a heading, a line for each CF, and what to do next.

    3,000 rows, method auto  accuracy          baseline  reason
    diagnosis  use           0.95 (0.93–0.98)      0.30
    coat_rack  do not use    0.50 (0.47–0.62)      0.48  no better than baseline
    Next, for coat_rack: add --keep-flagged. All figures: cfl report out.parquet --details

No line wraps. Where the width is short, names of CFs are cut, then reasons. All other figures are
on the page with details.
"""

import re
from collections.abc import Sequence
from shlex import quote

from cfl_cli.cli.pages import interval_text
from cfl_cli.cli.pages.width import cell_len, cut, cut_apart
from cfl_cli.core.messages import count, printable
from cfl_cli.trust import AUDIT, EXACT_CELLS, HEADINGS, LABELS, Verdict
from cfl_cli.trust.report import ColumnReport, Report

WIDTH = 80  # where there is no terminal
_BASES = {AUDIT: "by audit", EXACT_CELLS: "by exact cells"}
_REPORTS = ("-", ".json", ".cfl")  # which hold a report and no table
_OUT = re.compile(r"(?:(?<=cfl audit )|(?<=cfl suspects ))OUT\b")
_NAME = 12  # the least that is left of a long name
# Which CF's next step is shown, if they differ.
_URGENT = (Verdict.DO_NOT_USE, Verdict.NOT_KNOWN, Verdict.IF_RANDOM, Verdict.CARE, Verdict.USE)


def screen(report: Report, *, source: str | None, width: int = WIDTH, rows: bool = True) -> str:
    """Return the lines; `source` is what `cfl report` is given to show it again."""
    table = [
        (
            printable(column.name),
            verdict_words(Verdict(column.verdict)),
            interval_text(column.estimated_accuracy),
            f"{column.commonest_accuracy.value:.2f}" if column.commonest_accuracy else "-",
            label(column),
        )
        for column in report.columns
    ]
    head = ("accuracy", "baseline", "reason" if any(line[-1] for line in table) else "")
    title = _title(report, rows=rows)
    of_name, of_verdict, *widths = (
        max(cell_len(line[place]) for line in table) for place in range(5)
    )
    widths = [max(cell_len(text), size) for text, size in zip(head, widths, strict=True)]
    rest = sum(widths) + 2 * sum(size > 0 for size in widths)
    left = max(of_name + 2 + of_verdict, cell_len(title))
    left = min(left, max(width - rest, _NAME + 2 + of_verdict))
    of_name = min(of_name, left - 2 - of_verdict)
    lines = [_line(title, left, head, widths)]
    names = cut_apart([name for name, *_ in table], of_name)
    for name, (_, verdict, *others) in zip(names, table, strict=True):
        begin = f"{_padded(name, of_name)}  {verdict}"
        lines.append(_line(begin, left, others, widths))
    return "".join(
        f"{cut(one.rstrip(), width)}\n" for one in (*lines, _next(report, source, width))
    )


def _title(report: Report, *, rows: bool) -> str:
    parts = [count(report.rows, "row")] if rows else []
    if report.batch and report.batch.number:
        parts.append(f"batch {report.batch.number}")
    else:
        parts.append(f"method {printable(str(report.settings.get('method', 'graph')))}")
    return ", ".join(parts)


def _line(begin: str, left: int, texts: Sequence[str], widths: Sequence[int]) -> str:
    accuracy, baseline, reason = texts
    text = f"{_padded(begin, left)}  {_padded(accuracy, widths[0])}"
    return f"{text}  {baseline.rjust(widths[1])}  {reason}"


def _padded(text: str, width: int) -> str:
    text = cut(text, width)
    return text + " " * (width - cell_len(text))


def _next(report: Report, source: str | None, width: int) -> str:
    """Return the most urgent step, with the CFs it is for, and where all figures are."""
    asked = [column for column in report.columns if column.next]
    asked.sort(key=lambda column: _URGENT.index(Verdict(column.verdict)))
    steps = ["Next: use the imputed values"]
    if asked:
        cfs = [column for column in asked if column.next == asked[0].next]
        others = f" and {len(cfs) - 1} more" if len(cfs) > 1 else ""
        stored = str(asked[0].next)
        stored = f"add {stored}" if stored.startswith("-") else stored
        steps = [
            text
            for step in dict.fromkeys((typed(stored, report, source), stored))
            for text in (
                f"Next, for {', '.join(printable(one.name) for one in cfs)}: {step}",
                f"Next, for {printable(cfs[0].name)}{others}: {step}",
                f"Next, for {_of_many(report, cfs[0].name)}{others}: {step}",
                f"Next: {step}",
            )
        ]
    elif report.kept:
        steps = [f"Left as observed: {', '.join(map(printable, sorted(report.kept)))}"]
        steps.append(f"Left as observed: {count(len(report.kept), 'CF')}")
    elif all(column.verdict == Verdict.NOT_KNOWN for column in report.columns):
        steps = ["Nothing was measured"]
    figures = [". All figures: --details", ". More: --details"]
    if source is not None:
        figures.insert(0, f". All figures: cfl report {quote(source)} --details")
    longest = [step + more for step in steps for more in figures] + steps
    return next((text for text in longest if cell_len(text) <= width), longest[-1])


def _of_many(report: Report, name: str) -> str:
    """Return a short form of a CF's name that no other CF of the report has."""
    names = [column.name for column in report.columns]
    return cut_apart([*map(printable, names)], _NAME)[names.index(name)]


def typed(step: str, report: Report, source: str | None) -> str:
    """Return a step with the name of the table in place of OUT; `source` may hold the report alone."""
    if source is None or report.answers_sha256 is None or source.lower().endswith(_REPORTS):
        return step
    return _OUT.sub(lambda _: quote(source), step)


def verdict_words(verdict: Verdict) -> str:
    return "use if random" if verdict is Verdict.IF_RANDOM else HEADINGS[verdict].lower()


def label(column: ColumnReport) -> str:
    """Return the first reason in a few words, or what an accuracy without a reason rests on."""
    if column.reasons:
        return LABELS[column.reasons[0]]
    return _BASES.get(column.accuracy_basis or "", "")
