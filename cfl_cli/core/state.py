"""What is kept of something that was fitted: arrays by name, small facts, and parts of the same.

Whoever fits something makes its state, and makes it again from a state. A state may come from a
file that anybody wrote, so what is asked of it here is checked: names, types, shapes, finiteness.
What nobody asked for can be refused, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cfl_cli.core.messages import quote

Fact = TypeVar("Fact", str, int, float, bool, list[Any], dict[str, Any])
KINDS = ("<f8", "<f4", "<i8", "<i4", "|u1")  # of arrays
_EXACT = 2**53  # whole numbers up to this are floats too
NAME = r"[a-z0-9_-]{1,64}"  # of an array or a part
DEEPEST = 8  # parts within each other


class StateError(ValueError):
    """A state that nothing fitted can have had; its text says what is wrong with it."""


@dataclass(frozen=True)
class State:
    """What is kept; `facts` hold what JSON can."""

    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "State"] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(
        default_factory=set, init=False, repr=False, compare=False
    )  # what was asked for so far: "array", "fact" or "part", and its name

    def array(
        self, name: str, kind: npt.DTypeLike, *shape: int | None, finite: bool = True
    ) -> npt.NDArray[Any]:
        """Return an array of this kind and shape, None where any length will do, or raise."""
        self._asked.add(("array", name))
        found = self.arrays.get(name)
        if found is None:
            raise StateError(f"array {name!r} is missing")
        fits = len(shape) == found.ndim and all(
            wanted is None or wanted == length
            for wanted, length in zip(shape, found.shape, strict=False)
        )
        if found.dtype != np.dtype(kind) or not fits:
            wanted = " × ".join("any" if length is None else str(length) for length in shape)
            there = " × ".join(map(str, found.shape))
            raise StateError(
                f"array {name!r} is {found.dtype.name}, {there}; it must be "
                f"{np.dtype(kind).name}, {wanted}"
            )
        if finite and found.dtype.kind == "f" and not np.isfinite(found).all():
            raise StateError(f"array {name!r} holds numbers that are not finite")
        return found

    def places(self, name: str, below: int, *shape: int | None) -> npt.NDArray[Any]:
        found = self.array(name, np.int64, *shape)
        if found.size and (found.min() < 0 or found.max() >= below):
            raise StateError(f"array {name!r} holds places beyond 0 to {below - 1}")
        return found

    def fact(self, name: str, kind: type[Fact]) -> Fact:
        """Return a fact of this kind, or raise; a whole number will do for a float."""
        self._asked.add(("fact", name))
        found = self.facts.get(name)
        if kind is float and isinstance(found, int) and not isinstance(found, bool):
            found = float(found) if abs(found) <= _EXACT else None
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise StateError(f"fact {name!r} is not of type {kind.__name__}")
        if isinstance(found, float) and not isfinite(found):
            raise StateError(f"fact {name!r} is not finite")
        return found

    def part(self, name: str) -> "State":
        self._asked.add(("part", name))
        if name not in self.parts:
            raise StateError(f"part {name!r} is missing")
        return self.parts[name]

    def refuse_surplus(self) -> None:
        """Raise if it holds anything that was never asked for, here or in a part."""
        kept = {"array": self.arrays, "fact": self.facts, "part": self.parts}
        for kind, named in kept.items():
            for name in named:
                if (kind, name) not in self._asked:
                    raise StateError(f"{kind} {quote(name)} is not known")
        for part in self.parts.values():
            part.refuse_surplus()
