"""Step 1: a table and its schema become features, candidates and blocks.

Numeric OF → min-max to [0, 1]. Binary OF → 0/1. Categorical OF with K ≥ 3 → one-hot times
1/sqrt(K), so that two unequal values lie sqrt(2/K) apart. Ordered OF → equally spaced from 0 to 1.
Date OF → a number, and two features for each cycle. CF → a block of candidate columns.

What that takes is fitted to a table (`encoding`), and new rows are encoded by it. All cells that do
not fit the schema are reported together.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask, best, ranks, significant, start
from cfl_cli.core.dataset import Known
from cfl_cli.core.exclusions import Mechanism, distinct
from cfl_cli.core.messages import command, did_you_mean, option, quote
from cfl_cli.core.state import State, StateError
from cfl_cli.encode.cells import (
    Cells,
    domain_values,
    kept_values,
    taken_for_whole,
    usable_columns,
    used_columns,
)
from cfl_cli.encode.columns import (
    LEAST_SHARE,
    LEVEL,
    FittedDates,
    FittedNumbers,
    FittedOrdinary,
    Unusual,
    fit_column,
    is_running,
    restored,
)
from cfl_cli.encode.diagnose import cf_causes, cf_warnings, of_warnings, required
from cfl_cli.encode.findings import Cause, Finding, Problems
from cfl_cli.errors import DataError, Problem, UserText, Warned
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.tables.codec import Columns
from cfl_cli.texts import BLANKS

AT_RANDOM, IN_BLOCKS = "at-random", "in-blocks"  # how cells came about
JOINED = "|"  # between values that no cell tells apart
_LEAST_SHARE = 1e-12  # of a value that a cell names, though it is known to be 0

# What was fitted of a table's columns, by which any rows are encoded: later ones like the first.
#
#     of each OF   its range, fences and median, or its categories and the commonest of them
#     of each CF   its domain, and how its exclusions arise
#
# What the schema says already is not kept once more.

Column = TypeVar("Column")
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class Domain:
    """A CF's values, in order, and the rates of its mechanism; None: exclusions are uniform."""

    values: tuple[str, ...]
    rates: Floats | None = None  # K × K
    alike: Ints | None = None  # K: values of the same number were never told apart; None: all were

    @cached_property
    def mechanism(self) -> Mechanism:
        return Mechanism.of(len(self.values), self.rates)


@dataclass(frozen=True, eq=False)
class Encoding:
    ordinary: Mapping[str, FittedOrdinary]
    domains: Mapping[str, Domain]  # of the CFs

    @property
    def width(self) -> int:
        return sum(fitted.width for fitted in self.ordinary.values())

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        return tuple(domain.mechanism for domain in self.domains.values())

    def beyond_chance(self, unusual: Unusual) -> tuple[str, ...]:
        """Return the OFs in which new rows are unusual beyond chance, and often enough to matter.

        Rows that are like the fitted ones have such an OF with a probability of LEVEL at most.
        """
        level = LEVEL / max(len(self.ordinary), 1)
        return tuple(
            name
            for name, counts in unusual.columns.items()
            if counts.share >= LEAST_SHARE and self.ordinary[name].chance(counts) <= level
        )

    def facts(self, schema: Schema) -> dict[str, Any]:
        kept: dict[str, Any] = {"ordinary": {}, "complementary": {}}
        for name, fitted in self.ordinary.items():
            of = schema.ordinary[name]
            kept["ordinary"][name] = _facts(asdict(fitted), values=of.values, cycle=of.cycle)
        for name, cf in self.domains.items():
            said = schema.complementary[name]
            rates = None if cf.rates is None else cf.rates.tolist()
            facts = {"values": cf.values, "rates": rates}
            if cf.alike is not None:
                facts["alike"] = cf.alike.tolist()
            given = None if said.mechanism == "fit" else said.mechanism
            kept["complementary"][name] = _facts(facts, values=said.values, rates=given)
        return kept

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], schema: Schema) -> "Encoding":
        """Return what was fitted, or raise StateError if nothing can have had these facts."""
        ordinary = _read_facts(facts, "ordinary", schema.ordinary, restored, schema)
        domains = _read_facts(facts, "complementary", schema.complementary, _domain, schema)
        if not any(fitted.varies for fitted in ordinary.values()):
            raise StateError("all ordinary columns are constant")
        encoding = cls(ordinary, domains)
        if encoding.facts(schema) != facts:
            raise StateError("it holds more than what is fitted of the columns")
        return encoding


