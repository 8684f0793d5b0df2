"""How a schema says which values a cell rules out: a table, or a weight for each value.

    mechanism: {a: 3, b: 1, c: 1}                      a is ruled out three times as often as b
    mechanism: {a: {b: 0.9, c: 0.1}, b: {a: 1}, …}     P(excluded | true), by the true value
    mechanism: [[0, 0.9, 0.1], [1, 0, 0], …]           the same, in the domain's order
    mechanism: fit                                     weights that are fitted with exact cells

All but the last become P(excluded | true), K × K in the domain's order. A list of numbers is a list
of weights.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic_core import InitErrorDetails

from cfl_cli.core.kinds import Bounds, Number
from cfl_cli.core.messages import did_you_mean, quote, seen, unknown
from cfl_cli.schema.given import as_text
from cfl_cli.schema.validation import problem, refuse, refused

Rates: TypeAlias = tuple[tuple[float, ...], ...]
Fit: TypeAlias = Literal["fit"]
ROUNDING = 1e-12  # of a sum of thousands of numbers
LEAST = 1e-300  # of a rate above 0; much smaller numbers have fewer digits, and then none
FAR_FROM_ONE = 1e-3  # a row of a table that was rounded to three digits still sums to 1

WEIGHT = Number(Bounds(least=0))
EXPECTED = "expected a weight for each value, or a table of probabilities"
MECHANISM_FOR_EDITORS: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"type": ["number", "object"]}},
        {"type": "array", "items": {"type": ["number", "array"]}},
        {"const": "fit"},
    ]
}


def read_mechanism(entry: object, values: Sequence[str]) -> Rates:
    """Return P(excluded | true), or refuse what is wrong with `entry`."""
    lines = _by_value(entry, values)
    if any(isinstance(line, Mapping | list | tuple) for line in lines.values()):
        table = {value: _by_value(lines.get(value, {}), values, value) for value in values}
        rates = [[_share(table[v].get(c, 0), v, c) for c in values] for v in values]
        refuse(_unlike_probabilities(rates, values))
        refuse(
            problem(
                f"{rate:g} is too small for a probability: make it 0, or {LEAST:g} or more", v, c
            )
            for v, row in zip(values, rates, strict=True)
            for c, rate in zip(values, row, strict=True)
            if 0 < rate < LEAST
        )
    else:
        refuse(
            problem(f"no weight for {quote(c)}: add one", kind="lacking")
            for c in values
            if c not in lines
        )
        weights = {c: _share(lines[c], c) for c in values}
        largest = max(weights.values()) or 1.0  # or a sum may be too large
        refuse(
            problem(
                f"{weight:g} is too small beside the largest weight, {largest:g}: make it 0, or "
                f"{LEAST:g} of that or more",
                c,
            )
            for c, weight in weights.items()
            if weight > 0 and weight / largest < LEAST
        )
        rates = [[0.0 if c == v else weights[c] / largest for c in values] for v in values]
        refuse(_unable(rates, values))
    return tuple(tuple(row) if _sums_to_one(row) else _scaled(row) for row in rates)


def _sums_to_one(row: list[float]) -> bool:
    """Return whether numbers sum to 1 but for rounding: scaled again, they would be others."""
    return abs(sum(row) - 1) <= ROUNDING


def _scaled(row: list[float]) -> tuple[float, ...]:
    total = sum(row)
    return tuple(rate / total for rate in row)


def read_fit(entries: Mapping[str, Any]) -> Fit:
    """Return that a mechanism is fitted, or refuse it; `entries` are the CF's others."""
    if "exact_cells" in entries and entries["exact_cells"] is None:
        raise refused(
            "weights are fitted with exact cells that are a random sample: add "
            "`exact_cells: random` if they are one, or give the weights"
        )
    return "fit"


def _by_value(entry: object, values: Sequence[str], *place: str) -> dict[str, object]:
    """Return what an entry says of each value."""
    if isinstance(entry, Mapping):
        entry = {str(as_text(name)): share for name, share in entry.items()}
        refuse(
            problem(unknown("value", name, values), *place, str(name))
            for name in entry
            if name not in values
        )
        return entry
    if not isinstance(entry, list | tuple):
        near = did_you_mean(entry, ["fit"]) if isinstance(entry, str) and not place else ""
        raise refused(f"{EXPECTED}, found {seen(entry)}{near}", *place)
    if len(entry) != len(values):
        wanted = f"expected {len(values)} entries, as many as there are values"
        raise refused(f"{wanted}, found {len(entry)}", *place)
    return dict(zip(values, entry, strict=True))


def _share(entry: object, *place: str) -> float:
    """Return a number that is not negative."""
    try:
        return float(WEIGHT.read(entry))
    except ValueError:
        raise refused(f"expected a number, 0 or more, found {seen(entry)}", *place) from None


def _unlike_probabilities(
    rates: list[list[float]], values: Sequence[str]
) -> Iterator[InitErrorDetails]:
    for place, (value, row) in enumerate(zip(values, rates, strict=True)):
        if row[place] > 0:
            yield problem(f"{quote(value)} cannot rule itself out: make that 0", value)
        elif abs(sum(row) - 1) > FAR_FROM_ONE:
            wanted = f"expected probabilities that sum to 1 for {quote(value)}"
            yield problem(f"{wanted}, found {sum(row):g}", value)


def _unable(rates: list[list[float]], values: Sequence[str]) -> Iterator[InitErrorDetails]:
    if not any(map(any, rates)):
        yield problem("expected a weight above 0 for two values or more")
        return
    for value, row in zip(values, rates, strict=True):
        if sum(row) == 0:
            message = f"only {quote(value)} has a weight, and it cannot rule itself out"
            yield problem(f"{message}: give another value a weight", value)
