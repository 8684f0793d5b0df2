"""Step 5: confidences become columns."""

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl

from cfl_cli.arrays import Floats, Ints, Mask
from cfl_cli.encode import Block
from cfl_cli.errors import DataError
from cfl_cli.words import quote


def new_names(block: Block, mode: str) -> list[str]:
    """Return the names of the columns that a CF gets, in order."""
    hard = [f"{block.name}_imputed", f"{block.name}_confidence"]
    soft = [f"{block.name}__{value}" for value in block.values]
    return {"hard": hard, "soft": soft, "both": hard + soft}[mode]


def check_names(
    existing: Sequence[str], blocks: Sequence[Block], *, mode: str, name: str = "table"
) -> None:
    """Raise unless all new columns' names are free and differ from each other."""
    taken = set(existing)
    problems = []
    for block in blocks:
        for new in new_names(block, mode):
            if new in taken:
                problems.append(
                    f"{name}: column {quote(new)}, which the output adds for {quote(block.name)}, "
                    "would stand there twice: rename a column of the table"
                )
            taken.add(new)
    if problems:
        raise DataError(*problems)


def best(confidences: Floats, candidates: Mask) -> Ints:
    """Return the place of every row's most confident candidate, the first of equals."""
    return np.asarray(np.where(candidates, confidences, -1.0).argmax(axis=1))


def decode(
    confidences: Floats,
    candidates: Mask,
    blocks: Sequence[Block],
    *,
    mode: str,
    kept: Collection[str] = (),
) -> list[pl.Series]:
    """Return the new columns, CF by CF. CFs in `kept` get null for an imputed value."""
    series = []
    for block in blocks:
        own = confidences[:, block.columns]
        columns: list[pl.Series] = []
        if mode != "soft":
            place = best(own, candidates[:, block.columns])
            values = pl.Series(block.values, dtype=pl.String).gather(place)
            if block.name in kept:
                values = pl.Series([None], dtype=pl.String).new_from_index(0, len(own))
            columns += [values, pl.Series(own[np.arange(len(own)), place])]
        if mode != "hard":
            columns += [pl.Series(np.ascontiguousarray(column)) for column in own.T]
        series += [
            column.rename(name)
            for column, name in zip(columns, new_names(block, mode), strict=True)
        ]
    return series