def _facts(facts: dict[str, Any], **given: object) -> dict[str, Any]:
    return {
        name: [*fact] if isinstance(fact, tuple) else fact
        for name, fact in facts.items()
        if fact is not None and given.get(name) is None
    }


def _read_facts(
    facts: Mapping[str, Any],
    kind: str,
    columns: Mapping[str, Column],
    read: Callable[[State, Column, Schema], Read],
    schema: Schema,
) -> dict[str, Read]:
    kept = State(facts=facts).fact(kind, dict)
    if kept.keys() != columns.keys():
        raise StateError(f"the {kind} columns are not those of the schema")
    found = {}
    for name, column in columns.items():
        try:
            if not isinstance(kept[name], dict):
                raise StateError("it has no facts")
            found[name] = read(State(facts=kept[name]), column, schema)
        except StateError as error:
            raise StateError(f"column {quote(name)}: {error}") from None
    return found


def _domain(facts: State, cf: Complementary, schema: Schema) -> Domain:
    values = kept_values(facts, cf, schema)
    if len(values) < 2:
        raise StateError("its domain has less than two values")
    given = None if cf.mechanism in (None, "fit") else np.array(cf.mechanism)
    kept, alike = facts.facts.get("rates"), facts.facts.get("alike")
    if alike is not None:
        places = np.array(facts.fact("alike", list))
        if places.shape != (len(values),) or not np.array_equal(places, ranks(places)):
            raise StateError("its values are not told apart as in any table")
        return Domain(values, given, places)
    if kept is None or given is not None:
        return Domain(values, given)
    rows = facts.fact("rates", list)
    square = len(rows) == len(values) and all(
        isinstance(row, list)
        and len(row) == len(values)
        and all(isinstance(rate, float) for rate in row)
        for row in rows
    )
    if cf.mechanism != "fit" or not square:
        raise StateError("its rates are not those of a mechanism that was to be fitted")
    domain = Domain(values, np.array(rows))
    try:
        domain.mechanism  # noqa: B018 — made now, so that rates which are none are found here
    except ValueError as error:
        raise StateError(str(error)) from None
    return domain


# Makes an array of a name, a shape and a kind.
Empty: TypeAlias = Callable[[str, tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]


@dataclass(frozen=True)
class Block:
    name: str
    values: tuple[str, ...]
    start: int
    exclusions_per_cell: float  # mean over the cells that list exclusions
    exact_cells: int
    empty_cells: int
    rates: Floats | None = None  # of the mechanism, if the schema gives one
    marked: Mask | None = None  # n: which cells have the exact mark; None: there is no such mark
    marked_at_random: bool = False  # does the schema say that they are a random sample?
    to_be_fitted: bool = False  # is its mechanism to be fitted with their help?
    listed: bool = True  # does the schema list the domain, or is it what cells hold?
    ordered: bool = False  # do its values stand in an order?
    cells: str = "exclusions"  # what cells hold: exclusions, candidates or values
    drawn: str | None = (
        None  # how cells came about: at-random, by-people, in-blocks; None: not said
    )
    blocks: Mask | None = None  # n: which cells are blocks that values lie in; None: none are
    alike: Ints | None = None  # K: values of the same number are never told apart; None: all are
    shares: Floats | None = None  # K: known ones
    lineage: tuple[tuple[str, Ints], ...] | None = None  # of a hierarchy: see `lineage`

    @cached_property
    def mechanism(self) -> Mechanism:
        return Mechanism.of(len(self.values), self.rates)

    @property
    def columns(self) -> slice:
        return slice(self.start, self.start + len(self.values))


@dataclass(frozen=True)
class Encoded:
    features: Floats  # n × d
    candidates: Mask  # n × ΣK
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...]
    groups: Ints | None = None  # n: rows with the same number belong together; None: none do
    ordinary: Mapping[str, FittedOrdinary] = field(default_factory=dict)  # by the OFs' names
    unusual: Unusual = field(default_factory=Unusual)  # what the fitted rows did not hold
    findings: tuple[Finding, ...] = ()  # the warnings, with cells of the table
    reference: int = 0  # how many of the rows, the last ones, are those of a reference
    copies_missed: bool = False  # are many rows copies of others that `groups` does not show?

    @property
    def encoding(self) -> Encoding:
        """Return what was fitted, with the mechanisms that the blocks have by now."""
        domains = {it.name: Domain(it.values, it.rates, it.alike) for it in self.blocks}
        return Encoding(self.ordinary, domains)

    @cached_property
    def known(self) -> Known:
        return Known(
            self.features,
            self.candidates,
            np.array([block.start for block in self.blocks]),
            tuple(block.mechanism for block in self.blocks),
            self.groups,
            tuple(block.marked if block.marked_at_random else None for block in self.blocks),
            tuple(block.blocks for block in self.blocks),
        )

    def some(self, rows: Ints) -> "Encoded":
        some = self.known.some(rows)
        blocks = tuple(
            replace(
                block,
                marked=None if block.marked is None else block.marked[rows],
                blocks=None if block.blocks is None else block.blocks[rows],
            )
            for block in self.blocks
        )
        features, candidates, groups = some.features, some.candidates, some.groups
        return replace(self, features=features, candidates=candidates, blocks=blocks, groups=groups)


