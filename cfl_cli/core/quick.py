"""`dataclass` of the standard library, for types that take less time to make when imported.

A frozen one has six methods written and compiled as text, which takes 0.6 ms; two hundred of them
were a tenth of a run on a small table. Here only `__init__` is made so. What else a frozen type
needs is the same for all of them, and looks at the fields when it is called.

The standard library takes such a type for one that is not frozen: a frozen type of its own cannot
be made from it. A field that has no value yet can be set by anybody, once.
"""

from dataclasses import FrozenInstanceError, fields
from dataclasses import dataclass as standard
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        kind: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002 — as there
    ) -> Any:
        """Return the type as the standard library's decorator would; all frozen ones take this."""

        def made(kind: type) -> type:
            return _frozen(kind, eq=eq, shown=repr) if frozen else standard(kind, eq=eq, repr=repr)

        return made if kind is None else made(kind)


def _frozen(kind: type, *, eq: bool, shown: bool) -> type:
    shared: dict[str, Any] = {"__setattr__": _set_once, "__delattr__": _delete}
    if eq:
        shared |= {"__eq__": _equal, "__hash__": _hash}
    if shown:
        shared["__repr__"] = _repr
    own = {*vars(kind)}
    if "__eq__" in own and vars(kind)["__hash__"] is None:  # by Python, for want of another
        own.remove("__hash__")
    made: type = standard(kind, eq=False, repr=False)
    for name, method in shared.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _set_once(self: Any, name: str, value: object) -> None:
    """Let `__init__` set each field; nothing else is ever set."""
    if name in vars(self) or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:  # noqa: ARG001 — no field may go
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _compared(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, field.name) for field in fields(one) if field.compare)


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
