"""An output of `impute` scored against the truth: how good answers and confidences are, per CF.

Rows are matched by their order, or by key columns; those whose truth is missing count for the
entropy alone. Where the output gives no value (a CF that was kept, a confidence that was too low) a
row is *unanswered*: accuracy, macro-F1 and calibration error are those of the answers that were
given. Soft columns are filled in every row, so the cross entropy covers every row whose truth is
known.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.cli.inputs import (
    load,
    read_output,
    read_table,
    sets_aside,
    style_of,
    warn_of_rejects,
)
from cfl_cli.cli.log import note, warn
from cfl_cli.cli.options import FORMAT, Values
from cfl_cli.cli.outputs import Outputs, deliver, drawn, note_rejects, text_target
from cfl_cli.cli.pages import Field as AnyField
from cfl_cli.cli.pages import Page
from cfl_cli.cli.start import listen
from cfl_cli.commands.evaluate import RANDOM, SEED
from cfl_cli.core import Shown, arrays, draws
from cfl_cli.core.arrays import Floats, Ints, Mask, best
from cfl_cli.core.exclusions import Mechanism, distinct
from cfl_cli.core.messages import command, count, did_you_mean, option, printable, quote, row_name
from cfl_cli.core.settings import COUNT, SHARE, read_by
from cfl_cli.encode.cells import Cells, Ruling, domain_values, taken_for_whole, usable_columns
from cfl_cli.encode.diagnose import in_values
from cfl_cli.encode.encode import JOINED, encode_cf, new_names
from cfl_cli.encode.findings import Cause, Problems
from cfl_cli.errors import DataError, Problem, UsageError, UserText
from cfl_cli.run import AnySchema, called, label_of
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables import frames
from cfl_cli.tables import table as tables

# How good answers and confidences are, judged by the truth.
#
# Values are places in the domain, rows with a truth and an answer. Over n rows with the truth y, the
# answers a and the confidences Q, n × K:
#
#     accuracy             the share of rows with a = y
#     macro-F1             the mean of 2·hits / (times true + times answered) over the values that
#                          are true or answered in any row
#     cross entropy        the mean of −log max(Q[i, y_i], CLIP)
#     calibration error    Σ_b n_b/n · |share of right answers in b − mean confidence in b|, over BINS
#                          bins of the answers' confidences, ((b−1)/BINS, b/BINS], 0 in the first
#
# The bins hold their upper ends, as the ECE is defined (Guo et al. 2017); those of the report hold
# their lower ends, as what --min-confidence keeps does.

_BINS = 10
CLIP = 1e-10  # as in the authors' code; or a single row without confidence would decide all


def accuracy(truth: Ints, answers: Ints) -> float:
    return float((truth == answers).mean())


def macro_f1(truth: Ints, answers: Ints) -> float:
    size = int(max(truth.max(), answers.max())) + 1
    hits = np.bincount(truth[truth == answers], minlength=size)
    uses = np.bincount(truth, minlength=size) + np.bincount(answers, minlength=size)
    return float((2 * hits[uses > 0] / uses[uses > 0]).mean())


def share_in_truth(truth: Ints, confidences: Floats) -> Floats:
    return confidences[np.arange(len(truth)), truth]


def cross_entropy(confidence: Floats) -> float:
    # The absolute value and not −mean: where all confidences are 1 this is 0, and not −0.
    return float(np.abs(np.log(np.maximum(confidence, CLIP)).mean()))


def calibration_error(right: Mask, confidence: Floats) -> float:
    bins = np.searchsorted(np.arange(1, _BINS) / _BINS, confidence)
    return float(np.abs(np.bincount(bins, right - confidence)).sum() / len(right))


# Rows of two tables matched by the cells of key columns, which name a row in both.

Label: TypeAlias = Callable[[int], Any]  # what messages call a row, by its number from 1
_SHOWN = 3  # rows, or keys, of one message
_WHOLE = r"^([+-]?[0-9]+)\.0+$"  # a whole number that a float column made


def _key_texts(table: pl.DataFrame, column: str, schema: Schema, name: str) -> pl.Series:
    place = {"file": name, "column": column}
    if column not in table.columns:
        text, near = (
            "{file}: no column {column!r}{near}: {remedy}",
            did_you_mean(column, table.columns),
        )
        remedy = "a key is in both tables"
        raise DataError(Problem("column-missing", text, **place, near=near, remedy=remedy))
    if not frames.has_text(table[column].dtype):
        text = "{file}: column {column!r} holds {kind}, which cannot be a key"
        kind = frames.type_name(table[column].dtype)
        raise DataError(Problem("evaluate-not-a-key", text, **place, kind=kind))
    return Cells.of(table[column], schema).text


def match(
    table: pl.DataFrame,
    other: pl.DataFrame,
    key: Sequence[str],
    schema: Schema,
    *,
    name: str,
    other_name: str,
    labels: tuple[Label, Label] = (int, int),
) -> tuple[Ints, list[str]]:
    """Return which row of `other` has the key of each row of `table`, −1: none; and warnings.

    Keys are compared as text; outer blanks and `.0` behind a whole number do not count, unless they
    alone tell keys apart. Messages call rows by `labels`. A key of several rows of a table is an error. Rows without a partner
    are counted in the warnings.
    """
    if not table.height:
        text = "{file}: the table has no rows to score"
        raise DataError(Problem("table-no-rows", text, file=name))
    sides = (table, name), (other, other_name)
    pairs = [
        _alike(*(_key_texts(side, column, schema, called) for side, called in sides))
        for column in key
    ]
    left, right = (
        pl.DataFrame([column.alias(str(place)) for place, column in enumerate(columns)])
        for columns in zip(*pairs, strict=True)
    )
    hidden = not schema.identifiers.isdisjoint(key)
    problems = [
        *_repeated(left, key, name, labels[0], hidden=hidden),
        *_repeated(right, key, other_name, labels[1], hidden=hidden),
    ]
    if problems:
        raise DataError(*problems)
    numbered = right.with_row_index("other").drop_nulls()
    found = left.join(numbered, on=left.columns, how="left", maintain_order="left")["other"]
    rows = found.cast(pl.Int64).fill_null(-1).to_numpy()
    if not (rows >= 0).any():
        text = "{file}: none of its keys is in {other_name}: compare {columns} in both tables"
        facts = {"other_name": other_name, "columns": _columns(key)}
        raise DataError(Problem("evaluate-no-common-key", text, file=name, **facts))
    partners = np.zeros(right.height, dtype=bool)
    partners[rows[rows >= 0]] = True
    warnings = []
    for keys, here, own, another, so, label in (
        (left, rows >= 0, name, other_name, "counted without a true value", labels[0]),
        (right, partners, other_name, name, "not used", labels[1]),
    ):
        blank = keys.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
        for which, what in ((blank, "without a key"), (~here & ~blank, f"not in {another}")):
            places = np.flatnonzero(which) + 1
            if len(places):
                noun = "row" if len(places) == 1 else "rows"
                which_rows = _key_numbers(places.tolist(), label)
                listed = f"{len(places):,} {noun} {what} ({noun} {which_rows})"
                warnings.append(f"{own}: {listed}: {so}")
    return rows, warnings


def _alike(one: pl.Series, other: pl.Series) -> tuple[pl.Series, pl.Series]:
    plain = [text.str.strip_chars().str.replace(_WHOLE, "$1") for text in (one, other)]
    merged = (new.n_unique() < old.n_unique() for new, old in zip(plain, (one, other), strict=True))
    return (one, other) if any(merged) else (plain[0], plain[1])


def _repeated(
    keys: pl.DataFrame, key: Sequence[str], name: str, label: Label, *, hidden: bool
) -> list[Problem]:
    places = keys.with_row_index("row", offset=1).drop_nulls()
    groups = places.group_by(keys.columns, maintain_order=True).agg("row")
    several = groups.filter(pl.col("row").list.len() > 1)
    if not several.height:
        return []
    shown = "; ".join(
        f"{'one key' if hidden else ', '.join(map(quote, cells))} in rows {_key_numbers(rows, label)}"
        for *cells, rows in several.head(_SHOWN).iter_rows()
    )
    more = " …" if several.height > _SHOWN else ""
    stand = f"{several.height:,} keys occur" if several.height > 1 else "a key occurs"
    text = "{file}: {stand} in several rows, in {columns}: {shown}: {remedy}"
    remedy = "remove the copies, or add a key column that tells them apart"
    facts = {"stand": stand, "columns": _columns(key), "shown": UserText(shown + more)}
    column, row = (key[0] if len(key) == 1 else None), label(several["row"][0][1])
    place = {"file": name, "column": column, "row": row}
    return [Problem("evaluate-key-repeated", text, **place, **facts, remedy=remedy)]


def _key_numbers(rows: Sequence[int], label: Label) -> str:
    return ", ".join(row_name(label(row)) for row in rows[:_SHOWN]) + (
        " …" if len(rows) > _SHOWN else ""
    )


def _columns(key: Sequence[str]) -> str:
    return f"column{'s' if len(key) > 1 else ''} {', '.join(map(quote, key))}"


# Columns that say what the values of CFs are: every cell's place in the domain.


@dataclass(frozen=True, eq=False)
class Truth:
    cells: Cells
    values: tuple[str, ...]  # the domain
    places: Ints  # n: of every row's value in the domain, −1 where it is missing


def read_truths(
    frame: pl.DataFrame, schema: Schema, *, name: str = "table"
) -> tuple[list[Truth], list[str]]:
    """Return the truth of every CF, and warnings, or raise one DataError with all problems."""
    problems = Problems(name, schema)
    usable = usable_columns(frame, schema.complementary, problems)
    truths, warnings = list[Truth](), list[str]()
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        cells = Cells.of(frame[column], schema)
        values = domain_values(cells, cf, cells.named, problems)
        if values is None:
            continue
        if cf.values is None:
            warnings.append(taken_for_whole(column, values).for_report)
            # A value that holds a mark would be read as something else. The schema itself checks
            # this for a domain that it lists.
            fit = [one for one in cells.seen if Ruling.read(one, cf) == Ruling((one,), exact=False)]
            signs = [quote(mark) for mark in (cf.separator, cf.exact) if mark is not None]
            marks = f"{' and '.join(signs)} {'are marks' if len(signs) > 1 else 'is a mark'}"
            said = (
                "[hold|holds] a mark, so no cell can rule [them|it] out, because {marks} in cells"
            )
            correct, facts = "change the mark in the schema", {"marks": marks}
            problems.add_cells(
                cells.shown,
                (cells.codes(fit) < 0) & ~cells.missing,
                Cause("mark-in-value", said, correct, facts=facts),
            )
        truths.append(Truth(cells, values, value_indices(cells, values, problems)))
    problems.raise_if_any()
    return truths, warnings


def value_indices(cells: Cells, values: Sequence[str], problems: Problems, *, cf: str = "") -> Ints:
    """Return the place of every cell's value in the domain, −1 where it is missing."""
    schema, column = problems.schema, cf or cells.name
    if (of := schema.complementary[column]).bins is not None:  # numbers, too, are values
        meant = {text: of.notation(values).meaning(text) for text in cells.seen}
        known = {text: one[0] for text, one in meant.items() if len(one) == 1}
        cells = replace(cells, text=cells.text.replace(known))
    codes = cells.codes(values)

    def causes(wrong: Sequence[str]) -> Iterator[Cause]:
        several = {
            text
            for text in wrong
            if len(parts := Ruling.read(text, schema.complementary[column]).values) > 1
            and {part.strip() for part in parts} <= {*values}
        }
        if several:
            said = "[hold|holds] several values, as exclusions do"
            correct = "pass a table of true values, one in each cell"
            yield Cause("several-values", said, correct=correct, texts=several)
        others = [text for text in wrong if text not in several]
        yield from in_values(others, column, values, schema)

    problems.add_cells(cells.shown, (codes < 0) & ~cells.missing, causes)
    return codes