def features_of(encoded: Encoded) -> dict[str, slice]:
    widths = [fitted.width for fitted in encoded.ordinary.values()]
    ends = np.cumsum(widths).tolist()
    places = zip(encoded.ordinary, widths, ends, strict=True)
    return {name: slice(end - width, end) for name, width, end in places}


def running(encoded: Encoded) -> tuple[str, ...]:
    """Return a warning for each OF that grows with the rows: all later rows lie beyond it."""
    found = []
    for name, own in features_of(encoded).items():
        fitted = encoded.ordinary[name]
        if not isinstance(fitted, FittedNumbers | FittedDates) or not fitted.varies:
            continue
        if is_running(encoded.features[:, own.start], dates=isinstance(fitted, FittedDates)):
            text = (
                f"column {quote(name)}: it grows or falls from row to row, so later rows will lie "
                "outside the fitted range, where the model learned nothing: mark it `role: ignore`, "
                "and put useful parts, such as the weekday, into a separate column"
            )
            found.append(Warned(text, "running", name))
    return tuple(found)


def encode(
    frame: Columns,
    schema: Schema,
    *,
    name: str = "table",
    encoding: Encoding | None = None,
    first_row: int = 1,
    empty: Empty | None = None,
) -> Encoded:
    """Return the encoded rows, or raise one DataError with all their problems.

    Columns of `frame` are asked for one at a time, and features and candidates are put into arrays
    that `empty` makes; so neither the table nor these need be in memory.
    Without an `encoding` it is fitted to the rows. With one they may be any new rows, also one or
    none, a block of a larger table in which `first_row` is the number of the first of them.
    """
    problems = Problems(name, schema, first_row=first_row, model=encoding is not None)
    usable = usable_columns(frame, used_columns(schema), problems, lists=schema.complementary)
    if encoding is None and frame.height < 2:
        rows = "one row" if frame.height else "no rows"
        problems.add("few-rows", f"the table has {rows}, too few to estimate from", "add rows")
        usable = set()
    features: list[npt.NDArray[Any]] = []
    candidates: list[npt.NDArray[Any]] = []
    ordinary, counts = {}, {}
    for column in schema.ordinary:
        if column not in usable:
            continue
        cells = Cells.of(frame[column], schema)
        of = schema.ordinary[column]
        if (of.on_missing or schema.on_missing) == "error":
            problems.add_cells(cells.shown, cells.missing, required(column))
        fitted = encoding.ordinary[column] if encoding else fit_column(cells, of, problems)
        if fitted is not None and (found := fitted.features(cells, problems)) is not None:
            ordinary[column] = fitted
            problems.warn(of_warnings(cells, schema, varies=fitted.varies))
            features.append(found[0])
            counts[column] = found[1]
    blocks, start = [], 0
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        domain = None if encoding is None else encoding.domains[column]
        cells = Cells.of(frame[column], schema)
        encoded_cf = encode_cf(cells, cf, schema, start, problems, domain=domain)
        if encoded_cf is None:
            continue
        mask, block = encoded_cf
        if cf.values is None and domain is None:
            problems.warn([taken_for_whole(column, block.values)])
        candidates.append(mask)
        blocks.append(block)
        start += len(block.values)
    problems.raise_if_any()
    if not any(fitted.varies for fitted in ordinary.values()):
        what = "all ordinary columns are constant, so all rows look the same"
        problems.add("all-constant", what, "set `role: ordinary` for a column that varies")
        problems.raise_if_any()
    unusual = Unusual(counts)
    findings = tuple(problems.warnings) + tuple(
        Finding(key, words, "", column, number, warning=True)
        for key, column, number, words in unusual.said
    )
    groups = None
    if schema.group:
        named = [Cells.of(frame[column], schema) for column in schema.group]
        groups = _groups(named) if encoding is None else lasting_groups(named, first_row)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for key, parts in {"features": features, "candidates": candidates}.items():
        ends, kind = np.cumsum([part.shape[1] for part in parts]), parts[0].dtype
        shape = (len(parts[0]), int(ends[-1]))
        whole = arrays[key] = empty(key, shape, kind) if empty else np.empty(shape, kind)
        for end in ends[::-1]:  # the parts are given up one by one
            part = parts.pop()
            whole[:, end - part.shape[1] : end] = part
    said = tuple(finding.for_report for finding in findings)
    both = arrays["features"], arrays["candidates"]
    return Encoded(*both, tuple(blocks), said, groups, ordinary, unusual, findings)


