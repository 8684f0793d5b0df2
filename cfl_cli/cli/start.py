"""Before any package is loaded: is there memory enough to start, and what do signals do?

Only the standard library is used here: nothing else may be loaded yet.
"""

import os
import signal
import sys
import threading
from errno import ENOMEM
from functools import partial

from cfl_cli.core import process, system
from cfl_cli.core.process import own_groups

TYPE_CHECKING = False  # not from `typing`, which takes a while to load
if TYPE_CHECKING:
    from typing import NoReturn

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

LOOK = 0.1  # seconds between looks at signals that all threads hold back for a while


def stand_by() -> None:
    """Leave with a message if packages could not be loaded, and from now on if a signal says so.

    Call this in the first thread. Where memory is not limited, what is freed is kept.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        _refuse(
            "python-free-threaded",
            "this Python runs without its global lock (a free-threaded build), with which cfl was "
            "not tested: {remedy}",
            remedy="set PYTHON_GIL=1, or use another Python",
        )
    if process.allowance().whose == process.MACHINE:
        process.keep_freed_memory()
    else:
        groups = (group.limit for group in own_groups() if group.limit is not None)
        limits = (
            (system.limit_of("RLIMIT_AS"), process.reserved_space() + _HELD, process.SPACE),
            (system.limit_of("RLIMIT_DATA"), DATA, process.DATA),
            (min(groups, default=None), _HELD, process.GROUP),
        )
        for allowed, needed, whose in limits:
            if allowed is not None and allowed < needed:
                _refuse(
                    "memory-to-start",
                    "at least {needed:,.0f} MB of memory are needed to start, and {whose} allows "
                    "{allowed:,.0f} MB: {remedy}",
                    needed=needed / 1e6,
                    allowed=allowed / 1e6,
                    whose=whose,
                    remedy="allow more",
                )
        os.environ.setdefault(*PLAIN_POOL)

    ends = system.Wakeup()

    def heard(number: int, _frame: object) -> None:
        ends.note(number)

    def forget() -> None:
        signal.set_wakeup_fd(-1)
        for number in system.ENDS:
            signal.signal(number, signal.SIG_DFL)

    signal.set_wakeup_fd(ends.writer, warn_on_full_buffer=False)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)
    threading.Thread(target=_wait_for_signal, args=(ends,), daemon=True).start()
    for number in system.ENDS:
        if number != system.HANGUP or signal.getsignal(number) != signal.SIG_IGN:  # as by nohup
            signal.signal(number, heard)


def _refuse(code: str, text: str, **facts: object) -> "NoReturn":
    from cfl_cli.cli.log import LOG, asked_for
    from cfl_cli.errors import Problem

    LOG.format = asked_for(sys.argv[1:])
    LOG.error(Problem(code, text, **facts))
    os._exit(RESOURCES)


def _wait_for_signal(ends: system.Wakeup) -> None:
    system.hold_back(*system.ENDS)  # for the first thread, whose calls they end
    while True:
        told = [*ends.wait(LOOK), *system.waiting_signals()]
        if number := next((one for one in system.ENDS if one in told), None):
            words = f"{system.ENDS[number]}; no partial file was left"
            process.end_process(system.exit_code(number), say=partial(_say, words))


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