ROUNDED = 0.01  # how far the sum of rounded confidences may be from 1 …
MOST_ROUNDED = 3  # … or farther, if none of them has more digits than these
HAIR = 1e-9  # how far one of them may exceed 1
NO_CONFIDENCE = Cause(
    "confidence",
    "[are not confidences|is not a confidence]",
    correct="expected a number from 0 to 1",
)


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
    several: int = 0  # rows without an answer, as it names several values


@dataclass(frozen=True)
class Evaluation(Shown):
    """The scores of every CF."""

    rows: int
    columns: tuple[ColumnScores, ...]
    warnings: tuple[str, ...] = ()
    key: tuple[str, ...] = ()  # columns by which rows were matched; none: by their order

    @property
    def mean(self) -> Scores:
        means = {}
        for score in fields(Scores):
            values = (getattr(column, score.name) for column in self.columns)
            known = [value for value in values if value is not None]
            means[score.name] = float(np.mean(known)) if known else None
        return Scores(**means)

    def to_json(self) -> str:
        facts = {"version": 1, "cfl_version": __version__, **asdict(self)}
        facts["mean"] = asdict(self.mean)
        return json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)


@dataclass(frozen=True, eq=False)
class Answers:
    values: tuple[str, ...]  # the domain
    candidates: Mask  # n × K: what the cells allow
    places: Ints  # n: the answer's place in the domain, −1 where there is none
    confidence: Floats  # n: in the answer
    confidences: Floats | None  # n × K; None without soft columns
    several: Mask | None = None  # n: is the answer several values that no cell tells apart?


