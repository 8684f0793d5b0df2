"""Where `cfl` and `python -m cfl_cli` begin."""

import _signal  # type: ignore[import-not-found]  # has no types; `signal` takes a while to load, and Ctrl-C would end that with a traceback
import gc
import os
import sys

# All that is imported above is there already, so this is the first that happens here. Not where
# somebody else's program imports this module, whose Ctrl-C is its own.
_NAME = sys.argv[0].replace("\\", "/").rpartition("/")[2]
if __name__ == "__main__" or _NAME in {"cfl", "cfl.exe"}:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until somebody listens

OBJECTS = 250_000  # new ones between searches for garbage; loading makes half as many, to stay
# What packages would do at their start and we have no use for, unless the user says otherwise.
_UNUSED = {
    "OPENBLAS_NUM_THREADS": "1",  # threads of linear algebra: see parallel.py
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # a search through all that is installed
}


def main() -> None:
    """Run `cfl`, which a signal ends in good order from its beginning."""
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # until somebody listens
    from cfl_cli.cli.start import stand_by  # not before the line above

    stand_by()
    gc.set_threshold(OBJECTS)
    os.environ.update(_UNUSED | os.environ)
    from cfl_cli.cli.app import run_app

    try:
        run_app()
    finally:
        gc.freeze()  # at the exit all memory goes at once: no search for what could be freed


if __name__ == "__main__":
    main()
