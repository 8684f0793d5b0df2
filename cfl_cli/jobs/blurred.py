"""CFs that were blurred for privacy: what they hide is inferred only where a run asks by name."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.wording import command, option, options
from cfl_cli.errors import SchemaError, UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.trust.report import Report

CAUSE = "blurred"


def refuse_blurred(
    schema: Schema, infer: Sequence[str], *, cfs: Collection[str] | None = None
) -> None:
    """Raise if a CF was blurred for privacy and `infer` does not name it; `cfs`: of these alone."""
    check_names(schema, infer)
    if problems := refusals(schema, infer, cfs=cfs):
        raise SchemaError(*problems, cause=CAUSE)


def refusals(
    schema: Schema, infer: Sequence[str], *, cfs: Collection[str] | None = None
) -> list[str]:
    """Return why CFs are not inferred, a sentence each."""
    risk = command("risk", python="risk")
    return [
        f"column {quote(name)} was blurred for {reason} (`blurred: {reason}` in the schema), so it "
        f"is not inferred: add {option('infer', name, pasted=True)} if you may, or mark it "
        f"`role: ignore`; {risk} says what could be inferred"
        for name, reason in schema.blurred.items()
        if name not in infer and (cfs is None or name in cfs)
    ]


def check_names(schema: Schema, infer: Sequence[str]) -> None:
    """Raise if a name is not that of a CF that was blurred for privacy."""
    blurred = [*schema.blurred]
    problems = []
    for name in infer:
        if name in blurred:
            continue
        if name in schema.complementary:
            what = f"column {quote(name)} is not marked `blurred: privacy`: it is inferred anyway"
        elif name in schema.columns:
            what = f"column {quote(name)} is not a CF"
        else:
            near = did_you_mean(name, blurred or [*schema.complementary])
            what = f"the schema has no column {quote(name)}{near}"
        way = f"name {options('infer', blurred)}, or leave it out" if blurred else "leave it out"
        problems.append(f"{option('infer')}: {what}: {way}")
    if problems:
        raise UsageError(*problems)


def recorded(report: Report, schema: Schema) -> Report:
    """Return the report, which says of CFs that were blurred on purpose that they were inferred."""
    blurred = schema.blurred
    if not blurred:
        return report
    columns = (replace(one, blurred=blurred.get(one.name)) for one in report.columns)
    return replace(report, columns=tuple(columns))
