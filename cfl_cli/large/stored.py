"""The engine whose arrays are files of a run directory, and whose kernels an executor runs.

The rows of a stage are cut into slices, and these into tasks. A task calls the kernel for each of
its slices. Who runs the tasks, and how many there are, changes no byte: a slice's rows are computed
by themselves. If the run can be resumed, then after each task of a marked stage the arrays that the
kernel holds are written to the disk, and after that the task is marked as done, with a checksum of
what it has written: a task whose rows were damaged since is done again.
"""

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from math import ceil
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeAlias, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cfl_cli.core import system
from cfl_cli.core.parallel import Array, Item, Result, RowKernel, Workers
from cfl_cli.core.progress import Team
from cfl_cli.large.arrays import Marks, StageCut, maps_of, plain_view
from cfl_cli.large.run_directory import Folder

Kernel: TypeAlias = Callable[[slice], Any]
Task: TypeAlias = list[slice]
TaskDone: TypeAlias = tuple[int, list[Any]]  # its number and its results
_Done: TypeAlias = tuple[int, list[Any], BaseException | None]
HEARD_WITHIN = 0.5  # seconds: a Ctrl-C that had to wait
TASKS = 4  # of a marked stage for each worker, at least
TASK_ROWS = 131_072  # at most: what a resumed run does again, and how often progress is seen


class Executor(Protocol):
    workers: int
    dashboard: str  # the address of a page about them; empty: none
    cost: bool  # does handing over a task cost much? Then an unmarked stage has one for each worker

    @property
    def team(self) -> Team | None:
        """Return what each worker has done; None: they are threads of this process."""

    def run(self, kernel: Kernel, tasks: Sequence[Task], *, flush: bool) -> Iterator[TaskDone]:
        """Yield the number of a task and its results, as tasks are done; with `flush`, for good."""


class Stopped(Exception):  # noqa: N818 — nothing is wrong
    """The run has ended, so nobody waits for this task."""


def run_task(
    kernel: Kernel, task: Task, *, flush: bool, stopped: Callable[[], bool] = lambda: False
) -> list[Any]:
    """Return what a kernel returns for each slice of a task; with `flush`, its arrays are safe."""
    results = []
    for part in task:
        if stopped():
            raise Stopped
        results.append(as_json(kernel(part)))
    if flush:
        for source in maps_of(kernel):
            source.flush()
    return results


def task_checksum(kernel: Kernel, task: Task, results: list[Any]) -> int:
    """Return a checksum of a task's results, and of what its kernel says that it has written."""
    found = crc32(json.dumps(results).encode())
    written: Callable[[slice], Iterable[npt.NDArray[Any]]] | None = getattr(kernel, "written", None)
    if written is None:
        return found
    for array in (array for part in task for array in written(part)):
        found = crc32(np.ascontiguousarray(array).data, found)
    return found


def as_json(result: Any) -> Any:
    """Return a kernel's result as JSON can hold it."""
    if isinstance(result, (np.ndarray, np.generic)):
        return result.tolist()
    if isinstance(result, (list, tuple)):
        return [as_json(one) for one in result]
    if isinstance(result, dict):
        return {name: as_json(one) for name, one in result.items()}
    return result


class Threads:
    dashboard = ""
    team: Team | None = None
    cost = False

    def __init__(self, pool: Workers) -> None:
        self.workers, self._pool = pool.jobs, pool

    def run(self, kernel: Kernel, tasks: Sequence[Task], *, flush: bool) -> Iterator[TaskDone]:
        ended = False
        done: SimpleQueue[_Done] = SimpleQueue()

        def one(at: int) -> None:
            try:
                results = run_task(kernel, tasks[at], flush=flush, stopped=stopped)
            except BaseException as error:  # noqa: BLE001 — raised by whoever waits
                done.put((at, [], error))
            else:
                done.put((at, results, None))

        def stopped() -> bool:
            return ended or self._pool.stopped

        with getattr(kernel, "guard", nullcontext)():
            waiting = self._pool.map(one, range(len(tasks)))
            try:
                for _ in tasks:
                    if len(tasks) == 1:
                        list(waiting)  # which only now begins
                    while True:
                        with suppress(Empty):
                            at, results, error = done.get(timeout=HEARD_WITHIN)
                            break
                        if signal.SIGINT in system.waiting_signals():
                            raise Stopped
                    if error is not None:
                        raise error
                    yield at, results
            finally:
                ended = True