def evaluate(
    frame: Any,
    true: Any,
    schema: AnySchema,
    *,
    name: str = "table",
    true_name: str = "truth",
    key: str | Sequence[str] = (),
) -> Evaluation:
    """Score the imputed values of `impute` against true values.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        An output of `impute`.
    true : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A table with the CFs' true values.
    schema : Schema, dict, str or path
        As in `impute`.
    name, true_name : str
        Names of the tables in errors.
    key : str or list of str, optional
        Columns by which rows are matched. Default: rows in the same order.

    Returns
    -------
    Evaluation
        The scores of every CF in `columns`, and their `mean`.

    Raises
    ------
    DataError
        The tables do not belong together.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> result = cfl_cli.impute(table, schema, k=5)
    >>> truth = table.with_columns(job=pl.Series(["student"] * 20 + ["retired"] * 20))
    >>> cfl_cli.evaluate(result.frame, truth, schema).mean.accuracy
    1.0
    """
    schema = Schema.of(schema)
    keys = (key,) if isinstance(key, str) else tuple(key)
    table = frames.as_polars(frame, name=name)
    other = frames.as_polars(
        true, [*{**schema.complementary, **dict.fromkeys(keys)}], name=true_name
    )
    problems, others = Problems(name, schema), Problems(true_name, schema)
    cfs = schema.complementary
    if not any(
        title in new_names(cf, (), "hard") or title.startswith(f"{cf}__")
        for title in table.columns
        for cf in cfs
    ):
        _are_there(table, [], next(iter(cfs)), problems)
        problems.raise_if_any()
    matched, warnings, labels = None, list[str](), (label_of(frame, schema), label_of(true, schema))
    if keys:
        names: dict[str, Any] = {"name": name, "other_name": true_name, "labels": labels}
        matched, warnings = match(table, other, keys, schema, **names)
    elif table.height != other.height:
        problems.add(
            "row-count",
            f"{table.height:,} rows, but {true_name} has {other.height:,}",
            "rows are matched by their order, so pass tables with the same rows, or name a key "
            f"column ({option('key')})",
        )
    elif not table.height:
        problems.add("few-rows", "the table has no rows to score")
    readable = usable_columns(table, cfs, problems, lists=cfs)
    given = {cf: _answers(table, cf, schema, problems) for cf in cfs if cf in readable}
    usable = usable_columns(other, cfs, others)
    columns = []
    for cf, column in cfs.items():
        answers = given.get(cf)
        values = answers.values if answers else column.values
        if cf not in usable or values is None:
            continue
        places = value_indices(Cells.of(other[cf], schema), values, others)
        if matched is not None:
            places = np.where(matched < 0, -1, places[matched])
        if column.values is None:
            warnings.append(taken_for_whole(cf, values).for_report)
        if (places < 0).all():
            warnings.append(f"column {quote(cf)}: {true_name} has no true values for it")
        if answers and not (problems or others):
            columns.append(_scored(cf, answers, places))
    if problems or others:
        raise DataError(*problems.as_problems(labels[0]), *others.as_problems(labels[1]))
    return Evaluation(table.height, tuple(columns), tuple(warnings), keys)


