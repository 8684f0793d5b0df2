"""The cells of a column, as the schema reads them: missing, named values, what does not fit."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.messages import count, did_you_mean, nearest_word
from cfl_cli.core.state import State, StateError
from cfl_cli.encode.findings import Finding, Patch, Problems, ignoring
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.schema.sets import Notation
from cfl_cli.tables.codec import Columns, is_loading
from cfl_cli.tables.frames import has_text, holds_lists, type_name
from cfl_cli.texts import BLANKS
from cfl_cli.texts.dates import days
from cfl_cli.texts.lists import are_lists, elements, saying_nothing, speaking
from cfl_cli.texts.matching import Matcher, as_text, lists_as_text, nearly, whole
from cfl_cli.texts.numbers import numbers, numbers_or_plain, without_bounds

VALUED = ("binary", "categorical", "ordered")  # types whose cells are one of some values
_MOST_ROWS = 2**53
CATEGORIES = 1000  # values that an OF may have, and a CF whose domain is not listed


@dataclass(frozen=True)
class Cells:
    """A column as text, null where the schema counts the cell as missing.

    Cells of a column of lists are JSON arrays of their elements.
    """

    name: str
    raw: pl.Series
    text: pl.Series
    format: str | None = None  # of dates that are text
    known_numbers: pl.Series | None = None  # if they were read already
    known_texts: tuple[str, ...] | None = None  # the different ones, if they were looked for
    silent: frozenset[str] = frozenset()  # parts of a list that say nothing
    are_lists: bool = False
    aliases: Mapping[str, Sequence[str]] | None = None  # of its values
    ignore_case: bool = False
    bounds: int = 0  # cells such as <5, read as their number

    @classmethod
    def of(cls, column: pl.Series, schema: Schema) -> "Cells":
        codes = list(schema.missing_in(column.name))
        entry = schema.columns.get(column.name)
        spelled: dict[str, Any] = {"aliases": getattr(entry, "aliases", None)}
        spelled["ignore_case"] = bool(getattr(entry, "ignore_case", None))
        if holds_lists(column.dtype):
            text = lists_as_text(column, codes)
            return cls(column.name, column, text, are_lists=True, **spelled)
        text = as_text(column)
        listed = getattr(entry, "values", None) or ()
        if "" in listed:
            text = text.fill_null("")
        missing = text.is_in(codes) | text.is_null()
        kind = getattr(entry, "type", None)
        found, different = None, None
        near, unsure = [*map(whole, codes)], text  # texts that may be a code nearly
        tokens = pl.Series(codes).cast(pl.Float64, strict=False).drop_nulls().to_list()
        if column.dtype.is_float():
            missing |= column.is_nan()  # how pandas writes a missing number
            missing |= column.is_in(tokens)  # "-999" means -999.0 too
        elif not column.dtype.is_numeric():
            if isinstance(entry, Ordinary) and kind == "numeric":
                sign = schema.decimal_of(column.name)
                written = without_bounds(text) if entry.bounds else text
                plain = sign == "," and not entry.decimal  # the file's is of texts
                found = (numbers_or_plain if plain else numbers)(
                    written, decimal=sign, unit=entry.unit
                )
                missing |= found.is_in(tokens).fill_null(value=False)
                spelled["bounds"] = int(((written != text) & found.is_not_null() & ~missing).sum())
                unsure = text.filter(found.is_null() & ~missing)
            elif kind in VALUED or isinstance(entry, Complementary):
                unsure = different = text.unique()
            near = nearly(unsure, codes)
        silent = frozenset(code.strip(BLANKS) for code in codes) - {"", *listed}
        if isinstance(entry, Complementary) and different is not None:
            near += saying_nothing(different, entry.separator, silent)
        near = [text for text in near if text not in listed]
        if near:
            missing |= text.is_in(near)
        if different is not None:
            different = different.filter(~different.is_in([*codes, *near])).drop_nulls()
        blank = pl.Series(column.name, [None], dtype=pl.String)
        text = text.zip_with(~missing.fill_null(value=True), blank)
        texts = None if different is None else tuple(sorted(different))
        form = getattr(entry, "format", None)
        return cls(column.name, column, text, form, found, texts, silent, **spelled)

    @cached_property
    def missing(self) -> Mask:
        return self.text.is_null().to_numpy()

    @cached_property
    def numbers(self) -> Floats:
        """Return the cells as numbers, NaN where they are not; what is missing may be either."""
        found = self.known_numbers
        if found is None and self.raw.dtype.is_numeric():
            found = self.raw.cast(pl.Float64, strict=False)
        elif found is None:
            found = numbers(self.text, decimal=None, unit=None)
        return found.fill_null(np.nan).to_numpy()

    @cached_property
    def days(self) -> Floats:
        """Return the cells as days since 1970, NaN where they are no dates or missing."""
        source = self.raw if self.raw.dtype in (pl.Date, pl.Datetime) else self.text
        found = days(source, format=self.format).fill_null(np.nan).to_numpy()
        return np.where(self.missing, np.nan, found)

    @cached_property
    def seen(self) -> list[str]:
        """Return the different texts of the other cells, sorted by code point."""
        return sorted(self.known_texts or self.text.drop_nulls().unique().to_list())

    @cached_property
    def named(self) -> list[str]:
        """Return the different texts without their outer blanks, sorted by code point."""
        return sorted({text.strip(BLANKS) for text in self.seen})

    def codes(self, values: Sequence[str]) -> Ints:
        """Return every cell's place in `values`, −1 if it is missing or means none of them."""
        texts, places = [*values], [*range(len(values))]
        found = self.text.replace_strict(texts, places, default=-1, return_dtype=pl.Int64)
        codes = found.fill_null(-1).to_numpy()
        if (others := (codes < 0) & ~self.missing).any():
            texts = self.text.filter(pl.Series(others)).unique().to_list()
            places = [*map(self.matcher(values).place, texts)]
            found = self.text.replace_strict(texts, places, default=-1, return_dtype=pl.Int64)
            codes = np.where(others, found.fill_null(-1).to_numpy(), codes)
        return codes

    def matcher(self, values: Sequence[str]) -> Matcher:
        return Matcher(values, self.aliases, ignore_case=self.ignore_case)

    def shown(self) -> pl.Series:
        if self.are_lists:
            return self.text
        return self.text.zip_with(self.text.is_not_null(), self.raw.cast(pl.String))

    @cached_property
    def hold_lists(self) -> bool:
        return are_lists(self.seen)

    def ruling(self, text: str, cf: Complementary, match: Matcher | None = None) -> "Ruling":
        """Return what a text of this column says of a CF, whose values `match` finds, if known.

        It is read as it stands if that names values, and loosely otherwise.
        """
        notation = cf.notation(match.values if match else ())
        if cf.holds_candidates:
            return self._candidates(text, cf, notation, match)
        parts: list[str] | None = None  # of a list
        if self.are_lists:
            parts = list(json.loads(text))
        elif cf.separator is None and (text not in match.exact if match else self.hold_lists):
            listed = elements(text)
            parts = None if listed is None else [*speaking(listed, {*self.silent, ""})]
        found = Ruling.read(text, cf) if parts is None else Ruling(tuple(parts), exact=False)
        if match is None or not all(value in match.exact for value in found.values):
            sole = text if parts is None else parts[0] if len(parts) == 1 else None
            if sole is not None and (value := _exact(sole, cf)) is not None:
                found = Ruling((value,), exact=True)
            elif parts is None:  # a separator may stand behind the last part
                *others, last = text.split(cf.separator) if cf.separator is not None else [text]
                alone = any(others) and not last.strip(BLANKS)
                found = Ruling(tuple(others if alone else [*others, last]), exact=False)
        if self.silent and not found.exact and len(found.values) > 1:
            found = Ruling(speaking(found.values, self.silent), exact=False)
        if match is None:
            return found
        if notation.sets and not found.exact:
            return _meant(found.values, notation, match, only=False)
        return Ruling(tuple(map(match, found.values)), found.exact)

    def _candidates(
        self, text: str, cf: Complementary, notation: Notation, match: Matcher | None
    ) -> "Ruling":
        """Return what a text says that lists what the value may be."""
        if not self.are_lists and (value := _exact(text, cf)) is not None:
            return Ruling((match(value) if match else value,), exact=True)
        if (
            match is not None
            and not self.are_lists
            and (text in match.exact or notation.meaning(text))
        ):
            return _meant([text], notation, match, only=True, first=cf.codes)
        if self.are_lists:
            parts: Sequence[str] = list(json.loads(text))
        elif cf.separator is None and self.hold_lists and (listed := elements(text)) is not None:
            parts = listed
        else:
            parts = text.split(cf.separator) if cf.separator is not None else [text]
        parts = speaking(parts, {*self.silent, ""}) if len(parts) > 1 else parts
        if match is None:
            return Ruling(tuple(parts), exact=True)
        return _meant(parts, notation, match, only=True, first=cf.codes)


