"""What can be wrong with a list of values."""

from collections.abc import Iterator

from pydantic_core import InitErrorDetails

from cfl_cli.core.messages import quote
from cfl_cli.schema.validation import problem


def repeated(values: tuple[str, ...]) -> Iterator[InitErrorDetails]:
    """Yield a problem for every value that is listed again."""
    first: dict[str, int] = {}
    for place, value in enumerate(values):
        if first.setdefault(value, place) != place:
            message = f"duplicate value {quote(value)} (first as item {first[value] + 1})"
            yield problem(message, place)


def domain_problems(
    values: tuple[str, ...] | None, *, binary: bool = False
) -> Iterator[InitErrorDetails]:
    """Yield what keeps values from being a domain."""
    if values is not None:
        yield from repeated(values)
        if len(values) < 2 or (binary and len(values) > 2):
            number = "exactly 2 values for a binary column" if binary else "at least 2 values"
            yield problem(f"expected {number}, found {len(values)}")


def unwritable(
    values: tuple[str, ...] | None, separator: str | None, exact: str | None
) -> Iterator[InitErrorDetails]:
    """Yield a problem for every value that a cell would be read as something else for."""
    for place, value in enumerate(values or ()):
        cannot = f"no cell can rule out {quote(value)}"
        if separator and separator in value:
            yield problem(f"{cannot}: it holds the separator {quote(separator)}", place)
        if exact and value.startswith(exact):
            yield problem(f"{cannot}: it starts with the exact mark {quote(exact)}", place)
