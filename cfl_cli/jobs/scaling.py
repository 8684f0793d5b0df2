"""Chooses by hidden cells how numbers and dates are scaled that the schema leaves to them.

A column takes `robust` if rows that are hidden are predicted clearly better with it, and none of
the CFs clearly worse; otherwise it stays with `minmax`. Columns whose fences are their smallest and
largest cell are scaled alike by both, and need no trial; the others are tried one after the other,
each with what was chosen for those before, or all at once if they are many.

A trial is the first round on a sample of the rows, but ranges and fences are those of all rows: a
wild cell counts also where the sample lacks it. Methods that know only which of two numbers is
larger, trees and the network, keep `minmax`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cfl_cli.core import draws
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.messages import quote
from cfl_cli.core.methods import METHODS
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.quick import dataclass
from cfl_cli.core.settings import Settings
from cfl_cli.jobs.search import gain, harms, is_clear
from cfl_cli.jobs.trials import Folds, Trials
from cfl_cli.schema.columns import Scale
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells, usable_columns, used_columns
from cfl_cli.steps.dated import FittedDates
from cfl_cli.steps.encode import Encoded, encode
from cfl_cli.steps.findings import MisfitError, Problems
from cfl_cli.steps.ordinary import FittedNumbers, fit
from cfl_cli.tables.loading import Columns
from cfl_cli.trust.intervals import Gain

SAMPLE = 10_000  # rows of a trial, if there are more
MANY = 12  # columns, above which all are tried at once


@dataclass(frozen=True)
class _Both:
    """A column that fences scale otherwise, and its feature by them in the sample."""

    name: str
    place: int  # of its feature
    robust: Floats  # m


def open_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns of numbers and dates whose scale the schema leaves to hidden cells."""
    scaled = (name for name, of in schema.ordinary.items() if of.type in ("numeric", "date"))
    return tuple(name for name in scaled if schema.scale_of(name) == "auto")


def settle_scales(
    table: Columns, schema: Schema, settings: Settings, *, name: str, jobs: int | None
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema in which every column has a scale, and what to say of the choice.

    Whatever is wrong with the table is left to the run itself to report.
    """
    left = open_columns(schema)
    plain = _with(schema, dict.fromkeys(left, "minmax"))
    if not METHODS[settings.method].keeps_rows or table.height <= settings.k:
        return plain, _told(left, {})
    rows = draws.order(table.height, draws.TRIALS, settings.seed)[: max(SAMPLE, settings.k + 1)]
    try:
        encoded, differing = _sample(table, plain, left, np.sort(rows), name=name)
    except MisfitError:
        return plain, ()
    chosen = _chosen(encoded, differing, settings, jobs=jobs)
    return _with(plain, dict.fromkeys(chosen, "robust")), _told(left, chosen)


def _with(schema: Schema, scales: dict[str, Scale]) -> Schema:
    """Return the schema with the scales of some columns."""
    changed = {
        name: schema.ordinary[name].model_copy(update={"scale": scale})
        for name, scale in scales.items()
    }
    return schema.model_copy(update={"columns": {**schema.columns, **changed}})


def _sample(
    table: Columns, schema: Schema, left: Sequence[str], rows: Ints, *, name: str
) -> tuple[Encoded, list[_Both]]:
    """Return the encoded sample, and the columns whose scale matters; or raise MisfitError."""
    problems = Problems(name, _with(schema, dict.fromkeys(left, "robust")))
    used = used_columns(schema)
    usable_columns(table, used, problems, lists=schema.complementary)
    problems.raise_if_any()
    fitted, parts = {}, []
    for column in used:
        series = table[column]
        parts.append(series.gather(rows))
        if column in left:
            found = fit(Cells.of(series, schema), schema.ordinary[column], problems)
            if isinstance(found, FittedNumbers | FittedDates):
                fitted[column] = found
    problems.raise_if_any()
    some = pl.DataFrame(parts)
    encoded = encode(some, schema, name=name)
    features, differing, place = encoded.features.copy(), [], 0
    for column, own in encoded.ordinary.items():
        if (robust := fitted.get(column)) is not None:
            cells = Cells.of(some[column], schema)
            plain = replace(robust, lower=None, upper=None).features(cells, problems)
            fenced = robust.features(cells, problems)
            if plain is not None and fenced is not None:
                features[:, place] = plain[0][:, 0]
                if (robust.lower, robust.upper) != (robust.low, robust.high):
                    differing.append(_Both(column, place, fenced[0][:, 0]))
        place += own.width
    return replace(encoded, features=features), differing


def _chosen(
    encoded: Encoded, differing: Sequence[_Both], settings: Settings, *, jobs: int | None
) -> dict[str, Gain]:
    """Return the columns for which hidden cells favor fences, and how much each gains."""
    rows = draws.order(len(encoded.features), draws.TRIALS, settings.seed)
    folds = Folds.of(rows, encoded.groups)
    hidden = np.concatenate([*folds.confirming, np.empty(0, dtype=np.int64)])
    if not differing or encoded.candidates[hidden].all():
        return {}
    one_round = settings.replaced({"method": "graph", "gamma": 0.0})
    chosen: dict[str, Gain] = {}
    here, steps = encoded, [(it,) for it in differing] if len(differing) <= MANY else [differing]
    with Workers(jobs or available_cores()) as workers:

        def judged(tried: Encoded) -> Floats:
            return Trials(tried, rows, workers).tested(one_round, folds)

        scores = judged(here)
        for step in steps:
            features = here.features.copy()
            for column in step:
                features[:, column.place] = column.robust
            there = replace(here, features=features)
            other = judged(there)
            gained = gain(other, scores, mutual=folds.mutual)
            harm = harms(other, scores, mutual=folds.mutual)
            if is_clear(gained, rows=len(other)) and not harm:
                here, scores = there, other
                chosen |= {column.name: gained for column in step}
    return chosen


def _told(left: Sequence[str], chosen: Mapping[str, Gain]) -> tuple[str, ...]:
    """Return what was chosen, in words."""
    return tuple(
        f"column {quote(name)}: scale: auto chose "
        + (
            f"robust, by which hidden cells are predicted better (gain {gained.value:.3f} ± "
            f"{gained.value - gained.low:.3f})"
            if (gained := chosen.get(name)) is not None
            else "minmax: hidden cells do not favor robust clearly"
        )
        for name in left
    )
