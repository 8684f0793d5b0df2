"""Where memory is limited: refuse to start with too little, and say so when there was too little.

The system ends a process whose container has no memory left without a word, and packages abort or
leave when they are given none. So where a limit is in force a child process does the work, and this
one waits for it: if it ends without a word of its own (`leaving.say_code`), memory was short. Only
the standard library is used here: nothing else may be loaded yet.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from errno import ENOMEM
from typing import NoReturn

from cfl_cli.core import budget, leaving
from cfl_cli.core.control_groups import own_groups

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
    allowed = budget.allowance()
    if allowed.whose == budget.MACHINE:
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
    leaving.say_code_to(writing)
    with suppress(OSError, AttributeError):  # not every system has it
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(RESOURCES)
    return True


def out_of_memory(allowed: budget.Allowance) -> str:
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
        (budget.limit_of("RLIMIT_AS"), budget.reserved_space() + HELD, budget.SPACE),
        (budget.limit_of("RLIMIT_DATA"), DATA, budget.DATA),
        (min(_limits(), default=None), HELD, budget.GROUP),
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


def _wait(child: int, reading: int, kills: int, allowed: budget.Allowance) -> NoReturn:
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
    from cfl_cli.cli.log import LOG, asked_for  # noqa: PLC0415 — not needed before

    LOG.format = asked_for(sys.argv[1:])
    LOG.error(problem)
    os._exit(RESOURCES)
