"""Whether compiled code can be used; it changes the time and never the answer.

numba, an extra, compiles it. Without numba, with one that does not work, or without a folder that
can be written to for what is compiled (numba takes the one of the module, or the user's), the plain
code does all the work. Whoever asks for it knows when loading it pays.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any


@cache
def load(module: str, function: str) -> Any | None:
    """Return a compiled function of one of our modules; None: there is none that works."""
    if find_spec("numba") is None:
        return None
    try:
        return getattr(import_module(f"cfl_cli.{module}"), function)
    except Exception:  # noqa: BLE001 — whatever it is that does not work, plain code does
        return None
