"""Where the work of a run is done, which changes the time and never the answer.

Work is cut into items; every item is computed by the same code whoever runs it, and results come
back in the items' order. Linear-algebra libraries are held to one thread inside, because their
own splitting would both fight ours for cores and change last digits with the thread count.

An `Engine` also has the arrays that the work fills. Here are threads over arrays in memory; engines
whose arrays are files, and which other processes or hosts share, are in the room of that name.
Whoever works for any engine hands it *kernels*: functions of a slice of rows that write to arrays
and return something small. A kernel that is to run elsewhere is an object that can be pickled, a
frozen dataclass of arrays and numbers with a `__call__`. Where its work is marked as done, it says
by `written`, another function of the slice, what it has filled: so damage is noticed later.
"""

import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cfl_cli.core import system
from cfl_cli.core.messages import CALLER, Caller
from cfl_cli.core.progress import Team

Item = TypeVar("Item")
Result = TypeVar("Result")
RowKernel: TypeAlias = Callable[[slice], Result]
Array = TypeVar("Array", bound=npt.NDArray[Any])


def available_cores() -> int:
    return system.cores()


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let a Ctrl-C wait until the block ends; threads that start within it never hear one."""
    before = system.hold_back(signal.SIGINT)
    try:
        yield
    finally:
        system.let_through(before)


def begin(reader: Caller) -> None:
    """Start a thread of a pool: Ctrl-C interrupts others, and its messages speak to `reader`."""
    system.hold_back(signal.SIGINT)
    CALLER.set(reader)


class Engine(Protocol):
    """Where work is done, and where the arrays are that it fills."""

    jobs: int  # how many items are computed at once
    stopped: bool  # has an error or an interrupt ended it? Long items should then end too

    keeps: bool  # does what is kept outlive the process? Only then is it asked to keep or finish
    dashboard: str  # where people can watch it; empty: nowhere
    team: Team | None  # workers beside this process; None: there are none
    in_memory: bool  # are the arrays in the memory of this process?

    def narrow(self, jobs: int) -> None:
        """Let fewer threads of this process work at once from now on, only so many."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield `function(item)` for every item, in order, by threads of this process."""

    def rows(
        self, name: str, kernel: RowKernel[Result], total: int, *, at_once: int, marked: bool = True
    ) -> Iterator[tuple[slice, Result]]:
        """Yield slices of at most `at_once` of `total` rows and `kernel(slice)`, in order.

        What the kernel returns is None, a number, or a short list of numbers. Where runs can be
        resumed and this is `marked`, what was done before is not done again.
        """

    def empty(self, name: str, shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a new array, or on a resumed run the one of that name, as it was left."""

    def share(self, name: str, array: Array) -> Array:
        """Return an array that was made here so that kernels anywhere can read it."""

    def within(self, name: str) -> "Engine":
        """Return the same engine for a part of the run; names in it are the part's own."""

    def kept(self, name: str) -> Any:
        """Return what a run that is resumed has kept by this name; None: nothing."""

    def keep(self, name: str, facts: Any, *arrays: npt.NDArray[Any]) -> None:
        """Keep facts, as JSON can hold them, once all that is in some arrays cannot be lost."""

    def drop(self, *arrays: npt.NDArray[Any]) -> None:
        """Let go of arrays that nobody needs any more."""

    def finish(self) -> None:
        """Say that all is done, so that nothing needs to be kept any more."""


@dataclass(eq=False)
class Workers:
    """A pool of `jobs` threads, open within a `with` block; arrays are in memory, none is kept."""

    jobs: int
    stopped: bool = False
    team: Team | None = None
    keeps = False
    dashboard = ""
    in_memory = True

    def __enter__(self) -> Self:
        self._limits = threadpool_limits(limits=1)
        self._pool = ThreadPoolExecutor(self.jobs, "cfl", begin, (CALLER.get(),))
        return self

    def narrow(self, jobs: int) -> None:
        self._pool.shutdown()
        self.jobs = jobs
        self._pool = ThreadPoolExecutor(jobs, "cfl", begin, (CALLER.get(),))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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

    def rows(
        self, name: str, kernel: RowKernel[Result], total: int, *, at_once: int, marked: bool = True
    ) -> Iterator[tuple[slice, Result]]:
        parts = slices(total, at_once)
        with getattr(kernel, "guard", nullcontext)():  # what must hold while threads run it
            for part, result in zip(parts, self.map(kernel, parts), strict=True):
                yield part, result
                if signal.SIGINT in system.waiting_signals():
                    return  # it is heard when whoever lets it wait has ended

    def empty(self, name: str, shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
        return np.empty(shape, kind)

    def share(self, name: str, array: Array) -> Array:
        return array

    def within(self, name: str) -> Self:
        return self

    def kept(self, name: str) -> None:
        return None  # nothing outlives the process

    def keep(self, name: str, facts: Any, *arrays: npt.NDArray[Any]) -> None:
        return

    def drop(self, *arrays: npt.NDArray[Any]) -> None:
        return

    def finish(self) -> None:
        return


def slices(total: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


# Which tables have compiled code; it changes the time and never the answer.
#
# Two loops are compiled: the scan of neighbor lists, and the search for the neighbors that count.
# What they are sure of is just what the plain code would find, and the rest is left to it. A table
# must have so many rows that loading what was compiled before takes less than it saves. (Two others
# went: with compiled posteriors `impute` of Bank took 15.0 s of CPU, without 14.2 and 16.1 s, no gain
# beyond the noise of few runs; compiled trees gained 0.1 s on 100,000 rows.)
#
# numba, an extra, compiles. Without it, with one that does not work, or without a folder that can be
# written to for what is compiled, the plain code does all the work.

COMPILED_ROWS = 20_000  # below, loading (0.6 s) takes longer than what is saved (some 40 µs a row)


@cache
def _load(name: str) -> Any | None:
    if find_spec("numba") is None:
        return None
    try:
        return getattr(import_module("cfl_cli.methods.graph.kernels"), name)
    except Exception:  # noqa: BLE001 — whatever it is that does not work, plain code does
        return None


def kernel(name: str, *, rows: int) -> Any | None:
    """Return a compiled function for a table of so many rows, None where plain code is better."""
    return _load(name) if rows >= COMPILED_ROWS else None
