"""Whether compiled code is at hand and worth loading; it changes the time and never the answer.

Two loops of the steps are compiled, by numba, an extra: the scan of neighbor lists and the search
for the neighbors that count (`estimators.forest` has a third). What they are sure of is just what
the plain code would find, and what they are not sure of is left to it. It is decided here:

- a table must have so many rows that loading what was compiled before takes less than it saves;
- without numba, with one that does not work, or without a folder that can be written to for what is
  compiled (numba takes the one of the module, or the user's), the plain code does all the work.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROWS = 20_000  # below, loading (0.6 s) takes longer than what is saved (some 40 µs a row)


def kernel(name: str, *, rows: int) -> Any | None:
    """Return a compiled function for a table of so many rows, None where plain code is better."""
    return load(name) if rows >= ROWS else None


@cache
def load(name: str) -> Any | None:
    """Return a compiled function by the name of its module, which has one of that name."""
    if find_spec("numba") is None:
        return None
    try:
        return getattr(import_module(f"cfl_cli.steps.compiled_{name}"), name)
    except Exception:  # noqa: BLE001 — whatever it is that does not work, plain code does
        return None
