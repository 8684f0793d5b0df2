"""Step 1: a table and its schema become features, candidates and blocks.

Numeric OF → min-max to [0, 1]. Binary OF → 0/1. Categorical OF with K ≥ 3 → one-hot times
1/sqrt(K), so that two unequal values lie sqrt(2/K) apart. CF → a block of candidate columns.

Every cell that does not fit the schema is found before anything is refused.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.known import Known
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.errors import PROBLEMS_SHOWN, DataError
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.tables.frames import has_text, type_name

CATEGORIES = 1000  # values that an OF may have, and a CF whose domain is not listed


@dataclass(frozen=True)
class Block:
    """One CF: its domain, its columns among the confidences, and what its cells hold."""

    name: str
    values: tuple[str, ...]
    start: int
    exclusions_per_cell: float  # mean over the cells that list exclusions
    exact_cells: int
    empty_cells: int
    rates: Floats | None = None  # of the mechanism, where the schema tells one

    @cached_property
    def mechanism(self) -> Mechanism:
        """Return how the CF's exclusions arise."""
        return Mechanism(len(self.values)) if self.rates is None else Mechanism.of(self.rates)

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
    filled: dict[str, int]  # missing cells filled in, per OF
    warnings: tuple[str, ...]

    @cached_property
    def known(self) -> Known:
        """Return what estimators are given."""
        mechanisms = tuple(block.mechanism for block in self.blocks)
        return Known(self.features, self.candidates, self.starts, mechanisms)

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
    usable = usable_columns(frame, [*schema.ordinary, *schema.complementary], problems)
    if frame.height < 2:
        rows = "one row" if frame.height else "no rows"
        problems.add(f"the table has {rows}; neighbors need at least two")
        usable = set()
    features, filled = [], {}
    for column, of in schema.ordinary.items():
        if column not in usable:
            continue
        encoded, missing = _encode_of(Cells.of(frame[column], schema), of, schema, problems)
        features.extend(encoded)
        if missing:
            filled[column] = missing
    candidates, blocks, warnings = [], [], []
    start = 0
    for column, cf in schema.complementary.items():
        if column not in usable:
            continue
        found = encode_cf(Cells.of(frame[column], schema), cf, schema, start, problems)
        if found is None:
            continue
        mask, block = found
        if cf.values is None:
            warnings.append(taken_for_whole(column, block.values))
        candidates.append(mask)
        blocks.append(block)
        start += len(block.values)
    if not problems.shown and not any(np.ptp(column) for column in features):
        problems.add(
            "all ordinary columns are constant, so no row is nearer than another: "
            "mark a column that varies as ordinary"
        )
    problems.raise_if_any()
    warnings += [
        f"column {quote(column)}: {count:,} missing cells filled in"
        for column, count in filled.items()
    ]
    return Encoded(
        np.column_stack(features), np.hstack(candidates), tuple(blocks), filled, tuple(warnings)
    )


class Problems:
    """What is wrong with a table: the first few in words, the rest as a count."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.shown: list[str] = []
        self.more = 0

    def add(self, message: str) -> None:
        """Note a problem of the whole table."""
        self._note(f"{self.name}: {message}")

    def add_cells(self, cells: "Cells", wrong: Mask, what: Callable[[str], str]) -> None:
        """Note a problem of every cell of a column that `wrong` marks; `what(text)` follows it."""
        rows = np.flatnonzero(wrong)
        for row in rows[:PROBLEMS_SHOWN]:
            text = cells.raw.slice(row, 1).cast(pl.String).item() or ""
            self._note(
                f"{self.name}: row {row + 1}, column {quote(cells.name)}: "
                f"{quote(text) if text else 'an empty cell'} {what(text)}"
            )
        self.more += max(0, len(rows) - PROBLEMS_SHOWN)

    def _note(self, message: str) -> None:
        if len(self.shown) < PROBLEMS_SHOWN:
            self.shown.append(message)
        else:
            self.more += 1

    def raise_if_any(self) -> None:
        """Raise a DataError if anything was noted."""
        if self.shown:
            raise DataError(*self.shown, more=self.more)


@dataclass(frozen=True)
class Cells:
    """A column as text, null where the schema says that the cell holds nothing."""

    name: str
    raw: pl.Series
    text: pl.Series

    @classmethod
    def of(cls, column: pl.Series, schema: Schema) -> "Cells":
        """Return the column's cells, typed by nothing yet."""
        text = column.cast(pl.String)
        missing = text.is_in(list(schema.missing)) | text.is_null()
        if column.dtype.is_float():
            missing |= column.is_nan()  # how pandas writes a missing number
            tokens = pl.Series(schema.missing).cast(pl.Float64, strict=False).drop_nulls()
            missing |= column.is_in(tokens.to_list())  # "-999" stands for -999.0 too
        blank = pl.Series(column.name, [None], dtype=pl.String)
        return cls(column.name, column, text.zip_with(~missing.fill_null(value=True), blank))

    @cached_property
    def missing(self) -> Mask:
        """Return which cells hold nothing."""
        return self.text.is_null().to_numpy()

    @cached_property
    def seen(self) -> list[str]:
        """Return the different texts of cells that hold something, sorted by code point."""
        return sorted(self.text.drop_nulls().unique().to_list())

    def codes(self, values: Sequence[str]) -> Ints:
        """Return every cell's place in `values`, −1 if it is missing or not among them."""
        places = self.text.replace_strict(
            list(values), list(range(len(values))), default=-1, return_dtype=pl.Int64
        )
        return places.fill_null(-1).to_numpy()


