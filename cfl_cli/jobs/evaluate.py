"""An output of `impute` scored against the truth: how good answers and confidences are, per CF.

Rows are matched by their order, or by key columns; those whose truth is missing count for the
entropy alone. Where the output gives no value (a CF that was kept, a confidence that was too low) a
row is *unanswered*: accuracy, macro-F1 and calibration error are those of the answers that were
given. Soft columns are filled in every row, so the cross entropy covers every row whose truth is
known.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core import blocks
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import best
from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.shown import Shown
from cfl_cli.core.wording import command, option
from cfl_cli.errors import DataError
from cfl_cli.jobs import truth
from cfl_cli.jobs.arguments import AnySchema
from cfl_cli.jobs.keys import match
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells, taken_for_whole, usable_columns
from cfl_cli.steps.decode import new_names
from cfl_cli.steps.encode import encode_cf
from cfl_cli.steps.findings import Cause, Problems
from cfl_cli.tables import frames
from cfl_cli.trust import scores

ROUNDED = 0.01  # how far the sum of rounded confidences may be from 1
HAIR = 1e-9  # how far one of them may exceed 1
NO_CONFIDENCE = Cause("confidence", "are not confidences", correct="expected a number from 0 to 1")
ONE_BLOCK = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class Scores:
    """How good answers are. None: not known."""

    accuracy: float | None
    macro_f1: float | None
    cross_entropy: float | None
    entropy: float | None
    expected_calibration_error: float | None


@dataclass(frozen=True)
class ColumnScores:
    """How good the answers of one CF are, and how many rows they rest on. None: not known."""

    name: str
    domain_size: int
    known: int  # rows whose truth is known
    unanswered: int  # of these, rows without an answer
    contradicted: int  # of these, rows whose cell rules out what is true
    zero_confidence: int | None  # of these, rows with next to no confidence in what is true
    accuracy: float | None
    macro_f1: float | None
    cross_entropy: float | None  # natural log; not known without soft columns
    entropy: float | None  # mean Shannon entropy of the confidences, natural log; the same
    expected_calibration_error: float | None


@dataclass(frozen=True)
class Evaluation(Shown):
    """The scores of every CF."""

    rows: int
    columns: tuple[ColumnScores, ...]
    warnings: tuple[str, ...] = ()
    key: tuple[str, ...] = ()  # columns by which rows were matched; none: by their order

    @property
    def mean(self) -> Scores:
        """Return the mean of each score over the CFs for which it is known."""
        means = {}
        for score in fields(Scores):
            values = (getattr(column, score.name) for column in self.columns)
            known = [value for value in values if value is not None]
            means[score.name] = float(np.mean(known)) if known else None
        return Scores(**means)

    def to_json(self) -> str:
        """Return everything as JSON text, one object."""
        facts = {
            "version": 1,
            "cfl_version": __version__,
            **asdict(self),
            "mean": asdict(self.mean),
        }
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


@dataclass(frozen=True, eq=False)
class Answers:
    """What an output says of one CF."""

    values: tuple[str, ...]  # the domain
    candidates: Mask  # n × K: what the cells allow
    places: Ints  # n: the answer's place in the domain, −1 where there is none
    confidence: Floats  # n: in the answer
    confidences: Floats | None  # n × K; None without soft columns


def evaluate(
    frame: Any,
    true: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    true_name: str = "truth",
    key: str | Sequence[str] = (),
) -> Evaluation:
    """Score `frame`, an output of `impute`, against `true`, a table with the CFs' true values.

    Both are polars, pandas or pyarrow tables. Their rows are in the same order or, if `key` names
    a column or several, matched by the cells of these. `name` and `true_name` are what errors call
    them.
    """
    schema = Schema.of(schema)
    keys = (key,) if isinstance(key, str) else tuple(key)
    table = frames.as_polars(frame, name=name)
    other = frames.as_polars(
        true, [*{**schema.complementary, **dict.fromkeys(keys)}], name=true_name
    )
    problems, others = Problems(name, schema), Problems(true_name, schema)
    _refuse_input(table, schema, problems)
    matched = None
    if keys:
        matched = match(table, other, keys, schema, name=name, other_name=true_name)
    else:
        _refuse_unlike(table, other, problems, true_name)
    cfs = schema.complementary
    readable = usable_columns(table, cfs, problems, lists=cfs)
    given = {
        cf: _answers(table, cf, schema, problems) for cf in schema.complementary if cf in readable
    }
    usable = usable_columns(other, schema.complementary, others)
    columns, warnings = [], [*(matched.warnings if matched else ())]
    for cf, column in schema.complementary.items():
        answers = given.get(cf)
        values = answers.values if answers else column.values
        if cf not in usable or values is None:
            continue
        places = truth.places(Cells.of(other[cf], schema), values, others)
        places = matched.carried_over(places) if matched else places
        if column.values is None:
            warnings.append(taken_for_whole(cf, values).for_report)
        if (places < 0).all():
            warnings.append(f"column {quote(cf)}: {true_name} has no value for it")
        if answers and not (problems or others):
            columns.append(_scored(cf, answers, places))
    if problems or others:
        raise DataError(*problems.lines, *others.lines)
    return Evaluation(table.height, tuple(columns), tuple(warnings), keys)


def _refuse_input(table: pl.DataFrame, schema: Schema, problems: Problems) -> None:
    """Raise if a table holds answers for no CF at all: what else is wrong with it says nothing."""
    cfs = [*schema.complementary]
    if not any(
        title in new_names(cf, (), "hard") or title.startswith(f"{cf}__")
        for title in table.columns
        for cf in cfs
    ):
        _are_there(table, [], cfs[0], problems)
        problems.raise_if_any()


def _refuse_unlike(
    table: pl.DataFrame, other: pl.DataFrame, problems: Problems, other_name: str
) -> None:
    """Note if the rows of two tables cannot be matched."""
    if table.height != other.height:
        problems.add(
            "row-count",
            f"{table.height:,} rows, but {other_name} has {other.height:,}",
            "rows are matched by their order, so both tables need the same ones; or name a key "
            f"column ({option('key')})",
        )
    elif not table.height:
        problems.add("few-rows", "the table has no rows to score")


def _answers(table: pl.DataFrame, cf: str, schema: Schema, problems: Problems) -> Answers | None:
    """Return what the output says of a CF, or None and note why it says nothing."""
    encoded = encode_cf(Cells.of(table[cf], schema), schema.complementary[cf], schema, 0, problems)
    if encoded is None:
        return None
    candidates, block = encoded
    hard, soft = (
        names if any(name in table.columns for name in names) else []
        for names in (new_names(cf, block.values, mode) for mode in ("hard", "soft"))
    )
    if not _are_there(table, [*hard, *soft], cf, problems):
        return None
    confidences = _confidences(table, soft, cf, schema, problems) if soft else None
    if hard:
        places = truth.places(Cells.of(table[hard[0]], schema), block.values, problems, cf=cf)
        confidence = _numbers(Cells.of(table[hard[1]], schema), problems, needed=places >= 0)
    elif confidences is not None:
        places = best(confidences, candidates)
        confidence = confidences[np.arange(len(places)), places]
    return Answers(block.values, candidates, places, confidence, confidences)


def _are_there(table: pl.DataFrame, names: Sequence[str], cf: str, problems: Problems) -> bool:
    """Return whether the columns of a CF's answers can be read; note those that cannot."""
    if not names:
        hard, _ = new_names(cf, (), "hard")
        (soft,) = new_names(cf, ["VALUE"], "soft")
        problems.add(
            "no-answers",
            f"no answers for {quote(cf)}: expected column {quote(hard)} or {quote(soft)}",
            f"pass what {command('impute')} wrote with this schema",
        )
        return False
    absent = [name for name in names if name not in table.columns]
    for name in absent:
        problems.add(
            "no-answers",
            f"no column {quote(name)}, which the answers for {quote(cf)} need"
            f"{did_you_mean(name, table.columns)}",
            f"pass what {command('impute')} wrote with this schema",
        )
    odd = [name for name in names if name not in absent and not frames.has_text(table[name].dtype)]
    for name in odd:
        problems.add(
            "column-type",
            f"holds {frames.type_name(table[name].dtype)}, not answers",
            column=name,
        )
    return not absent and not odd