def _groups(columns: list[Cells]) -> Ints | None:
    """Return a number for each row, the same for equal cells in all columns; None: all differ.

    A row with a missing cell has a number of its own.
    """
    groups = np.zeros(len(columns[0].missing), dtype=np.int64)
    for cells in columns:
        groups = ranks(groups * (len(cells.named) + 1) + cells.codes(cells.named))
    missing = np.any([cells.missing for cells in columns], axis=0)
    groups = np.where(missing, groups.max() + 1 + np.arange(len(groups)), groups)
    return groups if len(np.unique(groups)) < len(groups) else None


def lasting_groups(columns: list[Cells], first_row: int) -> Ints:
    """Return a number for each row, the same for equal cells in all columns, in any block of rows.

    It is a part of the cells' SHA-256, and below 0 for a row with a missing cell, which has a
    number of its own.
    """
    groups = []
    rows = zip(*(cells.text.str.strip_chars(BLANKS) for cells in columns), strict=True)
    for row, texts in enumerate(rows, start=first_row):
        if None in texts:
            groups.append(-row)
            continue
        sizes = "".join(f"{len(text)}," for text in texts)  # or ("a", "bc") were ("ab", "c")
        digest = sha256(f"{sizes}{''.join(texts)}".encode()).digest()
        groups.append(int.from_bytes(digest[:8]) >> 1)
    return np.array(groups, dtype=np.int64)


