"""Threads that change the time and never the answer.

Work is cut into items; every item is computed by the same code whoever runs it, and results come
back in the items' order. Linear-algebra libraries are held to one thread inside, because their
own splitting would both fight ours for cores and change last digits with the thread count.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

from threadpoolctl import threadpool_limits

from cfl_cli.core.wording import Caller, caller, speak_to

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let a Ctrl-C wait until the block ends; threads that start within it never hear one."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def leave_interrupts_to_others() -> None:
    """Let another thread be the one that Ctrl-C interrupts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])


def begin(reader: Caller) -> None:
    """Start a thread of a pool; its messages speak to `reader`, as those of its caller do."""
    leave_interrupts_to_others()
    speak_to(reader)


class Workers:
    """A pool of `jobs` threads, open within a `with` block."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.stopped = (
            False  # has an error or an interrupt ended it? Long items should then end too
        )

    def __enter__(self) -> Self:
        self._limits = threadpool_limits(limits=1)
        self._pool = ThreadPoolExecutor(self.jobs, "cfl", begin, (caller(),))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopped = kind is not None
        # After an error or an interrupt nobody waits for the items that are still being computed.
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        self._limits.restore_original_limits()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for every item, in order; the first error stops the rest."""
        todo = list(items)
        if len(todo) == 1:  # a handover takes as long as a step over a small table
            return map(function, todo)
        return self._pool.map(function, todo)


def slices(total: int, size: int) -> list[slice]:
    """Cut `range(total)` into slices of at most `size`."""
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]