def _meant(
    parts: Iterable[str],
    notation: Notation,
    match: Matcher,
    *,
    only: bool,
    first: Collection[str] | None = None,
) -> "Ruling":
    """Return what texts say that may mean several values; those in `first` do though they are values."""
    found: dict[str, None] = {}
    block = False
    for part in parts:
        value = match(part)
        known = value in match.exact and not (first and part.strip(BLANKS) in first)
        values = (value,) if known else notation.meaning(part) or (value,)
        block |= len(values) > 1
        found |= dict.fromkeys(values)
    return Ruling(tuple(found), exact=only, block=block and len(found) > 1)


@dataclass(frozen=True)
class Ruling:
    """What one CF cell says: it rules out these values or, if exact, all others."""

    values: tuple[str, ...]
    exact: bool
    block: bool = False  # was it said by the name of several values, and not drawn?

    @classmethod
    def read(cls, text: str, cf: Complementary) -> "Ruling":
        if cf.exact is not None and text.startswith(cf.exact):
            return cls((text.removeprefix(cf.exact),), exact=True)
        parts = text.split(cf.separator) if cf.separator is not None else [text]
        return cls(tuple(parts), exact=False)

    def fits(self, values: Sequence[str]) -> bool:
        """Return whether the cell names values of the domain only, and leaves one possible."""
        left = ((value in self.values) == self.exact for value in values)
        return all(value in values for value in self.values) and any(left)


