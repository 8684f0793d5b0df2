"""Which tables have compiled code; it changes the time and never the answer.

Two loops are compiled: the scan of neighbor lists, and the search for the neighbors that count.
What they are sure of is just what the plain code would find, and the rest is left to it. A table
must have so many rows that loading what was compiled before takes less than it saves. (Compiled
posteriors of the walk gained less than 5 % of a run on Bank, compiled trees 0.1 s on 100,000 rows:
neither is worth a second form.)

numba, an extra, compiles. Without it, with one that does not work, or without a folder that can be
written to for what is compiled, the plain code does all the work.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

ROWS = 20_000  # below, loading (0.6 s) takes longer than what is saved (some 40 µs a row)


def pays(rows: int) -> bool:
    """Return whether a table of so many rows has compiled code, if it works."""
    return rows >= ROWS and find_spec("numba") is not None


@cache
def _load(name: str) -> Any | None:
    if find_spec("numba") is None:
        return None
    try:
        return getattr(import_module("cfl_cli.methods.graph.kernels"), name)
    except Exception:  # noqa: BLE001 — whatever it is that does not work, plain code does
        return None


def kernel(name: str, *, rows: int) -> Any | None:
    """Return a compiled function for a table of so many rows, None where plain code is better."""
    return _load(name) if rows >= ROWS else None
