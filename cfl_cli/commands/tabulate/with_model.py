"""`--with-model`: figures by cells and OFs together, where that was found to hold."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from cfl_cli.commands.tabulate.figures import (
    CELLS,
    MEAN,
    MODEL,
    OF_GROUP,
    OF_VALUE,
    SHARE,
    Figure,
    Tabulation,
)
from cfl_cli.commands.tabulate.tally import Tally
from cfl_cli.core.arrays import Floats, Ints
from cfl_cli.core.parallel import Workers, available_cores
from cfl_cli.core.progress import Stages
from cfl_cli.encode.cells import used_columns
from cfl_cli.run import Arguments, Context
from cfl_cli.run.learn import learn
from cfl_cli.schema.model import Schema
from cfl_cli.tables import frames
from cfl_cli.trust.facts import ColumnFacts
from cfl_cli.trust.shares import CellEstimate
from cfl_cli.trust.tilted import FEW_VALUES, MOST_VALUES, NARROWER, TiltedModel, holds

METHOD = {"method": "boost", "folds": 5}  # whose held-out priors are tilted


def with_model(
    found: Tabulation, frame: Any, tally: Tally, given: Arguments, context: Context
) -> Tabulation:
    """Return the figures with those of the model in the place of some that rest on cells."""
    asked = replace(given, schema=_of_cfs(given.schema, tally.cfs)).changed(**METHOD)
    table = frames.as_polars(frame, name=context.name)
    needed = [one for one in used_columns(asked.schema) if one in table.columns]
    with Workers(asked.limits.jobs or available_cores()) as engine:
        stages = Stages(context.progress)
        learned = learn(
            table.select(needed),
            asked,
            Context(context.name),
            stages=stages,
            engine=engine,
            fit=False,
        )
    group, number = tally.of_rows(table)
    figures = [*found.figures]
    for place, block in enumerate(learned.encoded.blocks):
        facts = ColumnFacts(learned.encoded, learned.estimate, place)
        few = len(block.values) <= MOST_VALUES
        if (
            not few
            or block.name not in tally.cfs
            or facts.hidden_cells is None
            or facts.mechanism_refuted
        ):
            continue
        by_model = _Modelled(facts, group, number)
        figures = [by_model.figure(one, tally) if one.cf == block.name else one for one in figures]
    return replace(found, figures=tuple(figures), with_model=True)


def _of_cfs(schema: Schema, cfs: Collection[str]) -> Schema:
    """Return the schema without other CFs, which nobody asked to infer."""
    others = {*schema.complementary} - {*cfs}
    columns = {name: it for name, it in schema.columns.items() if name not in others}
    return schema.model_copy(update={"columns": columns})


def _narrower(found: CellEstimate, one: Figure) -> bool:
    widths = [(it.high or 0.0) - (it.low or 0.0) for it in (found, one)]
    return (found.error or 0.0) <= NARROWER * (one.se or 0.0) and widths[0] <= NARROWER * widths[1]


class _Modelled:
    def __init__(self, facts: ColumnFacts, group: Ints, number: Floats) -> None:
        hidden, cells = facts.estimate.hidden, facts.hidden_cells
        assert hidden is not None
        assert cells is not None
        self.values = facts.block.values
        self.group, self.number = group[hidden.rows], number[hidden.rows]
        self.known = ~facts.candidates[hidden.rows].all(axis=1)
        evidence = facts.evidence[hidden.rows].astype(float)
        codes = np.unique(self.group, return_inverse=True)[1].reshape(-1)
        numbers = None if np.isnan(self.number).all() else self.number
        self.model = TiltedModel.fit(cells.prior, evidence, codes, cells.groups, numbers=numbers)

    def figure(self, one: Figure, tally: Tally) -> Figure:
        """Return a figure by the model, or as it was where the model was not found to hold."""
        ours = one.by in (None, tally.asked.by)
        if not ours or one.basis != CELLS or one.reason not in (None, "tabulate-too-rare"):
            return one
        inside = np.ones(len(self.group), dtype=bool)
        if one.group is not None:
            inside = self.group == tally.groups.places[one.group]
        value, size = self.values.index(one.value), len(self.values)
        if one.quantity == MEAN and size > FEW_VALUES:
            return one
        rows = float((inside & self.known).sum())
        if not holds(size, rows, self.model.share(value, inside).value or 0.0):
            return one
        found = self._estimate(one.quantity, value, inside)
        if one.se is not None and not _narrower(found, one):
            return one
        return replace(
            one,
            estimate=found.value,
            se=found.error,
            low=found.low,
            high=found.high,
            exact_rows=found.worth,
            basis=MODEL,
            reason=None,
        )

    def _estimate(self, quantity: str, value: int, inside: Any) -> CellEstimate:
        if quantity in (SHARE, OF_GROUP):
            return self.model.share(value, inside)
        if quantity == OF_VALUE:
            return self.model.of_value(value, inside, self.group >= 0)
        assert quantity == MEAN
        return self.model.average(value, np.where(inside, self.number, np.nan))