def _confidences(
    table: pl.DataFrame, names: Sequence[str], cf: str, schema: Schema, problems: Problems
) -> Floats:
    """Return a CF's soft columns, n × K."""
    columns = [_numbers(Cells.of(table[name], schema), problems) for name in names]
    confidences = np.column_stack(columns)
    off = np.flatnonzero(np.abs(confidences.sum(axis=1) - 1) > ROUNDED)
    if len(off):
        more = f" and in {len(off) - 1:,} more" if len(off) > 1 else ""
        problems.add(
            "confidence",
            f"row {off[0] + 1}, CF {quote(cf)}: the confidences do not sum to 1 in this row{more}",
        )
    return confidences


def _numbers(cells: Cells, problems: Problems, *, needed: Mask | None = None) -> Floats:
    """Return a column of confidences, whatever the schema says of 0.

    None may be missing, except in rows where it is not `needed`.
    """
    raw = cells.raw
    source = raw if raw.dtype.is_numeric() else raw.cast(pl.String).str.strip_chars()
    numbers = source.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = ~((numbers >= 0) & (numbers <= 1 + HAIR))
    if needed is not None:
        wrong &= needed | ~cells.missing
    problems.add_cells(raw, wrong, NO_CONFIDENCE)
    return np.where(wrong, np.nan, numbers)


def _scored(cf: str, given: Answers, places: Ints) -> ColumnScores:
    """Return the scores of a CF whose true values have these places in the domain."""
    known = places >= 0
    answered = known & (given.places >= 0)
    true, answers = places[answered], given.places[answered]
    some, soft = bool(answered.any()), given.confidences
    in_truth = None if soft is None else scores.in_truth(places[known], soft[known])
    return ColumnScores(
        cf,
        len(given.values),
        known=int(known.sum()),
        unanswered=int((known & ~answered).sum()),
        contradicted=int((~given.candidates[known, places[known]]).sum()),
        zero_confidence=None if in_truth is None else int((in_truth < scores.CLIP).sum()),
        accuracy=scores.accuracy(true, answers) if some else None,
        macro_f1=scores.macro_f1(true, answers) if some else None,
        cross_entropy=scores.cross_entropy(in_truth)
        if in_truth is not None and known.any()
        else None,
        entropy=None if soft is None else float(blocks.entropies(soft, ONE_BLOCK).mean()),
        expected_calibration_error=(
            scores.calibration_error(true == answers, given.confidence[answered]) if some else None
        ),
    )
