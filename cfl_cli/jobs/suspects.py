"""The cells of a finished run that most likely rule out the true value, as a small data frame."""

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Floats
from cfl_cli.core.messages import count
from cfl_cli.estimators.interface import Estimate
from cfl_cli.steps.encode import Encoded
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.suspects import Suspects

KINDS = {
    "rank": pl.Int64,
    "row": pl.Int64,  # from 1
    "cf": pl.String,
    "favored": pl.String,  # of the values that the cell rules out, by its prior; null: not known
    "candidates_mass": pl.Float64,  # that the prior leaves
    "times_as_likely": pl.Float64,  # if the cell is wrong as if it is right
}


def suspect_cells(encoded: Encoded, estimate: Estimate) -> pl.DataFrame:
    """Return the suspect cells of all CFs, a row each, the most suspect first."""
    listed = []
    for number in range(len(encoded.blocks)):
        facts = ColumnFacts(encoded, estimate, number)
        listed.append(_frame(facts, facts.suspects))
    ranked = pl.concat(listed).sort("times_as_likely", descending=True, maintain_order=True)
    return ranked.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64))


def in_words(found: pl.DataFrame) -> str:
    """Return how many cells are listed, and of how many CFs."""
    cells = count(found.height, "suspect cell")
    if found.height == 0:
        return cells
    return f"{cells} of {count(found['cf'].n_unique(), 'CF')}, the most suspect first"


def _frame(facts: ColumnFacts, found: Suspects) -> pl.DataFrame:
    excluded = ~facts.candidates[found.rows]
    known, prior = _priors(facts, found)
    place = np.where(excluded, prior, -1.0).argmax(axis=1)
    known |= excluded.sum(axis=1) == 1
    values = pl.Series(facts.block.values, dtype=pl.String).gather(place)
    return pl.DataFrame(
        {
            "rank": np.zeros(len(place), dtype=int),
            "row": found.rows + 1,
            "cf": [facts.block.name] * len(place),
            "favored": values.set(pl.Series(~known), None),
            "candidates_mass": found.mass,
            "times_as_likely": found.times,
        },
        schema=KINDS,
    )


def _priors(facts: ColumnFacts, found: Suspects) -> tuple[np.ndarray, Floats]:
    """Return which suspect rows were hidden, and their priors; 0 of those that were not."""
    hidden = facts.hidden_cells
    if hidden is None or facts.estimate.hidden is None:
        return np.zeros(len(found.rows), dtype=bool), np.zeros(facts.candidates[found.rows].shape)
    place = np.full(len(facts.candidates), -1)
    place[facts.estimate.hidden.rows] = np.arange(len(hidden.prior))
    known = place[found.rows] >= 0
    return known, np.where(known[:, None], hidden.prior[place[found.rows]], 0.0)
