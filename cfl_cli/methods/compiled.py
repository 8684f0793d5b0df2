"""Which tables have the steps' compiled code; it changes the time and never the answer.

Three loops of the steps are compiled: the scan of neighbor lists, the search for the neighbors that
count, and what a step of the walk does with a prior (`estimators.forest` has a fourth). What they
are sure of is just what the plain code would find, and what they are not sure of is left to it. A
table must have so many rows that loading what was compiled before takes less than it saves.
"""

from importlib.util import find_spec
from typing import Any

from cfl_cli.core.parallel import load

ROWS = 20_000  # below, loading (0.6 s) takes longer than what is saved (some 40 µs a row)


def pays(rows: int) -> bool:
    """Return whether a table of so many rows has compiled code, if it works."""
    return rows >= ROWS and find_spec("numba") is not None


def kernel(name: str, *, rows: int) -> Any | None:
    """Return a compiled function for a table of so many rows, None where plain code is better."""
    return load("methods.graph.kernels", name) if rows >= ROWS else None