class Stored:
    """An engine whose arrays are files; `durable`: another run may go on with them."""

    in_memory = False

    def __init__(
        self,
        folder: Folder,
        executor: Executor,
        threads: Workers,
        *,
        durable: bool,
        used: set[str] | None = None,
        fresh: set[str] | None = None,
        on_finish: Callable[[], None] = lambda: None,
    ) -> None:
        self.jobs = executor.workers
        self.dashboard = executor.dashboard  # where people can watch it; empty: nowhere
        self.team = executor.team
        self.keeps = durable
        self._folder, self._executor, self._threads = folder, executor, threads
        self._on_finish = on_finish
        self._used: set[str] = set() if used is None else used  # names, which must not clash
        self._fresh: set[str] = set() if fresh is None else fresh  # files that this run made

    @property
    def stopped(self) -> bool:
        return self._threads.stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        self._threads.stopped = stopped

    def narrow(self, jobs: int) -> None:
        self._threads.narrow(jobs)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        return self._threads.map(function, items)

    def rows(
        self, name: str, kernel: RowKernel[Result], total: int, *, at_once: int, marked: bool = True
    ) -> Iterator[tuple[slice, Result]]:
        """What the kernel returns comes as JSON would have it: numbers and lists of them."""
        if total <= 0:
            return iter(())
        at_once = max(1, min(at_once, total))
        tasks = count = ceil(total / at_once)
        if marked:
            tasks = max(TASKS * self.jobs, ceil(total / TASK_ROWS))
        elif self._executor.cost:
            tasks = self.jobs
        cut = StageCut(total, at_once, max(1, ceil(count / tasks)))
        if not (marked and self.keeps):
            return self._run(kernel, cut.tasks(), None)
        path = self._folder.marks(name)
        self._use(str(path), name)
        if any(source.path in self._fresh for source in maps_of(kernel)):
            path.unlink(missing_ok=True)  # an array was dropped since: its marks mean nothing
        marks = Marks.opened(path, cut)
        return self._run(kernel, marks.cut.tasks(), marks)

    def empty(self, name: str, shape: tuple[int, ...], kind: npt.DTypeLike) -> npt.NDArray[Any]:
        path = self._folder.array_path(name)
        self._use(str(path), name)
        if not path.exists():
            self._fresh.add(str(path))
        return plain_view(self._folder.array(name, shape, kind))

    def share(self, name: str, array: Array) -> Array:
        if maps_of(array):
            return array
        shared = self.empty(name, array.shape, array.dtype)
        shared[...] = array
        return cast("Array", shared)

    def within(self, name: str) -> "Stored":
        return Stored(
            self._folder.within(name),
            self._executor,
            self._threads,
            durable=self.keeps,
            used=self._used,
            fresh=self._fresh,
        )

    def kept(self, name: str) -> Any:
        kept = self._folder.facts(name)
        return kept["facts"] if kept and self._folder.holds(kept["arrays"]) else None

    def keep(self, name: str, facts: Any, *arrays: npt.NDArray[Any]) -> None:
        if self.keeps:
            sources = maps_of(arrays)
            for source in sources:
                source.flush()
            sums = self._folder.checksums(sources)
            self._folder.keep(name, {"facts": as_json(facts), "arrays": sums})

    def drop(self, *arrays: npt.NDArray[Any]) -> None:
        for source in maps_of(arrays):
            source.remove()
            self._used.discard(source.path)

    @property
    def path(self) -> Path:
        return self._folder.path

    def finish(self) -> None:
        self._on_finish()

    def _use(self, path: str, name: str) -> None:
        if path in self._used:
            raise ValueError(f"{name}: this part of the run has two of that name")
        self._used.add(path)

    def _run(
        self, kernel: Kernel, tasks: list[Task], marks: Marks | None
    ) -> Iterator[tuple[slice, Any]]:
        ready: dict[int, list[Any]] = {}  # what a run before has done, and is as it was left
        for at, task in enumerate(tasks):
            first = task[0].start
            if marks is not None and first in marks.done:
                results = marks.done[first]
                if marks.sums[first] == task_checksum(kernel, task, results):
                    ready[at] = results
        numbers = [at for at in range(len(tasks)) if at not in ready]
        todo = [tasks[at] for at in numbers]
        following = iter(self._executor.run(kernel, todo, flush=marks is not None) if todo else ())
        for at, task in enumerate(tasks):
            while at not in ready:
                which, results = next(following)
                if marks is not None:
                    marks.add(todo[which], results, task_checksum(kernel, todo[which], results))
                ready[numbers[which]] = results
            yield from zip(task, ready.pop(at), strict=True)
