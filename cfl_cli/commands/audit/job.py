"""An audit: rows drawn at random, looked up by a person, and what they say of all answers.

`draw` makes the table that the person fills in, `audit` reads it back. The population of a CF's
audit is every row to which the output gives an answer, exact cells included, as in all accuracies
of the report; rows without an answer to any of the CFs are not drawn.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from math import ceil
from typing import Any, Self, cast

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core import Shown, draws
from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.messages import command, count, did_you_mean, meant, option, quote
from cfl_cli.encode.cells import Cells, usable_columns
from cfl_cli.encode.encode import Block, encode_cf, new_names
from cfl_cli.encode.findings import Problems
from cfl_cli.errors import DataError, Problem, ProblemList, SchemaError, UsageError, UserText
from cfl_cli.run import AnySchema
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables import frames
from cfl_cli.trust import AUDIT
from cfl_cli.trust.report import Audit, ColumnReport, Report, judge_audit

# What an output of `impute` answers, CF by CF, by its report and its columns, without a schema.
#
# The report names the CFs. Hard columns hold answers; soft ones, whose names hold the domain, hold
# confidences, of which the first among the largest is the answer. A CF that was kept has none.


@dataclass(frozen=True, eq=False)
class GivenAnswers:
    cf: str
    texts: pl.Series  # n: the answers, null where there is none
    values: tuple[str, ...]  # of the domain, as far as they are known
    is_whole: bool  # they are the whole domain
    columns: tuple[str, ...]  # that the output has for this CF
    candidates: Mask | None  # n × K, in the order of `values`; None: no schema
    # Texts that name several values, which no cell tells apart: any of them is correct.
    together: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def given(self) -> Mask:
        return self.texts.is_not_null().to_numpy()


@dataclass(frozen=True, eq=False)
class Output:
    table: pl.DataFrame
    name: str  # what messages call it
    report: Report
    answers: tuple[GivenAnswers, ...]  # of CFs that were not kept
    fingerprint: str  # of all answers

    def of(self, cfs: Sequence[str]) -> list[GivenAnswers]:
        known = {answers.cf: answers for answers in self.answers}
        problems = []
        for cf in cfs:
            asked = {"column": cf, "option": option("cf", cf, python="cfs", quoted=True)}
            if cf in self.report.kept:
                text = "{option}: kept as observed, so it has no imputed values to check"
                problems.append(Problem("audit-kept", text, **asked))
            elif cf not in known:
                text = "{option}: not a CF in the report of {name}{near}"
                near = did_you_mean(cf, known)
                problems.append(Problem("audit-not-a-cf", text, **asked, name=self.name, near=near))
        if problems:
            raise UsageError(*problems)
        return [answers for cf, answers in known.items() if not cfs or cf in cfs]


def read_answers(
    frame: Any, report: Report, schema: AnySchema | None = None, *, name: str = "table"
) -> Output:
    """Return what `frame`, an output of `impute`, answers; `name` is what errors call it.

    With the schema, values that were never answered are known, too. One DataError has all that does
    not fit the report.
    """
    table = frames.as_polars(frame, name=name)
    known = None if schema is None else Schema.of(schema)
    if table.height != report.rows:
        text = "{file}: {height:,} rows, but its report has {rows:,}: {remedy}"
        facts = {"height": table.height, "rows": report.rows}
        remedy = "pass a table and the report of the same run"
        raise DataError(Problem("audit-other-rows", text, file=name, **facts, remedy=remedy))
    answers: list[GivenAnswers] = []
    problems: list[Problem] = []
    for column in report.columns:
        if column.action == "kept":
            continue
        try:
            answers.append(_answers(table, column, known, name))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(*problems)
    if not answers:
        text = "{file}: every CF was kept as observed, so there are no imputed values to check"
        raise DataError(Problem("audit-no-answers", text, file=name))
    digest = blake2b(digest_size=4)
    for one in answers:
        digest.update("\x1f".join([one.cf, *one.texts.fill_null("\0")]).encode())
        digest.update(b"\x1e")
    return Output(table, name, report, tuple(answers), digest.hexdigest())


def _answers(
    table: pl.DataFrame, column: ColumnReport, schema: Schema | None, name: str
) -> GivenAnswers:
    cf = column.name
    candidates, listed = _by_schema(table, column, schema, name) if schema else (None, ())
    hard = new_names(cf, (), "hard")
    soft = new_names(cf, listed, "soft") if listed else []
    if not listed:
        soft = [title for title in table.columns if title.startswith(f"{cf}__")]
        soft = soft if len(soft) == column.domain_size else []
    elif not all(title in table.columns for title in soft):
        soft = []
    values = listed or tuple(title.removeprefix(f"{cf}__") for title in soft)
    if hard[0] in table.columns:
        answered = table[hard[0]]
        if not frames.has_text(answered.dtype):
            text = "{file}: column {column!r} holds {kind}, not imputed values"
            facts = {"column": answered.name, "kind": frames.type_name(answered.dtype)}
            raise DataError(Problem("audit-not-answers", text, file=name, **facts))
        texts = answered.cast(pl.String)
        texts = texts.set(texts == "", None)
    elif soft:
        shares = table.select(soft)
        for one in shares:
            numbers = one.cast(pl.Float64, strict=False) if frames.has_text(one.dtype) else None
            if numbers is None or numbers.is_null().any() or numbers.is_nan().any():
                text = "{file}: column {column!r} does not hold a confidence in every row"
                raise DataError(Problem("audit-no-confidence", text, file=name, column=one.name))
        array = shares.cast(pl.Float64).to_numpy()
        places = array.argmax(axis=1) if shares.height else np.zeros(0, int)
        texts = pl.Series(values, dtype=pl.String).gather(places)
        alike = {values[of[0] - 1]: name for name, of in column.imputed_together.items()}
        texts = texts.replace(alike)
    else:
        (expected,) = new_names(cf, ["VALUE"], "soft")
        way_out = "" if schema else f", or its {option('schema')}, if other columns have such names"
        text = (
            "{file}: no imputed values of {value!r}: expected column {column!r} or, for each "
            "value, "
            "{expected!r}: pass what {command} wrote{way_out}"
        )
        facts = {"value": cf, "column": hard[0], "expected": expected, "way_out": way_out}
        by = command("impute")
        raise DataError(Problem("audit-no-answers", text, file=name, **facts, command=by))
    known = values or tuple(one.label or "" for one in column.values)
    together = {
        name: tuple(known[place - 1] for place in places)
        for name, places in column.imputed_together.items()
        if known
    }
    seen = sorted(texts.drop_nulls().unique().to_list())
    if not values and together:
        values = known
    strange = [text for text in seen if values and text not in values and text not in together]
    if strange:
        text = "{file}: column {column!r}: {value!r} is not a value of {cf!r}: {remedy}"
        facts = {"column": hard[0], "value": strange[0], "cf": cf, "remedy": _SAME_SCHEMA}
        raise DataError(Problem("audit-unknown-value", text, file=name, **facts))
    whole = bool(values) or len(seen) == column.domain_size
    own = tuple(title for title in (*hard, *soft) if title in table.columns)
    return GivenAnswers(cf, texts, values or tuple(seen), whole, own, candidates, together)


_SAME_SCHEMA = "pass the schema that the table was imputed with"


def _by_schema(
    table: pl.DataFrame, column: ColumnReport, schema: Schema, name: str
) -> tuple[Mask, tuple[str, ...]]:
    cf = schema.complementary.get(column.name)
    if cf is None:
        near = did_you_mean(column.name, schema.complementary)
        text = "{file}: {value!r} is a CF of its report but not of the schema{near}: {way_out}"
        facts = {"value": column.name, "near": near, "way_out": _SAME_SCHEMA}
        raise DataError(Problem("audit-cf-not-in-schema", text, file=name, **facts))
    problems = Problems(name, schema)
    encoded = None
    if usable_columns(table, [column.name], problems, lists=[column.name]):
        encoded = encode_cf(Cells.of(table[column.name], schema), cf, schema, 0, problems)
    problems.raise_if_any()
    candidates, block = cast("tuple[Mask, Block]", encoded)  # or there is a problem
    if len(block.values) != column.domain_size:
        text = "{file}: {value!r} has {domain_size} in its report and {values} in the schema: {way_out}"
        size, values = count(column.domain_size, "value"), len(block.values)
        facts = {"file": name, "value": column.name, "way_out": _SAME_SCHEMA}
        raise DataError(
            Problem("audit-other-domain", text, **facts, domain_size=size, values=values)
        )
    return block.mechanism.leaves(candidates), block.values


# Files of rows to check, as a person fills them in: their layout, and how they are read back.
#
#     cfl_row, keys…, a column for each CF, cfl_draw
#
# `cfl_draw` says which draw a line belongs to: `seed 0 rows 100 of 5f1c2ab9` is the first 100 rows
# of the output whose answers have this fingerprint, in the random order of seed 0. So lines may be
# sorted, deleted, or joined with those of other draws, and a line that was not drawn is noticed. The
# order depends on the answers too: rows whose values were learned from are not drawn again.

ROW, DRAW = "cfl_row", "cfl_draw"
NUMBER = re.compile(r"([0-9]{1,18})(\.0*)?")  # spreadsheets write 12 as 12.0, some of them
RECORD = re.compile(r"seed ([0-9]{1,19}) rows ([0-9]{1,18}) of ([0-9a-f]{8})")


@dataclass(frozen=True)
class Draw:
    seed: int
    first: int
    fingerprint: str  # of the output's answers

    @classmethod
    def parse(cls, text: str) -> Self | None:
        found = RECORD.fullmatch(text.strip())
        if found is None or int(found[1]) >= 2**63:
            return None
        return cls(int(found[1]), int(found[2]), found[3])

    def __str__(self) -> str:
        return f"seed {self.seed} rows {self.first} of {self.fingerprint}"

    def rows(self, n: int) -> Mask:
        drawn = np.zeros(n, dtype=bool)
        drawn[draw_order(n, self.seed, self.fingerprint)[: self.first]] = True
        return drawn


def draw_order(n: int, seed: int, fingerprint: str) -> Ints:
    return draws.order(n, draws.stream_of(f"audit of {fingerprint}"), seed)


@dataclass(frozen=True, eq=False)
class CheckedCf:
    answers: GivenAnswers
    drawn: Mask  # n: by any draw in the files that have a column for this CF
    draws: tuple[Draw, ...]  # these draws
    places: Ints  # n: of the true values among `answers.values`, −1 where not found out

    @cached_property
    def known(self) -> Mask:
        return self.places >= 0


def no_more_missing(cf: str) -> tuple[str, ...]:
    return ("",)


def read_checked(
    files: Mapping[str, pl.DataFrame],
    output: Output,
    cfs: Sequence[str] = (),
    missing_in: Callable[[str], Collection[str]] = no_more_missing,
) -> list[CheckedCf]:
    """Return what was found out, or raise one DataError with all that is wrong with the files.

    `cfs` are those to look at, all if none is named; `missing_in` gives the cells of one that count
    as empty.
    """
    wanted, problems = output.of(cfs), ProblemList()
    lines = [_Lines.of(file, name, output, problems) for name, file in files.items()]
    found = []
    for answers in wanted:
        parts = [one for one in lines if one is not None and answers.cf in one.frame.columns]
        if parts:
            found.append(_joined(parts, answers, output.table.height, missing_in, problems))
    problems.raise_if_any()
    if not found:
        titles = ", ".join(quote(answers.cf) for answers in wanted)
        text, names = "{file}: no column of a CF: expected {titles}", ", ".join(files)
        raise DataError(Problem("audit-no-cf-column", text, file=names, titles=titles))
    if not any(one.known.any() for one in found):
        text, names = "{file}: no true value was filled in: {remedy}", ", ".join(files)
        remedy = "write the true values into the columns of the CFs"
        raise DataError(Problem("audit-nothing-checked", text, file=names, remedy=remedy))
    return found


@dataclass(frozen=True, eq=False)
class _Lines:
    name: str
    frame: pl.DataFrame
    rows: Ints  # from 0
    places: tuple[int, ...]  # the lines' own rows in the file, from 1
    draws: tuple[Draw, ...]

    @classmethod
    def of(
        cls, frame: pl.DataFrame, name: str, output: Output, problems: ProblemList
    ) -> Self | None:
        others = [title for title in frame.columns if title not in {ROW, DRAW}]
        absent = [title for title in (ROW, DRAW) if title not in frame.columns]
        for title in absent:
            text = (
                "{file}: no column {column!r}{near}: pass a file that {command} wrote, with this "
                "column as it was"
            )
            facts: dict[str, Any] = {"near": UserText(did_you_mean(title, others))}
            by = command("audit --draw", python="draw")
            problems.note(
                Problem("audit-no-own-column", text, file=name, column=title, **facts, command=by)
            )
        lacking = [answers.cf for answers in output.answers if answers.cf not in frame.columns]
        for title in frame.columns:
            strange = title not in {ROW, DRAW, *output.table.columns}
            if strange and (near := did_you_mean(title, lacking)):
                text = "{file}: column {column!r}: not a CF{near}: {remedy}"
                way = "rename it, or remove it"
                facts = {"near": UserText(near), "remedy": way}
                problems.note(Problem("audit-other-column", text, file=name, column=title, **facts))
        if absent:
            return None
        texts = frame.with_columns(_text(frame[title]) for title in (ROW, DRAW))
        # Spreadsheets leave lines of empty cells behind.
        blank = np.logical_and.reduce([_text(column) == "" for column in texts])
        lines, places = texts.filter(~blank), (np.flatnonzero(~blank) + 1).tolist()
        named = [Draw.parse(text) for text in lines[DRAW]]
        numbers = [NUMBER.fullmatch(text) for text in lines[ROW]]
        before = problems.shown.copy()
        for line, cells, number, draw in zip(
            places, lines.select(ROW, DRAW).iter_rows(), numbers, named, strict=True
        ):
            place: dict[str, Any] = {"file": name, "row": line}
            if fault := _fault(cells, number, draw, output, place):
                problems.note(fault)
            elif draw and draw.fingerprint != output.fingerprint:
                text = (
                    "{file}: the rows were drawn from a different output, not from {name}: {remedy}"
                )
                remedy = "pass the output that it was drawn from, or draw again"
                facts = {"name": output.name, "remedy": remedy}
                problems.note(Problem("audit-other-answers", text, **place, **facts))
                return None
        if problems.shown != before:
            return None
        rows = np.array([int(number[1]) - 1 for number in numbers if number], dtype=np.int64)
        known = tuple(draw for draw in named if draw)
        drawn = {draw: draw.rows(output.table.height) for draw in dict.fromkeys(known)}
        first: dict[int, int] = {}
        for line, row, draw in zip(places, rows.tolist(), known, strict=True):
            place = {"file": name, "row": line, "column": ROW, "value": row + 1}
            if not drawn[draw][row]:
                text = (
                    "{file}: {column} {value} was not drawn: remove the line, or correct its "
                    "{column}; only rows drawn at random can be counted"
                )
                problems.note(Problem("audit-not-drawn", text, **place))
            if first.setdefault(row, line) != line:
                text = (
                    "{file}: {column} {value} occurs twice, in rows {first} and {row} of the "
                    "file: remove one"
                )
                problems.note(Problem("audit-row-twice", text, **place, first=first[row]))
        return cls(name, lines, rows, tuple(places), tuple(drawn))


def _fault(
    cells: tuple[str, str],
    number: re.Match[str] | None,
    draw: Draw | None,
    output: Output,
    place: dict[str, Any],
) -> Problem | None:
    row, drawn = (UserText(cell) for cell in cells)
    if number is None:
        text = (
            "{file}: row {row}, column {column!r}: {value!r} is not a row number: {remedy}"
            if row
            else "{file}: row {row}, column {column!r}: an empty cell is not a row number: {remedy}"
        )
        remedy = "restore it, or remove the line"
        return Problem("audit-row-number", text, **place, column=ROW, value=row, remedy=remedy)
    if not 1 <= int(number[1]) <= output.table.height:
        text = "{file}: row {row}, column {column!r}: {name} has no row {value}: {remedy}"
        facts = {"name": output.name, "remedy": "restore the number, or remove the line"}
        return Problem("audit-no-row", text, **place, column=ROW, value=number[1], **facts)
    if draw is None:
        text = "{file}: row {row}, column {column!r}: has no record of the draw: {remedy}"
        remedy = "copy the cell from another line of the same draw"
        return Problem("audit-draw-lost", text, **place, column=DRAW, value=drawn, remedy=remedy)
    return None


def _text(column: pl.Series) -> pl.Series:
    if not frames.has_text(column.dtype):
        return pl.Series(column.name, [frames.type_name(column.dtype)] * len(column))
    return column.cast(pl.String).fill_null("").str.strip_chars()


def _joined(
    parts: Sequence[_Lines],
    answers: GivenAnswers,
    n: int,
    missing_in: Callable[[str], Collection[str]],
    problems: ProblemList,
) -> CheckedCf:
    drawn, places = np.zeros(n, dtype=bool), np.full(n, -1)
    # As people write the values: case matters only where it must.
    exact, folded = (
        {text: place for place, text in enumerate(texts) if texts.count(text) == 1}
        for texts in (
            [value.strip() for value in answers.values],
            [value.strip().casefold() for value in answers.values],
        )
    )
    missing = {"", *missing_in(answers.cf)}
    for part in parts:
        for draw in part.draws:
            drawn |= draw.rows(n)
        before = places.copy()  # a row that is twice in one file was said to be
        cells = _text(part.frame[answers.cf])
        for row, line, cell in zip(part.rows.tolist(), part.places, cells, strict=True):
            if cell in missing:
                continue
            place = exact.get(cell, folded.get(cell.casefold(), -1))
            where: dict[str, Any] = {"file": part.name, "row": line, "column": answers.cf}
            where |= {"value": UserText(cell), "number": row + 1}
            if place < 0:
                text = (
                    "{file}: cfl_row {number}, column {column!r}: {value!r} is not a value of "
                    "it{near}: correct it, or leave the cell empty"
                    if answers.is_whole
                    else "{file}: cfl_row {number}, column {column!r}: {value!r} is not among the imputed values{near}: correct it, or add {option}"
                )
                near = UserText(meant(cell, answers.values))
                facts = {"near": near, "option": option("schema")}
                problems.note(Problem("audit-true-value", text, **where, **facts))
            elif before[row] >= 0 and before[row] != place:
                text = (
                    "{file}: cfl_row {number}, column {column!r}: another checked file has a "
                    "different value: correct one of them"
                )
                problems.note(Problem("audit-files-differ", text, **where))
            else:
                places[row] = place
    draws_of = dict.fromkeys(draw for part in parts for draw in part.draws)
    return CheckedCf(answers, drawn & answers.given, tuple(draws_of), places)


@dataclass(frozen=True)
class Drawn:
    frame: pl.DataFrame
    of: int  # rows that could have been drawn
    answers: tuple[GivenAnswers, ...]  # to the CFs that are to be filled in


@dataclass(frozen=True)
class LargerDraw:
    rows: int
    seed: int


@dataclass(frozen=True)
class Audited(Shown):
    rows: int  # of the output
    audits: dict[str, Audit]
    files: tuple[str, ...]  # what errors call them
    unchecked: tuple[str, ...]  # CFs of the files of which nothing was found out
    absent: tuple[str, ...]  # CFs for which no file has a column
    larger: LargerDraw | None  # for intervals as narrow as `more_rows` aims at, about
    report: Report
    checked: tuple[CheckedCf, ...]

    def to_json(self) -> str:
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
    ours = {title for answers in output.answers for title in answers.columns}
    taken = {ROW, DRAW, *(answers.cf for answers in wanted)}
    problems = []
    for number, key in enumerate(keys):
        asked = {"column": key, "option": option("key", key, python="keys", quoted=True)}
        if key not in output.table.columns:
            text = "{option}: not a column of {name}{near}"
            near = did_you_mean(key, output.table.columns)
            facts = {"name": output.name, "near": UserText(near)}
            problems.append(Problem("option-no-column", text, **asked, **facts))
        elif key in ours:
            text = "{option}: holds imputed values: use {remedy}"
            remedy = option("show_answers", value=True)
            problems.append(Problem("audit-key-answers", text, **asked, remedy=remedy))
        elif key in taken:
            text = "{option}: the file for the audit already has a column of this name"
            problems.append(Problem("audit-key-taken", text, **asked))
        elif key in keys[:number]:
            problems.append(Problem("option-repeated", "{option}: named twice", **asked))
    text = "{file}: a CF named {column!r} cannot be audited: {remedy}"
    problems += [
        Problem("audit-cf-name", text, file=output.name, column=answers.cf, remedy="rename it")
        for answers in wanted
        if answers.cf in {ROW, DRAW}
    ]
    if problems:
        raise UsageError(*problems)
    some = np.logical_or.reduce([answers.given for answers in wanted])
    population = int(some.sum())
    if not 1 <= rows <= population:
        text = (
            "{option}: expected 1 to {population:,}, the rows of {name} that have an imputed value"
        )
        which = {"option": option("draw", rows, python="rows"), "population": population}
        raise UsageError(Problem("audit-draw-range", text, **which, name=output.name))
    drawn = draw_order(len(some), seed, output.fingerprint)
    places = np.flatnonzero(some[drawn])[:rows]
    chosen, first = np.sort(drawn[places]), int(places[-1]) + 1
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
    found = read_checked(tables, output, cfs, missing_in)
    filled = {one.answers.cf for one in found}
    reports = {column.name: column for column in output.report.columns}
    audits = {
        one.answers.cf: judged for one in found if (judged := _audit(one, reports[one.answers.cf]))
    }
    columns = tuple(
        column
        if (audit := audits.get(column.name)) is None
        else replace(
            column,
            estimated_accuracy=audit.accuracy,
            accuracy_basis=AUDIT,
            accuracy_reason=None,
            break_even_bias=None,
            unnoticed_bias=None,
            accuracy_under_bias=None,
            assumed_bias=None,
            audit=audit,
        )
        for column in output.report.columns
    )
    larger = None
    drawn_before = {draw for one in found for draw in one.draws}
    seeds = {draw.seed for draw in drawn_before}
    if len(seeds) == 1 and any(audit.more_rows for audit in audits.values()):
        [seed] = seeds
        some = np.logical_or.reduce([one.answers.given for one in found])
        order = draw_order(len(some), seed, output.fingerprint)
        rows = int(some[order[: max(draw.first for draw in drawn_before)]].sum())
        # Of the rows to come, as many will have an answer, and be found out, as of those so far.
        more = max(ceil(audit.more_rows * rows / audit.checked) for audit in audits.values())
        enough = min(rows + more, int(some.sum()))
        larger = LargerDraw(enough, seed) if enough > rows else None
    return Audited(
        output.table.height,
        audits,
        tuple(tables),
        tuple(one.answers.cf for one in found if one.answers.cf not in audits),
        tuple(answers.cf for answers in output.of(cfs) if answers.cf not in filled),
        larger,
        replace(output.report, columns=columns),
        tuple(found),
    )


def _audit(found: CheckedCf, column: ColumnReport) -> Audit | None:
    answers = found.answers
    rows = np.flatnonzero(found.known & answers.given)
    if not len(rows):
        return None
    true = pl.Series(answers.values, dtype=pl.String).gather(found.places[rows])
    said = answers.texts.gather(rows)
    right = [
        value == text or value in answers.together.get(text, ())
        for value, text in zip(true, said, strict=True)
    ]
    candidates = answers.candidates
    known = np.flatnonzero(found.known)
    before = column.audit
    estimate = before.former_accuracy if before else column.estimated_accuracy
    if not answers.given.all():  # min_confidence leaves the others empty
        estimate = column.confident.accuracy if column.confident else None
    return judge_audit(
        answers=int(answers.given.sum()),
        drawn=int(found.drawn.sum()),
        checked=len(rows),
        right=sum(right),
        estimate=estimate,
        former=(before.former_accuracy, before.former_basis)
        if before
        else (column.estimated_accuracy, column.accuracy_basis),
        contradicted=None
        if candidates is None
        else int((~candidates[known, found.places[known]]).sum()),
    )


# Values that a person found out, written as exact cells into the table that was imputed.
#
# Everything else stays as it is. The next run learns from these cells; they are a random part of all
# cells as long as no others are exact.

CLOSE = 1e-9  # relative: numbers that were written as text and read again


def write_back(
    frame: Any, output: Output, checked: Sequence[CheckedCf], schema: Schema, *, name: str = "table"
) -> tuple[Any, dict[str, int]]:
    """Write checked values into `frame`, the table that `output` was made from.

    `name` is what errors call it. Second is how many cells of each CF are written.
    """
    found = [one for one in checked if one.known.any()]
    cfs: dict[str, Complementary] = schema.complementary
    unmarked = [one.answers.cf for one in found if cfs[one.answers.cf].exact is None]
    if unmarked:
        text = (
            "column {column!r} has no mark for exact cells: add `exact` in the schema, such as "
            'exact: "=", or name the other CFs with {option}'
        )
        named = option("cf", python="cfs")
        raise SchemaError(
            *(Problem("audit-no-exact", text, column=cf, option=named) for cf in unmarked)
        )
    table = frames.as_polars(frame, name=name)
    _refuse_other(table, output, name)
    columns = []
    for one in found:
        cf, rows = one.answers.cf, np.flatnonzero(one.known)
        values = pl.Series(one.answers.values, dtype=pl.String).gather(one.places[rows])
        texts = str(cfs[cf].exact) + values
        if not frames.holds_lists(table[cf].dtype):
            columns.append(table[cf].cast(pl.String).scatter(rows, texts))
            continue
        lists = table[cf].cast(pl.List(pl.String)).to_list()
        for row, text in zip(rows.tolist(), texts, strict=True):
            lists[row] = [text]
        columns.append(pl.Series(cf, lists, dtype=pl.List(pl.String)))
    cells = {one.answers.cf: int(one.known.sum()) for one in found}
    return frames.replace(frame, columns), cells


def _refuse_other(table: pl.DataFrame, output: Output, name: str) -> None:
    answers = [title for one in output.answers for title in one.columns if title in table.columns]
    if answers:
        text = (
            "{file}: has imputed values in column {column!r}: pass the table that {name} was "
            "made from, "
            "before {command}"
        )
        facts = {"column": answers[0], "name": output.name, "command": command("impute")}
        raise DataError(Problem("audit-has-answers", text, file=name, **facts))
    theirs = {"file": name, "name": output.name}
    if table.height != output.table.height:
        text = (
            "{file}: {name} was not made from this table: it has {height:,} rows, but {name} has "
            "{height2:,}"
        )
        heights = {"height": table.height, "height2": output.table.height}
        raise DataError(Problem("audit-other-table", text, **theirs, **heights))
    absent = [column for column in table.columns if column not in output.table.columns]
    cfs = [answers.cf for answers in output.answers if answers.cf not in table.columns]
    text = "{file}: {name} was not made from this table: its column {column!r} is not in {name}"
    problems = [Problem("audit-other-columns", text, **theirs, column=one) for one in absent]
    text = "{file}: {name} was not made from this table: it has no column {column!r}"
    problems += [Problem("audit-other-columns", text, **theirs, column=cf) for cf in cfs]
    for column in table.columns:
        if column in absent or not frames.has_text(table[column].dtype):
            continue
        pair = table[column], output.table[column]
        if not frames.has_text(pair[1].dtype):
            continue
        texts = [one.cast(pl.String).fill_null("") for one in pair]
        differs = (texts[0] != texts[1]).to_numpy()
        if differs.any() and pair[0].dtype != pair[1].dtype:
            numbers = [text.cast(pl.Float64, strict=False).to_numpy() for text in texts]
            differs = differs & ~np.isclose(numbers[0], numbers[1], rtol=CLOSE, atol=0)
        if differs.any():
            text = (
                "{file}: {name} was not made from this table: row {row}, column {column!r} "
                "differs: rows are matched by their order"
            )
            where = {"row": int(differs.argmax()) + 1, "column": column}
            problems.append(Problem("audit-other-cells", text, **theirs, **where))
    if problems:
        raise DataError(problems[0], more=len(problems) - 1)
