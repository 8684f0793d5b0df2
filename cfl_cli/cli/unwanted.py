"""Which packages the command does without, or loads only when something of theirs is asked for."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# What LightGBM and numba load if it is installed, for a while, and the command has no use for.
UNWANTED = ("pandas", "sklearn", "cffi", "coverage")
USER = "bokeh"  # Dask's dashboard, which does have a use for some of them
# What scipy has imported by `from numpy import *`, all of NumPy, and does not use.
UNUSED_PARTS = ("numpy.char", "numpy.f2py", "numpy.polynomial", "numpy.testing")


class Unwanted:
    """Makes some packages look as if they were not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 — as Python calls it
        """Raise if the package is one of these and nobody needs it; others are found elsewhere."""
        if name in UNWANTED and USER not in sys.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Later:
    """Puts off the loading of some modules until something of theirs is asked for."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return such a module as it is found elsewhere, to be loaded later; None for others."""
        if name not in UNUSED_PARTS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def leave_out_unwanted() -> None:
    """Do so from now on."""
    sys.meta_path[:0] = [Unwanted(), Later()]
