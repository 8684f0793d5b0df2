"""The columns that name rows which belong together: one, or a list of them."""

from collections.abc import Collection, Iterator
from typing import Annotated

from pydantic import BeforeValidator, Field, Strict, WithJsonSchema
from pydantic_core import InitErrorDetails

from cfl_cli.core.messages import quote
from cfl_cli.schema.validation import problem

_NAME = {"type": ["string", "number", "boolean"]}  # what YAML may make of a name


def _listed(names: object) -> object:
    """Return the names as a tuple; one may stand by itself."""
    if isinstance(names, str):
        return (names,)
    return tuple(names) if isinstance(names, list) else names


Group = Annotated[
    tuple[Annotated[str, Strict(), Field(min_length=1)], ...],
    Strict(),
    BeforeValidator(_listed),
    WithJsonSchema({"anyOf": [_NAME, {"type": "array", "items": _NAME}]}),
]


def problems(group: tuple[str, ...], cfs: Collection[str]) -> Iterator[InitErrorDetails]:
    """Yield what is wrong with the columns of a group, given those that are complementary."""
    for place, name in enumerate(group):
        if name in group[:place]:
            yield problem(f"column {quote(name)} is named twice; once is enough", place)
        if name in cfs:
            yield problem(
                f"column {quote(name)} is complementary, and exclusions do not say which rows "
                "belong together: name another column",
                place,
            )
