"""From lines to figures: what is known of each share, cross table and mean, and why some is not.

What the cells do not bear is *not known*: the estimate is left out, and a problem says why.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.commands.tabulate import estimates
from cfl_cli.commands.tabulate.tally import Asked, Tally
from cfl_cli.core import Shown
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import LEVEL, Mechanism
from cfl_cli.core.messages import option, printable
from cfl_cli.errors import DataError, Problem, UserText
from cfl_cli.schema.model import Schema
from cfl_cli.texts.numbers import is_number
from cfl_cli.trust import AT_RANDOM, BIAS_OF_PEOPLE, BY_PEOPLE
from cfl_cli.trust.shares import (
    LEAST_CELLS,
    UNKNOWN,
    CellEstimate,
    Lines,
    independent_rows,
    is_invertible,
    shares,
)

SHARE, OF_GROUP, OF_VALUE, MEAN = "share", "share_of_group", "share_of_value", "mean"
CELLS, MODEL, AUDIT = "cells", "model", "audit"  # what an estimate is based on
LEAST_ROWS = 10  # of a group that is shown
LEAST_GROUPS = 10  # of rows that belong together: fewer have no variance to speak of


@dataclass(frozen=True)
class Figure:
    """One estimate. Groups of under ten rows have none; None: not known, or not asked for."""

    cf: str
    value: str
    by: str | None
    group: str | None
    quantity: str  # share, share_of_group, share_of_value or mean
    rows: int
    cells: int  # that are not empty
    estimate: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    exact_rows: float | None = None  # as precise as so many rows with known values
    basis: str = CELLS
    reason: str | None = None  # the code of a problem: why it is not known
    bias_low: float | None = None  # within the band of `bias`
    bias_high: float | None = None
    imputed: float | None = None  # what counting the imputed values says


CONTRACT = tuple(Figure.__dataclass_fields__)[:14]  # the columns of the tidy table


@dataclass(frozen=True)
class CfFacts:
    name: str
    domain_size: int
    mechanism: str  # uniform or declared
    weights: str  # of rows: alike, or by variance
    exact_only: bool  # are the exact cells the only ones that count?
    drawn: str | None = None  # how exclusions came about, as far as the schema says it
    bias: float = 1.0  # times as often as others that its bands let wrong values be ruled out


@dataclass(frozen=True)
class Tabulation(Shown):
    """Shares, cross tables and means, with what they assume and why some are not known."""

    rows: int
    figures: tuple[Figure, ...]
    columns: tuple[CfFacts, ...]
    by: str | None = None
    mean: str | None = None
    weight: str | None = None
    bias: float = 1.0
    audited_rows: int = 0
    with_model: bool = False
    width: float | None = None  # that was asked for, and …
    look_up: dict[str, int] = field(default_factory=dict)  # … how many rows of each CF it takes
    withheld_groups: int = 0  # of under ten rows
    rows_without_group: int = 0
    rows_without_number: int = 0
    copied_rows: int = 0  # copies of other rows, with which they count as one
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    assumptions: tuple[str, ...] = ()
    cfl_version: str = __version__
    version: int = 1

    def to_json(self) -> str:
        facts = {**vars(self), "problems": [one.as_dict() for one in self.problems]}
        facts["figures"] = [asdict(one) for one in self.figures]
        facts["columns"] = [asdict(one) for one in self.columns]
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)

    @property
    def frame(self) -> pl.DataFrame:
        """The records as a table, each column of one type."""
        texts, counts = (
            ("cf", "value", "by", "group", "quantity", "basis", "reason"),
            ("rows", "cells"),
        )
        names = [*self.records[0]] if self.records else [*CONTRACT]
        kinds = {
            name: pl.String if name in texts else pl.Int64 if name in counts else pl.Float64
            for name in names
        }
        return pl.DataFrame(self.records, schema=kinds)

    @property
    def records(self) -> list[dict[str, object]]:
        """The figures as a tidy table; bands and imputed values only where there are some."""
        more = ("bias_low", "bias_high", "imputed")
        known = {name for one in self.figures for name in more if getattr(one, name) is not None}
        names = [*CONTRACT, *(name for name in more if name in known)]
        return [{name: getattr(one, name) for name in names} for one in self.figures]


# Why something is not known: the code of the problem, and what is said of the column.

_WHY = {
    "refuted": (
        "tabulate-refuted",
        (
            "column {column!r}: not known: a value is ruled out more often than it can be if "
            "exclusions are drawn as the schema says{where}: {remedy}"
        ),
    ),
    "not-invertible": (
        "tabulate-not-invertible",
        (
            "column {column!r}: not known: under its `mechanism`, exclusions do not tell some "
            "values apart: {remedy}"
        ),
    ),
    "few-cells": (
        "tabulate-few-cells",
        (
            "column {column!r}: not known{where}: fewer than {least} cells count, as empty ones and "
            "blocks of values do not: {remedy}"
        ),
    ),
    "few-groups": (
        "tabulate-few-groups",
        (
            "column {column!r}: not known{where}: its cells belong to fewer than {fewest} groups of "
            "rows: {remedy}"
        ),
    ),
    "too-rare": (
        "tabulate-too-rare",
        (
            "column {column!r}: some {what} over rows with {value!r} are not known, because the value "
            "is too rare for these cells (at most {most:.0%} of the rows): {remedy}"
        ),
    ),
    "not-independent": (
        "tabulate-not-independent",
        (
            "column {column!r}: not known with {other!r}: a joint share would be clearly below 0, "
            "so the cells of the two were not drawn independently: {remedy}"
        ),
    ),
    "by-people": (
        "tabulate-by-people",
        (
            "column {column!r}: people chose its exclusions, so means, tables of two CFs and shares "
            "that the bias could move anywhere are not known: {remedy}"
        ),
    ),
}
_COPIES = (
    "some rows are copies of others, which cannot be told from rows that are equal by chance, so "
    "intervals may be too narrow: {remedy}"
)
_NO_COPIES = "remove copies, or name the column that says whose rows they are under `group`"
_REMEDIES = {
    "refuted": "declare the `mechanism`, or look up the values of some rows",
    "not-invertible": "declare rates that differ, or rule out other numbers of values",
    "few-cells": "take more rows, or larger groups",
    "few-groups": "take more groups of rows",
    "too-rare": "take more rows, or merge rare values",
    "not-independent": "tabulate them one at a time",
    "by-people": "look up the values of some rows",
    "blocks": f"look up the values of some rows, and add them with {option('audit', 'checked.csv')}",
}


def made(tally: Tally, schema: Schema, asked: Asked) -> Tabulation:
    return _Maker(tally, schema, asked).whole()


def indicators(tally: Tally, schema: Schema, asked: Asked) -> dict[str, Floats]:
    """Return f(S, b) for each different cell of each CF, NaN for those that say nothing.

    Raise where the cells are not as the mechanism says, or do not tell the values apart.
    """
    maker, found = _Maker(tally, schema, asked), {}
    for name, one in maker.columns.items():
        problems = [it for it in maker.problems if it.code == one.reason]
        if one.reason not in (None, _WHY["few-cells"][0], _WHY["few-groups"][0]):
            raise DataError(*problems)
        kept = tally.cfs[name]
        cells, marked = kept.candidates[:, :-1], kept.candidates[:, -1]
        values = one.mechanism.unbiased(cells)
        values[cells.all(axis=1) | (one.facts.exact_only & ~marked)] = np.nan
        found[name] = values
    return found


@dataclass
class _Column:
    """One CF's lines that say something, and what may be concluded from them."""

    name: str
    values: tuple[str, ...]
    mechanism: Mechanism
    cells: Mask  # lines × K
    group: Ints  # the number of each line's group, −1 for none
    known: Mask  # is the number of these rows known?
    lines: Lines
    counts: Floats  # independent rows
    facts: CfFacts
    reason: str | None = None  # why nothing is known

    @property
    def by_people(self) -> bool:
        return self.facts.drawn == BY_PEOPLE

    def some(self, chosen: Mask) -> Lines:
        return self.lines.some(chosen)

    @property
    def unknown(self) -> list[CellEstimate]:
        return [UNKNOWN] * len(self.values)


