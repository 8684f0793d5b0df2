"""Where `cfl` and `python -m cfl_cli` begin."""

import signal


def main() -> None:
    """Run `cfl`; until it is loaded, Ctrl-C ends it without a word."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from cfl_cli.cli import main as run  # noqa: PLC0415 — takes a moment, in which a user may tire

    run()


if __name__ == "__main__":
    main()
