"""What an output of `impute` answers, CF by CF, by its report and its columns, without a schema.

The report names the CFs. Hard columns hold answers; soft ones, whose names hold the domain, hold
confidences, of which the first among the largest is the answer. A CF that was kept has none.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import cast

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Mask
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.wording import command, option
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells, usable_columns
from cfl_cli.steps.decode import new_names
from cfl_cli.steps.encode import Block, encode_cf
from cfl_cli.steps.findings import Problems
from cfl_cli.tables import frames
from cfl_cli.trust.report import ColumnReport, Report


@dataclass(frozen=True, eq=False)
class GivenAnswers:
    """What an output answers to one CF."""

    cf: str
    texts: pl.Series  # n: the answers, null where there is none
    values: tuple[str, ...]  # of the domain, as far as they are known
    is_whole: bool  # they are the whole domain
    columns: tuple[str, ...]  # that the output has for this CF
    candidates: Mask | None  # n × K, in the order of `values`; None: no schema

    @property
    def given(self) -> Mask:
        """Return which rows have an answer."""
        return self.texts.is_not_null().to_numpy()


@dataclass(frozen=True, eq=False)
class Output:
    """A table that `impute` wrote: all that an audit needs of it."""

    table: pl.DataFrame
    name: str  # what messages call it
    report: Report
    answers: tuple[GivenAnswers, ...]  # of CFs that were not kept
    fingerprint: str  # of all answers

    def of(self, cfs: Sequence[str]) -> list[GivenAnswers]:
        """Return the answers to some CFs, or to all if none is named."""
        known = {answers.cf: answers for answers in self.answers}
        problems = []
        for cf in cfs:
            if cf in self.report.kept:
                problems.append(f"{_named(cf)}: kept as observed, so it has no answers to check")
            elif cf not in known:
                near = did_you_mean(cf, known)
                problems.append(f"{_named(cf)}: not a CF in the report of {self.name}{near}")
        if problems:
            raise UsageError(*problems)
        return [answers for cf, answers in known.items() if not cfs or cf in cfs]


def _named(cf: str) -> str:
    """Return how the caller names a CF whose answers are wanted."""
    return option("cf", cf, python="cfs", quoted=True)


def read(table: pl.DataFrame, report: Report, schema: Schema | None = None, *, name: str) -> Output:
    """Return what a table answers, or raise one DataError with all that does not fit its report."""
    if table.height != report.rows:
        raise DataError(
            f"{name}: {table.height:,} rows, but its report has {report.rows:,}: pass a table and "
            "the report of the same run"
        )
    answers: list[GivenAnswers] = []
    problems: list[str] = []
    for column in report.columns:
        if column.action == "kept":
            continue
        try:
            answers.append(_answers(table, column, schema, name))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(*problems)
    if not answers:
        raise DataError(f"{name}: every CF was kept as observed, so there are no answers to check")
    return Output(table, name, report, tuple(answers), _fingerprint(answers))


def _answers(
    table: pl.DataFrame, column: ColumnReport, schema: Schema | None, name: str
) -> GivenAnswers:
    cf = column.name
    candidates, listed = _by_schema(table, column, schema, name) if schema else (None, ())
    hard = new_names(cf, (), "hard")
    soft = _soft(table, column, listed)
    values = listed or tuple(title.removeprefix(f"{cf}__") for title in soft)
    if hard[0] in table.columns:
        texts = _texts(table[hard[0]], name)
    elif soft:
        texts = _most_confident(table.select(soft), values, name)
    else:
        (expected,) = new_names(cf, ["VALUE"], "soft")
        way_out = "" if schema else f", or its {option('schema')}, if other columns have such names"
        raise DataError(
            f"{name}: no answers for {quote(cf)}: expected column {quote(hard[0])} or, for each "
            f"value, {quote(expected)}: pass what {command('impute')} wrote{way_out}"
        )
    seen = sorted(texts.drop_nulls().unique().to_list())
    strange = [text for text in seen if values and text not in values]
    if strange:
        raise DataError(
            f"{name}: column {quote(hard[0])}: {quote(strange[0])} is not a value of {quote(cf)}: "
            "pass the schema that the table was imputed with"
        )
    whole = bool(values) or len(seen) == column.domain_size
    own = tuple(title for title in (*hard, *soft) if title in table.columns)
    return GivenAnswers(cf, texts, values or tuple(seen), whole, own, candidates)


def _by_schema(
    table: pl.DataFrame, column: ColumnReport, schema: Schema, name: str
) -> tuple[Mask, tuple[str, ...]]:
    """Return the candidates that a CF's cells leave, n × K, and its domain."""
    way_out = "pass the schema that the table was imputed with"
    cf = schema.complementary.get(column.name)
    if cf is None:
        near = did_you_mean(column.name, schema.complementary)
        raise DataError(
            f"{name}: {quote(column.name)} is a CF of its report but not of the schema{near}: "
            f"{way_out}"
        )
    problems = Problems(name, schema)
    encoded = None
    if usable_columns(table, [column.name], problems, lists=[column.name]):
        cells = Cells.of(table[column.name], schema)
        encoded = encode_cf(cells, cf, schema, 0, problems)
    problems.raise_if_any()
    candidates, block = cast("tuple[Mask, Block]", encoded)  # or there is a problem
    if len(block.values) != column.domain_size:
        raise DataError(
            f"{name}: {quote(column.name)} has {count(column.domain_size, 'value')} by its report "
            f"and {len(block.values)} by the schema: {way_out}"
        )
    return candidates, block.values


def _soft(table: pl.DataFrame, column: ColumnReport, listed: Sequence[str]) -> list[str]:
    """Return the soft columns of a CF, as many as its domain is large; empty if it has none."""
    if listed:
        names = new_names(column.name, listed, "soft")
        return names if all(title in table.columns for title in names) else []
    names = [title for title in table.columns if title.startswith(f"{column.name}__")]
    return names if len(names) == column.domain_size else []


def _texts(column: pl.Series, name: str) -> pl.Series:
    """Return answers as text, null where there is none."""
    if not frames.has_text(column.dtype):
        kind = frames.type_name(column.dtype)
        raise DataError(f"{name}: column {quote(column.name)} holds {kind}, not answers")
    texts = column.cast(pl.String)
    return texts.set(texts == "", None)


def _most_confident(soft: pl.DataFrame, values: Sequence[str], name: str) -> pl.Series:
    """Return the values with the largest confidences, the first of equal ones."""
    for column in soft:
        numbers = column.cast(pl.Float64, strict=False) if frames.has_text(column.dtype) else None
        if numbers is None or numbers.is_null().any() or numbers.is_nan().any():
            raise DataError(
                f"{name}: column {quote(column.name)} does not hold a confidence in every row"
            )
    places = soft.cast(pl.Float64).to_numpy().argmax(axis=1) if soft.height else np.zeros(0, int)
    return pl.Series(values, dtype=pl.String).gather(places)


def _fingerprint(answers: Sequence[GivenAnswers]) -> str:
    """Return eight digits that differ, nearly always, where any answer does."""
    digest = blake2b(digest_size=4)
    for one in answers:
        digest.update("\x1f".join([one.cf, *one.texts.fill_null("\0")]).encode())
        digest.update(b"\x1e")
    return digest.hexdigest()
