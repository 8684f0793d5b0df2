"""The page of a run's diagnostics: a line for each CF, reason and value, with its rows.

Then the cells that fit least of all others, a line each. There are such in every table.
"""

import json
from collections.abc import Iterator
from typing import TypeAlias

import polars as pl

from cfl_cli import __version__
from cfl_cli.cli.show.page import Field as AnyField
from cfl_cli.cli.show.page import Page
from cfl_cli.core.messages import count, printable
from cfl_cli.core.quick import dataclass
from cfl_cli.jobs.diagnostics import (
    DOUBTFUL_CELL,
    FALLBACK,
    IMPOSSIBLE_VALUE,
    SUSPECT_CELL,
    fit_least,
)
from cfl_cli.trust.report import Report

SHOWN = 10  # rows of a line, at most, and doubtful cells
MEANINGS = {
    SUSPECT_CELL: (
        "the candidates get under 1 % of the estimate; the value is the one that the cell rules "
        "out and the row's neighbors favor"
    ),
    IMPOSSIBLE_VALUE: "the cell rules out a value that is ruled out too often",
    FALLBACK: "the estimate rules out every candidate, and all of them count alike",
}


@dataclass(frozen=True)
class Line:
    """Cells of one CF that are listed for one reason, because of one value."""

    cf: str
    why: str
    value: str | None
    rows: tuple[int, ...]
    share: float  # of all rows
    times: float | None  # as likely if wrong as if right, of the most suspect one


Field: TypeAlias = AnyField[Line]


def page(report: Report, listed: pl.DataFrame) -> Page[Line]:
    """Return what there is to show of diagnostics."""
    counted = listed.filter(pl.col("why").is_in([*MEANINGS]))
    cells = counted.select("row", "cf").unique().height
    doubtful = listed.filter(pl.col("why") == DOUBTFUL_CELL).sort("rank")
    first = ("row", "cf", "why", "value")
    records = pl.concat([counted, doubtful]).select(*first, pl.exclude(*first))
    return Page(
        title=f"{count(report.rows, 'row')}, {count(cells, 'cell')} to look at",
        fields=FIELDS,
        facts=[*_lines(report, counted), *_doubtful(report, doubtful)],
        notes=[*_notes(counted, doubtful.height)],
        records=records.to_dicts(),
        json=_json(report, records),
    )


def _lines(report: Report, counted: pl.DataFrame) -> Iterator[Line]:
    """Yield a line for each CF, in the report's order, each reason and each value."""
    names = [column.name for column in report.columns]
    groups = counted.group_by("cf", "why", "value", maintain_order=True).agg(
        "row", pl.max("times_as_likely").alias("times")
    )
    lines = [
        Line(
            cf,
            why,
            value,
            tuple(rows),
            len(rows) / max(report.rows, 1),
            times if why == SUSPECT_CELL else None,
        )
        for cf, why, value, rows, times in groups.rows()
    ]
    order = {name: place for place, name in enumerate(names)}
    whys = [*MEANINGS]
    yield from sorted(
        lines, key=lambda line: (order.get(line.cf, len(order)), whys.index(line.why))
    )


def _doubtful(report: Report, doubtful: pl.DataFrame) -> Iterator[Line]:
    """Yield a line for each of the most doubtful cells."""
    columns = ("cf", "why", "value", "row", "times_as_likely")
    for cf, why, value, row, times in doubtful.head(SHOWN).select(columns).iter_rows():
        yield Line(cf, why, value, (row,), 1 / max(report.rows, 1), times)


def _rows(line: Line) -> str:
    shown = ", ".join(map(str, line.rows[:SHOWN]))
    return f"{shown} …" if len(line.rows) > SHOWN else shown


FIELDS = (
    Field("CF", lambda line: printable(line.cf), folds=True, style=lambda _: "bold"),
    Field("why", lambda line: line.why),
    Field("value", lambda line: "-" if line.value is None else printable(line.value), folds=True),
    Field("cells", lambda line: f"{len(line.rows):,}", right=True),
    Field("share", lambda line: f"{line.share:.1%}", right=True),
    Field(
        "times as likely",
        lambda line: "-" if line.times is None else f"{line.times:,.1f}",
        right=True,
    ),
    Field("rows", _rows, folds=True),
)


def _notes(counted: pl.DataFrame, doubtful: int) -> Iterator[str]:
    seen = set(counted["why"])
    for why, meaning in MEANINGS.items():
        if why in seen:
            yield f"{why}: {meaning}."
    if doubtful:
        least = fit_least(doubtful)
        shown = f"{least}, of which {SHOWN} are shown" if doubtful > SHOWN else least
        yield (
            f"{DOUBTFUL_CELL}: {shown}, the most doubtful first. Every table has such cells, and "
            "most of them are honest cells of unusual rows: the report does not count them."
        )
    if SUSPECT_CELL in seen or doubtful:
        yield "Times as likely: if the cell is wrong as if it is right, of the most suspect one."
    if counted.height > SHOWN or doubtful > SHOWN:
        yield "All rows, with how strongly each cell is at odds: --format csv or json."


def _json(report: Report, records: pl.DataFrame) -> str:
    facts = {
        "version": 1,
        "cfl_version": __version__,
        "rows": report.rows,
        "cells": records.to_dicts(),
    }
    return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
