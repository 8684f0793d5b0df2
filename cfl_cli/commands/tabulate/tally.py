"""Rows counted, block by block: those alike in their cell, group and so on are one line.

A table of any size becomes as many lines as it has different cells and groups; where the schema names
a `group` of rows, or cells hold long lists, there may be nearly as many as rows. A line has the sums

    rows, Σ w, Σ w², the largest w, Σ w g, Σ w² g, Σ w² g², Σ w⁴, Σ w⁴ g … Σ w⁴ g⁴

over its rows, w their weights and g the number whose mean is asked for, counted from its first in a
unit of the first block's largest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.commands.tabulate.audited import Checked, Sample, confidences_of
from cfl_cli.commands.tabulate.copied import SURE, Seen, hashes
from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import distinct
from cfl_cli.core.messages import did_you_mean, option
from cfl_cli.encode.cells import CATEGORIES, Cells, usable_columns
from cfl_cli.encode.encode import Domain, encode_cf, lasting_groups, new_names
from cfl_cli.encode.findings import Cause, Problems
from cfl_cli.errors import DataError, Problem, SchemaError, UsageError
from cfl_cli.schema.model import Complementary, Identifier, Schema
from cfl_cli.tables import frames
from cfl_cli.texts import BLANKS
from cfl_cli.texts.numbers import numbers_or_plain

ROWS_AT_ONCE = 50_000
_LINES = 200_000  # that wait, at least, before they are put together
SUMS, LARGEST = 12, 3  # of a line, and which of them is no sum


@dataclass(frozen=True)
class Asked:
    """What to tabulate: CFs, by a column, the mean of a column, with the weights in a column."""

    cfs: tuple[str, ...]
    by: str | None = None
    mean: str | None = None
    weight: str | None = None
    bias: float = 1.0
    width: float | None = None  # of intervals that are wished for

    @property
    def columns(self) -> dict[str, str]:
        """The further columns that are needed, by the option that names each."""
        named = {"by": self.by, "mean": self.mean, "weight": self.weight}
        return {name: column for name, column in named.items() if column is not None}


@dataclass
class Counted:
    """Lines: what they have in common, m × keys, and their sums, m × SUMS."""

    keys: int
    parts: list[tuple[Ints, Floats]] = field(default_factory=list)
    waiting: int = 0

    def add(self, keys: Ints, sums: Floats) -> None:
        self.parts.append(_together(keys, sums))
        self.waiting += len(self.parts[-1][0])
        if self.waiting > max(_LINES, 2 * len(self.parts[0][0])):
            self.parts, self.waiting = [self.lines], 0

    @property
    def lines(self) -> tuple[Ints, Floats]:
        if not self.parts:
            return np.empty((0, self.keys), dtype=np.int64), np.empty((0, SUMS))
        keys, sums = zip(*self.parts, strict=True)
        return _together(np.concatenate(keys), np.concatenate(sums))


def _together(keys: Ints, sums: Floats) -> tuple[Ints, Floats]:
    order = np.lexsort(keys.T[::-1])
    keys, sums = keys[order], sums[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    first = np.flatnonzero(new)
    if not len(first):
        return keys, sums
    whole = np.add.reduceat(sums, first, axis=0)
    whole[:, LARGEST] = np.maximum.reduceat(sums[:, LARGEST], first)
    return keys[first], whole


@dataclass
class Codes:
    """Numbers for texts, in the order in which they first appear."""

    texts: list[str] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)

    def of(self, text: pl.Series) -> Ints:
        """Return the number of each text, −1 for null."""
        seen = text.drop_nulls().unique(maintain_order=True).to_list()
        for one in seen:
            if one not in self.places:
                self.places[one] = len(self.texts)
                self.texts.append(one)
        codes = [self.places[one] for one in seen]
        found = text.replace_strict(seen, codes, default=-1, return_dtype=pl.Int64)
        return np.asarray(found.fill_null(-1).to_numpy())


@dataclass
class CfCells:
    """The different cells of a CF, each with a number; −1 would be none."""

    cf: Complementary
    domain: Domain
    places: dict[bytes, int] = field(default_factory=dict)
    found: list[Mask] = field(default_factory=list)

    def codes(self, cells: Mask, marked: Mask | None) -> Ints:
        marks = np.zeros(len(cells), dtype=bool) if marked is None else marked
        both = np.column_stack([cells, marks])
        first, places = distinct(both)
        numbers = np.empty(len(first), dtype=np.int64)
        for place, row in enumerate(both[first]):
            key = np.packbits(row).tobytes()
            if key not in self.places:
                self.places[key] = len(self.found)
                self.found.append(row)
            numbers[place] = self.places[key]
        return numbers[places]

    @property
    def candidates(self) -> Mask:
        """The different cells, and in the last column if they have the exact mark."""
        return np.array(self.found, dtype=bool).reshape(-1, len(self.domain.values) + 1)


class Tally:
    """Counts the rows of a table for what is asked; `add` takes them block by block."""

    def __init__(
        self,
        schema: Schema,
        asked: Asked,
        *,
        name: str = "table",
        checked: Checked | None = None,
        copied: bool | None = None,
    ) -> None:
        self.schema, self.asked, self.name, self.checked = schema, asked, name, checked
        self.cfs = {cf: CfCells(schema.complementary[cf], _domain(schema, cf)) for cf in asked.cfs}
        self.copied = copied  # are copies equal in all OFs, or in all columns? None: there are none
        self.seen = {by_ofs: Seen() for by_ofs in (True, False)}
        self.copies_unclear = False  # are there some that cannot be told from others?
        self.clustered = copied is not None or bool(schema.group)  # do rows belong together?
        self.by_cf = {cf: Counted(3 + self.clustered) for cf in asked.cfs}
        names = list(asked.cfs)
        pairs = [(a, b) for place, a in enumerate(names) for b in names[place + 1 :]]
        self.pairs = {pair: Counted(2 + self.clustered) for pair in pairs}
        self.imputed: dict[str, Counted] = {}
        looked_up = () if checked is None else checked.places
        self.samples = {cf: Sample(len(self.cfs[cf].domain.values)) for cf in looked_up}
        self.groups = Codes()
        self.rows = self.without_group = self.without_number = 0
        self.origin: float | None = None  # from which the mean's column is counted …
        self.unit = 1.0  # … and in which, so that fourth powers are numbers

    def _check(self, names: list[str]) -> None:
        """Raise unless the table has the columns that are needed."""
        for given, column in self.asked.columns.items():
            if column not in names:
                text = "{option}: {file} has no column {column!r}{near}"
                facts = {"option": option(given), "near": did_you_mean(column, names)}
                raise UsageError(
                    Problem("tabulate-no-column", text, file=self.name, column=column, **facts)
                )
        for cf in self.cfs:
            if f"{cf}_imputed" in names:
                self.imputed[cf] = Counted(3)

    def add(self, frame: Any, first_row: int = 1) -> dict[str, Ints]:
        """Count a block of rows, and return the number of each CF's cell, row by row."""
        if first_row == 1:
            self._check(frames.names(frame))
        wanted = {*self.cfs, *self.asked.columns.values(), *self.schema.group}
        wanted |= {f"{cf}_imputed" for cf in self.imputed}
        for cf in self.samples:
            wanted |= {*new_names(cf, self.cfs[cf].domain.values, "soft")}
        table = self._read(frame, wanted)
        problems = Problems(self.name, self.schema, first_row=first_row)
        needed = [*self.cfs, *self.asked.columns.values(), *self.schema.group]
        usable_columns(table, needed, problems, lists=self.schema.complementary)
        problems.raise_if_any()
        cells: dict[str, Ints] = {}
        for name, kept in self.cfs.items():
            read = Cells.of(table[name], self.schema)
            made = encode_cf(read, kept.cf, self.schema, 0, problems, domain=kept.domain)
            if made is not None and not problems:
                candidates, block = made
                if block.blocks is not None:  # how they came about is not known: as if empty
                    candidates = candidates | block.blocks[:, None]
                if kept.cf.in_blocks and not block.marked_at_random:  # exact ones neither
                    candidates = candidates | (candidates.sum(axis=1) == 1)[:, None]
                cells[name] = kept.codes(candidates, block.marked)
        group, number, weight = self._others(table, problems)
        problems.raise_if_any()
        self.rows += table.height
        self.without_group += int((group < 0).sum())
        self.without_number += 0 if number is None else int(np.isnan(number).sum())
        sums, known = self._sums(table.height, number, weight)
        keys = [np.where(known, 1, 0)]
        if self.schema.group:
            named = [Cells.of(table[one], self.schema) for one in self.schema.group]
            keys.append(lasting_groups(named, first_row))
        else:
            keys += self._equal(table, np.column_stack([*cells.values()]))
        self._count(table, cells, group, keys, sums)
        self._look_up(table, group, number, first_row - 1)
        return cells

    def _read(self, frame: Any, wanted: set[str]) -> pl.DataFrame:
        """Return the columns that are wanted, and if possible those in which copies are equal."""
        if not self.schema.group:
            try:
                return frames.as_polars(frame, name=self.name)
            except DataError:  # of a column that nobody asked for, perhaps
                pass
        return frames.as_polars(frame, wanted, name=self.name)

    def _equal(self, table: pl.DataFrame, codes: Ints) -> list[Ints]:
        """Note rows that may be copies; of copies that were found, return the numbers of groups."""
        own = {new for cf in self.schema.complementary for new in self._made_of(cf)} | {*self.cfs}
        every = [
            name
            for name in table.columns
            if name not in own and not isinstance(self.schema.columns.get(name), Identifier)
        ]
        features = {*self.schema.ordinary, *self.schema.complementary}
        ofs = hashes(table, [name for name in every if name in features])
        if self.copied is None:
            self.seen[True].add(ofs, codes)
            self.seen[False].add(hashes(table, every), codes)
            return []
        hashed = ofs if self.copied else hashes(table, every)
        return [draws.hash_rows(np.column_stack([hashed.view(np.int64), codes])).view(np.int64)]

    def _made_of(self, cf: str) -> list[str]:
        """Return the columns that `cfl impute` adds for a CF."""
        return new_names(cf, self.schema.complementary[cf].values or (), "both")

    @property
    def copies(self) -> tuple[bool, float] | None:
        """If copies show by the OFs, and how probably equal rows are copies; None: none do."""
        fitted = any(one.cf.mechanism == "fit" for one in self.cfs.values())
        if self.clustered or fitted:  # of `fit`, chance is not known
            return None
        cells = [one.candidates[:, :-1] for one in self.cfs.values()]
        mechanisms = [one.domain.mechanism for one in self.cfs.values()]
        found: tuple[bool, float] | None = None
        for by_ofs, seen in self.seen.items():
            if found is None or found[1] < SURE:
                likely = seen.copies(cells, mechanisms)
                if likely is not None and (found is None or likely > found[1]):
                    found = by_ofs, likely
        return found

    @property
    def copied_rows(self) -> int:
        """How many rows are copies of others, with which they count as one."""
        if self.copied is None:
            return 0
        keys, _ = next(iter(self.by_cf.values())).lines
        return self.rows - len(np.unique(keys[:, 3]))

    def of_rows(self, table: pl.DataFrame) -> tuple[Ints, Floats]:
        """Return the group and the number of each row of a table that was counted."""
        group, number, _ = self._others(table, Problems(self.name, self.schema))
        return group, np.full(table.height, np.nan) if number is None else number

    def _look_up(
        self, table: pl.DataFrame, group: Ints, number: Floats | None, before: int
    ) -> None:
        """Keep the looked-up rows of a block, and sums of the confidences of all its rows."""
        if self.checked is None:
            return
        ends = np.searchsorted(self.checked.rows, [before, before + table.height])
        chosen = slice(*ends.tolist())
        rows = self.checked.rows[chosen] - before
        numbers = np.full(len(rows), np.nan) if number is None else number[rows]
        for cf, sample in self.samples.items():
            found = confidences_of(table, cf, self.cfs[cf].domain.values)
            own = None if found is None else found[rows]
            sample.add(self.checked.places[cf][chosen], group[rows], numbers, own)
            if found is not None:
                sample.count(found, group)

    def _count(
        self,
        table: pl.DataFrame,
        cells: Mapping[str, Ints],
        group: Ints,
        keys: list[Ints],
        sums: Floats,
    ) -> None:
        for name, codes in cells.items():
            self.by_cf[name].add(np.column_stack([codes, group, *keys]), sums)
        for (one, other), counted in self.pairs.items():
            counted.add(np.column_stack([cells[one], cells[other], *keys[1:]]), sums)
        for name, counted in self.imputed.items():
            values = self.cfs[name].domain.values
            texts = table[f"{name}_imputed"].cast(pl.String)
            places = texts.replace_strict(
                [*values], [*range(len(values))], default=-1, return_dtype=pl.Int64
            )
            codes = places.fill_null(-1).to_numpy()
            counted.add(np.column_stack([codes, group, keys[0]]), sums)

    def _others(
        self, table: pl.DataFrame, problems: Problems
    ) -> tuple[Ints, Floats | None, Floats | None]:
        """Return the group of each row, and the columns of numbers."""
        group = np.zeros(table.height, dtype=np.int64)
        if self.asked.by is not None:
            group = self.groups.of(self._group_texts(table[self.asked.by]))
            if len(self.groups.texts) > CATEGORIES:
                text = (
                    "{option}: column {column!r} has more than {most:,} different cells: {remedy}"
                )
                facts = {"option": option("by"), "most": CATEGORIES}
                remedy = "name a column with few, such as one in bins"
                raise DataError(
                    Problem("tabulate-groups", text, column=self.asked.by, remedy=remedy, **facts)
                )
        number = weight = None
        if self.asked.mean is not None:
            number = self._numbers(table[self.asked.mean], problems)
        if self.asked.weight is not None:
            column = table[self.asked.weight]
            weight = self._numbers(column, problems)
            wrong = ~(weight >= 0)
            what = "[are|is] no weight"
            cause = Cause("tabulate-weight", what, correct="give every row 0 or more")
            problems.add_cells(column, wrong, cause)
        return group, number, weight

    def _group_texts(self, column: pl.Series) -> pl.Series:
        cells = Cells.of(column, self.schema)
        values = getattr(self.schema.columns.get(column.name), "values", None)
        if values is None:
            return cells.text.str.strip_chars(BLANKS)
        places = pl.Series(cells.codes(values))
        texts = pl.Series(values, dtype=pl.String).gather(places.clip(0))
        return texts.zip_with(places >= 0, cells.text)

    def _numbers(self, column: pl.Series, problems: Problems) -> Floats:
        cells = Cells.of(column, self.schema)
        entry = self.schema.ordinary.get(column.name)
        if column.dtype.is_numeric() or (entry is not None and entry.type == "numeric"):
            found = cells.numbers
        else:
            decimal = self.schema.file.decimal
            texts = numbers_or_plain(cells.text, decimal=decimal, unit=None)
            found = texts.fill_null(np.nan).to_numpy()
        found = np.where(cells.missing, np.nan, found)
        wrong = ~np.isfinite(found) & ~cells.missing
        what = "[are not finite numbers|is not a finite number]"
        fix = "correct [them|it]"
        change = "list [them|it] under `missing`"
        problems.add_cells(cells.shown, wrong, Cause("not-a-number", what, change, fix))
        return np.asarray(found)

    def _sums(self, rows: int, number: Floats | None, weight: Floats | None) -> tuple[Floats, Mask]:
        w = np.ones(rows) if weight is None else weight
        known, g = np.ones(rows, dtype=bool), np.zeros(rows)
        if number is not None:
            known = ~np.isnan(number)
            if self.origin is None and known.any():
                self.origin = float(number[known][0])
                self.unit = float(np.abs(number[known] - self.origin).max()) or 1.0
            g = np.where(known, (number - (self.origin or 0.0)) / self.unit, 0.0)
        sums = [np.ones(rows), w, w**2, w, w * g, w**2 * g, (w * g) ** 2]
        sums += [w**4 * g**power for power in range(5)]
        return np.column_stack(sums), known


def _domain(schema: Schema, name: str) -> Domain:
    cf = schema.complementary[name]
    if cf.values is None:
        text = (
            "column {column!r}: shares need the domain, and the schema does not list it: {remedy}"
        )
        remedy = "list all possible values under `values`"
        raise SchemaError(Problem("tabulate-domain", text, column=name, remedy=remedy))
    rates = None if cf.mechanism in (None, "fit") else np.array(cf.mechanism)
    return Domain(cf.values, rates)
