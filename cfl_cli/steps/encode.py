"""Step 1: a table and its schema become features, candidates and blocks.

Numeric OF → min-max to [0, 1]. Binary OF → 0/1. Categorical OF with K ≥ 3 → one-hot times
1/sqrt(K), so that two unequal values lie sqrt(2/K) apart. CF → a block of candidate columns.

All cells that do not fit the schema are reported together.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.groups import ranks
from cfl_cli.core.known import Known
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.steps.cells import (
    CATEGORIES,
    Cells,
    Problems,
    Ruling,
    domain,
    taken_for_whole,
    usable_columns,
)


@dataclass(frozen=True)
class Block:
    """One CF: its domain, its columns among the confidences, and what its cells hold."""

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

    @cached_property
    def mechanism(self) -> Mechanism:
        """Return how the CF's exclusions arise."""
        return Mechanism.of(len(self.values), self.rates)

    @property
    def columns(self) -> slice:
        """Return the block's columns in the candidates and the confidences."""
        return slice(self.start, self.start + len(self.values))


@dataclass(frozen=True)
class Encoded:
    """What the numeric core needs of a table, and what the report says of it."""

    features: Floats  # n × d
    candidates: Mask  # n × ΣK
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...]
    groups: Ints | None = None  # n: rows with the same number belong together; None: none do

    @cached_property
    def known(self) -> Known:
        """Return what estimators are given."""
        return Known(
            self.features,
            self.candidates,
            self.starts,
            tuple(block.mechanism for block in self.blocks),
            self.groups,
            tuple(block.marked if block.marked_at_random else None for block in self.blocks),
        )

    def some(self, rows: Ints) -> "Encoded":
        """Return some of the rows."""
        some = self.known.some(rows)
        blocks = tuple(
            block if block.marked is None else replace(block, marked=block.marked[rows])
            for block in self.blocks
        )
        return replace(
            self,
            features=some.features,
            candidates=some.candidates,
            blocks=blocks,
            groups=some.groups,
        )

    @property
    def evidence(self) -> Floats | Mask:
        """Return how likely each cell is under each value, n × ΣK, up to a factor of its own."""
        return self.known.evidence

    @cached_property
    def starts(self) -> Ints:
        """Return the first column of every block."""
        return np.array([block.start for block in self.blocks])


def encode(frame: pl.DataFrame, schema: Schema, *, name: str = "table") -> Encoded:
    """Return the encoded table, or raise one DataError with all its problems."""
    problems = Problems(name)
    used = dict.fromkeys([*schema.ordinary, *schema.complementary, *schema.group])
    usable = usable_columns(frame, used, problems)
    if frame.height < 2:
        rows = "one row" if frame.height else "no rows"
        problems.add(f"the table has {rows}; neighbors need at least two")
        usable = set()
    features, filled = [], {}
    for column, ordinary in schema.ordinary.items():
        if column not in usable:
            continue
        columns, missing = _encode_of(Cells.of(frame[column], schema), ordinary, schema, problems)
        features.extend(columns)
        if missing:
            filled[column] = missing
    candidates, blocks, warnings = [], [], []
    start = 0
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        encoded_cf = encode_cf(Cells.of(frame[column], schema), cf, schema, start, problems)
        if encoded_cf is None:
            continue
        mask, block = encoded_cf
        if cf.values is None:
            warnings.append(taken_for_whole(column, block.values))
        candidates.append(mask)
        blocks.append(block)
        start += len(block.values)
    if not problems.shown and not any(np.ptp(column) for column in features):
        problems.add(
            "all ordinary columns are constant, so all rows are equally near: "
            "mark a column that varies as ordinary"
        )
    problems.raise_if_any()
    warnings += [
        f"column {quote(column)}: {count(missing, 'missing cell')} filled in"
        for column, missing in filled.items()
    ]
    return Encoded(
        np.column_stack(features),
        np.hstack(candidates),
        tuple(blocks),
        tuple(warnings),
        _groups([Cells.of(frame[column], schema) for column in schema.group]),
    )


def _groups(columns: list[Cells]) -> Ints | None:
    """Return a number for each row, the same for equal cells in all columns; None: all differ.

    A row with a missing cell has a number of its own.
    """
    if not columns:
        return None
    groups = np.zeros(len(columns[0].missing), dtype=np.int64)
    for cells in columns:
        groups = ranks(groups * (len(cells.seen) + 1) + cells.codes(cells.seen))
    missing = np.any([cells.missing for cells in columns], axis=0)
    groups = np.where(missing, groups.max() + 1 + np.arange(len(groups)), groups)
    return groups if len(np.unique(groups)) < len(groups) else None


