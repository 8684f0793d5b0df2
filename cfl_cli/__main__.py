"""Where `cfl` and `python -m cfl_cli` begin."""

import gc
import signal

OBJECTS = 250_000  # new ones between searches for garbage; loading makes half as many, to stay


def main() -> None:
    """Run `cfl`; until it is loaded, Ctrl-C ends it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(OBJECTS)
    from cfl_cli.cli import main as run  # noqa: PLC0415 — takes a moment, in which a user may tire

    try:
        run()
    finally:
        gc.freeze()  # at the exit all memory goes at once: no search for what could be freed


if __name__ == "__main__":
    main()
