"""An audit: rows drawn at random, looked up by a person, and what they say of all answers.

`draw` makes the table that the person fills in, `audit` reads it back. The population of a CF's
audit is every row to which the output gives an answer, exact cells included, as in all accuracies
of the report; rows without an answer to any of the CFs are not drawn.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from math import ceil
from typing import Any

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.shown import Shown
from cfl_cli.core.wording import option
from cfl_cli.errors import UsageError
from cfl_cli.jobs import answers as outputs
from cfl_cli.jobs import checked as files
from cfl_cli.jobs.answers import GivenAnswers, Output
from cfl_cli.jobs.arguments import AnySchema
from cfl_cli.jobs.checked import DRAW, ROW, Checked, Draw, no_more_missing
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.trust.audit import Audit, judge
from cfl_cli.trust.basis import AUDIT
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import ColumnReport, Report


@dataclass(frozen=True)
class Drawn:
    """The rows to check."""

    frame: pl.DataFrame
    of: int  # rows that could have been drawn
    answers: tuple[GivenAnswers, ...]  # to the CFs that are to be filled in


@dataclass(frozen=True)
class LargerDraw:
    """A draw that holds all rows drawn so far, and enough others."""

    rows: int
    seed: int


@dataclass(frozen=True)
class Audited(Shown):
    """What the checked rows say, CF by CF, and the report that now says it too."""

    rows: int  # of the output
    audits: dict[str, Audit]
    files: tuple[str, ...]  # what errors call them
    unchecked: tuple[str, ...]  # CFs of the files of which nothing was found out
    absent: tuple[str, ...]  # CFs for which no file has a column
    larger: LargerDraw | None  # for intervals as narrow as `more_rows` aims at, about
    report: Report
    checked: tuple[Checked, ...]

    def to_json(self) -> str:
        """Return everything as JSON text, one object."""
        columns = [{"name": cf, **asdict(audit)} for cf, audit in self.audits.items()]
        facts = {
            "version": 1,
            "cfl_version": __version__,
            "rows": self.rows,
            "columns": columns,
            "unchecked": self.unchecked,
            "absent": self.absent,
            "larger_draw": asdict(self.larger) if self.larger else None,
        }
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


def read_output(
    frame: Any, report: Report, schema: AnySchema | None = None, *, name: str = "table"
) -> Output:
    """Return what `frame`, an output of `impute`, answers; `name` is what errors call it.

    With the schema, values that were never answered are known, too.
    """
    known = None if schema is None else Schema.of(schema)
    return outputs.read(frames.as_polars(frame, name=name), report, known, name=name)


def draw(
    output: Output,
    rows: int,
    *,
    cfs: Sequence[str] = (),
    keys: Sequence[str] = (),
    show_answers: bool = False,
    seed: int = 0,
) -> Drawn:
    """Draw so many rows to check the answers to `cfs`, all if none is named.

    `keys` are columns of the output to find the rows by.
    """
    wanted = output.of(cfs)
    _refuse_keys(keys, wanted, output)
    some = np.logical_or.reduce([answers.given for answers in wanted])
    population = int(some.sum())
    if not 1 <= rows <= population:
        raise UsageError(
            f"{option('draw', rows, python='rows')}: expected 1 to {population:,}, the rows of "
            f"{output.name} that have an answer"
        )
    chosen, first = _first(some, rows, seed, output.fingerprint)
    columns = [pl.Series(ROW, chosen + 1), *(output.table[key].gather(chosen) for key in keys)]
    for answers in wanted:
        columns.append(pl.Series(answers.cf, [None] * rows, dtype=pl.String))
        if show_answers:
            columns.append(answers.texts.gather(chosen).rename(f"{answers.cf}_imputed"))
    columns.append(pl.Series(DRAW, [str(Draw(seed, first, output.fingerprint))] * rows))
    return Drawn(pl.DataFrame(columns), population, tuple(wanted))


def audit(
    output: Output,
    checked: Mapping[str, Any],
    *,
    cfs: Sequence[str] = (),
    missing_in: Callable[[str], Collection[str]] = no_more_missing,
) -> Audited:
    """Return what tables that `draw` made and a person filled in say of all answers.

    `checked` holds the tables by what errors call them. A row in several of them counts once.
    `missing_in` gives the cells of a CF's column that count as empty.
    """
    tables = {name: frames.as_polars(table, name=name) for name, table in checked.items()}
    found = files.read(tables, output, cfs, missing_in)
    filled = {one.answers.cf for one in found}
    reports = {column.name: column for column in output.report.columns}
    audits = {
        one.answers.cf: judged for one in found if (judged := _audit(one, reports[one.answers.cf]))
    }
    columns = tuple(_audited(column, audits.get(column.name)) for column in output.report.columns)
    return Audited(
        output.table.height,
        audits,
        tuple(tables),
        tuple(one.answers.cf for one in found if one.answers.cf not in audits),
        tuple(answers.cf for answers in output.of(cfs) if answers.cf not in filled),
        _larger(found, audits, output),
        replace(output.report, columns=columns),
        tuple(found),
    )


def _first(some: Mask, rows: int, seed: int, fingerprint: str) -> tuple[Ints, int]:
    """Return the first `rows` in random order that have some answer, and how far that took."""
    order = files.order(len(some), seed, fingerprint)
    places = np.flatnonzero(some[order])[:rows]
    return np.sort(order[places]), int(places[-1]) + 1


def _larger(
    found: Sequence[Checked], audits: Mapping[str, Audit], output: Output
) -> LargerDraw | None:
    """Return which draw has the rows to check more, or None: none is needed, or none holds all."""
    draws = {draw for one in found for draw in one.draws}
    seeds = {draw.seed for draw in draws}
    if len(seeds) != 1 or not any(audit.more_rows for audit in audits.values()):
        return None
    [seed] = seeds
    some = np.logical_or.reduce([one.answers.given for one in found])
    order = files.order(len(some), seed, output.fingerprint)
    rows = int(some[order[: max(draw.first for draw in draws)]].sum())
    # Of the rows to come, as many will have an answer, and be found out, as of those so far.
    more = max(ceil(audit.more_rows * rows / audit.checked) for audit in audits.values())
    enough = min(rows + more, int(some.sum()))
    return LargerDraw(enough, seed) if enough > rows else None


def _refuse_keys(keys: Sequence[str], wanted: Sequence[GivenAnswers], output: Output) -> None:
    """Raise if columns to find rows by are not there, or would show what is to be found out."""
    ours = {title for answers in output.answers for title in answers.columns}
    taken = {ROW, DRAW, *(answers.cf for answers in wanted)}
    problems = []
    for number, key in enumerate(keys):
        named = option("key", key, python="keys", quoted=True)
        if key not in output.table.columns:
            near = did_you_mean(key, output.table.columns)
            problems.append(f"{named}: not a column of {output.name}{near}")
        elif key in ours:
            problems.append(f"{named}: holds answers: use {option('show_answers', value=True)}")
        elif key in taken:
            problems.append(
                f"{named}: the file has a column of this name to fill in, or of its own"
            )
        elif key in keys[:number]:
            problems.append(f"{named}: named twice")
    problems += [
        f"{output.name}: a CF named {quote(answers.cf)} cannot be audited: rename it"
        for answers in wanted
        if answers.cf in {ROW, DRAW}
    ]
    if problems:
        raise UsageError(*problems)


def _audit(found: Checked, column: ColumnReport) -> Audit | None:
    """Return the audit of a CF, or None if no answer to it was checked."""
    answers = found.answers
    rows = np.flatnonzero(found.known & answers.given)
    if not len(rows):
        return None
    true = pl.Series(answers.values, dtype=pl.String).gather(found.places[rows])
    candidates = answers.candidates
    known = np.flatnonzero(found.known)
    before = column.audit
    return judge(
        answers=int(answers.given.sum()),
        drawn=int(found.drawn.sum()),
        checked=len(rows),
        right=int((true == answers.texts.gather(rows)).sum()),
        estimate=_estimate(column, all_given=bool(answers.given.all())),
        former=(before.former_accuracy, before.former_basis)
        if before
        else (column.estimated_accuracy, column.accuracy_basis),
        contradicted=None
        if candidates is None
        else int((~candidates[known, found.places[known]]).sum()),
    )


def _estimate(column: ColumnReport, *, all_given: bool) -> Interval | None:
    """Return what was said without truth of the answers that are given."""
    if not all_given:  # min_confidence leaves the others empty
        return column.confident.accuracy if column.confident else None
    return column.audit.former_accuracy if column.audit else column.estimated_accuracy


def _audited(column: ColumnReport, audit: Audit | None) -> ColumnReport:
    """Return what is now known of a CF; an audit assumes nothing that a bias could upset."""
    if audit is None:
        return column
    return replace(
        column,
        estimated_accuracy=audit.accuracy,
        accuracy_basis=AUDIT,
        accuracy_reason=None,
        break_even_bias=None,
        unnoticed_bias=None,
        accuracy_under_bias=None,
        audit=audit,
    )
