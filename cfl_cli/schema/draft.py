"""Drafts a schema from a table: types guessed from the cells, what to check as comments."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from cfl_cli.core.messages import did_you_mean, quote
from cfl_cli.errors import UsageError
from cfl_cli.schema.written import flow, key
from cfl_cli.tables.frames import has_text, type_name

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-")
CATEGORIES = 50  # more different texts than this look like names or notes
DOMAIN = 200  # more different values than this are too many to list
SEPARATORS = (";", "|", ",", "/")
EXACT = "="

HEADER = """\
# A draft: read every line. The comments say what to check; delete them as you go.
#   role: ordinary       the cells say what the value is (OF)
#   role: complementary  the cells say what the value is not (CF)
#   role: ignore         an id, a note, the label of a later model: left out of the estimate
version: 1
"""


@dataclass(frozen=True)
class Guess:
    """A column's line in the schema, and what the user should check about it."""

    entry: str
    comment: str = ""


def draft(frame: pl.DataFrame, *, cfs: Sequence[str], ignored: Sequence[str]) -> str:
    """Return the text of a schema for the table."""
    _check_columns(frame, cfs, ignored)
    missing = ["", *_missing_tokens(frame.drop({*cfs, *ignored}))]
    lines = [HEADER + f"missing: {flow(missing)}  # cells that hold nothing", "columns:"]
    for column in frame.get_columns():
        if column.name in ignored:
            guess = Guess("{role: ignore}")
        elif not has_text(column.dtype):
            guess = Guess(
                "{role: ignore}", f"holds {type_name(column.dtype)}, which cfl does not compare"
            )
        elif column.name in cfs:
            guess = _complementary(_text(column, missing), missing)
        else:
            guess = _ordinary(column, _text(column, missing))
        comment = f"  # {guess.comment}" if guess.comment else ""
        lines.append(f"  {key(column.name)}: {guess.entry}{comment}")
    if not cfs:
        lines.append("# No CF yet: run again with --cf COLUMN, or change a role above.")
    return "\n".join(lines) + "\n"


def _check_columns(frame: pl.DataFrame, cfs: Sequence[str], ignored: Sequence[str]) -> None:
    problems = [
        f"{option}: no column {quote(name)} in the table{did_you_mean(name, frame.columns)}"
        for option, names in (("--cf", cfs), ("--ignore", ignored))
        for name in names
        if name not in frame.columns
    ]
    problems += [
        f"--cf: column {quote(name)} holds {type_name(frame[name].dtype)}, not text or numbers"
        for name in cfs
        if name in frame.columns and not has_text(frame[name].dtype)
    ]
    problems += [f"--cf and --ignore: both name {quote(name)}" for name in cfs if name in ignored]
    if problems:
        raise UsageError(*problems)


def _missing_tokens(frame: pl.DataFrame) -> list[str]:
    """Return the tokens that keep an otherwise numeric column from being one."""
    tokens: set[str] = set()
    for column in frame.get_columns():
        if column.dtype == pl.String:
            texts = column.drop_nulls().unique()
            others = texts.filter(~texts.is_in(MISSING))
            if len(others) and _all_numbers(others):
                tokens |= set(texts.to_list()) & set(MISSING[1:])
    return [token for token in MISSING if token in tokens]


def _all_numbers(texts: pl.Series) -> bool:
    numbers = texts.str.strip_chars().cast(pl.Float64, strict=False)
    return bool(numbers.is_finite().fill_null(value=False).all())


def _text(column: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Return the cells that are not missing, as text."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
    text = column.cast(pl.String).drop_nulls()
    return text.filter(~text.is_in(missing))


def _ordinary(column: pl.Series, text: pl.Series) -> Guess:
    values = sorted(text.unique().to_list())
    if len(values) < 2:
        return Guess(
            "{role: ignore}", "the same in every row" if values else "every cell is missing"
        )
    if len(values) == 2:
        return Guess(f"{{role: ordinary, type: binary, values: {flow(values)}}}")
    numeric = column.dtype.is_numeric() or _all_numbers(text)
    unique = len(values) == len(column)
    if unique and (not numeric or _counts_up(text)):
        return Guess("{role: ignore}", "a different value in every row: an id?")
    if numeric:
        return Guess("{role: ordinary, type: numeric}", _numeric_comment(len(values)))
    if len(values) > CATEGORIES:
        return Guess("{role: ignore}", f"{len(values):,} different texts: a name or a note?")
    return Guess("{role: ordinary, type: categorical}", f"{len(values)} values")


def _numeric_comment(values: int) -> str:
    few = 12
    return f"only {values} values: codes? then type: categorical" if values <= few else ""


def _counts_up(text: pl.Series) -> bool:
    """Return whether the cells are whole numbers one after the other, as row numbers are."""
    numbers = text.str.strip_chars().cast(pl.Int64, strict=False)
    return bool((numbers.diff().drop_nulls() == 1).all()) and not numbers.has_nulls()


def _complementary(text: pl.Series, missing: Sequence[str]) -> Guess:
    cells = set(text.to_list())
    known = [cell.removeprefix(EXACT) for cell in cells if cell.startswith(EXACT)]
    marked = bool(known) and not any(value in missing or value.startswith(EXACT) for value in known)
    plain = {cell.removeprefix(EXACT) for cell in cells} if marked else cells
    separator = _separator(plain)
    parts = {part for cell in plain for part in (cell.split(separator) if separator else [cell])}
    values = sorted(
        part for part in parts if part not in missing and not (marked and part.startswith(EXACT))
    )
    marks = (f', separator: "{separator}"' if separator else "") + (
        f', exact: "{EXACT}"' if marked else ""
    )
    if not 2 <= len(values) <= DOMAIN:
        return Guess(
            f"{{role: complementary{marks}}}",
            f"{len(values):,} different values seen: list all possible ones as values: [...]",
        )
    return Guess(
        f"{{role: complementary, values: {flow(values)}{marks}}}",
        f"{len(values)} values seen: add those that are possible and never ruled out",
    )


def _separator(cells: set[str]) -> str | None:
    """Return the sign that splits some cells into values that are also cells, if there is one."""
    for sign in SEPARATORS:
        joined = [cell for cell in cells if sign in cell]
        parts = {part for cell in joined for part in cell.split(sign)}
        if joined and "" not in parts and len(parts & cells) > len(parts) / 2:
            return sign
    return None