def _exact(text: str, cf: Complementary) -> str | None:
    if cf.exact is None:
        return None
    bare = cf.exact.strip(BLANKS)
    marks = [cf.exact] if not bare or bare[-1].isalnum() else [cf.exact, bare]
    for start in (text, text.lstrip(BLANKS)):
        for mark in marks:
            if start.startswith(mark):
                return start.removeprefix(mark)
    return None


def used_columns(schema: Schema) -> list[str]:
    return [*dict.fromkeys([*schema.ordinary, *schema.complementary, *schema.group])]


def usable_columns(
    frame: Columns, listed: Iterable[str], problems: Problems, *, lists: Collection[str] = ()
) -> set[str]:
    """Return which of the columns that a schema lists can be read; note those that cannot.

    `lists` are those whose cells may be lists.
    """
    usable = set()
    for column in listed:
        if column not in frame.columns:
            near = did_you_mean(column, frame.columns)
            change = "rename it in the schema" if near else "add it, or remove it from the schema"
            problems.add(
                "no-column",
                f"is {'' if problems.model else 'in the schema but '}not in the table{near}",
                "add it; the model needs it" if problems.model else change,
                column=column,
                patch=_renamed(column, frame.columns, problems.schema),
            )
            continue
        kind = frame.dtype(column) if is_loading(frame) else frame[column].dtype
        if has_text(kind) or (column in lists and holds_lists(kind)):
            usable.add(column)
            continue
        problems.add(
            "column-type",
            f"holds {type_name(kind)}, not text or numbers",
            "convert it" if problems.model else "mark it `role: ignore`",
            column=column,
            patch=ignoring(column, problems.schema),
        )
    return usable


def _renamed(column: str, names: Sequence[str], schema: Schema) -> Patch | None:
    if column not in schema.columns:
        return None
    near = nearest_word(column, [name for name in names if name not in schema.columns])
    entry = schema.columns[column].model_dump(mode="json", exclude_none=True)
    return {"columns": {column: None} | ({near: entry} if near else {})}


def domain_values(
    cells: Cells, cf: Complementary, named: Iterable[str], problems: Problems
) -> tuple[str, ...] | None:
    """Return a CF's domain, or the values `named` if the schema lists none; None if unusable."""
    values = cf.values or tuple(sorted(named))
    if cf.values is None and not 2 <= len(values) <= CATEGORIES:
        what = (
            f"{count(len(values), 'different value')} seen, but a domain without `values` must have"
        )
        what, fix = f"{what} 2 to {CATEGORIES:,}", "list all possible values under `values`"
        problems.add("domain-size", what, fix, column=cells.name)
        return None
    return values


def kept_rows(facts: State) -> int:
    rows = facts.fact("rows", int)
    if not 1 <= rows <= _MOST_ROWS:
        raise StateError("it was fitted to no cells")
    return rows


def kept_values(facts: State, column: Ordinary | Complementary, schema: Schema) -> tuple[str, ...]:
    """Return a column's fitted values: those that the schema lists, or those kept as seen."""
    if column.values is not None:
        return column.values
    missing = {*schema.missing, *(column.missing or ())}
    values = facts.fact("values", list)
    for value in values:
        if not isinstance(value, str) or value in missing or not _is_utf8(value):
            raise StateError("its values are not texts that cells can hold")
    if len(values) > CATEGORIES or any(one >= other for one, other in pairwise(values)):
        raise StateError(f"its values are not at most {CATEGORIES:,}, sorted and distinct")
    return tuple(values)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can spell
        return False
    return True


def taken_for_whole(cf: str, values: Sequence[str]) -> Finding:
    what = f"the schema lists no values, so the {len(values)} seen count as the whole domain"
    fix, patch = "list them under `values`", {"columns": {cf: {"values": [*values]}}}
    brief = f"{what}; {fix}"
    return Finding("domain-not-listed", what, fix, cf, patch=patch, warning=True, brief=brief)


def with_numbers(frame: Any, names: Collection[str], schema: Schema) -> Any:
    """Return a table whose columns of text with these names hold numbers, null where one is missing."""
    if not isinstance(frame, pl.DataFrame):
        return frame
    columns = []
    for name in names:
        if name in frame.columns and frame[name].dtype == pl.String:
            cells = Cells.of(frame[name], schema)
            known = pl.Series(~cells.missing)
            columns.append(pl.Series(name, cells.numbers).set(~known, None).fill_nan(None))
    return frame.with_columns(columns)
