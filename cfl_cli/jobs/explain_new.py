"""Why a model answers a new row so; no other row is encoded, and nothing is learned."""

from collections.abc import Collection, Sequence
from operator import index
from typing import Any

import numpy as np
import polars as pl

from cfl_cli import __version__
from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count, did_you_mean, quote
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.settings import Settings
from cfl_cli.core.wording import option
from cfl_cli.errors import UsageError
from cfl_cli.estimators.row_explained import Asked, Features
from cfl_cli.estimators.row_explained import explain as explain_arrays
from cfl_cli.jobs.explanation import Explanation
from cfl_cli.jobs.kept import Kept
from cfl_cli.jobs.name_row import Named, cells_of, features_of
from cfl_cli.jobs.row_filler import RowFiller
from cfl_cli.schema.model import Schema
from cfl_cli.steps.cells import Cells
from cfl_cli.steps.encode import Encoded
from cfl_cli.steps.findings import Problems
from cfl_cli.tables import frames


def explain_new(
    kept: Kept,
    frame: Any,
    settings: Settings,
    *,
    row: int,
    cfs: Collection[str] | None = None,
    key: str | None = None,
    name: str = "table",
    jobs: int | None = None,
) -> Explanation:
    """Return why a model answers a new row so; `frame` holds that row alone, which is row `row`."""
    with Workers(jobs or available_cores()) as workers:
        filler = RowFiller(kept, settings, workers, name=name)
        cells = frames.as_polars(frame, filler.used, name=name)
        encoded = filler.encoded(cells, first_row=row)
        ofs = features_of(encoded)
        features = Features(tuple(ofs.values()), blank(encoded, kept.schema))
        method = kept.settings.method
        asked = Asked(features, workers, cfs=numbers_of(encoded, cfs))
        runs, takes = explain_arrays(method, kept.fitted, encoded.known, asked)
        named = Named(
            encoded,
            runs,
            takes,
            ofs,
            kept.powers,
            filler.as_observed,
            settings.min_confidence,
            method,
            tuple(origin.cautious for origin in kept.origins),
            (),
        )
        return explanation(
            named,
            workers,
            row=row,
            key=key,
            cfs=cfs,
            cells=cells_of(cells, ofs, 0),
            fitted_rows=kept.report.rows,
            warnings=tuple(encoded.warnings),
        )


def explanation(
    named: Named,
    workers: Workers,
    *,
    row: int,
    key: str | None,
    cfs: Collection[str] | None,
    cells: dict[str, str | None],
    fitted_rows: int,
    warnings: tuple[str, ...],
) -> Explanation:
    """Return why some CFs of a row are answered so, all if `cfs` is None."""
    return Explanation(
        __version__,
        row,
        key,
        cells,
        named.method,
        "model" if named.cells is None else "table",
        fitted_rows,
        named.all_near(),
        tuple(named.cf(number, workers) for number in numbers_of(named.encoded, cfs)),
        warnings,
    )


def numbers_of(encoded: Encoded, cfs: Collection[str] | None) -> list[int]:
    """Return the numbers of CFs, all if `cfs` is None."""
    return [
        number for number, block in enumerate(encoded.blocks) if cfs is None or block.name in cfs
    ]


def blank(encoded: Encoded, schema: Schema) -> Floats:
    """Return the features of a row whose OFs are all missing, d."""
    problems = Problems("", schema, model=True)
    found = []
    for name, fitted in encoded.ordinary.items():
        empty = Cells.of(pl.Series(name, [None], dtype=pl.String), schema)
        features = fitted.features(empty, problems)
        if features is None:  # an empty cell is always understood
            raise TypeError(name)
        found.append(features[0][0])
    return np.concatenate(found)


def check_row(row: Any, rows: int, name: str) -> int:
    """Return the number of a row, from 1, or raise unless a table has it."""
    number = None if isinstance(row, bool) or not hasattr(row, "__index__") else index(row)
    if number is None or not 1 <= number <= rows:
        raise UsageError(f"{option('row', row)}: {name} has {count(rows, 'row')}, numbered from 1")
    return number


def chosen_cfs(
    asked: str | Sequence[str] | None, cfs: Sequence[str], name: str
) -> tuple[str, ...] | None:
    """Return the CFs that were asked for, or raise if a name is not one of a CF; None: all."""
    if asked is None or asked in ((), []):
        return None
    chosen = (asked,) if isinstance(asked, str) else tuple(asked)
    problems = [
        f"{option('cf', one, quoted=True)}: not a CF of {name}{did_you_mean(one, cfs)}"
        if did_you_mean(one, cfs)
        else f"{option('cf', one, quoted=True)}: not a CF of {name}, which has "
        f"{', '.join(map(quote, cfs))}"
        for one in chosen
        if one not in cfs
    ]
    if problems:
        raise UsageError(*problems)
    return chosen