def _lost_by_rounding(confidences: Floats) -> Floats:
    """Return by how much rows may miss 1 if all were rounded to as few digits as they have."""
    there = confidences > 0
    # 1 is the end of a range in which numbers have their first digit behind the point.
    place = np.minimum(np.floor(np.log10(np.where(there, confidences, 1))), -1)
    for digits in range(1, MOST_ROUNDED + 1):
        last = 10.0 ** (place + 1 - digits)
        if (np.abs(confidences / last - np.rint(confidences / last)) < 1e-6).all():
            return np.asarray((last / 2 * there).sum(axis=1))
    return np.zeros(len(confidences))


def _answers(table: pl.DataFrame, cf: str, schema: Schema, problems: Problems) -> Answers | None:
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
    confidences = None
    if soft:
        columns = [_numbers(Cells.of(table[name], schema), problems) for name in soft]
        confidences = np.column_stack(columns)
        far = np.abs(confidences.sum(axis=1) - 1)
        off = np.flatnonzero(far > np.maximum(ROUNDED, _lost_by_rounding(confidences)))
        if len(off):
            more = f" and in {len(off) - 1:,} more" if len(off) > 1 else ""
            where = f"row {off[0] + 1}, CF {quote(cf)}"
            problems.add(
                "confidence", f"{where}: the confidences do not sum to 1 in this row{more}"
            )
    several = None
    if hard:
        several = _several(table[hard[0]], schema.complementary[cf], block.values)
        column = table[hard[0]].set(pl.Series(several), None)
        places = value_indices(Cells.of(column, schema), block.values, problems, cf=cf)
        confidence = _numbers(Cells.of(table[hard[1]], schema), problems, needed=places >= 0)
    elif confidences is not None:
        places = best(confidences, block.mechanism.leaves(candidates))
        confidence = confidences[np.arange(len(places)), places]
    left = block.mechanism.leaves(candidates)
    return Answers(block.values, left, places, confidence, confidences, several)


