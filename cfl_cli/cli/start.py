"""Where memory is limited: refuse to start with too little, and say so when there was too little.

The system ends a process whose container has no memory left without a word, and packages abort or
leave when they are given none. So where a limit is in force a child process does the work, and this
one waits for it: if it ends without a word of its own (`leaving.say_code`), memory was short. Only
the standard library is used here: nothing else may be loaded yet.
"""

import ctypes
import fcntl
import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from errno import ENOMEM
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType
from typing import NoReturn

from cfl_cli.core import process
from cfl_cli.core.process import own_groups

RESOURCES = 4  # the exit code
# What a process holds when packages are loaded, and what of it can be written to: measured.
HELD, DATA = 160_000_000, 350_000_000
PLAIN_POOL = ("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own would reserve a gigabyte at once
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
BY_USER = 0  # a signal that a process has sent; the terminal's reach the child by themselves
DIE_WITH_PARENT = 1  # of prctl


def stay_within_limits() -> bool:
    """Return in a process that may work: this one, or a child that this one waits for.

    What is returned is whether memory is limited.
    """
    allowed = process.allowance()
    if allowed.whose == process.MACHINE:
        return False
    _check_start()
    os.environ.setdefault(*PLAIN_POOL)
    kills = _kills()
    reading, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*FORWARDED, signal.SIGCHLD})
    parent, child = os.getpid(), os.fork()
    if child:
        os.close(writing)
        _wait(child, reading, kills, allowed)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {*FORWARDED, signal.SIGCHLD})
    os.close(reading)
    process.say_code_to(writing)
    with suppress(OSError, AttributeError):  # not every system has it
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(RESOURCES)
    return True


def out_of_memory(allowed: process.Allowance) -> str:
    """Return what is said when memory was short."""
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
        if any(sign in str(seen) for sign in SIGNS):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


# What packages and the system say.
SIGNS = (
    "bad_alloc",
    "can't start new thread",
    "failed to map segment",
    "cannot map zero-fill",
    "annot allocate memory",
    "emory allocation of",
    "out of memory",
)


def _check_start() -> None:
    """Leave with a message if packages could not even be loaded."""
    limits = (
        (process.limit_of("RLIMIT_AS"), process.reserved_space() + HELD, process.SPACE),
        (process.limit_of("RLIMIT_DATA"), DATA, process.DATA),
        (min(_limits(), default=None), HELD, process.GROUP),
    )
    for allowed, needed, whose in limits:
        if allowed is not None and allowed < needed:
            _give_up(
                f"at least {needed / 1e6:,.0f} MB of memory are needed to start, and {whose} "
                f"allows {allowed / 1e6:,.0f} MB: allow more"
            )


def _limits() -> Iterable[int]:
    return (group.limit for group in own_groups() if group.limit is not None)


def _kills() -> int:
    """Return how many processes were ended so far in the groups that this one is in."""
    return sum(group.kills for group in own_groups())


def _wait(child: int, reading: int, kills: int, allowed: process.Allowance) -> NoReturn:
    """Pass signals on until the child ends, and leave as it does."""
    while True:
        came = signal.sigwaitinfo({*FORWARDED, signal.SIGCHLD})
        if came.si_signo != signal.SIGCHLD:
            if came.si_code == BY_USER:
                with suppress(ProcessLookupError):
                    os.kill(child, came.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
    said = os.read(reading, 1)
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        if said or not code:
            os._exit(code)
    elif not _is_for_memory(os.WTERMSIG(status), kills):
        number = os.WTERMSIG(status)
        with suppress(OSError):  # some cannot be handled in any other way
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    _give_up(out_of_memory(allowed))


def _is_for_memory(number: int, kills: int) -> bool:
    """Return whether a signal ended the child because memory was short."""
    if number == signal.SIGKILL:
        return _kills() > kills
    return number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL)


def _give_up(problem: str) -> NoReturn:
    from cfl_cli.cli.log import (
        LOG,  # noqa: PLC0415 — not needed before
        asked_for,  # noqa: PLC0415 — not needed before
    )

    LOG.format = asked_for(sys.argv[1:])
    LOG.error(problem)
    os._exit(RESOURCES)


# How `cfl` ends when Ctrl-C, SIGTERM or SIGHUP says so: at once, with everything cleaned up.
#
# A thread waits for signals and ends the process (`core/leaving`), from before the first package is
# loaded. So no package, be it that it loads, computes or writes, ever sees an exception of a signal,
# which it might lose.

WORDS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}
LOOK = 0.1  # seconds between looks at signals that all threads hold back for a while


def watch() -> None:
    """From now on end the process when a signal says so; call this in its first thread."""
    # Handles of standard streams that the caller has closed are not for this.
    ends = os.pipe()
    reader, writer = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends)
    for end in ends:
        os.close(end)
    os.set_blocking(writer, False)

    def heard(number: int, _frame: object) -> None:
        with suppress(OSError):  # as Python has done already, unless a package took that over
            os.write(writer, bytes([number]))

    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget)
    threading.Thread(target=_wait_for_signal, args=(reader,), daemon=True).start()
    for number in WORDS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as by nohup
            signal.signal(number, heard)


def _wait_for_signal(reader: int) -> None:
    """Wait for a signal, and end the process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WORDS)  # for the first thread, whose calls they end
    while True:
        came = os.read(reader, 1 << 10) if select.select([reader], [], [], LOOK)[0] else b""
        told = [*came, *signal.sigpending()]
        if number := next((one for one in WORDS if one in told), None):
            process.leave(
                128 + number, say=lambda: _say(f"{WORDS[number]}; no partial file was left")
            )


def _say(message: str) -> None:
    log = getattr(sys.modules.get("cfl_cli.cli.log"), "LOG", None)  # None: not loaded yet
    if log is not None:
        log.error(message)
    else:
        os.write(2, f"cfl: {message}\n".encode())


def _forget() -> None:
    """Leave signals to the system, in a process that was forked."""
    signal.set_wakeup_fd(-1)
    for number in WORDS:
        signal.signal(number, signal.SIG_DFL)


def listen() -> None:
    """Start the threads of polars, if it is loaded, such that they leave Ctrl-C to the first one.

    Or it would be lost if one of them heard it while OSQP listens: see `steps/weights`.
    """
    from cfl_cli.core.parallel import interrupts_wait  # noqa: PLC0415 — numpy is not loaded at the start

    if "polars" in sys.modules:
        with interrupts_wait():
            sys.modules["polars"].read_csv(b"a")


# Which packages the command does without, or loads only when something of theirs is asked for.

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