def usable_columns(frame: pl.DataFrame, listed: Iterable[str], problems: Problems) -> set[str]:
    """Return which of the columns that a schema lists can be read; note those that cannot."""
    usable = set()
    for column in listed:
        if column not in frame.columns:
            problems.add(
                f"there is no column {quote(column)}, which the schema lists"
                f"{did_you_mean(column, frame.columns)}"
            )
        elif not has_text(frame[column].dtype):
            kind = type_name(frame[column].dtype)
            problems.add(
                f"column {quote(column)} holds {kind}, not text or numbers: mark it `role: ignore`"
            )
        else:
            usable.add(column)
    return usable


def domain(
    cells: Cells, cf: Complementary, named: Iterable[str], problems: Problems
) -> tuple[str, ...] | None:
    """Return a CF's domain, in lack of one the values `named`; None if these make no domain."""
    values = cf.values or tuple(sorted(named))
    if cf.values is None and not 2 <= len(values) <= CATEGORIES:
        problems.add(
            f"column {quote(cells.name)}: {count(len(values), 'different value')} seen, but a "
            f"domain that is left out must show 2 to {CATEGORIES:,}: list all possible ones under "
            "`values`"
        )
        return None
    return values


def taken_for_whole(cf: str, values: Sequence[str]) -> str:
    """Return the warning about a domain that the schema leaves out."""
    return (
        f"column {quote(cf)}: the schema gives no values, so the {len(values)} seen are taken for "
        "the whole domain; list them under `values`"
    )


def _encode_of(
    cells: Cells, of: Ordinary, schema: Schema, problems: Problems
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
    columns = _numeric(cells, problems) if of.type == "numeric" else _coded(cells, of, problems)
    return columns, missing


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


def _coded(cells: Cells, of: Ordinary, problems: Problems) -> list[Floats]:
    """Return a binary or categorical OF's columns; missing cells get the commonest value."""
    values = of.values or tuple(cells.seen)
    codes = cells.codes(values)
    known = ~cells.missing
    if of.type == "binary" and len(values) > 2:
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
    excluded = (~masks).sum(axis=1)[codes][lists[codes]]
    candidates = masks[codes]
    block = Block(
        cells.name,
        values,
        start,
        exclusions_per_cell=float(excluded.mean()) if len(excluded) else 0.0,
        exact_cells=int((candidates.sum(axis=1) == 1).sum()),
        empty_cells=int(cells.missing.sum()),
        rates=None if cf.mechanism is None else np.array(cf.mechanism),
    )
    if block.rates is not None and not wrong.any():
        problems.add_cells(
            cells,
            np.isneginf(block.mechanism.scaled(masks)[1])[codes],
            lambda _: "is impossible under the column's `mechanism`: correct the one or the other",
        )
    return candidates, block


@dataclass(frozen=True)
class Ruling:
    """What one CF cell says: it rules these values out or, if exact, all others."""

    values: tuple[str, ...]
    exact: bool

    @classmethod
    def read(cls, text: str, cf: Complementary) -> "Ruling":
        """Read a cell by the CF's marks."""
        if cf.exact is not None and text.startswith(cf.exact):
            return cls((text.removeprefix(cf.exact),), exact=True)
        parts = text.split(cf.separator) if cf.separator is not None else [text]
        return cls(tuple(parts), exact=False)

    def candidates(self, values: Sequence[str]) -> list[bool]:
        """Return which domain values the cell leaves possible."""
        return [(value in self.values) == self.exact for value in values]

    def fits(self, values: Sequence[str]) -> bool:
        """Return whether the cell names values of the domain only, and leaves one possible."""
        return all(value in values for value in self.values) and any(self.candidates(values))

    def fault(self, values: Sequence[str]) -> str:
        """Return why the cell does not fit, to follow its text in a message."""
        for value in self.values:
            if value not in values:
                alone = self.values == (value,) and not self.exact
                return (
                    f"{'is' if alone else f'names {quote(value)}, which is'} not in the domain"
                    f"{did_you_mean(value, values)}: correct it or add it to the column's `values`"
                )
        return "rules out the whole domain: leave at least one value"