def _several(column: pl.Series, cf: Complementary, values: Sequence[str]) -> Mask:
    """Return which imputed values name several that no cell tells apart."""
    several = [
        text
        for text in column.drop_nulls().cast(pl.String).unique().to_list()
        if text not in values
        and (cf.notation(values).meaning(text) or {*text.split(JOINED)} <= {*values})
    ]
    return column.cast(pl.String).is_in(several).fill_null(value=False).to_numpy()


def _are_there(table: pl.DataFrame, names: Sequence[str], cf: str, problems: Problems) -> bool:
    remedy = f"pass the output that {command('impute')} wrote with this schema"
    if not names:
        hard, _ = new_names(cf, (), "hard")
        (soft,) = new_names(cf, ["VALUE"], "soft")
        problems.add(
            "no-answers",
            f"no imputed values for {quote(cf)}: expected column {quote(hard)} or {quote(soft)}",
            remedy,
        )
        return False
    absent = [name for name in names if name not in table.columns]
    for name in absent:
        problems.add(
            "no-answers",
            f"no column {quote(name)}, which the imputed values of {quote(cf)} need"
            f"{did_you_mean(name, table.columns)}",
            remedy,
        )
    odd = [name for name in names if name not in absent and not frames.has_text(table[name].dtype)]
    for name in odd:
        problems.add(
            "column-type",
            f"holds {frames.type_name(table[name].dtype)}, not imputed values",
            column=name,
        )
    return not absent and not odd


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
    known = places >= 0
    answered = known & (given.places >= 0)
    true, answers = places[answered], given.places[answered]
    some, soft = bool(answered.any()), given.confidences
    in_truth = None if soft is None else share_in_truth(places[known], soft[known])
    return ColumnScores(
        cf,
        len(given.values),
        known=int(known.sum()),
        unanswered=int((known & ~answered).sum()),
        contradicted=int((~given.candidates[known, places[known]]).sum()),
        zero_confidence=None if in_truth is None else int((in_truth < CLIP).sum()),
        accuracy=accuracy(true, answers) if some else None,
        macro_f1=macro_f1(true, answers) if some else None,
        cross_entropy=cross_entropy(in_truth) if in_truth is not None and known.any() else None,
        entropy=None
        if soft is None
        else float(arrays.entropies(soft, np.zeros(1, dtype=np.int64)).mean()),
        expected_calibration_error=(
            calibration_error(true == answers, given.confidence[answered]) if some else None
        ),
        several=0 if given.several is None else int((known & given.several).sum()),
    )


# The page of scores against the truth: a line for each CF, then one for the mean.

_Line: TypeAlias = ColumnScores | Scores  # of a CF, or the mean over all of them
_Field: TypeAlias = AnyField[_Line]


def page(evaluation: Evaluation) -> Page[_Line]:
    names, soft = (
        [field.name for field in fields(ColumnScores)],
        evaluation.mean.entropy is not None,
    )
    mean = dict.fromkeys(names) | asdict(evaluation.mean)
    by = f", matched by {', '.join(map(printable, evaluation.key))}" if evaluation.key else ""
    return Page(
        title=f"{count(evaluation.rows, 'row')}, {count(len(evaluation.columns), 'CF')}{by}",
        fields=_FIELDS,
        facts=[*evaluation.columns, evaluation.mean],
        notes=[
            *(note for column in evaluation.columns for note in _of_column(column, evaluation)),
            *(() if soft else ["For cross entropy and entropy, impute with --mode soft or both."]),
            *(f"warning: {printable(warning)}." for warning in evaluation.warnings),
        ],
        records=[*map(asdict, evaluation.columns), mean],
        json=evaluation.to_json(),
    )


def _score(name: str, heading: str, *, begins: bool = False) -> _Field:
    def show(line: _Line) -> str:
        value = getattr(line, name)
        return "-" if value is None else f"{value:.3f}"

    return _Field(heading, show, right=True, begins=begins)


def _count(name: str, heading: str) -> _Field:
    def show(line: _Line) -> str:
        return f"{getattr(line, name):,}" if isinstance(line, ColumnScores) else ""

    return _Field(heading, show, right=True)


_FIELDS = (
    _Field(
        "CF",
        lambda line: printable(line.name) if isinstance(line, ColumnScores) else "mean",
        folds=True,
        style=lambda line: "bold" if isinstance(line, ColumnScores) else "",
    ),
    _count("domain_size", "values"),
    _count("known", "rows"),
    _count("unanswered", "left empty"),
    _score("accuracy", "accuracy", begins=True),
    _score("macro_f1", "macro-F1"),
    _score("cross_entropy", "cross entropy"),
    _score("entropy", "entropy"),
    _score("expected_calibration_error", "ECE"),
)


