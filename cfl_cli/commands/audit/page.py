"""The page of an audit: a line for each CF, then what the numbers leave open."""

from collections.abc import Iterator
from typing import TypeAlias

from cfl_cli.cli.pages.page import Field as AnyField
from cfl_cli.cli.pages.page import Page, interval_text
from cfl_cli.cli.pages.report import audit_notes, flat_audit
from cfl_cli.commands.audit.job import Audited
from cfl_cli.core.messages import count, printable
from cfl_cli.trust.report import WIDTH, Audit

Line: TypeAlias = tuple[str, Audit]  # the CF's name
Field: TypeAlias = AnyField[Line]

FIELDS = (
    Field("CF", lambda line: printable(line[0]), folds=True, style=lambda _: "bold"),
    Field("answers", lambda line: f"{line[1].answers:,}", right=True),
    Field("checked", lambda line: f"{line[1].checked:,}", right=True),
    Field("right", lambda line: f"{line[1].right:,}", right=True),
    Field("accuracy", lambda line: interval_text(line[1].accuracy)),
    Field("estimated", lambda line: interval_text(line[1].estimate)),
    Field(
        "held",
        lambda line: {None: "-", True: "yes", False: "no"}[line[1].estimate_held],
        style=lambda line: "yellow" if line[1].estimate_held is False else "",
    ),
)


def page(audited: Audited) -> Page[Line]:
    lines = [*audited.audits.items()]
    return Page(
        title=f"{count(audited.rows, 'row')}, {count(len(lines), 'CF')} audited",
        fields=FIELDS,
        facts=lines,
        notes=[*(note for line in lines for note in audit_notes(*line)), *_of_all(audited)],
        records=[{"name": cf, **flat_audit(audit)} for cf, audit in lines],
        json=audited.to_json(),
    )


def _of_all(audited: Audited) -> Iterator[str]:
    for cf in audited.unchecked:
        yield f"{printable(cf)}: no answer checked."
    for cf in audited.absent:
        yield f"{printable(cf)}: no column in {', '.join(audited.files)}, not audited."
    more = [
        f"{audit.more_rows:,} for {printable(cf)}"
        for cf, audit in audited.audits.items()
        if audit.more_rows
    ]
    if more:
        yield f"Rows to check more for an interval {WIDTH:g} wide, about: {', '.join(more)}."
    if audited.larger:
        yield (
            f"--draw {audited.larger.rows} --seed {audited.larger.seed} holds the rows drawn so "
            "far, as long as OUT stays the same: look up the new ones alone, and pass both files "
            "with --checked."
        )
    yield (
        "The accuracy is that of all answers in the table, exact cells among them, and assumes "
        "nothing of how the cells came about."
    )
    for cf, audit in audited.audits.items():
        if audit.estimate_was:
            yield (
                f"{printable(cf)}: what was estimated without truth was {audit.estimate_was}; do "
                "not rely on the report's other figures of this CF."
            )