class _Maker:
    def __init__(self, tally: Tally, schema: Schema, asked: Asked) -> None:
        self.tally, self.schema, self.asked = tally, schema, asked
        self.problems: list[Problem] = []
        self.figures: list[Figure] = []
        self.most: dict[tuple[str, str], float] = {}  # how common a value is at most
        self.order = self._ordered_groups()
        self.withheld = 0
        self.columns = {name: self._column(name) for name in asked.cfs}
        if tally.copies_unclear:
            self.problems.append(Problem("tabulate-copies", _COPIES, remedy=_NO_COPIES))

    def whole(self) -> Tabulation:
        asked, tally = self.asked, self.tally
        for one in self.columns.values():
            self._shares(one)
        for one in self.columns.values():
            if asked.by is not None:
                self._cross(one)
            if asked.mean is not None:
                self._means(one)
        for pair in tally.pairs:
            self._pair(*pair)
        return Tabulation(
            rows=tally.rows,
            figures=tuple(self.figures),
            columns=tuple(one.facts for one in self.columns.values()),
            by=asked.by,
            mean=asked.mean,
            weight=asked.weight,
            bias=asked.bias,
            audited_rows=0 if tally.checked is None else len(tally.checked.rows),
            width=asked.width,
            look_up={} if asked.width is None else self._to_look_up(asked.width),
            withheld_groups=self.withheld,
            rows_without_group=tally.without_group,
            rows_without_number=tally.without_number,
            copied_rows=tally.copied_rows,
            problems=tuple(dict.fromkeys(self.problems)),
            assumptions=tuple(self._assumptions()),
        )

    def _to_look_up(self, width: float) -> dict[str, int]:
        """Return how many rows to look up for shares with intervals of this width, for each CF."""
        found = dict.fromkeys(self.columns, 0)
        for it in self.figures:
            if it.quantity == SHARE and it.by is None:
                share = 0.5 if it.estimate is None else min(max(it.estimate, 0.0), 1.0)
                trusted = it.basis == AUDIT or not self.columns[it.cf].by_people
                rows = estimates.rows_to_look_up(share, it.se if trusted else None, width)
                found[it.cf] = max(found[it.cf], rows)
        return found

    def _assumptions(self) -> Iterator[str]:
        drawn = {one.facts.mechanism for one in self.columns.values() if not one.by_people}
        if "uniform" in drawn:
            yield "all sets of wrong values of one size are equally likely to be ruled out"
        if "declared" in drawn:
            yield "cells came about as the schema's `mechanism` says"
        for one in self.columns.values():
            if one.by_people:
                yield (
                    f"people ruled out no wrong value of {printable(one.name)} more than "
                    f"{one.facts.bias:g} times as often as another"
                )
        yield "a cell depends only on its own value, not on the rest of its row"
        if self.tally.checked is not None:
            yield "the rows that were looked up are a random sample"
        yield "empty cells are empty at random"
        if self.schema.group:
            yield "groups of rows are independent of each other"
        if self.asked.weight is not None:
            yield "weights say how many rows of the population each row stands for"

    def _ordered_groups(self) -> list[tuple[str, int]]:
        """Return the groups in order, each with its number."""
        groups = [(text, number) for number, text in enumerate(self.tally.groups.texts)]
        listed = getattr(self.schema.columns.get(self.asked.by or ""), "values", None)
        if listed is not None:
            places = {value: place for place, value in enumerate(listed)}
            return sorted(groups, key=lambda one: (places.get(one[0], len(places)), one[0]))
        if all(is_number(text) for text, _ in groups):
            return sorted(groups, key=lambda one: (float(one[0].replace(",", ".")), one[0]))
        return sorted(groups)

    # What the lines of a CF are good for.

    def _column(self, name: str) -> _Column:
        kept = self.tally.cfs[name]
        keys, sums = self.tally.by_cf[name].lines
        found = kept.candidates[keys[:, 0]]
        cells, marked = found[:, :-1], found[:, -1]
        mechanism, random = kept.domain.mechanism, kept.cf.exact_cells == "random"
        clusters = keys[:, 3] if self.tally.clustered else None
        counts = independent_rows(sums[:, 0], clusters)
        chosen = (~cells).any(axis=1) & (sums[:, 1] > 0)
        fit = kept.cf.mechanism == "fit"
        why = None
        if not is_invertible(cells, mechanism):
            why = "not-invertible"
        elif not fit and estimates.is_refuted(cells, np.where(chosen, counts, 0), mechanism):
            why = "refuted"
        exact_only = random and (fit or why is not None)
        if exact_only:  # they are a random sample, and true whatever the mechanism
            chosen, why = chosen & marked, None
        lines = Lines.of(cells, sums, mechanism, clusters)
        if random and not exact_only and why is None:
            lines = lines.weighted(_by_variance(cells, marked, sums[:, 0]))
        lines = lines.some(chosen)
        why = why or _few(lines)
        bias = self.asked.bias
        if bias == 1 and kept.cf.drawn == BY_PEOPLE:
            bias = BIAS_OF_PEOPLE
        facts = CfFacts(
            name,
            mechanism.size,
            "fit" if fit else "uniform" if mechanism.rates is None else "declared",
            "by variance" if random and not exact_only else "alike",
            exact_only,
            kept.cf.drawn,
            bias,
        )
        return _Column(
            name,
            kept.domain.values,
            mechanism,
            cells[chosen],
            keys[chosen, 1],
            keys[chosen, 2].astype(bool),
            lines,
            counts[chosen],
            facts,
            reason=None if why is None else self._why(why, name),
        )

    def _why(self, why: str, name: str, **facts: object) -> str:
        code, text = _WHY[why]
        few_others = why == "few-cells" and self.schema.complementary[name].in_blocks
        remedy = _REMEDIES["blocks" if few_others else why]
        said: dict[str, Any] = {"where": "", "least": LEAST_CELLS, "fewest": LEAST_GROUPS}
        said |= {"remedy": remedy, **facts}
        group = said.pop("group", None)
        if group is not None:
            text = text.replace("{where}", " among rows whose {by!r} is {value!r}")
            said |= {"by": self.asked.by, "value": UserText(group)}
        self.problems.append(Problem(code, text, column=name, **said))
        return code

    def _unfit(self, one: _Column, number: int, group: str, groups: int) -> str | None:
        """Return why nothing is known of a group."""
        own = one.group == number
        if (few := _few(one.some(own))) is not None:
            return self._why(few, one.name, group=group)
        tested = (one.cells[own], one.counts[own], one.mechanism)
        if not one.facts.exact_only and estimates.is_refuted(*tested, tests=groups):
            return self._why("refuted", one.name, group=group)
        return None

    def _bands(self, one: _Column, chosen: Mask | None = None) -> list[CellEstimate] | None:
        bias = one.facts.bias
        if bias == 1 or one.reason is not None:
            return None
        if chosen is None:
            chosen = np.ones(len(one.lines), dtype=bool)
        return estimates.banded(one.some(chosen), one.cells[chosen], one.mechanism, bias)

    def _add(
        self,
        one: _Column,
        quantity: str,
        found: Sequence[CellEstimate],
        *,
        cells: float,
        rows: float,
        reason: str | None,
        by: str | None = None,
        group: str | None = None,
        bands: Sequence[CellEstimate] | None = None,
        imputed: Sequence[float | None] | None = None,
        audit: Sequence[CellEstimate] | None = None,
    ) -> None:
        """Add a figure for each value of a CF; looked-up rows lift whatever is against the cells."""
        for place, estimate in enumerate(found):
            value, why = one.values[place], reason
            looked_up = UNKNOWN if audit is None else audit[place]
            if looked_up.value is not None:
                by_design = why is None and one.facts.drawn == AT_RANDOM
                base = estimate if by_design else UNKNOWN
                both = estimates.put_together(base, looked_up, share=quantity != MEAN)
                shown = (one.name, value, by, group, quantity, round(rows), round(cells))
                numbers = (both.value, both.error, both.low, both.high, both.worth)
                counted = None if imputed is None else imputed[place]
                self.figures.append(Figure(*shown, *numbers, basis=AUDIT, imputed=counted))
                continue
            band = bands[place] if bands else None
            if why is None and one.by_people and (band is None or _anywhere(band)):
                why = self._why("by-people", one.name)
            if why is None and estimate.value is None:
                most = self.most.get((one.name, value), 1.0)
                what = "means" if quantity == MEAN else "shares"
                facts = {"value": UserText(value), "most": most, "what": what}
                why = self._why("too-rare", one.name, **facts)
            known = UNKNOWN if why else estimate
            band = None if why else band
            if band and one.by_people:  # the band is the headline
                known = replace(known, low=band.low, high=band.high, worth=None)
            self.figures.append(
                Figure(
                    *(one.name, value, by, group, quantity, round(rows), round(cells)),
                    *(known.value, known.error, known.low, known.high, known.worth),
                    reason=why,
                    bias_low=band.low if band else None,
                    bias_high=band.high if band else None,
                    imputed=None if imputed is None else imputed[place],
                )
            )

    # Shares, cross tables with a column, means.

    def _shares(self, one: _Column) -> None:
        found = one.unknown if one.reason else shares(one.lines)
        for value, share in zip(one.values, found, strict=True):
            self.most[one.name, value] = 1.0 if share.high is None else share.high
        facts = {"rows": self.tally.rows, "cells": one.lines.rows.sum()}
        counted = self._imputed(one.name)
        imputed = None if counted is None else _parts(counted.sum(axis=0))
        more: dict[str, Any] = {"bands": self._bands(one), "imputed": imputed}
        more["audit"] = self._looked_up(one)
        self._add(one, SHARE, found, **facts, reason=one.reason, **more)

    def _groups(self, one: _Column) -> list[tuple[str, int, float]]:
        """Return the groups of ten rows or more, with their number and their rows."""
        keys, sums = self.tally.by_cf[one.name].lines
        sizes = np.bincount(keys[:, 1] + 1, sums[:, 0], minlength=len(self.order) + 1)[1:]
        self.withheld = int((sizes < LEAST_ROWS).sum())
        return [
            (text, number, sizes[number])
            for text, number in self.order
            if sizes[number] >= LEAST_ROWS
        ]

    def _cross(self, one: _Column) -> None:
        groups, reasons = self._groups(one), dict[int, str | None]()
        for text, number, _ in groups:
            reasons[number] = one.reason or self._unfit(one, number, text, len(groups))
        counted = self._imputed(one.name)
        bands: dict[int, list[CellEstimate]] = {}
        for text, number, rows in groups:
            own = one.group == number
            found = one.unknown if reasons[number] else shares(one.some(own))
            band = None if reasons[number] else self._bands(one, own)
            if band is not None:
                bands[number] = band
            facts: dict[str, Any] = {"by": self.asked.by, "group": text, "rows": rows}
            facts |= {"cells": one.lines.rows[own].sum(), "bands": band}
            facts["imputed"] = None if counted is None else _parts(counted[number])
            facts["audit"] = self._looked_up(one, number)
            self._add(one, OF_GROUP, found, reason=reasons[number], **facts)
        refuted = next((it for it in reasons.values() if it == "tabulate-refuted"), None)
        inside = one.group >= 0
        table, bands_of = one.some(inside), self._bands_of_values(one, groups, bands)
        for text, number, _ in groups:
            reason, found = refuted or reasons[number], one.unknown
            if not reason:
                found = estimates.of_value(table, (one.group[inside] == number).astype(float))
            facts = {"by": self.asked.by, "group": text, "cells": table.rows.sum()}
            facts["rows"] = self.tally.rows - self.tally.without_group
            facts["bands"] = None if bands_of is None else bands_of[number]
            if counted is not None:
                totals = counted.sum(axis=0).tolist()
                own = zip(counted[number].tolist(), totals, strict=True)
                facts["imputed"] = [part / total if total else None for part, total in own]
            facts["audit"] = self._looked_up_values(one, group=number)
            self._add(one, OF_VALUE, found, reason=reason, **facts)

    def _looked_up(self, one: _Column, group: int | None = None) -> list[CellEstimate] | None:
        if one.name not in self.tally.samples:
            return None
        places, _, confidences, of_all = self.tally.samples[one.name].of(group)
        if len(places) < LEAST_ROWS:
            return None
        return estimates.looked_up(places, confidences, of_all, len(one.values))

    def _looked_up_values(
        self, one: _Column, *, group: int | None = None, mean: bool = False
    ) -> list[CellEstimate] | None:
        """Return what looked-up rows of each value say of a group, or of the mean in one or in all."""
        sample = self.tally.samples.get(one.name)
        if sample is None or not sample.places:
            return None
        places, groups = np.concatenate(sample.places), np.concatenate(sample.groups)
        numbers, kept = (groups == group).astype(float), groups >= 0
        if mean:
            numbers = np.concatenate(sample.numbers)
            kept = ~np.isnan(numbers) & ((groups == group) if group is not None else True)
        return [
            estimates.of_looked_up_value(numbers[kept & (places == place)], share=not mean)
            for place in range(len(one.values))
        ]

    def _bands_of_values(
        self,
        one: _Column,
        groups: Sequence[tuple[str, int, float]],
        bands: dict[int, list[CellEstimate]],
    ) -> dict[int, list[CellEstimate]] | None:
        """Return the bands of P(y = c | x = b), by group; None where some group has none."""
        if not groups or len(bands) < len(groups):
            return None
        weights = [one.lines.weight[one.group == number].sum() for _, number, _ in groups]
        parts = np.array(weights) / sum(weights)
        of_groups = [bands[number] for _, number, _ in groups]
        return {
            number: estimates.band_of_value(of_groups, parts, place)
            for place, (_, number, _) in enumerate(groups)
        }

    def _means(self, one: _Column) -> None:
        parts: list[tuple[str | None, Mask]] = [(None, one.known)]
        if self.asked.by is not None:
            groups = self._groups(one)
            parts += [(text, one.known & (one.group == number)) for text, number, _ in groups]
        for group, chosen in parts:
            lines, reason, found = one.some(chosen), one.reason, one.unknown
            cells = float(lines.rows.sum())
            if reason is None and (few := _few(lines)) is not None:
                reason = self._why(few, one.name, group=group)
            if reason is None:
                found = estimates.means(lines, self.tally.origin or 0.0, self.tally.unit)
            facts: dict[str, Any] = {"rows": cells, "cells": cells, "group": group}
            facts["by"] = None if group is None else self.asked.by
            facts["imputed"] = self._imputed_means(one.name, group)
            code = None if group is None else self.tally.groups.places[group]
            facts["audit"] = self._looked_up_values(one, group=code, mean=True)
            self._add(one, MEAN, found, reason=reason, **facts)

    # What counting imputed values says, where the table has them.

    def _imputed(self, name: str) -> Floats | None:
        """Return the weight of the rows by group and imputed value."""
        if name not in self.tally.imputed:
            return None
        keys, sums = self.tally.imputed[name].lines
        chosen = (keys[:, 0] >= 0) & (keys[:, 1] >= 0)
        counts = np.zeros((max(len(self.order), 1), len(self.tally.cfs[name].domain.values)))
        np.add.at(counts, (keys[chosen, 1], keys[chosen, 0]), sums[chosen, 1])
        return counts

    def _imputed_means(self, name: str, group: str | None) -> list[float | None] | None:
        if name not in self.tally.imputed:
            return None
        keys, sums = self.tally.imputed[name].lines
        chosen = (keys[:, 0] >= 0) & (keys[:, 2] == 1)
        if group is not None:
            chosen &= keys[:, 1] == self.tally.groups.places[group]
        size, origin = len(self.tally.cfs[name].domain.values), self.tally.origin or 0.0
        weights, totals = (
            np.bincount(keys[chosen, 0], sums[chosen, column], minlength=size).tolist()
            for column in (1, 4)
        )
        both = zip(totals, weights, strict=True)
        unit = self.tally.unit
        return [unit * total / weight + origin if weight else None for total, weight in both]

    # Two CFs: joint shares, and either as a share of the other.

    def _pair(self, name: str, other: str) -> None:
        one, two = self.columns[name], self.columns[other]
        keys, sums = self.tally.pairs[name, other].lines
        chosen, cells = sums[:, 1] > 0, []
        for place, it in enumerate((one, two)):
            known = self.tally.cfs[it.name].candidates[keys[:, place]]
            cells.append(known[:, :-1])
            chosen &= (~known[:, :-1]).any(axis=1)
            if it.facts.exact_only:
                chosen &= known[:, -1]
        clusters = keys[chosen, 2] if self.tally.clustered else None
        mine, others = (
            Lines.of(part[chosen], sums[chosen], it.mechanism, clusters)
            for part, it in zip(cells, (one, two), strict=True)
        )
        reason = one.reason or two.reason
        if reason is None and (few := _few(mine)) is not None:
            reason = self._why(few, name)
        clearly = NormalDist().inv_cdf(1 - LEVEL / (len(one.values) * len(two.values)))
        places = range(0 if reason else len(two.values))
        joint = [estimates.joint(mine, others, place, clearly) for place in places]
        if any(below for _, below in joint):
            reason = self._why("not-independent", name, other=other)
        for place, value in enumerate(two.values):
            facts: dict[str, Any] = {"by": other, "group": value, "rows": self.tally.rows}
            facts |= {"cells": mine.rows.sum(), "reason": reason}
            tables = [one.unknown] * 3
            if not reason:
                tables = [joint[place][0], *estimates.of_two(mine, others, place)]
            for quantity, found in zip((SHARE, OF_GROUP, OF_VALUE), tables, strict=True):
                self._add(one, quantity, found, **facts)


def _anywhere(band: CellEstimate) -> bool:
    return (band.low or 0.0) <= 0 and (band.high or 0.0) >= 1


def _few(lines: Lines) -> str | None:
    """Return what there is too little of, if so: cells, or groups of rows."""
    if lines.rows.sum() < LEAST_CELLS:
        return "few-cells"
    return "few-groups" if lines.units < LEAST_GROUPS else None


def _parts(counts: Floats) -> list[float | None]:
    total = counts.sum()
    return (counts / total).tolist() if total else [None] * len(counts)


def _by_variance(cells: Mask, marked: Mask, rows: Floats) -> Floats:
    """Return a weight for each line: cells with the exact mark have one, all others another.

    The mark is on a random sample of the rows. How many values the others rule out may depend on
    the value behind, so that they count alike.
    """
    sizes = (~cells).sum(axis=1)
    precision = estimates.precision(cells.shape[1], sizes)
    others = ~marked & (sizes > 0)
    if not others.any():
        return np.ones(len(cells))
    usual = 1 / np.average(1 / precision[others], weights=rows[others])
    return np.where(marked, precision / usual, 1.0)