def _of_column(column: ColumnScores, evaluation: Evaluation) -> Iterator[str]:
    name = printable(column.name)
    unknown = evaluation.rows - column.known
    if unknown:
        rows = count(unknown, "row")
        yield f"{name}: {rows} without a true value, used only for the entropy."
    if column.unanswered:
        several = ""
        if column.several:
            several = f", {column.several:,} of them because the imputed value names several values"
        yield (
            f"{name}: {count(column.unanswered, 'row')} left empty{several}; accuracy, macro-F1 and "
            "ECE are computed from the other rows."
        )
    if column.contradicted:
        order = "rows in the same order, or match them by a key (--key)"
        yield (
            f"{name}: in {count(column.contradicted, 'row')} the cell rules out the true value. "
            f"Check that both tables have the same {'keys' if evaluation.key else order}."
        )
    if column.zero_confidence:
        yield (
            f"{name}: {count(column.zero_confidence, 'row')} with a confidence below {CLIP:g} in "
            f"the true value; the cross entropy uses {CLIP:g} there."
        )


# Turns columns that say what a value is into CFs, for experiments whose truth is known.
#
# Every cell draws by itself: whether it stays exact, whether it is left empty, and otherwise the
# values that it rules out, by the CF's mechanism. A draw depends on the seed, the name of the CF and
# the number of the row alone. So the same cells rule out the same values whatever the shares of exact
# and empty cells, and a larger share adds to the cells of a smaller one.
#
# A reader who knows the seed can draw again from each value and see which one gives the cell. With
# the seed `random`, the numbers come from the operating system and are not kept.

CHANCES = 1 << 22  # random numbers drawn at once


@dataclass(frozen=True)
class Masked:
    """The table with exclusions in its CFs."""

    frame: Any  # of the kind that was given: polars, pandas or pyarrow
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class _Recipe:
    exclusions: int = 1
    exact_share: float = 0.0
    empty_share: float = 0.0

    def __post_init__(self) -> None:
        kinds = {"exclusions": COUNT, "exact_share": SHARE, "empty_share": SHARE}
        for name, value in read_by(kinds, vars(self)).items():
            object.__setattr__(self, name, value)  # frozen, but for this
        if self.exact_share + self.empty_share > 1:
            text = "{option} and {option2}: expected a sum of at most 1, found {fact:g}"
            shares = {"option": option("exact_share"), "option2": option("empty_share")}
            found = self.exact_share + self.empty_share
            raise UsageError(Problem("option-conflict", text, **shares, fact=found))

    def misfits(self, known: Truth, cf: Complementary) -> Iterator[Problem]:
        column, size = known.cells.name, len(known.values)
        asked = {"column": column, "option": option("exclusions", self.exclusions)}
        if self.exact_share > 0 and cf.exact is None and not cf.holds_candidates:
            text = "{option}: column {column!r} has no mark for exact cells: {remedy}"
            facts = {"column": column, "option": option("exact_share")}
            remedy = 'add `exact` in the schema, such as exact: "="'
            yield Problem("mask-no-exact", text, **facts, remedy=remedy)
        if cf.noisy and self.exclusions > 1:
            text = (
                "{option}: column {column!r}: a cell states one value, by its `mechanism`: {remedy}"
            )
            yield Problem("mask-noisy", text, **asked, remedy=f"leave out {option('exclusions')}")
            return
        if _writes_blocks(cf):
            return
        if (cf.holds_candidates or self.exclusions > 1) and cf.separator is None:
            text = "{option}: column {column!r} has no separator between exclusions: {remedy}"
            remedy = 'add `separator` in the schema, such as separator: ";"'
            yield Problem("mask-no-separator", text, **asked, remedy=remedy)
        if cf.mechanism == "fit":
            text = "column {column!r}: cells cannot be drawn from `mechanism: fit`: {remedy}"
            remedy = "give the weights in the schema, or leave out `mechanism`"
            yield Problem("mask-fit", text, column=column, remedy=remedy)
        if self.exclusions >= size:
            text = (
                "{option}: column {column!r} has {size} values, so a cell can rule out at most "
                "{most}"
            )
            yield Problem("mask-few-values", text, **asked, size=size, most=size - 1)
            return
        able = mechanism(cf, size).possible[:, self.exclusions]
        for place in np.unique(known.places[known.places >= 0]):
            if not able[place]:
                text = "{option}: column {column!r}: its `mechanism` allows fewer exclusions for the value {value!r}"
                value = UserText(known.values[place])
                yield Problem("mask-mechanism", text, **asked, value=value)


