"""How a command ends when Ctrl-C or SIGTERM says so: like an error, with everything cleaned up."""

import signal
import sys


class Terminated(BaseException):
    """The process received SIGTERM."""


def listen() -> None:
    """From now on answer SIGINT and SIGTERM like an error: clean up, then leave.

    Until its packages are loaded a command has nothing to clean up, and an error raised within the
    import of a package may be lost there. So SIGTERM simply kills it before, and SIGINT waits.
    """
    if "polars" in sys.modules:
        sys.modules["polars"].read_csv(b"a")  # its threads start now, and leave SIGINT to us
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _terminate(_number: int, _frame: object) -> None:
    raise Terminated