def encode_cf(
    cells: Cells,
    cf: Complementary,
    schema: Schema,
    start: int,
    problems: Problems,
    *,
    domain: Domain | None = None,
) -> tuple[Mask, Block] | None:
    """Return a CF's candidate mask, n × K, and its block; None if it has no sensible domain.

    `domain` is the fitted one, if there is one.
    """
    texts, fitting = cells.seen, domain is None
    if domain is None:
        read = (cells.ruling(text, cf) for text in (texts if cf.values is None else ()))
        named = {value.strip(BLANKS) for ruling in read for value in ruling.values}
        missing = schema.missing_in(cells.name)
        listed = domain_values(cells, cf, named.difference(missing), problems)
        if listed is None:
            return None
        given = None if cf.mechanism in (None, "fit") else np.array(cf.mechanism)
        domain = Domain(listed, given)
    values, match = domain.values, cells.matcher(domain.values)
    rulings = [cells.ruling(text, cf, match) for text in texts]
    codes = cells.codes(texts)
    wrong = np.array([not ruling.fits(values) for ruling in rulings] + [False])[codes]
    if wrong.any():
        problems.add_cells(
            cells.shown, wrong, lambda found: cf_causes(found, cells, values, schema)
        )
    masks = np.ones((len(texts) + 1, len(values)), dtype=bool)  # the last one is the empty cell's
    for code, ruling in enumerate(rulings):
        masks[code] = [(value in ruling.values) == ruling.exact for value in values]
    lists = np.array([not ruling.exact for ruling in rulings] + [False])
    left = masks.sum(axis=1)
    single = np.array([len(ruling.values) == 1 and ruling.exact for ruling in rulings] + [False])
    marks = np.array([ruling.exact for ruling in rulings] + [False])
    if cf.holds_candidates:
        lists, marks = ~single & (left < len(values)), single
    of_block = np.array([ruling.block for ruling in rulings] + [False])
    if cf.drawn == IN_BLOCKS:
        of_block = left > 1
    of_block &= (left > 1) & (left < len(values))
    excluded = (~masks).sum(axis=1)[codes][lists[codes]]
    candidates = masks[codes]
    blocks = of_block[codes] if of_block.any() else None
    if fitting and blocks is not None:
        domain = replace(domain, alike=told_apart(masks[:-1]))
    random = cf.holds_candidates and cf.exact_cells == "random"
    block = Block(
        cells.name,
        values,
        start,
        exclusions_per_cell=float(excluded.mean()) if len(excluded) else 0.0,
        exact_cells=0 if cf.noisy else int((candidates.sum(axis=1) == 1).sum()),
        empty_cells=int(cells.missing.sum()),
        rates=domain.rates,
        marked=None if cf.exact is None and not random else marks[codes],
        marked_at_random=cf.exact_cells == "random",
        to_be_fitted=cf.mechanism == "fit",
        listed=cf.values is not None,
        ordered=bool(cf.ordered),
        cells="values" if cf.noisy else "candidates" if cf.holds_candidates else "exclusions",
        drawn=AT_RANDOM if cf.noisy else cf.drawn,
        blocks=blocks,
        alike=domain.alike,
        shares=None if cf.shares is None else np.array([cf.shares[value] for value in values]),
        lineage=lineage(cf.hierarchy, values),
    )
    if block.rates is not None and not wrong.any():
        problems.add_cells(
            cells.shown,
            np.isneginf(block.mechanism.scaled(masks)[1])[codes],
            Cause(
                "mechanism",
                "[are|is] impossible under the column's `mechanism`",
                correct="correct [them|it]"
                if problems.model
                else "correct the cells or the mechanism",
            ),
        )
    if not wrong.any():
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        exact = marks[:-1]
        problems.warn(
            cf_warnings(cells.name, values, schema, masks=masks[:-1], counts=counts, exact=exact)
        )
    return candidates, block


# Cells that are blocks: what they never tell apart, and at which level of a hierarchy a row is sure.


def told_apart(masks: Mask) -> Ints | None:
    """Return a number for each value, K, the same for those that all cells, c × K, leave together.

    None: every value is told from all others.
    """
    alike = ranks(np.unique(masks, axis=1, return_inverse=True)[1].reshape(-1))
    return alike if len(np.unique(alike)) < len(alike) else None


def lineage(
    hierarchy: Mapping[str, Sequence[str]] | None, values: Sequence[str]
) -> tuple[tuple[str, Ints], ...] | None:
    """Return the ancestors with the places of their values, the smallest first; None: there are none."""
    if not hierarchy:
        return None
    place = {value: at for at, value in enumerate(values)}
    found = [(name, np.array([place[one] for one in some])) for name, some in hierarchy.items()]
    return tuple(sorted(found, key=lambda it: len(it[1])))


def shared_out(confidences: Floats, candidates: Mask, block: Block) -> Floats:
    """Return one CF's confidences, n × K, with what cells never tell apart divided as it is known.

    Without known shares, values that are not told apart are equally likely.
    """
    if block.alike is None:
        return confidences
    shares = np.ones(len(block.values)) if block.shares is None else block.shares
    parts = np.where(candidates, np.maximum(shares, _LEAST_SHARE), 0.0)
    of_class = class_sums(parts, block.alike)[:, block.alike]
    parts /= np.where(of_class > 0, of_class, 1)
    return np.asarray(class_sums(confidences, block.alike)[:, block.alike] * parts)


def class_sums(confidences: Floats, alike: Ints) -> Floats:
    """Return the sums over the values of each number, n × numbers."""
    return np.asarray(confidences @ (alike[:, None] == np.arange(alike.max() + 1)))


# Other rows whose values are known: they are learned from, and neither written nor judged.