def mask(
    frame: Any,
    schema: AnySchema,
    *,
    exclusions: int = 1,
    exact_share: float = 0.0,
    empty_share: float = 0.0,
    seed: int | Literal["random"] | None = None,
    name: str = "table",
) -> Masked:
    """Turn the true values in the CFs of a table into exclusions.

    Parameters
    ----------
    frame : polars.DataFrame, pandas.DataFrame or pyarrow.Table
        A table with true values; a missing cell stays as it is.
    schema : Schema, dict, str or path
        As in `impute`.
    exclusions : int, default 1
        Number of values that each cell rules out.
    exact_share, empty_share : float, default 0
        Approximate share of the cells that become exact, or empty.
    seed : int or "random", default the schema's, or 0
        Seed of the draw. Anybody who guesses it can undo the draw. Before you publish the table, pass
        "random", whose draw nothing can repeat, not even the same call.
    name : str, default "table"
        Name of the table in errors.

    Returns
    -------
    Masked
        The table, `frame`, and `warnings`.

    Raises
    ------
    UsageError
        A CF has too few values for so many exclusions.

    Examples
    --------
    With `table` and `schema` as in `impute`:

    >>> truth = table.with_columns(job=pl.Series(["student"] * 20 + ["retired"] * 20))
    >>> cfl_cli.mask(truth, schema, seed=1).frame["job"].head(3).to_list()
    ['clerk', 'retired', 'clerk']
    """
    recipe, schema = _Recipe(exclusions, exact_share, empty_share), Schema.of(schema)
    chosen = (
        schema.settings.seed if seed is None else read_by({"seed": SEED}, {"seed": seed})["seed"]
    )
    table = frames.as_polars(frame, schema.complementary, name=name)
    with called(frame, schema=schema):
        truths, warnings = read_truths(table, schema, name=name)
    cfs = schema.complementary
    problems = [flaw for one in truths for flaw in recipe.misfits(one, cfs[one.cells.name])]
    if problems:
        raise UsageError(*problems)
    empty = next(iter(schema.missing), "") or None
    columns = [
        _masked(one, cfs[one.cells.name], recipe, seed=chosen, empty=empty) for one in truths
    ]
    if chosen != RANDOM and (
        schema.blurred or (seed is None and "seed" not in schema.named_settings)
    ):
        remedy = option("seed", RANDOM)
        warnings.append(
            f"anybody who guesses the seed ({chosen}) can undo this draw: use {remedy} before you publish it"
        )
    return Masked(frames.replace(frame, columns), tuple(warnings))


def mechanism(cf: Complementary, size: int) -> Mechanism:
    return Mechanism.of(size, None if cf.mechanism == "fit" else cf.mechanism)


def _chances(rows: Ints, stream: int, seed: int | str) -> Floats:
    if isinstance(seed, str):
        return draws.unguessable(len(rows))
    return draws.chances(rows, stream, seed)


def _writes_blocks(cf: Complementary) -> bool:
    """Return whether cells are made blocks: of ordered candidates they are ranges."""
    return cf.in_blocks or (bool(cf.ordered) and cf.holds_candidates)


def blocks_of(cf: Complementary, values: Sequence[str]) -> list[list[str]]:
    """Return the blocks that each value may be written as, all of them equally likely.

    They are its ancestors but those of all values, its old codes, or the range of the two neighbors
    in the order that it is one of.
    """
    sets = {**(cf.hierarchy or {}), **(cf.codes or {})}
    if not sets:
        edges = [it.split("-") for it in values] if cf.bins else []
        for at in range(0, len(values), 2):
            some = values[at : at + 2]
            low, high = (
                (edges[at][0], edges[at + len(some) - 1][1]) if cf.bins else (some[0], some[-1])
            )
            if len(some) > 1:
                name = (
                    f"{low}-{high}" if cf.bins or cf.ordered else (cf.separator or "|").join(some)
                )
                sets[name] = tuple(some)
    found = [
        [name for name, some in sets.items() if value in some and len(some) < len(values)]
        for value in values
    ]
    return [names or [value] for value, names in zip(values, found, strict=True)]


