"""Proper draws: completed tables for multiple imputation, in the long form of R's mice.

Of each CF the held-out priors are tilted by the variables of the later analysis and fitted to the
likelihood of the cells (`trust.tilted`). Each of m imputations draws the parameters, then a value for
every cell that is not exact. Draws without the outcome of an analysis would make its slopes too
small. Where exact cells are no random sample they are not fitted: only the others are drawn.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy  # whose parts it loads when they are asked for
from threadpoolctl import threadpool_limits

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.draws import PER_NAME, chances, stream_of
from cfl_cli.core.messages import did_you_mean, option
from cfl_cli.encode.cells import Cells
from cfl_cli.encode.encode import Encoded
from cfl_cli.errors import DataError, Problem, UsageError
from cfl_cli.methods.interface import Estimate
from cfl_cli.schema.model import Identifier, Schema
from cfl_cli.tables import frames
from cfl_cli.tables.codec import Table
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.tilted import (
    FEW_VALUES,
    ROWS_PER_VALUE,
    TiltedModel,
    directions,
    holds,
    with_predictions,
)

IMPUTATION, ROW, DRAWN_WITH = ".imp", ".id", ".drawn_with"
MOST = 1000  # imputations
METHOD = (
    "graph"  # with the priors of boost, slopes by a CF of three values came out 1.4 times too large
)
# Of an outcome, by the OFs. Where it was 0.31, intervals of a CF held in 73 % of 48, and where it was
# 0.87, slopes were 0.6 of the true ones; up to 0.17 they held in 94 % of 282.
MOST_EXPLAINED = 0.25
_FEW = 10  # different numbers of a column that the schema does not call numeric: they are groups
_FOR = option("for_", python="by")


def check_draws(
    schema: Schema, names: Sequence[str], by: Sequence[str], *, name: str, method: str
) -> None:
    """Raise unless these are variables of an analysis, in a table whose CFs may be drawn."""
    wrong = []
    if method != METHOD:
        text = "draws were validated only for method {method}: {remedy}"
        way = option("method", METHOD)
        wrong.append(Problem("draws-method", text, method=METHOD, remedy=way))
    if not by:
        text = "{option}: name the columns of the analysis, especially its outcome"
        wrong.append(Problem("draws-without-for", text, option=_FOR))
    for column in by:
        facts: dict[str, Any] = {"option": _FOR, "column": column, "file": name}
        if column not in names:
            text = "{option}: {file} has no column {column!r}{near}"
            near = did_you_mean(column, names)
            wrong.append(Problem("draws-no-column", text, near=near, **facts))
        elif column in schema.complementary:
            text = "{option}: column {column!r} is a CF: {remedy}"
            remedy = "name the columns that it is analyzed with"
            wrong.append(Problem("draws-for-cf", text, remedy=remedy, **facts))
        elif isinstance(schema.columns.get(column), Identifier):
            text = (
                "{option}: column {column!r} is an identifier, which cannot help to predict a value"
            )
            wrong.append(Problem("draws-identifier", text, **facts))
    for column in {IMPUTATION, ROW, DRAWN_WITH} & {*names}:
        text = "{file}: column {column!r} has the name of a column that is added: rename it"
        wrong.append(Problem("draws-column", text, file=name, column=column))
    if wrong:
        raise UsageError(*wrong)
    sizes = ((cf, len(one.values or ())) for cf, one in schema.complementary.items())
    if too_large := [_too_many(cf, size) for cf, size in sizes if size > FEW_VALUES]:
        raise DataError(*too_large)


@dataclass(frozen=True, eq=False)
class DrawnCf:
    name: str
    values: tuple[str, ...]
    known: Ints  # n: the place of the value of exact cells, −1 of others
    places: tuple[Any, ...]  # n, of each imputation: a byte a row

    def column(self, imputation: int, part: slice) -> pl.Series:
        places = self.places[imputation - 1] if imputation else self.known
        found = pl.Series(places[part])
        values = pl.Series(self.values, dtype=pl.String).gather(found.clip(0))
        return values.set(found < 0, None).rename(self.name)


@dataclass(frozen=True, eq=False)
class Draws:
    cfs: tuple[DrawnCf, ...]
    number: int
    by: tuple[str, ...]

    @property
    def warning(self) -> str:
        return (
            f"values were drawn with {', '.join(self.by)}: analyze all draws and pool the results, "
            f"and do not train a predictor of {' or '.join(self.by)} on them"
        )

    def frames(self, blocks: Callable[[], Iterable[Table]]) -> Iterator[tuple[Any, Table | None]]:
        """Yield the table as observed, beside its blocks of rows, then each completed one."""
        for imputation in range(self.number + 1):
            for block in blocks():
                yield self._completed(block, imputation), None if imputation else block

    def _completed(self, block: Table, imputation: int) -> Any:
        rows = frames.height(block.frame)
        part = slice(block.first, block.first + rows)
        own = [
            pl.Series(IMPUTATION, np.full(rows, imputation)),
            pl.Series(ROW, np.arange(part.start + 1, part.stop + 1)),
            pl.Series(DRAWN_WITH, [", ".join(self.by)], dtype=pl.String).new_from_index(0, rows),
        ]
        filled = frames.replace(block.frame, [cf.column(imputation, part) for cf in self.cfs])
        order = [IMPUTATION, ROW, *frames.names(block.frame), DRAWN_WITH]
        return frames.append(filled, own).select(order)


@dataclass(frozen=True, eq=False)
class Drawable:
    """What was learned of a table, of which values can be drawn."""

    encoded: Encoded
    estimate: Estimate
    schema: Schema
    seed: int
    method: str
    name: str

    def draw(self, column_of: Callable[[str], pl.Series], number: int, by: Sequence[str]) -> Draws:
        """Return draws, or raise DataError with all CFs whose draws are not good enough.

        The first draws are the same whatever `number` is.
        """
        with threadpool_limits(limits=1):  # more threads would change last digits
            named = [column_of(one) for one in by]
            tilts, groups = _variables(named, self.schema, self.encoded.features)
            drawn, problems = [], list[Problem]()
            for place in range(len(self.encoded.blocks)):
                facts = ColumnFacts(self.encoded, self.estimate, place)
                try:
                    drawn.append(self._of_cf(facts, tilts, groups, number))
                except DataError as error:
                    problems += error.problems
        if problems:
            raise DataError(*problems)
        return Draws(tuple(drawn), number, tuple(by))

    def _of_cf(
        self, facts: ColumnFacts, tilts: Floats, groups: dict[str, Ints], number: int
    ) -> DrawnCf:

        block, hidden = facts.block, facts.hidden_cells
        size, name = len(block.values), block.name
        single = block.mechanism.leaves(facts.candidates).sum(axis=1) == 1
        known = np.where(single, facts.candidates.argmax(axis=1), -1)
        if single.all():
            return DrawnCf(name, block.values, known, (known,) * number)
        if size > FEW_VALUES:
            raise DataError(_too_many(name, size))
        if facts.mechanism_refuted:
            text = "column {column!r}: its exclusions are not as its mechanism says, so nothing is drawn"
            raise DataError(
                Problem("draws-refuted", f"{text}: {{remedy}}", column=name, remedy=_OUT)
            )
        estimated = facts.estimate.hidden
        if hidden is None or estimated is None or len(estimated.rows) < len(known):
            text = (
                "column {column!r}: draws need a prediction of every cell from other rows: {remedy}"
            )
            remedy = f"add {option('folds', 5)}"
            raise DataError(Problem("draws-not-held-out", text, column=name, remedy=remedy))
        order = np.argsort(estimated.rows)
        fitted = np.ones(len(known), dtype=bool)
        if block.marked is not None and not block.marked_at_random:
            fitted = ~block.marked
        says = fitted & ~facts.candidates.all(axis=1)
        _check_rows(name, size, says, groups)
        units = None if hidden.groups is None else hidden.groups[order][fitted]
        evidence = facts.evidence[fitted].astype(float)
        everyone = np.zeros(len(evidence), dtype=np.int64)
        f = facts.block.mechanism.unbiased(self.encoded.known.drawn[:, block.columns])[fitted]
        of_ofs = directions(self.encoded.features[fitted], f[:, :-1])
        numbers = np.hstack([tilts[fitted], of_ofs])
        model = TiltedModel.fit(
            hidden.prior[order][fitted], evidence, everyone, units, numbers=numbers
        )
        _check_shares(name, block.values, model, says[fitted])
        places, stream = [], stream_of(f"draws of {name}")
        rows, parameters = np.flatnonzero(fitted), np.arange(len(model.theta))
        for imputation in range(number):
            uniform = chances(parameters, stream + PER_NAME // 2 + imputation, self.seed)
            chance = chances(rows, stream + imputation, self.seed)
            drawn = known.copy()
            drawn[rows] = model.drawn(evidence, scipy.special.ndtri(uniform + 2.0**-54), chance)
            places.append(np.where(single, known, drawn).astype(np.int8))
        return DrawnCf(name, block.values, known, tuple(places))


_OUT = "mark it `role: ignore` to draw the other CFs"


def _too_many(column: str, size: int) -> Problem:
    text = (
        "column {column!r} has {size} values, but draws were validated only for at most "
        "{most}: {remedy}"
    )
    return Problem(
        "draws-values",
        text,
        column=column,
        size=size,
        most=FEW_VALUES,
        remedy=f"merge some, or {_OUT}",
    )


def _check_rows(column: str, size: int, says: Mask, groups: dict[str, Ints]) -> None:
    least = ROWS_PER_VALUE * max(size - 2, 1)
    text = "column {column!r}: {rows:,} of its cells rule out a value{where}, but draws need at least {least:,}"
    facts: dict[str, Any] = {"column": column, "least": least}
    if says.sum() < least:
        raise DataError(Problem("draws-few-rows", text, rows=int(says.sum()), where="", **facts))
    for variable, codes in groups.items():
        rows = int(np.bincount(codes[says & (codes >= 0)], minlength=1).min())
        if codes.max(initial=-1) >= 0 and rows < least:
            where = " in the smallest group of {variable!r}"
            raise DataError(
                Problem(
                    "draws-few-rows",
                    text.replace("{where}", where) + ": merge groups, or analyze without it",
                    rows=rows,
                    variable=variable,
                    **facts,
                )
            )


def _check_shares(column: str, values: Sequence[str], model: TiltedModel, says: Mask) -> None:
    rows = float(says.sum())
    for place, value in enumerate(values):
        if not holds(len(values), rows, model.share(place, says).value or 0.0):
            text = "column {column!r}: value {value!r} is too rare for draws from {rows:,} cells: {remedy}"
            facts: dict[str, Any] = {"column": column, "value": value, "rows": int(rows)}
            remedy = f"merge it with another, or {_OUT}"
            raise DataError(Problem("draws-rare", text, remedy=remedy, **facts))


def _variables(
    columns: Sequence[pl.Series], schema: Schema, features: Floats
) -> tuple[Floats, dict[str, Ints]]:
    """Return the variables as numbers, n × q, and of those that are groups the group of each row.

    Beside each are its prediction by the OFs and the product, but for those that are OFs themselves.
    """
    found, groups = [], {}
    for column in columns:
        tilts: list[Any] = []
        cells = Cells.of(column, schema)
        numbers = _numbers(cells, schema)
        if numbers is None:
            texts = cells.text.fill_null("") if cells.missing.all() else cells.text
            seen = sorted(texts.drop_nulls().unique().to_list())
            codes = texts.replace_strict(
                seen, [*range(len(seen))], default=-1, return_dtype=pl.Int64
            )
            places = groups[column.name] = np.asarray(codes.fill_null(-1).to_numpy())
            common = np.bincount(places[places >= 0]).argmax()
            tilts += [places == one for one in range(-1, len(seen)) if one != common]
        else:
            absent = np.isnan(numbers)
            tilts += [numbers, absent]
        varying = [one.astype(float) for one in tilts if np.nanstd(one.astype(float)) > 0]
        if varying:
            own = np.column_stack(varying)
            if column.name not in schema.ordinary:
                own = with_predictions(own, features)
                _check_explained(column.name, own)
            found.append(own)
    rows = len(columns[0]) if columns else 0
    return np.column_stack(found) if found else np.zeros((rows, 0)), groups


def _check_explained(column: str, tilts: Floats) -> None:
    """Raise if the OFs nearly decide a column; `tilts` as `with_predictions` returns them."""
    explained = [1 - float(np.nanvar(y - m)) for y, m, _ in tilts.T.reshape(-1, 3, len(tilts))]
    if max(explained) > MOST_EXPLAINED:
        text = (
            "{option}: the OFs explain {share:.0%} of the variance of {column!r}, and draws are valid "
            "for at most {most:.0%}: {remedy}"
        )
        facts: dict[str, Any] = {"share": max(explained), "most": MOST_EXPLAINED, "option": _FOR}
        remedy = "leave OFs that follow from it out of the schema, or use `cfl tabulate`"
        raise DataError(Problem("draws-decided", text, column=column, remedy=remedy, **facts))


def _numbers(cells: Cells, schema: Schema) -> Floats | None:
    """Return a column as numbers, NaN where they are missing; None: it says groups."""
    kind = getattr(schema.ordinary.get(cells.name), "type", None)
    if kind == "date":
        return cells.days
    if kind not in (None, "numeric"):
        return None
    found = np.where(cells.missing, np.nan, cells.numbers)
    known = found[~cells.missing]
    if not np.isfinite(known).all() or (kind is None and len(np.unique(known)) <= _FEW):
        return None
    return found if np.isfinite(found).any() else None
