"""Kernels that may be computed on hosts that do not see their arrays.

A *parcel* is a function of a slice of rows that holds what these rows need, and not the rest: the
same code, on fewer rows, so that bits are the same. What it returns is written to the arrays at
home, which stay complete. What several parcels need travels once to each worker, which remembers
it: arrays that are files, and whatever is `Lasting`.
"""

import secrets
from collections.abc import Callable
from dataclasses import field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from cfl_cli.core.arrays import Ints, Places
from cfl_cli.core.quick import dataclass

Key = TypeVar("Key")
Value = TypeVar("Value")
NOTHING: Any = np.empty(0)  # where a parcel has nothing to fill


@runtime_checkable
class Portable(Protocol):
    """A kernel whose rows may be computed elsewhere."""

    def parcel(self, rows: slice) -> Callable[[slice], Any]:
        """Return a function that can be pickled, of slices of these rows, counted from 0.

        Arrays in it that are files must stay as they are until the kernel has done all rows.
        """

    def place(self, part: slice, values: Any) -> Any:
        """Write what a parcel has returned for some rows; return what the kernel would have."""


@dataclass(frozen=True, eq=False)
class Lasting:
    """Something in many parcels; where these are opened, it is what `make` has returned."""

    make: Callable[[], Any]
    key: str = field(default_factory=lambda: secrets.token_hex(8))


def lasting(make: Callable[[], Any]) -> Any:
    """Return what stands in parcels for something that travels once to each worker."""
    return Lasting(make)


class Own(dict[Key, Value]):
    """What a process has worked out for itself; it travels empty."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Own, ()


def leaned_on(rows: slice, near: Places | Ints) -> tuple[Ints | Places, Places]:
    """Return the rows beyond a slice that are in `near`, ascending, and `near` numbered anew.

    Those of the slice come first, and then those beyond.
    """
    within = (near >= rows.start) & (near < rows.stop)
    beyond = np.unique(near[~within])
    place = (rows.stop - rows.start) + np.searchsorted(beyond, near)
    return beyond, np.where(within, near - rows.start, place).astype(np.int32)


def shifted(part: slice, by: int) -> slice:
    """Return a slice of rows that are counted from elsewhere."""
    return slice(part.start + by, part.stop + by)