def draw_exclusions(
    known: Ints, by: Mechanism, exclusions: int, *, cf: str, seed: int | str
) -> Iterator[Mask]:
    """Yield the candidates of the cells that draw exclusions, a stretch of rows at a time.

    `known` holds the place of every row's value in the domain; those of −1 draw nothing.
    """
    stream = draws.stream_of(cf)
    step = max(CHANCES // by.size, 1)
    for start in range(0, len(known), step):
        rows = start + np.flatnonzero(known[start : start + step] >= 0)
        chances = np.column_stack(
            [_chances(rows, stream + 1 + place, seed) for place in range(by.size)]
        )
        yield by.draw(known[rows], np.full(len(rows), exclusions), chances)


def _masked(
    known: Truth, cf: Complementary, recipe: _Recipe, *, seed: int | str, empty: str | None
) -> pl.Series:
    name, raw = known.cells.name, known.cells.raw
    fate = _chances(np.arange(len(raw)), draws.stream_of(name), seed)
    # Exact cells are taken from below and empty ones from above: neither share moves the other's.
    kept = (fate < recipe.exact_share) | (fate >= 1 - recipe.empty_share)
    exact = (known.places >= 0) & (fate < recipe.exact_share)
    drawing = np.where(kept, -1, known.places)
    cells = np.full(len(raw), empty, dtype=object)
    cells[exact] = [f"{cf.exact or ''}{known.values[place]}" for place in known.places[exact]]
    if _writes_blocks(cf):
        rows = np.flatnonzero(drawing >= 0)
        chances = _chances(rows, draws.stream_of(name) + 1, seed)
        blocks = blocks_of(cf, known.values)
        for row, chance in zip(rows.tolist(), chances.tolist(), strict=True):
            names = blocks[drawing[row]]
            cells[row] = names[int(chance * len(names))]
        return _as_before(raw, known, cells)
    by = mechanism(cf, len(known.values))
    lists: list[str] = []
    for candidates in draw_exclusions(drawing, by, recipe.exclusions, cf=name, seed=seed):
        first, places = distinct(candidates)
        written = [
            (cf.separator or "").join(
                value
                for value, left in zip(known.values, row, strict=True)
                if left == cf.holds_candidates
            )
            for row in candidates[first]
        ]
        lists += [written[place] for place in places]
    cells[drawing >= 0] = lists
    return _as_before(raw, known, cells)


def _as_before(raw: pl.Series, known: Truth, cells: np.ndarray[Any, Any]) -> pl.Series:
    """Return the cells as texts, and those without a true value as they were."""
    texts = pl.Series(raw.name, cells.tolist(), dtype=pl.String)
    others = raw if raw.dtype == pl.String else pl.Series([None], dtype=pl.String)
    return texts.zip_with(pl.Series(known.places >= 0), others)


# The work of `cfl evaluate` and `cfl mask`.


def run_evaluate(
    answers: str, truth: str, schema: str, out: str, given: Values, how: Values
) -> None:
    listen()
    inputs = load(schema, given, data=truth)
    source = tables.Place.to_read(answers, how.get("input_format"))
    other = tables.Place.to_read(truth, how.get("truth_format"), option="--truth-format")
    if source.path is None and other.path is None:
        text = "OUT and --truth are both standard input: {remedy}"
        raise UsageError(Problem("stdin-twice", text, remedy="name a file for one"))
    sources, overwrite = [source.path, other.path, Path(schema)], inputs.limits.overwrite
    target = text_target(out, sources, overwrite=overwrite)
    true = read_table(other, how, inputs.schema, may_set_aside=True, by_cells=False)
    warn_of_rejects(len(true.rejects), other)
    evaluation = evaluate(
        read_output(source, inputs.schema.file).frame,
        true.frame,
        inputs.schema,
        name=source.name,
        true_name=other.name,
        key=how.get("key", ()),
    )
    text = drawn(page(evaluation), how.get("format", FORMAT.default), target)
    deliver(text, target, overwrite=overwrite)


def run_mask(data: str, schema: str, out: str, given: Values, cells: Values, how: Values) -> None:
    listen()
    inputs = load(schema, given, data=data)
    run = inputs.limits
    source = tables.Place.to_read(data, how.get("input_format"))
    target = tables.Place.to_write(out, how.get("output_format"))
    outputs = Outputs.without_report(target, reject=sets_aside(how))
    outputs.check(sources=[source.path, Path(schema)], overwrite=run.overwrite)
    with outputs.stream() as stream:
        table = read_table(source, how, inputs.schema, may_set_aside=True)
        tables.check_holds(table, target)
        outputs = replace(outputs, style=style_of(how, target, source, table, inputs.schema.file))
        masked = mask(table.frame, inputs.schema, name=source.name, **cells)
        outputs.write(masked.frame, table, stream=stream, overwrite=run.overwrite)
    if not run.quiet:
        note_rejects(outputs, len(table.rejects), source)
        warn(*masked.warnings, event="warning", file=target.name)
        cfs, rows = [*inputs.schema.complementary], len(masked.frame)
        said = f"{target.name}: {rows:,} rows, {count(len(cfs), 'CF')} masked"
        note(said, event="masked", file=target.name, rows=rows, cfs=cfs)
