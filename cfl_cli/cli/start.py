"""Before any package is loaded: is there memory enough to start, and what do signals do?

Only the standard library is used here: nothing else may be loaded yet.
"""

import fcntl
import os
import select
import signal
import sys
import threading
from contextlib import suppress
from errno import ENOMEM

from cfl_cli.core import process
from cfl_cli.core.process import own_groups

RESOURCES = 4  # the exit code
# What a process holds when packages are loaded, and what of it can be written to: measured.
_HELD, DATA = 160_000_000, 350_000_000
PLAIN_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own would reserve a gigabyte at once


def out_of_memory(allowed: process.Allowance) -> str:
    return (
        f"out of memory: {allowed.whose} allows {allowed.limit / 1e6:,.0f} MB: use fewer rows or "
        "columns, fewer threads (--jobs 1), or allow more"
    )


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error, or what it came from, says that memory was short."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) == ENOMEM:
            return True
        if any(said in str(seen) for said in _SAID):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


# What packages and the system say.
_SAID = (
    "bad_alloc",
    "can't start new thread",
    "failed to map segment",
    "cannot map zero-fill",
    "annot allocate memory",
    "emory allocation of",
    "out of memory",
)


# How `cfl` ends when Ctrl-C, SIGTERM or SIGHUP says so: at once, with everything cleaned up.
#
# A thread waits for signals and ends the process (`core/process`), from before the first package is
# loaded. So no package, be it that it loads, computes or writes, ever sees an exception of a signal,
# which it might lose.

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
LOOK = 0.1  # seconds between looks at signals that all threads hold back for a while


def stand_by() -> None:
    """Leave with a message if packages could not be loaded, and from now on if a signal says so.

    Call this in the first thread. Where memory is not limited, what is freed is kept.
    """
    if process.allowance().whose == process.MACHINE:
        process.keep_freed_memory()
    else:
        groups = (group.limit for group in own_groups() if group.limit is not None)
        limits = (
            (process.limit_of("RLIMIT_AS"), process.reserved_space() + _HELD, process.SPACE),
            (process.limit_of("RLIMIT_DATA"), DATA, process.DATA),
            (min(groups, default=None), _HELD, process.GROUP),
        )
        for allowed, needed, whose in limits:
            if allowed is not None and allowed < needed:
                from cfl_cli.cli.log import LOG, asked_for
                from cfl_cli.errors import Problem

                LOG.format = asked_for(sys.argv[1:])
                LOG.error(
                    Problem(
                        "memory-to-start",
                        "at least {needed:,.0f} MB of memory are needed to start, and {whose} "
                        "allows {allowed:,.0f} MB: {remedy}",
                        needed=needed / 1e6,
                        allowed=allowed / 1e6,
                        whose=whose,
                        remedy="allow more",
                    )
                )
                os._exit(RESOURCES)
        os.environ.setdefault(*PLAIN_POOL)

    # Handles of standard streams that the caller has closed are not for this.
    ends = os.pipe()
    reader, writer = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends)
    for end in ends:
        os.close(end)
    os.set_blocking(writer, False)

    def heard(number: int, _frame: object) -> None:
        with suppress(OSError):  # as Python has done already, unless a package took that over
            os.write(writer, bytes([number]))

    def forget() -> None:
        signal.set_wakeup_fd(-1)
        for number in _WORDS:
            signal.signal(number, signal.SIG_DFL)

    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=forget)
    threading.Thread(target=_wait_for_signal, args=(reader,), daemon=True).start()
    for number in _WORDS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as by nohup
            signal.signal(number, heard)


def _wait_for_signal(reader: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _WORDS)  # for the first thread, whose calls they end
    while True:
        came = os.read(reader, 1 << 10) if select.select([reader], [], [], LOOK)[0] else b""
        told = [*came, *signal.sigpending()]
        if number := next((one for one in _WORDS if one in told), None):
            process.end_process(
                128 + number, say=lambda: _say(f"{_WORDS[number]}; no partial file was left")
            )


def _say(message: str) -> None:
    log = getattr(sys.modules.get("cfl_cli.cli.log"), "LOG", None)  # None: not loaded yet
    if log is not None:
        from cfl_cli.errors import Problem

        log.error(Problem("interrupted", "{what}", what=message))
    else:
        os.write(2, f"cfl: {message}\n".encode())


def listen() -> None:
    """Start the threads of polars, if it is loaded, such that they leave Ctrl-C to the first one.

    Or it would be lost if one of them heard it while OSQP listens: see `steps/weights`.
    """
    from cfl_cli.core.parallel import interrupts_wait

    if "polars" in sys.modules:
        with interrupts_wait():
            sys.modules["polars"].read_csv(b"a")
