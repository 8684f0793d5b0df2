"""The page of tabulated CFs: shares, cross tables and means, each with its interval."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from math import ceil, log10
from typing import TypeAlias

from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, Section
from cfl_cli.commands.tabulate.figures import (
    AUDIT,
    CELLS,
    MEAN,
    MODEL,
    OF_GROUP,
    OF_VALUE,
    SHARE,
    Figure,
    Tabulation,
)
from cfl_cli.core.messages import count, printable, quote
from cfl_cli.trust.intervals import Interval

_Field: TypeAlias = AnyField[Figure]
_DIGITS = 6  # behind the point, at most


_LEGEND = "Dot: the estimate; line: its 95 % interval; hollow diamond: the count of imputed values."


def page(found: Tabulation, *, drawn: bool = False) -> Page[Figure]:
    """Return the page; with `drawn` it explains the drawings that pages for browsers have."""
    tables = [[*lines] for _, lines in groupby(found.figures, _table_of)]
    shares = [one for lines in tables for one in lines if _table_of(one)[1:] == (None, SHARE)]
    others = [lines for lines in tables if _table_of(lines[0])[1:] != (None, SHARE)]
    unknown = sum(one.estimate is None for one in found.figures)
    title = ", ".join(printable(one.name) for one in found.columns)
    title += f" by {printable(found.by)}" if found.by else ""
    title += f": {count(found.rows, 'row')}"
    if unknown:
        title += f", {unknown:,} of {count(len(found.figures), 'figure')} not known"
    return Page(
        title=title,
        lead="How common each value is. In parentheses: 95 % intervals.",
        fields=_fields(shares, several=len(found.columns) > 1),
        facts=shares,
        notes=[*_reading(shares), *([_LEGEND] if drawn else []), *_notes(found)],
        records=found.records,
        json=found.to_json(),
        more=[_section(lines, found) for lines in others],
    )


def _table_of(one: Figure) -> tuple[str, str | None, str]:
    return one.cf, None if one.quantity == MEAN else one.by, one.quantity


def _section(lines: Sequence[Figure], found: Tabulation) -> Section[Figure]:
    one = next((line for line in lines if line.by is not None), lines[0])
    cf, by = printable(one.cf), printable(one.by or "")
    facts = sorted(lines, key=lambda line: [it.value for it in lines].index(line.value))
    if one.quantity == SHARE:
        title, lead = f"{cf} and {by}", "Share of the rows that have both values."
    elif one.quantity == OF_GROUP:
        facts = [*lines]
        title = f"{cf} by {by}"
        lead = f"Among rows of one {by}: how common each value of {cf} is."
    elif one.quantity == OF_VALUE:
        title = f"{by} by {cf}"
        lead = f"Among rows of one {cf}: how common each {by} is."
    else:
        number = printable(found.mean or "")
        title, lead = f"{number} by {cf}", f"Among rows of one {cf}: the mean of {number}."
    fields = _fields(facts, several=False)
    return Section(title, fields, facts, [*_reading(facts)], lead=lead)


def _fields(lines: Sequence[Figure], *, several: bool) -> list[_Field]:
    """Return the columns that these figures need."""
    fields: list[_Field] = []
    if several:
        fields.append(_Field("CF", lambda one: printable(one.cf), folds=True))
    name = "value" if several or not lines else printable(lines[0].cf)
    value = _Field(name, lambda one: printable(one.value), folds=True, style=lambda _: "bold")
    group = _Field(
        printable(next((one.by for one in lines if one.by), None) or ""),
        lambda one: "(all)" if one.group is None else printable(one.group),
        folds=True,
    )
    of_group = bool(lines) and lines[0].quantity == OF_GROUP
    if not any(one.by for one in lines):
        fields.append(value)
    else:
        fields += [group, value] if of_group else [value, group]
    heading = "mean" if lines and lines[0].quantity == MEAN else "share"
    fields.append(_Field(heading, estimate_text, spread=partial(_spread, scale=_scale(lines))))
    if any(one.bias_low is not None for one in lines):
        fields.append(_Field("with bias", _band_text))
    fields.append(_Field("as precise as", _worth, right=True))
    if any(one.basis != CELLS for one in lines):
        fields.append(_Field("basis", lambda one: one.basis))
    if any(one.imputed is not None for one in lines):
        fields.append(_Field("imputed values say", _imputed, right=True))
    return fields


# Numbers as texts: as many digits as the interval bears.


def _digits(one: Figure) -> int:
    if one.low is None or one.high is None or one.high <= one.low:
        return 2
    digits = ceil(-log10((one.high - one.low) / 10))
    return min(max(digits, 0 if one.quantity == MEAN else 2), _DIGITS)


def _number(one: Figure, number: float) -> str:
    shown = number if one.quantity == MEAN else min(max(number, 0.0), 1.0)
    return f"{shown:,.{_digits(one)}f}"


def estimate_text(one: Figure) -> str:
    if one.estimate is None or one.low is None or one.high is None:
        return "not known"
    value, low, high = (_number(one, number) for number in (one.estimate, one.low, one.high))
    apart = " to " if "-" in low + high else "–"
    return f"{value} ({low}{apart}{high})"


def _band_text(one: Figure) -> str:
    if one.bias_low is None or one.bias_high is None:
        return "-"
    return f"{_number(one, one.bias_low)}–{_number(one, one.bias_high)}"


def _worth(one: Figure) -> str:
    if one.estimate is None or one.exact_rows is None:
        return "-"
    return count(max(round(one.exact_rows), 1), "row")


def _imputed(one: Figure) -> str:
    return "-" if one.imputed is None else _number(one, one.imputed)


def _scale(lines: Sequence[Figure]) -> tuple[float, float]:
    """Return the ends of the drawing: 0 and 1, or of means the least and the greatest."""
    ends = [end for one in lines for end in (one.low, one.high, one.imputed) if end is not None]
    if not lines or lines[0].quantity != MEAN or not ends or min(ends) == max(ends):
        return 0.0, 1.0
    return min(ends), max(ends)


def _spread(one: Figure, *, scale: tuple[float, float]) -> tuple[Interval, float | None] | None:
    if one.estimate is None or one.low is None or one.high is None:
        return None
    start, end = scale
    numbers = [(number - start) / (end - start) for number in (one.estimate, one.low, one.high)]
    other = None if one.imputed is None else (one.imputed - start) / (end - start)
    return Interval(*numbers), other


# Sentences.


def _reading(lines: Sequence[Figure]) -> Iterator[str]:
    """Read one figure aloud: the first that is known, of the last group."""
    known = [one for one in lines if one.estimate is not None]
    if not known:
        return
    last = known[-1].group
    one = next(it for it in known if it.group == last)
    text = estimate_text(one)
    value, cf, by = quote(one.value), printable(one.cf), printable(one.by or "")
    if one.quantity == MEAN:
        said = f"where {cf} is {value}, the mean is {text}"
    elif one.quantity == SHARE and one.by is None:
        said = f"{cf} is {value} in {text} of the rows"
    elif one.quantity == SHARE:
        said = f"{cf} is {value} and {by} is {quote(one.group or '')} in {text} of the rows"
    elif one.quantity == OF_GROUP:
        said = f"of the rows whose {by} is {quote(one.group or '')}, {text} have the {cf} {value}"
    else:
        said = f"of the rows whose {cf} is {value}, {text} have the {by} {quote(one.group or '')}"
    if one.exact_rows is not None:
        said += f", as precise as {_worth(one)} with known values"
    if one.imputed is not None:
        said += f"; counting imputed values says {_imputed(one)}"
    yield f"Read: {said}."


def _notes(found: Tabulation) -> Iterator[str]:
    for (_, column), alike in groupby(found.problems, lambda one: (one.code, one.column)):
        first, *others = [*alike]
        more = f" (and {count(len(others), 'more figure')} of {quote(str(column))})"
        yield f"{first}{more if others else ''}."
    for cf, needed in found.look_up.items():
        more = "more " if found.audited_rows else ""
        yield (
            f"{printable(cf)}: for shares whose intervals are {found.width:g} wide, look up "
            f"{needed:,} {more}rows that are drawn at random"
            f"{', more than the table has' if needed > found.rows else ''}."
        )
    for one in found.columns:
        if one.exact_only:
            yield (
                f"{printable(one.name)}: only its exact cells count, which are a random sample; "
                "its exclusions are not as its mechanism says, or it is to be fitted."
            )
        elif one.weights != "alike":
            yield (
                f"{printable(one.name)}: exact cells are a random sample, and count more than other cells."
            )
    if any(one.basis == AUDIT for one in found.figures):
        yield (
            f"Figures come from {count(found.audited_rows, 'row')} that a person checked, and "
            "are valid under any mechanism. The cells count beside them only where the schema says that exclusions "
            "were drawn at random."
        )
    if found.with_model:
        by_model = sum(one.basis == MODEL for one in found.figures)
        yield (
            f"{by_model:,} of {count(len(found.figures), 'figure')} come from cells and OFs together "
            "(basis: model). The others come from the cells, where a model was not found to hold, "
            "or would not be much narrower."
        )
    if found.withheld_groups:
        groups = count(found.withheld_groups, "group")
        yield f"{printable(found.by or '')}: {groups} of under 10 rows not shown."
    if found.rows_without_group:
        rows = count(found.rows_without_group, "row")
        yield f"{printable(found.by or '')}: empty in {rows}, which are left out of cross tables."
    if found.rows_without_number:
        rows = count(found.rows_without_number, "row")
        yield f"{printable(found.mean or '')}: empty in {rows}, which are left out of means."
    yield f"Assumed: {'; '.join(found.assumptions)}."
