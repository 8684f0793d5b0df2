"""The work of `cfl risk`."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from cfl_cli.cli.inputs import load, read_table
from cfl_cli.cli.options import REPORT_FORMAT, Values
from cfl_cli.cli.outputs import deliver, drawn, text_target
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, Section, interval_text
from cfl_cli.cli.progress import shown_progress
from cfl_cli.cli.start import listen
from cfl_cli.commands.risk.disclosure import RARE
from cfl_cli.commands.risk.job import ColumnRisk, FeatureRisk, Otherwise, Risk, risk_frame
from cfl_cli.core.messages import count, printable
from cfl_cli.core.settings import AUTO
from cfl_cli.run import Context
from cfl_cli.tables import table as tables
from cfl_cli.trust.intervals import Interval

# The page of what an attacker would learn: each CF, what carries it, and what would help.

OFS_SHOWN = 5  # of a CF, those that carry most; data have all

_Field: TypeAlias = AnyField[ColumnRisk]
OfField: TypeAlias = AnyField[tuple[str, FeatureRisk]]  # a CF and one of the OFs that carry it
WayField: TypeAlias = AnyField[tuple[str, Otherwise]]  # a CF and another way of blurring


def _signed(interval: Interval) -> str:
    return f"{interval.value:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})"


_FIELDS = (
    _Field("CF", lambda one: printable(one.name), folds=True, style=lambda _: "bold"),
    _Field("values", lambda one: f"{one.domain_size:,}", right=True, spare=True),
    _Field(
        "inferred correctly",
        lambda one: interval_text(one.inferred_right) if one.assessed else "not assessed",
        style=lambda one: "" if one.assessed else "yellow",
    ),
    _Field("baseline", lambda one: interval_text(one.commonest_right)),
    _Field(
        "gain",
        lambda one: "-" if one.gain is None else _signed(one.gain),
        style=lambda one: "yellow" if one.clearly_more else "",
        share=lambda one: max(one.gain.value, 0.0) if one.gain else 0.0,
    ),
)
SURE_FIELDS = (
    _Field("CF", lambda one: printable(one.name), folds=True, style=lambda _: "bold"),
    _Field(
        "share of rows",
        lambda one: f"{one.sure_share:.0%}",
        right=True,
        share=lambda one: one.sure_share,
    ),
    _Field(
        "rows",
        lambda one: "under 10" if one.sure_rows is None else f"{one.sure_rows:,}",
        right=True,
    ),
    _Field("these correct", lambda one: interval_text(one.sure_right)),
)
OF_FIELDS = (
    OfField("CF", lambda line: printable(line[0]), folds=True, style=lambda _: "bold"),
    OfField("OF", lambda line: printable(line[1].name), folds=True),
    OfField(
        "gain lost without it",
        lambda line: _signed(line[1].gain_lost),
        share=lambda line: min(max(line[1].gain_lost.value, 0.0), 1.0),
    ),
)
WAY_FIELDS = (
    WayField("CF", lambda line: printable(line[0]), folds=True, style=lambda _: "bold"),
    WayField("if published with", lambda line: line[1].way, folds=True),
    WayField("change of the share", lambda line: _signed(line[1].change)),
    WayField("effect", lambda line: line[1].claim),
)


def page(found: Risk) -> Page[ColumnRisk]:
    assessed = [one for one in found.columns if one.assessed]
    told = sum(one.clearly_more is True for one in assessed)
    left = len(found.columns) - len(assessed)
    verdict = f"{told:,} disclosed beyond the baseline"
    if left:
        others = f", {told:,} of the other {len(assessed):,} disclosed beyond the baseline"
        verdict = f"{left:,} not assessed{others if assessed else ''}"
    rows, cfs = count(found.rows, "row"), count(len(found.columns), "CF")
    return Page(
        title=f"{rows}, {cfs}: {verdict}",
        fields=_FIELDS,
        facts=found.columns,
        notes=[*_notes(found)],
        records=[_record(one) for one in found.columns],
        json=found.to_json(),
        more=[*_sections(found)],
    )


def _notes(found: Risk) -> Iterator[str]:
    for one in found.columns:
        if not one.assessed:
            why = f" ({printable(one.reason)})" if one.reason else ""
            yield (
                f"{printable(one.name)}: not assessed{why}. This does not mean that it is safe. "
                "Up to all of its values may be disclosed."
            )
    yield (
        "Inferred correctly: the share of rows whose value an attacker with this table finds "
        f"(method {printable(found.method)}). Baseline: the share if one always guesses the most "
        "common value that the cell allows. Gain: the difference. Parentheses hold 95 % intervals."
    )
    yield (
        "The estimate assumes an attacker with only this table. Outside knowledge, such as other "
        "tables, raises the risk."
    )
    yield from (f"warning: {printable(warning)}." for warning in found.warnings)


def _sections(found: Risk) -> Iterator[Section[Any]]:
    lead = f"Rows predicted with a confidence of {found.sure_confidence} or more."
    stated = [f"{printable(one.name)} {one.open_rows}" for one in found.columns if one.open_rows]
    left_out = f"Not counted are rows whose cell states the value: {', '.join(stated)}."
    notes = [left_out] if stated else []
    yield Section("Rows an attacker would be sure of", SURE_FIELDS, found.columns, notes, lead=lead)
    tried = f"Tried on {count(found.tried_rows, 'row')} with the method {found.tried_method}."
    ofs = [
        (one.name, of)
        for one in found.columns
        for of in one.features[:OFS_SHOWN]
        if of.gain_lost.low > 0
    ]
    if ofs:
        note = (
            "Gain lost: the decrease of the share inferred correctly without the OF. OFs whose "
            "loss may be chance are not listed; JSON has all. Correlated OFs mask each other, so "
            "try removing them together."
        )
        yield Section("OFs that disclose most", OF_FIELDS, ofs, [note], lead=tried)
    ways = [(one.name, way) for one in found.columns for way in one.otherwise]
    if ways:
        note = (
            "Change: how much the share inferred correctly changes. No clear change: the difference "
            "may be chance, or the method predicts better from coarser data, which anybody can make. "
            "One exclusion more or less applies to each cell that has any. Bins have about equally "
            "many rows, and each number becomes the mean of its bin. Rare categories, which become "
            "one, are those of "
            f"{100 * RARE:.0f} % of the rows or fewer."
        )
        yield Section("Other ways of blurring", WAY_FIELDS, ways, [note], lead=tried)


def _record(one: ColumnRisk) -> dict[str, object]:
    facts: dict[str, object] = {}
    for name, value in asdict(one).items():
        if name in ("features", "otherwise"):
            continue
        if name in ("inferred_right", "commonest_right", "gain", "sure_right"):
            for part in ("value", "low", "high"):
                facts[f"{name}_{part}"] = value[part] if value else None
        else:
            facts[name] = str(value).lower() if isinstance(value, bool) else value
    return facts


def run_risk(
    data: str, schema: str, out: str, given: Values, tried: Values, how: Values, shown: Values
) -> None:
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.limits
    source = tables.Place.to_read(data, how.get("input_format"))
    target = text_target(out, [source.path, Path(schema)], overwrite=run.overwrite)
    table = read_table(source, how, inputs.schema)
    with shown_progress(quiet=run.quiet) as display:
        asked = inputs.changed(method=tried.get("method") or AUTO)  # whatever the schema says
        context = Context(source.name, display)
        found = risk_frame(table.frame, asked, context, rows=tried.get("rows"))
    form = shown.get("format", REPORT_FORMAT.default)
    if form == "html":
        from cfl_cli.cli.pages import web  # which loads jinja2

        deliver(web.page(page(found)), target, overwrite=run.overwrite, utf8=True)
    else:
        deliver(drawn(page(found), form, target), target, overwrite=run.overwrite)
