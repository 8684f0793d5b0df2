"""The tasks of one stage, handed to the workers of a cluster, one at a time to each.

A task whose worker dies goes to another one; one that kills three ends the run. A worker prefers
the rows that it had before: one on another host remembers what these need.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from queue import SimpleQueue
from typing import Any, Protocol

from cfl_cli.core.messages import count
from cfl_cli.core.team import Team
from cfl_cli.core.wording import option
from cfl_cli.engines import on_workers
from cfl_cli.engines.abroad import Abroad
from cfl_cli.engines.maps import unpacked
from cfl_cli.engines.stored import Task
from cfl_cli.errors import ResourceError

DEATHS = 3  # of workers, that a task may cause
PATIENCE = 60.0  # seconds to wait for a worker
PAUSE = 0.5  # seconds between looks for new ones


class Workforce(Protocol):
    """The workers, by their addresses."""

    run_id: str
    workers: int  # how many there should be
    lost: set[str]  # those that died, which the scheduler may not know yet
    abroad: set[str]  # those on other hosts
    sent: int  # bytes that went there
    last: dict[tuple[int, int], str]  # who had which rows last
    team: Team  # what each has done
    processes: dict[str, str]  # what tells one worker from the next at its address

    async def addresses(self, *, newly: bool = False) -> list[str]:
        """Return the workers that are there, or were a moment ago."""

    async def ask(
        self,
        address: str,
        function: Callable[..., Coroutine[Any, Any, Any]],
        *args: Any,
        **named: Any,
    ) -> Any:
        """Return what a function of `on_workers` returns in a worker; OSError: the worker died."""


class Shift:
    """The tasks of one stage, and the workers that do them."""

    def __init__(
        self,
        cluster: Workforce,
        kernel: bytes,
        tasks: Sequence[Task],
        *,
        flush: bool,
        workers: int,
        abroad: Abroad | None = None,
    ) -> None:
        self.cluster, self.kernel, self.tasks, self.flush = cluster, kernel, tasks, flush
        self.workers = workers  # that may take part
        self.abroad = abroad  # who deals with other hosts; None: this kernel stays at home
        self.done: SimpleQueue[tuple[int, list[Any], BaseException | None]] = SimpleQueue()
        self.left = len(tasks)
        self.waiting = deque(range(len(tasks)))
        self.deaths = [0] * len(tasks)
        self.busy: dict[asyncio.Task[bool], str] = {}
        self.engaged: dict[str, str | None] = {}  # the processes of those that have or had tasks

    async def work(self) -> None:
        """Hand out all tasks; an error goes to whoever waits for results."""
        try:
            await self._work()
        except asyncio.CancelledError:
            raise
        except OSError:
            self.done.put((-1, [], ResourceError(_no_scheduler())))
        except BaseException as error:  # noqa: BLE001 — raised by whoever waits
            self.done.put((-1, [], error))
        finally:
            for one in self.busy:
                one.cancel()

    async def _work(self) -> None:
        waited = 0.0
        await self._engage()
        while self.left:
            if self.busy:
                waited = 0.0
                await self._wait()
            elif waited > PATIENCE:
                raise ResourceError(_all_gone())
            else:  # all are dead: others will come
                await asyncio.sleep(PAUSE)
                waited += PAUSE
            if self.waiting and len(self.busy) < self.workers:
                await self._engage()

    async def _wait(self) -> None:
        """Return when a worker has nothing more to do, or after a while if some are missing."""
        full = len(self.busy) >= self.workers or not self.waiting
        ended, _ = await asyncio.wait(
            self.busy, timeout=None if full else PAUSE, return_when="FIRST_COMPLETED"
        )
        for one in ended:
            address = self.busy.pop(one)
            if not one.result():
                self.cluster.team.at_work.discard(address)
            is_same = self.engaged[address] == self.cluster.processes.get(address)
            if not one.result() and is_same:  # else another is there already, in its place
                self.cluster.lost.add(address)

    async def _engage(self) -> None:
        """Let every worker that has nothing to do take tasks."""
        known = self._fit(await self.cluster.addresses())
        if len(known) < self.workers:
            known = self._fit(await self.cluster.addresses(newly=True))
        for address in sorted(known - set(self.busy.values()))[: len(self.waiting)]:
            self.cluster.team.at_work.add(address)
            self.engaged[address] = self.cluster.processes.get(address)
            self.busy[asyncio.ensure_future(self._serve(address))] = address

    def _fit(self, addresses: Sequence[str]) -> set[str]:
        """Return those that may take part."""
        barred = self.cluster.lost | (set() if self.abroad else self.cluster.abroad)
        return set(addresses) - barred

    def _taken(self, address: str) -> int:
        """Return a task for a worker: one that it had, or nobody had, rather than another's."""

        def rank(at: int) -> int:
            who = self.cluster.last.get(_rows(self.tasks[at]))
            return 0 if who == address else 2 if who and who not in self.cluster.lost else 1

        at = min(self.waiting, key=rank)
        self.waiting.remove(at)
        self.cluster.last[_rows(self.tasks[at])] = address
        return at

    async def _serve(self, address: str) -> bool:
        """Give tasks to a worker while there are any; return False if it dies."""
        while self.waiting:
            at = self._taken(address)
            try:
                results, error = await self._run(address, self.tasks[at])
            except OSError:
                self.deaths[at] += 1
                if self.deaths[at] >= DEATHS:
                    raise ResourceError(_deadly(self.tasks[at])) from None
                self.waiting.appendleft(at)
                return False
            self.left -= 1
            self.cluster.team.tasks[address] += 1
            self.done.put((at, results, error))
        return True

    async def _run(self, address: str, task: Task) -> tuple[list[Any], BaseException | None]:
        if self.abroad and address in self.cluster.abroad:
            return await self.abroad.run(address, task)
        content = await self.cluster.ask(
            address,
            on_workers.run,
            self.cluster.run_id,
            self.kernel,
            [(part.start, part.stop) for part in task],
            is_flushed=self.flush,
        )
        results, error = unpacked(content)
        return results, error


def _rows(task: Task) -> tuple[int, int]:
    return task[0].start, task[-1].stop


def _deadly(task: Task) -> str:
    first, stop = _rows(task)
    rows = f"rows {first + 1:,} to {stop:,}"
    way_out = f"try fewer ({option('workers')}), or a machine with more memory"
    return f"{rows}: {count(DEATHS, 'worker')} died of them, perhaps for lack of memory: {way_out}"


def _no_scheduler() -> str:
    again = f"{option('resume', value=True)} if there is a run directory"
    return f"{option('scheduler')}: the scheduler is gone: start it again, and go on with {again}"


def _all_gone() -> str:
    way_out = (
        f"start others, and go on with {option('resume', value=True)} if there is a run directory"
    )
    return f"all workers are gone, and none came within {PATIENCE:.0f} s: {way_out}"