def _encode_of(
    cells: Cells, ordinary: Ordinary, schema: Schema, problems: Problems
) -> tuple[list[Floats], int]:
    """Return an OF's feature columns, and how many missing cells were filled in."""
    missing = int(cells.missing.sum())
    if missing and not schema.fills_missing(cells.name):
        problems.add_cells(
            cells, cells.missing, lambda _: "is missing in a column that has `on_missing: error`"
        )
    if missing == len(cells.missing):
        problems.add(f"column {quote(cells.name)}: every cell is missing: mark it `role: ignore`")
        return [], 0
    if ordinary.type == "numeric":
        return _numeric(cells, problems), missing
    return _coded(cells, ordinary, problems), missing


def _numeric(cells: Cells, problems: Problems) -> list[Floats]:
    """Return one column in [0, 1]; missing cells get the median."""
    source = cells.raw if cells.raw.dtype.is_numeric() else cells.text.str.strip_chars()
    numbers = source.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    known = ~cells.missing
    words = known & np.isnan(numbers)
    endless = known & np.isinf(numbers)
    problems.add_cells(
        cells,
        words,
        lambda _: "is not a number: correct it, list it under `missing`, or change the type",
    )
    problems.add_cells(
        cells, endless, lambda _: "is not finite: correct it or list it under `missing`"
    )
    if words.any() or endless.any():
        return []
    _, exponent = np.frexp(np.abs(numbers[known]).max())
    numbers = np.ldexp(numbers, -exponent)  # sums of huge numbers must not overflow
    numbers = np.where(known, numbers, np.median(numbers[known]))
    low, high = numbers.min(), numbers.max()
    return [(numbers - low) / (high - low) if high > low else np.zeros(len(numbers))]


def _coded(cells: Cells, ordinary: Ordinary, problems: Problems) -> list[Floats]:
    """Return a binary or categorical OF's columns; missing cells get the commonest value."""
    values = ordinary.values or tuple(cells.seen)
    codes = cells.codes(values)
    known = ~cells.missing
    if ordinary.type == "binary" and len(values) > 2:
        problems.add(
            f"column {quote(cells.name)}: {len(values):,} different values, but a binary column "
            "has two: make it categorical, or list other tokens under `missing`"
        )
        return []
    if len(values) > CATEGORIES:
        problems.add(
            f"column {quote(cells.name)}: {len(values):,} different values, but a categorical "
            f"column has at most {CATEGORIES:,}: mark it `role: ignore`, or group its values"
        )
        return []
    outside = known & (codes < 0)
    problems.add_cells(
        cells,
        outside,
        lambda text: (
            f"is not among the column's `values`{did_you_mean(text, values)}: correct it "
            "or add it there"
        ),
    )
    if outside.any():
        return []
    codes = np.where(known, codes, np.bincount(codes[known]).argmax())
    if len(values) <= 2:
        return [codes.astype(float)]
    return [(codes == code) / np.sqrt(len(values)) for code in range(len(values))]


def encode_cf(
    cells: Cells, cf: Complementary, schema: Schema, start: int, problems: Problems
) -> tuple[Mask, Block] | None:
    """Return a CF's candidate mask, n × K, and its block; None if it has no sensible domain."""
    texts = cells.seen
    rulings = [Ruling.read(text, cf) for text in texts]
    named = {value for ruling in rulings for value in ruling.values}
    values = domain(cells, cf, named.difference(schema.missing), problems)
    if values is None:
        return None
    codes = cells.codes(texts)
    wrong = np.array([not ruling.fits(values) for ruling in rulings] + [False])[codes]
    problems.add_cells(cells, wrong, lambda text: Ruling.read(text, cf).fault(values))
    masks = np.ones((len(texts) + 1, len(values)), dtype=bool)  # the last one is the empty cell's
    for code, ruling in enumerate(rulings):
        masks[code] = ruling.candidates(values)
    lists = np.array([not ruling.exact for ruling in rulings] + [False])
    marks = np.array([ruling.exact for ruling in rulings] + [False])
    excluded = (~masks).sum(axis=1)[codes][lists[codes]]
    candidates = masks[codes]
    block = Block(
        cells.name,
        values,
        start,
        exclusions_per_cell=float(excluded.mean()) if len(excluded) else 0.0,
        exact_cells=int((candidates.sum(axis=1) == 1).sum()),
        empty_cells=int(cells.missing.sum()),
        rates=None if cf.mechanism in (None, "fit") else np.array(cf.mechanism),
        marked=None if cf.exact is None else marks[codes],
        marked_at_random=cf.exact_cells == "random",
        to_be_fitted=cf.mechanism == "fit",
    )
    if block.rates is not None and not wrong.any():
        problems.add_cells(
            cells,
            np.isneginf(block.mechanism.scaled(masks)[1])[codes],
            lambda _: "is impossible under the column's `mechanism`: correct one of the two",
        )
    return candidates, block
