"""Step 5: confidences become columns."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats, Ints, Mask
from cfl_cli.core.blocks import best, start
from cfl_cli.core.messages import quote
from cfl_cli.core.wording import command
from cfl_cli.steps.encode import Block


def new_names(cf: str, values: Sequence[str], mode: str) -> list[str]:
    """Return the names of the columns that a CF gets, in order."""
    hard = [f"{cf}_imputed", f"{cf}_confidence"]
    soft = [f"{cf}__{value}" for value in values]
    return {"hard": hard, "soft": soft, "both": hard + soft}[mode]


def clashes(
    existing: Sequence[str], domains: Mapping[str, Sequence[str]], *, mode: str
) -> list[str]:
    """Return which new columns' names are taken, by the table or by each other, or impossible.

    `domains` holds the values of every CF.
    """
    taken = set(existing)
    problems = []
    new = [name for cf, values in domains.items() for name in new_names(cf, values, mode)]
    if new and taken.issuperset(new):
        there = f"column {quote(new[0])} is there already, as in what {command('impute')} writes"
        return [f"{there}: pass the table that it was made from, or rename the column"]
    for cf, values in domains.items():
        for name in new_names(cf, values, mode):
            if name in taken:
                problems.append(
                    f"column {quote(name)}, which the output adds for {quote(cf)}, "
                    "would be a duplicate: rename a column of the table"
                )
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
        return start(candidates[:, block.columns], 1)
    return confidences[:, block.columns]


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
            columns += [
                pl.Series([None], dtype=kind).new_from_index(0, len(own))
                for kind in (pl.String, pl.Float64)
            ]
        elif mode != "soft":
            given = candidates[:, block.columns]
            place = best(own, given) if answers is None else answers[:, cf]
            confidence = own[np.arange(len(own)), place]
            values = pl.Series(block.values, dtype=pl.String).gather(place)
            if min_confidence > 0:
                values = values.set(pl.Series(confidence < min_confidence), None)
            columns += [values, pl.Series(confidence)]
        if mode != "hard":
            columns += [pl.Series(np.ascontiguousarray(column)) for column in own.T]
        series += [
            column.rename(name)
            for column, name in zip(columns, new_names(block.name, block.values, mode), strict=True)
        ]
    return series