def with_reference(encoded: Encoded, frame: Columns, schema: Schema, *, name: str) -> Encoded:
    """Return the encoded table with the rows of a reference behind its own.

    Cells of CFs state the value there, or candidates where it is not known better.
    """
    columns = dict(schema.columns)
    for block in encoded.blocks:
        drop = dict.fromkeys(("mechanism", "drawn", "exact", "exact_cells"))
        known = {**drop, "cells": "candidates", "values": block.values}
        columns[block.name] = schema.complementary[block.name].model_copy(update=known)
        if block.mechanism.exact == block.mechanism.size:
            text = (
                "column {column!r}: a noisy column of two values cannot hold known values: {remedy}"
            )
            remedy = f"leave {option('reference')} out"
            raise DataError(Problem("reference-noisy", text, column=block.name, remedy=remedy))
    lacking = [column for column in used_columns(schema) if column not in frame.columns]
    lacking = [column for column in lacking if column not in schema.group]
    if lacking:
        text = "{file}: column {column!r} of the schema is not in it{near}: {remedy}"
        remedy = f"add it, or leave {option('reference')} out"
        found = [(column, UserText(did_you_mean(column, frame.columns))) for column in lacking]
        raise DataError(
            *(
                Problem(
                    "reference-no-column", text, file=name, column=column, near=near, remedy=remedy
                )
                for column, near in found
            )
        )
    if frame.height == 0:
        text = "{file}: the table has no rows: {remedy}"
        remedy = f"leave {option('reference')} out"
        raise DataError(Problem("reference-empty", text, file=name, remedy=remedy))
    domains = {it.name: Domain(it.values, None, it.alike) for it in encoded.blocks}
    other_rows = encode(
        frame,
        schema.model_copy(update={"columns": columns, "group": ()}),
        name=name,
        encoding=Encoding(encoded.ordinary, domains),
    )
    candidates = np.vstack([encoded.candidates, other_rows.candidates])
    more, groups = len(other_rows.features), encoded.groups
    if groups is not None:
        groups = np.append(groups, groups.max() + 1 + np.arange(more))
    blocks = []
    for block, other in zip(encoded.blocks, other_rows.blocks, strict=True):
        marked, in_blocks, alike = block.marked, block.blocks, block.alike
        if marked is not None:
            marked = np.append(marked, np.zeros(more, dtype=bool))
        if in_blocks is not None:
            others = np.zeros(more, dtype=bool) if other.blocks is None else other.blocks
            in_blocks = np.append(in_blocks, others)
        if alike is not None:
            cells = candidates[:, block.columns]
            alike = told_apart(cells[distinct(cells)[0]])
        blocks.append(replace(block, marked=marked, blocks=in_blocks, alike=alike))
    features = np.vstack([encoded.features, other_rows.features])
    return replace(
        encoded,
        features=features,
        candidates=candidates,
        blocks=tuple(blocks),
        groups=groups,
        reference=more,
    )


# Step 5: confidences become columns.


def new_names(cf: str, values: Sequence[str], mode: str, *, ancestors: bool = False) -> list[str]:
    hard = [f"{cf}_imputed", f"{cf}_confidence"]
    hard += [f"{cf}_ancestor", f"{cf}_ancestor_confidence"] if ancestors else []
    soft = [f"{cf}__{value}" for value in values]
    return {"hard": hard, "soft": soft, "both": hard + soft}[mode]


def clashes(
    existing: Sequence[str],
    domains: Mapping[str, Sequence[str]],
    *,
    mode: str,
    ancestors: Collection[str] = (),
) -> list[str]:
    """Return which new columns' names are taken, by the table or by each other, or impossible.

    `domains` holds the values of every CF, and those in `ancestors` have a hierarchy.
    """
    taken = set(existing)
    problems = []
    names = {
        cf: new_names(cf, values, mode, ancestors=cf in ancestors) for cf, values in domains.items()
    }
    new = [name for of_cf in names.values() for name in of_cf]
    if new and taken.issuperset(new):
        there = f"column {quote(new[0])} already exists, as in the output of {command('impute')}"
        return [f"{there}: pass the original table, or rename the column"]
    for cf, values in domains.items():
        for name in names[cf]:
            if name in taken:
                there = f"column {quote(name)}, which the output adds for {quote(cf)},"
                problems.append(f"{there} would be a duplicate: rename a column of the table")
            taken.add(name)
        problems += [
            f"{quote(text)} holds a NUL character, which a column's name cannot hold"
            for text in (cf, *values)
            if "\0" in text
        ]
    return problems


def written(confidences: Floats, candidates: Mask, block: Block, kept: Collection[str]) -> Floats:
    """Return one CF's confidences, n × K; those of a CF in `kept` are all candidates alike."""
    if block.name in kept:
        return start(block.mechanism.leaves(candidates[:, block.columns]), 1)
    return shared_out(confidences[:, block.columns], candidates[:, block.columns], block)


