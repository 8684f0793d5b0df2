"""Where `cfl` and `python -m cfl_cli` begin."""

import _signal  # type: ignore[import-not-found]  # has no types; `signal` takes a while to load, and Ctrl-C would end that with a traceback
import gc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

OBJECTS = 250_000  # new ones between searches for garbage; loading makes half as many, to stay
# What packages would do at their start and we have no use for, unless the user says otherwise.
UNUSED = {
    "OPENBLAS_NUM_THREADS": "1",  # threads of linear algebra: see parallel.py
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # a search through all that is installed
}
# What LightGBM and numba load if it is installed, for a while, and the command has no use for.
UNWANTED = ("pandas", "sklearn", "cffi", "coverage")


# What scipy has imported by `from numpy import *`, all of NumPy, and does not use.
UNUSED_PARTS = ("numpy.f2py", "numpy.testing")


class Unwanted:
    """Makes some packages look as if they were not installed."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 — as Python calls it
        """Raise if the package is one of these; others are found elsewhere."""
        if name in UNWANTED:
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


def main() -> None:
    """Run `cfl`, which a signal ends in good order from its beginning."""
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until somebody listens
    from cfl_cli.cli.signals import watch  # noqa: PLC0415 — not before the line above
    from cfl_cli.cli.within_limits import stay_within_limits  # noqa: PLC0415 — the same

    stay_within_limits()
    watch()
    gc.set_threshold(OBJECTS)
    os.environ.update(UNUSED | os.environ)
    sys.meta_path[:0] = [Unwanted(), Later()]
    from cfl_cli.cli.app import main as run  # noqa: PLC0415 — not before the lines above

    try:
        run()
    finally:
        gc.freeze()  # at the exit all memory goes at once: no search for what could be freed


if __name__ == "__main__":
    main()
