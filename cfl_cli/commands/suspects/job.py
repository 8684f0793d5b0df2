"""The cells of a finished run that are most likely wrong, the most suspect first.

The page shows the order and the likelihood ratio. How many cells are wrong cannot be read off them,
as wrong cells look like right ones of values that are hard to predict; JSON and CSV have a guess.
With p_i the probability that the i-th cell of the list rules out the true value, Σ_{i ≤ L} p_i of
the first L are expected to be wrong. It is a guess; at most, as many as p_i would make it if as
many cells of each CF were wrong as can be, and what chance adds to them:

    Σ p_i + 1.64 · (Σ p_i (1 − p_i))^½

If the share of wrong cells is known, the sum of p_i given that share is no guess.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import deliver, diagnosed, drawn, side_files, text_target
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page, name_field
from cfl_cli.cli.start import listen
from cfl_cli.core import Shown
from cfl_cli.core.messages import (
    CALLER,
    Caller,
    count,
    did_you_mean,
    option,
    printable,
    quote,
)
from cfl_cli.errors import Problem, UsageError
from cfl_cli.run.diagnostics import DOUBTFUL_CELL, SUPPOSED_WRONG, SUSPECT_CELL
from cfl_cli.tables import table
from cfl_cli.trust.report import Report
from cfl_cli.trust.wrong_cells import SUPPOSED

_CHANCE = 1.645  # standard deviations that are exceeded once in twenty
LENGTHS = (10, 20, 50, 100, 200, 500, 1000)  # of a list, for which the errors are told
FROM_FILE = (
    *("rank", "row", "cf", "value", "candidates_mass", "times_as_likely"),
    *("probability_wrong", "probability_wrong_most", *SUPPOSED_WRONG),
)


@dataclass(frozen=True)
class Errors:
    length: int
    expected: float
    at_most: int
    supposed: dict[float, float | None]  # by the share of cells that are wrong; None: not known

    @property
    def sentences(self) -> Iterator[str]:
        parts = [
            (f"{100 * share:g} %", f"{number:.0f}")
            for share, number in self.supposed.items()
            if number is not None
        ]
        if parts:
            (share, number), *others = parts
            first = (
                f"If {share} of all cells are wrong, about {number} of the first {self.length} are"
            )
            yield f"{'; '.join([first, *(f'if {share}, {number}' for share, number in others)])}."


@dataclass(frozen=True, eq=False, repr=False)
class SuspectCells(Shown):
    """Cells that are most likely wrong, the most likely first."""

    # As in `diagnostics`, and of all cells up to each one how many are expected to be wrong,
    # `errors_expected`, and at most, `errors_most`; null: not known. Such cells come last.
    cells: pl.DataFrame
    rows: int  # of the table
    cfs: tuple[str, ...]  # whose cells are ranked
    recorded: bool = True  # are there probabilities? an older cfl recorded none

    def __repr__(self) -> str:
        return f"SuspectCells({count(self.rows, 'row')}, {count(self.cells.height, 'cell')})"

    @property
    def known(self) -> int:
        return int(self.cells["errors_expected"].count())

    @property
    def unknown_cfs(self) -> tuple[str, ...]:
        """Return the CFs with listed cells of which that is not known, exact ones aside."""
        listed = self.cells.filter(pl.col("times_as_likely").is_not_null())
        found = {*listed.filter(pl.col("errors_expected").is_null())["cf"]}
        return tuple(cf for cf in self.cfs if cf in found)

    def errors(self, length: int) -> Errors | None:
        length = min(length, self.known)
        if length <= 0:
            return None
        first = self.cells.head(length)
        supposed = {
            share: None if first[name].null_count() else float(first[name].sum())
            for share, name in zip(SUPPOSED, SUPPOSED_WRONG, strict=True)
        }
        last = first.row(-1, named=True)
        return Errors(length, last["errors_expected"], last["errors_most"], supposed)

    @property
    def by_length(self) -> list[Errors]:
        lengths = [*(length for length in LENGTHS if length < self.known), self.known]
        return [errors for errors in map(self.errors, lengths) if errors]

    def to_json(self, top: int | None = None) -> str:
        facts = {
            "version": 1,
            "cfl_version": __version__,
            "rows": self.rows,
            "listed": self.cells.height,
            "errors": [asdict(errors) for errors in self.by_length],
            "cells": (self.cells if top is None else self.cells.head(top)).to_dicts(),
        }
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


def suspects(report: Report, diagnostics: pl.DataFrame, *, cfs: Sequence[str] = ()) -> SuspectCells:
    names = [column.name for column in report.columns]
    for cf in cfs:
        if cf not in names:
            text = "{option}: no CF of this result{near}: it has {names}"
            facts = {"near": did_you_mean(cf, names), "names": ", ".join(map(quote, names))}
            asked = option("cf", cf, python="cfs", quoted=True)
            raise UsageError(Problem("option-cf", text, option=asked, **facts))
    wanted = tuple(name for name in names if not cfs or name in cfs)
    ranked = diagnostics.filter(
        pl.col("why").is_in([SUSPECT_CELL, DOUBTFUL_CELL]) & pl.col("cf").is_in(wanted)
    )
    cells = ranked.select(FROM_FILE).sort("rank", maintain_order=True)
    chances = cells["probability_wrong_most"].fill_null(0).to_numpy()
    reach = chances.cumsum() + _CHANCE * np.sqrt((chances * (1 - chances)).cumsum())
    most = np.minimum(np.ceil(reach - 1e-9), np.arange(1, len(chances) + 1)).astype(np.int64)
    # Were probabilities recorded, where some could be known?
    limited = [column.name for column in report.columns if column.wrong_cells_most is not None]
    could = ranked.filter(pl.col("cf").is_in(limited) & pl.col("times_as_likely").is_not_null())
    known = pl.col("probability_wrong").is_not_null()
    return SuspectCells(
        cells.with_columns(
            errors_expected=pl.when(known).then(pl.col("probability_wrong").cum_sum()),
            errors_most=pl.when(known).then(pl.Series(most, dtype=pl.Int64)),
        ),
        report.rows,
        wanted,
        could.height == 0 or could["probability_wrong"].count() > 0,
    )


# The page of the cells that are most likely wrong.

MOST_TIMES = 1000  # as likely; more is shown as more than that
# What a likelihood ratio is called from which on (after Jeffreys 1961, in fewer steps).
STRENGTHS = ((100.0, "very strong"), (10.0, "strong"), (3.0, "some"), (0.0, "hardly any"))
_SHOWN = 20  # cells of a table, unless another number is asked for
_Line: TypeAlias = Mapping[str, Any]  # a row of `SuspectCells.cells`
_Field: TypeAlias = AnyField[_Line]


def _number(name: str, form: str = "") -> Any:
    return lambda line: "-" if line[name] is None else format(line[name], form)


def _evidence(line: _Line) -> str:
    times = line["times_as_likely"]
    if times is None:
        return "-"
    word = next(word for least, word in STRENGTHS if times >= least)
    return f"{word}, > {MOST_TIMES}" if times > MOST_TIMES else f"{word}, {times:.1f}"


_FIELDS: tuple[_Field, ...] = (
    _Field("rank", _number("rank"), right=True),
    _Field("row", lambda line: printable(str(line["row"])), right=True),
    name_field(lambda line: line["cf"]),
    _Field(
        "rules out",
        lambda line: "-" if line["value"] is None else printable(line["value"]),
        folds=True,
    ),
    _Field("remaining probability", _number("candidates_mass", ".3f"), right=True),
    _Field("evidence", _evidence),
)


def page(found: SuspectCells, *, top: int | None = None) -> Page[_Line]:
    """Return what there is to show of suspect cells: `top` of them; else 20 in tables, all in data."""
    shown = found.cells.head(_SHOWN if top is None else top).to_dicts()
    listed = found.cells.height
    if listed == 0:
        title = f"{count(found.rows, 'row')}, no suspect cells"
    else:
        title = f"{count(listed, 'cell')} most likely to be wrong, most suspect first"
    return Page(
        title=title,
        fields=_FIELDS,
        facts=shown,
        notes=[*_notes(found, len(shown))],
        records=(found.cells if top is None else found.cells.head(top)).to_dicts(),
        json=found.to_json(top),
    )


def _notes(found: SuspectCells, shown: int) -> Iterator[str]:
    if found.cells.height == 0:
        return
    yield (
        "Evidence: the likelihood ratio of wrong to correct. If 1 cell in 100 is wrong, a cell "
        "with a ratio of about 100 is equally likely to be wrong or correct."
    )
    yield (
        "Rules out: the excluded value that the row's neighbors favor. Remaining probability: "
        "the share that they give to the values that the cell allows."
    )
    yield (
        "The cells can't show how many of them are wrong, because a correct cell with an unusual "
        "value looks the same. Possibly none is wrong. Check the first ones before you correct any."
    )
    errors = found.errors(shown)
    yield from errors.sentences if errors else ()
    if found.recorded and found.unknown_cfs:
        names = ", ".join(map(printable, found.unknown_cfs))
        yield f"{names}: the report has no upper limit of wrong cells, so these cells come last."
    if shown < found.cells.height:
        left = found.cells.height - shown
        way = f"--top {found.cells.height}, or --format csv or json"
        in_python = CALLER.get() is Caller.PYTHON
        yield f"{count(left, 'more cell')}: {'`.cells` has all' if in_python else way}."


# The work of `cfl suspects`.


def run_suspects(source: str, out: str, given: Values, which: Values, how: Values) -> None:
    listen()
    names = [source, *([which["diagnostics"]] if "diagnostics" in which else [])]
    paths = [None if one == table.STANDARD else table.local(one) for one in names]
    paths += side_files(source)
    overwrite = given.get("overwrite", False)
    target = text_target(out, paths, overwrite=overwrite)
    report, cells = diagnosed(source, which.get("diagnostics"))
    found = suspects(report, cells, cfs=which.get("cf", ()))
    text = drawn(page(found, top=how.get("top")), how.get("format", FORMAT.default), target)
    deliver(text, target, overwrite=overwrite)