def _at_sure_level(
    values: pl.Series,
    confidence: Floats,
    sure: Mask,
    leaf: Ints,
    own: Floats,
    block: Block,
    least: float,
) -> tuple[pl.Series, pl.Series]:
    """Return the lowest value or ancestor of each row that is so sure, and its confidence.

    The confidence of an ancestor is the sum over the values below it.
    """
    names, found, open_rows = values, confidence.copy(), ~sure
    for name, places in block.lineage or ():
        total = own[:, places].sum(axis=1)
        taken = open_rows & np.isin(leaf, places) & (total >= least)
        names = names.set(pl.Series(taken), name)
        found, open_rows = np.where(taken, total, found), open_rows & ~taken
    left = pl.Series(open_rows)
    return names.set(left, None), pl.Series(found).set(left, None)


def names_of_classes(block: Block) -> list[str]:
    """Return what values that no cell tells apart are called together, for each number."""
    alike = cast("Ints", block.alike)
    ancestors = {tuple(sorted(places.tolist())): name for name, places in block.lineage or ()}
    classes = [np.flatnonzero(alike == number) for number in range(alike.max() + 1)]
    return [
        ancestors.get(tuple(of.tolist())) or JOINED.join(block.values[place] for place in of)
        for of in classes
    ]


def named_answers(own: Floats, given: Mask, place: Ints, block: Block) -> tuple[pl.Series, Floats]:
    """Return each row's imputed value and its confidence; `place` is that of its likeliest value.

    Values that no cell tells apart, and whose shares are not known, are imputed together. A cell of
    one of them alone says which one it is.
    """
    if block.alike is None or block.shares is not None:
        values = pl.Series(block.values, dtype=pl.String)
        return values.gather(place), own[np.arange(len(own)), place]
    names, sums = names_of_classes(block), class_sums(own, block.alike)
    members = block.alike[:, None] == np.arange(len(names))
    of = best(sums, (given @ members) > 0)
    exact = given.sum(axis=1) == 1
    one = np.where(exact, len(names) + given.argmax(axis=1), of)
    values = pl.Series([*names, *block.values], dtype=pl.String)
    return values.gather(one), sums[np.arange(len(own)), of]


def shortened(columns: Sequence[pl.Series], digits: int | None) -> list[pl.Series]:
    """Return new columns whose confidences have so many significant digits; None: all of them."""
    if digits is None:
        return [*columns]
    return [
        pl.Series(one.name, significant(one.to_numpy(), digits)).set(one.is_null(), None)
        if one.dtype == pl.Float64
        else one
        for one in columns
    ]


def decode(
    confidences: Floats,
    candidates: Mask,
    blocks: Sequence[Block],
    *,
    mode: str,
    answers: Ints | None = None,
    kept: Collection[str] = (),
    min_confidence: float = 0.0,
) -> list[pl.Series]:
    """Return the new columns, CF by CF.

    `answers`, n × CFs, are places in the domains; left out, the most confident candidates are.
    CFs in `kept` are as observed: neither values nor their confidence, and candidates alike in
    soft columns. Cells of less than `min_confidence` get null for a value.
    """
    series = []
    for cf, block in enumerate(blocks):
        own = written(confidences, candidates, block, kept)
        columns: list[pl.Series] = []
        if mode != "soft" and block.name in kept:
            kinds = (pl.String, pl.Float64) * (1 if block.lineage is None else 2)
            nothing = (pl.Series([None], dtype=kind) for kind in kinds)
            columns += [one.new_from_index(0, len(own)) for one in nothing]
        elif mode != "soft":
            given = block.mechanism.leaves(candidates[:, block.columns])
            first = answers is None or block.alike is not None
            place = best(own, given) if first else cast("Ints", answers)[:, cf]
            values, confidence = named_answers(own, given, place, block)
            sure = confidence >= min_confidence
            columns += [values.set(pl.Series(~sure), None), pl.Series(confidence)]
            if block.lineage is not None:
                leaf = best(own, given)
                columns += _at_sure_level(
                    values, confidence, sure, leaf, own, block, min_confidence
                )
        if mode != "hard":
            columns += [pl.Series(np.ascontiguousarray(column)) for column in own.T]
        names = new_names(block.name, block.values, mode, ancestors=block.lineage is not None)
        named = zip(columns, names, strict=True)
        series += [column.rename(name) for column, name in named]
    return series
