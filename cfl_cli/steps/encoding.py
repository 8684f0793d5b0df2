"""What was fitted of a table's columns, by which any rows are encoded: later ones like the first.

    of each OF   its range, fences and median, or its categories and the commonest of them
    of each CF   its domain, and how its exclusions arise

What the schema says already is not kept once more.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from cfl_cli.core.arrays import Floats
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.core.state import State, StateError
from cfl_cli.schema.model import Complementary, Ordinary, Schema
from cfl_cli.steps.cells import Cells, domain, kept_values
from cfl_cli.steps.dated import FittedDates
from cfl_cli.steps.findings import Problems
from cfl_cli.steps.ordinary import (
    FittedCategories,
    FittedNumbers,
    FittedOrdered,
    FittedOrdinary,
)
from cfl_cli.steps.unusual import LEAST_SHARE, LEVEL, Unusual

Column = TypeVar("Column")
Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class Domain:
    """A CF's values, in order, and the rates of its mechanism; None: exclusions are uniform."""

    values: tuple[str, ...]
    rates: Floats | None = None  # K × K

    @cached_property
    def mechanism(self) -> Mechanism:
        """Return how the CF's exclusions arise."""
        return Mechanism.of(len(self.values), self.rates)


def fit_domain(
    cells: Cells, cf: Complementary, named: Iterable[str], problems: Problems
) -> Domain | None:
    """Return a CF's domain, or None and note why it is unusable; `named` are the values seen."""
    values = domain(cells, cf, named, problems)
    return None if values is None else Domain(values, _given_rates(cf))


@dataclass(frozen=True, eq=False)
class Encoding:
    """What was fitted of each column, in the schema's order."""

    ordinary: Mapping[str, FittedOrdinary]
    domains: Mapping[str, Domain]  # of the CFs

    @property
    def width(self) -> int:
        """Return how many features a row has."""
        return sum(fitted.width for fitted in self.ordinary.values())

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return how each CF's exclusions arise."""
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
        """Return all that has to be kept beside the schema, as JSON can hold it."""
        return {
            "ordinary": {
                name: _facts(
                    asdict(fitted),
                    given={
                        "values": schema.ordinary[name].values,
                        "cycle": schema.ordinary[name].cycle,
                    },
                )
                for name, fitted in self.ordinary.items()
            },
            "complementary": {
                name: _facts(
                    {"values": cf.values, "rates": None if cf.rates is None else cf.rates.tolist()},
                    given={
                        "values": schema.complementary[name].values,
                        "rates": _given_rates(schema.complementary[name]),
                    },
                )
                for name, cf in self.domains.items()
            },
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], schema: Schema) -> "Encoding":
        """Return what was fitted, or raise StateError if nothing can have had these facts."""
        ordinary = _restored(facts, "ordinary", schema.ordinary, _ordinary, schema)
        domains = _restored(facts, "complementary", schema.complementary, _domain, schema)
        if not any(fitted.varies for fitted in ordinary.values()):
            raise StateError("all ordinary columns are constant")
        restored = cls(ordinary, domains)
        if restored.facts(schema) != facts:
            raise StateError("it holds more than what is fitted of the columns")
        return restored


def _facts(facts: dict[str, Any], *, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the facts that the schema does not give."""
    return {
        name: [*fact] if isinstance(fact, tuple) else fact
        for name, fact in facts.items()
        if fact is not None and given.get(name) is None
    }


def _restored(
    facts: Mapping[str, Any],
    kind: str,
    columns: Mapping[str, Column],
    read: Callable[[State, Column, Schema], Read],
    schema: Schema,
) -> dict[str, Read]:
    """Return what was fitted of the columns of one kind."""
    kept = State(facts=facts).fact(kind, dict)
    if kept.keys() != columns.keys():
        raise StateError(f"the {kind} columns are not those of the schema")
    restored = {}
    for name, column in columns.items():
        try:
            if not isinstance(kept[name], dict):
                raise StateError("it has no facts")  # noqa: TRY301 — the column's name is added below
            restored[name] = read(State(facts=kept[name]), column, schema)
        except StateError as error:
            raise StateError(f"column {quote(name)}: {error}") from None
    return restored


def _ordinary(facts: State, column: Ordinary, schema: Schema) -> FittedOrdinary:
    scale = column.scale or schema.scale or "minmax"
    if column.type == "numeric":
        return FittedNumbers.from_facts(facts, scale)
    if column.type == "date":
        return FittedDates.from_facts(facts, column, scale)
    if column.type == "ordered":
        return FittedOrdered.from_facts(facts, column, schema)
    return FittedCategories.from_facts(facts, column, schema)


def _domain(facts: State, cf: Complementary, schema: Schema) -> Domain:
    values = kept_values(facts, cf, schema)
    if len(values) < 2:
        raise StateError("its domain has less than two values")
    given, kept = _given_rates(cf), facts.facts.get("rates")
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
    restored = Domain(values, np.array(rows))
    try:
        restored.mechanism  # noqa: B018 — made now, so that rates which are none are found here
    except ValueError as error:
        raise StateError(str(error)) from None
    return restored


def _given_rates(cf: Complementary) -> Floats | None:
    """Return the rates of the mechanism that the schema gives, if it gives one."""
    return None if cf.mechanism in (None, "fit") else np.array(cf.mechanism)
